//! Machine-readable forms of plans and runs. Pure: returns text, prints nothing.
//!
//! Every form carries a tag with its version. Keys are never given another meaning under the same tag.

mod affected_json;
mod clusters_json;
mod config_json;
mod doctor_json;
mod drift_json;
mod effect;
pub mod forms;
mod graph;
mod history_json;
mod lock_json;
mod metrics;
pub mod notification;
mod plan_json;
mod rbac_json;
mod run_json;
mod run_record;
pub mod saved_plan;
mod schemas;
mod status_json;
mod test_json;
mod validate_json;

pub use affected_json::{AffectedRow, affected_json, matrix_json};
pub use clusters_json::{ClusterPart, clusters_json};
pub use config_json::config_json;
pub use doctor_json::{Check, Health, doctor_json};
pub use drift_json::drift_json;
pub use effect::effect;
pub use graph::{graph_dot, graph_json, graph_mermaid};
pub use history_json::{RevisionRow, history_json};
pub use lock_json::{LockRow, locks_json, nothing_json, unlock_json};
pub use metrics::{METRICS, RunEnd, RunMetrics, metrics_text};
pub use plan_json::{diff_json, plan_json};
pub use rbac_json::{Roles, Subject, rbac_json, rbac_yaml};
pub use run_json::run_json;
pub use run_record::{
    Facts, RunChange, RunRecord, RunRelease, RunRow, differences, run_record_json, runs_diff_json, runs_json,
};
pub use schemas::{SCHEMAS, schema_of};
pub use status_json::{StatusRow, status_json};
pub use test_json::test_json;
pub use validate_json::validate_json;

/// Returns a schema as a text with a final newline.
pub fn schema_json(schema: &serde_json::Value) -> String {
    plan_json::pretty(schema)
}

/// Returns a JSON report as YAML.
pub fn as_yaml(json: &str) -> String {
    // A report is JSON that was just written, and every JSON document has a YAML form.
    let report: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    serde_yaml::to_string(&report).unwrap_or_default()
}
