//! One tree for both syntaxes: every key and every value knows where it stands.
//!
//! Knows no key of the language. Trees are never deeper than [`MAX_DEPTH`], so code that walks one may recurse.

use crate::text::Span;
use crate::value::{Map, Value};

/// The deepest nesting that is read. Charts nest their values some ten levels deep.
pub(super) const MAX_DEPTH: usize = 64;
/// The most nodes of one file. Bounds the work that aliases can cause.
pub(super) const MAX_NODES: usize = 200_000;
/// The most bytes of one file.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    Float(f64),
    Str(Text),
    List(Vec<Node>),
    Map(Table),
    /// A TOML date or time; no key takes one.
    Date,
}

/// The entries of a table in the order of the file.
pub(super) type Table = Vec<Entry>;

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Text,
    pub(super) key_span: Span,
    pub(super) value: Node,
}

/// The written form of what the command line says: it stands in no file.
pub(super) const UNWRITTEN: &str = "…";

/// Text, which may come from the environment in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The text with all variables replaced.
    pub(super) value: String,
    /// The text as the file has it, if variables were replaced in it.
    pub(super) written: Option<String>,
    /// Whether a part of it comes from the environment.
    pub(super) private: bool,
}

impl Text {
    pub(super) fn plain(value: impl Into<String>) -> Self {
        Text { value: value.into(), written: None, private: false }
    }

    /// The text that messages may show: never what came from the environment.
    pub(super) fn shown(&self) -> &str {
        self.written.as_deref().filter(|_| self.private).unwrap_or(&self.value)
    }
}

impl Node {
    /// The name of the type for messages.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) | Kind::Uint(_) => "a whole number",
            Kind::Float(_) => "a number with a fraction",
            Kind::Str(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a table",
            Kind::Date => "a date or time",
        }
    }

    /// The value as a values file would hold it.
    ///
    /// Helm reads values files through JSON, so every number is a Go `float64`; inline values must not differ
    /// from the same text in a file. A date becomes nothing; the reader has refused it before.
    pub(super) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null | Kind::Date => Value::Null,
            Kind::Bool(flag) => Value::Bool(*flag),
            #[expect(clippy::cast_precision_loss, reason = "the same loss as in Go's float64")]
            Kind::Int(number) => Value::Float(*number as f64),
            #[expect(clippy::cast_precision_loss, reason = "the same loss as in Go's float64")]
            Kind::Uint(number) => Value::Float(*number as f64),
            Kind::Float(number) => Value::Float(*number),
            Kind::Str(text) => Value::Str(text.value.clone()),
            Kind::List(items) => Value::List(items.iter().map(Node::to_value).collect()),
            Kind::Map(table) => Value::Map(table_to_map(table)),
        }
    }
}

/// The table as a map; of equal keys the last one stays.
pub(super) fn table_to_map(table: &Table) -> Map {
    table.iter().map(|entry| (entry.key.value.clone(), entry.value.to_value())).collect()
}

/// Joins a key to the path of its table, for messages. Keys that could be misread are quoted.
pub(super) fn join(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '{' | '}');
    let dot = if path.is_empty() { "" } else { "." };
    if !key.is_empty() && key.chars().all(plain) {
        format!("{path}{dot}{key}")
    } else {
        format!("{path}{dot}{key:?}")
    }
}
