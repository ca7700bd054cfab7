//! Applying and removing single objects.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::event::{Event, Phase};
use super::{Context, StepError, replace};
use crate::cluster::{ApplyOptions, Propagation, Resource};
use crate::diff;
use crate::model::{FIELD_MANAGER, ObjectKey, ReleaseKey};
use crate::plan::{Apply, ApplyMode, Delete, Dependents, Fold};

/// Between two looks at an object that is going away.
const GONE_POLL: Duration = Duration::from_millis(150);

/// Applies one object as planned.
pub(super) async fn apply(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: &Apply,
    timeout: Duration,
) -> Result<(), StepError> {
    let resource = context.resource(&step.key.gvk).await?;
    match &step.mode {
        ApplyMode::Unchanged => Ok(()),
        ApplyMode::Create => create(context, release, &resource, step).await,
        ApplyMode::Either => send(context, release, &resource, &step.key, &step.body).await,
        ApplyMode::Update { uid, fold } => {
            if let Some(fold) = fold {
                fold_ownership(context, &resource, &step.key, uid, fold).await?;
            }
            update(context, release, &resource, step, uid).await
        }
        ApplyMode::Replace(planned) => {
            context.emit(Event::Entered {
                key: release.clone(),
                phase: Phase::Replacing { object: step.key.to_string() },
            });
            replace::replace(context, release, &resource, step, planned, timeout).await
        }
    }
}

/// Applies an object that must not exist yet. A resource version that no object can have any more makes the server
/// create a missing object and refuse an existing one (measured on Kubernetes 1.36), so that nobody is overwritten.
pub(super) async fn create(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    step: &Apply,
) -> Result<(), StepError> {
    let mut body = step.body.clone();
    body["metadata"]["resourceVersion"] = json!("1");
    send(context, release, resource, &step.key, &body).await.map_err(|error| match error {
        StepError::Object { source, .. } if source.is_status(409) => {
            StepError::Stale { what: format!("{} was created by somebody else", step.key) }
        }
        other => other,
    })
}

/// Applies an object that must be there with this uid.
async fn update(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    step: &Apply,
    uid: &str,
) -> Result<(), StepError> {
    let mut body = step.body.clone();
    body["metadata"]["uid"] = json!(uid);
    send(context, release, resource, &step.key, &body).await.map_err(|error| {
        let about_uid = |source: &crate::cluster::ApiError| {
            source.refusal().is_some_and(|refusal| {
                let named = refusal.causes.iter().any(|cause| cause.field == "metadata.uid");
                (refusal.status == 409 && refusal.message.contains("uid mismatch"))
                    || (refusal.status == 422 && named)
            })
        };
        match error {
            StepError::Object { source, .. } if about_uid(&source) => StepError::Stale {
                what: format!("{} was deleted or created again by somebody else", step.key),
            },
            other => other,
        }
    })
}

/// Sends a server-side apply. Conflicts with other managers were settled in the plan.
async fn send(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
) -> Result<(), StepError> {
    let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
    let sent = context.writer.apply(resource, key.namespace.as_deref(), &key.name, body, options).await;
    let answer = sent.map_err(|error| StepError::object(key, error))?;
    for text in answer.warnings {
        context.emit(Event::Warned { key: release.clone(), text: format!("{key}: {text}") });
    }
    Ok(())
}

/// How often the ownership of an object is rewritten whose status changes meanwhile.
const FOLD_ATTEMPTS: usize = 8;

/// Rewrites who owns the fields, if the object is still the one that was planned with. Controllers that write its
/// status meanwhile change the resource version, and nothing that the plan rests on.
async fn fold_ownership(
    context: &Context<'_>,
    resource: &Resource,
    key: &ObjectKey,
    uid: &str,
    fold: &Fold,
) -> Result<(), StepError> {
    let moved = || StepError::Stale { what: format!("{key} was changed by somebody else") };
    let namespace = key.namespace.as_deref();
    for _ in 0..FOLD_ATTEMPTS {
        let found = context.writer.reader().get(resource, namespace, &key.name).await;
        let live = found.map_err(|error| StepError::object(key, error))?.ok_or_else(moved)?;
        let mut content = live.clone();
        diff::strip_server_fields(&mut content);
        if live["metadata"]["uid"] != uid || content != fold.content {
            return Err(moved());
        }
        // A stale resource version is a 409; a JSON patch `test` would be a 422, which means something else.
        let patch = diff::claim_patch(&live, FIELD_MANAGER, &fold.from, &fold.claims);
        let Some(patch) = patch else { return Ok(()) };
        match context.writer.json_patch(resource, namespace, &key.name, &patch).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_status(409) => {}
            Err(error) => return Err(StepError::object(key, error)),
        }
    }
    Err(moved())
}

/// Removes an object that a release no longer has. One that is gone, or was created again by somebody else, is
/// left alone.
pub(super) async fn prune(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: &Delete,
) -> Result<(), StepError> {
    context.emit(Event::Entered {
        key: release.clone(),
        phase: Phase::Removing { object: step.key.to_string() },
    });
    let resource = match context.resource(&step.key.gvk).await {
        Ok(resource) => resource,
        // Its kind went away, and with it the object.
        Err(StepError::Api(crate::cluster::ApiError::UnknownKind { .. })) => return Ok(()),
        Err(error) => return Err(error),
    };
    let permitted = step.permit.as_ref().is_some_and(|permit| {
        permit.covers_data() && permit.release() == release && permit.object() == &step.key
    });
    if !step.lost.is_empty() && !permitted {
        return Err(StepError::Stale { what: format!("the permit for {} is for another object", step.key) });
    }
    remove(context, &resource, &step.key, &step.uid, propagation(step.dependents)).await
}

/// Returns what the server is told about dependents: always something, since its own default differs by kind.
pub(super) fn propagation(dependents: Dependents) -> Propagation {
    match dependents {
        Dependents::Background => Propagation::Background,
        Dependents::Orphan => Propagation::Orphan,
    }
}

pub(super) async fn remove(
    context: &Context<'_>,
    resource: &Resource,
    key: &ObjectKey,
    uid: &str,
    propagation: Propagation,
) -> Result<(), StepError> {
    let namespace = key.namespace.as_deref();
    let removed = context.writer.delete(resource, namespace, &key.name, uid, propagation).await;
    removed.map_err(|error| {
        if error.is_status(409) {
            return StepError::Stale {
                what: format!("{key} was deleted and created again by somebody else"),
            };
        }
        StepError::object(key, error)
    })
}

/// Whether a signal ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruptible {
    /// It does.
    Yes,
    /// It does not: an object that was deleted has to be created again first.
    No,
}

/// Waits until no object with this uid is there any more.
pub(super) async fn wait_gone(
    context: &Context<'_>,
    resource: &Resource,
    key: &ObjectKey,
    uid: &str,
    timeout: Duration,
    interruptible: Interruptible,
) -> Result<(), StepError> {
    let deadline = Instant::now() + timeout;
    loop {
        let found = context.writer.reader().get(resource, key.namespace.as_deref(), &key.name).await;
        let found = found.map_err(|error| StepError::object(key, error))?;
        let Some(object) = found.filter(|object| object["metadata"]["uid"] == uid) else { return Ok(()) };
        if Instant::now() >= deadline {
            return Err(StepError::TimedOut {
                what: format!("{key} is still there"),
                seconds: timeout.as_secs(),
                why: finalizers(&object),
            });
        }
        if interruptible == Interruptible::Yes {
            context.check_stop()?;
        }
        tokio::time::sleep(GONE_POLL).await;
    }
}

fn finalizers(object: &Json) -> String {
    let names = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Json::as_str).collect();
    if names.is_empty() {
        "it has no finalizers".to_owned()
    } else {
        format!("finalizers {}", names.join(", "))
    }
}
