//! Pods and the configuration that they read: which of them would go on with what they read when they started.
//!
//! A ConfigMap or Secret that changes restarts nothing. Charts put a checksum into the pod template for that; where
//! one does not, the plan says so, and `restartOnConfig` adds a digest to what is applied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::ObjectAction;
use super::compare::Manifests;
use super::input::ObservedObject;
use super::judge::Judged;
use super::reason::Reason;

/// Annotation of pod templates with the digest of what the pods read. The record does not have it.
const DIGEST_ANNOTATION: &str = "statectl.io/config-digest";

/// Kinds whose pods go on running, and are replaced when their template changes.
const WORKLOADS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];

/// Kind and name of an object that pods read.
type Source = (&'static str, String);

/// Adds to each pod template the digest of the ConfigMaps and Secrets among the objects that its pods read. A change
/// of one of them is a change of the template then.
pub fn add_digests(objects: &mut [Json]) {
    let digests: Vec<Option<String>> = objects.iter().map(|object| digest(object, objects)).collect();
    for (object, digest) in objects.iter_mut().zip(digests) {
        let Some(digest) = digest else { continue };
        let metadata = table(&mut object["spec"]["template"], "metadata");
        let annotations = table(metadata, "annotations");
        annotations[DIGEST_ANNOTATION] = digest.into();
    }
}

fn table<'a>(json: &'a mut Json, key: &str) -> &'a mut Json {
    let below = &mut json[key];
    if !below.is_object() {
        *below = Json::Object(serde_json::Map::new());
    }
    below
}

fn digest(object: &Json, all: &[Json]) -> Option<String> {
    let read = sources(object);
    let mut found: BTreeMap<(&str, &str), &Json> = BTreeMap::new();
    for other in all.iter().filter(|other| other["metadata"]["namespace"] == object["metadata"]["namespace"])
    {
        let (kind, name) = (other["kind"].as_str()?, other["metadata"]["name"].as_str().unwrap_or_default());
        if read.iter().any(|(wanted, own)| *wanted == kind && own == name) {
            found.insert((kind, name), other);
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut hash = Sha256::new();
    for ((kind, name), config) in found {
        let text =
            serde_json::json!([kind, name, config["data"], config["stringData"], config["binaryData"]]);
        hash.update(text.to_string());
    }
    Some(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// Returns what the pods of a workload read.
fn sources(object: &Json) -> BTreeSet<Source> {
    let mut found = BTreeSet::new();
    if !object["kind"].as_str().is_some_and(|kind| WORKLOADS.contains(&kind)) {
        return found;
    }
    let mut add = |kind: &'static str, name: &Json| {
        found.extend(name.as_str().map(|name| (kind, name.to_owned())));
    };
    let pod = &object["spec"]["template"]["spec"];
    let items = |json: &Json| json.as_array().cloned().unwrap_or_default();
    for volume in items(&pod["volumes"]) {
        add("ConfigMap", &volume["configMap"]["name"]);
        add("Secret", &volume["secret"]["secretName"]);
        for source in items(&volume["projected"]["sources"]) {
            add("ConfigMap", &source["configMap"]["name"]);
            add("Secret", &source["secret"]["name"]);
        }
    }
    for list in ["containers", "initContainers"] {
        for container in items(&pod[list]) {
            for source in items(&container["envFrom"]) {
                add("ConfigMap", &source["configMapRef"]["name"]);
                add("Secret", &source["secretRef"]["name"]);
            }
            for variable in items(&container["env"]) {
                add("ConfigMap", &variable["valueFrom"]["configMapKeyRef"]["name"]);
                add("Secret", &variable["valueFrom"]["secretKeyRef"]["name"]);
            }
        }
    }
    found
}

/// Adds a reason to each workload whose pods go on with configuration that changes in this run.
pub(super) fn mark_stale(
    app: &str,
    objects: &[ObservedObject],
    judged: &mut [Judged],
    manifests: &Manifests,
) -> Vec<Reason> {
    let changed: Vec<(Option<String>, String, String)> = judged
        .iter()
        .filter(|judged| matches!(judged.plan.key.gvk.kind.as_str(), "ConfigMap" | "Secret"))
        .filter(|judged| matches!(judged.plan.action, ObjectAction::Update | ObjectAction::Adopt))
        .filter(|judged| changes_below(judged, &["data", "binaryData"]))
        // What was only changed in the cluster becomes what the pods started with.
        .filter(|judged| !manifests.is_as_recorded(&judged.plan.key))
        .map(|judged| {
            let key = &judged.plan.key;
            (key.namespace.clone(), key.gvk.kind.clone(), key.name.clone())
        })
        .collect();
    let mut found = Vec::new();
    for (object, judged) in objects.iter().zip(judged) {
        let goes_on = matches!(judged.plan.action, ObjectAction::None | ObjectAction::Update)
            && object.live.is_some()
            && !changes_below(judged, &["spec.template"]);
        if !goes_on || changed.is_empty() {
            continue;
        }
        let read = sources(&object.body);
        let stale = changed.iter().filter(|(namespace, kind, name)| {
            *namespace == object.key.namespace && read.iter().any(|(own, other)| own == kind && other == name)
        });
        let configs: Vec<String> = stale.map(|(_, kind, name)| format!("{kind} {name}")).collect();
        if !configs.is_empty() {
            let reason = Reason::StaleConfig { object: object.key.clone(), configs, app: app.to_owned() };
            judged.plan.reasons.push(reason.clone());
            found.push(reason);
        }
    }
    found
}

/// Tells whether the difference has a field at or below one of these.
fn changes_below(judged: &Judged, fields: &[&str]) -> bool {
    let paths = judged.plan.diff.as_ref().map(crate::diff::ObjectDiff::paths).unwrap_or_default();
    paths.iter().any(|path| {
        fields.iter().any(|field| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    })
}

/// Tells whether nothing but the digest of configuration changes: that is our own doing.
pub(super) fn is_only_digest(fields: &[String]) -> bool {
    let digest = format!("spec.template.metadata.annotations[{DIGEST_ANNOTATION:?}]");
    let around = ["spec.template.metadata", "spec.template.metadata.annotations"];
    !fields.is_empty() && fields.iter().all(|field| *field == digest || around.contains(&field.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(pod: Json) -> Json {
        json!({"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": {"spec": pod}}})
    }

    #[test]
    fn every_way_to_read_configuration_is_known() {
        for (pod, expected) in [
            (json!({"volumes": [{"configMap": {"name": "a"}}]}), ("ConfigMap", "a")),
            (json!({"volumes": [{"secret": {"secretName": "a"}}]}), ("Secret", "a")),
            (
                json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "a"}}]}}]}),
                ("ConfigMap", "a"),
            ),
            (json!({"volumes": [{"projected": {"sources": [{"secret": {"name": "a"}}]}}]}), ("Secret", "a")),
            (json!({"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}), ("ConfigMap", "a")),
            (json!({"initContainers": [{"envFrom": [{"secretRef": {"name": "a"}}]}]}), ("Secret", "a")),
            (
                json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "a"}}}]}]}),
                ("ConfigMap", "a"),
            ),
            (
                json!({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "a"}}}]}]}),
                ("Secret", "a"),
            ),
        ] {
            let found: Vec<Source> = sources(&workload(pod.clone())).into_iter().collect();
            assert_eq!(found, [(expected.0, expected.1.to_owned())], "{pod}");
            let mut job = workload(pod);
            job["kind"] = "Job".into();
            assert!(sources(&job).is_empty(), "a Job's pods are not replaced");
        }
    }

    #[test]
    fn a_digest_follows_what_the_pods_read_and_nothing_else() {
        let with = |value: &str, other: &str| {
            let mut objects = [
                workload(json!({"volumes": [{"configMap": {"name": "a"}}]})),
                json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": value}}),
                json!({"kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"x": other}}),
                json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "elsewhere"}, "data": {"x": other}}),
                workload(json!({"volumes": [{"configMap": {"name": "of-no-chart"}}]})),
            ];
            add_digests(&mut objects);
            assert_eq!(objects[4]["spec"]["template"].get("metadata"), None);
            objects[0]["spec"]["template"]["metadata"]["annotations"][DIGEST_ANNOTATION].clone()
        };
        assert!(with("1", "1").is_string());
        assert_eq!(with("1", "1"), with("1", "2"));
        assert_ne!(with("1", "1"), with("2", "1"));
        assert!(is_only_digest(&[
            "spec.template.metadata.annotations[\"statectl.io/config-digest\"]".to_owned()
        ]));
        assert!(!is_only_digest(&[]));
        assert!(!is_only_digest(&["spec.replicas".to_owned()]));
    }
}
