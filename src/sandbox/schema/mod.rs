//! The kinds that the sandbox serves: names, verbs, and the types of their fields.
//!
//! What is built in comes from a real API server (`scripts/sandbox-schema` writes the data); kinds of one's own come from
//! their CustomResourceDefinition. Nothing here knows a kind by its name.

mod custom;
mod decode;
mod openapi;
mod quantity;
mod types;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value;

pub use decode::undecodable;
pub use types::{ListKind, Scalar, Shape, Type};

static DATA: &[u8] = include_bytes!("../data/kubernetes.txt.gz");

/// A kind as discovery tells it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// Such as `deployments`.
    pub plural: String,
    /// Such as `deployment`.
    pub singular: String,
    /// Such as `deploy`.
    pub short_names: Vec<String>,
    /// Such as `all`.
    pub categories: Vec<String>,
    /// Such as `get`.
    pub verbs: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// In the order of discovery.
    pub subresources: Vec<Subresource>,
}

/// A part of a kind with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Subresource {
    /// Such as `status`.
    pub name: String,
    /// The group of what it answers with.
    pub group: String,
    /// The version of what it answers with.
    pub version: String,
    /// The kind of what it answers with.
    pub kind: String,
    /// Such as `patch`.
    pub verbs: Vec<String>,
}

impl Resource {
    /// Returns `group/version`, or the version alone for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Tells whether there is a subresource of this name.
    #[must_use]
    pub fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|one| one.name == subresource)
    }
}

pub(super) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Splits an apiVersion into group and version.
pub(super) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// A schema that is read when it is first asked for.
struct Definition {
    text: &'static str,
    parsed: OnceLock<Value>,
}

/// What the data file holds.
struct Builtin {
    resources: Vec<Arc<Resource>>,
    definitions: BTreeMap<&'static str, Definition>,
    /// The definition of each `apiVersion` and kind.
    kinds: BTreeMap<(String, String), &'static str>,
}

impl Builtin {
    fn get() -> &'static Self {
        static BUILTIN: OnceLock<Builtin> = OnceLock::new();
        BUILTIN.get_or_init(Self::read)
    }

    /// Reads the data. It is part of the program, so what cannot be read is left out, and a test reads all of it.
    fn read() -> Self {
        let mut text = String::new();
        let read = flate2::read::GzDecoder::new(DATA).read_to_string(&mut text);
        let text: &'static str = if read.is_ok() { Box::leak(text.into_boxed_str()) } else { "" };
        let (first, rest) = text.split_once('\n').unwrap_or(("[]", ""));
        let resources: Vec<Resource> = serde_json::from_str(first).unwrap_or_default();
        let mut definitions = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        for (name, text) in rest.lines().filter_map(|line| line.split_once('\t')) {
            definitions.insert(name, Definition { text, parsed: OnceLock::new() });
            for (group, version, kind) in kinds_of(text) {
                kinds.entry((api_version(&group, &version), kind)).or_insert(name);
            }
        }
        Self { resources: resources.into_iter().map(Arc::new).collect(), definitions, kinds }
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        let found = self.definitions.get(name)?;
        Some(found.parsed.get_or_init(|| serde_json::from_str(found.text).unwrap_or_default()))
    }
}

/// The kinds that a schema says it is for, without reading all of it.
fn kinds_of(text: &str) -> Vec<(String, String, String)> {
    #[derive(Deserialize)]
    struct Kind {
        group: String,
        version: String,
        kind: String,
    }
    let list = text
        .split_once("\"x-kubernetes-group-version-kind\":")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(list, _)| format!("{list}]"));
    let kinds: Vec<Kind> = list.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
    kinds.into_iter().map(|kind| (kind.group, kind.version, kind.kind)).collect()
}

/// The kinds that are served: those built in, and those that CustomResourceDefinitions added. Cheap to clone.
#[derive(Clone)]
pub struct Types(Arc<Served>);

#[derive(Clone)]
struct Served {
    resources: Vec<Arc<Resource>>,
    /// Schemas of custom kinds by apiVersion and kind.
    custom: BTreeMap<(String, String), Arc<Value>>,
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Types").field("resources", &self.0.resources.len()).finish_non_exhaustive()
    }
}

impl Types {
    /// Returns the kinds of Kubernetes 1.36.
    #[must_use]
    pub fn builtin() -> Self {
        let resources = Builtin::get().resources.clone();
        Self(Arc::new(Served { resources, custom: BTreeMap::new() }))
    }

    /// Returns all kinds in the order of discovery.
    #[must_use]
    pub fn resources(&self) -> &[Arc<Resource>] {
        &self.0.resources
    }

    /// Returns the resource of an apiVersion and kind.
    #[must_use]
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = group_version(api_version);
        self.0.resources.iter().find(|one| one.group == group && one.version == version && one.kind == kind)
    }

    /// Returns the type of an apiVersion and kind.
    #[must_use]
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<Type<'_>> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(schema) = self.0.custom.get(&key) {
            return Some(Type::of(schema, false));
        }
        let name = Builtin::get().kinds.get(&key)?;
        Some(Type::named(name))
    }

    /// Returns the type of an object, by its own apiVersion and kind.
    #[must_use]
    pub fn of(&self, object: &Value) -> Option<Type<'_>> {
        self.of_kind(object["apiVersion"].as_str()?, object["kind"].as_str()?)
    }

    /// Tells whether an object is of a kind that a CustomResourceDefinition made.
    #[must_use]
    pub fn is_custom(&self, object: &Value) -> bool {
        let word = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        self.0.custom.contains_key(&(word("apiVersion"), word("kind")))
    }
}
