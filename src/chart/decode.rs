//! Reading of statements from a YAML document the way Helm's Go structs do it.
//!
//! Helm turns YAML into JSON and that into structs (sigs.k8s.io/yaml, Go `encoding/json`): keys match
//! whatever their case, unknown keys are ignored, null changes nothing, scalars become text where text is
//! wanted. Errors have the words of Go 1.26.

use std::collections::BTreeMap;

use super::metadata::{Dependency, Lock, Maintainer, Metadata};
use crate::go::strconv;
use crate::value::{Map, Value};

/// A statement of the wrong type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go {place} of type {wanted}"
)]
pub(super) struct DecodeError {
    found: &'static str,
    place: String,
    wanted: String,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The Go struct.
    owner: &'a str,
    /// The path of keys from the top of the document.
    path: &'a str,
}

impl Place<'_> {
    fn error(self, found: &Value, wanted: &str) -> DecodeError {
        let place = format!("struct field {}.{}", self.owner, self.path);
        DecodeError { found: kind(found), place, wanted: wanted.to_owned() }
    }
}

/// Metadata as read so far. `null` entries are let through here and refused when the whole is checked.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) metadata: Metadata,
    pub(super) null_maintainer: bool,
    pub(super) null_dependency: bool,
}

impl Draft {
    /// Reads `document` over what is known already: what it does not say stays.
    pub(super) fn read(&mut self, document: &Value) -> Result<(), DecodeError> {
        let Some(fields) = fields(document, "v2.Metadata")? else { return Ok(()) };
        let into = &mut self.metadata;
        for (key, value) in fields {
            let key = key.to_ascii_lowercase();
            let at = |path| Place { owner: "Metadata", path };
            match key.as_str() {
                "name" => text(value, &mut into.name, at("name"))?,
                "home" => text(value, &mut into.home, at("home"))?,
                "sources" => texts(value, &mut into.sources, at("sources"))?,
                "version" => text(value, &mut into.version, at("version"))?,
                "description" => text(value, &mut into.description, at("description"))?,
                "keywords" => texts(value, &mut into.keywords, at("keywords"))?,
                "maintainers" => {
                    let Some(items) = list(value, at("maintainers"), "[]*v2.Maintainer")? else {
                        into.maintainers.clear();
                        continue;
                    };
                    into.maintainers.resize_with(items.len(), Maintainer::default);
                    for (item, maintainer) in items.iter().zip(&mut into.maintainers) {
                        self.null_maintainer |= item.is_null();
                        read_maintainer(item, maintainer)?;
                    }
                }
                "icon" => text(value, &mut into.icon, at("icon"))?,
                "apiversion" => text(value, &mut into.api_version, at("apiVersion"))?,
                "condition" => text(value, &mut into.condition, at("condition"))?,
                "tags" => text(value, &mut into.tags, at("tags"))?,
                "appversion" => text(value, &mut into.app_version, at("appVersion"))?,
                "deprecated" => flag(value, &mut into.deprecated, at("deprecated"))?,
                "annotations" => annotations(value, &mut into.annotations)?,
                "kubeversion" => text(value, &mut into.kube_version, at("kubeVersion"))?,
                "dependencies" => {
                    self.null_dependency |= dependencies(value, &mut into.dependencies, "Metadata")?;
                }
                "type" => text(value, &mut into.kind, at("type"))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a lock file; nothing if the document is empty.
pub(super) fn lock(document: &Value) -> Result<Option<Lock>, DecodeError> {
    let Some(fields) = fields(document, "v2.Lock")? else { return Ok(None) };
    let mut lock = Lock::default();
    for (key, value) in fields {
        match key.to_ascii_lowercase().as_str() {
            "generated" => text(value, &mut lock.generated, Place { owner: "Lock", path: "generated" })?,
            "digest" => text(value, &mut lock.digest, Place { owner: "Lock", path: "digest" })?,
            "dependencies" => {
                dependencies(value, &mut lock.dependencies, "Lock")?;
            }
            _ => {}
        }
    }
    Ok(Some(lock))
}

fn read_maintainer(item: &Value, into: &mut Maintainer) -> Result<(), DecodeError> {
    let place = |path| Place { owner: "Maintainer", path };
    let Some(fields) = nested_fields(item, "Metadata", "maintainers", "v2.Maintainer")? else {
        return Ok(());
    };
    for (key, value) in fields {
        match key.to_ascii_lowercase().as_str() {
            "name" => text(value, &mut into.name, place("maintainers.name"))?,
            "email" => text(value, &mut into.email, place("maintainers.email"))?,
            "url" => text(value, &mut into.url, place("maintainers.url"))?,
            _ => {}
        }
    }
    Ok(())
}

/// Reads a list of dependencies over the ones known; tells whether an entry is null.
fn dependencies(value: &Value, into: &mut Option<Vec<Dependency>>, owner: &str) -> Result<bool, DecodeError> {
    let Some(items) = list(value, Place { owner, path: "dependencies" }, "[]*v2.Dependency")? else {
        *into = None;
        return Ok(false);
    };
    let known = into.get_or_insert_default();
    known.resize_with(items.len(), Dependency::default);
    for (item, dependency) in items.iter().zip(known) {
        read_dependency(item, dependency, owner)?;
    }
    Ok(items.iter().any(Value::is_null))
}

fn read_dependency(item: &Value, into: &mut Dependency, owner: &str) -> Result<(), DecodeError> {
    let at = |path| Place { owner: "Dependency", path };
    let Some(fields) = nested_fields(item, owner, "dependencies", "v2.Dependency")? else { return Ok(()) };
    for (key, value) in fields {
        match key.to_ascii_lowercase().as_str() {
            "name" => text(value, &mut into.name, at("dependencies.name"))?,
            "version" => text(value, &mut into.version, at("dependencies.version"))?,
            "repository" => text(value, &mut into.repository, at("dependencies.repository"))?,
            "condition" => text(value, &mut into.condition, at("dependencies.condition"))?,
            "tags" => texts(value, &mut into.tags, at("dependencies.tags"))?,
            "enabled" => flag(value, &mut into.enabled, at("dependencies.enabled"))?,
            "import-values" => {
                let place = at("dependencies.import-values");
                let items = list(value, place, "[]interface {}")?.unwrap_or_default();
                into.import_values = items.iter().map(as_json).collect();
            }
            "alias" => text(value, &mut into.alias, at("dependencies.alias"))?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns the members of the whole document, nothing if it is empty.
fn fields<'v>(document: &'v Value, wanted: &str) -> Result<Option<&'v Map>, DecodeError> {
    match document {
        Value::Null => Ok(None),
        Value::Map(map) => Ok(Some(map)),
        other => {
            Err(DecodeError { found: kind(other), place: "value".to_owned(), wanted: wanted.to_owned() })
        }
    }
}

fn nested_fields<'v>(
    item: &'v Value,
    owner: &str,
    path: &str,
    wanted: &str,
) -> Result<Option<&'v Map>, DecodeError> {
    match item {
        Value::Null => Ok(None),
        Value::Map(map) => Ok(Some(map)),
        other => Err(Place { owner, path }.error(other, wanted)),
    }
}

fn list<'v>(value: &'v Value, place: Place<'_>, wanted: &str) -> Result<Option<&'v [Value]>, DecodeError> {
    match value {
        Value::Null => Ok(None),
        Value::List(items) => Ok(Some(items)),
        other => Err(place.error(other, wanted)),
    }
}

fn text(value: &Value, into: &mut String, place: Place<'_>) -> Result<(), DecodeError> {
    match scalar(value) {
        Some(text) => *into = text,
        None if value.is_null() => {}
        None => return Err(place.error(value, "string")),
    }
    Ok(())
}

fn texts(value: &Value, into: &mut Vec<String>, place: Place<'_>) -> Result<(), DecodeError> {
    let Some(items) = list(value, place, "[]string")? else {
        into.clear();
        return Ok(());
    };
    into.resize_with(items.len(), String::new);
    items.iter().zip(into).try_for_each(|(item, into)| text(item, into, place))
}

fn flag(value: &Value, into: &mut bool, place: Place<'_>) -> Result<(), DecodeError> {
    match value {
        Value::Bool(flag) => *into = *flag,
        Value::Null => {}
        other => return Err(place.error(other, "bool")),
    }
    Ok(())
}

fn annotations(value: &Value, into: &mut Option<BTreeMap<String, String>>) -> Result<(), DecodeError> {
    let place = Place { owner: "Metadata", path: "annotations" };
    match value {
        Value::Null => *into = None,
        Value::Map(members) => {
            let into = into.get_or_insert_default();
            for (key, value) in members {
                let mut content = String::new();
                text(value, &mut content, place)?;
                into.insert(key.clone(), content);
            }
        }
        other => return Err(place.error(other, "map[string]string")),
    }
    Ok(())
}

/// Returns a scalar as the text it becomes where a string is wanted.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::Str(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => strconv::format_float32(*number, b'g'),
        Value::Null | Value::List(_) | Value::Map(_) => return None,
    })
}

/// Returns data as it comes out of JSON: every number is a float.
#[expect(clippy::cast_precision_loss, reason = "Go's JSON reader rounds in the same way")]
fn as_json(value: &Value) -> Value {
    match value {
        Value::Int(number) => Value::Float(*number as f64),
        Value::Uint(number) => Value::Float(*number as f64),
        Value::List(items) => Value::List(items.iter().map(as_json).collect()),
        Value::Map(map) => Value::Map(map.iter().map(|(key, value)| (key.clone(), as_json(value))).collect()),
        other => other.clone(),
    }
}

/// Returns the name that Go's JSON reader has for a kind of value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}
