//! `statectl.affected/v1`, and the jobs of a CI matrix.

use serde::Serialize;

use super::plan_json::pretty;

/// A release that a change reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AffectedRow {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its entry in the file.
    pub app: String,
    /// What of it differs.
    pub reasons: Vec<String>,
}

impl AffectedRow {
    /// Returns NAMESPACE/NAME.
    pub fn release(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    base: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<&'a str>,
    releases: &'a [AffectedRow],
}

#[derive(Serialize)]
struct Matrix {
    include: Vec<Job>,
}

#[derive(Serialize)]
struct Job {
    release: String,
    app: String,
}

/// Returns the rows as one JSON document with a final newline.
pub fn affected_json(base: &str, head: Option<&str>, rows: &[AffectedRow]) -> String {
    pretty(&Report { format: "statectl.affected/v1", base, head, releases: rows })
}

/// Returns the rows as the matrix of a GitHub workflow, on one line. `release` is what `--target` takes.
pub fn matrix_json(rows: &[AffectedRow]) -> String {
    let include = rows.iter().map(|row| Job { release: row.release(), app: row.app.clone() });
    // Texts always have a JSON form.
    let line = serde_json::to_string(&Matrix { include: include.collect() }).unwrap_or_default();
    format!("{line}\n")
}
