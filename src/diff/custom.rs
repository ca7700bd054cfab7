//! A custom resource against the schema of a definition that is not there yet: what the server will certainly refuse.
//!
//! Source: Kubernetes `apiextensions.k8s.io/v1`, structural schemas. Only types, required members, enumerations and
//! unknown members are looked at; everything else is left to the server. Nothing that it would accept is refused.

use serde_json::Value as Json;

use super::path::{FieldPath, Step};
use super::refusal::Problem;

/// Returns the schema of a version of a definition, if it has one.
pub fn schema_of<'a>(definition: &'a Json, version: &str) -> Option<&'a Json> {
    let versions = definition["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|candidate| candidate["name"] == version)?;
    version.pointer("/schema/openAPIV3Schema")
}

/// Returns what a schema says against an object.
pub fn check_schema(schema: &Json, object: &Json) -> Vec<Problem> {
    let mut problems = Vec::new();
    check(schema, object, &FieldPath::default(), true, &mut problems);
    problems
}

/// `is_object` for the root and for embedded resources: their heads are not part of the schema.
fn check(schema: &Json, value: &Json, path: &FieldPath, is_object: bool, problems: &mut Vec<Problem>) {
    let mut complain = |message: String| problems.push(Problem { field: path.to_string(), message });
    if value.is_null() {
        if schema["nullable"] != true && schema.get("default").is_none() && !path.0.is_empty() {
            complain("it cannot be null".to_owned());
        }
        return;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        if !value.is_string() && !value.is_number() {
            complain(format!("expected a whole number or text, found {}", kind_of(value)));
        }
        return;
    }
    if let Some(wanted) = schema["type"].as_str().filter(|wanted| !fits(wanted, value)) {
        return complain(format!("expected {wanted}, found {}", kind_of(value)));
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
        let allowed: Vec<String> = allowed.iter().map(Json::to_string).collect();
        complain(format!("it is none of {}", allowed.join(", ")));
    }
    match value {
        Json::Object(members) => {
            let properties = schema["properties"].as_object();
            let open = schema["x-kubernetes-preserve-unknown-fields"] == true
                || schema["additionalProperties"] == true;
            let embedded = is_object || schema["x-kubernetes-embedded-resource"] == true;
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                let default = properties.and_then(|properties| properties.get(name)?.get("default"));
                if !members.contains_key(name) && default.is_none() {
                    let field = path.key(name).to_string();
                    problems.push(Problem { field, message: "it is required".to_owned() });
                }
            }
            for (name, member) in members {
                let path = path.key(name);
                let known = properties.and_then(|properties| properties.get(name));
                if embedded && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                match known.or_else(|| schema.get("additionalProperties").filter(|other| other.is_object())) {
                    Some(schema) => check(schema, member, &path, false, problems),
                    // A schema without any member says nothing about them.
                    None if open || properties.is_none() => {}
                    None => {
                        let message = "the schema does not have this field".to_owned();
                        problems.push(Problem { field: path.to_string(), message });
                    }
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check(&schema["items"], item, &path.join(Step::Index(index)), false, problems);
            }
        }
        _ => {}
    }
}

fn fits(wanted: &str, value: &Json) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        _ => true,
    }
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn problems(spec: Json, expected: &[&str]) {
        let definition = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
        "type": "object", "required": ["spec"], "properties": {"spec": {
            "type": "object", "required": ["size", "mode"], "properties": {
                "size": {"type": "integer"},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "port": {"x-kubernetes-int-or-string": true},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "bare": {"type": "object"},
                "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
                "maybe": {"type": "string", "nullable": true},
                "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
            }}}}}}]}});
        let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec});
        let found: Vec<String> = check_schema(schema_of(&definition, "v1").unwrap(), &object)
            .into_iter()
            .map(|problem| format!("{}: {}", problem.field, problem.message))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(schema_of(&definition, "v2"), None);
    }

    #[test]
    fn what_the_server_will_refuse_is_known_before_its_definition_is_there() {
        problems(json!({"size": 1}), &[]);
        problems(
            json!({"size": 2.0, "mode": "b", "port": "http", "labels": {"a": "b"}, "free": {"x": {"y": 1}}, "bare": {"z": 1},
                "list": [{"n": 1}], "maybe": null, "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}),
            &[],
        );
        problems(json!({}), &["spec.size: it is required"]);
        problems(json!({"size": "1"}), &["spec.size: expected integer, found string"]);
        problems(json!({"size": 1.5}), &["spec.size: expected integer, found number"]);
        problems(json!({"size": 1, "sise": 2}), &["spec.sise: the schema does not have this field"]);
        problems(json!({"size": 1, "mode": "c"}), &["spec.mode: it is none of \"a\", \"b\""]);
        problems(json!({"size": 1, "labels": {"a": 1}}), &["spec.labels.a: expected string, found number"]);
        problems(
            json!({"size": 1, "list": [{"n": "1", "m": 1}]}),
            &[
                "spec.list[0].m: the schema does not have this field",
                "spec.list[0].n: expected number, found string",
            ],
        );
        problems(json!({"size": null}), &["spec.size: it cannot be null"]);
        problems(
            json!({"size": 1, "port": {}}),
            &["spec.port: expected a whole number or text, found object"],
        );
    }
}
