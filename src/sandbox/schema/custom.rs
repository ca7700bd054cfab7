//! Kinds that CustomResourceDefinitions add.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::types::{Shape, Type};
use super::{Resource, Served, Subresource, Types};

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

impl Types {
    /// Returns the kinds with those of a CustomResourceDefinition: it adds, or replaces, all versions that are served.
    #[must_use]
    pub fn with_crd(&self, crd: &Value) -> Self {
        let mut served = self.without(crd);
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                let (resource, schema) = (resource(crd, version), schema(version));
                let key = (resource.api_version(), resource.kind.clone());
                served.custom.insert(key, Arc::new(schema));
                // Kinds of one group stand together, as in discovery.
                let at = served.resources.iter().rposition(|one| one.group == resource.group);
                let at = at.map_or(served.resources.len(), |at| at + 1);
                served.resources.insert(at, Arc::new(resource));
            }
        }
        Self(Arc::new(served))
    }

    /// Returns the kinds without those of a CustomResourceDefinition.
    #[must_use]
    pub fn without_crd(&self, crd: &Value) -> Self {
        Self(Arc::new(self.without(crd)))
    }

    fn without(&self, crd: &Value) -> Served {
        let mut served = Served::clone(&self.0);
        let group = crd["spec"]["group"].as_str().unwrap_or_default();
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let own = |one: &Arc<Resource>| one.group == group && one.plural == plural;
        for gone in served.resources.iter().filter(|one| own(one)) {
            served.custom.remove(&(gone.api_version(), gone.kind.clone()));
        }
        served.resources.retain(|one| !own(one));
        served
    }

    /// Cuts out of a custom object what its schema does not name, and fills in the defaults of the schema.
    pub fn prune_and_default(&self, object: &mut Value) {
        if self.is_custom(object)
            && let Some(kind) = self.of(&object.clone())
        {
            prune(kind, object);
            default(kind, object);
        }
    }
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn resource(crd: &Value, version: &Value) -> Resource {
    let names = &crd["spec"]["names"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, version_name) = (word(&crd["spec"]["group"]), word(&version["name"]));
    let kind = word(&names["kind"]);
    let verbs: Vec<String> = ["get", "patch", "update"].map(str::to_owned).to_vec();
    let mut subresources = Vec::new();
    if version["subresources"]["status"].is_object() {
        subresources.push(Subresource {
            name: "status".to_owned(),
            group: group.clone(),
            version: version_name.clone(),
            kind: kind.clone(),
            verbs: verbs.clone(),
        });
    }
    if version["subresources"]["scale"].is_object() {
        subresources.push(Subresource {
            name: "scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            kind: "Scale".to_owned(),
            verbs,
        });
    }
    let singular = match word(&names["singular"]) {
        none if none.is_empty() => kind.to_lowercase(),
        given => given,
    };
    Resource {
        plural: word(&names["plural"]),
        short_names: words(&names["shortNames"]),
        categories: words(&names["categories"]),
        verbs: VERBS.map(str::to_owned).to_vec(),
        namespaced: crd["spec"]["scope"] == "Namespaced",
        group,
        version: version_name,
        kind,
        singular,
        subresources,
    }
}

/// The schema of a version, with what every object has.
fn schema(version: &Value) -> Value {
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    if !schema.is_object() {
        schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    schema["properties"]["apiVersion"] = json!({"type": "string"});
    schema["properties"]["kind"] = json!({"type": "string"});
    schema["properties"]["metadata"] = json!({"allOf": [{"$ref": metadata}]});
    schema
}

/// Tells whether a value is an object of its own inside a custom one.
fn is_embedded(kind: Type<'_>) -> bool {
    kind.says("x-kubernetes-embedded-resource") == true
}

fn prune(kind: Type<'_>, value: &mut Value) {
    let shape = kind.shape(Some(value));
    match value {
        Value::Object(members) if shape == Shape::Map => {
            let keeps = kind.says("x-kubernetes-preserve-unknown-fields") == true;
            let embedded = is_embedded(kind);
            members.retain(|key, member| {
                if !kind.name().is_empty()
                    || (embedded && ["apiVersion", "kind", "metadata"].contains(&key.as_str()))
                {
                    return true;
                }
                let open = kind.schema()["additionalProperties"].is_object()
                    || kind.schema()["additionalProperties"] == true;
                let of = kind.field(key).or_else(|| if open { kind.member(key) } else { None });
                match of {
                    // A null where a default stands, and null is not allowed, is no value.
                    Some(of)
                        if member.is_null()
                            && of.says("nullable") != true
                            && !of.says("default").is_null() =>
                    {
                        false
                    }
                    Some(of) => {
                        prune(of, member);
                        true
                    }
                    None => keeps,
                }
            });
        }
        Value::Array(elements) if shape == Shape::List => {
            elements.iter_mut().for_each(|element| prune(kind.item(), element));
        }
        _ => {}
    }
}

fn default(kind: Type<'_>, value: &mut Value) {
    let shape = kind.shape(Some(value));
    match value {
        Value::Object(members) if shape == Shape::Map && kind.name().is_empty() => {
            for key in kind.fields() {
                let Some(of) = kind.field(key) else { continue };
                if of.name().is_empty() && !of.says("default").is_null() && !members.contains_key(key) {
                    members.insert(key.to_owned(), of.says("default").clone());
                }
            }
            for (key, member) in members.iter_mut() {
                if let Some(of) = kind.member(key) {
                    default(of, member);
                }
            }
        }
        Value::Array(elements) if shape == Shape::List => {
            elements.iter_mut().for_each(|element| default(kind.item(), element));
        }
        _ => {}
    }
}

/// Returns a schema as documents show it: without what only the sandbox reads.
pub(super) fn shown(schema: &Value, prefix: &str) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, value)| *key != "x-go" || !value.is_string());
            let show = |(key, value): (&String, &Value)| {
                let shown = match (key.as_str(), value.as_str()) {
                    ("$ref", Some(path)) => {
                        format!("{prefix}{}", path.rsplit('/').next().unwrap_or_default()).into()
                    }
                    _ => shown(value, prefix),
                };
                (key.clone(), shown)
            };
            Value::Object(kept.map(show).collect::<Map<_, _>>())
        }
        Value::Array(elements) => elements.iter().map(|element| shown(element, prefix)).collect(),
        other => other.clone(),
    }
}

/// Returns the name under which documents show the schema of a custom kind.
pub(super) fn definition_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().collect();
    parts.extend([version, kind]);
    parts.join(".")
}
