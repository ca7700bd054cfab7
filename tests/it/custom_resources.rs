//! Custom resources on the real API server: what their definition forbids, and versions that are gone.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::support::scene::{Scene, chart};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: vaults.NS.example.org}
spec:
  group: NS.example.org
  scope: Namespaced
  names: {plural: vaults, singular: vault, kind: Vault}
  versions:
VERSIONS
";

fn version(name: &str, served: bool, stored: bool) -> String {
    format!(
        "    - name: {name}
      served: {served}
      storage: {stored}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                region: {{type: string, x-kubernetes-validations: [{{rule: self == oldSelf}}]}}
                size: {{type: integer, minimum: 1}}
                color: {{type: string}}
"
    )
}

/// Puts the definition there with these versions, by kubectl.
fn define(scene: &Scene, versions: &str) {
    let text = DEFINITION.replace("VERSIONS\n", versions).replace("NS", &scene.namespace);
    let file = scene.folder.path().join("definition.yaml");
    std::fs::write(&file, text).unwrap();
    let name = format!("crd/vaults.{}.example.org", scene.namespace);
    scene.cluster.tool("kubectl", &["apply", "-f", file.to_str().unwrap()]);
    scene.cluster.tool("kubectl", &["wait", "--for=condition=Established", &name, "--timeout=30s"]);
}

fn vault(scene: &Scene, version: &str, spec: &str, keys: &str) -> PathBuf {
    let text = format!(
        "apiVersion: {}.example.org/{version}\nkind: Vault\nmetadata: {{name: main}}\nspec: {spec}\n",
        scene.namespace
    );
    chart(scene.folder.path(), &[("templates/v.yaml", &text)]);
    scene.write(&format!("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{keys}\n"))
}

fn live(scene: &Scene) -> Json {
    let kind = format!("vaults.{}.example.org", scene.namespace);
    let arguments = ["get", &kind, "main", "-n", &scene.namespace, "-o", "json", "--show-managed-fields"];
    serde_json::from_str(&scene.cluster.tool("kubectl", &arguments)).unwrap()
}

/// A rule of the definition forbids the change: only `force` and the name of the very object replace it.
#[test]
fn a_refused_change_takes_the_consent_for_this_object() {
    let scene = Scene::new("cr-consent");
    define(&scene, &version("v1", true, true));
    let file = vault(&scene, "v1", "{region: north, size: 1}", "");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let before = live(&scene);
    let entry = "allowDataLoss = [\"Vault.NS.example.org/main\"]";
    for (keys, codes) in [
        ("", vec!["immutable", "data-would-go"]),
        ("force = true", vec!["immutable", "data-would-go"]),
        (entry, vec!["immutable", "data-would-go"]),
        (
            "force = true\nallowDataLoss = [\"Vault.other.example.org/main\"]",
            vec!["immutable", "data-would-go"],
        ),
    ] {
        vault(&scene, "v1", "{region: south, size: 1}", keys);
        let plan = scene.plan(&file);
        let release = scene.release(&plan, "web");
        let found: Vec<&str> = release["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason["code"].as_str().unwrap())
            .collect();
        assert_eq!((release["action"].as_str().unwrap(), &found), ("blocked", &codes), "{keys}: {release:#}");
        let remedy = release["reasons"][1]["remedy"].as_str().unwrap();
        let named = remedy.contains(&format!("Vault.{}.example.org/main", scene.namespace));
        assert_eq!(named, keys != entry, "{remedy}");
    }
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(live(&scene), before);
    // A mistake is none that a replacement could help.
    vault(&scene, "v1", "{region: south, size: 0}", &format!("force = true\n{entry}"));
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "web")["reasons"][0]["code"], "invalid");

    vault(&scene, "v1", "{region: south, size: 1}", &format!("force = true\n{entry}"));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let after = live(&scene);
    assert_eq!(after["spec"]["region"], "south");
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
}

/// The definition lost the version that our apply entry is of: the entry is rewritten, and nothing else.
#[test]
fn an_entry_of_a_version_that_is_gone_is_folded() {
    let scene = Scene::new("cr-version");
    let both = format!("{}{}", version("v1", true, true), version("v1beta1", true, false));
    define(&scene, &both);
    let file = vault(&scene, "v1beta1", "{region: north, size: 1, color: red}", "");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let before = live(&scene);
    define(&scene, &version("v1", true, true));

    // The chart follows, and drops a field on the way.
    vault(&scene, "v1", "{region: north, size: 2}", "");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let plan = loop {
        let plan = scene.plan(&file);
        let told = scene.release(&plan, "web")["objects"][0]["reasons"].to_string();
        if told.contains("ownership-folded") {
            break plan;
        }
        assert!(std::time::Instant::now() < deadline, "{plan:#}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    let object = &scene.release(&plan, "web")["objects"][0];
    assert_eq!(object["action"], "update", "{object:#}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let after = live(&scene);
    assert_eq!(after["spec"], json!({"region": "north", "size": 2}));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    let entries = after["metadata"]["managedFields"].as_array().unwrap();
    let versions: Vec<&str> = entries.iter().map(|entry| entry["apiVersion"].as_str().unwrap()).collect();
    assert_eq!(versions, [format!("{}.example.org/v1", scene.namespace)]);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
}

/// Records name a version that is gone: the object is there all the same, and is removed with its release.
#[test]
fn an_object_recorded_in_a_version_that_is_gone_is_removed() {
    let scene = Scene::new("cr-gone");
    define(&scene, &format!("{}{}", version("v1", true, true), version("v1beta1", true, false)));
    let file = vault(&scene, "v1beta1", "{region: north}", "");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    define(&scene, &version("v1", true, true));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let kind = format!("vaults.{}.example.org", scene.namespace);
    let beta = format!("/apis/{}.example.org/v1beta1", scene.namespace);
    while scene.cluster.try_tool("kubectl", &["get", "--raw", &beta]).0 {
        assert!(std::time::Instant::now() < deadline, "the version goes");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let plan = scene.cluster.statectl(["plan", path, "--destroy", "-o", "json"]).expect(0).json();
    let object = scene.release(&plan, "web")["objects"][0].clone();
    assert_eq!(object["action"], "delete", "{object:#}");
    let drift = scene.cluster.statectl(["drift", path, "-o", "json"]).expect(0).json();
    assert_eq!(drift["releases"][0]["standing"], "clean", "{drift:#}");
    scene.cluster.statectl(["destroy", path, "--yes"]).expect(0);
    let (found, _) = scene.cluster.try_tool("kubectl", &["get", &kind, "main", "-n", &scene.namespace]);
    assert!(!found, "it is gone");
}

/// An operator made a claim belong to the resource, so that it would go with it: both keys, by whichever way.
#[test]
fn a_resource_that_owns_claims_stays_without_both_keys() {
    let scene = Scene::new("cr-claims");
    define(&scene, &version("v1", true, true));
    let file = vault(&scene, "v1", "{region: north}", "");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let before = live(&scene);
    let group = format!("{}.example.org", scene.namespace);
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-main", "namespace": scene.namespace, "ownerReferences": [
            {"apiVersion": format!("{group}/v1"), "kind": "Vault", "name": "main", "uid": before["metadata"]["uid"]}]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}}});
    let manifest = scene.folder.path().join("claim.json");
    std::fs::write(&manifest, claim.to_string()).unwrap();
    scene.cluster.tool("kubectl", &["create", "-f", manifest.to_str().unwrap()]);

    // The release goes, without and with one key: the resource stays, and so does the claim.
    for keys in ["", "force = true"] {
        vault(&scene, "v1", "{region: north}", keys);
        let plan = scene.cluster.statectl(["plan", path, "--destroy", "-o", "json"]).expect(0).json();
        let object = &scene.release(&plan, "web")["objects"][0];
        assert_eq!(
            (&object["action"], &object["reasons"][0]["code"]),
            (&json!("keep"), &json!("data-kept")),
            "{object:#}"
        );
        let told = object["reasons"][0]["message"].as_str().unwrap();
        assert!(told.contains("claim data-main (3Gi)"), "{told}");
    }
    // Replaced: the claim is told too.
    let keys = format!("force = true\nallowDataLoss = [\"Vault.{group}/main\"]");
    vault(&scene, "v1", "{region: south}", &keys);
    let plan = scene.plan(&file);
    let told = scene.release(&plan, "web")["objects"][0]["reasons"].to_string();
    assert!(told.contains("claim data-main (3Gi)"), "{told}");
    let plan = scene.cluster.statectl(["plan", path, "--destroy", "-o", "json"]).expect(0).json();
    assert_eq!(scene.release(&plan, "web")["objects"][0]["action"], "delete");
    scene.cluster.statectl(["destroy", path, "--yes"]).expect(0);
}
