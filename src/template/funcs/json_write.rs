//! Compact JSON straight from template values.
//!
//! The same text as by way of a data tree, except that only here a byte which is not valid UTF-8 is still known
//! to be one: Go writes it as the escape `\ufffd`, and a U+FFFD that was really there as itself.

use crate::template::call::FuncError;
use crate::template::convert::Walk;
use crate::template::value::{List, Map, Val};
use crate::value::Value;
use crate::value::json::{self, Escape};

/// Returns what `json.Marshal` writes.
///
/// # Errors
/// Not-a-number and infinities; a value that contains itself.
pub(super) fn to_json(value: &Val, escape: Escape) -> Result<String, FuncError> {
    let mut out = String::new();
    write(&mut out, value, escape, &mut Walk::new())?;
    Ok(out)
}

fn write(out: &mut String, value: &Val, escape: Escape, walk: &mut Walk) -> Result<(), FuncError> {
    walk.enter()?;
    match value {
        Val::Str(text) => {
            walk.text(text.len())?;
            string(out, text, escape);
        }
        Val::List(list) => write_list(out, list, escape, walk)?,
        Val::Map(map) => write_map(out, map, escape, walk)?,
        Val::Object(object) => match object.underlying() {
            Some(inner @ (Val::List(_) | Val::Map(_))) => write(out, &inner, escape, walk)?,
            _ => tree(out, &object.to_value(), escape)?,
        },
        simple => tree(out, &crate::template::convert::to_value(simple)?, escape)?,
    }
    walk.leave();
    Ok(())
}

fn tree(out: &mut String, value: &Value, escape: Escape) -> Result<(), FuncError> {
    let text = json::to_string(value, escape).map_err(|error| FuncError::Message(error.to_string()))?;
    out.push_str(&text);
    Ok(())
}

fn write_list(out: &mut String, list: &List, escape: Escape, walk: &mut Walk) -> Result<(), FuncError> {
    if list.is_nil() {
        out.push_str("null");
        return Ok(());
    }
    out.push('[');
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item, escape, walk)?;
    }
    out.push(']');
    Ok(())
}

fn write_map(out: &mut String, map: &Map, escape: Escape, walk: &mut Walk) -> Result<(), FuncError> {
    if map.is_nil() {
        out.push_str("null");
        return Ok(());
    }
    out.push('{');
    for (index, (key, item)) in map.borrow().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, key, escape);
        out.push(':');
        write(out, item, escape, walk)?;
    }
    out.push('}');
    Ok(())
}

fn string(out: &mut String, text: &[u8], escape: Escape) {
    if let Ok(text) = std::str::from_utf8(text) {
        return json::append_string(out, text, escape);
    }
    out.push('"');
    for chunk in text.utf8_chunks() {
        let mut quoted = String::new();
        json::append_string(&mut quoted, chunk.valid(), escape);
        out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        for _ in chunk.invalid() {
            out.push_str("\\ufffd");
        }
    }
    out.push('"');
}
