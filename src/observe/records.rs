//! Release records: one LIST for each namespace, and one for the whole context.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, ListOptions, Reader, Resource};
use crate::history::{self, CONTEXT_LABEL, History, Storage, parse_object_name};
use crate::model::ReleaseKey;

/// The type of the Secrets that hold records: the server's own index, so that other Secrets are not even read.
const RECORD_TYPE: &str = "type=helm.sh/release.v1";

/// The records of some namespaces; an error where they could not be read.
#[derive(Debug, Default)]
pub struct Histories {
    by_namespace: BTreeMap<String, Result<BTreeMap<ReleaseKey, History>, ApiError>>,
}

impl Histories {
    /// Takes the records of a release out; an empty history if it has none.
    ///
    /// # Errors
    /// The records of its namespace could not be read.
    pub fn take(&mut self, key: &ReleaseKey) -> Result<History, String> {
        match self.by_namespace.get_mut(&key.namespace) {
            Some(Ok(releases)) => Ok(releases.remove(key).unwrap_or_else(|| History::new(key.clone()))),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("they were not asked for".to_owned()),
        }
    }

    /// Returns the records of a release, if it has some and they could be read.
    pub fn get(&self, key: &ReleaseKey) -> Option<&History> {
        self.by_namespace.get(&key.namespace)?.as_ref().ok()?.get(key)
    }

    /// Returns the releases of a context in the namespaces that were read.
    pub fn of_context(&self, context: &str) -> BTreeSet<ReleaseKey> {
        let readable = self.by_namespace.values().filter_map(|releases| releases.as_ref().ok()).flatten();
        let ours = readable
            .filter(|(_, history)| history.latest().and_then(history::Record::context) == Some(context));
        ours.map(|(key, _)| key.clone()).collect()
    }

    /// Marks the records of releases, here and not in the cluster, as those of a context: what is planned from them is
    /// what would be done once they belong to it.
    pub fn claim<'k>(&mut self, keys: impl IntoIterator<Item = &'k ReleaseKey>, context: &str) {
        for key in keys {
            if let Some(Ok(releases)) = self.by_namespace.get_mut(&key.namespace)
                && let Some(history) = releases.get_mut(key)
            {
                history.claim(context);
            }
        }
    }

    /// Tells whether a namespace was read.
    pub fn has(&self, namespace: &str) -> bool {
        self.by_namespace.contains_key(namespace)
    }

    /// Adds the namespaces of another reading.
    pub fn extend(&mut self, other: Histories) {
        self.by_namespace.extend(other.by_namespace);
    }
}

/// Reads the records of namespaces.
pub async fn histories(reader: &Reader, namespaces: impl IntoIterator<Item = String>) -> Histories {
    let read = |namespace: String| async move {
        let options = ListOptions {
            labels: "owner=helm".to_owned(),
            fields: RECORD_TYPE.to_owned(),
            ..ListOptions::default()
        };
        let listed = reader.list(&Resource::secrets(), Some(&namespace), &options).await;
        (namespace, listed.map(|objects| history::group(Storage::Secret, &objects)))
    };
    let reads = futures::stream::iter(namespaces.into_iter().map(read)).buffer_unordered(SIDE_BY_SIDE);
    Histories { by_namespace: reads.collect().await }
}

/// Reads the records of all releases: in these namespaces, or everywhere.
///
/// # Errors
/// What could not be read, and why.
pub async fn releases(
    reader: &Reader,
    namespaces: Option<BTreeSet<String>>,
) -> Result<BTreeMap<ReleaseKey, History>, (String, ApiError)> {
    let Some(namespaces) = namespaces else {
        let options = ListOptions {
            labels: "owner=helm".to_owned(),
            fields: RECORD_TYPE.to_owned(),
            ..ListOptions::default()
        };
        let listed = reader.list(&Resource::secrets(), None, &options).await;
        let listed = listed.map_err(|error| ("all namespaces".to_owned(), error))?;
        return Ok(history::group(Storage::Secret, &listed));
    };
    let mut all = BTreeMap::new();
    for (namespace, found) in histories(reader, namespaces).await.by_namespace {
        all.extend(found.map_err(|error| (format!("namespace {namespace}"), error))?);
    }
    Ok(all)
}

/// Returns every release of a context in the cluster, or nothing for a user who may not list Secrets everywhere.
pub async fn context_releases(
    reader: &Reader,
    context: &str,
) -> Result<Option<BTreeSet<ReleaseKey>>, ApiError> {
    let options = ListOptions {
        labels: format!("owner=helm,{CONTEXT_LABEL}={context}"),
        fields: RECORD_TYPE.to_owned(),
        metadata_only: true,
    };
    let objects = match reader.list(&Resource::secrets(), None, &options).await {
        Ok(objects) => objects,
        Err(error) if error.is_status(403) => return Ok(None),
        Err(error) => return Err(error),
    };
    let keys = objects.iter().filter_map(|object| {
        let namespace = object["metadata"]["namespace"].as_str()?;
        let (release, _) = parse_object_name(object["metadata"]["name"].as_str()?)?;
        let name = object["metadata"]["labels"]["name"].as_str().unwrap_or(release);
        Some(ReleaseKey::new(namespace, name))
    });
    Ok(Some(keys.collect()))
}
