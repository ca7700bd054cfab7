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

/// A value that nests deeper than [`MAX_DEPTH`], in practice one that contains itself.
#[derive(Debug, thiserror::Error)]
#[error("the value contains itself or nests more than {MAX_DEPTH} levels deep")]
pub struct TooDeep;

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

/// Returns the data tree of a template value; fails on one that contains itself.
pub fn to_value(value: &Val) -> Result<Value, TooDeep> {
    tree(value, MAX_DEPTH)
}

fn tree(value: &Val, depth: usize) -> Result<Value, TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    Ok(match value {
        Val::Nil => Value::Null,
        Val::Bool(flag) => Value::Bool(*flag),
        Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => Value::Int(*number),
        Val::Uint(_, number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Uint(*number),
        },
        Val::Float(number) => Value::Float(*number),
        Val::Str(text) => Value::Str(text.to_text().into_owned()),
        Val::Bytes(bytes) => Value::Str(base64::engine::general_purpose::STANDARD.encode(bytes)),
        Val::List(list) => tree_of_list(list, depth)?,
        Val::Map(map) => tree_of_map(map, depth)?,
        Val::Object(object) => match object.underlying() {
            Some(inner @ (Val::Map(_) | Val::List(_))) => tree(&inner, depth)?,
            _ => object.to_value(),
        },
    })
}

// Loops rather than iterator chains: each level of nesting costs stack.
fn tree_of_list(list: &List, depth: usize) -> Result<Value, TooDeep> {
    if list.is_nil() {
        return Ok(Value::Null);
    }
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.push(tree(item, depth)?);
    }
    Ok(Value::List(items))
}

fn tree_of_map(map: &Map, depth: usize) -> Result<Value, TooDeep> {
    if map.is_nil() {
        return Ok(Value::Null);
    }
    let mut members = crate::value::Map::new();
    for (key, item) in map.borrow().iter() {
        members.insert(key.to_text().into_owned(), tree(item, depth)?);
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
