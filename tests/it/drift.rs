//! `drift` and `diff` on the real API server, and what a plan says of pods and of the server's warnings.

use std::path::Path;

use serde_json::Value as Json;

use crate::support::scene::Scene;

const WEB: &str = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n";

fn kubectl(scene: &Scene, arguments: &[&str]) -> String {
    scene.cluster.tool("kubectl", &[arguments, &["-n", &scene.namespace]].concat())
}

fn run(scene: &Scene, verb: &str, file: &Path, more: &[&str], code: i32) -> Json {
    let arguments = [&[verb, file.to_str().unwrap(), "-o", "json", "--detailed-exit-code"], more].concat();
    scene.cluster.statectl(arguments).expect(code).json()
}

fn object<'a>(report: &'a Json, kind: &str) -> &'a Json {
    let objects = report["releases"][0]["objects"].as_array().unwrap();
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {report}"))
}

#[test]
fn drift_is_graded_and_names_who_and_when() {
    let scene = Scene::new("grades");
    let file = scene.write(WEB);
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let clean = run(&scene, "drift", &file, &["--strict"], 0);
    assert_eq!((&clean["format"], &clean["drift"]), (&"statectl.drift/v1".into(), &false.into()), "{clean}");
    assert_eq!(clean["releases"][0]["standing"], "clean");
    assert_eq!(clean["releases"][0]["compared"], 4);

    // Somebody added a key, a label and a field: told, and no drift unless it is asked for.
    let add = r#"{"metadata":{"labels":{"by":"hand"}},"data":{"extra":"1"}}"#;
    kubectl(&scene, &["patch", "configmap", "web-config", "--type=merge", "-p", add]);
    kubectl(
        &scene,
        &["patch", "deployment", "web", "--type=merge", "-p", r#"{"spec":{"minReadySeconds":5}}"#],
    );
    let told = run(&scene, "drift", &file, &[], 0);
    let added = |kind: &str| -> Vec<(String, String)> {
        let added = object(&told, kind)["added"].as_array().unwrap();
        let text = |item: &Json, key: &str| item[key].as_str().unwrap().to_owned();
        added.iter().map(|item| (text(item, "path"), text(item, "grade"))).collect()
    };
    assert_eq!(
        added("ConfigMap"),
        [("data.extra".into(), "value".into()), ("metadata.labels.by".into(), "value".into())]
    );
    assert_eq!(added("Deployment"), [("spec.minReadySeconds".into(), "field".into())]);
    assert_eq!(run(&scene, "drift", &file, &["--strict"], 2)["drift"], true);

    // Our own field, and an object that is gone.
    kubectl(
        &scene,
        &["patch", "configmap", "web-config", "--type=merge", "-p", r#"{"data":{"greeting":"x"}}"#],
    );
    kubectl(&scene, &["delete", "service", "web"]);
    let drift = run(&scene, "drift", &file, &[], 2);
    assert_eq!(object(&drift, "Service")["standing"], "missing");
    let field = &object(&drift, "ConfigMap")["fields"][0];
    assert_eq!(
        (&field["path"], &field["recorded"], &field["live"]),
        (&"data.greeting".into(), &"\"hello\"".into(), &"\"x\"".into())
    );
    assert_eq!(field["manager"], "kubectl-patch");
    assert!(field["since"].as_str().unwrap().starts_with("20"), "{field}");
    let text = scene.cluster.statectl(["drift", file.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("data.greeting by `kubectl-patch`") && text.contains("missing"), "{text}");
}

/// The record counts, not the file: what only the file changed is a difference, and no drift.
#[test]
fn diff_is_against_the_file_and_drift_against_the_record() {
    let scene = Scene::new("both");
    let file = scene.write(WEB);
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(run(&scene, "diff", &file, &[], 0)["changes"], false);
    scene.write(&format!("{WEB}values = {{ greeting = \"two\" }}\n"));
    assert_eq!(run(&scene, "drift", &file, &[], 0)["drift"], false);
    let diff = run(&scene, "diff", &file, &[], 2);
    assert_eq!(diff["format"], "statectl.diff/v1");
    assert_eq!(object(&diff, "ConfigMap")["fields"][0]["path"], "data.greeting");
    assert!(
        !diff["releases"][0]["objects"].as_array().unwrap().iter().any(|object| object["kind"] == "Service")
    );
    let text = scene.cluster.statectl(["diff", file.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("-   greeting: hello") && text.contains("+   greeting: two"), "{text}");
}

#[test]
fn what_only_looks_is_no_drift_and_writes_nothing() {
    let scene = Scene::new("reads-only");
    let file = scene.write(&format!("{WEB}adopt = \"any\"\n"));
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    kubectl(&scene, &["scale", "deployment", "web", "--replicas=3"]);
    // Not ours, and not taken over by looking.
    scene.cluster.tool(
        "helm3",
        &[
            "install",
            "other",
            crate::support::repository("examples/charts/web").to_str().unwrap(),
            "-n",
            &scene.namespace,
        ],
    );
    let mark = scene.cluster.audit_mark();
    for arguments in [
        vec!["plan", path],
        vec!["diff", path],
        vec!["diff", path, "--verify", "all"],
        vec!["drift", path],
        vec!["drift", path, "--strict", "-o", "json"],
        vec!["status", path],
    ] {
        scene.cluster.statectl(arguments).expect(0);
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let entries = scene.cluster.requests_since(mark);
    let ours = |entry: &&Json| {
        entry["userAgent"].as_str().is_some_and(|agent| agent.contains("statectl"))
            && entry["requestURI"].as_str().is_some_and(|uri| uri.contains(&scene.namespace))
    };
    let ours: Vec<&Json> = entries.iter().filter(ours).collect();
    assert!(ours.len() > 10, "the runs were seen: {}", entries.len());
    for entry in ours {
        let verb = entry["verb"].as_str().unwrap();
        let uri = entry["requestURI"].as_str().unwrap();
        let reads = ["get", "list", "watch"].contains(&verb);
        assert!(reads || uri.contains("dryRun=All") || uri.contains("selfsubject"), "{verb} {uri}");
    }
}

fn stale_chart(scene: &Scene) {
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: stale\nversion: 1.0.0\n").unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  x: {{ .Values.x | quote }}\n---\n\
        apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: reader\nspec:\n  selector:\n    matchLabels: { a: reader }\n  \
        template:\n    metadata:\n      labels: { a: reader }\n    spec:\n      containers:\n        - name: c\n          \
        image: registry.k8s.io/pause:3.10\n          envFrom: [{ configMapRef: { name: settings } }]\n";
    std::fs::write(chart.join("templates/all.yaml"), text).unwrap();
}

#[test]
fn pods_that_read_changed_configuration_are_named_and_restarted_if_asked() {
    let scene = Scene::new("stale");
    stale_chart(&scene);
    let apps = |x: &str, more: &str| {
        format!(
            "[apps.stale]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ x = \"{x}\" }}\n{more}"
        )
    };
    let generation = || {
        scene.cluster.get(&scene.namespace, "deployment", "reader").unwrap()["metadata"]["generation"].clone()
    };
    let apply = |text: &str| {
        let file = scene.write(text);
        scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
        file
    };
    apply(&apps("one", ""));
    let before = generation();
    let file = scene.write(&apps("two", ""));
    let plan = scene.plan(&file);
    let deployment = object(&plan, "Deployment");
    let codes: Vec<&str> = deployment["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"stale-config"), "{plan}");
    let text = scene.cluster.statectl(["plan", file.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("restartOnConfig = true"), "{text}");
    apply(&apps("two", ""));
    assert_eq!(generation(), before, "nothing restarted them");

    let file = apply(&apps("two", "restartOnConfig = true\n"));
    let with_digest = generation();
    assert_ne!(with_digest, before);
    let settled = |file: &Path| {
        scene.cluster.statectl(["plan", file.to_str().unwrap(), "--detailed-exit-code"]).expect(0);
        scene
            .cluster
            .statectl(["drift", file.to_str().unwrap(), "--strict", "--detailed-exit-code"])
            .expect(0);
    };
    settled(&file);
    let file = apply(&apps("three", "restartOnConfig = true\n"));
    assert_ne!(generation(), with_digest, "the pods are restarted");
    settled(&file);
    let manifest = scene.cluster.tool("helm4", &["get", "manifest", "stale", "-n", &scene.namespace]);
    assert!(!manifest.contains("config-digest"), "the record is Helm's: {manifest}");
}

#[test]
fn the_servers_warnings_are_told_for_each_object_and_can_refuse() {
    let scene = Scene::new("warned");
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: warned\nversion: 1.0.0\n").unwrap();
    let text = "apiVersion: v1\nkind: Endpoints\nmetadata:\n  name: old\nsubsets: []\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fine\n";
    std::fs::write(chart.join("templates/all.yaml"), text).unwrap();
    let file = scene.write("[apps.warned]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let path = file.to_str().unwrap();
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(0).json();
    let warning = object(&plan, "Endpoints")["warnings"][0].as_str().unwrap();
    assert!(warning.contains("deprecated"), "{warning}");
    assert_eq!(object(&plan, "ConfigMap").get("warnings"), None);
    scene.cluster.statectl(["plan", path]).expect(0).says("deprecated");
    scene.cluster.statectl(["plan", path, "--warnings-as-errors"]).expect(4).complains("deprecated");
    scene.cluster.statectl(["apply", path, "--yes", "--warnings-as-errors"]).expect(4);
    assert!(scene.cluster.get(&scene.namespace, "configmap", "fine").is_none(), "nothing was applied");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    scene.cluster.statectl(["plan", path, "--warnings-as-errors"]).expect(0);
}

/// The same field, corrected again and again: after three times it is for people to decide.
#[test]
fn a_field_that_is_always_changed_again_stops_the_corrections() {
    let scene = Scene::new("flap");
    let file = scene.write(WEB);
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let change = || {
        let patch = r#"{"data":{"greeting":"again"}}"#;
        kubectl(&scene, &["patch", "configmap", "web-config", "--type=merge", "-p", patch]);
    };
    for _ in 0..3 {
        change();
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    }
    change();
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    assert_eq!(plan["releases"][0]["reasons"][0]["code"], "flapping", "{plan}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 4), "no further revision");
    let rule =
        "fieldConflicts = [{ path = \"data.greeting\", manager = \"kubectl-patch\", action = \"take\" }]\n";
    scene.write(&format!("{WEB}{rule}"));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
}
