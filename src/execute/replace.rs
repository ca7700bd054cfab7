//! Deleting an object and creating it again, with what has to happen before and after.
//!
//! There is no way here without a permit for this very object.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::objects::{self, Interruptible};
use super::{Context, StepError, journal};
use crate::cluster::{ListOptions, Propagation, Resource};
use crate::health::{Evidence, Health, health};
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};
use crate::plan::{Apply, Grow, Replace};

/// Between two looks at a pod that is on its way.
const POLL: Duration = Duration::from_millis(300);
/// How often a claim is grown whose status changes meanwhile.
const ATTEMPTS: usize = 8;

/// Grows claims, deletes the object, creates it again, and replaces pods that lack something.
pub(super) async fn replace(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    step: &Apply,
    planned: &Replace,
    timeout: Duration,
) -> Result<(), StepError> {
    let permit = &planned.permit;
    if permit.release() != release || permit.object() != &step.key {
        return Err(StepError::Stale { what: format!("the permit for {} is for another object", step.key) });
    }
    if !planned.lost.is_empty() && !permit.covers_data() {
        return Err(StepError::Stale { what: format!("the permit for {} does not cover data", step.key) });
    }
    // Nothing is lost by growing, so it comes first: if it fails, everything else is as it was.
    for step in &planned.grow {
        grow(context, step).await?;
    }
    let pods = if planned.replace_pods { pods_of(context, step).await? } else { Vec::new() };
    journal::note(context, format!("re-create {}, which it deletes first", step.key)).await?;
    let (uid, propagation) = (&planned.uid, objects::propagation(planned.dependents));
    objects::remove(context, resource, &step.key, uid, propagation).await?;
    objects::wait_gone(context, resource, &step.key, uid, timeout, Interruptible::No).await?;
    create_again(context, release, resource, step, timeout).await?;
    for pod in &pods {
        replace_pod(context, pod, timeout).await?;
    }
    Ok(())
}

/// Creates the object once there is room for it: a quota still counts the old one for a moment. Nothing ends this but its
/// time: the object is not there meanwhile.
async fn create_again(
    context: &Context<'_>,
    release: &ReleaseKey,
    resource: &Resource,
    step: &Apply,
    timeout: Duration,
) -> Result<(), StepError> {
    let is_full = |error: &StepError| match error {
        StepError::Object { source, .. } => source
            .refusal()
            .is_some_and(|refusal| refusal.status == 403 && refusal.message.contains("exceeded quota: ")),
        _ => false,
    };
    let deadline = Instant::now() + timeout;
    loop {
        match objects::create(context, release, resource, step).await {
            Err(error) if is_full(&error) && Instant::now() < deadline => tokio::time::sleep(POLL).await,
            result => return result,
        }
    }
}

/// Makes a claim ask for more.
async fn grow(context: &Context<'_>, step: &Grow) -> Result<(), StepError> {
    let resource = Resource::claims();
    let (key, namespace) = (&step.claim, step.claim.namespace.as_deref());
    let moved = || StepError::Stale { what: format!("{key} was changed by somebody else") };
    for _ in 0..ATTEMPTS {
        let found = context.writer.reader().get(&resource, namespace, &key.name).await;
        let claim = found.map_err(|error| StepError::object(key, error))?.ok_or_else(moved)?;
        let size = &claim["spec"]["resources"]["requests"]["storage"];
        // An answer that was lost was a success.
        if claim["metadata"]["uid"] == step.uid.as_str() && *size == step.to.as_str() {
            return Ok(());
        }
        if claim["metadata"]["uid"] != step.uid.as_str() || *size != step.from.as_str() {
            return Err(moved());
        }
        let patch = json!([
            {"op": "replace", "path": "/spec/resources/requests/storage", "value": step.to},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": claim["metadata"]["resourceVersion"]},
        ]);
        match context.writer.json_patch(&resource, namespace, &key.name, &patch).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_status(409) || error.may_pass() => {}
            Err(error) => return Err(StepError::object(key, error)),
        }
    }
    Err(moved())
}

/// A pod as it was before its set was re-created.
struct OldPod {
    key: ObjectKey,
    uid: String,
    ordinal: u32,
}

/// Returns the pods of a StatefulSet, the first one first: the controller stops at the first pod that lacks a claim,
/// and makes none behind it (measured on Kubernetes 1.36).
async fn pods_of(context: &Context<'_>, step: &Apply) -> Result<Vec<OldPod>, StepError> {
    let labels = step.body["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
    let terms: Vec<String> =
        labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    let options = ListOptions { labels: terms.join(","), ..ListOptions::default() };
    let namespace = step.key.namespace.as_deref();
    let listed = context.writer.reader().list(&Resource::pods(), namespace, &options).await;
    let listed = listed.map_err(|error| StepError::object(&step.key, error))?;
    let pod = |pod: &Json| {
        let name = pod["metadata"]["name"].as_str()?;
        let ordinal = name.strip_prefix(&step.key.name)?.strip_prefix('-')?.parse().ok()?;
        let key = ObjectKey {
            gvk: GroupVersionKind::new("v1", "Pod"),
            namespace: step.key.namespace.clone(),
            name: name.to_owned(),
        };
        Some(OldPod { key, uid: pod["metadata"]["uid"].as_str()?.to_owned(), ordinal })
    };
    let mut pods: Vec<OldPod> = listed.iter().filter_map(pod).collect();
    pods.sort_by_key(|pod| pod.ordinal);
    Ok(pods)
}

/// Deletes one pod and waits until the controller has made a new one that is ready.
async fn replace_pod(context: &Context<'_>, pod: &OldPod, timeout: Duration) -> Result<(), StepError> {
    let (resource, namespace) = (Resource::pods(), pod.key.namespace.as_deref());
    match objects::remove(context, &resource, &pod.key, &pod.uid, Propagation::Background).await {
        // Somebody else replaced it meanwhile: the new one has what the set says.
        Ok(()) | Err(StepError::Stale { .. }) => {}
        Err(error) => return Err(error),
    }
    let deadline = Instant::now() + timeout;
    loop {
        let found = context.writer.reader().get(&resource, namespace, &pod.key.name).await;
        let found = found.map_err(|error| StepError::object(&pod.key, error))?;
        let why = match found.filter(|found| found["metadata"]["uid"] != pod.uid.as_str()) {
            None => "the new one is not there yet".to_owned(),
            Some(new) => match health(&new, &Evidence::default()) {
                Health::Ready(_) => return Ok(()),
                Health::Progressing(why) | Health::Failing(why) => why,
                Health::Failed(why) => {
                    return Err(StepError::NotReady { what: pod.key.to_string(), why });
                }
            },
        };
        if Instant::now() >= deadline {
            let what = format!("{} is not ready", pod.key);
            return Err(StepError::TimedOut { what, seconds: timeout.as_secs(), why });
        }
        context.check_stop()?;
        tokio::time::sleep(POLL).await;
    }
}
