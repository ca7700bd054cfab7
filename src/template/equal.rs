//! `reflect.DeepEqual` and emptiness, over template values.

use super::convert::{MAX_DEPTH, TooDeep};
use super::value::{List, Map, Val};

/// Tells whether both are equal to Go's `reflect.DeepEqual`: also their types must be the same, so that
/// `1` is not `1.0`, and a nil list is not an empty one.
pub fn deep_equal(first: &Val, second: &Val) -> Result<bool, TooDeep> {
    equal(first, second, MAX_DEPTH)
}

fn equal(first: &Val, second: &Val, depth: usize) -> Result<bool, TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    Ok(match (first, second) {
        (Val::Nil, Val::Nil) => true,
        (Val::Bool(first), Val::Bool(second)) => first == second,
        (Val::Int(first), Val::Int(second)) | (Val::Int64(first), Val::Int64(second)) => first == second,
        (Val::Sized(first_kind, first), Val::Sized(second_kind, second)) => {
            (first_kind, first) == (second_kind, second)
        }
        (Val::Uint(first_kind, first), Val::Uint(second_kind, second)) => {
            (first_kind, first) == (second_kind, second)
        }
        (Val::Float(first), Val::Float(second)) => first == second,
        (Val::Str(first), Val::Str(second)) | (Val::Bytes(first), Val::Bytes(second)) => first == second,
        (Val::List(first), Val::List(second)) => equal_lists(first, second, depth)?,
        (Val::Map(first), Val::Map(second)) => equal_maps(first, second, depth)?,
        (Val::Object(one), Val::Object(other)) => {
            if one.type_name() != other.type_name() {
                return Ok(false);
            }
            match (one.underlying(), other.underlying()) {
                (Some(first), Some(second)) => equal(&first, &second, depth)?,
                _ => one.equals(other.as_ref()),
            }
        }
        _ => false,
    })
}

fn equal_lists(first: &List, second: &List, depth: usize) -> Result<bool, TooDeep> {
    if first.ptr_eq(second) {
        return Ok(true);
    }
    let alike = first.element() == second.element() && first.is_nil() == second.is_nil();
    if !alike || first.len() != second.len() {
        return Ok(false);
    }
    for (first, second) in first.iter().zip(second.iter()) {
        if !equal(first, second, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(first: &Map, second: &Map, depth: usize) -> Result<bool, TooDeep> {
    if first.ptr_eq(second) {
        return Ok(true);
    }
    let alike = first.element() == second.element() && first.is_nil() == second.is_nil();
    if !alike || first.len() != second.len() {
        return Ok(false);
    }
    for ((first_key, first), (second_key, second)) in first.borrow().iter().zip(second.borrow().iter()) {
        if first_key != second_key || !equal(first, second, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}
