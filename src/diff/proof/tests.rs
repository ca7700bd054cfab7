//! Each rule of the proof, and each doubt that stops it.

use serde_json::{Value as Json, json};

use super::*;

/// A live Deployment: two containers, one of another manager between; defaults everywhere.
fn live() -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "d", "namespace": "n", "uid": "u", "resourceVersion": "5", "generation": 1,
            "labels": {"a": "1"},
            "finalizers": ["x/y"],
            "managedFields": entries()
        },
        "secrets": [{"name": "s"}],
        "spec": {
            "replicas": 2, "paused": false,
            "selector": {"matchLabels": {"a": "1"}},
            "empty": {},
            "template": {"spec": {"dnsPolicy": "ClusterFirst", "containers": [
                {"name": "a", "image": "i", "args": ["x", "y"], "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "1"}},
                    "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                {"name": "side"},
                {"name": "b"}]}}
        },
        "status": {"replicas": 2}
    })
}

fn entries() -> Json {
    json!([
                    {"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x/y\"": {}}},
                        "f:secrets": {"k:{\"name\":\"s\"}": {}},
                        "f:spec": {
                            "f:replicas": {},
                            "f:selector": {},
                            "f:empty": {},
                            "f:env": {},
                            "f:template": {"f:spec": {"f:containers": {
                                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {}, "f:resources": {"f:limits": {"f:cpu": {}}},
                                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}},
                                "k:{\"name\":\"b\"}": {".": {}, "f:name": {}}}}}}}},
                    {"manager": "injector", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"side\"}": {".": {}, "f:name": {}}}}}}}},
                    {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "apiVersion": "apps/v1",
                        "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:replicas": {}}}}
    ])
}

fn desired() -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"a": "1"}, "finalizers": ["x/y"]},
        "secrets": [{"name": "s"}],
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "1"}},
            "empty": {},
            "env": [],
            "template": {"spec": {"containers": [
                {"name": "a", "image": "i", "args": ["x", "y"], "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]},
                {"name": "b"}]}}
        }
    })
}

#[test]
fn an_object_that_has_what_is_sent_and_no_other_field_of_ours_is_proven() {
    assert_eq!(prove_unchanged(&desired(), &live(), "helm"), Ok(Proof { fields: 13 }));
}

/// Replaces, or with null removes, the value at a JSON pointer.
fn with(mut object: Json, pointer: &str, value: Json) -> Json {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    match object.pointer_mut(above).unwrap() {
        Json::Object(members) if value.is_null() => drop(members.remove(key)),
        Json::Object(members) => drop(members.insert(key.to_owned(), value)),
        Json::Array(items) if value.is_null() => drop(items.remove(key.parse().unwrap())),
        Json::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        other => panic!("{other} has no members"),
    }
    object
}

#[track_caller]
fn doubt(desired: &Json, live: &Json) -> String {
    prove_unchanged(desired, live, "helm").expect_err("it is not proven").to_string()
}

#[test]
fn whatever_is_sent_differently_is_a_doubt() {
    const A: &str = "/spec/template/spec/containers/0";
    for (pointer, value, expected) in [
        ("/apiVersion", json!("apps/v1beta2"), "it is applied in another API version"),
        ("/secrets/0/kind", json!("K"), "secrets[0] has another value or spelling"),
        ("/secrets/0", json!({"name": "t"}), "secrets[name=s] is owned and no longer sent"),
        ("/spec/replicas", json!(3), "spec.replicas has another value or spelling"),
        ("/spec/replicas", json!(2.0), "spec.replicas has another value or spelling"),
        ("/spec/replicas", json!("2"), "spec.replicas has another value or spelling"),
        ("/spec/replicas", json!(null), "spec.replicas is owned and no longer sent"),
        ("/spec/paused", json!(false), "spec.paused is not owned yet"),
        ("/spec/selector/matchLabels/b", json!("2"), "spec.selector has another value or spelling"),
        ("/spec/empty", json!({"x": {}}), "spec.empty has another value or spelling"),
        ("/spec/env", json!(["x"]), "spec.env has another value or spelling"),
        ("/metadata/labels", json!({}), "metadata.labels.a is owned and no longer sent"),
        ("/metadata/labels/b", json!("2"), "metadata.labels.b is not owned yet"),
        ("/metadata/finalizers/0", json!("z/y"), "metadata.finalizers[=\"x/y\"] is owned and no longer sent"),
        ("/metadata/uid", json!("u"), "it sends metadata.uid, which is the server's"),
        ("/metadata/ownerReferences", json!([]), "it sends metadata.ownerReferences, which is the server's"),
        (
            "/spec/template/spec/containers/0/args",
            json!(["y", "x"]),
            "spec.template.spec.containers[0].args has another value or spelling",
        ),
        (
            "/spec/template/spec/containers/0/args",
            json!(["x", null]),
            "the elements of spec.template.spec.containers[0].args cannot be matched for certain",
        ),
        (
            "/spec/template/spec/containers/0/resources/limits/cpu",
            json!("1000m"),
            "spec.template.spec.containers[0].resources.limits.cpu has another value or spelling",
        ),
        (
            "/spec/template/spec/containers/0/imagePullPolicy",
            json!("Always"),
            "spec.template.spec.containers[0].imagePullPolicy is not owned yet",
        ),
        (
            "/spec/template/spec/containers/1",
            json!(null),
            "spec.template.spec.containers[name=b] is owned and no longer sent",
        ),
        (
            "/spec/template/spec/containers/1",
            json!({"name": "side"}),
            "spec.template.spec.containers[name=b] is owned and no longer sent",
        ),
        (
            "/spec/template/spec/containers/0/ports/0",
            json!({"containerPort": 80, "protocol": "TCP"}),
            "spec.template.spec.containers[0].ports[containerPort=80,protocol=TCP] is owned and no longer sent",
        ),
        (
            "/spec/template/spec/containers/0/ports/0",
            json!({"containerPort": 81}),
            "spec.template.spec.containers[0].ports[containerPort=80,protocol=TCP] is owned and no longer sent",
        ),
    ] {
        assert_eq!(doubt(&with(desired(), pointer, value), &live()), expected, "{pointer}");
    }
    let null = json!({"x": null});
    let mut with_null = desired();
    with_null["spec"]["replicas"] = Json::Null;
    assert_eq!(doubt(&with_null, &live()), "spec.replicas is null");
    with_null = with(desired(), "/spec/selector", null);
    assert!(doubt(&with_null, &live()).contains("cannot be matched"));
    let mut reversed = desired();
    reversed["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().reverse();
    assert_eq!(doubt(&reversed, &live()), "spec.template.spec.containers has another value or spelling");
    let twice = with(desired(), "/spec/template/spec/containers/1", desired().pointer(A).unwrap().clone());
    assert!(doubt(&twice, &live()).contains("name=b"));
    let mut duplicate = desired();
    let containers = duplicate["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
    containers.push(json!({"name": "b"}));
    assert!(doubt(&duplicate, &live()).contains("cannot be matched"));
}

#[test]
fn whatever_is_there_differently_is_a_doubt() {
    for (pointer, value, expected) in [
        ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"), "it is being deleted"),
        ("/metadata/managedFields", json!([]), "it was never applied under this name"),
        (
            "/metadata/managedFields/0/operation",
            json!("Update"),
            "other writes were made under the same name",
        ),
        (
            "/metadata/managedFields/0/subresource",
            json!("scale"),
            "other writes were made under the same name",
        ),
        (
            "/metadata/managedFields/0/apiVersion",
            json!("apps/v1beta2"),
            "other writes were made under the same name",
        ),
        ("/metadata/managedFields/1/manager", json!("helm"), "other writes were made under the same name"),
        ("/metadata/managedFields/0/fieldsV1", json!("text"), "other writes were made under the same name"),
        ("/metadata/managedFields/0/fieldsV1/f:data", json!({"f:a": {}}), "data is owned and no longer sent"),
        (
            "/metadata/managedFields/0/fieldsV1/f:spec/f:replicas",
            json!(null),
            "spec.replicas is not owned yet",
        ),
        // The server takes a list for one value only if nobody owns parts of it.
        (
            "/metadata/managedFields/1/fieldsV1/f:spec/f:selector",
            json!({"f:matchLabels": {"f:a": {}}}),
            "the elements of spec.selector cannot be matched for certain",
        ),
        ("/spec/empty", json!({"filled": 1}), "spec.empty has another value or spelling"),
        ("/spec/env", json!(["x"]), "spec.env has another value or spelling"),
        ("/spec/selector/matchLabels/b", json!("2"), "spec.selector has another value or spelling"),
        (
            "/spec/template/spec/containers/2",
            json!(null),
            "spec.template.spec.containers[1] has another value or spelling",
        ),
        (
            "/spec/template/spec/containers/1",
            json!({"name": "b"}),
            "spec.template.spec.containers[1] has another value or spelling",
        ),
        ("/spec/template", json!(null), "spec.template.spec.containers has another value or spelling"),
        ("/metadata/labels", json!(null), "metadata.labels.a has another value or spelling"),
    ] {
        assert_eq!(doubt(&desired(), &with(live(), pointer, value)), expected, "{pointer}");
    }
    for nothing in [json!(null), json!([]), json!({}), json!("x")] {
        assert!(prove_unchanged(&desired(), &nothing, "helm").is_err());
        assert!(prove_unchanged(&nothing, &live(), "helm").is_err());
    }
}

/// Tells whether a field that was sent is proven where something else, or nothing, is stored.
fn zero(api_version: &str, key: &str, sent: Json, stored: Json) -> bool {
    let owned = json!({"f:spec": {format!("f:{key}"): {}}});
    let entry =
        json!({"manager": "helm", "operation": "Apply", "apiVersion": api_version, "fieldsV1": owned});
    let object = |value: Json| {
        let mut object =
            json!({"apiVersion": api_version, "kind": "K", "metadata": {"name": "a"}, "spec": {}});
        if value != json!("absent") {
            object["spec"][key] = value;
        }
        object
    };
    let mut live = object(stored);
    live["metadata"]["managedFields"] = json!([entry]);
    prove_unchanged(&object(sent), &live, "helm").is_ok()
}

#[test]
fn zero_values_that_built_in_kinds_do_not_store_are_known_by_name_and_type() {
    let absent = || json!("absent");
    for (key, sent, stored, proven) in [
        ("hostNetwork", json!(false), absent(), true),
        ("hostNetwork", json!(true), absent(), false),
        ("hostNetwork", json!(0), absent(), false),
        ("hostNetwork", json!([]), absent(), false),
        ("unknown", json!(false), absent(), false),
        ("minReadySeconds", json!(0), absent(), true),
        ("minReadySeconds", json!(0.0), absent(), false),
        ("minReadySeconds", json!(""), absent(), false),
        ("value", json!(""), absent(), true),
        ("env", json!([]), absent(), true),
        ("env", json!({}), absent(), false),
        ("env", json!([]), json!([{"name": "a"}]), false),
        ("labels", json!({}), absent(), true),
        ("labels", json!([]), absent(), false),
        ("unknown", json!({}), absent(), false),
        ("unknown", json!(null), absent(), true),
        ("unknown", json!(null), json!(""), false),
        ("unknown", json!(null), json!(null), false),
        ("fieldRef", json!({"fieldPath": "x"}), json!({"fieldPath": "x", "apiVersion": "v1"}), true),
        ("fieldRef", json!({"fieldPath": "x"}), json!({"fieldPath": "y", "apiVersion": "v1"}), false),
        ("fieldRef", json!({"fieldPath": "x"}), json!({"fieldPath": "x", "apiVersion": "v2"}), false),
        ("other", json!({"fieldPath": "x"}), json!({"fieldPath": "x", "apiVersion": "v1"}), false),
    ] {
        assert_eq!(zero("apps/v1", key, sent.clone(), stored.clone()), proven, "{key} {sent} {stored}");
        assert!(!zero("example.com/v1", key, sent, stored), "nothing is known of a custom kind's {key}");
    }
}
