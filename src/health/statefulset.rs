//! StatefulSets: every ordinal ready, and of the newest revision as far as the update strategy rolls it out.

use serde_json::Value as Json;

use super::read::{count, integer, never_seen, of, text};
use super::workload::{Newest, explain};
use super::{Evidence, Health};

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    let revision = text(object, "/status/updateRevision");
    let newest = Newest {
        owner: text(object, "/metadata/uid"),
        label: (!revision.is_empty()).then_some(("controller-revision-hash", revision)),
    };
    explain(state(object), &newest, evidence)
}

fn state(object: &Json) -> Health {
    if let Some(health) = never_seen(object) {
        return health;
    }
    let replicas = integer(object, "/spec/replicas").unwrap_or(1);
    let current = count(object, "/status/replicas");
    let ready = count(object, "/status/readyReplicas");
    let updated = count(object, "/status/updatedReplicas");
    let available = count(object, "/status/availableReplicas");
    if ready < replicas {
        return Health::Progressing(of(ready, replicas, "replicas", "ready"));
    }
    if current > replicas {
        return Health::Progressing(format!("{} too many, scaling down", current - replicas));
    }
    if count(object, "/spec/minReadySeconds") > 0 && available < replicas {
        return Health::Progressing(of(available, replicas, "replicas", "available"));
    }
    let behind = text(object, "/status/currentRevision") != text(object, "/status/updateRevision");
    if text(object, "/spec/updateStrategy/type") == "OnDelete" {
        // Pods get the new template when somebody deletes them; waiting for that would never end.
        return if behind && updated < replicas {
            Health::noted(format!(
                "{}, the others when they are deleted (OnDelete)",
                of(updated, replicas, "replicas", "updated")
            ))
        } else {
            Health::ready()
        };
    }
    let partition = count(object, "/spec/updateStrategy/rollingUpdate/partition").clamp(0, replicas);
    let wanted = replicas - partition;
    if behind && updated < wanted {
        return Health::Progressing(of(updated, wanted, "replicas", "updated"));
    }
    if partition > 0 {
        return Health::noted(format!("updated down to ordinal {partition} (partition)"));
    }
    // The controller declares the update over by making its revision the current one.
    if behind && replicas > 0 {
        return Health::progressing("the rollout is not finished");
    }
    Health::ready()
}
