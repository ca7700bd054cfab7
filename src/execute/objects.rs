//! Applying and removing single objects.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::event::{Event, Phase};
use super::send::{self, Sending};
use super::{Context, StepError, replace};
use crate::cluster::{Answer, ApplyOptions, Follow, Propagation, Resource};
use crate::diff;
use crate::model::{FIELD_MANAGER, ObjectKey, ReleaseKey};
use crate::plan::{Apply, ApplyMode, Delete, Dependents, Fold};

/// Between two looks at an object that is going away.
const GONE_POLL: Duration = Duration::from_millis(150);
/// The longest pause between two looks.
const SLOWEST_GONE_POLL: Duration = Duration::from_secs(2);
/// When the pause is longer than this, the object is followed.
const FOLLOWED_AFTER: Duration = Duration::from_millis(400);

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
        ApplyMode::AfterGone { uid } => {
            let phase = Phase::Removing { object: step.key.to_string() };
            context.emit(Event::Entered { key: release.clone(), phase });
            wait_gone(context, &resource, &step.key, uid, timeout, Interruptible::Yes).await?;
            create(context, release, &resource, step).await
        }
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

/// Applies an object that must not exist yet.
pub(super) async fn create(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    step: &Apply,
) -> Result<(), StepError> {
    let sending = Sending { resource, key: &step.key, body: &step.body, options: OPTIONS };
    let answer = send::create(context, release, &sending).await?;
    warn(context, release, &step.key, answer);
    Ok(())
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

/// Conflicts with other managers were settled in the plan.
const OPTIONS: ApplyOptions = ApplyOptions { force: true, manager: FIELD_MANAGER };

async fn send(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
) -> Result<(), StepError> {
    let sending = Sending { resource, key, body, options: OPTIONS };
    let sent = send::apply(context, Some(release), &sending).await;
    let answer = sent.map_err(|error| StepError::object(key, error))?;
    if diff::lost_an_empty(body, &answer.body, FIELD_MANAGER) {
        let again = send::apply(context, Some(release), &sending).await;
        again.map_err(|error| StepError::object(key, error))?;
    }
    warn(context, release, key, answer);
    Ok(())
}

fn warn(context: &Context<'_>, release: &ReleaseKey, key: &ObjectKey, answer: Answer) {
    for text in answer.warnings {
        context.emit(Event::Warned { key: release.clone(), text: format!("{key}: {text}") });
    }
}

/// How often the ownership of an object is rewritten whose status changes meanwhile.
const FOLD_ATTEMPTS: usize = 8;
/// Before something is tried again whose answer was lost.
const RETRY_PAUSE: Duration = Duration::from_millis(300);
/// How often a removal is sent whose answer is lost.
const REMOVALS: u32 = 4;

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
    for attempt in 1..=FOLD_ATTEMPTS {
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
            // What was done is seen at the next look.
            Err(error) if error.may_pass() && attempt < FOLD_ATTEMPTS => {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
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
    let mut lost = 0;
    loop {
        let removed = context.writer.delete(resource, namespace, &key.name, uid, propagation).await;
        return match removed {
            // The uid makes it safe to send it again, and then another object means that this one is gone.
            Err(error) if error.may_pass() && lost + 1 < REMOVALS => {
                lost += 1;
                tokio::time::sleep(RETRY_PAUSE * lost).await;
                continue;
            }
            Err(error) if error.is_status(409) && lost > 0 => Ok(()),
            Err(error) if error.is_status(409) => Err(StepError::Stale {
                what: format!("{key} was deleted and created again by somebody else"),
            }),
            removed => removed.map_err(|error| StepError::object(key, error)),
        };
    }
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
    let mut pause = GONE_POLL;
    let mut follow: Option<Follow> = None;
    loop {
        let found = context.writer.reader().get(resource, key.namespace.as_deref(), &key.name).await;
        let why = match found {
            Ok(found) => match found.filter(|object| object["metadata"]["uid"] == uid) {
                Some(object) => finalizers(&object),
                None => return Ok(()),
            },
            // Between its deletion and its creation nothing may end the work on an object that can pass.
            Err(error) if error.leaves_open() => format!("it cannot be read at present: {error}"),
            Err(error) => return Err(StepError::object(key, error)),
        };
        if Instant::now() >= deadline {
            let what = format!("{key} is still there");
            return Err(StepError::TimedOut { what, seconds: timeout.as_secs(), why });
        }
        if interruptible == Interruptible::Yes {
            context.check_stop()?;
        }
        // Most objects go at once. Definitions are large, and not followed.
        if pause > FOLLOWED_AFTER && follow.is_none() && key.gvk.kind != "CustomResourceDefinition" {
            follow = Some(context.watches.follow(resource, key.namespace.as_deref()));
        }
        let stopped = async {
            match interruptible {
                Interruptible::Yes => drop(context.stop.wait().await),
                Interruptible::No => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until((Instant::now() + pause).min(deadline)) => {}
            () = seen_gone(follow.as_mut(), &key.name, uid) => {}
            () = stopped => {}
        }
        pause = (pause * 3 / 2).min(SLOWEST_GONE_POLL);
    }
}

/// Waits until what is followed no longer has an object with this uid; for ever, where that cannot be seen.
async fn seen_gone(follow: Option<&mut Follow>, name: &str, uid: &str) {
    let Some(follow) = follow else { return std::future::pending().await };
    loop {
        let has = follow.get(name).is_some_and(|object| object["metadata"]["uid"] == uid);
        if follow.sees() && !has {
            // What is followed may be ahead of the next answer, or behind it.
            return tokio::time::sleep(GONE_POLL / 3).await;
        }
        follow.changed().await;
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
