//! `statectl.locks/v1`, `statectl.unlock/v1`, and the report of a recovery that had nothing to do.

use serde::Serialize;

use super::plan_json::pretty;
use crate::lock::Info;
use crate::model::{ClusterIdentity, ReleaseKey};

/// A lock as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockRow {
    /// What it is made of: `Lease` or `Secret`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its object.
    pub object: String,
    /// `release` or `context`.
    pub scope: &'static str,
    /// The release or context.
    pub name: String,
    /// `renewed` while it was watched, `silent`, or `free`.
    pub state: &'static str,
    /// What its holder says about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Info>,
    /// The random name of the holder.
    pub id: String,
    /// The silence after which the holder counts as dead.
    pub lease_seconds: u32,
    /// The newest revision of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

#[derive(Serialize)]
struct LocksReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    locks: &'a [LockRow],
}

/// Returns the locks as one JSON document with a final newline.
pub fn locks_json(cluster: &ClusterIdentity, context: &str, locks: &[LockRow]) -> String {
    pretty(&LocksReport { format: "statectl.locks/v1", cluster, context, locks })
}

#[derive(Serialize)]
struct UnlockReport<'a> {
    format: &'static str,
    namespace: &'a str,
    name: &'a str,
    revision: u64,
    was: &'a str,
    state: &'static str,
}

/// Returns what was unlocked as one JSON document with a final newline.
pub fn unlock_json(release: &ReleaseKey, revision: u64, was: &str) -> String {
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    pretty(&UnlockReport { format: "statectl.unlock/v1", namespace, name, revision, was, state: "failed" })
}

#[derive(Serialize)]
struct NothingReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    releases: [&'a str; 0],
}

/// Returns the report of a run that had nothing to do.
pub fn nothing_json(cluster: &ClusterIdentity, context: &str) -> String {
    pretty(&NothingReport { format: "statectl.run/v1", cluster, context, releases: [] })
}
