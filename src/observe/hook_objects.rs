//! The objects of hooks of the file: what is there, and what the server would say to them.

use futures::StreamExt as _;
use serde_json::Value as Json;

use super::SIDE_BY_SIDE;
use super::ask::probe;
use crate::cluster::{ApiError, ApplyOptions, Discovery, Reader, Resource};
use crate::diff::ServerError;
use crate::model::{FIELD_MANAGER, ObjectKey, ReleaseKey};
use crate::plan::app_hooks::{HookAnswer, SeenObject, is_of_hook, is_run_once};

/// Hooks never take a field from somebody else.
const OPTIONS: ApplyOptions = ApplyOptions { force: false, manager: FIELD_MANAGER };

/// An object of a hook's manifest.
#[derive(Clone, Debug)]
pub struct HookTarget {
    /// The object.
    pub key: ObjectKey,
    /// What would be applied.
    pub body: Json,
    /// Whether something that it needs arrives in this run, so that the server cannot be asked yet.
    pub arrives: bool,
}

/// Looks at the objects of a hook of a release, in their order.
///
/// # Errors
/// What is there cannot be read.
pub async fn hook_objects(
    reader: &Reader,
    discovery: &Discovery,
    release: &ReleaseKey,
    targets: Vec<HookTarget>,
) -> Result<Vec<SeenObject>, (ObjectKey, ApiError)> {
    let looks = targets.into_iter().map(|target| look(reader, discovery, release, target));
    let seen: Vec<_> = futures::stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await;
    seen.into_iter().collect()
}

async fn look(
    reader: &Reader,
    discovery: &Discovery,
    release: &ReleaseKey,
    target: HookTarget,
) -> Result<SeenObject, (ObjectKey, ApiError)> {
    let HookTarget { key, body, arrives } = target;
    let resource = match discovery.resource(&key.gvk) {
        Ok(resource) => resource,
        Err(_) if arrives => {
            let (live, answer, has_status) = (None, HookAnswer::Later, true);
            return Ok(SeenObject { key, body, live, answer, has_status });
        }
        Err(error) => {
            let answer = HookAnswer::Refused { message: error.to_string() };
            return Ok(SeenObject { key, body, live: None, answer, has_status: false });
        }
    };
    let has_status = resource.has_status;
    if arrives {
        return Ok(SeenObject { key, body, live: None, answer: HookAnswer::Later, has_status });
    }
    let found = reader.get(resource, key.namespace.as_deref(), &key.name).await;
    let live = match found {
        Ok(live) => live,
        Err(error) => return Err((key, error)),
    };
    let answer = ask(reader, resource, release, &key, &body, live.as_ref()).await;
    Ok(SeenObject { key, body, live, answer, has_status })
}

async fn ask(
    reader: &Reader,
    resource: &Resource,
    release: &ReleaseKey,
    key: &ObjectKey,
    body: &Json,
    live: Option<&Json>,
) -> HookAnswer {
    // What is made anew has to be creatable; the old one does not matter.
    let is_new = live.is_some_and(|live| is_run_once(key) && is_of_hook(live, release));
    let (name, body) = match is_new {
        true => probe(body, live, &key.name),
        false => (key.name.clone(), body.clone()),
    };
    match reader.dry_run_apply(resource, key.namespace.as_deref(), &name, &body, OPTIONS).await {
        Ok(_) => HookAnswer::Accepted,
        Err(ApiError::Refused { refusal, .. }) => {
            // What cannot be tried is not refused.
            if refusal.status == 400 && refusal.message.contains("does not support dry run") {
                return HookAnswer::Later;
            }
            let error = ServerError::new(refusal.status, &refusal.body, &refusal.message);
            HookAnswer::Refused { message: error.summary(&key.gvk.kind) }
        }
        Err(error) => HookAnswer::Unknown { message: error.to_string() },
    }
}
