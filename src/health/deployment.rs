//! Deployments: the new ReplicaSet carries all replicas and the old ones are gone.

use serde_json::Value as Json;

use super::read::{condition, count, integer, never_seen, of, text};
use super::workload::{Newest, explain, is_controlled_by};
use super::{Evidence, Health};

/// The value of `progressDeadlineSeconds` with which Kubernetes keeps no deadline.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    let state = state(object);
    // Without ReplicaSets the newest template cannot be told; then no pod of an older one may be blamed.
    let revision = revision(object);
    let newest = evidence.replica_sets.iter().copied().find(|set| {
        is_controlled_by(set, text(object, "/metadata/uid"))
            && revision.is_some()
            && self::revision(set) == revision
    });
    match newest {
        Some(set) => explain(state, &Newest { owner: text(set, "/metadata/uid"), label: None }, evidence),
        None => state,
    }
}

fn revision(object: &Json) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get("deployment.kubernetes.io/revision")?.as_str()
}

fn state(object: &Json) -> Health {
    if let Some(health) = never_seen(object) {
        return health;
    }
    let replicas = integer(object, "/spec/replicas").unwrap_or(1);
    let updated = count(object, "/status/updatedReplicas");
    let ready = count(object, "/status/readyReplicas");
    let progressing = condition(object, "Progressing");
    let counted = if updated < replicas {
        Some(of(updated, replicas, "replicas", "updated"))
    } else if ready < replicas {
        Some(of(ready, replicas, "replicas", "ready"))
    } else if count(object, "/status/availableReplicas") < replicas {
        Some(of(count(object, "/status/availableReplicas"), replicas, "replicas", "available"))
    } else if count(object, "/status/replicas") > replicas {
        let old = count(object, "/status/replicas") - replicas;
        Some(format!("{old} old {} still there", if old == 1 { "replica is" } else { "replicas are" }))
    } else {
        None
    };
    if let Some(progressing) = progressing.as_ref().filter(|found| found.reason == "ProgressDeadlineExceeded")
    {
        let counted = counted.unwrap_or_else(|| of(ready, replicas, "replicas", "ready"));
        return Health::Failed(format!("{counted}, {}", progressing.words()));
    }
    if object.pointer("/spec/paused").and_then(Json::as_bool) == Some(true) {
        return Health::noted("the rollout is paused");
    }
    if let Some(counted) = counted {
        // The controller's own refusal (quota, admission) explains missing replicas best.
        let refused = condition(object, "ReplicaFailure").filter(|failure| failure.is_true());
        return Health::Progressing(
            refused.map_or(counted.clone(), |failure| format!("{counted}, {}", failure.words())),
        );
    }
    let has_deadline =
        integer(object, "/spec/progressDeadlineSeconds").is_some_and(|limit| limit != NO_DEADLINE);
    if has_deadline && progressing.is_none_or(|found| found.reason != "NewReplicaSetAvailable") {
        return Health::progressing("the rollout is not finished");
    }
    match condition(object, "Available") {
        Some(available) if available.is_true() => Health::ready(),
        Some(available) => Health::Progressing(available.words()),
        None => Health::progressing("not available yet"),
    }
}
