//! The last words of containers: of those that failed, to be put behind the reason why something is not ready, and of
//! hooks and tests. Secret values of the release are taken out.

use serde_json::Value as Json;

use super::{Context, look};
use crate::cluster::{ListOptions, Resource};
use crate::model::{ObjectKey, ReleaseKey};

/// How many lines of a log are shown.
const LINES: u32 = 10;

/// Returns the last lines of the log of the container that an object failed because of; empty if there is none.
///
/// Without the secret values of the release nothing of a log is shown: whose words they are is not known.
pub(super) async fn of_failed(context: &Context<'_>, release: &ReleaseKey, key: &ObjectKey) -> String {
    let Some(namespace) = key.namespace.as_deref() else { return String::new() };
    let reader = context.writer.reader();
    for pod in pods(context, key, namespace).await {
        let Some((container, is_waiting)) = broken_container(&pod) else { continue };
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let Some(secrets) = context.secrets(release) else {
            return format!("; `kubectl logs {name} -c {container} -n {namespace}` tells more");
        };
        // A container that waits for its next start has nothing to say yet; the one before it has.
        let order = if is_waiting { [true, false] } else { [false, true] };
        for previous in order {
            let log = reader.log_tail(namespace, name, &container, previous, LINES).await;
            if let Some(log) = log.filter(|log| !log.trim().is_empty()) {
                let log = secrets.redact(log.trim_end());
                return format!("; last lines of pod {name}, container {container}:\n{log}");
            }
        }
    }
    String::new()
}

/// Returns the last lines of each container of a hook's Job or Pod that ended well.
pub(super) async fn of_ended(context: &Context<'_>, release: &ReleaseKey, key: &ObjectKey) -> Vec<String> {
    let (Some(namespace), Some(secrets)) = (key.namespace.as_deref(), context.secrets(release)) else {
        return Vec::new();
    };
    let mut told = Vec::new();
    if !matches!(key.gvk.kind.as_str(), "Job" | "Pod") {
        return told;
    }
    for pod in pods(context, key, namespace).await {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
            let container = container["name"].as_str().unwrap_or_default();
            let log = context.writer.reader().log_tail(namespace, name, container, false, LINES).await;
            if let Some(log) = log.filter(|log| !log.trim().is_empty()) {
                let log = secrets.redact(log.trim_end());
                told.push(format!("last lines of pod {name}, container {container}:\n{log}"));
            }
        }
    }
    told
}

/// Returns the pods of an object.
async fn pods(context: &Context<'_>, key: &ObjectKey, namespace: &str) -> Vec<Json> {
    let reader = context.writer.reader();
    let labels = match key.gvk.kind.as_str() {
        "Pod" => {
            let found = reader.get(&Resource::pods(), Some(namespace), &key.name).await;
            return found.ok().flatten().into_iter().collect();
        }
        "Job" => Some(format!("batch.kubernetes.io/job-name={}", key.name)),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            let Ok(resource) = context.resource(&key.gvk).await else { return Vec::new() };
            let found = reader.get(&resource, Some(namespace), &key.name).await;
            found.ok().flatten().as_ref().and_then(look::pod_selector)
        }
        _ => None,
    };
    let Some(labels) = labels else { return Vec::new() };
    let options = ListOptions { labels, ..ListOptions::default() };
    reader.list(&Resource::pods(), Some(namespace), &options).await.unwrap_or_default()
}

/// Returns the container of a pod that failed or keeps failing, and whether it waits for its next start.
fn broken_container(pod: &Json) -> Option<(String, bool)> {
    let statuses = ["initContainerStatuses", "containerStatuses"];
    let all = statuses.iter().flat_map(|member| pod["status"][*member].as_array().into_iter().flatten());
    let failed = |end: &Json| end["exitCode"].as_i64().is_some_and(|code| code != 0);
    let broken = all.into_iter().find_map(|status| {
        let (state, last) = (&status["state"], &status["lastState"]);
        let waits = state["waiting"]["reason"] == "CrashLoopBackOff";
        let has_failed = waits || failed(&state["terminated"]) || failed(&last["terminated"]);
        has_failed.then(|| (status["name"].as_str().unwrap_or_default().to_owned(), waits))
    });
    // A pod that says Failed as a whole need not say which of its containers did.
    broken.or_else(|| {
        let name = pod["spec"]["containers"][0]["name"].as_str()?;
        (pod["status"]["phase"] == "Failed").then(|| (name.to_owned(), false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_container_that_fails_is_found() {
        let ok = json!({"name": "ok", "state": {"running": {}}});
        let crashing = json!({"name": "bad", "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        let ended = json!({"name": "bad", "state": {"terminated": {"exitCode": 3}}});
        let restarted =
            json!({"name": "bad", "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 137}}});
        let done = json!({"name": "done", "state": {"terminated": {"exitCode": 0}}});
        for (statuses, expected) in [
            (json!([ok, crashing]), Some(("bad".to_owned(), true))),
            (json!([done, ended]), Some(("bad".to_owned(), false))),
            (json!([restarted]), Some(("bad".to_owned(), false))),
            (json!([ok, done]), None),
        ] {
            let pod = json!({"status": {"containerStatuses": statuses}});
            assert_eq!(broken_container(&pod), expected, "{pod}");
        }
        let pod = json!({"spec": {"containers": [{"name": "first"}]}, "status": {"phase": "Failed"}});
        assert_eq!(broken_container(&pod), Some(("first".to_owned(), false)));
    }
}
