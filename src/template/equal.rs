//! `reflect.DeepEqual` and emptiness, over template values.

use super::convert::{TooDeep, Walk};
use super::value::{List, Map, Val};

/// Tells whether both are equal to Go's `reflect.DeepEqual`: also their types must be the same, so that
/// `1` is not `1.0`, and a nil list is not an empty one.
pub fn deep_equal(first: &Val, second: &Val) -> Result<bool, TooDeep> {
    equal(first, second, &mut Walk::new())
}

fn equal(first: &Val, second: &Val, walk: &mut Walk) -> Result<bool, TooDeep> {
    walk.enter()?;
    let answer = match (first, second) {
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
        (Val::List(first), Val::List(second)) => equal_lists(first, second, walk)?,
        (Val::Map(first), Val::Map(second)) => equal_maps(first, second, walk)?,
        (Val::Object(one), Val::Object(other)) => {
            one.type_name() == other.type_name()
                && match (one.underlying(), other.underlying()) {
                    (Some(first), Some(second)) => equal(&first, &second, walk)?,
                    _ => one.equals(other.as_ref()),
                }
        }
        _ => false,
    };
    walk.leave();
    Ok(answer)
}

fn equal_lists(first: &List, second: &List, walk: &mut Walk) -> Result<bool, TooDeep> {
    if first.ptr_eq(second) {
        return Ok(true);
    }
    let alike = first.element() == second.element() && first.is_nil() == second.is_nil();
    if !alike || first.len() != second.len() {
        return Ok(false);
    }
    for (first, second) in first.iter().zip(second.iter()) {
        if !equal(first, second, walk)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(first: &Map, second: &Map, walk: &mut Walk) -> Result<bool, TooDeep> {
    if first.ptr_eq(second) {
        return Ok(true);
    }
    let alike = first.element() == second.element() && first.is_nil() == second.is_nil();
    if !alike || first.len() != second.len() {
        return Ok(false);
    }
    for ((first_key, first), (second_key, second)) in first.borrow().iter().zip(second.borrow().iter()) {
        if first_key != second_key || !equal(first, second, walk)? {
            return Ok(false);
        }
    }
    Ok(true)
}
