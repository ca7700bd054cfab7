//! Small steps on tables of values.
//!
//! Helm merges values in place, and several tables of the result are the same Go map: a chart's `.Values`
//! is the parent's table for it, nested `global` tables hang in parent and child at once. A template that
//! changes one of them (`set`) changes what the other sees, and merging into one leaks into the other. So
//! values are merged in the template's own map type, which is shared as Go's is, and not in plain data.

use crate::template::convert::{MAX_DEPTH, TooDeep, from_value};
use crate::template::text::Str;
use crate::template::value::{Map, Val};

/// Returns the member `key`.
pub(crate) fn get(table: &Map, key: &str) -> Option<Val> {
    table.get(key.as_bytes())
}

/// Returns the member `key`, if it is a table.
pub(crate) fn table(table: &Map, key: &str) -> Option<Map> {
    match get(table, key) {
        Some(Val::Map(inner)) => Some(inner),
        _ => None,
    }
}

/// Sets the member `key`.
pub(crate) fn set(table: &Map, key: impl Into<Str>, value: Val) {
    // Fails on nil maps only, and plain data has none.
    table.insert(key.into(), value).ok();
}

/// Returns the table of plain data.
pub(crate) fn from_map(map: &crate::value::Map) -> Map {
    map.iter().map(|(key, value)| (Str::from(key.as_str()), from_value(value))).collect()
}

/// Returns a new table with the same members; tables in it stay shared.
pub(crate) fn shallow_copy(table: &Map) -> Map {
    table.entries().into_iter().collect()
}

/// Returns a copy that shares no table with the original. Lists stay shared: merging replaces them whole.
///
/// # Errors
/// Fails on a table that contains itself.
pub(crate) fn deep_copy(table: &Map) -> Result<Map, TooDeep> {
    copy(table, MAX_DEPTH)
}

fn copy(table: &Map, depth: usize) -> Result<Map, TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    let mut members = Vec::with_capacity(table.len());
    for (key, value) in table.borrow().iter() {
        let value = match value {
            Val::Map(inner) => Val::Map(copy(inner, depth)?),
            other => other.clone(),
        };
        members.push((key.clone(), value));
    }
    Ok(members.into_iter().collect())
}

/// Removes the nulls of a table and of the tables in it, in place.
pub(crate) fn remove_nulls(table: &Map) {
    for (key, value) in table.entries() {
        match value {
            Val::Nil => table.remove(&key),
            Val::Map(inner) => remove_nulls(&inner),
            _ => {}
        }
    }
}

/// Returns the table at a dotted path below this one (Helm's `Values.Table`).
pub(crate) fn table_at(root: &Map, path: &str) -> Option<Map> {
    path.split('.').try_fold(root.clone(), |inner, key| table(&inner, key))
}

/// Returns what lies at a dotted path below this one, unless it is a table (Helm's `Values.PathValue`).
pub(crate) fn value_at(root: &Map, path: &str) -> Option<Val> {
    let (parent, key) = match path.rsplit_once('.') {
        Some((parents, key)) => (table_at(root, parents)?, key),
        None => (root.clone(), path),
    };
    get(&parent, key).filter(|value| !matches!(value, Val::Map(_)))
}
