//! What is done with namespaces: made, labelled, and their LimitRange and ResourceQuota kept as the file says.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::input::{ObservedNamespace, ObservedSpaceObject, PlanInput, SpaceKind};
use super::{Action, Operation, ReleasePlan};

/// The annotation of a namespace that tells which of its objects the file once asked for: what the file no longer
/// names is looked for only there.
pub const SPACE_MARK: &str = "statectl.io/namespace-objects";
/// What marks an object as made, or taken over, by us.
const OWNER_LABEL: &str = "app.kubernetes.io/managed-by";
const OWNER: &str = "statectl";
/// The server sets it, and nobody can remove it.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A namespace that is made or changed before anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePlan {
    /// Its name.
    pub name: String,
    /// Whether it does not exist yet.
    pub is_new: bool,
    /// The object to apply; nothing where its labels and annotations are as they should be.
    pub body: Option<Json>,
    /// Labels of others that go, and the uid of the namespace that has them.
    pub labels_removed: Option<LabelsRemoved>,
    /// Its objects that are made, changed or removed.
    pub objects: Vec<SpaceObjectPlan>,
    /// What changes, for people: one line each.
    pub changes: Vec<String>,
    /// Why it cannot be made so: then neither it nor a release in it is touched.
    pub refused: Option<String>,
}

/// Labels that go because the file has the say over all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelsRemoved {
    /// The namespace that has them.
    pub uid: String,
    /// Their keys.
    pub keys: Vec<String>,
}

/// An object of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceObjectPlan {
    /// What it is.
    pub kind: SpaceKind,
    /// What is done with it.
    pub change: SpaceChange,
}

/// What is done with an object of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpaceChange {
    /// It is made.
    Create(Json),
    /// It is replaced in place; the body carries the resource version that was looked at.
    Replace(Json),
    /// The one with this uid is removed: the file no longer asks for it, and it is marked as ours.
    Delete {
        /// Its uid.
        uid: String,
    },
}

/// Returns the object to send: the live one with another spec, so that nothing else of it is lost.
pub fn space_object(kind: SpaceKind, namespace: &str, spec: &Json, live: Option<&Json>) -> Json {
    let mut object = live.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1",
            "kind": kind.kind(),
            "metadata": { "name": kind.name(), "namespace": namespace },
        })
    });
    object["metadata"]["labels"][OWNER_LABEL] = json!(OWNER);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    object["spec"] = spec.clone();
    object
}

/// Namespaces that have to be made because a release goes there, and declared ones that are not as the file says.
pub(super) fn namespaces(input: &PlanInput, releases: &[ReleasePlan]) -> Vec<NamespacePlan> {
    if input.operation != Operation::Reconcile {
        return Vec::new();
    }
    let used: BTreeSet<&str> = releases
        .iter()
        .filter(|plan| plan.action.is_change() && plan.action != Action::Uninstall)
        .map(|plan| plan.key.namespace.as_str())
        .collect();
    let mut plans: Vec<NamespacePlan> = input
        .namespaces
        .iter()
        .filter(|namespace| namespace.exists || used.contains(namespace.name.as_str()))
        .filter_map(namespace)
        .collect();
    plans.sort_by(|a, b| a.name.cmp(&b.name));
    plans
}

fn namespace(space: &ObservedNamespace) -> Option<NamespacePlan> {
    let mut annotations = space.annotations.clone();
    let wanted: Vec<&str> = space
        .objects
        .iter()
        .filter(|object| object.spec.is_some())
        .map(|object| object.kind.name())
        .collect();
    if !wanted.is_empty() {
        annotations.insert(SPACE_MARK.to_owned(), wanted.join(" "));
    }
    let mut changes = Vec::new();
    let labels =
        [("label", &space.labels, &space.live_labels), ("annotation", &annotations, &space.live_annotations)];
    for (what, wanted, live) in labels {
        for (key, value) in wanted.iter().filter(|(key, _)| *key != SPACE_MARK) {
            match live.get(key) {
                Some(found) if found == value => {}
                Some(found) if space.exists => changes.push(format!("{what} {key}: {found} → {value}")),
                _ => changes.push(format!("{what} {key}: {value}")),
            }
        }
    }
    let lacks_mark = annotations.get(SPACE_MARK) != space.live_annotations.get(SPACE_MARK);
    for key in &space.owned {
        let (part, key) = key.split_once('/').unwrap_or_default();
        let is_wanted =
            if part == "labels" { space.labels.contains_key(key) } else { annotations.contains_key(key) };
        if !is_wanted && key != SPACE_MARK {
            changes.push(format!("{} {key} goes", part.trim_end_matches('s')));
        }
    }
    let needs_body = !space.exists || !changes.is_empty() || (lacks_mark && !space.objects.is_empty());
    let labels_removed = labels_removed(space);
    changes.extend(
        labels_removed.iter().flat_map(|removed| &removed.keys).map(|key| format!("label {key} goes")),
    );
    let mut objects = Vec::new();
    let mut refused = None;
    for object in &space.objects {
        match decided(space, object) {
            Ok(None) => {}
            Ok(Some(change)) => {
                let verb = match &change {
                    SpaceChange::Create(_) => "is made",
                    SpaceChange::Replace(_) => "changes",
                    SpaceChange::Delete { .. } => "goes: the file no longer asks for it",
                };
                changes.push(format!("{} {} {verb}", object.kind.kind(), object.kind.name()));
                objects.push(SpaceObjectPlan { kind: object.kind, change });
            }
            Err(why) => refused = Some(format!("{} {}: {why}", object.kind.kind(), object.kind.name())),
        }
    }
    changes.sort();
    changes.dedup();
    let is_changed = needs_body || labels_removed.is_some() || !objects.is_empty() || refused.is_some();
    is_changed.then(|| NamespacePlan {
        name: space.name.clone(),
        is_new: !space.exists,
        body: needs_body.then(|| {
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": { "name": space.name, "labels": space.labels, "annotations": annotations },
            })
        }),
        labels_removed,
        objects,
        changes,
        refused,
    })
}

/// With authoritative labels everything goes that the file does not name.
fn labels_removed(space: &ObservedNamespace) -> Option<LabelsRemoved> {
    let uid = space.uid.clone().filter(|_| space.authoritative)?;
    let ours: BTreeSet<&str> = space.owned.iter().filter_map(|key| key.strip_prefix("labels/")).collect();
    let goes = |key: &&String| {
        *key != NAME_LABEL && !space.labels.contains_key(*key) && !ours.contains(key.as_str())
    };
    let keys: Vec<String> = space.live_labels.keys().filter(goes).cloned().collect();
    (!keys.is_empty()).then_some(LabelsRemoved { uid, keys })
}

fn decided(space: &ObservedNamespace, object: &ObservedSpaceObject) -> Result<Option<SpaceChange>, String> {
    let answer = match &object.answer {
        Some(Err(why)) => return Err(why.clone()),
        Some(Ok(spec)) => Some(spec),
        None => None,
    };
    let labels: &Json = object.live.as_ref().map_or(&Json::Null, |live| &live["metadata"]["labels"]);
    let owner = labels[OWNER_LABEL].as_str();
    match (&object.spec, &object.live) {
        (Some(spec), None) => {
            Ok(Some(SpaceChange::Create(space_object(object.kind, &space.name, spec, None))))
        }
        (Some(_), Some(live)) if answer == Some(&live["spec"]) => Ok(None),
        // Helmsman's objects carry no owner; those of other deployers do.
        (Some(_), Some(_)) if owner.is_some_and(|owner| owner != OWNER) => Err(format!(
            "it belongs to `{}`; drop it from the file, or let the other one give it up",
            owner.unwrap_or_default()
        )),
        (Some(spec), Some(live)) => {
            Ok(Some(SpaceChange::Replace(space_object(object.kind, &space.name, spec, Some(live)))))
        }
        (None, Some(live)) if owner == Some(OWNER) => match live["metadata"]["uid"].as_str() {
            Some(uid) => Ok(Some(SpaceChange::Delete { uid: uid.to_owned() })),
            None => Err("it has no uid".to_owned()),
        },
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn space() -> ObservedNamespace {
        ObservedNamespace {
            name: "shop".to_owned(),
            exists: true,
            uid: Some("u".to_owned()),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            live_labels: texts(&[(NAME_LABEL, "shop")]),
            live_annotations: BTreeMap::new(),
            owned: Vec::new(),
            authoritative: false,
            objects: Vec::new(),
        }
    }

    fn quota(
        spec: Option<Json>,
        live: Option<Json>,
        answer: Option<Result<Json, String>>,
    ) -> ObservedNamespace {
        let objects = vec![ObservedSpaceObject { kind: SpaceKind::ResourceQuota, spec, live, answer }];
        ObservedNamespace { objects, ..space() }
    }

    fn check(space: &ObservedNamespace, expected: &[&str]) {
        let plan = namespace(space);
        let changes = plan.map(|plan| plan.changes.into_iter().chain(plan.refused).collect::<Vec<_>>());
        assert_eq!(changes.unwrap_or_default(), expected);
    }

    #[test]
    fn labels_become_what_the_file_says_and_others_stay() {
        check(&space(), &[]);
        let mut labelled = ObservedNamespace { labels: texts(&[("env", "prod")]), ..space() };
        check(&labelled, &["label env: prod"]);
        labelled.live_labels.insert("env".to_owned(), "test".to_owned());
        labelled.live_labels.insert("mesh".to_owned(), "on".to_owned());
        check(&labelled, &["label env: test → prod"]);
        labelled.live_labels.insert("env".to_owned(), "prod".to_owned());
        check(&labelled, &[]);
        labelled.owned = vec!["labels/env".to_owned(), "labels/old".to_owned(), "annotations/a".to_owned()];
        check(&labelled, &["annotation a goes", "label old goes"]);
    }

    #[test]
    fn authoritative_labels_take_away_all_others_but_the_name() {
        let mut space = ObservedNamespace { authoritative: true, ..space() };
        check(&space, &[]);
        space.live_labels.insert("mesh".to_owned(), "on".to_owned());
        check(&space, &["label mesh goes"]);
        // Without a uid nothing is known of the labels.
        space.uid = None;
        check(&space, &[]);
    }

    #[test]
    fn objects_of_a_namespace_are_made_changed_and_removed_only_if_ours() {
        let spec = json!({"hard": {"pods": "1000m"}});
        let live = |owner: &str| json!({"metadata": {"uid": "u", "labels": {OWNER_LABEL: owner}}, "spec": {"hard": {"pods": "1"}}});
        let same = Some(Ok(json!({"hard": {"pods": "1"}})));
        let other = Some(Ok(json!({"hard": {"pods": "2"}})));
        let name = "ResourceQuota resource-quota";
        check(&quota(Some(spec.clone()), None, None), &[&format!("{name} is made")]);
        let mut marked = quota(Some(spec.clone()), Some(live(OWNER)), same);
        marked.live_annotations = texts(&[(SPACE_MARK, "resource-quota")]);
        check(&marked, &[]);
        check(&quota(Some(spec.clone()), Some(live(OWNER)), other.clone()), &[&format!("{name} changes")]);
        check(
            &quota(Some(spec.clone()), Some(live("argocd")), other),
            &[&format!(
                "{name}: it belongs to `argocd`; drop it from the file, or let the other one give it up"
            )],
        );
        check(
            &quota(None, Some(live(OWNER)), None),
            &[&format!("{name} goes: the file no longer asks for it")],
        );
        check(&quota(None, Some(live("argocd")), None), &[]);
        check(&quota(None, Some(json!({"metadata": {"uid": "u"}})), None), &[]);
        check(&quota(None, None, None), &[]);
        check(&quota(Some(spec), None, Some(Err("no".to_owned()))), &[&format!("{name}: no")]);
    }

    /// Each way in which a plan could take more than it should is found by the independent look.
    #[test]
    fn the_check_finds_every_namespace_plan_that_takes_too_much() {
        let good = |space: ObservedNamespace| namespace(&space).unwrap();
        let live = |labels: &[(&str, &str)]| ObservedNamespace {
            live_labels: texts(labels),
            authoritative: true,
            ..space()
        };
        let spec = json!({"hard": {"pods": "1"}});
        let found = json!({"kind": "ResourceQuota", "metadata": {"name": "resource-quota", "uid": "u", "resourceVersion": "7",
            "labels": {OWNER_LABEL: OWNER}}, "spec": {"hard": {"pods": "2"}}});
        let removed = good(live(&[("mesh", "on")]));
        let deleted = good(quota(None, Some(found.clone()), None));
        let replaced = good(quota(Some(spec.clone()), Some(found), Some(Ok(spec))));
        let mut mutations: Vec<(NamespacePlan, &str)> = Vec::new();
        for plan in [&removed, &deleted, &replaced] {
            assert_eq!(findings(plan.clone()), [""; 0]);
        }
        let mut name = removed.clone();
        name.labels_removed.as_mut().unwrap().keys.push(NAME_LABEL.to_owned());
        mutations.push((name, "it loses its name"));
        let mut nobody = removed.clone();
        nobody.labels_removed.as_mut().unwrap().uid.clear();
        mutations.push((nobody, "labels go from a namespace of unknown uid"));
        let mut blind = deleted;
        blind.objects[0].change = SpaceChange::Delete { uid: String::new() };
        mutations.push((blind, "resource-quota is removed without a uid"));
        let body = |change: &SpaceChange| match change {
            SpaceChange::Replace(body) | SpaceChange::Create(body) => body.clone(),
            SpaceChange::Delete { .. } => Json::Null,
        };
        let mut stale = replaced.clone();
        let mut other = body(&stale.objects[0].change);
        other["metadata"]["resourceVersion"] = Json::Null;
        stale.objects[0].change = SpaceChange::Replace(other.clone());
        mutations.push((stale, "resource-quota is replaced, whatever it has become"));
        let mut wrong = replaced;
        other["metadata"]["name"] = json!("theirs");
        wrong.objects[0].change = SpaceChange::Create(other);
        mutations.push((wrong, "another object than resource-quota is made"));
        let new = NamespacePlan { is_new: true, ..removed };
        mutations.push((new, "it is new and is not made"));
        for (plan, expected) in mutations {
            assert_eq!(findings(plan), [format!("namespace shop: {expected}")]);
        }
    }

    fn findings(namespace: NamespacePlan) -> Vec<String> {
        crate::plan::check::check(&crate::plan::Plan {
            cluster: crate::model::ClusterIdentity::default(),
            context: "ours".to_owned(),
            namespaces: vec![namespace],
            releases: Vec::new(),
            batches: Vec::new(),
            turns: Vec::new(),
            notes: Vec::new(),
            lock_place: None,
        })
    }
}
