//! What is compared with the newest record, and what the next one says.
//!
//! Source of the texts and of what carries over: Helm `pkg/action/{install,upgrade}.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::adoption;
use super::body;
use super::input::{Content, PlanInput};
use super::steps::DeployKind;
use super::{leave, sequence};
use crate::dsf::state::Release;
use crate::history::{self, History, Info, Record, Status, Time};
use crate::model::{GroupVersionKind, ObjectKey};
use crate::value::{Map, Value};

/// The longest time for a release that the file no longer has; Helm's own default.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// What the description of a rollback begins with; the number of the revision follows.
const ROLLBACK_TO: &str = "Rollback to ";

/// Returns the revision to which a record says that it went back; nothing for every other one.
pub(super) fn rolled_back_to(release: &history::Release) -> Option<u64> {
    release.info.description.strip_prefix(ROLLBACK_TO)?.parse().ok()
}

/// Returns the record of the next revision as it is first written.
pub(super) fn next(
    input: &PlanInput,
    release: &Release,
    history: &History,
    content: &Content,
    kind: DeployKind,
) -> history::Release {
    let now = Time::from(input.now);
    let installed = history.baseline().filter(|_| kind != DeployKind::Install);
    let first = installed.and_then(|record| record.release.info.first_deployed.clone());
    let (status, description) = match kind {
        DeployKind::Install => (Status::PendingInstall, "Initial install underway".to_owned()),
        DeployKind::Upgrade => (Status::PendingUpgrade, "Preparing upgrade".to_owned()),
        // Helm `pkg/action/rollback.go`, `prepareRollback`.
        DeployKind::Rollback => {
            (Status::PendingRollback, format!("{ROLLBACK_TO}{}", content.back_to.unwrap_or_default()))
        }
    };
    history::Release {
        name: release.key.name.clone(),
        info: Info {
            first_deployed: Some(first.unwrap_or_else(|| now.clone())),
            last_deployed: Some(now),
            description,
            status,
            notes: content.notes.clone(),
            ..Info::default()
        },
        chart: Some(content.chart.clone()),
        config: content.config.clone(),
        manifest: content.manifest.clone(),
        hooks: content.hooks.clone(),
        version: history.next_revision(),
        namespace: release.key.namespace.clone(),
        apply_method: "ssa".to_owned(),
        ..history::Release::default()
    }
}

/// Returns the labels of the next record: those that Helm would carry over, and the owner's.
pub(super) fn labels(
    input: &PlanInput,
    release: &Release,
    previous: Option<&Record>,
) -> BTreeMap<String, String> {
    let mut labels = previous.map(|record| history::user_labels(&record.labels)).unwrap_or_default();
    labels.extend(history::labels_for(&input.context, &release.key.namespace));
    labels.remove(history::ON_REMOVE_LABEL);
    let chosen = leave::label_of(release.on_remove);
    labels.extend(chosen.map(|word| (history::ON_REMOVE_LABEL.to_owned(), word.to_owned())));
    labels.remove(history::SEQUENCING_LABEL);
    let sequencing = sequence::label_of(release.sequencing);
    labels.extend(sequencing.map(|word| (history::SEQUENCING_LABEL.to_owned(), word.to_owned())));
    labels.remove(history::LOCK_KIND_LABEL);
    let locks = history::lock_kind_label(input.recovery.lock);
    labels.extend(locks.map(|word| (history::LOCK_KIND_LABEL.to_owned(), word.to_owned())));
    adoption::mark(&mut labels, &input.context, release);
    labels
}

/// Returns the records that a new revision replaces: those that say deployed, and the one that an uninstall left at
/// the end, with the words that Helm puts there (`pkg/action/install.go`, `replaceRelease`).
pub(super) fn superseded(history: &History) -> Vec<Record> {
    let latest = history.latest().map(|latest| latest.release.version);
    let records = history.records().iter().filter_map(|record| match record.release.info.status {
        Status::Deployed => Some(record.clone()),
        Status::Uninstalled if Some(record.release.version) == latest => {
            let mut record = record.clone();
            "superseded by new release".clone_into(&mut record.release.info.description);
            Some(record)
        }
        _ => None,
    });
    records.collect()
}

/// Returns the top-level keys whose values differ. Numbers are compared by value: a record holds every number
/// as a float.
pub fn changed_values(recorded: &Map, desired: &Map) -> Vec<String> {
    let keys: std::collections::BTreeSet<&String> = recorded.keys().chain(desired.keys()).collect();
    let differs = |key: &&String| match (recorded.get(*key), desired.get(*key)) {
        (Some(a), Some(b)) => !same(a, b),
        (None, None) => false,
        _ => true,
    };
    keys.into_iter().filter(differs).cloned().collect()
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b || number(a).zip(number(b)).is_some_and(|(a, b)| a == b),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a record keeps integers as floats, with the same loss")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Uint(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// Tells whether two sets of hooks would do different things. White space around manifests, which differs
/// between Helm's versions, and the results of earlier runs do not count.
pub fn hooks_differ(recorded: &[history::Hook], desired: &[history::Hook]) -> bool {
    let essence = |hook: &history::Hook| {
        let policies: Vec<String> =
            hook.delete_policies.iter().filter(|policy| *policy != "before-hook-creation").cloned().collect();
        (hook.path.clone(), hook.weight, hook.events.clone(), policies, hook.manifest.trim().to_owned())
    };
    let sorted = |hooks: &[history::Hook]| {
        let mut all: Vec<_> = hooks.iter().map(essence).collect();
        all.sort();
        all
    };
    sorted(recorded) != sorted(desired)
}

/// An object of a manifest text, which names a namespace only where the chart wrote one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestId {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ManifestId {
    /// Returns what an object of a manifest is called; nothing if it has no kind or no name.
    pub(super) fn of_object(object: &Json) -> Option<Self> {
        let gvk = GroupVersionKind::new(object["apiVersion"].as_str()?, object["kind"].as_str()?);
        let metadata = &object["metadata"];
        Some(Self {
            group: gvk.group,
            kind: gvk.kind,
            namespace: metadata["namespace"].as_str().map(str::to_owned),
            name: metadata["name"].as_str()?.to_owned(),
        })
    }

    pub(super) fn of_key(key: &ObjectKey) -> Self {
        Self {
            group: key.gvk.group.clone(),
            kind: key.gvk.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }

    /// Returns the key; its namespace is the one that is written, if any.
    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey {
            gvk: GroupVersionKind {
                group: self.group.clone(),
                version: String::new(),
                kind: self.kind.clone(),
            },
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Tells whether both can mean the same object; a namespace that is not written matches any.
    pub(super) fn matches(&self, other: &Self) -> bool {
        let namespace = match (&self.namespace, &other.namespace) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        namespace && self.group == other.group && self.kind == other.kind && self.name == other.name
    }
}

/// Returns the objects of a stored manifest. Documents that are no objects (comments) are passed over.
pub(super) fn manifest_objects(text: &str) -> Vec<(ManifestId, Json)> {
    body::stored_objects(text)
        .into_iter()
        .filter_map(|object| Some((ManifestId::of_object(&object)?, object)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Value)]) -> Map {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn a_number_that_a_record_holds_as_a_float_is_no_change() {
        let recorded = map(&[("replicas", Value::Float(2.0)), ("a", Value::from("x"))]);
        let desired = map(&[("replicas", Value::Int(2)), ("a", Value::from("y")), ("b", Value::Null)]);
        assert_eq!(changed_values(&recorded, &desired), ["a", "b"]);
    }

    #[test]
    fn an_unwritten_namespace_matches_any() {
        let id = |namespace: Option<&str>| ManifestId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "a".to_owned(),
        };
        assert!(id(None).matches(&id(Some("x"))));
        assert!(!id(Some("y")).matches(&id(Some("x"))));
    }
}
