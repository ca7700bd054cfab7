//! Maps: `dict`, `get`, `set`, `merge`, `dig`, … Source: sprig `dict.go`; merging: mergo `merge.go`.
//!
//! Maps are shared: `set`, `unset` and the merges change the map they are given and return that same map.

use crate::template::call::{Context, Func, FuncError, FuncResult, any, map, text};
use crate::template::convert::{TooDeep, Walk};
use crate::template::fmt::strval;
use crate::template::text::Str;
use crate::template::types::Type;
use crate::template::value::{Entries, List, Map, Val};

const MAP: Type = Type::ANY_MAP;
const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    Func::variadic("dict", &[Type::Any], dict),
    Func::fixed("get", &[MAP, TEXT], |_, args| {
        Ok(map(args, 0)?.get(text(args, 1)?).unwrap_or_else(|| Val::str("")))
    }),
    Func::fixed("set", &[MAP, TEXT, Type::Any], set),
    Func::fixed("unset", &[MAP, TEXT], unset),
    Func::fixed("hasKey", &[MAP, TEXT], |_, args| Ok(Val::Bool(map(args, 0)?.contains(text(args, 1)?)))),
    Func::variadic("pluck", &[TEXT, MAP], pluck),
    Func::variadic("keys", &[MAP], keys),
    Func::fixed("values", &[MAP], |_, args| {
        Ok(Val::list(map(args, 0)?.entries().into_iter().map(|(_, value)| value).collect()))
    }),
    Func::variadic("pick", &[MAP, TEXT], pick),
    Func::variadic("omit", &[MAP, TEXT], omit),
    Func::variadic("dig", &[Type::Any], dig),
    Func::fixed("deepCopy", &[Type::Any], copy),
    Func::fixed("mustDeepCopy", &[Type::Any], copy),
    Func::variadic("merge", &[MAP, MAP], |_, args| merge_all(args, false)),
    Func::variadic("mustMerge", &[MAP, MAP], |_, args| merge_all(args, false)),
    Func::variadic("mergeOverwrite", &[MAP, MAP], |_, args| merge_all(args, true)),
    Func::variadic("mustMergeOverwrite", &[MAP, MAP], |_, args| merge_all(args, true)),
];

fn dict(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let mut entries = Entries::new();
    for pair in args.chunks(2) {
        let value = pair.get(1).cloned().unwrap_or_else(|| Val::str(""));
        entries.insert(strval(any(pair, 0))?, value);
    }
    Ok(Val::Map(Map::of(Type::Any, entries)))
}

fn set(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let map = map(args, 0)?;
    map.insert(text(args, 1)?.clone(), any(args, 2).clone())?;
    Ok(Val::Map(map.clone()))
}

fn unset(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let map = map(args, 0)?;
    map.remove(text(args, 1)?);
    Ok(Val::Map(map.clone()))
}

fn pluck(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let key = text(args, 0)?;
    let maps = args.get(1..).unwrap_or_default().iter().filter_map(Val::to_map);
    Ok(Val::list(maps.filter_map(|map| map.get(key)).collect()))
}

/// The keys in byte order. Go gives them in a different order each time; charts that care sort them.
fn keys(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(Val::strings(args.iter().filter_map(Val::to_map).flat_map(|map| map.keys())))
}

fn pick(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let map = map(args, 0)?;
    let mut picked = Entries::new();
    for key in args.get(1..).unwrap_or_default().iter().filter_map(Val::as_str) {
        if let Some(value) = map.get(key) {
            picked.insert(key.clone(), value);
        }
    }
    Ok(Val::Map(Map::of(Type::Any, picked)))
}

fn omit(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let mut kept: Entries = map(args, 0)?.borrow().clone();
    for key in args.get(1..).unwrap_or_default().iter().filter_map(Val::as_str) {
        kept.remove(key.as_bytes());
    }
    Ok(Val::Map(Map::of(Type::Any, kept)))
}

/// Go's text for a failed type assertion.
fn not_a(value: &Val, wanted: Type) -> FuncError {
    let name = if value.is_nil() { "nil".to_owned() } else { value.type_name() };
    FuncError::Message(format!("interface conversion: interface {{}} is {name}, not {wanted}"))
}

fn dig(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let [keys @ .., default, start] = args else {
        return Err(FuncError::new("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(FuncError::new("dig needs at least three arguments"));
    }
    // Only a plain map will do; `.Values` itself, a named type, is refused.
    let Val::Map(start) = start else { return Err(not_a(start, MAP)) };
    for key in keys {
        if !matches!(key, Val::Str(_)) {
            return Err(not_a(key, TEXT));
        }
    }
    let mut map = start.clone();
    for (index, key) in keys.iter().enumerate() {
        let Some(step) = key.as_str().and_then(|key| map.get(key)) else { return Ok(default.clone()) };
        if index + 1 == keys.len() {
            return Ok(step);
        }
        let Val::Map(next) = step else { return Err(not_a(&step, MAP)) };
        map = next;
    }
    Ok(default.clone())
}

fn copy(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    match any(args, 0) {
        Val::Nil => Err(FuncError::new("reflect: call of reflect.Value.Type on zero Value")),
        value => Ok(deep_copy(value, &mut Walk::new())?),
    }
}

/// Returns a copy that shares no map or list with the original.
fn deep_copy(value: &Val, walk: &mut Walk) -> Result<Val, TooDeep> {
    walk.enter()?;
    let copy = match value {
        Val::List(list) if !list.is_nil() => {
            let mut items = Vec::with_capacity(list.len());
            for item in list.iter() {
                items.push(deep_copy(item, walk)?);
            }
            Val::List(List::of(list.element(), items))
        }
        Val::Map(map) if !map.is_nil() => {
            let mut entries = Entries::new();
            for (key, item) in map.borrow().iter() {
                entries.insert(key.clone(), deep_copy(item, walk)?);
            }
            Val::Map(Map::of(map.element(), entries))
        }
        Val::Object(object) => match object.underlying() {
            Some(inner @ Val::Map(_)) => {
                let inner = deep_copy(&inner, walk)?.to_map();
                inner.and_then(|inner| object.around(inner)).unwrap_or_else(|| value.clone())
            }
            _ => value.clone(),
        },
        other => other.clone(),
    };
    walk.leave();
    Ok(copy)
}

fn merge_all(args: &[Val], overwrite: bool) -> FuncResult {
    let mut target = map(args, 0)?.clone();
    for source in args.get(1..).unwrap_or_default() {
        let Some(source) = source.to_map() else { continue };
        if target.is_nil() && !source.is_nil() {
            target = Map::new();
        }
        merge(&target, &source, overwrite, &mut Walk::new())?;
    }
    Ok(Val::Map(target))
}

/// Merges `source` into `target`. Without `overwrite` only what is missing or empty in `target` is taken.
/// Values are taken by reference; maps on both sides are merged in place.
fn merge(target: &Map, source: &Map, overwrite: bool, walk: &mut Walk) -> Result<(), FuncError> {
    walk.enter()?;
    // A map merged into itself stays as it is.
    let entries = if target.ptr_eq(source) { Vec::new() } else { source.entries() };
    for (key, new) in entries {
        let old = target.get(&key);
        if new.is_nil() {
            if overwrite {
                target.insert(key, new)?;
            }
            continue;
        }
        if let (Some(old), Some(new)) = (old.as_ref().and_then(Val::to_map), new.to_map()) {
            merge(&old, &new, overwrite, walk)?;
        }
        let both_maps = old.as_ref().is_some_and(|old| old.to_map().is_some()) && new.to_map().is_some();
        let is_taken = match &old {
            Some(old) if old.is_true() => overwrite && !both_maps,
            _ => true,
        };
        if is_taken {
            insert(target, key, new)?;
        }
    }
    walk.leave();
    Ok(())
}

fn insert(target: &Map, key: Str, value: Val) -> Result<(), FuncError> {
    let element = target.element();
    if element != Type::Any && value.go_type() != Some(element) {
        return Err(FuncError::Message(format!(
            "reflect.Value.SetMapIndex: value of type {} is not assignable to type {element}",
            value.type_name()
        )));
    }
    Ok(target.insert(key, value)?)
}
