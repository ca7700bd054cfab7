//! One document: its text, what it says it is, and the object it holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value as Json;
use thiserror::Error;

use super::hook::{Role, role};
use super::object::to_object;
use crate::value::{Map, Value, number};
use crate::yaml::{self, YamlError};

/// The annotation that keeps an object when its release goes.
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// One rendered document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The exact text, comments and repeated keys included.
    pub text: String,
    /// What it says it is.
    pub head: Head,
    /// The whole object; null for a document that holds nothing but comments.
    pub object: Json,
}

/// What a document says it is. Absent members are empty; numbers and truth values have become text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`; empty where the release's own counts.
    pub namespace: String,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.labels`; members that are no text are left out.
    pub labels: BTreeMap<String, String>,
}

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The text is no YAML.
    #[error(transparent)]
    Yaml(YamlError),
    /// A member is not what Helm expects there, in Go's words.
    #[error(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go {place} of type {wanted}"
    )]
    Type {
        /// The JSON kind that is there.
        found: &'static str,
        /// The place: a value, or a field of a struct.
        place: &'static str,
        /// The Go type that is wanted there.
        wanted: &'static str,
    },
}

impl Document {
    /// Reads one document, as [`split`](super::split) returns it. Its last line counts as ended, as in Helm's own reader
    /// (`apimachinery/pkg/util/yaml`, `LineReader`), which matters where a block of text comes last.
    ///
    /// # Errors
    /// Text that is no YAML or no mapping; members of the head that are of the wrong kind.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let whole = if text.ends_with('\n') { Cow::from(text) } else { Cow::from(format!("{text}\n")) };
        let value = yaml::read_typed(whole.as_bytes()).map_err(ManifestError::Yaml)?;
        let head = Head::of(&value)?;
        Ok(Document { text: text.to_owned(), head, object: to_object(&value) })
    }

    /// Reads the object anew as it stands in the text of a release, where a line end follows each document: a block of
    /// text that keeps its blank lines (`|+`) is longer there.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn in_release(mut self) -> Result<Self, ManifestError> {
        if self.text.ends_with('\n') && self.text.contains('+') {
            self.object = Self::parse(&format!("{}\n", self.text))?.object;
        }
        Ok(self)
    }

    /// Tells whether this is a part of the release or a hook.
    pub fn role(&self) -> Role {
        role(&self.head.annotations)
    }
}

impl Head {
    /// Tells whether the annotations ask to keep the object when its release is uninstalled. Helm looks at
    /// them without blanks and case there, but exactly (on the live object) when it upgrades.
    pub fn is_kept(&self) -> bool {
        self.resource_policy().is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
    }

    /// Returns the resource policy as it was given.
    pub fn resource_policy(&self) -> Option<&str> {
        self.annotations.get(RESOURCE_POLICY).map(String::as_str)
    }

    /// Reads the head as Go decodes it into Helm's `SimpleHead`: names match in any case, and of several that
    /// match the last in byte order counts.
    fn of(value: &Value) -> Result<Self, ManifestError> {
        let mut head = Head::default();
        let map = match value {
            Value::Map(map) => map,
            Value::Null => return Ok(head),
            other => return Err(mismatch(other, "value", "util.SimpleHead")),
        };
        for (key, value) in map {
            if key.eq_ignore_ascii_case("apiVersion") {
                assign(&mut head.api_version, value, "struct field SimpleHead.apiVersion")?;
            } else if key.eq_ignore_ascii_case("kind") {
                assign(&mut head.kind, value, "struct field SimpleHead.kind")?;
            } else if key.eq_ignore_ascii_case("metadata") {
                head.metadata(value)?;
            }
        }
        Ok(head)
    }

    fn metadata(&mut self, value: &Value) -> Result<(), ManifestError> {
        const STRUCT: &str = "struct { Name string \"json:\\\"name\\\"\"; \
                              Annotations map[string]string \"json:\\\"annotations\\\"\" }";
        let map = match value {
            Value::Map(map) => map,
            Value::Null => return Ok(()),
            other => return Err(mismatch(other, "struct field SimpleHead.metadata", STRUCT)),
        };
        for (key, value) in map {
            if key.eq_ignore_ascii_case("name") {
                assign(&mut self.name, value, "struct field .metadata.name")?;
            } else if key.eq_ignore_ascii_case("annotations") {
                self.annotations(value)?;
            }
        }
        // Helm does not look at these; the API server takes them under their exact names only.
        self.namespace = map.get("namespace").and_then(text_of).unwrap_or_default();
        self.labels = map.get("labels").and_then(Value::as_map).map(labels).unwrap_or_default();
        Ok(())
    }

    fn annotations(&mut self, value: &Value) -> Result<(), ManifestError> {
        const PLACE: &str = "struct field .metadata.annotations";
        match value {
            Value::Null => {}
            Value::Map(map) => {
                for (key, value) in map {
                    let annotation = self.annotations.entry(key.clone()).or_default();
                    assign(annotation, value, PLACE)?;
                }
            }
            other => return Err(mismatch(other, PLACE, "map[string]string")),
        }
        Ok(())
    }
}

fn labels(map: &Map) -> BTreeMap<String, String> {
    map.iter().filter_map(|(key, value)| Some((key.clone(), text_of(value)?))).collect()
}

/// Writes a scalar to a Go string; null leaves it alone.
fn assign(target: &mut String, value: &Value, place: &'static str) -> Result<(), ManifestError> {
    match text_of(value) {
        Some(text) => *target = text,
        None if value.is_null() => {}
        None => return Err(mismatch(value, place, "string")),
    }
    Ok(())
}

/// The text that sigs.k8s.io/yaml makes of a scalar where a string is wanted: floats have the digits of a
/// `float32`.
fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Str(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(float) => number::format_g32(*float),
        Value::Null | Value::List(_) | Value::Map(_) => return None,
    })
}

fn mismatch(value: &Value, place: &'static str, wanted: &'static str) -> ManifestError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    };
    ManifestError::Type { found, place, wanted }
}
