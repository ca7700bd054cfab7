//! The data tree that files, values and manifests are read into.
//!
//! A value is plain data: it knows no YAML, no templates and no Kubernetes. Readers decide how numbers
//! come out: Helm's own reading turns every number into a [`Value::Float`], `--set` writes [`Value::Int`].

pub mod json;
pub mod number;

use std::collections::BTreeMap;

/// The deepest nesting that readers build and writers follow.
///
/// Go stops at 10,000 levels. Trees are walked recursively all over the program, so the bound is what the
/// smallest stack of a thread holds with a wide margin; real charts and manifests stay below fifty.
pub const MAX_DEPTH: usize = 256;

/// A mapping with byte-sorted keys, the order in which Go prints maps and `encoding/json` writes them.
pub type Map = BTreeMap<String, Value>;

/// One node of a data tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`, an empty YAML scalar, Go's nil.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer (Go `int64`).
    Int(i64),
    /// An integer above `i64::MAX` (Go `uint64`).
    Uint(u64),
    /// A floating-point number (Go `float64`).
    Float(f64),
    /// Text.
    Str(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping.
    Map(Map),
}

impl Value {
    /// Returns the mapping, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// Returns the mapping for changing, if this is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// Returns a scalar as text, numbers as Go writes them; nothing for null, sequences and mappings.
    pub fn scalar_text(&self) -> Option<String> {
        match self {
            Value::Str(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Int(number) => Some(number.to_string()),
            Value::Uint(number) => Some(number.to_string()),
            Value::Float(number) => Some(number::format_g(*number)),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Returns the elements, if this is a sequence.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(list) = self { Some(list) } else { None }
    }

    /// Returns the text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = self { Some(text) } else { None }
    }

    /// Returns the truth value, if this is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(*flag) } else { None }
    }

    /// Returns the member `key` of a mapping; nothing for a missing key or any other kind of node.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// Returns the node at a path of keys, or nothing as soon as one is missing.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Tells whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Str(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Str(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Value::Map(map)
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Self {
        Value::List(list)
    }
}
