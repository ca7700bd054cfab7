//! What a user has to be allowed, as data: for one plan, or for all that a file will ever do.
//!
//! Pure: who is allowed what is asked elsewhere. Kinds are turned into the names of resources by whoever knows them.

mod file;
mod kinds;
mod rules;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

pub use file::{FileRelease, of_file};
pub use kinds::built_in;
pub use rules::{Rule, RuleSet};
pub use work::{definitions, of_plan};

use crate::history::Hook;
use crate::lock::Kind as LockKind;
use crate::manifest::Document;
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};

/// A kind as rights name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindName {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, such as `deployments`.
    pub plural: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

/// Tells what kinds are called; nothing for one that is not known. A kind without a version is meant in any group.
pub type Kinds<'a> = &'a dyn Fn(&GroupVersionKind) -> Option<KindName>;

/// One right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The namespace; nothing for the whole cluster.
    pub namespace: Option<String>,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource if it is about one: `pods`, `pods/log`.
    pub resource: String,
    /// The verb.
    pub verb: &'static str,
}

/// What a right is needed for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The names of the objects that it is about.
    pub names: BTreeSet<String>,
    /// Whether it is enough to have it for these names.
    pub limited: bool,
    /// Whether it only makes messages better.
    pub optional: bool,
    /// What for, for people.
    pub why: BTreeSet<String>,
}

/// Rights that a role of a chart gives: who makes a role has to have what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// The namespace; nothing for the whole cluster.
    pub namespace: Option<String>,
    /// The rule as the role states it.
    pub rule: Json,
    /// The role.
    pub why: String,
}

/// Every right that something takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rights {
    /// The rights, each with what it is needed for.
    pub needs: BTreeMap<Right, Need>,
    /// Rules of roles that are made.
    pub granted: Vec<Granted>,
    /// Kinds whose resources are not known.
    pub unknown: BTreeSet<GroupVersionKind>,
}

/// How locks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked<'a> {
    /// What they are made of.
    pub kind: LockKind,
    /// The namespace of the lock of the run.
    pub context: Option<&'a str>,
}

/// What a lock takes. It is removed in the end, or, without that right, marked as free.
const LOCK_VERBS: [&str; 3] = ["get", "create", "update"];

/// A resource, and what a right on it is for.
#[derive(Clone, Copy)]
struct About<'a> {
    namespace: Option<&'a str>,
    group: &'a str,
    resource: &'a str,
    name: &'a str,
    why: &'a str,
}

impl Rights {
    fn add(&mut self, about: About<'_>, verbs: &[&'static str]) {
        self.insert(about, verbs, false, false);
    }

    fn optional(&mut self, about: About<'_>, verbs: &[&'static str]) {
        self.insert(about, verbs, true, false);
    }

    /// Adds rights that are enough for the objects of these names.
    fn limited(&mut self, about: About<'_>, verbs: &[&'static str]) {
        self.insert(about, verbs, false, true);
    }

    fn insert(&mut self, about: About<'_>, verbs: &[&'static str], optional: bool, limited: bool) {
        for verb in verbs {
            let right = Right {
                namespace: about.namespace.map(str::to_owned),
                group: about.group.to_owned(),
                resource: about.resource.to_owned(),
                verb,
            };
            let fresh = Need { limited, optional, ..Need::default() };
            let need = self.needs.entry(right).or_insert(fresh);
            need.optional &= optional;
            need.limited &= limited;
            if !about.name.is_empty() {
                need.names.insert(about.name.to_owned());
            }
            need.why.insert(about.why.to_owned());
        }
    }

    /// Adds rights on an object; its kind may not be known.
    fn object(&mut self, kinds: Kinds<'_>, key: &ObjectKey, verbs: &[&'static str]) {
        let Some(kind) = kinds(&key.gvk) else {
            self.unknown.insert(key.gvk.clone());
            return;
        };
        let why = key.short();
        let about = About {
            namespace: key.namespace.as_deref().filter(|_| kind.namespaced),
            group: &kind.group,
            resource: &kind.plural,
            name: &key.name,
            why: &why,
        };
        self.add(about, verbs);
    }

    fn records(&mut self, release: &ReleaseKey, verbs: &[&'static str]) {
        let why = format!("records of {release}");
        let namespace = Some(release.namespace.as_str());
        self.add(About { namespace, group: "", resource: "secrets", name: "", why: &why }, verbs);
    }

    /// Adds what the history of runs takes. A run without these rights works, and warns.
    pub fn keeps_runs(&mut self, namespace: &str) {
        let why = "the history of runs (`settings.runHistory`)";
        let about = About { namespace: Some(namespace), group: "", resource: "configmaps", name: "", why };
        self.add(about, &["list", "create", "delete"]);
    }

    fn lock(&mut self, kind: LockKind, namespace: &str, why: &str, verbs: &[&'static str]) {
        let (group, resource) = match kind {
            LockKind::Lease => ("coordination.k8s.io", "leases"),
            LockKind::Secret => ("", "secrets"),
        };
        self.add(About { namespace: Some(namespace), group, resource, name: "", why }, verbs);
    }

    /// Adds the right to read an object that values refer to.
    pub fn reads(&mut self, resource: &str, namespace: &str, name: &str) {
        let why = format!("values refer to {name}");
        let about = About { namespace: Some(namespace), group: "", resource, name, why: &why };
        self.limited(about, &["get"]);
    }

    /// Adds the rights of another collection.
    pub fn join(&mut self, other: Rights) {
        for (right, need) in other.needs {
            match self.needs.get_mut(&right) {
                Some(known) => {
                    known.names.extend(need.names);
                    known.why.extend(need.why);
                    known.optional &= need.optional;
                    known.limited &= need.limited;
                }
                None => drop(self.needs.insert(right, need)),
            }
        }
        for granted in other.granted {
            if !self.granted.contains(&granted) {
                self.granted.push(granted);
            }
        }
        self.unknown.extend(other.unknown);
    }
}

/// Returns the object of a hook; nothing where it cannot be read, which is told elsewhere.
fn hook_key(kinds: Kinds<'_>, hook: &Hook, release: &ReleaseKey) -> Option<ObjectKey> {
    let document = Document::parse(&hook.manifest).ok()?;
    super::body::key_of(&document.object, |gvk| is_namespaced(kinds, gvk), &release.namespace)
}

fn is_namespaced(kinds: Kinds<'_>, gvk: &GroupVersionKind) -> bool {
    kinds(gvk).is_none_or(|kind| kind.namespaced)
}

/// Returns the kinds that definitions of custom resources bring along.
pub fn of_definitions<'a>(objects: impl Iterator<Item = &'a Json>) -> BTreeMap<(String, String), KindName> {
    let definitions = objects.filter(|object| object["kind"] == "CustomResourceDefinition");
    let kind = |definition: &Json| {
        let spec = &definition["spec"];
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let name = KindName {
            group: text(&spec["group"])?,
            plural: text(&spec["names"]["plural"])?,
            namespaced: spec["scope"] == "Namespaced",
        };
        Some(((text(&spec["group"])?, text(&spec["names"]["kind"])?), name))
    };
    definitions.filter_map(kind).collect()
}

#[cfg(test)]
mod tests;
