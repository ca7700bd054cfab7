//! `statectl.status/v1`.

use serde::Serialize;

use super::plan_json::pretty;
use crate::model::ClusterIdentity;

/// The recorded state of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusRow {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Helm's status, or `not-installed`, or `unreadable`.
    pub status: String,
    /// The newest revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The chart as `NAME-VERSION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// When the newest revision was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
    /// The record's description, or why there is nothing to say.
    pub description: String,
    /// The owner, if the release carries one's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

#[derive(Serialize)]
struct StatusReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    releases: &'a [StatusRow],
}

/// Returns the rows as one JSON document with a final newline.
pub fn status_json(cluster: &ClusterIdentity, context: &str, rows: &[StatusRow]) -> String {
    pretty(&StatusReport { format: "statectl.status/v1", cluster, context, releases: rows })
}
