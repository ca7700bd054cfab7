//! Differences of whole objects.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn options() -> DiffOptions<'static> {
    DiffOptions { masker: Masker::new(b"salt"), context: 1, limit: 100 }
}

fn diff(before: &Json, after: &Json) -> ObjectDiff {
    object_diff(Some(before), Some(after), &options())
}

/// Compares `before` and `after` and tells the changed fields, one a line.
fn check(before: Json, after: Json, expected: &[&str]) {
    let diff = diff(&before, &after);
    let told: Vec<String> = diff
        .changes
        .iter()
        .map(|change| {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            format!("{}: {} -> {}", change.path, side(&change.before), side(&change.after))
        })
        .collect();
    assert_eq!(told, expected);
    assert_eq!(diff.text.lines.is_empty(), expected.is_empty(), "{}", diff.text);
}

fn pod(spec: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

#[test]
fn list_elements_are_named_by_their_keys() {
    check(
        pod(json!({"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]})),
        pod(json!({"containers": [{"name": "b", "image": "y:2"}, {"name": "c", "image": "z"}]})),
        &[
            r#"spec.containers[name=a]: {"image":"x:1","name":"a"} -> -"#,
            r#"spec.containers[name=b].image: "y:1" -> "y:2""#,
            r#"spec.containers[name=c]: - -> {"image":"z","name":"c"}"#,
        ],
    );
    check(
        pod(json!({"ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]})),
        pod(
            json!({"ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP", "hostPort": 1}]}),
        ),
        &[
            r#"spec.ports[containerPort=80].protocol: - -> "TCP""#,
            "spec.ports[containerPort=53,protocol=UDP].hostPort: - -> 1",
        ],
    );
    check(
        pod(json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]})),
        pod(
            json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b", "readOnly": true}]}),
        ),
        &["spec.volumeMounts[mountPath=/b].readOnly: - -> true"],
    );
    check(
        pod(json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"a": 1}}]})),
        pod(json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"a": 2}}]})),
        &["spec.volumeClaimTemplates[metadata.name=data].spec.a: 1 -> 2"],
    );
}

#[test]
fn lists_without_keys_are_compared_by_position_or_whole() {
    check(
        pod(json!({"args": ["a", "b"]})),
        pod(json!({"args": ["a", "c"]})),
        &[r#"spec.args: ["a","b"] -> ["a","c"]"#],
    );
    check(
        pod(json!({"rules": [{"host": "a", "paths": []}, {"host": "b"}]})),
        pod(json!({"rules": [{"host": "a", "paths": [1]}, {"host": "b"}]})),
        &["spec.rules[0].paths: [] -> [1]"],
    );
    check(
        pod(json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})),
        pod(json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]})),
        &[r#"spec.env[1].value: "2" -> "3""#],
    );
    check(
        pod(json!({"env": [{"name": "A"}, {"name": "B"}]})),
        pod(json!({"env": [{"name": "B"}, {"name": "A"}]})),
        &["spec.env: [name=A][name=B] -> [name=B][name=A]"],
    );
}

#[test]
fn spelling_is_no_difference() {
    check(
        pod(
            json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}], "replicas": 2}),
        ),
        pod(
            json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}], "replicas": 2.0}),
        ),
        &[],
    );
    check(
        json!({"kind": "ConfigMap", "data": {"cpu": "1000m"}}),
        json!({"kind": "ConfigMap", "data": {"cpu": "1"}}),
        &[r#"data.cpu: "1000m" -> "1""#],
    );
    check(pod(json!({"port": "80"})), pod(json!({"port": 80})), &[r#"spec.port: "80" -> 80"#]);
}

#[test]
fn what_the_server_keeps_is_no_difference() {
    let mut live = pod(json!({"a": 1}));
    live["metadata"] = json!({"name": "p", "uid": "u", "resourceVersion": "1", "generation": 1, "creationTimestamp": "t",
        "managedFields": [{}], "labels": {"x": "1"}});
    live["status"] = json!({"phase": "Running"});
    let mut planned = live.clone();
    planned["metadata"]["resourceVersion"] = "2".into();
    planned["metadata"]["generation"] = 2.into();
    planned["metadata"]["managedFields"] = json!([]);
    planned["status"] = json!({});
    check(live.clone(), planned.clone(), &[]);
    planned["metadata"]["labels"] = json!({"y/z": "1"});
    check(live, planned, &[r#"metadata.labels.x: "1" -> -"#, r#"metadata.labels["y/z"]: - -> "1""#]);
}

#[test]
fn no_secret_value_is_shown_anywhere() {
    let secret = |password: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"pw": password, "same": "c2FtZQ=="}});
    let diff = diff(&secret("b2xk"), &secret("bmV3"));
    let all = format!("{diff:?}");
    for value in ["b2xk", "bmV3", "c2FtZQ", "old\"", "new\"", "same\""] {
        assert!(!all.contains(value), "{value} in {all}");
    }
    let masker = Masker::new(b"salt");
    assert_eq!(diff.changes.len(), 1);
    assert_eq!(diff.changes[0].path.to_string(), "data.pw");
    assert_eq!(diff.changes[0].after, Some(format!("{:?}", masker.marker(b"new"))));
    for side in [
        object_diff(None, Some(&secret("bmV3")), &options()),
        object_diff(Some(&secret("bmV3")), None, &options()),
    ] {
        assert!(!side.text.to_string().contains("bmV3") && !side.text.lines.is_empty());
    }
}

#[test]
fn the_text_shows_the_lines_around_a_change() {
    let before = pod(json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}));
    let mut after = before.clone();
    after["spec"]["c"] = 9.into();
    assert_eq!(diff(&before, &after).text.to_string(), "  ...\n    b: 2\n-   c: 3\n+   c: 9\n    d: 4\n");
    let created = object_diff(None, Some(&json!({"kind": "X"})), &options());
    assert_eq!(created.text.lines, [Line::Added("kind: X".into())]);
    assert!(object_diff(None, None, &options()).is_empty());
    // Text that YAML cannot hold is shown as JSON.
    check(json!({"data": "a\u{7f}"}), json!({"data": "b\u{7f}"}), &["data: \"a\u{7f}\" -> \"b\u{7f}\""]);
}

#[test]
fn a_long_difference_is_cut() {
    let list = |from: i32| json!({"items": (from..from + 20_000).collect::<Vec<i32>>()});
    let diff = diff(&list(0), &list(50_000));
    assert_eq!((diff.text.lines.len(), diff.text.hidden), (100, 40_000 - 99));
    let path: &FieldChange = &diff.changes[0];
    assert!(path.before.as_ref().unwrap().len() < 110);
}

/// JSON in which the members that have a meaning here occur often.
fn any_json() -> impl Strategy<Value = Json> {
    let key = prop::sample::select(vec![
        "name", "limits", "cpu", "port", "protocol", "data", "kind", "status", "metadata",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-2_i64..3).prop_map(Json::from),
        prop::sample::select(vec!["1", "1000m", "TCP", "Secret", "a", "ü"]).prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::hash_map(key.clone(), inner, 0..4)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn fields_and_text_agree_on_whether_anything_differs(before in any_json(), after in any_json()) {
        let diff = diff(&before, &after);
        prop_assert_eq!(diff.changes.is_empty(), diff.text.lines.is_empty(), "{:?}", diff);
        prop_assert!(object_diff(Some(&before), Some(&before), &options()).is_empty());
    }

    #[test]
    fn any_server_text_can_be_told(text in "(Invalid value: |Duplicate value: |\\PC|[{}\"\\\\\n@]){0,12}", kind in "Secret|Pod") {
        let told = sanitize_message(&kind, &text);
        prop_assert!(told.len() <= text.len() + 64);
    }

    #[test]
    fn any_ownership_can_be_read(live in any_json(), desired in any_json(), fields in any_json()) {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "helm", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields},
            {"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsV1": live}]}, "data": live});
        foreign_fields(&object, &desired, "helm");
        ownership_gap(&FieldSet::parse(&fields), &desired);
        if let Some(folded) = fold_updates(&object, "helm", &[Former::updates_of("helm")]) {
            prop_assert_eq!(folded.len(), 2);
        }
    }
}
