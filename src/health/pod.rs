//! Pods: ready, ended, starting, or unable to start.
//!
//! A pod that cannot pull its image or be configured stays `Pending` for ever, so its containers are read.

use serde_json::Value as Json;

use super::Health;
use super::read::{condition, count, integer, join, list, of, text};

/// Waiting reasons of the kubelet that no new attempt changes.
const NEVER: [&str; 2] = ["InvalidImageName", "ErrImageNeverPull"];
/// Restarts after which a container that crashes again is not expected to recover.
const CRASHES: i64 = 3;
/// Waiting reasons of the kubelet that a new attempt rarely changes.
const STUCK: [&str; 14] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
    "CreatePodSandboxError",
];

/// Why a pod will not get ready.
pub(super) struct Trouble {
    /// For people: container, reason and message.
    pub(super) text: String,
    /// The container starts and ends again and again; a Job counts that itself.
    pub(super) crashes: bool,
    /// It will not heal by itself.
    is_final: bool,
}

impl Trouble {
    /// Returns the state of what depends on the pod.
    pub(super) fn health(&self, text: String) -> Health {
        if self.is_final { Health::Failed(text) } else { Health::Failing(text) }
    }
}

pub(super) fn health(pod: &Json) -> Health {
    match text(pod, "/status/phase") {
        "Succeeded" => Health::ready(),
        "Failed" => Health::Failed(why_failed(pod)),
        _ if condition(pod, "Ready").is_some_and(|ready| ready.is_true()) => Health::ready(),
        _ => match trouble(pod) {
            Some(trouble) => trouble.health(trouble.text.clone()),
            None => Health::Progressing(waiting(pod).unwrap_or_else(|| "is starting".to_owned())),
        },
    }
}

/// Returns the state of a pod that has to come to its end. Crashes are no failure: the kubelet starts such a pod again
/// for as long as its restart policy says.
pub(super) fn to_its_end(pod: &Json) -> Health {
    match text(pod, "/status/phase") {
        "Succeeded" => Health::ready(),
        "Failed" => Health::Failed(why_failed(pod)),
        phase => match trouble(pod) {
            Some(trouble) if trouble.crashes => Health::Progressing(trouble.text),
            Some(trouble) => trouble.health(trouble.text.clone()),
            None if condition(pod, "Ready").is_some_and(|ready| ready.is_true()) => {
                Health::progressing("runs, and has not ended yet")
            }
            None => Health::Progressing(waiting(pod).unwrap_or_else(|| match phase {
                "Running" => "runs, and has not ended yet".to_owned(),
                _ => "is starting".to_owned(),
            })),
        },
    }
}

/// Returns what keeps a pod from ever starting, or makes it start again and again.
pub(super) fn trouble(pod: &Json) -> Option<Trouble> {
    if matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") {
        return None;
    }
    containers(pod).find_map(|container| {
        let reason = text(container, "/state/waiting/reason");
        let name = text(container, "/name");
        if reason == "CrashLoopBackOff" {
            let restarts = count(container, "/restartCount");
            let times = if restarts == 1 { "1 restart".to_owned() } else { format!("{restarts} restarts") };
            let last = ended(container, "/lastState/terminated")
                .map_or(String::new(), |end| format!(", last {end}"));
            let text = format!("container {name} keeps crashing ({times}{last})");
            return Some(Trouble { text, crashes: true, is_final: restarts >= CRASHES });
        }
        STUCK.contains(&reason).then(|| {
            let message = text(container, "/state/waiting/message");
            let text = format!("container {name}: {}", join(reason, message));
            Trouble { text, crashes: false, is_final: NEVER.contains(&reason) }
        })
    })
}

/// Returns what a pod that may still get ready waits for.
pub(super) fn waiting(pod: &Json) -> Option<String> {
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(|scheduled| scheduled.is_false()) {
        return Some(scheduled.words());
    }
    let init = list(pod, "/status/initContainerStatuses");
    // A sidecar never ends; it counts as done once it has started.
    let done = |status: &&Json| {
        integer(status, "/state/terminated/exitCode") == Some(0)
            || status.get("started").and_then(Json::as_bool) == Some(true)
                && status.get("ready").and_then(Json::as_bool) == Some(true)
    };
    let initialised = init.iter().filter(done).count();
    if initialised < init.len() {
        let what = of(as_count(initialised), as_count(init.len()), "init containers", "done");
        return Some(with_end(what, &init[initialised..]));
    }
    let containers = list(pod, "/status/containerStatuses");
    let (ready, unready): (Vec<&Json>, Vec<&Json>) =
        containers.iter().partition(|status| status.get("ready").and_then(Json::as_bool) == Some(true));
    if unready.is_empty() {
        // Every container is ready, so a readiness gate is not.
        return condition(pod, "Ready").filter(|ready| ready.is_false()).map(|ready| ready.words());
    }
    let total = as_count(containers.len());
    let mut what = of(as_count(ready.len()), total, "containers", "ready");
    if let Some(reason) =
        unready.iter().map(|status| text(status, "/state/waiting/reason")).find(|r| !r.is_empty())
    {
        what = format!("{what}, {reason}");
    }
    Some(with_end(what, unready))
}

/// Appends how the first of these containers ended, now or before its last restart.
fn with_end<'a>(what: String, containers: impl IntoIterator<Item = &'a Json>) -> String {
    let end = containers.into_iter().find_map(|container| {
        let end =
            ended(container, "/state/terminated").or_else(|| ended(container, "/lastState/terminated"))?;
        Some(format!("{what}, container {} ended with {end}", text(container, "/name")))
    });
    end.unwrap_or(what)
}

fn why_failed(pod: &Json) -> String {
    let stated = join(text(pod, "/status/reason"), text(pod, "/status/message"));
    if !stated.is_empty() {
        return stated;
    }
    let failed = containers(pod)
        .find(|status| integer(status, "/state/terminated/exitCode").is_some_and(|code| code != 0));
    failed.and_then(|status| Some((status, ended(status, "/state/terminated")?))).map_or_else(
        || "the pod failed".to_owned(),
        |(status, end)| format!("container {} ended with {end}", text(status, "/name")),
    )
}

/// Describes how a container ended: `exit code 137 (OOMKilled)`.
fn ended(container: &Json, pointer: &str) -> Option<String> {
    let end = container.pointer(pointer)?;
    let code = integer(end, "/exitCode")?;
    let reason = text(end, "/reason");
    // `Error` says no more than the code does.
    let reason = if matches!(reason, "" | "Error") { String::new() } else { format!(" ({reason})") };
    let message = text(end, "/message").trim();
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    Some(format!("exit code {code}{reason}{message}"))
}

fn containers(pod: &Json) -> impl Iterator<Item = &Json> {
    list(pod, "/status/initContainerStatuses").iter().chain(list(pod, "/status/containerStatuses"))
}

fn as_count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
