//! JSON as Go's `encoding/json` reads and writes it.
//!
//! Helm passes nearly everything through this package, so its spelling of numbers, its escapes, its key order
//! and its error texts reach charts, records and users. Knows no files, no YAML and no Kubernetes.

mod read;
mod write;

use thiserror::Error;

pub(crate) use read::mismatch;
pub use read::{from_prefix, from_slice, list_from_slice, map_from_slice};
pub use write::{Escape, append_string, to_string, to_string_pretty};

/// How a reader delivers numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Every number becomes a [`Value::Float`](super::Value::Float), as in a Go `any`: Helm's own view.
    Float,
    /// Integers stay [`Value::Int`](super::Value::Int) or [`Value::Uint`](super::Value::Uint) while they fit.
    Typed,
}

/// What Go's `encoding/json` says when it cannot read or write a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// A character that no JSON text has at this place. `offset` counts bytes from the start of the text.
    #[error("invalid character {character} {context}")]
    Syntax {
        /// The character, quoted as Go quotes it.
        character: String,
        /// Where in the grammar the reader was (`looking for beginning of value`, …).
        context: String,
        /// The byte at which reading stopped.
        offset: usize,
    },
    /// The text ends inside a value (`json.Unmarshal`).
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// The stream ends inside a value (`json.Decoder`).
    #[error("unexpected EOF")]
    UnexpectedEof,
    /// The stream holds no value at all (`json.Decoder`).
    #[error("EOF")]
    Eof,
    /// A value of a kind that the reader's target cannot hold.
    #[error("json: cannot unmarshal {found} into Go value of type {target}")]
    Type {
        /// The JSON kind, and for numbers the literal.
        found: String,
        /// The Go type that was asked for.
        target: &'static str,
    },
    /// NaN and infinities have no JSON form.
    #[error("json: unsupported value: {0}")]
    Unsupported(&'static str),
    /// Nesting beyond [`MAX_DEPTH`](super::MAX_DEPTH).
    #[error("exceeded max depth")]
    Depth,
}

/// Turns bytes into text as Go's JSON encoder does: each byte that is not part of valid UTF-8 becomes U+FFFD.
///
/// Unlike `String::from_utf8_lossy`, a broken sequence of three bytes gives three replacement characters.
pub fn text_from_bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for _ in chunk.invalid() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
    out
}

/// As [`text_from_bytes`]; bytes that are text already are not copied.
pub fn text_from_vec(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| text_from_bytes(error.as_bytes()))
}

#[cfg(test)]
mod tests;
