//! ReplicaSets and ReplicationControllers: as many ready pods as wanted, no more and no less.

use serde_json::Value as Json;

use super::read::{condition, count, integer, never_seen, of, text};
use super::workload::{Newest, explain};
use super::{Evidence, Health};

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    explain(state(object), &Newest { owner: text(object, "/metadata/uid"), label: None }, evidence)
}

fn state(object: &Json) -> Health {
    if let Some(health) = never_seen(object) {
        return health;
    }
    let replicas = integer(object, "/spec/replicas").unwrap_or(1);
    for (pointer, what) in [
        ("/status/replicas", "created"),
        ("/status/readyReplicas", "ready"),
        ("/status/availableReplicas", "available"),
    ] {
        let number = count(object, pointer);
        if number < replicas {
            let counted = of(number, replicas, "replicas", what);
            let refused = condition(object, "ReplicaFailure").filter(|failure| failure.is_true());
            return Health::Progressing(
                refused.map_or(counted.clone(), |failure| format!("{counted}, {}", failure.words())),
            );
        }
    }
    let surplus = count(object, "/status/replicas") - replicas;
    if surplus > 0 {
        return Health::Progressing(format!("{surplus} too many, scaling down"));
    }
    Health::ready()
}
