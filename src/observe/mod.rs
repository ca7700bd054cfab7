//! Looks at the cluster: records, live objects, and what the server says to a dry run. Reads only.
//!
//! What could not be read is never taken for absent: every function here fails, or says so in its result.

mod ask;
mod losses;
mod objects;
mod quotas;
mod records;
mod remedies;
mod settle;

use std::collections::BTreeMap;

use futures::StreamExt as _;

pub use objects::{Recorded, Target, Unread, objects, remnants};
pub use quotas::quotas;
pub use records::{Histories, context_releases, histories};
pub use remedies::look_around;
pub use settle::Scalers;

use crate::cluster::{ApiError, Connection, Discovery, ListOptions, Reader, Resource};
use crate::model::ClusterIdentity;
use crate::plan::ObservedNamespace;

/// Namespaces, lists and dry runs looked at side by side; the client bounds what is under way at once.
const SIDE_BY_SIDE: usize = 32;
/// From how many namespaces on one LIST is cheaper than a GET for each.
const LIST_NAMESPACES_FROM: usize = 4;

/// What the server is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Objects that may change: those whose live state does not prove that they are as desired.
    #[default]
    Unproven,
    /// Every object. Finds also what has nothing to do with the file: a policy that would refuse the object today, a
    /// webhook that would change it, a deprecated version.
    All,
}

/// Returns what names the cluster. Its uid is that of kube-system, which not every user may read.
pub async fn identity(connection: &Connection, discovery: &Discovery) -> Result<ClusterIdentity, ApiError> {
    let uid = match connection.reader.get(&Resource::namespaces(), None, "kube-system").await {
        Ok(namespace) => namespace.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)),
        Err(error) if error.is_status(403) => None,
        Err(error) => return Err(error),
    };
    Ok(ClusterIdentity {
        server: connection.server.clone(),
        context: connection.context.clone(),
        uid,
        version: discovery.git_version().to_owned(),
    })
}

/// A namespace to look at, with the marks that the file asks for.
#[derive(Clone, Debug, Default)]
pub struct NamespaceMarks {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Returns which namespaces exist and carry their marks. A user who may not read namespaces sees 403 for those
/// that exist and those that do not: they are taken for existing, and the server refuses later if they do not.
pub async fn namespaces(
    reader: &Reader,
    wanted: &BTreeMap<String, NamespaceMarks>,
) -> Result<Vec<ObservedNamespace>, ApiError> {
    let listed =
        if wanted.len() < LIST_NAMESPACES_FROM { None } else { list_namespaces(reader, wanted).await? };
    let look = |(name, marks): (&String, &NamespaceMarks)| {
        let known = listed.as_ref().map(|listed| listed.get(name).cloned());
        let (name, marks) = (name.clone(), marks.clone());
        async move {
            let found = match known {
                Some(found) => found,
                None => match reader.get(&Resource::namespaces(), None, &name).await {
                    Ok(found) => found,
                    Err(error) if error.is_status(403) => Some(serde_json::Value::Null),
                    Err(error) => return Err(error),
                },
            };
            let has = |kind: &str, marks: &BTreeMap<String, String>| {
                marks.iter().all(|(key, value)| {
                    found.as_ref().is_some_and(|object| object["metadata"][kind][key].as_str() == Some(value))
                })
            };
            let is_marked = has("labels", &marks.labels) && has("annotations", &marks.annotations);
            let exists = found.is_some();
            Ok(ObservedNamespace {
                name,
                exists,
                is_marked,
                labels: marks.labels,
                annotations: marks.annotations,
            })
        }
    };
    let looks = futures::stream::iter(wanted.iter().map(look)).buffered(SIDE_BY_SIDE);
    looks.collect::<Vec<_>>().await.into_iter().collect()
}

/// Returns the wanted namespaces that exist; nothing for a user who may not list them.
async fn list_namespaces(
    reader: &Reader,
    wanted: &BTreeMap<String, NamespaceMarks>,
) -> Result<Option<BTreeMap<String, serde_json::Value>>, ApiError> {
    let options = ListOptions { metadata_only: true, ..ListOptions::default() };
    let listed =
        reader.list_where(&Resource::namespaces(), None, &options, |name| wanted.contains_key(name)).await;
    match listed {
        Ok(objects) => {
            let name = |object: &serde_json::Value| {
                object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
            };
            Ok(Some(objects.into_iter().map(|object| (name(&object), object)).collect()))
        }
        Err(error) if error.is_status(403) => Ok(None),
        Err(error) => Err(error),
    }
}
