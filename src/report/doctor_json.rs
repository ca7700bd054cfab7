//! `statectl.doctor/v1`.

use serde::Serialize;

use super::plan_json::pretty;
use crate::model::ClusterIdentity;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Worth a look; a run would start.
    Warn,
    /// A run would not start, or not do its work.
    Fail,
}

impl Health {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Warn => "warn",
            Health::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it was.
    pub check: &'static str,
    /// How it came out.
    #[serde(rename = "state")]
    pub health: Health,
    /// What was found.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a ClusterIdentity>,
    checks: &'a [Check],
}

/// Returns the checks as one JSON document with a final newline.
pub fn doctor_json(cluster: Option<&ClusterIdentity>, checks: &[Check]) -> String {
    pretty(&Report { format: "statectl.doctor/v1", cluster, checks })
}
