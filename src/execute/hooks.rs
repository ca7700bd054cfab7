//! Runs chart hooks as Helm does.
//!
//! Source: Helm `pkg/action/hooks.go`. Hooks of an event run one at a time, by weight, then name, then kind
//! order; only Jobs and Pods are waited for. A leftover of an earlier run is deleted, and gone, before a hook
//! with `before-hook-creation` (the default) is created: helm 3 waits too, helm 4 does not and can lose the
//! new object.

use std::time::Duration;

use serde_json::Value as Json;

use super::event::{Event, Phase};
use super::send::{self, Sending};
use super::{Context, StepError, journal, logs, objects, records, wait};
use crate::cluster::{ApplyOptions, Propagation, Resource};
use crate::history::{self, HookRun, Release};
use crate::manifest::Document;
use crate::model::{FIELD_MANAGER, GroupVersionKind, ObjectKey, RELEASE_NAME_ANNOTATION, ReleaseKey};
use crate::plan::{self, Delete};

const BEFORE_CREATION: &str = "before-hook-creation";
const SUCCEEDED: &str = "hook-succeeded";
const FAILED: &str = "hook-failed";

/// A hook with what it applies.
struct Ready {
    index: usize,
    key: ObjectKey,
    resource: Resource,
    body: Json,
}

/// Runs the hooks of `event` and notes in the release when each ran.
///
/// # Errors
/// The first hook that fails; those after it do not run.
pub(super) async fn run(
    context: &Context<'_>,
    release_key: &ReleaseKey,
    release: &mut Release,
    event: &str,
    timeout: Duration,
) -> Result<(), StepError> {
    run_for(context, release_key, release, event, &[], timeout).await
}

/// As [`run`]; the objects that are `handed` over by the release make way for the hooks that they became.
pub(super) async fn run_for(
    context: &Context<'_>,
    release_key: &ReleaseKey,
    release: &mut Release,
    event: &str,
    handed: &[Delete],
    timeout: Duration,
) -> Result<(), StepError> {
    let mut order: Vec<usize> = (0..release.hooks.len())
        .filter(|index| release.hooks[*index].events.iter().any(|name| name == event))
        .collect();
    // Stable: hooks are stored in kind order, which decides last.
    order.sort_by(|a, b| {
        let (a, b) = (&release.hooks[*a], &release.hooks[*b]);
        a.weight.cmp(&b.weight).then_with(|| a.name.cmp(&b.name))
    });
    if !order.is_empty() {
        journal::still_newest(context).await?;
    }
    let mut done: Vec<Ready> = Vec::new();
    for index in order {
        context.check_stop()?;
        let hook = &mut release.hooks[index];
        if hook.delete_policies.is_empty() {
            hook.delete_policies = vec![BEFORE_CREATION.to_owned()];
        }
        context.emit(Event::Entered {
            key: release_key.clone(),
            phase: Phase::Hook { event: event.to_owned(), name: hook.name.clone() },
        });
        let ready = prepare(context, release_key, index, hook).await?;
        hook.last_run = HookRun::new(history::Phase::Running, Some(records::now()), None);
        journal::progress(context, release).await?;
        let hook = &mut release.hooks[index];
        let result = run_one(context, release_key, hook, &ready, handed, timeout).await;
        let is_asked = hook.output_log_policies.iter().any(|policy| policy == SUCCEEDED);
        if result.is_ok() && (context.hook_logs || is_asked) {
            let logs = logs::of_ended(context, release_key, &ready.key).await;
            for text in logs {
                context.emit(Event::HookLog { key: release_key.clone(), hook: hook.name.clone(), text });
            }
        }
        let phase = if result.is_ok() { history::Phase::Succeeded } else { history::Phase::Failed };
        hook.last_run = HookRun::new(phase, hook.last_run.started_at.clone(), Some(records::now()));
        done.push(ready);
        journal::progress(context, release).await?;
        if let Err(error) = result {
            clean_up_after_failure(context, release, &done, timeout).await?;
            return Err(StepError::NotReady {
                what: format!("{event} hook {}", release.hooks[index].path),
                why: error.text(),
            });
        }
    }
    for ready in done.iter().rev().filter(|ready| has_policy(&release.hooks[ready.index], SUCCEEDED)) {
        remove(context, ready, timeout).await?;
    }
    Ok(())
}

async fn prepare(
    context: &Context<'_>,
    release: &ReleaseKey,
    index: usize,
    hook: &history::Hook,
) -> Result<Ready, StepError> {
    let unreadable = |why: String| StepError::NotReady { what: format!("hook {}", hook.path), why };
    let document = Document::parse(&hook.manifest).map_err(|error| unreadable(error.to_string()))?;
    if document.head.kind.is_empty() || document.head.name.is_empty() {
        return Err(unreadable("it has no kind or no name".to_owned()));
    }
    let gvk = GroupVersionKind::new(&document.head.api_version, &document.head.kind);
    let body = plan::body::applicable(document.object);
    let resource = context.resource(&gvk).await?;
    let namespace = resource
        .namespaced
        .then(|| body["metadata"]["namespace"].as_str().unwrap_or(&release.namespace).to_owned());
    let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(Ready { index, key: ObjectKey { gvk, namespace, name }, resource, body })
}

async fn run_one(
    context: &Context<'_>,
    release: &ReleaseKey,
    hook: &history::Hook,
    ready: &Ready,
    handed: &[Delete],
    timeout: Duration,
) -> Result<(), StepError> {
    if let Some(step) = handed.iter().find(|step| step.key.same_object(&ready.key)) {
        make_way(context, ready, step, timeout).await?;
    }
    if has_policy(hook, BEFORE_CREATION) {
        remove(context, ready, timeout).await?;
    }
    // What a hook does cannot be taken back.
    context.writer.make_sure().await?;
    // Hooks never take fields from others, as in Helm 4.
    let options = ApplyOptions { force: false, manager: FIELD_MANAGER };
    let sending = Sending { resource: &ready.resource, key: &ready.key, body: &ready.body, options };
    let applied = send::apply(context, Some(release), &sending).await;
    applied.map_err(|error| StepError::object(&ready.key, error))?;
    if matches!(ready.key.gvk.kind.as_str(), "Job" | "Pod") {
        wait::completed(context, release, &ready.key, timeout).await?;
    }
    Ok(())
}

/// As Helm does: the failed hook goes if its policy says so, and so do earlier ones that succeeded.
async fn clean_up_after_failure(
    context: &Context<'_>,
    release: &Release,
    done: &[Ready],
    timeout: Duration,
) -> Result<(), StepError> {
    let last = done.len().saturating_sub(1);
    for (position, ready) in done.iter().enumerate() {
        let policy = if position == last { FAILED } else { SUCCEEDED };
        if has_policy(&release.hooks[ready.index], policy) {
            remove(context, ready, timeout).await?;
        }
    }
    Ok(())
}

fn has_policy(hook: &history::Hook, policy: &str) -> bool {
    hook.delete_policies.iter().any(|name| name == policy)
}

/// Removes an object of the release that became this hook, if it is still the one that was planned with.
async fn make_way(
    context: &Context<'_>,
    ready: &Ready,
    step: &Delete,
    timeout: Duration,
) -> Result<(), StepError> {
    let (namespace, uid) = (ready.key.namespace.as_deref(), &step.uid);
    let found = context.writer.reader().get(&ready.resource, namespace, &ready.key.name).await;
    let found = found.map_err(|error| StepError::object(&ready.key, error))?;
    if found.is_none_or(|object| object["metadata"]["uid"] != uid.as_str()) {
        return Ok(());
    }
    objects::remove(context, &ready.resource, &ready.key, uid, Propagation::Background).await?;
    objects::wait_gone(context, &ready.resource, &ready.key, uid, timeout, objects::Interruptible::Yes).await
}

/// Kinds whose removal takes data or other objects along: their hooks are updated in place instead.
const PRECIOUS: [&str; 4] =
    ["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"];

/// Removes a hook's object and waits until it is gone. What holds data stays whatever the policy says, and an object
/// that carries the marks of a release is none of a hook's: hooks carry none.
async fn remove(context: &Context<'_>, ready: &Ready, timeout: Duration) -> Result<(), StepError> {
    if PRECIOUS.contains(&ready.key.gvk.kind.as_str()) {
        return Ok(());
    }
    let failed = |error| StepError::object(&ready.key, error);
    let namespace = ready.key.namespace.as_deref();
    let found =
        context.writer.reader().get(&ready.resource, namespace, &ready.key.name).await.map_err(failed)?;
    let Some(object) = found else { return Ok(()) };
    if plan::loss::takes_its_claims(&object) {
        return Ok(());
    }
    if let Some(owner) = object["metadata"]["annotations"][RELEASE_NAME_ANNOTATION].as_str() {
        return Err(StepError::NotReady {
            what: ready.key.to_string(),
            why: format!("an object of that name belongs to release {owner}, so the hook cannot have it"),
        });
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let background = Propagation::Background;
    context
        .writer
        .delete(&ready.resource, namespace, &ready.key.name, &uid, background)
        .await
        .map_err(failed)?;
    objects::wait_gone(context, &ready.resource, &ready.key, &uid, timeout, objects::Interruptible::Yes).await
}
