//! Reading, and asking the server what a write would do. Nothing here changes the cluster.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
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

/// A page of a LIST. A body without `items` is none, whatever its status.
#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    /// Go writes an empty list as null where nobody made one.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
    #[serde(default, rename = "resourceVersion")]
    version: String,
}

/// Tells whether the server says that it has no object of this name.
fn is_absent(error: &ApiError, name: &str) -> bool {
    error.refusal().is_some_and(|refusal| {
        refusal.status == 404
            && refusal.reason == "NotFound"
            && refusal.body["details"]["name"].as_str() == Some(name)
    })
}

/// A client that cannot write: it has no method that does.
#[derive(Clone)]
pub struct Reader {
    pub(super) api: Api,
}

impl Reader {
    pub(super) fn new(client: kube::Client, timeout: Option<Duration>) -> Self {
        Self { api: Api::new(client, timeout) }
    }

    /// Returns the time of the server's last answer, by its own clock; nothing if it never told.
    pub fn server_time(&self) -> Option<jiff::Timestamp> {
        self.api.date()
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
    ///
    /// # Errors
    /// Only the server's word that this very object is not there counts as nothing. A 404 of anybody else on the way
    /// (a proxy, an API whose kind just went) is an error like any other.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        match self.api.send(&Call::get(resource.path(namespace, Some(name)))).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if is_absent(&error, name) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// As [`Reader::get`], asked once and within a time.
    ///
    /// # Errors
    /// As there; nothing is asked again.
    pub async fn get_within(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        limit: Duration,
    ) -> Result<Option<Value>, ApiError> {
        match self.api.send_once(&Call::get(resource.path(namespace, Some(name))), limit).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if is_absent(&error, name) => Ok(None),
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
        self.list_where(resource, namespace, options, |_| true).await
    }

    /// Returns the objects whose name `keep` takes, as [`Reader::list`] does; no more than a page of the others is
    /// held at a time.
    ///
    /// When the server no longer knows the version that the pages belong to (410), the list is read anew, in one
    /// piece: pages of two versions can lack an object that is in both.
    ///
    /// # Errors
    /// A page that fails fails the whole list.
    pub async fn list_where(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        options: &ListOptions,
        keep: impl Fn(&str) -> bool,
    ) -> Result<Vec<Value>, ApiError> {
        Ok(self.list_at(resource, namespace, options, keep).await?.0)
    }

    /// As [`Reader::list_where`]; also returns the version of the list, from which on changes can be watched.
    ///
    /// # Errors
    /// A page that fails fails the whole list.
    pub(super) async fn list_at(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        options: &ListOptions,
        keep: impl Fn(&str) -> bool,
    ) -> Result<(Vec<Value>, String), ApiError> {
        let mut objects = Vec::new();
        let mut next = String::new();
        let mut limit = PAGE;
        loop {
            // A limit of 0 is none.
            let mut path = format!("{}?limit={limit}", resource.path(namespace, None));
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
            let page = match self.api.send_as::<Page>(&call).await {
                Ok(page) => page,
                Err(error) if error.is_status(410) && !next.is_empty() => {
                    objects.clear();
                    next.clear();
                    limit = 0;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let wanted = |object: &Value| object["metadata"]["name"].as_str().is_some_and(&keep);
            objects.extend(page.items.unwrap_or_default().into_iter().filter(wanted));
            if page.metadata.next.is_empty() {
                return Ok((objects, page.metadata.version));
            }
            next = page.metadata.next;
        }
    }

    /// Returns how many objects of a kind there are, in one namespace or in all.
    ///
    /// # Errors
    /// What cannot be counted is never taken for nothing.
    pub async fn count(&self, resource: &Resource, namespace: Option<&str>) -> Result<usize, ApiError> {
        let mut call = Call::get(format!("{}?limit=1", resource.path(namespace, None)));
        call.accept = METADATA_ONLY;
        let page = self.api.send(&call).await?.body;
        let listed = page["items"].as_array().map_or(0, Vec::len);
        let more = page["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty());
        match page["metadata"]["remainingItemCount"].as_u64() {
            Some(rest) => Ok(listed + usize::try_from(rest).unwrap_or(usize::MAX)),
            None if !more => Ok(listed),
            // Not every server tells how many are left.
            None => {
                let options = ListOptions { metadata_only: true, ..ListOptions::default() };
                Ok(self.list(resource, namespace, &options).await?.len())
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

    /// Returns what the server would make of a JSON patch, without carrying it out.
    pub async fn dry_run_json_patch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
    ) -> Result<Answer, ApiError> {
        let path =
            format!("{}?dryRun=All&fieldManager={FIELD_MANAGER}", resource.path(namespace, Some(name)));
        let call = Call {
            method: Method::PATCH,
            path,
            accept: "application/json",
            content_type: Some("application/json-patch+json"),
            body: patch.to_string().into_bytes(),
            repeat: Repeat::Always,
        };
        self.api.send(&call).await
    }

    /// Asks the server what this user may do: `reviews` is a resource of `authorization.k8s.io`, the answer its status.
    /// Nothing is stored.
    ///
    /// # Errors
    /// The server does not answer, or does not let this user ask.
    pub async fn review(&self, reviews: &str, spec: Value) -> Result<Value, ApiError> {
        let body = serde_json::json!({"apiVersion": "authorization.k8s.io/v1", "spec": spec});
        let call = Call {
            method: Method::POST,
            path: format!("/apis/authorization.k8s.io/v1/{reviews}"),
            accept: "application/json",
            content_type: Some("application/json"),
            body: body.to_string().into_bytes(),
            repeat: Repeat::Always,
        };
        let mut answer = self.api.send(&call).await?;
        Ok(answer.body["status"].take())
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
