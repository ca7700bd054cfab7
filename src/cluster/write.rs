//! Writing. Made from a [`Reader`] by the verbs that apply, and by nothing else.

use std::fmt;

use http::Method;
use serde_json::{Value, json};

use super::api::{Answer, ApiError, Call, Repeat};
use super::discovery::Resource;
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
#[derive(Clone)]
pub struct Writer {
    reader: Reader,
}

impl Writer {
    /// Returns a writer on the same cluster.
    pub fn new(reader: Reader) -> Self {
        Self { reader }
    }

    /// Returns the reading half.
    pub fn reader(&self) -> &Reader {
        &self.reader
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
        self.reader.api.send(&apply_call(resource, namespace, name, body, options)).await
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
        self.send(Method::PATCH, path, "application/json-patch+json", patch).await
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
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation.to_string(),
            "preconditions": {"uid": uid},
        });
        let path = resource.path(namespace, Some(name));
        match self.send(Method::DELETE, path, "application/json", &body).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_status(404) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: String,
        content_type: &str,
        body: &Value,
    ) -> Result<Answer, ApiError> {
        let call = Call {
            method,
            path,
            accept: "application/json",
            content_type: Some(content_type),
            body: body.to_string().into_bytes(),
            repeat: Repeat::OnlyIfUndone,
        };
        self.reader.api.send(&call).await
    }
}
