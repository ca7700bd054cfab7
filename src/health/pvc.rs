//! PersistentVolumeClaims: bound, or waiting for a pod on purpose.

use serde_json::Value as Json;

use super::read::{condition, list, text};
use super::{Evidence, Health};

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    match text(object, "/status/phase") {
        "Bound" => match condition(object, "ModifyVolumeError").filter(|error| error.is_true()) {
            Some(error) => Health::noted(error.words()),
            None => Health::ready(),
        },
        "Lost" => Health::failed("its volume is gone"),
        // A claim of such a class is bound when a pod mounts it. Until then there is nothing to wait for.
        _ if evidence.binds_on_first_use && !evidence.pods.iter().any(|pod| mounts(pod, object)) => {
            Health::noted("will be bound when a pod mounts it")
        }
        _ => Health::progressing("not bound to a volume yet"),
    }
}

fn mounts(pod: &Json, claim: &Json) -> bool {
    text(pod, "/metadata/namespace") == text(claim, "/metadata/namespace")
        && list(pod, "/spec/volumes")
            .iter()
            .any(|volume| text(volume, "/persistentVolumeClaim/claimName") == text(claim, "/metadata/name"))
}
