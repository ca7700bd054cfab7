//! One object that is waited for: asked of the server, or judged by what is followed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;

use super::{Context, StepError};
use crate::cluster::{ApiError, Follow, ListOptions, Resource};
use crate::dsf::state::ReadyRule;
use crate::health::{Evidence, Health, ended, health};
use crate::host::clock;
use crate::model::{GroupVersionKind, ObjectKey};

/// How long a new custom resource without a status is taken for one whose controller has not come to it yet.
const STATUS_GRACE: Duration = Duration::from_secs(10);
/// Older custom resources without a status have no controller that writes one.
const STILL_NEW: i64 = 300;

/// What has to become of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// It does its work.
    Ready,
    /// It has come to its end, as Jobs and Pods of hooks do.
    Ended,
    /// Somebody else makes it, and then it does its work.
    Made,
}

/// An object that is waited for.
pub(super) struct Subject<'a> {
    pub(super) key: ObjectKey,
    pub(super) resource: Resource,
    pub(super) rules: &'a [ReadyRule],
    pub(super) goal: Goal,
}

/// What was learned of a subject that does not change while it is waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Whether a claim is bound only when a pod mounts it.
    pub(super) binds_on_first_use: bool,
    /// Until when a missing status means that the controller is late.
    pub(super) status_due: Option<Instant>,
}

/// What stands around an object and tells why it is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    Pods,
    PodsAndSets,
}

impl Subject<'_> {
    /// Returns what tells more about the object than it does itself.
    pub(super) fn around(&self, known: &Known) -> Around {
        match (self.key.gvk.group.as_str(), self.key.gvk.kind.as_str()) {
            // Pods of a Deployment are told apart, old from new, by the ReplicaSet that made them.
            ("apps", "Deployment") => Around::PodsAndSets,
            ("apps", "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => Around::Pods,
            ("", "ReplicationController") => Around::Pods,
            ("", "PersistentVolumeClaim") if known.binds_on_first_use => Around::Pods,
            _ => Around::Nothing,
        }
    }

    /// Returns the state of the object.
    fn judge(&self, object: &Json, known: &Known, pods: &[&Json], replica_sets: &[&Json]) -> Health {
        let evidence = Evidence {
            pods,
            replica_sets,
            binds_on_first_use: known.binds_on_first_use,
            writes_status: known.status_due.is_some_and(|due| Instant::now() < due),
            rules: self.rules,
        };
        if self.goal == Goal::Ended { ended(object, &evidence) } else { health(object, &evidence) }
    }

    /// Returns the state of an object that is not there.
    fn missing(&self) -> Health {
        match self.goal {
            Goal::Made => Health::Progressing("it is not there".to_owned()),
            Goal::Ready | Goal::Ended => Health::Failed("it was deleted while it was waited for".to_owned()),
        }
    }

    /// Judges by what is followed. It may be late: it says when to ask, and is never the last word. Nothing is known
    /// where the object is not seen.
    pub(super) fn seen(
        &self,
        known: &Known,
        objects: &Follow,
        pods: Option<&Follow>,
        sets: Option<&Follow>,
    ) -> Option<Health> {
        if !objects.sees() {
            return None;
        }
        let Some(object) = objects.get(&self.key.name) else { return Some(self.missing()) };
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let sets = sets.map(|sets| sets.filtered(|set| is_owned(set, uid))).unwrap_or_default();
        let pods = pods.map(|pods| pods.filtered(|pod| self.concerns(pod, uid, &sets))).unwrap_or_default();
        let pods: Vec<&Json> = pods.iter().map(AsRef::as_ref).collect();
        let sets: Vec<&Json> = sets.iter().map(AsRef::as_ref).collect();
        Some(self.judge(&object, known, &pods, &sets))
    }

    fn concerns(&self, pod: &Json, uid: &str, sets: &[Arc<Json>]) -> bool {
        match self.key.gvk.kind.as_str() {
            "PersistentVolumeClaim" => {
                let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
                volumes.into_iter().any(|v| v["persistentVolumeClaim"]["claimName"] == self.key.name.as_str())
            }
            "Deployment" => sets
                .iter()
                .any(|set| set["metadata"]["uid"].as_str().is_some_and(|set_uid| is_owned(pod, set_uid))),
            _ => is_owned(pod, uid),
        }
    }

    /// Asks the server for the object as it is now, and, if it is not ready, for what is around it.
    ///
    /// # Errors
    /// It cannot be read. What is around it is left out where it cannot.
    pub(super) async fn look(&self, context: &Context<'_>, known: &mut Known) -> Result<Health, StepError> {
        let reader = context.writer.reader();
        let namespace = self.key.namespace.as_deref();
        let object = match reader.get(&self.resource, namespace, &self.key.name).await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(self.missing()),
            // A namespace that is not there yet hides its objects from a user who may look into it only.
            Err(error) if self.goal == Goal::Made && error.is_status(403) => {
                return Ok(Health::Progressing(error.to_string()));
            }
            Err(error) if error.leaves_open() => {
                return Ok(Health::Progressing(format!("cannot be read at present: {error}")));
            }
            Err(error) => return Err(StepError::object(&self.key, error)),
        };
        if known.status_due.is_none() && self.resource.has_status && is_new(&object) {
            known.status_due = Some(Instant::now() + STATUS_GRACE);
        }
        let alone = self.judge(&object, known, &[], &[]);
        if !matches!(alone, Health::Progressing(_)) {
            return Ok(alone);
        }
        // Only an object that is not ready costs a look at what is around it.
        if self.key.gvk.kind == "PersistentVolumeClaim" && !known.binds_on_first_use {
            known.binds_on_first_use = binds_on_first_use(context, &object).await;
        }
        let around = self.around(known);
        if around == Around::Nothing {
            return Ok(alone);
        }
        let labels = if self.key.gvk.kind == "PersistentVolumeClaim" {
            String::new()
        } else {
            let Some(selector) = pod_selector(&object) else { return Ok(alone) };
            selector
        };
        let options = ListOptions { labels, ..ListOptions::default() };
        let list = async |resource: &Resource| reader.list(resource, namespace, &options).await;
        let Ok(pods) = list(&Resource::pods()).await else { return Ok(alone) };
        let sets = match around {
            Around::PodsAndSets => list(&context.resource(&replica_set()).await?).await.unwrap_or_default(),
            Around::Pods | Around::Nothing => Vec::new(),
        };
        let pods: Vec<&Json> = pods.iter().collect();
        let sets: Vec<&Json> = sets.iter().collect();
        Ok(self.judge(&object, known, &pods, &sets))
    }
}

/// Returns the kind that makes the pods of Deployments.
pub(super) fn replica_set() -> GroupVersionKind {
    GroupVersionKind::new("apps/v1", "ReplicaSet")
}

fn is_owned(object: &Json, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    !uid.is_empty() && owners.into_iter().any(|owner| owner["uid"] == uid)
}

/// Tells whether an object was made not long ago; one whose time cannot be read was.
fn is_new(object: &Json) -> bool {
    let made = object["metadata"]["creationTimestamp"].as_str();
    let made = made.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    made.is_none_or(|made| clock::now().as_second() - made.as_second() < STILL_NEW)
}

/// Tells whether a claim is bound only when a pod mounts it. A class that cannot be read is taken for one that
/// binds at once, which can only make the wait longer.
async fn binds_on_first_use(context: &Context<'_>, claim: &Json) -> bool {
    let Some(class) = claim["spec"]["storageClassName"].as_str() else { return false };
    let gvk = GroupVersionKind::new("storage.k8s.io/v1", "StorageClass");
    let Ok(resource) = context.resource(&gvk).await else { return false };
    let found: Result<Option<Json>, ApiError> = context.writer.reader().get(&resource, None, class).await;
    found.ok().flatten().is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// Returns the label selector of a workload's pods; nothing for other kinds, and for a selector that cannot be written
/// in one line.
pub(super) fn pod_selector(object: &Json) -> Option<String> {
    object["spec"].get("template")?;
    let selector = object["spec"].get("selector")?;
    let labels = match selector.get("matchLabels") {
        Some(labels) => labels.as_object(),
        // A ReplicationController has the labels alone.
        None if object["kind"] == "ReplicationController" => selector.as_object(),
        None => None,
    };
    let equal = labels.into_iter().flatten().map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(|expression| {
        let key = expression["key"].as_str()?;
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Json::as_str).collect();
        match expression["operator"].as_str()? {
            "In" => Some(format!("{key} in ({})", values.join(","))),
            "NotIn" => Some(format!("{key} notin ({})", values.join(","))),
            "Exists" => Some(key.to_owned()),
            "DoesNotExist" => Some(format!("!{key}")),
            _ => None,
        }
    });
    let terms = equal.chain(expressions).collect::<Option<Vec<String>>>()?;
    (!terms.is_empty()).then(|| terms.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_written_as_a_query_takes_them() {
        for (kind, selector, expected) in [
            ("Deployment", json!({"matchLabels": {"a": "b", "c": "d"}}), Some("a=b,c=d")),
            (
                "Deployment",
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [
                    {"key": "x", "operator": "In", "values": ["1", "2"]},
                    {"key": "y", "operator": "NotIn", "values": ["3"]},
                    {"key": "z", "operator": "Exists"}, {"key": "w", "operator": "DoesNotExist"}]}),
                Some("a=b,x in (1,2),y notin (3),z,!w"),
            ),
            ("Deployment", json!({"matchExpressions": [{"key": "x", "operator": "Near"}]}), None),
            ("Deployment", json!({}), None),
            ("ReplicationController", json!({"a": "b"}), Some("a=b")),
        ] {
            let object = json!({"kind": kind, "spec": {"template": {}, "selector": selector}});
            assert_eq!(pod_selector(&object).as_deref(), expected, "{object}");
        }
    }
}
