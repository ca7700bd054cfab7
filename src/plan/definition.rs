//! What a new form of a custom resource definition would take from the objects that exist.
//!
//! The server checks that no stored version goes; it accepts a schema without a field that objects use, and drops the
//! field from each object that is written next. The idea of the check: carvel kapp, `crdupgradesafety`.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::ObjectAction;
use super::guard::{Keys, covers};
use super::input::{ObservedObject, ServerAnswer};
use super::judge::Judged;
use super::loss::Lost;
use super::reason::Reason;
use crate::model::ObjectKey;

/// Most levels of a schema that are compared.
const DEEPEST: usize = 64;

/// Tells whether an object is a definition.
pub fn is_definition(key: &ObjectKey) -> bool {
    key.gvk.group == "apiextensions.k8s.io" && key.gvk.kind == "CustomResourceDefinition"
}

/// Returns what the new form of a definition takes away, such as `v1: spec.size is gone`; empty if nothing.
pub fn narrows(live: &Json, new: &Json) -> Vec<String> {
    let mut found = Vec::new();
    let versions = |definition: &Json| -> Vec<Json> {
        definition["spec"]["versions"].as_array().cloned().unwrap_or_default()
    };
    let now = versions(new);
    for old in versions(live) {
        let name = old["name"].as_str().unwrap_or_default();
        let Some(new) = now.iter().find(|version| version["name"] == old["name"]) else {
            found.push(format!("version {name} is gone"));
            continue;
        };
        if old["served"] == true && new["served"] != true {
            found.push(format!("version {name} is not served any more"));
        }
        let schema = |version: &Json| version["schema"]["openAPIV3Schema"].clone();
        let mut path = Vec::new();
        compare(&schema(&old), &schema(new), name, &mut path, &mut found);
    }
    found
}

fn compare(old: &Json, new: &Json, version: &str, path: &mut Vec<String>, found: &mut Vec<String>) {
    if path.len() > DEEPEST || keeps_everything(new) {
        return;
    }
    let place = |path: &[String]| if path.is_empty() { "the object".to_owned() } else { path.join(".") };
    if let (Some(from), Some(to)) = (old["type"].as_str(), new["type"].as_str())
        && from != to
        && !(from == "integer" && to == "number")
    {
        found.push(format!("{version}: {} was {from} and is {to}", place(path)));
        return;
    }
    let required = |schema: &Json| -> BTreeSet<String> {
        let names = schema["required"].as_array().into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for name in required(new).difference(&required(old)) {
        // With a default the server fills it in.
        if new["properties"][name]["default"].is_null() {
            found.push(format!(
                "{version}: {} is required now",
                place(&[path.as_slice(), std::slice::from_ref(name)].concat())
            ));
        }
    }
    for (name, below) in old["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        match &new["properties"][name] {
            Json::Null if !new["additionalProperties"].is_object() && new["additionalProperties"] != true => {
                found.push(format!("{version}: {} is gone", place(path)));
            }
            Json::Null => {}
            above => compare(below, above, version, path, found),
        }
        path.pop();
    }
    for (member, sign) in [("items", "[]"), ("additionalProperties", "*")] {
        if old[member].is_object() && new[member].is_object() {
            path.push(sign.to_owned());
            compare(&old[member], &new[member], version, path, found);
            path.pop();
        }
    }
}

fn keeps_everything(schema: &Json) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

/// Adds to the decision about a definition what its new form takes from existing objects. With `guarded` that takes
/// `allowDataLoss`: the file asked for the update, not the chart's author.
pub(super) fn guard(judged: Judged, object: &ObservedObject, keys: &Keys, guarded: bool) -> Judged {
    let (ServerAnswer::Accepted { result, .. }, Some(live)) = (&object.answer, &object.live) else {
        return judged;
    };
    if !is_definition(&object.key) || judged.plan.action != ObjectAction::Update {
        return judged;
    }
    let changes = narrows(live, result);
    let used = match &object.around.lost {
        Ok(lost) => lost.iter().any(|lost| matches!(lost, Lost::Objects { count, .. } if *count > 0)),
        Err(_) => true,
    };
    if changes.is_empty() || !used {
        return judged;
    }
    let app = keys.app().filter(|_| guarded && !covers(keys, &object.key));
    let lost = object.around.lost.clone();
    let reason = Reason::DefinitionNarrows { object: object.key.clone(), changes, lost, app };
    match &reason {
        Reason::DefinitionNarrows { app: Some(_), .. } => {
            let mut refused = Judged::refused(&object.key, vec![reason]);
            refused.plan.diff = judged.plan.diff;
            refused
        }
        _ => {
            let mut judged = judged;
            judged.plan.reasons.push(reason);
            judged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(old: Json, new: Json, expected: &[&str]) {
        let definition = |schema: Json| json!({"spec": {"versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}]}});
        assert_eq!(narrows(&definition(old), &definition(new)), expected);
    }

    #[test]
    fn what_a_schema_takes_away_is_named() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let with = |properties: Json| json!({"type": "object", "properties": properties});
        let spec = |properties: Json| with(json!({"spec": with(properties)}));
        check(spec(json!({"a": {"type": "string"}})), spec(json!({"a": {"type": "string"}})), &[]);
        check(spec(json!({"a": {"type": "string"}})), spec(json!({})), &["v1: spec.a is gone"]);
        check(spec(json!({"a": {"type": "string"}})), open.clone(), &[]);
        check(spec(json!({"a": {"type": "string"}})), with(json!({"spec": open})), &[]);
        check(
            spec(json!({"a": {"type": "string"}})),
            with(json!({"spec": {"type": "object", "additionalProperties": {"type": "string"}}})),
            &[],
        );
        check(
            spec(json!({"a": {"type": "integer"}, "b": {"type": "integer"}})),
            spec(json!({"a": {"type": "number"}, "b": {"type": "string"}})),
            &["v1: spec.b was integer and is string"],
        );
        check(
            spec(json!({"l": {"type": "array", "items": with(json!({"x": {"type": "string"}}))}})),
            spec(json!({"l": {"type": "array", "items": with(json!({}))}})),
            &["v1: spec.l.[].x is gone"],
        );
        let required = |names: Json, default: Json| json!({"type": "object", "required": names, "properties": {"a": {"type": "string", "default": default}}});
        check(
            required(json!([]), Json::Null),
            required(json!(["a"]), Json::Null),
            &["v1: a is required now"],
        );
        check(required(json!([]), Json::Null), required(json!(["a"]), json!("x")), &[]);
        check(required(json!(["a"]), Json::Null), required(json!([]), Json::Null), &[]);
    }

    #[test]
    fn versions_that_go_are_named() {
        let definition = |versions: Json| json!({"spec": {"versions": versions}});
        let both = definition(json!([{"name": "v1", "served": true}, {"name": "v2", "served": true}]));
        let one = definition(json!([{"name": "v2", "served": true}]));
        let hidden = definition(json!([{"name": "v1", "served": false}, {"name": "v2", "served": true}]));
        assert_eq!(narrows(&both, &one), ["version v1 is gone"]);
        assert_eq!(narrows(&both, &hidden), ["version v1 is not served any more"]);
        assert_eq!(narrows(&one, &both), [""; 0]);
        // A schema without an end is not followed for ever.
        let mut deep = json!({});
        for _ in 0..500 {
            deep = json!({"properties": {"a": deep}});
        }
        let deep = definition(json!([{"name": "v1", "schema": {"openAPIV3Schema": deep}}]));
        assert_eq!(narrows(&deep, &deep), [""; 0]);
    }
}
