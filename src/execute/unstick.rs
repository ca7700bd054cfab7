//! Pods of a failed revision that hold a rollback up.
//!
//! A StatefulSet replaces its pods in order, and waits for one that is broken instead of replacing it
//! (kubernetes/kubernetes#67250): such a pod stays until somebody deletes it. It is named, or with `unstick = true`
//! deleted; never one that is ready, and never anything but pods.

use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;

use super::event::Event;
use super::{Context, StepError, look, objects};
use crate::cluster::{ListOptions, Propagation, Resource};
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};
use crate::plan::Rollback;

/// How long the controller may take to see that a StatefulSet was changed back.
const SEEN_WITHIN: Duration = Duration::from_secs(15);
/// Between two looks meanwhile.
const POLL: Duration = Duration::from_millis(200);

/// A pod that is in the way.
struct Stuck {
    key: ObjectKey,
    uid: String,
}

/// Deletes the pods that are in the way of the StatefulSets of a rollback.
///
/// # Errors
/// A pod could not be deleted.
pub(super) async fn unstick(
    context: &Context<'_>,
    release: &ReleaseKey,
    work: &Rollback,
) -> Result<(), StepError> {
    for key in sets(work) {
        let deadline = Instant::now() + SEEN_WITHIN.min(work.timeout);
        let stuck = loop {
            // Before the controller has seen the change, no pod is of another revision than the set wants.
            match stuck_pods(context, key).await {
                Some(stuck) => break stuck,
                None if Instant::now() >= deadline => break Vec::new(),
                None => {}
            }
            context.check_stop()?;
            tokio::time::sleep(POLL).await;
        };
        for pod in stuck {
            let text =
                format!("{} is of the failed revision and not ready: it is deleted (unstick)", pod.key);
            context.emit(Event::Noted { key: release.clone(), text });
            let (resource, how) = (Resource::pods(), Propagation::Background);
            match objects::remove(context, &resource, &pod.key, &pod.uid, how).await {
                // Somebody else was faster.
                Ok(()) | Err(StepError::Stale { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Adds the pods that are in the way to the reason why a rollback failed.
pub(super) async fn name_stuck_pods(context: &Context<'_>, work: &Rollback, error: StepError) -> StepError {
    let mut stuck = Vec::new();
    for key in sets(work) {
        let pods = stuck_pods(context, key).await.unwrap_or_default();
        stuck.extend(pods.into_iter().map(|pod| {
            let namespace = pod.key.namespace.unwrap_or_default();
            format!("`kubectl delete pod {} -n {namespace}`", pod.key.name)
        }));
    }
    if stuck.is_empty() {
        return error;
    }
    let advice = if work.unstick { "" } else { "; `unstick = true` deletes such pods" };
    let why = format!("pods of the failed revision are in the way: {}{advice}", stuck.join(", "));
    StepError::NotReady { what: error.text(), why }
}

fn sets(work: &Rollback) -> impl Iterator<Item = &ObjectKey> {
    let all = work.applies.iter().map(|step| &step.key);
    all.filter(|key| key.gvk.group == "apps" && key.gvk.kind == "StatefulSet")
}

/// Returns the pods that hold a StatefulSet up; nothing as long as that cannot be told.
async fn stuck_pods(context: &Context<'_>, key: &ObjectKey) -> Option<Vec<Stuck>> {
    let namespace = key.namespace.as_deref();
    let resource = context.resource(&key.gvk).await.ok()?;
    let reader = context.writer.reader();
    let set = reader.get(&resource, namespace, &key.name).await.ok()??;
    let seen = set["status"]["observedGeneration"].as_i64()?;
    if set["metadata"]["generation"].as_i64().is_some_and(|generation| seen < generation) {
        return None;
    }
    let options = ListOptions { labels: look::pod_selector(&set)?, ..ListOptions::default() };
    let pods = reader.list(&Resource::pods(), namespace, &options).await.ok()?;
    let stuck = pods.iter().filter(|pod| is_stuck(&set, pod)).filter_map(|pod| {
        let key = ObjectKey {
            gvk: GroupVersionKind::new("v1", "Pod"),
            namespace: key.namespace.clone(),
            name: pod["metadata"]["name"].as_str()?.to_owned(),
        };
        Some(Stuck { key, uid: pod["metadata"]["uid"].as_str()?.to_owned() })
    });
    Some(stuck.collect())
}

/// Tells whether a pod of the set is of another revision than the set wants, and not ready.
fn is_stuck(set: &Json, pod: &Json) -> bool {
    let wanted = &set["status"]["updateRevision"];
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().any(|entry| entry["type"] == "Ready" && entry["status"] == "True");
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owned = owners.into_iter().any(|owner| owner["uid"] == set["metadata"]["uid"]);
    let leaving = !pod["metadata"]["deletionTimestamp"].is_null();
    let label = &pod["metadata"]["labels"]["controller-revision-hash"];
    wanted.is_string() && label.is_string() && label != wanted && owned && !ready && !leaving
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_broken_pod_of_another_revision_is_in_the_way() {
        let set = json!({"metadata": {"uid": "s"}, "status": {"updateRevision": "good"}});
        let pod = |revision: &str, ready: &str, owner: &str| {
            json!({"metadata": {"labels": {"controller-revision-hash": revision}, "ownerReferences": [{"uid": owner}]},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}})
        };
        for (pod, expected) in [
            (pod("bad", "False", "s"), true),
            (pod("bad", "True", "s"), false),
            (pod("good", "False", "s"), false),
            (pod("bad", "False", "other"), false),
            (json!({"metadata": {"ownerReferences": [{"uid": "s"}]}}), false),
        ] {
            assert_eq!(is_stuck(&set, &pod), expected, "{pod}");
        }
        let mut leaving = pod("bad", "False", "s");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(!is_stuck(&set, &leaving));
        assert!(!is_stuck(&json!({"metadata": {"uid": "s"}}), &pod("bad", "False", "s")));
    }
}
