//! `statectl.history/v1`.

use serde::Serialize;

use super::plan_json::pretty;
use crate::model::{ClusterIdentity, ReleaseKey};

/// A revision of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionRow {
    /// Its number.
    pub revision: u64,
    /// Helm's status, or `unreadable`.
    pub status: String,
    /// Whether it is the one that is deployed.
    pub current: bool,
    /// The chart as `NAME-VERSION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// What the chart says of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
    /// What the record says, or why it cannot be read.
    pub description: String,
    /// The owner, if the record carries one's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether its run was killed, and a later one settled the record.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

#[derive(Serialize)]
struct HistoryReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    namespace: &'a str,
    name: &'a str,
    revisions: &'a [RevisionRow],
}

/// Returns the revisions as one JSON document with a final newline.
pub fn history_json(cluster: &ClusterIdentity, key: &ReleaseKey, rows: &[RevisionRow]) -> String {
    let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
    pretty(&HistoryReport { format: "statectl.history/v1", cluster, namespace, name, revisions: rows })
}
