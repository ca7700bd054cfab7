//! Makes a rendered object into what is applied.
//!
//! The marks are Helm's (`pkg/action/validate.go`, `setMetadataVisitor`). The rest keeps server-side apply from
//! leaving things behind: fields that the server converts into others would be owned under the wrong name.

use base64::Engine as _;
use serde_json::{Map, Value as Json};

use crate::manifest::{self, Document, SplitRule};
use crate::model::{
    GroupVersionKind, MANAGED_BY_HELM, MANAGED_BY_LABEL, ObjectKey, RELEASE_NAME_ANNOTATION,
    RELEASE_NAMESPACE_ANNOTATION, ReleaseKey,
};

/// Returns the objects of a stored manifest; lists are taken apart. Documents that hold nothing, or that Helm
/// stored and cannot be read, are passed over.
pub fn stored_objects(text: &str) -> Vec<Json> {
    let documents = manifest::split(text, SplitRule::default());
    let objects = documents.into_iter().filter_map(|document| Some(Document::parse(document).ok()?.object));
    objects.filter(Json::is_object).flat_map(manifest::flatten).collect()
}

/// Returns the object with the marks of its release.
pub fn stamped(mut object: Json, release: &ReleaseKey) -> Json {
    let metadata = member(&mut object, "metadata");
    set(member(metadata, "labels"), MANAGED_BY_LABEL, MANAGED_BY_HELM);
    let annotations = member(metadata, "annotations");
    set(annotations, RELEASE_NAME_ANNOTATION, &release.name);
    set(annotations, RELEASE_NAMESPACE_ANNOTATION, &release.namespace);
    applicable(object)
}

/// Returns the object in the form in which it can be applied without leftovers.
pub fn applicable(mut object: Json) -> Json {
    if let Some(members) = object.as_object_mut() {
        // Never applied to the object itself, and charts that were exported from a cluster carry it.
        members.remove("status");
        if let Some(metadata) = members.get_mut("metadata").and_then(Json::as_object_mut) {
            metadata.remove("creationTimestamp");
            metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) {
                for key in super::sequence::NOT_SENT {
                    annotations.remove(key);
                }
            }
        }
        match members.get("kind").and_then(Json::as_str) {
            Some("Secret") => encode_string_data(members),
            // A controller fills in the rules of a role that others are aggregated into.
            Some("ClusterRole") if members.contains_key("aggregationRule") => drop(members.remove("rules")),
            _ => {}
        }
        if let Some(pod) = pod_spec(members) {
            name_account(pod);
        }
    }
    object
}

/// Returns what an object says about its pods, if it makes some.
fn pod_spec(members: &mut Map<String, Json>) -> Option<&mut Map<String, Json>> {
    let way: &[&str] = match members.get("kind").and_then(Json::as_str)? {
        "Pod" => &[],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &["template", "spec"]
        }
        "CronJob" => &["jobTemplate", "spec", "template", "spec"],
        _ => return None,
    };
    let spec = members.get_mut("spec")?;
    way.iter().try_fold(spec, |value, key| value.get_mut(*key))?.as_object_mut()
}

/// Moves the account of a pod from its old name to its own: the server fills in the other one, and would not notice a
/// change of the old one alone (measured on Kubernetes 1.36).
fn name_account(pod: &mut Map<String, Json>) {
    if let Some(account) = pod.remove("serviceAccount") {
        pod.entry("serviceAccountName").or_insert(account);
    }
}

/// Moves `stringData` into `data`: the server would own it under a name that it does not store, and a key that
/// is dropped later would stay (measured on Kubernetes 1.36). What is no map is left for the server to refuse.
fn encode_string_data(secret: &mut Map<String, Json>) {
    let fits = |member: Option<&Json>| member.is_none_or(|json| json.is_object() || json.is_null());
    if !fits(secret.get("stringData")) || !fits(secret.get("data")) {
        return;
    }
    let Some(Json::Object(plain)) = secret.remove("stringData") else { return };
    let data = secret.entry("data").or_insert(Json::Null);
    if data.is_null() {
        *data = Json::Object(Map::new());
    }
    let Some(data) = data.as_object_mut() else { return };
    for (key, value) in plain {
        let encoded = match value {
            Json::String(text) => Json::from(base64::engine::general_purpose::STANDARD.encode(text)),
            // Not text: the server's own refusal says so best.
            other => other,
        };
        data.insert(key, encoded);
    }
}

/// Returns the key of an object; nothing if it has no kind or name. An object of a namespaced kind that names
/// no namespace goes to the release's.
pub fn key_of(
    object: &Json,
    namespaced: impl Fn(&GroupVersionKind) -> bool,
    release_namespace: &str,
) -> Option<ObjectKey> {
    let gvk = GroupVersionKind::new(object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let name = object["metadata"]["name"].as_str()?.to_owned();
    let namespace = namespaced(&gvk).then(|| {
        let written = object["metadata"]["namespace"].as_str().filter(|namespace| !namespace.is_empty());
        written.unwrap_or(release_namespace).to_owned()
    });
    Some(ObjectKey { gvk, namespace, name })
}

/// Returns what is wrong with an object that has no key, as far as it can be named.
pub fn nameless(object: &Json) -> String {
    let of = |pointer: &str| object.pointer(pointer).filter(|json| !json.is_null());
    let places = ["/apiVersion", "/kind", "/metadata/name"];
    let wrong = places.iter().find(|place| !of(place).is_some_and(Json::is_string)).copied();
    let place = wrong.unwrap_or("/metadata/name").trim_start_matches('/').replace('/', ".");
    let what = match (of("/kind").and_then(Json::as_str), of("/metadata/name").and_then(Json::as_str)) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => format!("an object of kind {kind}"),
        (None, Some(name)) => format!("the object {name}"),
        (None, None) => "an object".to_owned(),
    };
    match wrong.and_then(of) {
        Some(value) => format!("{what} of the manifest: its {place} is {value}, which is no text; quote it"),
        None => format!("{what} of the manifest has no {place}"),
    }
}

fn member<'a>(object: &'a mut Json, key: &str) -> &'a mut Json {
    if !object.is_object() {
        *object = Json::Object(Map::new());
    }
    &mut object[key]
}

fn set(map: &mut Json, key: &str, value: &str) {
    if !map.is_object() {
        *map = Json::Object(Map::new());
    }
    map[key] = Json::from(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_are_helms_and_overwrite_what_the_chart_wrote() {
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": null,
            "annotations": {"meta.helm.sh/release-name": "x", "mine": "1"}}, "status": {}});
        assert_eq!(
            stamped(object, &ReleaseKey::new("shop", "web")),
            json!({"kind": "ConfigMap", "metadata": {"name": "a",
                "labels": {"app.kubernetes.io/managed-by": "Helm"},
                "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop", "mine": "1"}}})
        );
    }

    #[test]
    fn an_object_without_a_key_is_named_as_far_as_it_can_be() {
        for (object, expected) in [
            (
                json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": true}}),
                "an object of kind ConfigMap of the manifest: its metadata.name is true, which is no text; quote it",
            ),
            (
                json!({"kind": "ConfigMap", "apiVersion": "v1"}),
                "an object of kind ConfigMap of the manifest has no metadata.name",
            ),
            (
                json!({"kind": "ConfigMap", "metadata": {"name": "a"}}),
                "ConfigMap a of the manifest has no apiVersion",
            ),
            (
                json!({"metadata": {"name": "a"}, "apiVersion": 1, "kind": "X"}),
                "X a of the manifest: its apiVersion is 1, which is no text; quote it",
            ),
            (json!({}), "an object of the manifest has no apiVersion"),
        ] {
            assert_eq!(nameless(&object), expected);
        }
    }

    #[test]
    fn an_account_goes_by_its_own_name() {
        let object = |spec: Json| json!({"kind": "Deployment", "spec": {"template": {"spec": spec}}});
        for (given, sent) in [
            (json!({"serviceAccount": "a"}), json!({"serviceAccountName": "a"})),
            (json!({"serviceAccount": "a", "serviceAccountName": "b"}), json!({"serviceAccountName": "b"})),
            (json!({}), json!({})),
        ] {
            assert_eq!(applicable(object(given)), object(sent));
        }
    }

    #[test]
    fn string_data_wins_over_data_as_on_the_server() {
        let object = json!({"kind": "Secret", "data": {"a": "QQ==", "b": "Qg=="}, "stringData": {"a": "x"}});
        assert_eq!(applicable(object)["data"], json!({"a": "eA==", "b": "Qg=="}));
        let object = |data: Json, plain: Json| json!({"kind": "Secret", "data": data, "stringData": plain});
        assert_eq!(applicable(object(json!(null), json!({"a": "x"})))["data"], json!({"a": "eA=="}));
        assert_eq!(
            applicable(object(json!({"a": "QQ=="}), json!(null))),
            json!({"kind": "Secret", "data": {"a": "QQ=="}})
        );
        for wrong in [
            object(json!("x"), json!({"a": "x"})),
            object(json!({}), json!("x")),
            object(json!({}), json!([])),
        ] {
            assert_eq!(applicable(wrong.clone()), wrong, "the server refuses it");
        }
    }
}
