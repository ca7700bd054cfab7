//! Fields that nobody sends any more: they go, and no object is re-created for them.

use serde_json::Value as Json;

use crate::support::scene::Scene;

const BEFORE: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: swap}
spec:
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}
  selector: {matchLabels: {app: swap}}
  template:
    metadata: {labels: {app: swap}}
    spec:
      serviceAccountName: default
      containers:
        - name: c
          image: example.org/a:1
          env: [{name: A, value: b}]
          livenessProbe: {httpGet: {port: 80, path: /}}
          volumeMounts: [{name: v, mountPath: /v}]
        - {name: sidecar, image: "example.org/b:1"}
      volumes: [{name: v, emptyDir: {}}]
---
apiVersion: v1
kind: Secret
metadata: {name: plain}
stringData: {stays: one, goes: two}
"#;

const AFTER: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: swap}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: swap}}
  template:
    metadata: {labels: {app: swap}}
    spec:
      containers:
        - name: c
          image: example.org/a:1
          env: [{name: A, valueFrom: {secretKeyRef: {name: plain, key: stays}}}]
          livenessProbe: {exec: {command: ["true"]}}
          volumeMounts: [{name: v, mountPath: /v}]
      volumes: [{name: v, secret: {secretName: plain}}]
---
apiVersion: v1
kind: Secret
metadata: {name: plain}
stringData: {stays: one}
"#;

fn chart(scene: &Scene, manifest: &str) -> String {
    let chart = scene.folder.path().join("swap");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: swap\nversion: 1.0.0\n").unwrap();
    std::fs::write(chart.join("templates/all.yaml"), manifest).unwrap();
    chart.to_str().unwrap().to_owned()
}

/// Installs with `tool`, changes everything to something that excludes what was there, and looks at what is left.
fn check(tool: &str) {
    let scene = Scene::new(&format!("left-{tool}"));
    let namespace = scene.namespace.clone();
    let path = chart(&scene, BEFORE);
    let file = scene
        .write("[apps.swap]\nenabled = true\nnamespace = \"NS\"\nchart = \"./swap\"\nadopt = \"unowned\"\n");
    let file = file.to_str().unwrap();
    if tool == "statectl" {
        scene.cluster.statectl(["apply", file, "--yes"]).expect(0);
    } else {
        scene.cluster.tool(tool, &["install", "swap", &path, "-n", &namespace]);
    }
    let uid = |kind: &str, name: &str| scene.cluster.uid(&namespace, kind, name);
    let before = (uid("deployment", "swap"), uid("secret", "plain"));
    chart(&scene, AFTER);
    let plan = scene.plan(std::path::Path::new(file));
    let release = scene.release(&plan, "swap");
    for object in release["objects"].as_array().unwrap() {
        assert_eq!(object["action"], "update", "{tool}: {object}");
    }
    scene.cluster.statectl(["apply", file, "--yes"]).expect(0);
    assert_eq!((uid("deployment", "swap"), uid("secret", "plain")), before, "{tool}: nothing is re-created");
    let deployment = scene.cluster.get(&namespace, "deployment", "swap").unwrap();
    let (spec, pod) = (&deployment["spec"], &deployment["spec"]["template"]["spec"]);
    assert_eq!(spec["strategy"], serde_json::json!({"type": "Recreate"}), "{tool}");
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1, "{tool}: {pod}");
    assert_eq!(containers[0]["env"][0]["value"], Json::Null, "{tool}");
    assert_eq!(containers[0]["livenessProbe"]["httpGet"], Json::Null, "{tool}");
    assert_eq!(pod["volumes"][0]["emptyDir"], Json::Null, "{tool}");
    assert_eq!((&pod["serviceAccountName"], &pod["serviceAccount"]), (&Json::Null, &Json::Null), "{tool}");
    let secret = scene.cluster.get(&namespace, "secret", "plain").unwrap();
    assert_eq!(secret["data"], serde_json::json!({"stays": "b25l"}), "{tool}");
    scene.cluster.statectl(["plan", file, "--detailed-exit-code"]).expect(0).says("no changes");
}

#[test]
fn what_helm_3_left_goes_in_place() {
    check("helm3");
}

#[test]
fn what_helm_4_left_goes_in_place() {
    check("helm4");
}

#[test]
fn what_an_earlier_revision_left_goes_in_place() {
    check("statectl");
}
