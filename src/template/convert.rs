//! Between template values and plain data trees.
//!
//! The tree is what `encoding/json` would see: nil slices are null, bytes are base64 text, invalid UTF-8 is
//! replaced.

use base64::Engine as _;

use super::text::Str;
use super::types::Kind;
use super::value::{List, Map, Val};
use crate::value::Value;

/// How deep a value may nest where a function walks all of it.
///
/// Real documents stay far below; a map that contains itself (`set $d "self" $d`) must end somewhere.
pub const MAX_DEPTH: usize = 1000;

/// How many parts a value may have where a function walks all of it.
///
/// Parts that are shared count each time they are met: a list that holds the same list twice, thirty times
/// over, takes little memory and has a thousand million parts.
const MAX_PARTS: usize = 2_000_000;

/// How many bytes of text a value may have where a function copies all of it.
const MAX_TEXT: usize = 1 << 28;

/// A value that a function cannot walk through, in practice one that contains itself.
#[derive(Debug, thiserror::Error)]
#[error("the value contains itself, nests more than {MAX_DEPTH} levels deep or is too large")]
pub struct TooDeep;

/// What is left of the bounds during one walk through a value.
#[derive(Debug)]
pub(super) struct Walk {
    depth: usize,
    parts: usize,
    text: usize,
}

impl Walk {
    pub(super) fn new() -> Walk {
        Walk { depth: MAX_DEPTH, parts: MAX_PARTS, text: MAX_TEXT }
    }

    /// Meets a text that is copied.
    pub(super) fn text(&mut self, length: usize) -> Result<(), TooDeep> {
        self.text = self.text.checked_sub(length).ok_or(TooDeep)?;
        Ok(())
    }

    /// Steps into a part. [`Walk::leave`] must follow.
    pub(super) fn enter(&mut self) -> Result<(), TooDeep> {
        self.parts = self.parts.checked_sub(1).ok_or(TooDeep)?;
        self.depth = self.depth.checked_sub(1).ok_or(TooDeep)?;
        Ok(())
    }

    /// Steps out again.
    pub(super) fn leave(&mut self) {
        self.depth += 1;
    }
}

/// Returns the template value of a data tree.
pub fn from_value(value: &Value) -> Val {
    match value {
        Value::Null => Val::Nil,
        Value::Bool(flag) => Val::Bool(*flag),
        Value::Int(number) => Val::Int64(*number),
        Value::Uint(number) => Val::Uint(Kind::Uint64, *number),
        Value::Float(number) => Val::Float(*number),
        Value::Str(text) => Val::str(text.as_str()),
        Value::List(items) => Val::list(items.iter().map(from_value).collect()),
        Value::Map(map) => Val::Map(from_map(map)),
    }
}

/// Returns the template map of a mapping.
pub fn from_map(map: &crate::value::Map) -> Map {
    map.iter().map(|(key, value)| (Str::from(key.as_str()), from_value(value))).collect()
}

/// Returns the data tree of a template value, as Go's JSON shows it; fails on one that contains itself.
pub fn to_value(value: &Val) -> Result<Value, TooDeep> {
    tree(value, Nil::IsNull, &mut Walk::new())
}

/// Returns the data tree of a template value as go-yaml v3 shows it: a nil list or map is an empty one.
pub fn to_yaml_value(value: &Val) -> Result<Value, TooDeep> {
    tree(value, Nil::IsEmpty, &mut Walk::new())
}

/// What a nil list or map becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nil {
    IsNull,
    IsEmpty,
}

fn tree(value: &Val, nil: Nil, walk: &mut Walk) -> Result<Value, TooDeep> {
    walk.enter()?;
    let tree = match value {
        Val::Nil => Value::Null,
        Val::Bool(flag) => Value::Bool(*flag),
        Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => Value::Int(*number),
        Val::Uint(_, number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Uint(*number),
        },
        Val::Float(number) => Value::Float(*number),
        Val::Str(text) => {
            walk.text(text.len())?;
            Value::Str(text.to_text().into_owned())
        }
        Val::Bytes(bytes) => Value::Str(base64::engine::general_purpose::STANDARD.encode(bytes)),
        Val::List(list) => tree_of_list(list, nil, walk)?,
        Val::Map(map) => tree_of_map(map, nil, walk)?,
        Val::Object(object) => match object.underlying() {
            Some(inner @ (Val::Map(_) | Val::List(_))) => tree(&inner, nil, walk)?,
            _ => object.to_value(),
        },
    };
    walk.leave();
    Ok(tree)
}

// Loops rather than iterator chains: each level of nesting costs stack.
fn tree_of_list(list: &List, nil: Nil, walk: &mut Walk) -> Result<Value, TooDeep> {
    if list.is_nil() && nil == Nil::IsNull {
        return Ok(Value::Null);
    }
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.push(tree(item, nil, walk)?);
    }
    Ok(Value::List(items))
}

fn tree_of_map(map: &Map, nil: Nil, walk: &mut Walk) -> Result<Value, TooDeep> {
    if map.is_nil() && nil == Nil::IsNull {
        return Ok(Value::Null);
    }
    let mut members = crate::value::Map::new();
    for (key, item) in map.borrow().iter() {
        members.insert(key.to_text().into_owned(), tree(item, nil, walk)?);
    }
    Ok(Value::Map(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::types::Type;

    #[test]
    fn trees_survive_the_round_trip() {
        let value = Value::Map(
            [
                ("a".to_owned(), Value::List(vec![Value::Null, Value::Bool(true), Value::Int(1)])),
                ("b".to_owned(), Value::Map([("c".to_owned(), Value::Float(1.5))].into())),
                ("d".to_owned(), Value::from("text")),
            ]
            .into(),
        );
        assert_eq!(to_value(&from_value(&value)).unwrap(), value);
    }

    #[test]
    fn values_become_what_json_sees() {
        for (value, tree) in [
            (Val::List(List::nil(Type::Any)), Value::Null),
            (Val::Map(Map::nil(Type::Any)), Value::Null),
            (Val::Bytes("hi".into()), Value::from("aGk=")),
            (Val::str(&b"a\xff"[..]), Value::from("a\u{fffd}")),
            (Val::Uint(Kind::Uint8, 7), Value::Int(7)),
            (Val::Uint(Kind::Uint64, u64::MAX), Value::Uint(u64::MAX)),
        ] {
            assert_eq!(to_value(&value).unwrap(), tree);
        }
    }

    #[test]
    fn a_map_that_contains_itself_is_refused() {
        let map = Map::new();
        map.insert("self".into(), Val::Map(map.clone())).unwrap();
        assert!(to_value(&Val::Map(map.clone())).is_err());
        // Break the circle, which reference counting cannot free.
        map.remove(b"self");
    }
}
