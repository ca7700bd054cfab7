//! What the server would say is said before anything is touched, with the place that it is about.

use serde_json::Value as Json;

use crate::support::scene::Scene;

/// Writes a chart with these files and returns the desired-state file that installs it.
fn chart(scene: &Scene, files: &[(&str, &str)], keys: &str) -> std::path::PathBuf {
    let chart = scene.folder.path().join("web");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::create_dir_all(chart.join("crds")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n").unwrap();
    for (name, text) in files {
        std::fs::write(chart.join(name), text.replace("NS", &scene.namespace)).unwrap();
    }
    scene.write(&format!("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./web\"\n{keys}\n"))
}

fn object<'a>(scene: &Scene, plan: &'a Json, kind: &str) -> &'a Json {
    let objects = scene.release(plan, "web")["objects"].as_array().unwrap();
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {plan}"))
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  {{- if true }}
  replicas: REPLICAS
  {{- end }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: c
          image: example.org/a:1
          EXTRA
";

#[test]
fn a_mistake_in_a_manifest_is_told_with_template_and_line_and_asked_about_once() {
    let scene = Scene::new("mistakes");
    for (replicas, extra, expected) in [
        ("1", "imagee: x", "imagee: field not declared in schema (web/templates/d.yaml:15, line 13 of"),
        ("many", "", "expected numeric (int or float), got string (web/templates/d.yaml:6, line 5 of"),
        ("1", "env: [{name: A, value: b}, {name: A, value: c}]", "(web/templates/d.yaml:15, line 13 of"),
        (
            "many",
            "imagee: x",
            ".spec.replicas: expected numeric (int or float), got string (web/templates/d.yaml:6, line 5 of the rendered document); .spec.template.spec.containers[name=\"c\"].imagee: field not declared in schema (web/templates/d.yaml:15, line 13",
        ),
        ("-1", "", "(web/templates/d.yaml:6, line 5 of"),
    ] {
        let text = DEPLOYMENT.replace("REPLICAS", replicas).replace("EXTRA", extra);
        let file = chart(&scene, &[("templates/d.yaml", &text)], "");
        let mark = scene.cluster.audit_mark();
        let plan = scene.cluster.statectl(["plan", file.to_str().unwrap(), "-o", "json"]).expect(4).json();
        let found = object(&scene, &plan, "Deployment");
        let message = found["reasons"][0]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        assert_eq!(found["simulation"], "refused");
        let asked = scene.cluster.requests_since(mark).into_iter().filter(|entry| {
            let uri = entry["requestURI"].as_str().unwrap();
            entry["verb"] == "patch" && uri.contains(&format!("/{}/deployments/", scene.namespace))
        });
        assert_eq!(asked.count(), 1, "{message}");
    }
}

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: vaults.NS.example.org}
spec:
  group: NS.example.org
  scope: Namespaced
  names: {plural: vaults, singular: vault, kind: Vault}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, required: [region], properties: {region: {type: string}}}}
";

#[test]
fn a_resource_is_checked_against_the_definition_that_arrives_with_it() {
    let scene = Scene::new("arriving");
    let resource = |spec: &str| {
        format!("apiVersion: NS.example.org/v1\nkind: Vault\nmetadata:\n  name: main\nspec:\n  {spec}\n")
    };
    let file = |spec: &str| {
        let files = [("crds/v.yaml", DEFINITION), ("templates/v.yaml", &resource(spec))];
        chart(&scene, &files, "")
    };
    for (spec, expected) in [
        ("{region: north, regoin: south}", "spec.regoin: the schema does not have this field"),
        ("region: 1", "spec.region: expected string, found number (web/templates/v.yaml:6, line 6 of"),
        ("{}", "spec.region: it is required"),
    ] {
        let path = file(spec);
        let plan = scene.cluster.statectl(["plan", path.to_str().unwrap(), "-o", "json"]).expect(4).json();
        let found = object(&scene, &plan, "Vault");
        let message = found["reasons"][0]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    let path = file("region: north");
    let path = path.to_str().unwrap();
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(0).json();
    assert_eq!(object(&scene, &plan, "Vault")["simulation"], "unverified");
    assert_eq!(object(&scene, &plan, "CustomResourceDefinition")["simulation"], "verified");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(0).json();
    assert_eq!(object(&scene, &plan, "Vault")["simulation"], "verified");
}

/// An object that could not be created again is not deleted, whatever the keys say.
#[test]
fn what_the_server_would_not_take_back_is_not_replaced() {
    let scene = Scene::new("probe");
    let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS-new}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: mine, expression: \"object.metadata.namespace == 'NS'\"}]
  validations: [{expression: \"object.data.k != 'bad'\", message: \"not again\"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS-new}
spec: {policyName: NS-new, validationActions: [Deny]}
";
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: fixed}}\nimmutable: true\ndata: {{k: {value}}}\n"
        )
    };
    let files = |value: &str| {
        chart(
            &scene,
            &[("templates/policy.yaml", policy), ("templates/map.yaml", &map(value))],
            "force = true",
        )
    };
    let path = files("good");
    let path = path.to_str().unwrap().to_owned();
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let before = scene.cluster.uid(&scene.namespace, "configmap", "fixed");
    files("bad");
    // A policy counts only a moment after it is there.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let message = loop {
        let plan = scene.cluster.statectl(["plan", &path, "-o", "json"]).json();
        let found = object(&scene, &plan, "ConfigMap");
        if found["action"] == "blocked" {
            break found["reasons"][0]["message"].as_str().unwrap().to_owned();
        }
        assert!(std::time::Instant::now() < deadline, "{found}");
        std::thread::sleep(std::time::Duration::from_millis(300));
    };
    assert!(message.contains("could not be created again") && message.contains("not again"), "{message}");
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
    assert_eq!(scene.cluster.uid(&scene.namespace, "configmap", "fixed"), before);
}

/// A kind that nobody defines is refused before anything is touched, also where its namespace is still to come.
#[test]
fn an_unknown_kind_is_refused_also_in_a_namespace_that_arrives() {
    let scene = Scene::new("unknown-kind");
    let text = "apiVersion: nowhere.example.org/v1\nkind: Ghost\nmetadata: {name: g}\n";
    let path = chart(&scene, &[("templates/g.yaml", text)], "");
    let arriving = std::fs::read_to_string(&path).unwrap().replace(&scene.namespace, "unknown-kind-later");
    for state in [std::fs::read_to_string(&path).unwrap(), arriving] {
        std::fs::write(&path, state).unwrap();
        let path = path.to_str().unwrap();
        let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
        let reason = &object(&scene, &plan, "Ghost")["reasons"][0];
        assert_eq!(reason["code"], "invalid");
        let told = reason["message"].as_str().unwrap();
        assert!(told.contains("does not know the kind nowhere.example.org/v1/Ghost"), "{told}");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    }
    let (found, _) = scene.cluster.try_tool("kubectl", &["get", "namespace", "unknown-kind-later"]);
    assert!(!found, "nothing was made");
}

/// What a chart names its objects is shown, and never obeyed by the terminal.
#[test]
fn a_name_cannot_command_the_terminal() {
    let scene = Scene::new("escapes");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"\\e[2K\\e[8mred\"}\n";
    let path = chart(&scene, &[("templates/m.yaml", text)], "");
    let path = path.to_str().unwrap();
    for arguments in
        [&["plan", path][..], &["diff", path], &["apply", path, "--yes"], &["plan", path, "-o", "json"]]
    {
        let output = scene.cluster.statectl(arguments).expect(4);
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains('\u{1b}'), "{arguments:?}: {text:?}");
        }
    }
}
