//! Runs hooks of the desired-state file: programs, and objects that are applied, waited for and removed.
//!
//! Everything about them was decided in the plan. An object that is not the one that was planned with, and was not made by
//! a hook of the same release meanwhile, ends the release.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::event::{Event, Phase};
use super::send::{self, Sending};
use super::{Context, StepError, objects, wait};
use crate::cluster::{ApplyOptions, Propagation, Resource};
use crate::dsf::state::{CommandLine, ReadyRule};
use crate::expression::Expression;
use crate::host::commands::{self, Ask, CommandError};
use crate::host::secrets;
use crate::model::{FIELD_MANAGER, ReleaseKey};
use crate::plan::app_hooks::{HookObject, HookStep, HookStepWork, ManifestStep, is_of_hook};

/// How many lines of what a program said are shown.
const LINES: usize = 20;
/// Never takes a field from somebody else.
const OPTIONS: ApplyOptions = ApplyOptions { force: false, manager: FIELD_MANAGER };
/// Conditions whose spelling is known; `kubectl wait` does not tell their case apart.
const CONDITIONS: [&str; 10] = [
    "Complete",
    "Ready",
    "Available",
    "Established",
    "Succeeded",
    "Synced",
    "Healthy",
    "Initialized",
    "ContainersReady",
    "PodScheduled",
];

/// Runs a hook, if there is one.
///
/// # Errors
/// It failed, or did not end in time.
pub(super) async fn run(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: Option<&HookStep>,
) -> Result<(), StepError> {
    let Some(step) = step else { return Ok(()) };
    context.check_stop()?;
    let name = match &step.work {
        HookStepWork::Command(command) => command.shown.clone(),
        HookStepWork::Manifest(manifest) => manifest.shown.clone(),
    };
    let phase = Phase::Hook { event: step.moment.key().to_owned(), name };
    context.emit(Event::Entered { key: release.clone(), phase });
    // What a hook does cannot be taken back.
    context.writer.make_sure().await?;
    let done = match &step.work {
        HookStepWork::Command(command) => program(context, release, step, command).await,
        HookStepWork::Manifest(manifest) => apply(context, release, step, manifest).await,
    };
    done.map_err(|error| match error {
        error @ (StepError::Interrupted { .. } | StepError::Stale { .. }) => error,
        error if error.is_lock_lost() => error,
        error => StepError::NotReady {
            what: format!("{} hook ({})", step.moment.key(), step.key),
            why: error.text(),
        },
    })
}

async fn program(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: &HookStep,
    command: &CommandLine,
) -> Result<(), StepError> {
    let mut environment: BTreeMap<String, String> = context.environment.clone();
    environment.extend(step.variables.clone());
    let ask = Ask {
        program: &command.program,
        arguments: &command.arguments,
        environment: &environment,
        input: None,
        output: None,
        timeout: step.timeout,
    };
    let ended = commands::run(ask, Some(context.stop)).await;
    let tail = match &ended {
        Ok(said) => said.tail.as_str(),
        Err(error) => error.tail(),
    };
    if ended.is_err() || context.hook_logs {
        let text = last_lines(context, release, tail);
        if !text.is_empty() {
            let hook = step.moment.key().to_owned();
            context.emit(Event::HookLog { key: release.clone(), hook, text });
        }
    }
    match ended {
        Ok(_) => Ok(()),
        Err(CommandError::Interrupted { signal, .. }) => Err(StepError::Interrupted { signal }),
        Err(error) => {
            let last = last_lines(context, release, error.tail());
            let last = last.lines().last().map(|line| format!("; it said last: {line}")).unwrap_or_default();
            let why = format!("{error}{last}");
            Err(StepError::NotReady { what: format!("`{}`", command.shown), why })
        }
    }
}

/// The end of what a program said, without secret values of the release and of the file.
fn last_lines(context: &Context<'_>, release: &ReleaseKey, said: &str) -> String {
    let said = said.trim_end();
    let lines: Vec<&str> = said.lines().collect();
    let text = lines[lines.len().saturating_sub(LINES)..].join("\n");
    let text = context.secrets(release).map_or(text.clone(), |known| known.redact(&text));
    secrets::redact(&text).into_owned()
}

async fn apply(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: &HookStep,
    manifest: &ManifestStep,
) -> Result<(), StepError> {
    let objects = manifest.objects.as_deref().unwrap_or_default();
    let deadline = Instant::now() + step.timeout;
    for object in objects {
        context.check_stop()?;
        put(context, release, object, step.timeout).await?;
    }
    let Some(condition) = &manifest.condition else { return Ok(()) };
    for object in objects.iter().filter(|object| object.is_waited_for) {
        let left = deadline.saturating_duration_since(Instant::now());
        wait_for(context, release, object, condition, left, step.timeout).await?;
    }
    if manifest.delete {
        for object in objects.iter().rev() {
            let resource = context.resource(&object.key.gvk).await?;
            if let Some(uid) = own_uid(context, release, &resource, object).await? {
                remove(context, &resource, object, &uid, step.timeout).await?;
            }
        }
    }
    Ok(())
}

/// Applies one object as planned.
async fn put(
    context: &Context<'_>,
    release: &ReleaseKey,
    object: &HookObject,
    timeout: Duration,
) -> Result<(), StepError> {
    let key = &object.key;
    let resource = context.resource(&key.gvk).await?;
    let found = context.writer.reader().get(&resource, key.namespace.as_deref(), &key.name).await;
    let found = found.map_err(|error| StepError::object(key, error))?;
    let uid = found.as_ref().map(|live| uid_of(live).to_owned());
    let is_planned = uid.is_none() || uid == object.found;
    // A hook of the same run may have made it after the plan.
    let is_own = found.as_ref().is_some_and(|live| object.is_ours && is_of_hook(live, release));
    if !is_planned && !is_own {
        return Err(StepError::Stale { what: format!("{key} was created by somebody else") });
    }
    let mut body = object.body.clone();
    match uid {
        Some(uid) if object.renews && is_own => remove(context, &resource, object, &uid, timeout).await?,
        Some(uid) => body["metadata"]["uid"] = json!(uid),
        None => {}
    }
    context.writer.make_sure().await?;
    let sending = Sending { resource: &resource, key, body: &body, options: OPTIONS };
    if body["metadata"]["uid"].is_null() {
        send::create(context, release, &sending).await.map(drop)
    } else {
        let sent = send::apply(context, Some(release), &sending).await;
        sent.map(drop).map_err(|error| StepError::object(key, error))
    }
}

/// Returns the uid of what is there, if a hook of the release made it.
async fn own_uid(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    object: &HookObject,
) -> Result<Option<String>, StepError> {
    let (namespace, name) = (object.key.namespace.as_deref(), &object.key.name);
    let found = context.writer.reader().get(resource, namespace, name).await;
    let found = found.map_err(|error| StepError::object(&object.key, error))?;
    Ok(found.filter(|live| is_of_hook(live, release)).map(|live| uid_of(&live).to_owned()))
}

async fn remove(
    context: &Context<'_>,
    resource: &Resource,
    object: &HookObject,
    uid: &str,
    timeout: Duration,
) -> Result<(), StepError> {
    let key = &object.key;
    objects::remove(context, resource, key, uid, Propagation::Background).await?;
    objects::wait_gone(context, resource, key, uid, timeout, objects::Interruptible::Yes).await
}

/// Waits for a condition of an object. Of a Job its end is known: one that failed ends the wait at once.
async fn wait_for(
    context: &Context<'_>,
    release: &ReleaseKey,
    object: &HookObject,
    condition: &str,
    left: Duration,
    timeout: Duration,
) -> Result<(), StepError> {
    let (name, value) = condition.split_once('=').unwrap_or((condition, "True"));
    let known = CONDITIONS.iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
    let name = known.copied().unwrap_or(name.trim());
    let waited = if object.key.gvk.kind == "Job" && name == "Complete" && value == "True" {
        wait::completed(context, release, &object.key, left).await
    } else {
        let held = format!(
            "has(status.conditions) && status.conditions.exists(c, c.type == {} && c.status == {})",
            Json::from(name),
            Json::from(value)
        );
        let unusable = |why: String| StepError::NotReady { what: format!("the condition {condition}"), why };
        let current = Expression::parse(&held).map_err(|error| unusable(error.to_string()))?;
        let rule = ReadyRule { kind: kind_of(object), current, failed: None };
        wait::ready(context, release, &[rule], [&object.key].into_iter(), left).await
    };
    waited.map_err(|error| match error {
        StepError::TimedOut { why, .. } => StepError::TimedOut {
            what: format!("{} does not have the condition {condition}", object.key),
            seconds: timeout.as_secs(),
            why,
        },
        other => other,
    })
}

fn kind_of(object: &HookObject) -> String {
    let gvk = &object.key.gvk;
    if gvk.group.is_empty() { gvk.kind.clone() } else { format!("{}.{}", gvk.kind, gvk.group) }
}

fn uid_of(live: &Json) -> &str {
    live["metadata"]["uid"].as_str().unwrap_or_default()
}
