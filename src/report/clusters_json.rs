//! Reports of several clusters in one document.

use serde::Serialize;

const FORMAT: &str = "statectl.clusters/v1";

/// What one cluster of a run gave.
pub struct ClusterPart<'a> {
    /// The kubeconfig context that its releases name; none for the cluster of the settings.
    pub context: Option<&'a str>,
    /// Its report; none where there is none.
    pub report: Option<&'a str>,
    /// Why there is none.
    pub failure: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: &'static str,
    clusters: Vec<Cluster<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kube_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
}

/// Returns the reports of several clusters, in the order in which they were worked on.
pub fn clusters_json<'a>(parts: impl Iterator<Item = ClusterPart<'a>>) -> String {
    let clusters = parts.map(|part| Cluster {
        kube_context: part.context,
        // A report is JSON that was just written.
        report: part.report.and_then(|report| serde_json::from_str(report).ok()),
        failure: part.failure,
    });
    super::plan_json::pretty(&Document { format: FORMAT, clusters: clusters.collect() })
}
