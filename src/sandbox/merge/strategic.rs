//! Strategic merge patches: lists are merged by the keys that types name, with the directives that clients send.
//!
//! Source: Kubernetes `apimachinery/pkg/util/strategicpatch`.

use serde_json::{Map, Value};

use super::fieldset::same;
use crate::sandbox::schema::{Type, Types};
use crate::sandbox::status::Failure;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_PREFIX: &str = "$deleteFromPrimitiveList/";
const ORDER_PREFIX: &str = "$setElementOrder/";

/// Applies a strategic merge patch.
///
/// # Errors
///
/// Returns 415 for a custom kind, which has none, and 400 for a patch that cannot be read or lacks the keys of its lists.
pub fn patch_strategic(types: &Types, live: &Value, patch: &Value) -> Result<Value, Failure> {
    if types.is_custom(live) {
        let text = "the body of the request was in an unknown format - accepted media types include: \
                    application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, \
                    application/apply-patch+cbor";
        return Err(Failure::new(415, "UnsupportedMediaType", text));
    }
    let kind = types.of(live).unwrap_or_else(Type::untyped);
    let Some(changes) = patch.as_object() else {
        return Err(Failure::bad_request(
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ));
    };
    let original = live.as_object().cloned().unwrap_or_default();
    merge_map(kind, original, changes.clone())
        .map(Value::Object)
        .map_err(|why| Failure::new(422, "Invalid", why))
}

/// How lists and objects of a field are merged.
struct Strategy<'a> {
    merges: bool,
    replaces: bool,
    key: &'a str,
}

fn strategy<'a>(field: Option<Type<'a>>) -> Strategy<'a> {
    let word = |key: &str| field.and_then(|field| field.says(key).as_str()).unwrap_or_default();
    let all = word("x-kubernetes-patch-strategy");
    let has = |one: &str| all.split(',').any(|strategy| strategy == one);
    Strategy { merges: has("merge"), replaces: has("replace"), key: word("x-kubernetes-patch-merge-key") }
}

type Members = Map<String, Value>;

fn merge_map(kind: Type<'_>, mut original: Members, mut patch: Members) -> Result<Members, String> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(Value::String(word)) if word == "replace" => return Ok(patch),
        Some(Value::String(word)) if word == "delete" => return Ok(Members::new()),
        Some(other) => return Err(format!("Unknown patch type {other} in map")),
    }
    if let Some(keys) = patch.remove(RETAIN_KEYS) {
        let Some(keys) = keys.as_array() else { return Err(bad_retain_keys()) };
        let is_kept = |key: &str| keys.iter().any(|kept| kept == key);
        let is_directive = |key: &str| key.starts_with(DELETE_PREFIX) || key.starts_with(ORDER_PREFIX);
        if patch.iter().any(|(key, value)| !value.is_null() && !is_directive(key) && !is_kept(key)) {
            return Err(bad_retain_keys());
        }
        original.retain(|key, _| is_kept(key));
    }
    order_lists(kind, &mut original, &mut patch)?;
    for (key, change) in patch {
        let deletes = key.strip_prefix(DELETE_PREFIX);
        let key = deletes.unwrap_or(&key).to_owned();
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        let field = kind.member(&key);
        let below = field.unwrap_or_else(Type::untyped);
        let how = strategy(field);
        let merged = match (original.remove(&key), change) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                Some(Value::Object(if how.replaces { new } else { merge_map(below, old, new)? }))
            }
            (Some(Value::Array(old)), Value::Array(new)) => Some(Value::Array(if deletes.is_some() {
                old.into_iter().filter(|value| !new.contains(value)).collect()
            } else if how.merges {
                merge_list(below, old, new, how.key)?
            } else {
                new
            })),
            (old, _) if deletes.is_some() => old,
            (Some(old), new) if is_scalar(&old) == is_scalar(&new) => without_directives(new),
            (_, new) => without_directives(without_nulls(new)),
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

fn bad_retain_keys() -> String {
    "invalid patch format of $retainKeys, expected a list of all fields that are in the patch".to_owned()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Carries out the directives that give lists an order, with the changes of these lists.
fn order_lists(kind: Type<'_>, original: &mut Members, patch: &mut Members) -> Result<(), String> {
    let ordered: Vec<String> = patch.keys().filter(|key| key.starts_with(ORDER_PREFIX)).cloned().collect();
    for directive in ordered {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err("invalid patch format of setElementOrder list".to_owned());
        };
        let key = &directive[ORDER_PREFIX.len()..];
        let field = kind.member(key);
        let how = strategy(field);
        let gone = patch.remove(&format!("{DELETE_PREFIX}{key}"));
        let old = match original.remove(key) {
            Some(Value::Array(mut old)) => {
                if let Some(Value::Array(gone)) = gone {
                    old.retain(|value| !gone.contains(value));
                }
                Some(old)
            }
            other => {
                original.extend(other.map(|other| (key.to_owned(), other)));
                None
            }
        };
        let new = match patch.remove(key) {
            Some(Value::Array(new)) => Some(new),
            other => {
                patch.extend(other.map(|other| (key.to_owned(), other)));
                None
            }
        };
        let merged = match (old.clone(), new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) if how.merges => {
                merge_list(field.unwrap_or_else(Type::untyped), old, new, how.key)?
            }
            (Some(_), Some(new)) => new,
        };
        original.insert(
            key.to_owned(),
            Value::Array(in_order(merged, &order, &old.unwrap_or_default(), how.key)),
        );
    }
    Ok(())
}

/// The place of an element in a list, by its key or its value.
fn place(list: &[Value], element: &Value, key: &str) -> Option<usize> {
    list.iter().position(|one| match key {
        "" => same(one, element),
        key => one.get(key).is_some() && one.get(key) == element.get(key),
    })
}

/// Puts elements in the order of a patch; those it does not name keep the server's.
fn in_order(merged: Vec<Value>, order: &[Value], server: &[Value], key: &str) -> Vec<Value> {
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|element| place(order, element, key).is_some());
    named.sort_by_key(|element| place(order, element, key));
    others.sort_by_key(|element| place(server, element, key));
    let mut all = Vec::new();
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let first = match (others.peek(), named.peek()) {
            (Some(other), Some(one)) => match (place(server, other, key), place(server, one, key)) {
                (Some(other), Some(one)) => other < one,
                _ => false,
            },
            (Some(_), None) => true,
            (None, _) => false,
        };
        match if first { others.next() } else { named.next() } {
            Some(element) => all.push(element),
            None => return all,
        }
    }
}

fn merge_list(
    kind: Type<'_>,
    original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<Vec<Value>, String> {
    let server = original.clone();
    if !original.iter().chain(&patch).any(Value::is_object) {
        let mut merged: Vec<Value> = Vec::new();
        for value in original.into_iter().chain(patch.iter().cloned()) {
            if !merged.contains(&value) {
                merged.push(value);
            }
        }
        return Ok(in_order(merged, &patch, &server, ""));
    }
    if key.is_empty() {
        return Err("cannot merge lists without merge key for ".to_owned() + kind.name());
    }
    let no_key = |element: &Value| format!("map: {element} does not contain declared merge key: {key}");
    let mut merged = original;
    let mut changes = Vec::new();
    let mut replace = false;
    for element in patch {
        match element.get(DIRECTIVE).and_then(Value::as_str) {
            None => changes.push(element),
            Some("delete") => {
                let wanted = element.get(key).ok_or_else(|| no_key(&element))?;
                merged.retain(|one| one.get(key) != Some(wanted));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err("merging lists cannot yet be specified in the patch".to_owned()),
            Some(other) => return Err(format!("Unknown patch type {other} in map: {element}")),
        }
    }
    if replace {
        return Ok(changes);
    }
    for change in &changes {
        change.get(key).ok_or_else(|| no_key(change))?;
        let changed = change.as_object().cloned().unwrap_or_default();
        match place(&merged, change, key) {
            Some(at) => {
                let old = merged[at].as_object().cloned().unwrap_or_default();
                merged[at] = Value::Object(merge_map(kind.item(), old, changed)?);
            }
            None => merged.extend(without_directives(change.clone())),
        }
    }
    Ok(in_order(merged, &changes, &server, key))
}

/// Takes directives out of what is new; nothing is left of what one says to delete.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| !key.starts_with('$'));
            Some(Value::Object(
                kept.filter_map(|(key, value)| Some((key, without_directives(value)?))).collect(),
            ))
        }
        Value::Array(elements) => Some(elements.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
