//! Nodes in Go syntax (`%#v`), for the errors in which go-yaml prints a value.

use std::fmt::Write as _;

use super::decode::{Scalar, scalar};
use super::parse::{RawKind, RawNode};
use crate::value::number;

/// The longest description; a value that is larger is cut off.
const LIMIT: usize = 4096;

/// Returns the node at `at` as Go prints it with `%#v`.
pub(super) fn describe(nodes: &[RawNode<'_>], at: usize) -> String {
    let mut out = String::new();
    describe_into(&mut out, nodes, at, false, 0);
    out
}

fn describe_into(out: &mut String, nodes: &[RawNode<'_>], at: usize, nested: bool, depth: usize) {
    if out.len() > LIMIT || depth > 64 {
        out.push('…');
        return;
    }
    let Some(node) = nodes.get(at) else { return };
    match &node.kind {
        RawKind::Alias(target, _) => describe_into(out, nodes, *target as usize, nested, depth + 1),
        RawKind::Scalar { value, tag, implicit } => {
            let scalar = scalar(node, value, tag.as_deref(), *implicit);
            out.push_str(&scalar.map_or_else(|_| quote(value), |scalar| go_syntax(&scalar, nested)));
        }
        RawKind::List => {
            out.push_str("[]interface {}{");
            let mut child = at + 1;
            while child < node.next as usize {
                if child > at + 1 {
                    out.push_str(", ");
                }
                describe_into(out, nodes, child, true, depth + 1);
                child = nodes[child].next as usize;
            }
            out.push('}');
        }
        RawKind::Map => {
            out.push_str("map[interface {}]interface {}{");
            for (number, (key, value)) in pairs(nodes, at).into_iter().enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                out.push_str(&key);
                out.push(':');
                describe_into(out, nodes, value, true, depth + 1);
            }
            out.push('}');
        }
    }
}

/// The pairs of a mapping in the order of the printed keys, the last of equal keys only.
fn pairs(nodes: &[RawNode<'_>], at: usize) -> std::collections::BTreeMap<String, usize> {
    let mut pairs = std::collections::BTreeMap::new();
    let mut child = at + 1;
    while child < nodes[at].next as usize {
        let value = nodes[child].next as usize;
        let mut key = String::new();
        describe_into(&mut key, nodes, child, true, 64);
        pairs.insert(key, value);
        child = nodes[value].next as usize;
    }
    pairs
}

fn go_syntax(scalar: &Scalar<'_>, nested: bool) -> String {
    match scalar {
        Scalar::Null if nested => "interface {}(nil)".to_owned(),
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(flag) => flag.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Uint(number) => format!("{number:#x}"),
        Scalar::Float(float) => number::format_g(*float),
        Scalar::Text(text) => quote(text),
        Scalar::Bytes(bytes) => quote(&String::from_utf8_lossy(bytes)),
    }
}

/// Go's quoting of a text, for the characters that charts hold in such places.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' || c == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
