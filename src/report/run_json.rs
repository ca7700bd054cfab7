//! `statectl.run/v1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plan_json::pretty;
use crate::execute::{Outcome, Outcomes};
use crate::model::ClusterIdentity;
use crate::plan::{Plan, Reason};

#[derive(Serialize)]
struct RunReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    #[serde(rename = "failedNamespaces", skip_serializing_if = "BTreeMap::is_empty")]
    failed_namespaces: &'a BTreeMap<String, String>,
    releases: Vec<ReleaseReport<'a>>,
}

#[derive(Serialize)]
struct ReleaseReport<'a> {
    namespace: &'a str,
    name: &'a str,
    action: &'static str,
    reasons: &'a [Reason],
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// Returns how every release of the plan ended, as one JSON document with a final newline.
pub fn run_json(plan: &Plan, outcomes: &Outcomes) -> String {
    let releases = plan.releases.iter().filter_map(|release| {
        let outcome = outcomes.releases.get(&release.key)?;
        let (revision, message) = match outcome {
            Outcome::Deployed { revision } => (Some(*revision), None),
            Outcome::RolledBack { message, revision } => (Some(*revision), Some(message.as_str())),
            Outcome::Failed { message }
            | Outcome::Stale { message }
            | Outcome::Locked { message }
            | Outcome::LockLost { message }
            | Outcome::Interrupted { message } => (None, Some(message.as_str())),
            Outcome::Skipped { because: text } | Outcome::Waiting { on: text } => (None, Some(text.as_str())),
            Outcome::Unchanged
            | Outcome::Blocked
            | Outcome::Uninstalled
            | Outcome::Orphaned
            | Outcome::Adopted => (None, None),
        };
        Some(ReleaseReport {
            namespace: &release.key.namespace,
            name: &release.key.name,
            action: release.action.name(),
            reasons: &release.reasons,
            state: outcome.word(),
            revision,
            message,
        })
    });
    pretty(&RunReport {
        format: "statectl.run/v1",
        cluster: &plan.cluster,
        context: &plan.context,
        failed_namespaces: &outcomes.namespaces,
        releases: releases.collect(),
    })
}
