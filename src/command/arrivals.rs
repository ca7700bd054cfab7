//! What arrives in a run: kinds, namespaces and roles that objects of the same run rest on.
//!
//! The server's dry run knows nothing of them yet. An object that it refuses for want of one is checked when it is
//! applied, after what it rests on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::content::Rendered;
use crate::diff::{self, Verdict};
use crate::model::{GroupVersionKind, ObjectKey};
use crate::plan::{ObservedObject, ServerAnswer};

/// Everything that the charts of a run bring along.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// (group, kind) of custom resource definitions, and whether objects live in namespaces.
    kinds: BTreeMap<(String, String), bool>,
    /// The definitions, by the same.
    definitions: BTreeMap<(String, String), Json>,
    namespaces: BTreeSet<String>,
    /// (kind, name) of roles.
    roles: BTreeSet<(String, String)>,
}

impl Arrivals {
    /// Collects what the releases of a run bring along.
    pub(super) fn of<'a>(rendered: impl Iterator<Item = &'a Rendered>) -> Self {
        let mut arrivals = Self::default();
        for object in rendered.flat_map(|rendered| rendered.crds.iter().chain(&rendered.objects)) {
            arrivals.add(object);
        }
        arrivals
    }

    fn add(&mut self, object: &Json) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match object["kind"].as_str() {
            Some("CustomResourceDefinition") => {
                let spec = &object["spec"];
                if let (Some(group), Some(kind)) = (spec["group"].as_str(), spec["names"]["kind"].as_str()) {
                    let namespaced = spec["scope"].as_str() != Some("Cluster");
                    let kind = (group.to_owned(), kind.to_owned());
                    self.kinds.insert(kind.clone(), namespaced);
                    self.definitions.insert(kind, object.clone());
                }
            }
            Some("Namespace") => drop(self.namespaces.insert(name)),
            Some(kind @ ("Role" | "ClusterRole")) => drop(self.roles.insert((kind.to_owned(), name))),
            _ => {}
        }
    }

    /// Tells whether the definition of a kind is part of the run.
    pub(super) fn has_kind(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.contains_key(&(gvk.group.clone(), gvk.kind.clone()))
    }

    /// Tells whether objects of an arriving kind live in namespaces; most do.
    pub(super) fn is_namespaced(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.get(&(gvk.group.clone(), gvk.kind.clone())).copied().unwrap_or(true)
    }

    /// Returns the observation of an object, as one to be checked later if it was refused for want of something
    /// that the run brings along. What the definition that arrives says against it is known already.
    pub(super) fn wait_for(&self, object: ObservedObject) -> ObservedObject {
        let object = self.put_off(object);
        if !matches!(object.answer, ServerAnswer::Later { .. }) {
            return object;
        }
        let gvk = &object.key.gvk;
        let definition = self.definitions.get(&(gvk.group.clone(), gvk.kind.clone()));
        let schema = definition.and_then(|definition| diff::schema_of(definition, &gvk.version));
        let problems = schema.map(|schema| diff::check_schema(schema, &object.body)).unwrap_or_default();
        if problems.is_empty() {
            return object;
        }
        let verdict = Verdict::Invalid { problems };
        ObservedObject { answer: ServerAnswer::Refused { verdict }, ..object }
    }

    fn put_off(&self, object: ObservedObject) -> ObservedObject {
        let ServerAnswer::Refused { verdict } = &object.answer else { return object };
        match self.missing(&object.key, &object.body, verdict) {
            Some(arrives) => ObservedObject { answer: ServerAnswer::Later { arrives }, ..object },
            None => object,
        }
    }

    fn missing(&self, key: &ObjectKey, body: &Json, verdict: &Verdict) -> Option<String> {
        match verdict {
            Verdict::NamespaceMissing => {
                let namespace =
                    key.namespace.as_ref().filter(|namespace| self.namespaces.contains(*namespace))?;
                Some(format!("namespace {namespace}"))
            }
            // A field that only the new version of the definition has.
            Verdict::TypedMerge { .. } if self.has_kind(&key.gvk) => {
                Some(format!("the CustomResourceDefinition of {}", key.gvk.kind))
            }
            // Whoever may not grant rights freely is asked for the role itself, which is not there yet.
            Verdict::Forbidden { .. } | Verdict::Other { .. } if key.gvk.kind.ends_with("RoleBinding") => {
                let (kind, name) = (body["roleRef"]["kind"].as_str()?, body["roleRef"]["name"].as_str()?);
                let arrives = self.roles.contains(&(kind.to_owned(), name.to_owned()));
                arrives.then(|| format!("{kind} {name}"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_for_want_of_what_arrives_is_put_off_and_no_other() {
        let mut arrivals = Arrivals::default();
        arrivals.add(&json!({"kind": "Namespace", "metadata": {"name": "in"}}));
        arrivals.add(&json!({"kind": "Role", "metadata": {"name": "r"}}));
        arrivals.add(&json!({"kind": "CustomResourceDefinition",
            "spec": {"group": "g.io", "scope": "Cluster", "names": {"kind": "K"}}}));
        let key = |api_version: &str, kind: &str, namespace: &str| ObjectKey {
            gvk: GroupVersionKind::new(api_version, kind),
            namespace: Some(namespace.to_owned()),
            name: "a".to_owned(),
        };
        let typed = Verdict::TypedMerge { message: String::new() };
        let other = Verdict::Other { message: String::new() };
        let binding = json!({"roleRef": {"kind": "Role", "name": "r"}});
        let foreign = json!({"roleRef": {"kind": "Role", "name": "s"}});
        let rbac = "rbac.authorization.k8s.io/v1";
        for (key, body, verdict, put_off) in [
            (key("v1", "ConfigMap", "in"), &Json::Null, &Verdict::NamespaceMissing, true),
            (key("v1", "ConfigMap", "out"), &Json::Null, &Verdict::NamespaceMissing, false),
            (key("g.io/v1", "K", "x"), &Json::Null, &typed, true),
            (key("v1", "ConfigMap", "x"), &Json::Null, &typed, false),
            (key(rbac, "RoleBinding", "x"), &binding, &other, true),
            (key(rbac, "RoleBinding", "x"), &foreign, &other, false),
        ] {
            assert_eq!(arrivals.missing(&key, body, verdict).is_some(), put_off, "{key}");
        }
        assert!(!arrivals.is_namespaced(&GroupVersionKind::new("g.io/v1", "K")));
    }
}
