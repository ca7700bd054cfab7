//! What would go with an object that is deleted: told before it is permitted.

use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use crate::model::ObjectKey;

/// Something that is lost when an object is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "what")]
pub enum Lost {
    /// A volume claim, and with it what is stored.
    Claim {
        /// Its name.
        name: String,
        /// Its size; empty where it is not known.
        size: String,
    },
    /// A volume.
    Volume {
        /// Its name.
        name: String,
        /// Its size; empty where it is not known.
        size: String,
    },
    /// Objects that cannot be without it: of a kind that it defines, or in it.
    Objects {
        /// Their kind.
        kind: String,
        /// How many.
        count: usize,
    },
    /// What stands behind a custom resource: only its controller knows.
    Behind {
        /// Its kind, with the group.
        kind: String,
    },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Claim { name, size } if size.is_empty() => write!(f, "claim {name}"),
            Lost::Claim { name, size } => write!(f, "claim {name} ({size})"),
            Lost::Volume { name, size } if size.is_empty() => write!(f, "volume {name}"),
            Lost::Volume { name, size } => write!(f, "volume {name} ({size})"),
            Lost::Behind { kind } => write!(f, "what the controller of {kind} keeps for it"),
            Lost::Objects { kind, count } => write!(f, "{count} of kind {kind}"),
        }
    }
}

/// Names everything that is lost.
pub(super) fn list(lost: &[Lost]) -> String {
    if lost.is_empty() {
        return "nothing is in it now".to_owned();
    }
    lost.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the size of a claim or a volume: what it has, else what it asks for.
pub fn size_of(object: &Json) -> String {
    let places = ["/status/capacity/storage", "/spec/capacity/storage", "/spec/resources/requests/storage"];
    let sizes = places.iter().filter_map(|place| object.pointer(place)?.as_str());
    sizes.map(str::to_owned).next().unwrap_or_default()
}

/// Returns what an object tells by itself about what goes with it: its own size.
pub(super) fn own(key: &ObjectKey, live: &Json) -> Option<Lost> {
    let (name, size) = (key.name.clone(), size_of(live));
    match (key.gvk.group.as_str(), key.gvk.kind.as_str()) {
        ("", "PersistentVolumeClaim") => Some(Lost::Claim { name, size }),
        ("", "PersistentVolume") => Some(Lost::Volume { name, size }),
        _ => None,
    }
}

/// Returns what stands behind an object that is no kind of Kubernetes itself.
pub(super) fn behind(key: &ObjectKey) -> Option<Lost> {
    let kind = || format!("{}.{}", key.gvk.kind, key.gvk.group);
    (!key.gvk.is_built_in()).then(|| Lost::Behind { kind: kind() })
}

/// Tells whether the claims of a StatefulSet are deleted with it.
pub fn takes_its_claims(live: &Json) -> bool {
    live["kind"] == "StatefulSet"
        && live["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"
}

/// Returns the ordinal of the pod for which a StatefulSet made this claim from one of its templates (Kubernetes
/// `pkg/controller/statefulset/stateful_set_utils.go`, `getPersistentVolumeClaimName`).
pub fn claim_ordinal(claim: &str, template: &str, set: &str) -> Option<u32> {
    claim.strip_prefix(template)?.strip_prefix('-')?.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

/// Returns the names of a StatefulSet's claim templates.
pub fn claim_templates(set: &Json) -> impl Iterator<Item = &str> {
    let templates = set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
    templates.filter_map(|template| template["metadata"]["name"].as_str())
}
