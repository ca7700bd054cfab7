//! What an object was like when it was decided about: by this a plan that is carried out later is compared.

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::input::PlanInput;
use super::{ObjectAction, ReleasePlan};
use crate::diff;
use crate::go::encoding::hex_encode;
use crate::model::ObjectKey;

/// The identity and state of a live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its uid.
    pub uid: String,
    /// A digest of what people and controllers set: status and bookkeeping of the server do not count. Of a Secret it is
    /// the resource version, since a digest of a short secret tells it.
    pub state: String,
}

impl Live {
    fn of(object: &Json) -> Self {
        let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
        let secret = object["kind"] == "Secret";
        let state = if secret { text("resourceVersion") } else { digest(object) };
        Self { uid: text("uid"), state }
    }
}

fn digest(object: &Json) -> String {
    let mut object = object.clone();
    diff::strip_server_fields(&mut object);
    hex_encode(&Sha256::digest(object.to_string()))
}

/// Fills in what the objects that something is done with were like.
pub(super) fn pin(input: &PlanInput, releases: &mut [ReleasePlan]) {
    for plan in releases {
        let wanted = input.wanted.iter().find(|wanted| wanted.release.key == plan.key);
        let stray = input.strays.iter().find(|stray| stray.key == plan.key);
        let mut objects: Vec<(&ObjectKey, Option<&Json>)> = Vec::new();
        if let Some(Ok(content)) = wanted.and_then(|wanted| wanted.content.as_ref()) {
            let desired = content.crds.iter().chain(&content.objects);
            objects.extend(desired.map(|object| (&object.key, object.live.as_ref())));
        }
        let moved = wanted.and_then(|wanted| wanted.moved_from.as_ref()).map(|moved| &moved.remnants);
        let left = [wanted.map(|wanted| &wanted.remnants), stray.map(|stray| &stray.remnants), moved];
        let left = left.into_iter().flatten().filter_map(|remnants| remnants.as_ref().ok()).flatten();
        objects.extend(left.map(|remnant| (&remnant.key, remnant.live.as_ref())));
        for object in plan.objects.iter_mut().filter(|object| object.action != ObjectAction::None) {
            let found = objects.iter().find(|(key, live)| **key == object.key && live.is_some());
            object.live = found.and_then(|(_, live)| *live).map(Live::of);
        }
    }
}
