//! A proxy in front of the real API server that makes things go wrong on purpose.
//!
//! It speaks plain HTTP to statectl, and sends everything on to the server as the user of a kubeconfig. A test says
//! which requests go wrong, how, and how often:
//!
//! ```ignore
//! let proxy = Proxy::start(cluster());
//! proxy.rule(Rule::on("GET", "/namespaces/shop/secrets").fault(Fault::answer(503, "service unavailable")));
//! proxy.rule(Rule::on("PATCH", "/configmaps/a").unless("dryRun").times(1).fault(Fault::DropReply));
//! proxy.cluster().statectl(["plan", "shop.toml"]).expect(4);
//! assert_eq!(proxy.faults(), 6);
//! ```
//!
//! The first rule that fits a request counts. Without one the request passes unchanged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::cluster::Cluster;

/// What goes wrong.
#[derive(Clone)]
pub(crate) enum Fault {
    /// The request does not reach the server; this is the answer.
    Answer { status: u16, body: String, headers: Vec<(&'static str, String)> },
    /// The connection is closed without a word, and the server has not seen the request.
    Drop,
    /// The server does what was asked, and the answer is lost.
    DropReply,
    /// The answer ends after so many bytes, and the connection with it.
    CutReply(usize),
    /// The answer ends after so many bytes, and claims to be whole.
    ShortenReply(usize),
    /// There is no answer for so long; then the request passes.
    Delay(Duration),
    /// A watch begins with a bookmark, passes for so long, and then its connection is closed.
    CutWatch(Duration),
    /// A watch is opened, and tells nothing.
    SilentWatch,
    /// The request does not reach the server, and there is never an answer.
    Hang,
    /// The server does what was asked, and there is never an answer.
    HangReply,
    /// The answer's JSON is changed on its way.
    Change(fn(&mut Json)),
}

impl Fault {
    /// An answer with a text, such as those of priority and fairness and of dead aggregated APIs.
    pub(crate) fn answer(status: u16, text: &str) -> Self {
        Fault::Answer { status, body: text.to_owned(), headers: Vec::new() }
    }

    /// An answer with a Status object.
    pub(crate) fn status(status: u16, reason: &str, message: &str) -> Self {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status,
        });
        Fault::answer(status, &body.to_string())
    }

    /// What a server answers that has too much to do.
    pub(crate) fn too_many_requests(seconds: u64) -> Self {
        let headers = vec![("Retry-After", seconds.to_string())];
        Fault::Answer {
            status: 429,
            body: "Too many requests, please try again later.\n".to_owned(),
            headers,
        }
    }
}

/// Which requests go wrong, and how.
#[derive(Clone)]
pub(crate) struct Rule {
    method: &'static str,
    part: String,
    unless: Option<&'static str>,
    /// Only writes, without the renewals of locks, which come when they come.
    writes: bool,
    skip: usize,
    times: usize,
    fault: Fault,
}

impl Rule {
    /// Requests with this method (empty for any) whose path and query contain `part`.
    pub(crate) fn on(method: &'static str, part: &str) -> Self {
        let fault = Fault::answer(500, "no fault is given");
        Self { method, part: part.to_owned(), unless: None, writes: false, skip: 0, times: usize::MAX, fault }
    }

    /// Not those whose path and query contain `part`.
    pub(crate) fn unless(self, part: &'static str) -> Self {
        Self { unless: Some(part), ..self }
    }

    /// The write with this number, counted from 0: not what only asks, and not the renewals of locks.
    pub(crate) fn write(number: usize) -> Self {
        Self { writes: true, skip: number, times: 1, ..Self::on("", "") }
    }

    /// Not the first `count` of them.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self { skip: count, ..self }
    }

    /// Only `count` of them.
    pub(crate) fn times(self, count: usize) -> Self {
        Self { times: count, ..self }
    }

    /// What goes wrong.
    pub(crate) fn fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// Counts a request that fits; tells whether it goes wrong.
    fn strikes(&mut self, seen: &Seen) -> bool {
        let Seen { method, uri, .. } = seen;
        let fits = (self.method.is_empty() || self.method == method)
            && uri.contains(&self.part)
            && self.unless.is_none_or(|unless| !uri.contains(unless));
        if !fits || self.times == 0 || (self.writes && (!seen.is_write() || seen.is_renewal())) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times -= usize::from(self.times != usize::MAX);
        true
    }
}

/// A request that came to the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) uri: String,
    /// Whether a rule struck.
    pub(crate) fault: bool,
    /// Whether it keeps a lock that is held already.
    renews: bool,
}

impl Seen {
    /// Tells whether the request renews a lock.
    pub(crate) fn is_renewal(&self) -> bool {
        self.renews
    }

    /// Tells whether the request would have changed something.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET" && !self.uri.contains("dryRun=All") && !self.uri.contains("/selfsubject")
    }
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    seen: Vec<Seen>,
    /// Who took which lock: a lock that is written by its holder is renewed, and by somebody else taken.
    holders: BTreeMap<String, String>,
    /// Requests that will never have an answer, and of which the server has done what it was asked to.
    hung: usize,
}

impl State {
    /// Tells whether a request keeps a lock that its sender holds.
    fn renews(&mut self, request: &Request) -> bool {
        if !request.uri.contains("/leases") || !matches!(request.method.as_str(), "PUT" | "POST") {
            return false;
        }
        let body: Json = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (name, holder) = (text(&body["metadata"]["name"]), text(&body["spec"]["holderIdentity"]));
        let before = self.holders.insert(name, holder.clone());
        request.method == "PUT" && before == Some(holder)
    }
}

/// A running proxy; it ends with the test process.
pub(crate) struct Proxy {
    cluster: Cluster,
    state: Arc<Mutex<State>>,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts a proxy that is admin towards the server.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        Self::with_credentials(cluster, &cluster.kubeconfig)
    }

    /// Starts a proxy that is the user of a kubeconfig towards the server.
    pub(crate) fn with_credentials(cluster: &Cluster, kubeconfig: &Path) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (sender, receiver) = std::sync::mpsc::channel();
        let (upstream, shared) = (kubeconfig.to_owned(), Arc::clone(&state));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = client(&upstream).await;
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap().port()).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(serve(stream, client.clone(), Arc::clone(&shared)));
                }
            });
        });
        let port = receiver.recv().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy", "users": [{"name": "proxy", "user": {}}],
            "clusters": [{"name": "proxy", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        let cluster = Cluster { kubeconfig, audit_log: cluster.audit_log.clone() };
        Self { cluster, state, _folder: folder }
    }

    /// Returns the cluster as it is seen through the proxy.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Adds a rule; earlier ones come first.
    pub(crate) fn rule(&self, rule: Rule) {
        self.state.lock().unwrap().rules.push(rule);
    }

    /// Forgets all rules and all that was seen.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().unwrap();
        *state = State { holders: std::mem::take(&mut state.holders), ..State::default() };
    }

    /// Returns the requests since the start or the last [`Proxy::clear`].
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Returns how many requests went wrong.
    pub(crate) fn faults(&self) -> usize {
        self.seen().iter().filter(|seen| seen.fault).count()
    }

    /// Returns how many requests will never have an answer. Whatever the server was to do of them is done.
    pub(crate) fn hung(&self) -> usize {
        self.state.lock().unwrap().hung
    }

    /// Returns the requests that changed something, or tried to, as `METHOD path`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let seen = self.seen();
        let path = |seen: &Seen| seen.uri.split('?').next().unwrap_or_default().to_owned();
        seen.iter()
            .filter(|seen| seen.is_write())
            .map(|seen| format!("{} {}", seen.method, path(seen)))
            .collect()
    }
}

async fn client(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// A request as it came.
pub(super) struct Request {
    method: String,
    pub(super) uri: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Answers the requests of one connection until it ends.
async fn serve(mut stream: TcpStream, client: kube::Client, state: Arc<Mutex<State>>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let fault = {
            let mut state = state.lock().unwrap();
            let renews = state.renews(&request);
            let (method, uri) = (request.method.clone(), request.uri.clone());
            let mut seen = Seen { method, uri, fault: false, renews };
            let fault =
                state.rules.iter_mut().find_map(|rule| rule.strikes(&seen).then(|| rule.fault.clone()));
            seen.fault = fault.is_some();
            state.seen.push(seen);
            fault
        };
        let hangs = || state.lock().unwrap().hung += 1;
        if !answer(&mut stream, &client, request, fault, hangs).await {
            return;
        }
    }
}

/// Returns the next request, or nothing when the other side has closed.
pub(super) async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<Request> {
    let head = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(buffer[..head].to_vec()).unwrap();
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ').map(str::to_owned);
    let (method, uri) = (first.next()?, first.next()?);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while buffer.len() < head + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer[head..head + length].to_vec();
    buffer.drain(..head + length);
    Some(Request { method, uri, headers, body })
}

/// Sends an answer; tells whether the connection goes on.
async fn answer(
    stream: &mut TcpStream,
    client: &kube::Client,
    request: Request,
    fault: Option<Fault>,
    hangs: impl Fn(),
) -> bool {
    match &fault {
        Some(Fault::Answer { status, body, headers }) => {
            return send(stream, *status, headers, body.as_bytes(), body.len()).await;
        }
        Some(Fault::Drop) => return false,
        Some(Fault::Hang) => {
            hangs();
            return std::future::pending().await;
        }
        Some(Fault::Delay(time)) => tokio::time::sleep(*time).await,
        _ => {}
    }
    let uri = request.uri.clone();
    let is_watch = request.uri.contains("watch=true");
    let mut forwarded = http::Request::builder().method(request.method.as_str()).uri(request.uri);
    for (name, value) in &request.headers {
        if !["host", "content-length", "accept-encoding", "connection"].contains(&name.as_str()) {
            forwarded = forwarded.header(name, value);
        }
    }
    let forwarded = forwarded.body(kube::client::Body::from(request.body)).unwrap();
    let Ok(response) = client.send(forwarded).await else { return false };
    let (parts, body) = response.into_parts();
    if is_watch && parts.status.is_success() {
        let version = parameter(&uri, "resourceVersion").to_owned();
        stream_watch(stream, body, fault, &version).await;
        return false;
    }
    let Ok(body) = body.collect_bytes().await else { return false };
    let mut body = body.to_vec();
    let mut headers = Vec::new();
    for (name, key) in [
        ("Warning", "warning"),
        ("Retry-After", "retry-after"),
        ("Content-Type", "content-type"),
        ("Date", "date"),
    ] {
        for value in parts.headers.get_all(key) {
            headers.push((name, String::from_utf8_lossy(value.as_bytes()).into_owned()));
        }
    }
    let status = parts.status.as_u16();
    match fault {
        Some(Fault::DropReply) => false,
        Some(Fault::HangReply) => {
            hangs();
            std::future::pending().await
        }
        Some(Fault::CutReply(keep)) => {
            let kept = body.get(..keep).unwrap_or(&body);
            send(stream, status, &headers, kept, body.len()).await;
            false
        }
        Some(Fault::ShortenReply(keep)) => {
            body.truncate(keep);
            send(stream, status, &headers, &body, body.len()).await
        }
        Some(Fault::Change(change)) => {
            let mut json: Json = serde_json::from_slice(&body).unwrap();
            change(&mut json);
            let body = json.to_string();
            send(stream, status, &headers, body.as_bytes(), body.len()).await
        }
        _ => send(stream, status, &headers, &body, body.len()).await,
    }
}

/// Returns a parameter of the query; empty if it has none.
fn parameter<'a>(uri: &'a str, name: &str) -> &'a str {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next().unwrap_or_default()
}

/// Passes on what a watch tells, until either side closes it.
async fn stream_watch(
    stream: &mut TcpStream,
    mut body: kube::client::Body,
    fault: Option<Fault>,
    version: &str,
) {
    use http_body_util::BodyExt as _;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let chunk = |data: &[u8]| [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat();
    let cut = match fault {
        Some(Fault::CutWatch(time)) => time,
        _ => Duration::from_secs(3600),
    };
    if matches!(fault, Some(Fault::CutWatch(_))) {
        let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}});
        if stream.write_all(&chunk(format!("{bookmark}\n").as_bytes())).await.is_err() {
            return;
        }
    }
    let is_silent = matches!(fault, Some(Fault::SilentWatch));
    let end = tokio::time::sleep(cut);
    tokio::pin!(end);
    let mut unread = [0_u8; 64];
    loop {
        let frame = tokio::select! {
            () = &mut end => return,
            // The client sends nothing while it watches: this is its end.
            _ = stream.read(&mut unread) => return,
            frame = body.frame() => frame,
        };
        let Some(Ok(frame)) = frame else { break };
        let Ok(data) = frame.into_data() else { continue };
        if is_silent || data.is_empty() {
            continue;
        }
        if stream.write_all(&chunk(&data)).await.is_err() {
            return;
        }
    }
    drop(stream.write_all(b"0\r\n\r\n").await);
}

pub(super) async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    status: u16,
    headers: &[(&'static str, String)],
    body: &[u8],
    length: usize,
) -> bool {
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.is_ok() && stream.write_all(body).await.is_ok()
}
