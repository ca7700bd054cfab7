//! A web server of a test: answers what the test says, and remembers what it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection breaks in the middle of the body.
    pub(crate) broken: bool,
}

impl Answer {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into(), broken: false }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::ok("") }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A running server; it ends with the test process.
pub(crate) struct Web {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns what was asked since the last time.
    pub(crate) fn seen(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let path = lines[0].split_whitespace().nth(1).unwrap_or_default().to_owned();
        let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
        let headers: Vec<(String, String)> =
            headers.map(|(key, value)| (key.to_ascii_lowercase(), value.trim().to_owned())).collect();
        let length = headers.iter().find(|(key, _)| key == "content-length");
        let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let asked = Asked { path, headers, body };
        seen.lock().unwrap().push(asked.clone());
        let answer = answer(&asked);
        let mut head = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", answer.status, answer.body.len());
        for (name, value) in &answer.headers {
            head = format!("{head}{name}: {value}\r\n");
        }
        let length = if answer.broken { answer.body.len() / 2 } else { answer.body.len() };
        let sent = writer
            .write_all(format!("{head}\r\n").as_bytes())
            .and_then(|()| writer.write_all(&answer.body[..length]))
            .and_then(|()| writer.flush());
        if sent.is_err() || answer.broken {
            return;
        }
    }
}

/// A real registry; it ends with the test.
pub(crate) struct Registry {
    pub(crate) port: u16,
    child: Child,
}

impl Registry {
    /// Starts one that keeps its data in `folder`; with `password` it wants the user `me` with it.
    pub(crate) fn start(program: &Path, folder: &Path, password: Option<&str>) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut config = format!(
            "version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {} }}, delete: {{ enabled: true }} }}\n\
             http: {{ addr: \"127.0.0.1:{port}\" }}\n",
            folder.join("data").display()
        );
        if let Some(password) = password {
            let hash = bcrypt::hash(password, 4).unwrap();
            let users = folder.join("htpasswd");
            std::fs::write(&users, format!("me:{hash}\n")).unwrap();
            config = format!("{config}auth: {{ htpasswd: {{ realm: test, path: {} }} }}\n", users.display());
        }
        let path = folder.join("registry.yaml");
        std::fs::write(&path, config).unwrap();
        let child = Command::new(program)
            .args(["serve", path.to_str().unwrap()])
            .env_clear()
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Self { port, child };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !started.answers() {
            assert!(std::time::Instant::now() < deadline, "the registry starts");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        started
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let sent = stream.write_all(b"GET /v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        sent.is_ok() && stream.read_to_string(&mut text).is_ok() && text.starts_with("HTTP/1.1 ")
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
