//! The HTML report in a browser: filter, collapsing, both views, keyboard, dark, without scripts, without network.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value as Json, json};

use crate::support::repository;

/// A browser with one page.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn start() -> Self {
        let found = Command::new(repository("scripts/browser")).output().expect("scripts/browser starts");
        let paths = String::from_utf8_lossy(&found.stdout).into_owned();
        let mut paths = paths.lines();
        let (Some(browser), Some(driver)) = (paths.next(), paths.next()) else {
            panic!("no browser: {}", String::from_utf8_lossy(&found.stderr));
        };
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .env("HOME", profile.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = said
            .find_map(|line| {
                line.rsplit_once("on port ")?.1.trim_end_matches('.').parse().ok().filter(|port| *port != 0)
            })
            .expect("chromedriver says its port");
        // It goes on writing; nobody has to read that, but it must not be stopped by it.
        std::thread::spawn(move || said.for_each(drop));
        let mut browser_of = Self { driver, port, session: String::new(), _profile: profile };
        let data = format!("--user-data-dir={}", browser_of._profile.path().join("data").display());
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &data];
        let options = json!({ "binary": browser, "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let session = browser_of.request("POST", "/session", &wanted);
        browser_of.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser_of
    }

    fn request(&self, method: &str, path: &str, body: &Json) -> Json {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if method == "GET" { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        // The driver keeps the connection open, whatever it is asked.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut content = vec![0; length];
        answer.read_exact(&mut content).unwrap();
        let content = String::from_utf8(content).unwrap();
        let mut answer: Json =
            serde_json::from_str(&content).unwrap_or_else(|error| panic!("{error}: {content}"));
        let value = answer["value"].take();
        assert!(value.get("error").is_none(), "{method} {path}: {value}");
        value
    }

    fn post(&self, path: &str, body: &Json) -> Json {
        self.request("POST", &format!("{}{path}", self.session), body)
    }

    fn open(&self, url: &str) {
        drop(self.post("/url", &json!({ "url": url })));
    }

    /// Returns the value of an expression of the page.
    fn eval(&self, expression: &str) -> Json {
        self.post("/execute/sync", &json!({ "script": format!("return {expression}"), "args": [] }))
    }

    /// Presses keys, one after the other, wherever the focus is.
    fn press(&self, keys: &str) {
        let actions: Vec<Json> = keys
            .chars()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        drop(self.post("/actions", &actions));
    }

    fn devtools(&self, command: &str, parameters: &Json) {
        drop(self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters })));
    }

    fn screenshot(&self, name: &str, width: u32) {
        let size = json!({ "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let image = self.request("GET", &format!("{}/screenshot", self.session), &Json::Null);
        let image = base64::engine::general_purpose::STANDARD.decode(image.as_str().unwrap()).unwrap();
        let folder = repository("target/report");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}-{width}.png")), image).unwrap();
        let wide = self.eval("document.documentElement.scrollWidth > document.documentElement.clientWidth");
        assert_eq!(wide, false, "the page is wider than {width}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            drop(self.request("DELETE", &self.session, &json!({})));
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const RIGHT: &str = "\u{e014}";

const VISIBLE: &str = "[...document.querySelectorAll('details.release')].filter((one) => one.offsetParent).map((one) => one.dataset.what)";
const OPEN: &str = "document.querySelectorAll('main details[open]').length";
const FOCUS: &str = "document.activeElement.id";

#[test]
fn the_report_of_a_plan_can_be_searched_and_read_with_the_keyboard_alone() {
    // The plan of a real run, as `outputs` keeps it.
    let plan = std::fs::read_to_string(repository("tests/cases/outputs/plan.json")).unwrap();
    let page = statectl::report::forms::html(&serde_json::from_str(&plan).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.html");
    std::fs::write(&file, page).unwrap();
    let url = format!("file://{}", file.display());
    let browser = Browser::start();
    browser.open(&url);
    // The policy lets the script and the style through, and nothing is fetched.
    assert_eq!(browser.eval("document.getElementById('controls').hidden"), false);
    assert_eq!(browser.eval("performance.getEntriesByType('resource').length"), 0);
    let all = browser.eval(VISIBLE);
    assert_eq!(all, json!(["blocked", "uninstall", "upgrade", "install", "unchanged"]));
    assert_eq!(browser.eval("document.querySelectorAll('svg rect').length > 2"), true);
    assert_eq!(browser.eval("document.querySelectorAll('svg path').length"), 1);
    browser.screenshot("light", 1280);
    browser.screenshot("light", 420);
    // Searched from anywhere, and reset.
    browser.press("/");
    assert_eq!(browser.eval(FOCUS), "filter");
    browser.press("ns/web");
    let found = browser.eval(VISIBLE);
    assert!(found.as_array().unwrap().contains(&json!("upgrade")), "{found}");
    assert!(!found.as_array().unwrap().contains(&json!("uninstall")), "{found}");
    browser.press(ESCAPE);
    assert_eq!(browser.eval(VISIBLE), all);
    // One kind of action.
    browser.press(TAB);
    assert_eq!(browser.eval(FOCUS), "what");
    browser.press("un");
    assert_eq!(browser.eval(VISIBLE), json!(["uninstall"]));
    browser.press(ESCAPE);
    assert_eq!(browser.eval(VISIBLE), all);
    // Collapsed, expanded, and one by itself.
    assert!(browser.eval(OPEN).as_u64().unwrap() > 3);
    browser.press(TAB);
    browser.press(TAB);
    assert_eq!(browser.eval(FOCUS), "collapse");
    browser.press(ENTER);
    assert_eq!(browser.eval(OPEN), 0);
    browser.press(TAB);
    assert_eq!(browser.eval(FOCUS), "unified");
    browser.press(TAB);
    assert_eq!(browser.eval("document.activeElement.tagName"), "SUMMARY");
    browser.press(ENTER);
    assert_eq!(browser.eval(OPEN), 1);
    drop(browser.eval("document.getElementById('expand').focus()"));
    browser.press(ENTER);
    // Two views of the same differences.
    let shown = |class: &str| {
        browser.eval(&format!("[...document.querySelectorAll('{class}')].some((one) => one.offsetParent)"))
    };
    assert_eq!((shown(".unified"), shown(".sides")), (json!(true), json!(false)));
    drop(browser.eval("document.getElementById('unified').focus()"));
    browser.press(RIGHT);
    assert_eq!((shown(".unified"), shown(".sides")), (json!(false), json!(true)));
    browser.screenshot("sides", 1280);
    browser.screenshot("sides", 420);
    // Dark where the reader's system is dark; texts stay readable.
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.devtools("Emulation.setEmulatedMedia", &dark);
    assert_eq!(browser.eval("getComputedStyle(document.body).backgroundColor"), "rgb(18, 22, 27)");
    browser.screenshot("dark", 1280);
    // Everything is there without scripts.
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(&url);
    let summary =
        browser.post("/element", &json!({ "using": "css selector", "value": "details.release .reasons" }));
    let element = summary.as_object().unwrap().values().next().unwrap().as_str().unwrap();
    let text = browser.request("GET", &format!("{}/element/{element}/text", browser.session), &Json::Null);
    assert!(text.as_str().unwrap().contains("immutable"), "{text}");
}
