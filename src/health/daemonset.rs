//! DaemonSets: a ready pod of the newest template on every node that wants one.

use serde_json::Value as Json;

use super::read::{count, never_seen, of, text};
use super::workload::{Newest, explain};
use super::{Evidence, Health};

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    let generation = object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get("deprecated.daemonset.template.generation")?.as_str());
    let newest = Newest {
        owner: text(object, "/metadata/uid"),
        label: generation.map(|generation| ("pod-template-generation", generation)),
    };
    explain(state(object), &newest, evidence)
}

fn state(object: &Json) -> Health {
    if let Some(health) = never_seen(object) {
        return health;
    }
    let wanted = count(object, "/status/desiredNumberScheduled");
    let updated = count(object, "/status/updatedNumberScheduled");
    let by_hand = text(object, "/spec/updateStrategy/type") == "OnDelete";
    let counts = [
        ("/status/currentNumberScheduled", "scheduled"),
        ("/status/updatedNumberScheduled", "updated"),
        ("/status/numberReady", "ready"),
        ("/status/numberAvailable", "available"),
    ];
    for (pointer, what) in counts {
        let number = count(object, pointer);
        if number < wanted && !(by_hand && what == "updated") {
            return Health::Progressing(of(number, wanted, "pods", what));
        }
    }
    if wanted == 0 {
        return Health::noted("no node wants a pod of it");
    }
    if updated < wanted {
        return Health::noted(format!(
            "{}, the others when they are deleted (OnDelete)",
            of(updated, wanted, "pods", "updated")
        ));
    }
    Health::ready()
}
