//! Waits until objects are ready.

use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;

use super::event::{Event, Phase};
use super::{Context, StepError, logs};
use crate::cluster::{ApiError, ListOptions, Resource};
use crate::dsf::state::{ReadyRule, WaitFor};
use crate::health::{Evidence, Health, health};
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};

/// The first pause between two looks; it grows to [`SLOWEST_POLL`].
const FASTEST_POLL: Duration = Duration::from_millis(100);
/// The longest pause between two looks.
const SLOWEST_POLL: Duration = Duration::from_secs(1);

/// An object that is not ready yet.
struct Waiting<'a> {
    key: &'a ObjectKey,
    resource: Resource,
    why: String,
}

/// Waits until every object is ready.
///
/// # Errors
/// The first object that has failed, or what was not ready when the time was over.
pub(super) async fn ready<'a>(
    context: &Context<'_>,
    release: &ReleaseKey,
    rules: &[ReadyRule],
    keys: impl Iterator<Item = &'a ObjectKey>,
    timeout: Duration,
) -> Result<(), StepError> {
    let mut waiting = Vec::new();
    for key in keys {
        let resource = context.resource(&key.gvk).await?;
        waiting.push(Waiting { key, resource, why: "not looked at yet".to_owned() });
    }
    let total = waiting.len();
    let deadline = Instant::now() + timeout;
    let mut pause = FASTEST_POLL;
    loop {
        let mut still = Vec::new();
        for mut entry in waiting {
            match look(context, rules, &entry.resource, entry.key).await? {
                Health::Ready(_) => {}
                Health::Progressing(why) => {
                    entry.why = why;
                    still.push(entry);
                }
                Health::Failed(why) => {
                    let logs = logs::of_failed(context, entry.key).await;
                    return Err(StepError::NotReady {
                        what: entry.key.to_string(),
                        why: format!("{why}{logs}"),
                    });
                }
            }
        }
        let Some(first) = still.first() else { return Ok(()) };
        context.emit(Event::Entered {
            key: release.clone(),
            phase: Phase::Waiting {
                ready: total - still.len(),
                total,
                object: first.key.to_string(),
                why: first.why.clone(),
            },
        });
        if Instant::now() >= deadline {
            return Err(timed_out(&still, timeout));
        }
        context.check_stop()?;
        let pause_now = pause.min(deadline.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = tokio::time::sleep(pause_now) => {}
            _ = context.stop.wait() => {}
        }
        pause = (pause * 3 / 2).min(SLOWEST_POLL);
        waiting = still;
    }
}

/// Waits until an object that no chart of the run contains is there and ready.
///
/// # Errors
/// It has failed, or was not there or not ready when the time was over.
pub(super) async fn awaited(
    context: &Context<'_>,
    release: &ReleaseKey,
    rules: &[ReadyRule],
    wanted: &WaitFor,
    timeout: Duration,
) -> Result<(), StepError> {
    let deadline = Instant::now() + timeout;
    let mut pause = FASTEST_POLL;
    loop {
        let why = match awaited_now(context, rules, wanted).await? {
            Health::Ready(_) => return Ok(()),
            Health::Failed(why) => return Err(StepError::NotReady { what: wanted.to_string(), why }),
            Health::Progressing(why) => why,
        };
        let phase = Phase::Waiting { ready: 0, total: 1, object: wanted.to_string(), why: why.clone() };
        context.emit(Event::Entered { key: release.clone(), phase });
        if Instant::now() >= deadline {
            let (what, seconds) = (format!("{wanted} is not ready"), timeout.as_secs());
            return Err(StepError::TimedOut { what, seconds, why });
        }
        context.check_stop()?;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = context.stop.wait() => {}
        }
        pause = (pause * 3 / 2).min(SLOWEST_POLL);
    }
}

async fn awaited_now(
    context: &Context<'_>,
    rules: &[ReadyRule],
    wanted: &WaitFor,
) -> Result<Health, StepError> {
    let (kind, group) = match wanted.kind.split_once('.') {
        Some((kind, group)) => (kind, Some(group)),
        None => (wanted.kind.as_str(), None),
    };
    let known = context.discovery.read().await.by_kind(kind, group).cloned();
    let Some(resource) = known else {
        // Its definition may arrive any moment.
        let fresh = context.writer.reader().discover().await?;
        *context.discovery.write().await = fresh;
        return Ok(Health::Progressing(format!("the server does not know the kind {}", wanted.kind)));
    };
    let namespace = resource.namespaced.then(|| wanted.namespace.clone());
    let key = ObjectKey { gvk: resource.gvk.clone(), namespace, name: wanted.name.clone() };
    let found = context.writer.reader().get(&resource, key.namespace.as_deref(), &key.name).await;
    match found {
        Ok(Some(_)) => look(context, rules, &resource, &key).await,
        Ok(None) => Ok(Health::Progressing("it is not there".to_owned())),
        // A namespace that is not there yet hides its objects from a user who may look into it only.
        Err(error @ ApiError::Refused { .. }) if error.is_status(403) => {
            Ok(Health::Progressing(error.to_string()))
        }
        Err(error) => Err(StepError::object(wanted, error)),
    }
}

/// Waits until a hook's Job or Pod has ended well.
pub(super) async fn completed(
    context: &Context<'_>,
    release: &ReleaseKey,
    key: &ObjectKey,
    timeout: Duration,
) -> Result<(), StepError> {
    if key.gvk.kind != "Pod" {
        return ready(context, release, &[], std::iter::once(key), timeout).await;
    }
    let deadline = Instant::now() + timeout;
    loop {
        context.check_stop()?;
        let found = context.writer.reader().get(&Resource::pods(), key.namespace.as_deref(), &key.name).await;
        let pod = found.map_err(|error| StepError::object(key, error))?.unwrap_or_default();
        let phase = pod["status"]["phase"].as_str().unwrap_or("Pending");
        match phase {
            "Succeeded" => return Ok(()),
            "Failed" => {
                let logs = logs::of_failed(context, key).await;
                return Err(StepError::NotReady {
                    what: key.to_string(),
                    why: format!("the pod failed{logs}"),
                });
            }
            _ if Instant::now() >= deadline => {
                return Err(StepError::TimedOut {
                    what: format!("{key} has not ended"),
                    seconds: timeout.as_secs(),
                    why: format!("its phase is {phase}"),
                });
            }
            _ => tokio::time::sleep(FASTEST_POLL * 3).await,
        }
    }
}

async fn look(
    context: &Context<'_>,
    rules: &[ReadyRule],
    resource: &Resource,
    key: &ObjectKey,
) -> Result<Health, StepError> {
    let reader = context.writer.reader();
    let failed = |error| StepError::object(key, error);
    let namespace = key.namespace.as_deref();
    let Some(object) = reader.get(resource, namespace, &key.name).await.map_err(failed)? else {
        return Ok(Health::Failed("it was deleted while it was waited for".to_owned()));
    };
    let alone = health(&object, &Evidence { rules, ..Evidence::default() });
    if !matches!(alone, Health::Progressing(_)) {
        return Ok(alone);
    }
    // Only an object that is not ready costs a look at what is around it.
    if key.gvk.kind == "PersistentVolumeClaim" {
        let binds_on_first_use = binds_on_first_use(context, &object).await;
        return Ok(health(&object, &Evidence { binds_on_first_use, rules, ..Evidence::default() }));
    }
    let Some(selector) = pod_selector(&object) else { return Ok(alone) };
    let options = ListOptions { labels: selector, ..ListOptions::default() };
    let pods = reader.list(&Resource::pods(), namespace, &options).await.map_err(failed)?;
    // Pods of a Deployment are told apart, old from new, by the ReplicaSet that made them.
    let replica_sets = if key.gvk.kind == "Deployment" {
        let resource = context.resource(&GroupVersionKind::new("apps/v1", "ReplicaSet")).await?;
        reader.list(&resource, namespace, &options).await.map_err(failed)?
    } else {
        Vec::new()
    };
    Ok(health(&object, &Evidence { pods: &pods, replica_sets: &replica_sets, rules, ..Evidence::default() }))
}

/// Tells whether a claim is bound only when a pod mounts it. A class that cannot be read is taken for one that
/// binds at once, which can only make the wait longer.
async fn binds_on_first_use(context: &Context<'_>, claim: &Json) -> bool {
    let Some(class) = claim["spec"]["storageClassName"].as_str() else { return false };
    let gvk = GroupVersionKind::new("storage.k8s.io/v1", "StorageClass");
    let Ok(resource) = context.resource(&gvk).await else { return false };
    let found = context.writer.reader().get(&resource, None, class).await;
    found.ok().flatten().is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// Returns the label selector of a workload's pods; nothing for other kinds and for selectors with expressions.
pub(super) fn pod_selector(object: &Json) -> Option<String> {
    object["spec"].get("template")?;
    let selector = object["spec"].get("selector")?;
    if selector.get("matchExpressions").is_some() {
        return None;
    }
    let labels = selector.get("matchLabels")?.as_object()?;
    let terms: Vec<String> =
        labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    (!terms.is_empty()).then(|| terms.join(","))
}

fn timed_out(still: &[Waiting<'_>], timeout: Duration) -> StepError {
    let first = still.first();
    let what = first.map(|entry| entry.key.to_string()).unwrap_or_default();
    let why = first.map(|entry| entry.why.clone()).unwrap_or_default();
    let others = match still.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    StepError::TimedOut { what: format!("{what} is not ready{others}"), seconds: timeout.as_secs(), why }
}
