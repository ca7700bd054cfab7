//! Pods as evidence for the state of the object that owns them.

use serde_json::Value as Json;

use super::pod;
use super::read::text;
use super::{Evidence, Health};

/// Which pods belong to the newest template of a workload.
pub(super) struct Newest<'a> {
    /// The pods' controller.
    pub(super) owner: &'a str,
    /// A label that pods of the newest template carry, if the kind has one.
    pub(super) label: Option<(&'a str, &'a str)>,
}

/// Adds what the pods say to a state that is not ready: a pod that cannot start makes it failed, another
/// reason is appended.
pub(super) fn explain(health: Health, newest: &Newest<'_>, evidence: &Evidence<'_>) -> Health {
    let (what, failed) = match health {
        Health::Ready(_) | Health::Failing(_) => return health,
        Health::Progressing(what) => (what, false),
        Health::Failed(what) => (what, true),
    };
    let pods = || evidence.pods.iter().copied().filter(|pod| belongs(pod, newest));
    let named = |pod: &Json, why: &str| format!("{what}; pod {}: {why}", text(pod, "/metadata/name"));
    let troubled = pods().find_map(|pod| Some((pod, pod::trouble(pod)?)));
    if let Some((pod, trouble)) = troubled {
        let text = named(pod, &trouble.text);
        return if failed { Health::Failed(text) } else { trouble.health(text) };
    }
    let waiting =
        pods().filter(|pod| !pod::health(pod).is_ready()).find_map(|pod| Some((pod, pod::waiting(pod)?)));
    let what = waiting.map_or_else(|| what.clone(), |(pod, why)| named(pod, &why));
    if failed { Health::Failed(what) } else { Health::Progressing(what) }
}

/// Tells whether a pod is controlled by the owner, has the newest template and is not on its way out.
pub(super) fn belongs(pod: &Json, newest: &Newest<'_>) -> bool {
    let leaving = pod.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    let labels = pod.pointer("/metadata/labels");
    let labelled = newest
        .label
        .is_none_or(|(key, value)| labels.and_then(|labels| labels.get(key)?.as_str()) == Some(value));
    !leaving && labelled && is_controlled_by(pod, newest.owner)
}

/// Tells whether the object's controller has this uid.
pub(super) fn is_controlled_by(object: &Json, uid: &str) -> bool {
    super::read::list(object, "/metadata/ownerReferences").iter().any(|owner| {
        owner.get("controller").and_then(Json::as_bool) == Some(true) && text(owner, "/uid") == uid
    })
}
