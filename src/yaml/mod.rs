//! YAML as Helm reads and writes it: sigs.k8s.io/yaml over go-yaml v2.
//!
//! No Rust library reads YAML 1.1 the way go-yaml does, so scanner, parser, resolver and emitter are our own.
//! Reading goes `input` (bytes to characters) → `scan` (tokens) → `parse` (nodes of the first document) →
//! `decode` (values) or `spanned` (nodes with places); writing is `emit`. Nesting, aliases and sizes are bounded; no input panics.
//! Knows no Helm, no Kubernetes and no files.

mod decode;
mod describe;
mod documents;
mod emit;
mod error;
mod input;
mod parse;
mod resolve;
mod scan;
mod spanned;

use crate::value::json::{Numbers, mismatch};
use crate::value::{Map, Value};
pub use documents::{DocumentsError, read_documents};
pub use emit::{EmitError, to_yaml, to_yaml_pretty};
pub use error::{Position, YamlError};
pub use spanned::{Content, Entry, Node, Span};

/// Reads the first document of a text as Helm does: every number is a float, the last of equal keys wins.
///
/// A text without a document is null.
///
/// # Errors
/// Whatever go-yaml v2 or sigs.k8s.io/yaml refuses, in their words.
pub fn read(text: &[u8]) -> Result<Value, YamlError> {
    read_with(text, Numbers::Float)
}

/// Reads the first document with integers kept as integers.
///
/// # Errors
/// As [`read`].
pub fn read_typed(text: &[u8]) -> Result<Value, YamlError> {
    read_with(text, Numbers::Typed)
}

/// Reads the first document as a mapping (`yaml.Unmarshal` into a `map[string]any`); null gives an empty one.
///
/// # Errors
/// As [`read`]; a document of another kind is refused in Go's words.
pub fn read_map(text: &[u8]) -> Result<Map, YamlError> {
    match read(text)? {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(YamlError::target(mismatch(&other, "map[string]interface {}").to_string())),
    }
}

/// Reads the first document as a sequence (`yaml.Unmarshal` into an `[]any`); null gives an empty one.
///
/// # Errors
/// As [`read`]; a document of another kind is refused in Go's words.
pub fn read_list(text: &[u8]) -> Result<Vec<Value>, YamlError> {
    match read(text)? {
        Value::List(list) => Ok(list),
        Value::Null => Ok(Vec::new()),
        other => Err(YamlError::target(mismatch(&other, "[]interface {}").to_string())),
    }
}

/// Reads the first document with the place of every node, repeated keys included.
///
/// Aliases are replaced by what they stand for and merge keys by the pairs they bring. Infinities and null
/// keys, which have no JSON form, are not refused here.
///
/// # Errors
/// Whatever go-yaml v2 refuses, in its words.
pub fn read_spanned(text: &[u8]) -> Result<Node, YamlError> {
    parsed(text, spanned::spanned)
}

fn read_with(text: &[u8], numbers: Numbers) -> Result<Value, YamlError> {
    parsed(text, |nodes, _| decode::decode(nodes, numbers))
}

/// Parses the text and hands its nodes on, with the length of the byte order mark before them.
fn parsed<T>(
    text: &[u8],
    build: impl FnOnce(&[parse::RawNode<'_>], usize) -> Result<T, YamlError>,
) -> Result<T, YamlError> {
    let input = input::Input::new(text)?;
    let mut scanner = scan::Scanner::new(&input.text);
    let nodes = parse::parse(&mut scanner);
    let nodes = input.settle(nodes, scanner.reached_end())?;
    build(&nodes, input.skipped)
}

#[cfg(test)]
mod tests;
