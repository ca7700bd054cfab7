//! The OpenAPI documents that the sandbox serves: enough for kubectl and Helm to validate with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::custom::{definition_name, shown};
use super::{Builtin, Resource, Types};

const V3: &str = "#/components/schemas/";
const V2: &str = "#/definitions/";

impl Types {
    /// Returns the OpenAPI v3 document of a group and version; nothing if no kind of it is served.
    #[must_use]
    pub fn openapi_v3(&self, group: &str, version: &str) -> Option<Value> {
        let mut schemas = BTreeMap::new();
        let mut paths = Map::new();
        for resource in self.0.resources.iter().filter(|one| one.group == group && one.version == version) {
            let name = self.collect(resource, V3, &mut schemas);
            add_paths(&mut paths, resource, &name, V3);
        }
        (!paths.is_empty()).then(|| {
            json!({
                "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.3"},
                "paths": paths, "components": {"schemas": schemas},
            })
        })
    }

    /// Returns the OpenAPI v2 document of all kinds.
    #[must_use]
    pub fn openapi_v2(&self) -> Value {
        let mut schemas = BTreeMap::new();
        let mut paths = Map::new();
        for resource in &self.0.resources {
            let name = self.collect(resource, V2, &mut schemas);
            add_paths(&mut paths, resource, &name, V2);
        }
        json!({
            "swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.3"},
            "paths": paths, "definitions": schemas,
        })
    }

    /// Adds the schema of a kind, and all that it refers to; returns its name.
    fn collect(&self, resource: &Resource, prefix: &str, schemas: &mut BTreeMap<String, Value>) -> String {
        let key = (resource.api_version(), resource.kind.clone());
        let mut open = BTreeSet::new();
        let name = match self.0.custom.get(&key) {
            Some(schema) => {
                let name = definition_name(&resource.group, &resource.version, &resource.kind);
                let mut shown = shown(schema, prefix);
                shown["x-kubernetes-group-version-kind"] =
                    json!([{"group": resource.group, "version": resource.version, "kind": resource.kind}]);
                references(schema, &mut open);
                schemas.insert(name.clone(), shown);
                name
            }
            None => {
                let name = Builtin::get().kinds.get(&key).copied().unwrap_or_default();
                open.insert(name.to_owned());
                name.to_owned()
            }
        };
        while let Some(next) = open.pop_first() {
            if schemas.contains_key(&next) {
                continue;
            }
            if let Some(schema) = Builtin::get().definition(&next) {
                references(schema, &mut open);
                schemas.insert(next, shown(schema, prefix));
            }
        }
        name
    }
}

fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(path) = members.get("$ref").and_then(Value::as_str) {
                found.extend(path.rsplit('/').next().map(str::to_owned));
            }
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
        _ => {}
    }
}

/// Adds the paths of a kind. Clients look at `patch`: whether `fieldValidation` is a parameter, and for which kind.
fn add_paths(paths: &mut Map<String, Value>, resource: &Resource, schema: &str, prefix: &str) {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{scope}/{}", resource.plural);
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let answer = json!({"$ref": format!("{prefix}{schema}")});
    let operation = |action: &str| {
        let parameters = ["dryRun", "fieldManager", "fieldValidation"].map(|name| match prefix {
            V2 => json!({"name": name, "in": "query", "type": "string", "uniqueItems": true}),
            _ => json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}),
        });
        let responses = match prefix {
            V2 => json!({"200": {"description": "OK", "schema": answer}}),
            _ => json!({"200": {"description": "OK", "content": {"application/json": {"schema": answer}}}}),
        };
        let mut operation = json!({
            "responses": responses, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind,
        });
        if matches!(action, "post" | "put" | "patch") {
            operation["parameters"] = Value::Array(parameters.to_vec());
        }
        operation
    };
    let has = |verb: &str| resource.verbs.iter().any(|own| own == verb);
    let mut put = |path: String, verbs: &[(&str, &str, &str)]| {
        let found = verbs.iter().filter(|(verb, ..)| has(verb));
        let operations: Map<String, Value> =
            found.map(|(_, method, action)| ((*method).to_owned(), operation(action))).collect();
        if !operations.is_empty() {
            paths.insert(path, Value::Object(operations));
        }
    };
    put(collection.clone(), &[("list", "get", "list"), ("create", "post", "post")]);
    put(
        format!("{collection}/{{name}}"),
        &[
            ("get", "get", "get"),
            ("update", "put", "put"),
            ("patch", "patch", "patch"),
            ("delete", "delete", "delete"),
        ],
    );
}
