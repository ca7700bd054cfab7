//! Objects as the API machinery of Kubernetes sees them.

use serde_json::{Map as Object, Number, Value as Json};

use crate::value::Value;

/// Turns a tree into JSON. Integers stay integers; a number without a JSON form becomes null.
pub fn to_object(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Uint(number) => Json::from(*number),
        Value::Float(float) => Number::from_f64(*float).map_or(Json::Null, Json::Number),
        Value::Str(text) => Json::String(text.clone()),
        Value::List(list) => Json::Array(list.iter().map(to_object).collect()),
        Value::Map(map) => {
            let members = map.iter().map(|(key, value)| (key.clone(), to_object(value)));
            Json::Object(members.collect())
        }
    }
}

/// Returns the objects that an object stands for: the items of a list, which may be lists again, or itself.
///
/// As in apimachinery, what has `items` is a list, whatever its kind; an item without kind and version takes
/// them from the list (`ConfigMapList` gives `ConfigMap`).
pub fn flatten(object: Json) -> Vec<Json> {
    let mut flat = Vec::new();
    // Lists nest as deep as their text did, which the reader bounds.
    flatten_into(&mut flat, object);
    flat
}

fn flatten_into(flat: &mut Vec<Json>, object: Json) {
    let Json::Object(mut members) = object else {
        flat.push(object);
        return;
    };
    let items = match members.get_mut("items") {
        Some(Json::Array(items)) => std::mem::take(items),
        _ => {
            flat.push(Json::Object(members));
            return;
        }
    };
    let text = |member: &str| members.get(member).and_then(Json::as_str).unwrap_or_default();
    let kind = text("kind");
    let kind = kind.strip_suffix("List").unwrap_or(kind).to_owned();
    let version = text("apiVersion").to_owned();
    for mut item in items {
        if let Json::Object(members) = &mut item {
            let missing = |members: &Object<String, Json>, member: &str| {
                members.get(member).and_then(Json::as_str).is_none_or(str::is_empty)
            };
            if missing(members, "kind") && missing(members, "apiVersion") {
                members.insert("kind".to_owned(), Json::from(kind.as_str()));
                members.insert("apiVersion".to_owned(), Json::from(version.as_str()));
            }
        }
        flatten_into(flat, item);
    }
}
