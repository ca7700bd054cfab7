//! Reading, and asking the server what a write would do. Nothing here changes the cluster.

use http::Method;
use serde_json::Value;

use super::api::{Answer, Api, ApiError, Call, Repeat};
use super::discovery::{Discovery, Resource, escape};
use crate::model::FIELD_MANAGER;

/// Objects per page of a LIST: the server's own clients use the same.
const PAGE: usize = 500;
/// The aggregated form of discovery; older servers answer with the second, the oldest with neither.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// Only the metadata of each object.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// What a LIST returns.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// A label selector; empty for all.
    pub labels: String,
    /// A field selector; empty for all.
    pub fields: String,
    /// Only the metadata of each object.
    pub metadata_only: bool,
}

/// How a server-side apply treats conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Take fields that another manager owns with another value.
    pub force: bool,
    /// The field manager.
    pub manager: &'static str,
}

/// A client that cannot write: it has no method that does.
#[derive(Clone)]
pub struct Reader {
    pub(super) api: Api,
}

impl Reader {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { api: Api::new(client) }
    }

    /// Returns the kinds that the server knows and its version.
    pub async fn discover(&self) -> Result<Discovery, ApiError> {
        let aggregated = |path: &str| {
            let mut call = Call::get(path.to_owned());
            call.accept = AGGREGATED;
            call
        };
        let (core, groups) = (aggregated("/api"), aggregated("/apis"));
        let version = Call::get("/version".to_owned());
        let (core, groups, version) =
            futures::future::try_join3(self.api.send(&core), self.api.send(&groups), self.api.send(&version))
                .await?;
        Ok(Discovery::read(&core.body, &groups.body, version.body))
    }

    /// Returns an object, or nothing if there is none of that name.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        match self.api.send(&Call::get(resource.path(namespace, Some(name)))).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.is_status(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns all objects of a kind, in one namespace or in all, page by page.
    ///
    /// # Errors
    /// A page that fails fails the whole list: what could not be read must never look like nothing there.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, ApiError> {
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let mut path = format!("{}?limit={PAGE}", resource.path(namespace, None));
            for (key, value) in
                [("labelSelector", &options.labels), ("fieldSelector", &options.fields), ("continue", &next)]
            {
                if !value.is_empty() {
                    path = format!("{path}&{key}={}", escape(value));
                }
            }
            let mut call = Call::get(path);
            if options.metadata_only {
                call.accept = METADATA_ONLY;
            }
            let mut page = self.api.send(&call).await?.body;
            if let Value::Array(items) = page["items"].take() {
                objects.extend(items);
            }
            match page["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => next = token.to_owned(),
                _ => return Ok(objects),
            }
        }
    }

    /// Returns what the server would make of applying `body`, without applying it.
    pub async fn dry_run_apply(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
        options: ApplyOptions,
    ) -> Result<Answer, ApiError> {
        let mut call = apply_call(resource, namespace, name, body, options);
        call.path.push_str("&dryRun=All");
        call.repeat = Repeat::Always;
        self.api.send(&call).await
    }

    /// Returns what the server would make of replacing an object, without replacing it.
    pub async fn dry_run_replace(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
    ) -> Result<Answer, ApiError> {
        let path =
            format!("{}?dryRun=All&fieldManager={FIELD_MANAGER}", resource.path(namespace, Some(name)));
        let call = Call {
            method: Method::PUT,
            path,
            accept: "application/json",
            content_type: Some("application/json"),
            body: body.to_string().into_bytes(),
            repeat: Repeat::Always,
        };
        self.api.send(&call).await
    }

    /// Returns the last lines of a container's log.
    pub async fn log_tail(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
        lines: u32,
    ) -> Option<String> {
        let path = format!(
            "{}/log?container={}&tailLines={lines}&previous={previous}",
            Resource::pods().path(Some(namespace), Some(pod)),
            escape(container)
        );
        self.api.send_text(&Call::get(path)).await
    }
}

/// The request of a server-side apply; the caller adds `dryRun` or sends it for real.
pub(super) fn apply_call<'a>(
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
    body: &Value,
    options: ApplyOptions,
) -> Call<'a> {
    Call {
        method: Method::PATCH,
        path: format!(
            "{}?fieldManager={}&force={}",
            resource.path(namespace, Some(name)),
            options.manager,
            options.force
        ),
        accept: "application/json",
        // JSON is YAML: no second serialiser between the object and the server.
        content_type: Some("application/apply-patch+yaml"),
        body: body.to_string().into_bytes(),
        repeat: Repeat::OnlyIfUndone,
    }
}
