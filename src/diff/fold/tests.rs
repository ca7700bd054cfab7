//! Moves of ownership, and what objects become by them.

use serde_json::{Value as Json, json};

use super::super::claim::claim_patch;
use super::*;

fn entry(manager: &str, operation: &str, fields: Json) -> Json {
    json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
}

fn object(entries: &[Json]) -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "resourceVersion": "7", "managedFields": entries}})
}

#[test]
fn updates_of_helm_are_folded_into_its_apply_entry() {
    let helm = [Former::updates_of("helm")];
    let apply = entry("helm", "Apply", json!({"f:spec": {"f:replicas": {}}}));
    let update = entry(
        "helm",
        "Update",
        json!({"f:spec": {"f:paused": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}}),
    );
    let other = entry("kubectl", "Update", json!({"f:spec": {"f:x": {}}}));
    let mut scale = entry("helm", "Update", json!({"f:spec": {"f:replicas": {}}}));
    scale["subresource"] = "scale".into();
    let mut older = entry("helm", "Update", json!({"f:spec": {"f:old": {}}}));
    older["apiVersion"] = "apps/v1beta2".into();
    let mut foreign_group = entry("helm", "Update", json!({"f:spec": {"f:gone": {}}}));
    foreign_group["apiVersion"] = "extensions/v1beta1".into();
    let both = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}});
    let union = |fields: Json| entry("helm", "Apply", fields);
    for (entries, expected) in [
        (vec![apply.clone(), other.clone()], None),
        (vec![scale.clone()], None),
        (vec![], None),
        (vec![other.clone(), update.clone()], Some(vec![other.clone(), union(update["fieldsV1"].clone())])),
        (
            vec![apply.clone(), other.clone(), update.clone(), scale.clone()],
            Some(vec![union(both), other.clone(), scale]),
        ),
        (
            vec![apply.clone(), older, foreign_group],
            Some(vec![union(json!({"f:spec": {"f:replicas": {}, "f:old": {}}}))]),
        ),
    ] {
        let object = object(&entries);
        assert_eq!(fold_updates(&object, "helm", &helm), expected);
        if let Some(fields) = expected {
            let patch = claim_patch(&object, "helm", &helm, &[]).unwrap();
            assert_eq!(patch[0]["value"], Json::from(fields));
            assert_eq!(patch[1]["value"], "7");
        }
    }
    let before = entry("before-first-apply", "Update", json!({"f:spec": {"f:x": {}}}));
    let folded = fold_updates(
        &object(&[apply, before]),
        "helm",
        &[helm[0].clone(), Former::updates_of("before-first-apply")],
    )
    .unwrap();
    assert_eq!(folded, [union(json!({"f:spec": {"f:replicas": {}, "f:x": {}}}))]);
}

/// A custom resource keeps an entry of a version that its definition dropped: the server cannot read it.
#[test]
fn an_entry_of_a_removed_version_is_brought_to_the_present_one() {
    let mut old = entry("helm", "Apply", json!({"f:spec": {"f:a": {}}}));
    old["apiVersion"] = "apps/v1beta1".into();
    let apply = Former { manager: "helm".to_owned(), operation: Operation::Apply };
    let folded = fold_updates(&object(&[old.clone()]), "helm", std::slice::from_ref(&apply)).unwrap();
    assert_eq!(folded, [entry("helm", "Apply", json!({"f:spec": {"f:a": {}}}))]);
    assert_eq!(fold_updates(&object(&folded), "helm", &[apply]), None);
    assert_eq!(fold_updates(&object(&[old]), "helm", &[Former::updates_of("helm")]), None);
}

#[track_caller]
fn check(managed: &[Json], live: Json, desired: Json, expected: Json) {
    let mut object = object(managed);
    object["spec"] = live;
    let from =
        [Former::updates_of("helm"), Former { manager: "flux".to_owned(), operation: Operation::Apply }];
    let after = after_fold(&object, &json!({"spec": desired}), "helm", &from);
    assert_eq!(after["spec"], expected);
    assert_eq!(after["metadata"], json!({"name": "d", "resourceVersion": "7"}));
}

#[test]
fn what_only_moved_entries_own_goes_and_the_rest_stays() {
    let env = |name: &str, below: Json| (format!("k:{{\"name\":\"{name}\"}}"), below);
    let list = |items: Vec<(String, Json)>| Json::Object(items.into_iter().collect());
    let update = |fields: Json| entry("helm", "Update", json!({"f:spec": fields}));
    let value = || json!({".": {}, "f:name": {}, "f:value": {}});
    // A one-of is swapped, an element goes, one of somebody else stays where it was.
    check(
        &[
            update(json!({"f:env": list(vec![env("A", value()), env("B", value())])})),
            entry("kubectl-edit", "Update", json!({"f:spec": {"f:env": list(vec![env("X", value())])}})),
        ],
        json!({"env": [{"name": "A", "value": "1"}, {"name": "X", "value": "9"}, {"name": "B", "value": "2"}], "default": 1}),
        json!({"env": [{"name": "A", "valueFrom": {"x": 1}}, {"name": "C", "value": "3"}]}),
        json!({"env": [{"name": "A", "valueFrom": {"x": 1}}, {"name": "C", "value": "3"}, {"name": "X", "value": "9"}], "default": 1}),
    );
    // Both moved entries own it; nobody else does.
    check(
        &[
            update(json!({"f:a": {}, "f:b": {}})),
            entry("flux", "Apply", json!({"f:spec": {"f:a": {}, "f:c": {"f:d": {}}}})),
        ],
        json!({"a": 1, "b": 2, "c": {"d": 1}}),
        json!({"b": 3}),
        json!({"b": 3}),
    );
    // Somebody else owns it as well.
    check(
        &[
            update(json!({"f:a": {}, "f:c": {"f:d": {}, "f:e": {}}})),
            entry("x", "Update", json!({"f:spec": {"f:a": {}, "f:c": {"f:e": {}}}})),
        ],
        json!({"a": 1, "c": {"d": 1, "e": 2}}),
        json!({}),
        json!({"a": 1, "c": {"e": 2}}),
    );
    // Atomic maps and lists are replaced; ports are found without the protocol that the server filled in.
    check(
        &[update(
            json!({"f:selector": {}, "f:list": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}}}),
        )],
        json!({"selector": {"a": "1"}, "list": [1, 2], "ports": [{"port": 80, "protocol": "TCP", "name": "web"}]}),
        json!({"selector": {"b": "1"}, "list": [3], "ports": [{"port": 80, "targetPort": 8080}]}),
        json!({"selector": {"b": "1"}, "list": [3], "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]}),
    );
    check(&[], json!({"a": 1}), json!({"a": 2}), json!({"a": 2}));
}
