//! Notifications, with a real server that takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};
use crate::support::statectl::Output;
use crate::support::web::{Answer, Asked, Web};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Values.name | quote }} }\ndata: { a: {{ .Values.a | quote }} }\n";

struct Told {
    scene: Scene,
    web: Web,
    status: Arc<AtomicU16>,
}

impl Told {
    fn new(test: &str) -> Self {
        let scene = Scene::new(test);
        chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "name: a\na: one\n")]);
        let status = Arc::new(AtomicU16::new(200));
        let answer = Arc::clone(&status);
        let web = Web::start(move |_: &Asked| match answer.load(Ordering::Relaxed) {
            0 => {
                std::thread::sleep(Duration::from_secs(20));
                Answer::ok("")
            }
            status => Answer::status(status),
        });
        Self { scene, web, status }
    }

    fn apply(&self, values: &str) -> Output {
        let url = |path: &str| self.web.url(path);
        let file = self.scene.write(&format!(
            "[settings]\nslackWebhook = \"{}\"\nmsTeamsWebhook = \"{}\"\nwebhook = \"{}\"\n[apps.r]\nenabled = true\n\
             namespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ {values} }}\nsetString = {{ s = \"ref+file://./token\" }}\n",
            url("/slack/T0/s3cr3t-hook"),
            url("/teams/s3cr3t-hook"),
            url("/any/s3cr3t-hook?key=s3cr3t-key"),
        ));
        std::fs::write(self.scene.folder.path().join("token"), "hunter2-hunter2\n").unwrap();
        self.scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"])
    }

    /// What was posted since the last time, by the first part of its path.
    fn seen(&self) -> Vec<(String, Json)> {
        let mut seen: Vec<(String, Json)> = self
            .web
            .seen()
            .into_iter()
            .map(|asked| {
                assert_eq!(asked.header("content-type"), Some("application/json"), "{asked:?}");
                let part = asked.path.split('/').nth(1).unwrap().to_owned();
                (part, serde_json::from_slice(&asked.body).expect("it is JSON"))
            })
            .collect();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        seen
    }
}

#[test]
fn each_run_that_does_something_is_told_once() {
    let told = Told::new("notify");
    drop(told.apply("a = 1").expect(0));
    let seen = told.seen();
    let parts: Vec<&str> = seen.iter().map(|(part, _)| part.as_str()).collect();
    assert_eq!(parts, ["any", "slack", "teams"]);
    let any = &seen[0].1;
    assert_eq!(
        (&any["format"], &any["result"]),
        (&"statectl.notification/v1".into(), &"succeeded".into()),
        "{any}"
    );
    assert_eq!(
        (&any["releases"][0]["name"], &any["releases"][0]["state"]),
        (&"r".into(), &"deployed".into())
    );
    let title = format!("statectl apply of {} succeeded: 1 deployed", told.scene.namespace);
    assert_eq!(seen[1].1["text"], title.as_str());
    assert_eq!(seen[1].1["attachments"][0]["color"], "good");
    let card = &seen[2].1["attachments"][0];
    assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
    assert_eq!(card["content"]["body"][0]["text"], title.replace('_', "\\_").as_str());

    // Nothing to do, nothing to tell.
    drop(told.apply("a = 1").expect(0));
    assert_eq!(told.seen(), []);

    // A failure names the release, and no secret.
    let output = told.apply("a = 2, name = \"Not_a_Name hunter2-hunter2\"");
    assert_ne!(output.code, 0, "{}", output.stdout);
    let seen = told.seen();
    assert_eq!(seen.len(), 3);
    let all = format!("{seen:?}{}{}", output.stdout, output.stderr);
    assert!(!all.contains("hunter2"), "{all}");
    assert!(!all.contains("s3cr3t"), "{all}");
    assert_ne!(seen[0].1["result"], "succeeded");
    assert_eq!(seen[0].1["releases"][0]["name"], "r");
}

#[test]
fn a_message_that_does_not_arrive_is_said_and_changes_nothing() {
    let told = Told::new("notify-fails");
    told.status.store(404, Ordering::Relaxed);
    let output = told.apply("a = 1").expect(0);
    let output = output.complains("warning: the message to Slack (127.0.0.1) was not sent: it answers 404");
    assert!(!output.stderr.contains("s3cr3t"), "{}", output.stderr);
    assert_eq!(told.scene.helm_status("r"), ("deployed".to_owned(), 1));
    // A server that never answers.
    told.status.store(0, Ordering::Relaxed);
    let began = Instant::now();
    drop(
        told.apply("a = 2")
            .expect(0)
            .complains("warning: the message to Microsoft Teams (127.0.0.1) was not sent"),
    );
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(told.scene.helm_status("r"), ("deployed".to_owned(), 2));
}
