//! All other kinds: the conditions that the API conventions and kstatus give a meaning.

use serde_json::Value as Json;

use super::read::{Condition, condition, count, integer, not_seen};
use super::{Evidence, Health};

/// API groups that Kubernetes serves itself. Kinds of other groups are custom resources.
const BUILT_IN: [&str; 24] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

pub(super) fn health(object: &Json, group: &str, evidence: &Evidence<'_>) -> Health {
    // Controllers that write no generation for the whole status may write one for each condition.
    let whole = integer(object, "/status/observedGeneration").is_some();
    let generation = count(object, "/metadata/generation");
    let current = |found: &Condition<'_>| whole || found.generation.is_none_or(|seen| seen >= generation);
    let holds = |kind: &str| condition(object, kind).filter(|found| found.is_true() && current(found));
    if let Some(stalled) = holds("Stalled") {
        return Health::Failed(stalled.words());
    }
    if let Some(reconciling) = holds("Reconciling") {
        return Health::Progressing(reconciling.words());
    }
    if let Some(ready) = condition(object, "Ready") {
        return match ready {
            ready if !current(&ready) => not_seen(),
            ready if ready.is_true() => Health::ready(),
            ready => Health::Progressing(ready.words()),
        };
    }
    let bare = object.get("status").and_then(Json::as_object).is_none_or(serde_json::Map::is_empty);
    // A custom resource whose controller has not come to it looks exactly like one that never gets a status.
    match (bare && !BUILT_IN.contains(&group), evidence.writes_status) {
        (true, true) => Health::progressing("its controller has written no status yet"),
        (true, false) | (false, _) => Health::ready(),
    }
}
