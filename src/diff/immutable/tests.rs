//! Answers of a real API server, and what they meant.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::*;

#[expect(clippy::disallowed_methods, reason = "test cases are files")]
fn rows() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/immutable/1.36.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn error_of(row: &Json) -> ServerError {
    let body = json!({
        "kind": "Status", "reason": row["reason"], "message": row["message"],
        "details": {"kind": row["kind"], "causes": row["causes"]},
    });
    ServerError::new(row["status"].as_u64().unwrap() as u16, &body, "")
}

/// Returns the class that a verdict says.
fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Immutable { .. } => "immutable",
        Verdict::Mixed { .. } => "mixed",
        Verdict::Invalid { .. } => "invalid",
        Verdict::Leftover { .. } => "ssa-leftover",
        Verdict::NeedsFreshName { .. } => "needs fresh name",
        Verdict::NeedsReplace { .. } => "needs replace",
        Verdict::Stale => "conflict",
        Verdict::VolumeCannotGrow => "forbidden",
        Verdict::BadRequest { .. } => "bad-request",
        Verdict::TypedMerge { .. } | Verdict::Other { .. } => "server-error",
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_answer_of_a_real_server_is_understood() {
    let rows = rows();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        let status = |key: &str| row[key].as_u64().map(|status| status as u16);
        let truth = row["class"].as_str().unwrap();
        if truth == "allowed" {
            assert_eq!(row["status"], 200);
            continue;
        }
        // A replaced object is told by its uid; nothing must be done to the new one.
        let truth = if row["field"] == "metadata.uid (wrong)" { "conflict" } else { truth };
        let error = error_of(row);
        let desired = json!({"kind": row["kind"]});
        let bare = Trial { desired: &desired, live: None, fresh_name: None, replace: None };
        let known = Trial { fresh_name: status("probe_status"), ..bare };
        let all = Trial { replace: status("put_status").or(status("status")), ..known };

        // What can be told from the body alone is right, or not told.
        let first = class(&classify(&error, &bare));
        assert!(first == truth || first == "needs fresh name", "{first} instead of {truth}: {row}");
        let second = class(&classify(&error, &known));
        assert!(
            [truth, "needs fresh name", "needs replace"].contains(&second),
            "{second} instead of {truth}: {row}"
        );
        let last = class(&classify(&error, &all));
        // Four mistakes were not tried under a fresh name.
        let untried = known.fresh_name.is_none() && truth == "invalid" && last == "needs fresh name";
        assert!(last == truth || untried, "{last} instead of {truth}: {row}");
        *counts.entry(if untried { "untried" } else { last }).or_default() += 1;
    }
    let expected = [
        ("bad-request", 7),
        ("conflict", 2),
        ("forbidden", 1),
        ("immutable", 163),
        ("invalid", 47),
        ("mixed", 14),
        ("server-error", 4),
        ("ssa-leftover", 4),
        ("untried", 4),
    ];
    assert_eq!(counts, expected.into());
    assert_eq!(rows.len(), 509);
}

#[test]
fn no_text_for_display_shows_a_struct_or_a_diff() {
    for row in rows().iter().filter(|row| row["class"] != "allowed") {
        let error = error_of(row);
        let kind = row["kind"].as_str().unwrap();
        let shown = format!("{:?}\n{}", error.problems(kind), error.summary(kind));
        for dump in
            ["Invalid value: {", "Invalid value: [", "\"ValueFrom\"", "@@", "PodSpec{", "valueUnstructured"]
        {
            assert!(!shown.contains(dump), "{dump} in {shown}");
        }
        if kind == "Secret" {
            assert!(!shown.contains("Invalid value: \""), "{shown}");
        }
    }
}

fn refusal(status: u16, kind: &str, message: &str, causes: Json) -> ServerError {
    ServerError::new(
        status,
        &json!({"reason": "x", "message": message, "details": {"kind": kind, "causes": causes}}),
        "",
    )
}

#[test]
fn policies_are_never_taken_for_immutability() {
    let forged = json!([{"reason": "FieldValueInvalid", "field": "spec.selector", "message": "Invalid value: 1: field is immutable"}]);
    let desired = json!({"kind": "Deployment"});
    let trial = Trial { desired: &desired, live: None, fresh_name: Some(201), replace: Some(422) };
    for (status, message) in [
        (422, "admission webhook \"w.example.com\" denied the request: field is immutable"),
        (403, "admission webhook \"w.example.com\" denied the request: no"),
        (500, "admission webhook \"w.example.com\" denied the request: no"),
        (
            422,
            "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        ),
        (403, "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": x"),
    ] {
        let verdict = classify(&refusal(status, "deployments", message, forged.clone()), &trial);
        assert!(matches!(verdict, Verdict::Denied { .. }), "{verdict:?}");
    }
}

#[test]
fn other_answers_are_told_apart() {
    let desired = json!({"kind": "ConfigMap"});
    let trial = Trial { desired: &desired, live: None, fresh_name: None, replace: None };
    let message = |text: &str| text.to_owned();
    let conflicts = json!([{"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" with subresource \"scale\" using apps/v1", "field": ".spec.replicas"}]);
    for (status, kind, text, causes, expected) in [
        (
            400,
            "",
            "admission webhook \"w\" does not support dry run",
            json!([]),
            Verdict::NoDryRun { message: message("admission webhook \"w\" does not support dry run") },
        ),
        (
            403,
            "configmaps",
            "configmaps \"a\" is forbidden: exceeded quota: q, requested: configmaps=1",
            json!([]),
            Verdict::Quota {
                message: message("configmaps \"a\" is forbidden: exceeded quota: q, requested: configmaps=1"),
            },
        ),
        (
            403,
            "pods",
            "pods \"a\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
            json!([]),
            Verdict::Quota {
                message: message(
                    "pods \"a\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
                ),
            },
        ),
        (
            403,
            "x",
            "x is forbidden: unable to create new content in namespace n because it is being terminated",
            json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]),
            Verdict::NamespaceTerminating,
        ),
        (
            403,
            "x",
            "x is forbidden: User \"u\" cannot patch resource \"x\"",
            json!([]),
            Verdict::Forbidden { message: message("x is forbidden: User \"u\" cannot patch resource \"x\"") },
        ),
        (404, "namespaces", "namespaces \"n\" not found", json!([]), Verdict::NamespaceMissing),
        (404, "", "the server could not find the requested resource", json!([]), Verdict::KindMissing),
        (
            409,
            "",
            "Apply failed with 1 conflict",
            conflicts,
            Verdict::Conflict {
                problems: vec![Problem {
                    field: ".spec.replicas".into(),
                    message: "conflict with \"kubectl\" with subresource \"scale\" using apps/v1".into(),
                }],
            },
        ),
        (
            409,
            "configmaps",
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified",
            json!([]),
            Verdict::Stale,
        ),
        (
            409,
            "resourcequotas",
            "Operation cannot be fulfilled on resourcequotas \"q\"",
            json!([]),
            Verdict::Unavailable {
                message: message("Operation cannot be fulfilled on resourcequotas \"q\""),
            },
        ),
        (
            413,
            "",
            "Request entity too large: limit is 3145728",
            json!([]),
            Verdict::TooLarge { message: message("Request entity too large: limit is 3145728") },
        ),
        (
            429,
            "",
            "Too many requests",
            json!([]),
            Verdict::Unavailable { message: message("Too many requests") },
        ),
        (
            500,
            "",
            "failed to create typed patch object (a/b; v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}",
            json!([]),
            Verdict::TypedMerge {
                message: message(
                    "failed to create typed patch object (a/b; v1, Kind=ConfigMap): .data.a: expected string, got another type",
                ),
            },
        ),
        (
            500,
            "",
            "Internal error occurred: failed calling webhook \"w\": dial tcp",
            json!([]),
            Verdict::WebhookUnavailable {
                message: message("Internal error occurred: failed calling webhook \"w\": dial tcp"),
            },
        ),
        (
            500,
            "",
            "etcdserver: request is too large",
            json!([]),
            Verdict::TooLarge { message: message("etcdserver: request is too large") },
        ),
        (
            422,
            "",
            "nothing said",
            json!([]),
            Verdict::NeedsFreshName {
                problems: vec![Problem { field: String::new(), message: message("nothing said") }],
            },
        ),
        (418, "", "teapot", json!([]), Verdict::Other { message: message("teapot") }),
    ] {
        assert_eq!(classify(&refusal(status, kind, text, causes), &trial), expected);
    }
    let page = ServerError::new(404, &Json::Null, "404 page not found\n");
    assert_eq!(classify(&page, &trial), Verdict::KindMissing);
}

#[test]
fn a_failed_probe_proves_nothing() {
    let error =
        refusal(422, "Widget", "invalid", json!([{"field": "spec.a", "message": "Invalid value: 1: no"}]));
    let desired = json!({"kind": "Widget"});
    let problems = vec![Problem { field: "spec.a".into(), message: "Invalid value: 1: no".into() }];
    let fields = vec!["spec.a".to_owned()];
    for (fresh_name, replace, expected) in [
        (None, None, Verdict::NeedsFreshName { problems: problems.clone() }),
        (Some(422), None, Verdict::Invalid { problems: problems.clone() }),
        (Some(403), Some(422), Verdict::Unclear { problems: problems.clone() }),
        (Some(201), None, Verdict::NeedsReplace { problems }),
        (Some(201), Some(200), Verdict::Leftover { fields: fields.clone() }),
        (Some(201), Some(422), Verdict::Immutable { fields }),
    ] {
        assert_eq!(classify(&error, &Trial { desired: &desired, live: None, fresh_name, replace }), expected);
    }
}

#[test]
fn the_changed_fields_are_found_where_the_server_names_none() {
    let check = |kind: &str, field: &str, message: &str, live: Json, desired: Json, expected: &[&str]| {
        let causes = json!([{"reason": "FieldValueForbidden", "field": field, "message": message}]);
        let mut desired = desired;
        desired["kind"] = kind.into();
        let trial = Trial { desired: &desired, live: Some(&live), fresh_name: None, replace: None };
        let fields = expected.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(classify(&refusal(422, kind, "", causes), &trial), Verdict::Immutable { fields });
    };
    let sts = "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
               'updateStrategy' and 'minReadySeconds' are forbidden";
    let live = json!({"spec": {"replicas": 1, "serviceName": "a", "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
        "template": {"x": 1}, "volumeClaimTemplates": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"}, "spec": {"volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}]}});
    let vct = |size: &str| json!([{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}}]);
    let size = "spec.volumeClaimTemplates[metadata.name=data].spec.resources.requests.storage";
    check(
        "StatefulSet",
        "spec",
        sts,
        live.clone(),
        json!({"spec": {"replicas": 2, "serviceName": "a", "template": {"x": 2}, "volumeClaimTemplates": vct("2Gi")}}),
        &[size],
    );
    check(
        "StatefulSet",
        "spec",
        sts,
        live.clone(),
        json!({"spec": {"serviceName": "b", "volumeClaimTemplates": vct("1024Mi")}}),
        &["spec.serviceName"],
    );
    check(
        "StatefulSet",
        "spec",
        sts,
        live.clone(),
        json!({"spec": {"serviceName": "b", "volumeClaimTemplates": vct("2Gi")}}),
        &["spec.serviceName", size],
    );
    // The list differs between servers: here a field may not change that other versions allow.
    check(
        "StatefulSet",
        "spec",
        sts,
        live.clone(),
        json!({"spec": {"revisionHistoryLimit": 3}}),
        &["spec.revisionHistoryLimit"],
    );
    check("StatefulSet", "spec", sts, live.clone(), json!({"spec": {"replicas": 5}}), &["spec"]);
    // A field that the manifest no longer has: what our apply owns and nobody sends.
    let mut owned = live;
    owned["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1",
        "fieldsV1": {"f:spec": {"f:serviceName": {}, "f:template": {"f:x": {}}, "f:volumeClaimTemplates": {}}}}]);
    check(
        "StatefulSet",
        "spec",
        sts,
        owned,
        json!({"spec": {"serviceName": "a"}}),
        &["spec.volumeClaimTemplates"],
    );
    check(
        "Job",
        "spec.template",
        "Invalid value: {\"Spec\": 1}: field is immutable",
        json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "containers": [{"name": "c", "image": "a", "env": [{"name": "PW", "value": "old"}]}]}}}}),
        json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "b", "env": [{"name": "PW", "value": "new"}]}]}}}}),
        &[
            "spec.template.spec.containers[name=c].env[name=PW].value",
            "spec.template.spec.containers[name=c].image",
        ],
    );
    check(
        "PersistentVolume",
        "volumeMode",
        "Invalid value: \"Block\": field is immutable",
        json!({}),
        json!({}),
        &["spec.volumeMode"],
    );
    check(
        "CSIDriver",
        "spec.attachedRequired",
        "Invalid value: false: field is immutable",
        json!({}),
        json!({}),
        &["spec.attachRequired"],
    );
    check(
        "Service",
        "spec.clusterIPs[0]",
        "Invalid value: [\"10.0.0.1\"]: may not change once set",
        json!({"spec": {}}),
        json!({"spec": {}}),
        &["spec.clusterIPs[0]"],
    );
}
