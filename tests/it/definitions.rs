//! `crds = "upgrade"`: what a new form of a definition would take from objects that exist.

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};

/// A definition with these fields under `spec`, in these versions.
fn definition(group: &str, fields: &[&str], versions: &[&str]) -> String {
    let fields: String = fields.iter().map(|name| format!("{name}: {{ type: string }}, ")).collect();
    let version = |name: &&str| {
        let storage = versions.last() == Some(name);
        format!(
            "    - name: {name}\n      served: true\n      storage: {storage}\n      schema: {{ openAPIV3Schema: {{ type: object, \
             properties: {{ spec: {{ type: object, properties: {{ {fields} }} }} }} }} }}\n"
        )
    };
    let versions: String = versions.iter().map(version).collect();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: vessels.{group} }}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{ plural: vessels, singular: vessel, kind: Vessel }}\n  versions:\n{versions}"
    )
}

fn codes(release: &Json) -> Vec<&str> {
    release["reasons"].as_array().unwrap().iter().filter_map(|reason| reason["code"].as_str()).collect()
}

#[test]
fn a_definition_that_takes_fields_from_existing_objects_needs_consent() {
    let scene = Scene::new("narrow");
    let group = format!("{}.example.org", scene.namespace);
    let write = |fields: &[&str], versions: &[&str]| {
        let crd = definition(&group, fields, versions);
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n";
        chart(scene.folder.path(), &[("crds/vessels.yaml", &crd), ("templates/a.yaml", config)]);
    };
    let app = |more: &str| {
        let apps = format!(
            "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\ncrds = \"upgrade\"\n{more}"
        );
        scene.write(&apps)
    };
    let apply = |file: &std::path::Path, code: i32| {
        scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(code)
    };
    let uid = || {
        let name = format!("vessels.{group}");
        scene.cluster.tool("kubectl", &["get", "crd", &name, "-o", "jsonpath={.metadata.uid}"])
    };
    write(&["size", "colour"], &["v1"]);
    let file = app("");
    apply(&file, 0);
    let first = uid();

    // Without objects nobody loses anything.
    write(&["size"], &["v1"]);
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "r")["action"], "upgrade");
    let vessel = scene.folder.path().join("vessel.yaml");
    let text = format!(
        "apiVersion: {group}/v1\nkind: Vessel\nmetadata: {{ name: one, namespace: {} }}\nspec: {{ size: a, colour: b }}\n",
        scene.namespace
    );
    std::fs::write(&vessel, text).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", vessel.to_str().unwrap()]);
    let output = scene.cluster.statectl(["plan", file.to_str().unwrap(), "-o", "json"]).expect(4);
    let plan = output.json();
    let release = scene.release(&plan, "r");
    assert_eq!(codes(release), ["definition-narrows"]);
    let reason = &release["reasons"][0];
    let message = reason["message"].as_str().unwrap();
    assert!(
        message.contains("would take something from 1 of kind Vessel")
            && message.ends_with("v1: spec.colour is gone"),
        "{message}"
    );
    let remedy = format!("allowDataLoss = [\"CustomResourceDefinition/vessels.{group}\"]");
    assert!(reason["remedy"].as_str().unwrap().contains(&remedy), "{reason}");
    apply(&file, 4);

    // A field more takes nothing.
    write(&["size", "colour", "weight"], &["v1"]);
    apply(&app(""), 0);
    let colour = ["get", "vessels", "one", "-n", &scene.namespace, "-o", "jsonpath={.spec.colour}"];
    assert_eq!(scene.cluster.tool("kubectl", &colour), "b");

    // With consent it is changed in place.
    write(&["size"], &["v1"]);
    let file = app(&format!("{remedy}\n"));
    apply(&file, 0);
    assert_eq!(uid(), first);
    assert_eq!(scene.plan(&file)["changes"], false);

    // A version that objects are stored in cannot go: the server itself says so, in the plan.
    write(&["size"], &["v2"]);
    let output = scene.cluster.statectl(["plan", file.to_str().unwrap(), "-o", "json"]).expect(4);
    let plan = output.json();
    let message = scene.release(&plan, "r")["reasons"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("storedVersions"), "{message}");
    assert_eq!(uid(), first);
}

#[test]
fn a_definition_among_the_templates_is_changed_and_the_plan_says_what_it_takes() {
    let scene = Scene::new("narrow-template");
    let group = format!("{}.example.org", scene.namespace);
    let write = |fields: &[&str]| {
        let vessel =
            format!("apiVersion: {group}/v1\nkind: Vessel\nmetadata: {{ name: one }}\nspec: {{ size: a }}\n");
        let crd = definition(&group, fields, &["v1"]);
        chart(scene.folder.path(), &[("templates/crd.yaml", &crd), ("templates/one.yaml", &vessel)]);
    };
    write(&["size", "colour"]);
    let file = scene.write("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    write(&["size"]);
    let text = scene.cluster.statectl(["plan", file.to_str().unwrap()]).expect(0).stdout;
    assert!(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("takes something from 1 of kind Vessel"),
        "{text}"
    );
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
}
