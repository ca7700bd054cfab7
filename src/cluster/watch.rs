//! The changes of a kind in a namespace, as the server tells them.

use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;

use super::api::{ApiError, Call, refusal_of};
use super::discovery::{Resource, escape};
use super::read::Reader;

/// No object of a server is larger: etcd takes 1.5 MiB, and JSON may escape every byte.
const LONGEST_EVENT: usize = 16 << 20;
/// What is kept of a buffer that an event has made larger.
const BUFFER: usize = 64 << 10;

/// One change.
#[derive(Debug)]
pub(super) enum Change {
    /// An object is new, or another than before.
    Put(Value),
    /// An object is gone.
    Gone(Value),
    /// Nothing has changed up to this version.
    Passed(String),
}

/// Changes until somebody closes the connection.
pub(super) struct Changes {
    body: Body,
    buffer: Vec<u8>,
    what: String,
}

#[derive(Deserialize)]
struct Told {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

impl Reader {
    /// Starts to watch a kind, in one namespace or in all, from a version on. The server ends it after `time`.
    pub(super) async fn watch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        version: &str,
        time: Duration,
    ) -> Result<Changes, ApiError> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
            resource.path(namespace, None),
            escape(version),
            time.as_secs().max(1)
        );
        let call = Call::get(path);
        Ok(Changes { body: self.api.open(&call).await?, buffer: Vec::new(), what: call.what() })
    }
}

impl Changes {
    /// Returns the next change; nothing when the server has closed the watch.
    ///
    /// # Errors
    /// The connection broke, or the server says why it cannot go on, such as 410 for a version that it has forgotten.
    pub(super) async fn next(&mut self) -> Result<Option<Change>, ApiError> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let change = self.read(searched + at)?;
                self.buffer.drain(..=searched + at);
                if self.buffer.is_empty() {
                    self.buffer.shrink_to(BUFFER);
                }
                return Ok(Some(change));
            }
            searched = self.buffer.len();
            // Half an event is told again from the last version on.
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|source| ApiError::Transport {
                what: self.what.clone(),
                source: Box::new(source),
            })?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
            if self.buffer.len() > LONGEST_EVENT {
                self.buffer = Vec::new();
                return Ok(None);
            }
        }
    }

    fn read(&self, end: usize) -> Result<Change, ApiError> {
        let told: Told = serde_json::from_slice(&self.buffer[..end])
            .map_err(|source| ApiError::Malformed { what: self.what.clone(), source })?;
        match told.kind.as_str() {
            "DELETED" => Ok(Change::Gone(told.object)),
            "BOOKMARK" => {
                let version = told.object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
                Ok(Change::Passed(version.to_owned()))
            }
            "ERROR" => {
                let status = told.object["code"].as_u64().and_then(|code| u16::try_from(code).ok());
                let body = told.object.to_string();
                let refusal = refusal_of(status.unwrap_or(500), &http::HeaderMap::new(), body.as_bytes());
                Err(ApiError::Refused { what: self.what.clone(), refusal: Box::new(refusal) })
            }
            _ => Ok(Change::Put(told.object)),
        }
    }
}
