//! Writing. Made from a [`Reader`] by the verbs that apply, and by nothing else.

use std::fmt;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::api::{Answer, ApiError, Call, Repeat, pause_before_repeat, pauses};
use super::discovery::Resource;
use super::gate::{Closed, Deadline, Gate};
use super::read::{ApplyOptions, Reader, apply_call};

/// What happens to the dependents of a deleted object.
///
/// It is always sent: without it the server orphans the pods of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector removes them after the object.
    Background,
    /// The object stays until they are gone.
    Foreground,
    /// They stay without an owner.
    Orphan,
}

impl fmt::Display for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        })
    }
}

/// A client that can write.
///
/// Each write carries a deadline for the server, and is sent again only where the server says that it did nothing.
/// Behind a gate nothing is sent, and nothing sent again, that the gate does not let pass at that moment.
#[derive(Clone)]
pub struct Writer {
    reader: Reader,
    gates: Vec<Arc<dyn Gate>>,
}

impl Writer {
    /// Returns a writer on the same cluster.
    pub fn new(reader: Reader) -> Self {
        Self { reader, gates: Vec::new() }
    }

    /// Returns the reading half.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the same writer behind one more gate, the innermost.
    #[must_use]
    pub fn behind(&self, gate: Arc<dyn Gate>) -> Self {
        let gates = self.gates.iter().cloned().chain(std::iter::once(gate)).collect();
        Self { reader: self.reader.clone(), gates }
    }

    /// Returns a writer whose requests never wait for others.
    #[must_use]
    pub fn aside(&self) -> Self {
        Self { reader: Reader { api: self.reader.api.aside() }, gates: self.gates.clone() }
    }

    /// Tells whether something may be written now, and returns how long it may take.
    ///
    /// # Errors
    /// A gate is shut.
    pub fn check(&self) -> Result<Deadline, ApiError> {
        let mut deadline = Deadline::UNHURRIED;
        for gate in &self.gates {
            let own = gate.pass().map_err(|Closed(why)| ApiError::Closed { why })?;
            if own.answer < deadline.answer {
                deadline = own;
            }
        }
        Ok(deadline)
    }

    /// Makes sure, where the innermost lock is kept, that something may be destroyed, or a hook started.
    ///
    /// # Errors
    /// The lock is lost.
    pub async fn make_sure(&self) -> Result<(), ApiError> {
        match self.gates.last() {
            Some(gate) => gate.renew().await.map_err(|Closed(why)| ApiError::Closed { why }),
            None => Ok(()),
        }
    }

    /// Applies `body` server-side under Helm's field manager. `metadata.uid` and `metadata.resourceVersion`
    /// in it are preconditions.
    pub async fn apply(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
        options: ApplyOptions,
    ) -> Result<Answer, ApiError> {
        let sent = self.deliver(apply_call(resource, namespace, name, body, options), None).await;
        self.doubtful(&resource.path(namespace, Some(name)), sent)
    }

    /// Creates an object; an existing one is a 409.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        body: &Value,
    ) -> Result<Answer, ApiError> {
        self.send(Method::POST, resource.path(namespace, None), "application/json", body).await
    }

    /// Replaces an object; `metadata.resourceVersion` in `body` is the precondition.
    pub async fn replace(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
    ) -> Result<Answer, ApiError> {
        self.send(Method::PUT, resource.path(namespace, Some(name)), "application/json", body).await
    }

    /// Sends a JSON patch (RFC 6902).
    pub async fn json_patch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
    ) -> Result<Answer, ApiError> {
        let path =
            format!("{}?fieldManager={}", resource.path(namespace, Some(name)), crate::model::FIELD_MANAGER);
        let sent = self.send(Method::PATCH, path, "application/json-patch+json", patch).await;
        self.doubtful(&resource.path(namespace, Some(name)), sent)
    }

    /// Deletes the object with this uid; another object of that name is left alone (409), an absent one is
    /// success.
    pub async fn delete(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), ApiError> {
        self.make_sure().await?;
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation.to_string(),
            "preconditions": {"uid": uid},
        });
        let path = resource.path(namespace, Some(name));
        let sent = self.send(Method::DELETE, path, "application/json", &body).await;
        match self.doubtful(&resource.path(namespace, Some(name)), sent) {
            Ok(_) => Ok(()),
            Err(error) if error.is_status(404) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes one stored state of an object: one that was changed meanwhile is left alone (409).
    pub async fn delete_version(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        (uid, resource_version): (&str, &str),
        deadline: Deadline,
    ) -> Result<(), ApiError> {
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid, "resourceVersion": resource_version},
        });
        let path = resource.path(namespace, Some(name));
        let call = call(Method::DELETE, path, "application/json", &body);
        self.deliver(call, Some(deadline)).await.map(drop)
    }

    /// Creates or, with a uid in `body`, replaces an object once, within a time of its own.
    pub async fn store(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        body: &Value,
        deadline: Deadline,
    ) -> Result<Answer, ApiError> {
        let name = body["metadata"]["uid"].is_string().then(|| body["metadata"]["name"].as_str()).flatten();
        let method = if name.is_some() { Method::PUT } else { Method::POST };
        let path = resource.path(namespace, name);
        self.deliver(call(method, path, "application/json", body), Some(deadline)).await
    }

    /// Tells the gates of a write whose outcome is not known and which nobody reads back, and of one whose outcome is.
    fn doubtful<T>(&self, what: &str, sent: Result<T, ApiError>) -> Result<T, ApiError> {
        for gate in &self.gates {
            match &sent {
                Ok(_) => gate.settle(what),
                Err(error) if error.leaves_open() => gate.doubt(what),
                Err(_) => {}
            }
        }
        sent
    }

    async fn send(
        &self,
        method: Method,
        path: String,
        content_type: &str,
        body: &Value,
    ) -> Result<Answer, ApiError> {
        self.deliver(call(method, path, content_type, body), None).await
    }

    /// Sends a write, once more where the server says that it did nothing, as long as the gate lets it pass. One with a
    /// deadline of its own is sent once.
    async fn deliver(&self, mut call: Call<'_>, own: Option<Deadline>) -> Result<Answer, ApiError> {
        let path = std::mem::take(&mut call.path);
        let joint = if path.contains('?') { '&' } else { '?' };
        let mut pauses = pauses();
        loop {
            let deadline = match own {
                Some(own) => own,
                None => self.check()?,
            };
            call.path = format!("{path}{joint}timeout={}ms", deadline.server.as_millis());
            let error = match self.reader.api.send_once(&call, deadline.answer).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let again = if own.is_some() { None } else { pauses.next() };
            let wait = again.and_then(|pause| pause_before_repeat(&error, call.repeat, pause));
            let Some(wait) = wait else { return Err(error) };
            tokio::time::sleep(wait).await;
        }
    }
}

fn call<'a>(method: Method, path: String, content_type: &'a str, body: &Value) -> Call<'a> {
    Call {
        method,
        path,
        accept: "application/json",
        content_type: Some(content_type),
        body: body.to_string().into_bytes(),
        repeat: Repeat::OnlyIfUndone,
    }
}
