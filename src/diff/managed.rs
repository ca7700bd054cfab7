//! Who owns the fields of an object. Source: Kubernetes server-side apply.

use std::fmt;

use serde_json::Value as Json;

use super::fieldset::{FieldSet, element, resolve};
use super::path::FieldPath;

/// How an owner wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

/// The owner named by an entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The field manager.
    pub manager: String,
    /// How it wrote.
    pub operation: Operation,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: String,
    /// The API version it wrote in.
    pub api_version: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.manager)?;
        if !self.subresource.is_empty() {
            write!(f, " (by {})", self.subresource)?;
        }
        Ok(())
    }
}

/// One entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedEntry {
    /// Whose fields.
    pub owner: Owner,
    /// When it wrote last, as the server has it; empty where it has none.
    pub time: String,
    /// Which fields.
    pub fields: FieldSet,
}

/// Returns the entries of an object's `managedFields`.
pub fn managed_entries(object: &Json) -> Vec<ManagedEntry> {
    raw_entries(object)
        .iter()
        .map(|entry| ManagedEntry {
            owner: owner(entry),
            time: entry["time"].as_str().unwrap_or_default().to_owned(),
            fields: FieldSet::parse(&entry["fieldsV1"]),
        })
        .collect()
}

/// Returns the fields that `manager` applied to the object, or nothing if it never applied it.
pub fn applied_fields(object: &Json, manager: &str) -> Option<FieldSet> {
    raw_entries(object)
        .iter()
        .find(|entry| is_ours(&owner(entry), manager, Operation::Apply))
        .map(|entry| FieldSet::parse(&entry["fieldsV1"]))
}

/// Tells whether a map or list that was applied empty is not there afterwards. Where the apply took all members away, the
/// server takes the map along, and sets the empty one only when it is applied once more (measured on Kubernetes 1.36: a
/// container's `securityContext`, the `selector` of a PodDisruptionBudget).
pub fn lost_an_empty(sent: &Json, stored: &Json, manager: &str) -> bool {
    let is_empty = |json: &Json| match json {
        Json::Object(members) => members.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    let owned = applied_fields(stored, manager).map(|fields| fields.leaves()).unwrap_or_default();
    owned.iter().any(|path| path.find(sent).is_some_and(is_empty) && path.find(stored).is_none())
}

pub(super) fn raw_entries(object: &Json) -> &[Json] {
    object.pointer("/metadata/managedFields").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn owner(entry: &Json) -> Owner {
    let text = |key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    Owner {
        manager: text("manager"),
        operation: if text("operation") == "Apply" { Operation::Apply } else { Operation::Update },
        subresource: text("subresource"),
        api_version: text("apiVersion"),
    }
}

pub(super) fn is_ours(owner: &Owner, manager: &str, operation: Operation) -> bool {
    owner.manager == manager && owner.operation == operation && owner.subresource.is_empty()
}

/// How the fields somebody applied compare with a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnershipGap {
    /// Fields of the manifest that are not owned: applying it adds them.
    pub missing: Vec<FieldPath>,
    /// Owned fields that the manifest does not have: applying it removes them, unless others own them too.
    pub extra: Vec<FieldPath>,
}

impl OwnershipGap {
    /// Tells whether exactly the fields of the manifest are owned.
    pub fn is_exact(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }
}

/// Compares a set of owned fields with the fields of a manifest.
///
/// Without the schema an owned list or map without owned members counts as owned whole (the server calls it
/// atomic).
pub fn ownership_gap(owned: &FieldSet, desired: &Json) -> OwnershipGap {
    let mut gap = OwnershipGap::default();
    let root = FieldPath::default();
    missing(owned, &identity_removed(desired), &root, &mut gap.missing);
    extra(owned, desired, &root, &mut gap.extra);
    gap
}

/// Removes what identifies an object: it is never owned, nor is `status`, which a main resource ignores.
fn identity_removed(desired: &Json) -> Json {
    let mut desired = desired.clone();
    super::strip_server_fields(&mut desired);
    if let Some(members) = desired.as_object_mut() {
        members.remove("apiVersion");
        members.remove("kind");
        if let Some(metadata) = members.get_mut("metadata").and_then(Json::as_object_mut) {
            for key in ["name", "namespace", "generateName"] {
                metadata.remove(key);
            }
        }
        if members.get("metadata").and_then(Json::as_object).is_some_and(serde_json::Map::is_empty) {
            members.remove("metadata");
        }
    }
    desired
}

fn missing(owned: &FieldSet, desired: &Json, path: &FieldPath, found: &mut Vec<FieldPath>) {
    if owned.is_leaf() {
        return;
    }
    match desired {
        Json::Object(members) if owned.has_members() || path.0.is_empty() => {
            for (key, value) in members {
                let path = path.key(key);
                match owned.field(key) {
                    Some(child) => missing(child, value, &path, found),
                    None => found.push(path),
                }
            }
        }
        Json::Array(items) if owned.has_members() => {
            for (index, item) in items.iter().enumerate() {
                // Found by going the other way: which element of the set means this item?
                let child = owned.children().find(|(name, _)| {
                    resolve(desired, name).is_some_and(|resolved| std::ptr::eq(resolved, item))
                });
                match child {
                    Some((name, child)) => missing(child, item, &path.join(element(name)), found),
                    None => found.push(path.join(super::path::Step::Index(index))),
                }
            }
        }
        // The kind of value changes; what is owned below goes, and the value itself is new.
        _ => found.push(path.clone()),
    }
}

fn extra(owned: &FieldSet, desired: &Json, path: &FieldPath, found: &mut Vec<FieldPath>) {
    for (name, child) in owned.children() {
        let path = path.join(element(name));
        match resolve(desired, name) {
            Some(value) => extra(child, value, &path, found),
            None => found.push(path),
        }
    }
}

/// A field of a manifest that somebody else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignField {
    /// The field.
    pub path: FieldPath,
    /// Its other owner.
    pub owner: Owner,
    /// The live value is the one of the manifest: no conflict, both will own it.
    pub equal: bool,
}

/// Returns the fields of `desired` that others than `manager` own in the live object. Those that are not equal
/// are what the server calls conflicts.
///
/// Values are compared as text, as the server does here: `1000m` and `1` conflict.
pub fn foreign_fields(live: &Json, desired: &Json, manager: &str) -> Vec<ForeignField> {
    let entries = managed_entries(live);
    let desired = identity_removed(desired);
    let mut found = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let ours = entry.owner.manager == manager && entry.owner.subresource.is_empty();
        if ours {
            continue;
        }
        let others: Vec<&FieldSet> = entries
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, other)| &other.fields)
            .collect();
        let search = Search { owner: &entry.owner, others: &others };
        search.walk(&entry.fields, &mut Vec::new(), (live, &desired), &FieldPath::default(), &mut found);
    }
    found
}

struct Search<'a> {
    owner: &'a Owner,
    others: &'a [&'a FieldSet],
}

impl Search<'_> {
    fn walk<'s>(
        &self,
        owned: &'s FieldSet,
        names: &mut Vec<&'s str>,
        (live, desired): (&Json, &Json),
        path: &FieldPath,
        found: &mut Vec<ForeignField>,
    ) {
        for (name, child) in owned.children() {
            let Some(wanted) = resolve(desired, name) else { continue };
            let current = resolve(live, name).unwrap_or(&Json::Null);
            let path = path.join(element(name));
            names.push(name);
            // A map or list whose members somebody else owns is not atomic; owning the bare map is no claim on
            // what is in it.
            let granular =
                || self.others.iter().any(|set| set.below(names).is_some_and(FieldSet::has_members));
            if child.is_leaf() && !granular() {
                found.push(ForeignField { path, owner: self.owner.clone(), equal: same(current, wanted) });
            } else {
                self.walk(child, names, (current, wanted), &path, found);
            }
            names.pop();
        }
    }
}

/// Equality of JSON in which `2` and `2.0` are the same number.
pub(super) fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (a, b) => a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Json) -> Json {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
    }

    fn object(entries: &[Json]) -> Json {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "resourceVersion": "7", "managedFields": entries}})
    }

    fn gap(owned: Json, desired: Json) -> (Vec<String>, Vec<String>) {
        let gap = ownership_gap(&FieldSet::parse(&owned), &desired);
        let names = |paths: &[FieldPath]| paths.iter().map(ToString::to_string).collect::<Vec<String>>();
        assert_eq!(gap.is_exact(), gap.missing.is_empty() && gap.extra.is_empty());
        (names(&gap.missing), names(&gap.extra))
    }

    #[test]
    fn owned_fields_are_compared_with_a_manifest() {
        let owned = json!({
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:spec": {"f:containers": {
                "k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}, "f:command": {}, "f:ports": {
                    "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}},
        });
        let desired = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n", "labels": {"a": "1"}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "1"}}, "template": {"spec": {"containers": [
                {"name": "c", "image": "x", "command": ["a", "b"], "ports": [{"containerPort": 80}]}]}}},
        });
        assert_eq!(gap(owned.clone(), desired.clone()), (vec![], vec![]));
        let change = |pointer: &str, value: Json| {
            let mut desired = desired.clone();
            *desired.pointer_mut(pointer).unwrap() = value;
            gap(owned.clone(), desired)
        };
        let container = "/spec/template/spec/containers";
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            change("/spec", json!({"selector": {}, "paused": true, "template": desired["spec"]["template"]})),
            (named(&["spec.paused"]), named(&["spec.replicas"]))
        );
        assert_eq!(
            change(
                container,
                json!([{"name": "c", "image": "x", "command": [], "ports": [{"containerPort": 81}]}, {"name": "e"}])
            ),
            (
                named(&[
                    "spec.template.spec.containers[name=c].ports[0]",
                    "spec.template.spec.containers[1]"
                ]),
                named(&["spec.template.spec.containers[name=c].ports[containerPort=80,protocol=TCP]"])
            )
        );
        assert_eq!(change("/metadata", json!({"name": "d"})), (vec![], named(&["metadata.labels"])));
        assert_eq!(
            change(container, json!("text")),
            (named(&["spec.template.spec.containers"]), named(&["spec.template.spec.containers[name=c]"]))
        );
        assert_eq!(
            gap(json!({}), json!({"kind": "X", "metadata": {"name": "x"}, "data": {"a": "b"}})),
            (named(&["data"]), vec![])
        );
        let finalizers = json!({"f:metadata": {"f:finalizers": {"v:\"a\"": {}}}});
        assert_eq!(gap(finalizers.clone(), json!({"metadata": {"finalizers": ["a"]}})), (vec![], vec![]));
        assert_eq!(
            gap(finalizers, json!({"metadata": {"finalizers": ["b"]}})),
            (named(&["metadata.finalizers[0]"]), named(&["metadata.finalizers[=\"a\"]"]))
        );
    }

    #[test]
    fn foreign_owners_of_desired_fields_are_found() {
        let mut scale = entry("kubectl", "Update", json!({"f:spec": {"f:replicas": {}}}));
        scale["subresource"] = "scale".into();
        let mut status = entry(
            "kube-controller-manager",
            "Update",
            json!({"f:status": {"f:replicas": {}}, "f:metadata": {"f:annotations": {"f:rev": {}}}}),
        );
        status["subresource"] = "status".into();
        let mut live = object(&[
            entry(
                "helm",
                "Apply",
                json!({"f:spec": {"f:paused": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}),
            ),
            entry("helm", "Update", json!({"f:spec": {"f:selector": {}}})),
            entry(
                "kubectl-edit",
                "Update",
                json!({"f:metadata": {"f:labels": {}}, "f:spec": {"f:selector": {}, "f:template": {
                "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}, "f:env": {"k:{\"name\":\"NEW\"}": {".": {}, "f:value": {}}}}}}}}}),
            ),
            scale,
            status,
        ]);
        let spec = |image: &str, replicas: i64| {
            json!({"replicas": replicas, "paused": true, "selector": {"matchLabels": {"a": "1"}},
            "template": {"spec": {"containers": [{"name": "c", "image": image}]}}})
        };
        live["spec"] = spec("live", 5);
        live["metadata"]["labels"] = json!({"a": "1"});
        live["status"] = json!({"replicas": 5});
        let mut desired = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "2"}}});
        desired["spec"] = spec("wanted", 3);
        let told: Vec<String> = foreign_fields(&live, &desired, "helm")
            .iter()
            .map(|field| format!("{} {} {}", field.path, field.owner, field.equal))
            .collect();
        assert_eq!(
            told,
            [
                "spec.selector kubectl-edit true",
                "spec.template.spec.containers[name=c].image kubectl-edit false",
                "spec.replicas kubectl (by scale) false",
            ]
        );
        assert_eq!(applied_fields(&live, "helm").unwrap().leaves().len(), 2);
        assert_eq!(applied_fields(&live, "other"), None);
        assert_eq!(foreign_fields(&json!({}), &desired, "helm"), []);
    }
}
