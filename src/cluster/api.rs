//! One request and its answer, with bounded retries of what is safe to repeat.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response};
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

/// Who asks, as the server's audit log and its field owners see it.
const USER_AGENT: &str = concat!("statectl/", env!("CARGO_PKG_VERSION"));
/// How long one request may take unless told otherwise. The server's own limit is 60 s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(75);
/// How often a request that is safe to repeat is tried.
const ATTEMPTS: u32 = 5;
/// The wait before the first repetition; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// No server's `Retry-After` is followed further than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Requests under way at once. The server's own fairness decides beyond that: there is no client-side rate.
const IN_FLIGHT: usize = 16;

/// A successful answer.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status; 201 tells a creation from an update.
    pub status: u16,
    /// The body.
    pub body: Value,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
}

/// One cause of a refusal, as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
    /// The text.
    pub message: String,
    /// The field, such as `spec.selector`.
    pub field: String,
}

/// An answer with an error status.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The machine-readable reason of the Status object; empty if the body is none.
    pub reason: String,
    /// The server's text.
    pub message: String,
    /// The causes, in the server's order.
    pub causes: Vec<Cause>,
    /// The whole body; null if it is not JSON.
    pub body: Value,
    retry_after: Option<Duration>,
}

impl Refusal {
    /// Tells whether the server says that it did nothing, and may do it when it is asked again.
    fn is_undone(&self) -> bool {
        // Counting against a quota races with other requests; the object itself was not looked at.
        self.status == 429 || (self.status == 409 && self.body["details"]["kind"] == "resourcequotas")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message.trim_end())
    }
}

/// Why a request has no answer to work with.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No answer came: connection, TLS, proxy or credential plugin.
    #[error("{what}: no answer from the API server")]
    Transport {
        /// The method and path.
        what: String,
        /// What went wrong on the way.
        #[source]
        source: Box<kube::Error>,
    },
    /// The answer took too long; a write may still happen.
    #[error("{what}: no answer from the API server within {} s", limit.as_secs())]
    Timeout {
        /// The method and path.
        what: String,
        /// The limit that passed.
        limit: Duration,
    },
    /// The server refused.
    #[error("{refusal} (HTTP {})", refusal.status)]
    Refused {
        /// The method and path.
        what: String,
        /// The server's answer.
        refusal: Box<Refusal>,
    },
    /// The body is not what the API promises.
    #[error("{what}: the answer is not what the API promises")]
    Malformed {
        /// The method and path.
        what: String,
        /// The reader's finding.
        #[source]
        source: serde_json::Error,
    },
    /// No group, version and kind like this is served.
    #[error("the server does not know the kind {kind}")]
    UnknownKind {
        /// The kind as `group/version/Kind`.
        kind: String,
    },
    /// Nothing may be written any more: the lock is lost.
    #[error("{why}")]
    Closed {
        /// Why.
        why: String,
    },
    /// The group is served by an aggregated API server that does not answer.
    #[error("the API {group_version} does not answer at present, so its objects cannot be read")]
    StaleGroup {
        /// The group and version.
        group_version: String,
    },
}

impl ApiError {
    /// Returns the server's refusal, if that is what it is.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let ApiError::Refused { refusal, .. } = self { Some(refusal) } else { None }
    }

    /// Tells whether the server answered with this HTTP status.
    pub fn is_status(&self, status: u16) -> bool {
        self.refusal().is_some_and(|refusal| refusal.status == status)
    }

    /// Tells whether the request may have been carried out all the same: there was no answer, or one of somebody on
    /// the way, or of a server that did not wait for the end of it.
    pub fn leaves_open(&self) -> bool {
        match self {
            ApiError::Transport { .. } | ApiError::Timeout { .. } | ApiError::Malformed { .. } => true,
            ApiError::Refused { refusal, .. } => refusal.status >= 500,
            ApiError::UnknownKind { .. } | ApiError::StaleGroup { .. } | ApiError::Closed { .. } => false,
        }
    }

    /// Tells whether the same request may work a moment later: no answer came, or one of a server that has trouble of its
    /// own. It may have been carried out all the same.
    pub fn may_pass(&self) -> bool {
        match self {
            ApiError::Transport { source, .. } => !matches!(**source, kube::Error::Auth(_)),
            // Half a body that nobody noticed on the way.
            ApiError::Timeout { .. } | ApiError::Malformed { .. } => true,
            ApiError::Refused { refusal, .. } => match refusal.status {
                // A refusal of the typed merge is a 500 without a reason and will never pass
                // (`request to convert CR`, `failed to create typed patch object`).
                500 => refusal.reason == "InternalError",
                502..=504 => true,
                _ => refusal.is_undone(),
            },
            ApiError::UnknownKind { .. } | ApiError::StaleGroup { .. } | ApiError::Closed { .. } => false,
        }
    }

    /// Returns a line that helps, where the error itself tells which.
    pub fn hint(&self) -> Option<String> {
        match self {
            ApiError::Transport { .. } | ApiError::Timeout { .. } => Some(
                "check the server address and your network; `kubectl cluster-info` shows what kubectl uses"
                    .to_owned(),
            ),
            ApiError::Refused { refusal, .. } => match refusal.status {
                401 => Some(
                    "log in again, or renew the credentials of this context in your kubeconfig".to_owned(),
                ),
                403 => Some(
                    "ask for the right named above, or use a context whose user has it (`--kube-context`)"
                        .to_owned(),
                ),
                _ => None,
            },
            ApiError::UnknownKind { .. } => Some(
                "install the CustomResourceDefinition first, or put it into a release that this one `needs`"
                    .to_owned(),
            ),
            ApiError::StaleGroup { group_version } => {
                Some(format!("find the APIService of {group_version} whose condition Available is False"))
            }
            ApiError::Malformed { .. } | ApiError::Closed { .. } => None,
        }
    }
}

/// What may be done again when it is not known whether it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Reading and dry runs: after any failure that can pass.
    Always,
    /// Writes: only where the server says that it did nothing (429), so that an unknown outcome is never
    /// followed by a second write.
    OnlyIfUndone,
}

/// The way to one API server.
#[derive(Clone)]
pub(super) struct Api {
    client: kube::Client,
    /// The time of the last answer, by the clock of who sent it.
    date: Arc<Mutex<Option<jiff::Timestamp>>>,
    in_flight: Arc<Semaphore>,
    timeout: Duration,
}

/// One request, kept so that it can be built again for a repetition.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) accept: &'a str,
    pub(super) content_type: Option<&'a str>,
    pub(super) body: Vec<u8>,
    pub(super) repeat: Repeat,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: String) -> Self {
        Call {
            method: Method::GET,
            path,
            accept: "application/json",
            content_type: None,
            body: Vec::new(),
            repeat: Repeat::Always,
        }
    }

    pub(super) fn what(&self) -> String {
        // The query holds field managers and selectors only, but it adds nothing that a reader needs.
        format!("{} {}", self.method, self.path.split('?').next().unwrap_or_default())
    }
}

impl Api {
    pub(super) fn new(client: kube::Client, timeout: Option<Duration>) -> Self {
        let timeout = timeout.unwrap_or(REQUEST_TIMEOUT);
        Self { client, date: Arc::default(), in_flight: Arc::new(Semaphore::new(IN_FLIGHT)), timeout }
    }

    /// Returns the same way with a queue of its own: requests on it never wait for others.
    pub(super) fn aside(&self) -> Self {
        Self { in_flight: Arc::new(Semaphore::new(IN_FLIGHT)), ..self.clone() }
    }

    /// Sends a request and returns the answer; refusals with an error status are errors.
    pub(super) async fn send(&self, call: &Call<'_>) -> Result<Answer, ApiError> {
        self.repeated(call, || self.send_once(call, self.timeout)).await
    }

    /// As [`Api::send`], and whatever comes, it is not tried again.
    pub(super) async fn send_once(&self, call: &Call<'_>, limit: Duration) -> Result<Answer, ApiError> {
        let response = self.exchange(call, limit).await?;
        let status = response.status().as_u16();
        let warnings = warnings(response.headers());
        Ok(Answer { status, body: read_body(call, &response)?, warnings })
    }

    /// Sends a request and returns the body of the answer as what it should be.
    pub(super) async fn send_as<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, ApiError> {
        self.repeated(call, || async { read_body(call, &self.exchange(call, self.timeout).await?) }).await
    }

    /// Tries a request until it has an answer, or an error that will not pass.
    async fn repeated<T, F: Future<Output = Result<T, ApiError>>>(
        &self,
        call: &Call<'_>,
        once: impl Fn() -> F,
    ) -> Result<T, ApiError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            let outcome = once().await;
            let Err(error) = outcome else { return outcome };
            let Some(wait) = pause_before_repeat(&error, call.repeat, pause) else { return Err(error) };
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
        once().await
    }

    fn note_date(&self, headers: &http::HeaderMap) {
        let text = headers.get(http::header::DATE).and_then(|value| value.to_str().ok());
        if let Some(date) = text.and_then(|text| jiff::fmt::rfc2822::parse(text).ok()) {
            *self.date.lock().unwrap_or_else(PoisonError::into_inner) = Some(date.timestamp());
        }
    }

    /// Returns the time of the last answer, by the clock of who sent it.
    pub(super) fn date(&self) -> Option<jiff::Timestamp> {
        *self.date.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a text answer, such as a log; nothing if there is none to be had.
    pub(super) async fn send_text(&self, call: &Call<'_>) -> Option<String> {
        let response = self.exchange(call, self.timeout).await.ok()?;
        response.status().is_success().then(|| String::from_utf8_lossy(response.body()).into_owned())
    }

    /// Sends a request whose answer has no end, and returns what comes of it. It takes no place among the requests under
    /// way, and only the time to the head of the answer is bounded.
    pub(super) async fn open(&self, call: &Call<'_>) -> Result<Body, ApiError> {
        let transport =
            |error: kube::Error| ApiError::Transport { what: call.what(), source: Box::new(error) };
        let mut request = request(call).map_err(transport)?;
        // Kubernetes 1.37 compresses each event of a watch on its own, which decoders take for the end.
        request
            .headers_mut()
            .insert(http::header::ACCEPT_ENCODING, http::HeaderValue::from_static("identity"));
        let opened = tokio::time::timeout(self.timeout, self.client.send(request)).await;
        let response = opened
            .map_err(|_| ApiError::Timeout { what: call.what(), limit: self.timeout })?
            .map_err(transport)?;
        let (parts, body) = response.into_parts();
        if parts.status.is_success() {
            return Ok(body);
        }
        let bytes = tokio::time::timeout(self.timeout, body.collect_bytes()).await;
        let bytes = bytes.map_err(|_| ApiError::Timeout { what: call.what(), limit: self.timeout })?;
        let bytes = bytes.map_err(transport)?;
        let refusal = refusal_of(parts.status.as_u16(), &parts.headers, &bytes);
        Err(ApiError::Refused { what: call.what(), refusal: Box::new(refusal) })
    }

    async fn exchange(&self, call: &Call<'_>, limit: Duration) -> Result<Response<Vec<u8>>, ApiError> {
        let transport =
            |error: kube::Error| ApiError::Transport { what: call.what(), source: Box::new(error) };
        let request = request(call).map_err(transport)?;

        // The semaphore is never closed; without a permit the request would merely be unbounded.
        let _permit = self.in_flight.acquire().await.ok();
        let exchange = async {
            let response = self.client.send(request).await.map_err(transport)?;
            self.note_date(response.headers());
            let (parts, body) = response.into_parts();
            let bytes = body.collect_bytes().await.map_err(transport)?;
            Ok(Response::from_parts(parts, Vec::from(bytes)))
        };
        let timed = tokio::time::timeout(limit, exchange).await;
        timed.map_err(|_| ApiError::Timeout { what: call.what(), limit })?
    }
}

fn request(call: &Call<'_>) -> Result<Request<Body>, kube::Error> {
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(call.path.as_str())
        .header(http::header::ACCEPT, call.accept)
        .header(http::header::USER_AGENT, USER_AGENT);
    if let Some(content_type) = call.content_type {
        request = request.header(http::header::CONTENT_TYPE, content_type);
    }
    request.body(Body::from(call.body.clone())).map_err(kube::Error::HttpError)
}

fn read_body<T: DeserializeOwned>(call: &Call<'_>, response: &Response<Vec<u8>>) -> Result<T, ApiError> {
    let status = response.status().as_u16();
    if (200..300).contains(&status) {
        return serde_json::from_slice(response.body())
            .map_err(|source| ApiError::Malformed { what: call.what(), source });
    }
    let refusal = refusal_of(status, response.headers(), response.body());
    Err(ApiError::Refused { what: call.what(), refusal: Box::new(refusal) })
}

/// Reads an error body. Not every one is a Status object: an unknown group, priority-and-fairness and a dead
/// aggregated API answer in plain text.
pub(super) fn refusal_of(status: u16, headers: &http::HeaderMap, body: &[u8]) -> Refusal {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = match json["message"].as_str() {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ if status == 401 => "the API server does not accept these credentials".to_owned(),
        _ => String::from_utf8_lossy(body).chars().take(500).collect(),
    };
    let causes = json["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let causes = causes
        .iter()
        .map(|cause| Cause {
            reason: text(&cause["reason"]),
            message: text(&cause["message"]),
            field: text(&cause["field"]),
        })
        .collect();
    let retry_after = headers
        .get(http::header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    Refusal { status, reason: text(&json["reason"]), message, causes, body: json, retry_after }
}

/// Returns the texts of the `Warning` headers: `299 - "text"`, several joined by commas.
fn warnings(headers: &http::HeaderMap) -> Vec<String> {
    let mut texts = Vec::new();
    for header in headers.get_all(http::header::WARNING) {
        let header = String::from_utf8_lossy(header.as_bytes()).into_owned();
        let mut rest = header.as_str();
        while let Some((_, quoted)) = rest.split_once('"') {
            let (text, after) = unquote(quoted);
            texts.push(text);
            rest = after;
        }
    }
    texts
}

/// Reads up to the closing quote; a backslash takes the next character literally.
fn unquote(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, &quoted[at + 1..]),
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            other => text.push(other),
        }
    }
    (text, "")
}

/// Returns the waits between the attempts of a request that the server did not carry out.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    (1..ATTEMPTS).map(|number| FIRST_PAUSE * 2_u32.pow(number - 1))
}

/// Returns the wait before the request is tried again, or nothing if it must not be.
pub(super) fn pause_before_repeat(error: &ApiError, repeat: Repeat, pause: Duration) -> Option<Duration> {
    // Whoever has waited so long for an answer does not wait again.
    let passing = error.may_pass()
        && !matches!(error, ApiError::Timeout { .. })
        && (repeat == Repeat::Always || error.refusal().is_some_and(Refusal::is_undone));
    let asked = error.refusal().and_then(|refusal| refusal.retry_after);
    passing.then(|| asked.unwrap_or(pause).min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> ApiError {
        let refusal = refusal_of(status, &http::HeaderMap::new(), body.as_bytes());
        ApiError::Refused { what: "PATCH /x".to_owned(), refusal: Box::new(refusal) }
    }

    #[test]
    fn only_what_can_pass_is_tried_again_and_a_write_only_where_nothing_happened() {
        let internal = r#"{"reason":"InternalError","message":"failed calling webhook"}"#;
        for (status, body, read, write) in [
            (429, "Too many requests", true, true),
            (500, internal, true, false),
            (500, r#"{"message":"failed to create typed patch object"}"#, false, false),
            (503, "service unavailable", true, false),
            (504, "{}", true, false),
            (422, "{}", false, false),
            (409, "{}", false, false),
            (409, r#"{"details":{"kind":"resourcequotas"}}"#, true, true),
            (401, "{}", false, false),
        ] {
            let error = refused(status, body);
            let again = |repeat| pause_before_repeat(&error, repeat, FIRST_PAUSE).is_some();
            assert_eq!(
                (again(Repeat::Always), again(Repeat::OnlyIfUndone)),
                (read, write),
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_plain_text_refusal_keeps_its_text() {
        let error = refused(404, "404 page not found\n");
        assert_eq!(error.to_string(), "404 page not found (HTTP 404)");
    }

    #[test]
    fn several_warnings_in_one_header_are_told_apart() {
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::WARNING, r#"299 - "a \"b\"", 299 - "c, d""#.parse().unwrap());
        assert_eq!(warnings(&headers), ["a \"b\"", "c, d"]);
    }
}
