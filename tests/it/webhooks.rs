//! What admission webhooks do to a plan: a denial, silence, an answer that a dry run cannot have, changes of their own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value as Json, json};

use crate::support::scene::{Scene, chart};
use crate::support::webhook::Webhook;

/// A chart of one ConfigMap with `DATA`, and the file that installs it.
fn map(scene: &Scene, data: &str, keys: &str) -> PathBuf {
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map}}\n{data}\n");
    chart(scene.folder.path(), &[("templates/map.yaml", &text)]);
    scene.write(&format!("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{keys}\n"))
}

/// Makes the server ask a webhook about ConfigMaps of the scene's namespace.
fn configure(scene: &Scene, kind: &str, client: &Json, policy: &str, operations: &[&str]) {
    let configuration = configuration(scene, kind, client, policy, operations);
    let file = scene.folder.path().join("webhook.json");
    std::fs::write(&file, configuration.to_string()).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", file.to_str().unwrap()]);
}

fn configuration(scene: &Scene, kind: &str, client: &Json, policy: &str, operations: &[&str]) -> Json {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": scene.namespace},
        "webhooks": [{
            "name": "w.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": policy, "clientConfig": client, "timeoutSeconds": 5, "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}},
            "objectSelector": {},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["configmaps"],
                "scope": "*"}],
        }],
    })
}

/// Plans until the object is as expected: a configuration counts only a moment after it is there.
fn planned(scene: &Scene, file: &std::path::Path, fits: impl Fn(&Json) -> bool) -> Json {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let plan = scene.plan(file);
        let objects = scene.release(&plan, "web")["objects"].as_array().unwrap().clone();
        let found = objects.into_iter().find(|object| object["kind"] == "ConfigMap").unwrap();
        if fits(&found) {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn live(scene: &Scene) -> Json {
    scene.cluster.get(&scene.namespace, "configmap", "map").unwrap()
}

fn deny_bad(request: &Json) -> Json {
    if request["object"]["data"]["k"] != "bad" {
        return json!({"allowed": true});
    }
    // As the server itself says it of an immutable field.
    json!({"allowed": false, "status": {"code": 422, "reason": "Invalid", "message": "k must not be bad",
        "details": {"causes": [{"reason": "FieldValueInvalid", "field": "data.k", "message": "field is immutable"}]}}})
}

/// Whatever a webhook answers with, its denial is no immutable field, and no key makes it one.
#[test]
fn a_denial_is_told_and_never_leads_to_a_replacement() {
    let scene = Scene::new("webhook-denies");
    let webhook = Webhook::start(deny_bad);
    let file = map(&scene, "data: {k: good}", "force = true");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let before = live(&scene);
    configure(
        &scene,
        "ValidatingWebhookConfiguration",
        &webhook.client_config(),
        "Fail",
        &["CREATE", "UPDATE"],
    );

    map(&scene, "data: {k: bad}", "force = true");
    let found = planned(&scene, &file, |object| object["action"] == "blocked");
    assert_eq!((&found["simulation"], &found["reasons"][0]["code"]), (&json!("refused"), &json!("denied")));
    let message = found["reasons"][0]["message"].as_str().unwrap();
    assert!(message.contains("w.example.org") && message.contains("k must not be bad"), "{message}");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(4);
    assert_eq!(live(&scene), before);
    assert!(webhook.seen().iter().all(|request| request["dryRun"] == true), "nothing was really sent");

    // What it allows is applied.
    map(&scene, "data: {k: other}", "");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(live(&scene)["data"]["k"], "other");
}

/// A webhook would not let the object be created again: it is not deleted.
#[test]
fn what_a_webhook_would_not_take_back_is_not_replaced() {
    let scene = Scene::new("webhook-probe");
    let webhook = Webhook::start(deny_bad);
    let file = map(&scene, "immutable: true\ndata: {k: good}", "force = true");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let before = live(&scene);
    configure(&scene, "ValidatingWebhookConfiguration", &webhook.client_config(), "Fail", &["CREATE"]);
    map(&scene, "immutable: true\ndata: {k: bad}", "force = true");
    let found = planned(&scene, &file, |object| object["action"] == "blocked");
    let message = found["reasons"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("could not be created again") && message.contains("k must not be bad"),
        "{message}"
    );
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(4);
    assert_eq!(live(&scene), before);
}

/// Nobody listens there: with `Fail` the release is blocked, with `Ignore` the server goes on without it.
#[test]
fn a_webhook_that_is_away_counts_as_its_failure_policy_says() {
    let scene = Scene::new("webhook-away");
    let file = map(&scene, "data: {k: good}", "");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let away = json!({"url": "https://127.0.0.1:1/"});
    configure(&scene, "ValidatingWebhookConfiguration", &away, "Fail", &["UPDATE"]);
    map(&scene, "data: {k: other}", "");
    let found = planned(&scene, &file, |object| object["action"] == "blocked");
    assert_eq!(found["reasons"][0]["code"], "webhook");
    let message = found["reasons"][0]["message"].as_str().unwrap();
    assert!(message.contains("w.example.org") && message.contains("connection refused"), "{message}");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(4);
    assert_eq!(live(&scene)["data"]["k"], "good");

    configure(&scene, "ValidatingWebhookConfiguration", &away, "Ignore", &["UPDATE"]);
    let found = planned(&scene, &file, |object| object["action"] == "update");
    assert_eq!(found["simulation"], "verified");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(live(&scene)["data"]["k"], "other");
}

/// The server takes no such configuration any more, but keeps those that it has.
#[test]
fn a_webhook_without_dry_run_leaves_the_object_unverified() {
    let scene = Scene::new("webhook-undry");
    let webhook = Webhook::start(deny_bad);
    let file = map(&scene, "data: {k: good}", "");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let mut stored = configuration(
        &scene,
        "ValidatingWebhookConfiguration",
        &webhook.client_config(),
        "Fail",
        &["CREATE", "UPDATE"],
    );
    stored["webhooks"][0]["sideEffects"] = json!("Some");
    stored["metadata"]["uid"] = json!("7d1c6a5e-0000-4000-8000-000000000001");
    stored["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    store(&scene, &format!("/registry/validatingwebhookconfigurations/{}", scene.namespace), &stored);

    map(&scene, "data: {k: other}", "");
    let found = planned(&scene, &file, |object| object["simulation"] == "unverified");
    assert_eq!((&found["action"], &found["reasons"][0]["code"]), (&json!("update"), &json!("unverified")));
    let message = found["reasons"][0]["message"].as_str().unwrap();
    assert!(message.contains("does not support dry run"), "{message}");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(live(&scene)["data"]["k"], "other");
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "web")["action"], "none");

    // What only the write tells fails the release, with the webhook's words.
    map(&scene, "data: {k: bad}", "");
    let failed = scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(1);
    assert!(
        format!("{}{}", failed.stdout, failed.stderr).contains("k must not be bad"),
        "{}{}",
        failed.stdout,
        failed.stderr
    );
    assert_eq!(live(&scene)["data"]["k"], "other");
}

/// Writes an object where the server keeps its objects.
fn store(scene: &Scene, key: &str, object: &Json) {
    use std::io::{Read as _, Write as _};
    let url = std::fs::read_to_string(scene.cluster.audit_log.with_file_name("etcd-url")).unwrap();
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let body = json!({"key": encode(key), "value": encode(&object.to_string())}).to_string();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v3/kv/put HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
