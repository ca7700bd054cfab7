//! JSON patches and JSON merge patches.

use serde_json::{Map, Value};

use crate::sandbox::status::Failure;

/// Applies a JSON patch (RFC 6902).
///
/// # Errors
///
/// Returns 400 for a patch that is none, and 422 for an operation that cannot be carried out.
pub fn patch_json(live: &Value, patch: &Value) -> Result<Value, Failure> {
    let Some(operations) = patch.as_array() else {
        return Err(Failure::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ));
    };
    let mut object = live.clone();
    for operation in operations {
        step(&mut object, operation).ok_or_else(refused)?;
    }
    Ok(object)
}

fn refused() -> Failure {
    let text = "the server rejected our request due to an error in our request";
    Failure::new(422, "Invalid", text)
}

fn step(object: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str()?;
    let value = || operation.get("value").cloned().unwrap_or_default();
    match operation["op"].as_str()? {
        "add" => add(object, path, value()),
        "remove" => remove(object, path).map(drop),
        "replace" => {
            let found = if path.is_empty() { Some(object) } else { object.pointer_mut(path) };
            *found? = value();
            Some(())
        }
        "move" => {
            let moved = remove(object, operation["from"].as_str()?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = object.pointer(operation["from"].as_str()?)?.clone();
            add(object, path, copied)
        }
        "test" => {
            let expected = value();
            let found = object.pointer(path).cloned();
            let equal = match &found {
                Some(found) => super::fieldset::same(found, &expected),
                None => expected.is_null(),
            };
            equal.then_some(())
        }
        _ => None,
    }
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// The place in a list that a step names; negative ones count from the end.
fn place(step: &str, length: usize) -> Option<usize> {
    let index: i64 = step.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        *object = value;
        return Some(());
    }
    let (parent, last) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(members) => drop(members.insert(last, value)),
        Value::Array(elements) => {
            let at = if last == "-" { elements.len() } else { place(&last, elements.len() + 1)? };
            if at > elements.len() {
                return None;
            }
            elements.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(members) => members.remove(&last),
        Value::Array(elements) => {
            let at = place(&last, elements.len())?;
            (at < elements.len()).then(|| elements.remove(at))
        }
        _ => None,
    }
}

/// Applies a JSON merge patch (RFC 7386).
#[must_use]
pub fn patch_merge(live: &Value, patch: &Value) -> Value {
    let Some(changes) = patch.as_object() else { return patch.clone() };
    let mut merged = live.as_object().cloned().unwrap_or_else(Map::new);
    for (key, change) in changes {
        if change.is_null() {
            merged.remove(key);
        } else {
            let old = merged.get(key).cloned().unwrap_or_default();
            merged.insert(key.clone(), patch_merge(&old, change));
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_change_what_they_name() {
        let live = json!({"a": {"b/c": 1}, "l": [1, 2]});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/l/-", "value": 3}]),
                Some(json!({"a": {"b/c": 1}, "l": [1, 2, 3]})),
            ),
            (
                json!([{"op": "add", "path": "/l/0", "value": 0}]),
                Some(json!({"a": {"b/c": 1}, "l": [0, 1, 2]})),
            ),
            (json!([{"op": "remove", "path": "/a/b~1c"}]), Some(json!({"a": {}, "l": [1, 2]}))),
            (json!([{"op": "replace", "path": "/a", "value": null}]), Some(json!({"a": null, "l": [1, 2]}))),
            (
                json!([{"op": "move", "from": "/a/b~1c", "path": "/x"}]),
                Some(json!({"a": {}, "l": [1, 2], "x": 1})),
            ),
            (
                json!([{"op": "copy", "from": "/l/0", "path": "/x"}]),
                Some(json!({"a": {"b/c": 1}, "l": [1, 2], "x": 1})),
            ),
            (json!([{"op": "test", "path": "/l/1", "value": 2.0}]), Some(live.clone())),
            (json!([{"op": "test", "path": "/l/1", "value": 3}]), None),
            (json!([{"op": "remove", "path": "/none"}]), None),
            (json!([{"op": "replace", "path": "/none", "value": 1}]), None),
            (json!([{"op": "add", "path": "/l/9", "value": 1}]), None),
        ] {
            assert_eq!(patch_json(&live, &patch).ok(), expected, "{patch}");
        }
    }

    #[test]
    fn a_null_takes_a_member_out() {
        let merged =
            patch_merge(&json!({"a": {"b": 1, "c": 2}, "d": [1]}), &json!({"a": {"b": null}, "d": [2]}));
        assert_eq!(merged, json!({"a": {"c": 2}, "d": [2]}));
    }
}
