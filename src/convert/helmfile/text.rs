//! Texts of a helmfile as our file says them.

use super::template::{DEFAULT, END, LOST, VARIABLE};
use crate::convert::document::Tree;
use crate::value::{Map, Value};

/// Returns a text with `$` doubled, and variables of the process where markers stand for them.
pub(super) fn said(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '$' => out.push_str("$$"),
            VARIABLE => out.push_str("${"),
            DEFAULT => out.push_str(":-"),
            END => out.push('}'),
            LOST => {}
            other => out.push(other),
        }
    }
    out
}

/// Returns a value as our file says it. What could not be evaluated is left out: it was told.
pub(super) fn said_value(value: &Value) -> Tree {
    match value {
        Value::Str(text) => Tree::text(said(text)),
        Value::List(items) => {
            Tree::List(items.iter().filter(|item| !is_lost(item)).map(said_value).collect())
        }
        Value::Map(map) => Tree::Table(members(map)),
        other => Tree::escaped(other),
    }
}

fn members(map: &Map) -> Vec<(String, Tree)> {
    let kept = map.iter().filter(|(_, value)| !is_lost(value));
    kept.map(|(key, value)| (said(key), said_value(value))).collect()
}

fn is_lost(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(LOST))
}
