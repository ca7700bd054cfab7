//! What is applied is what Helm applies, to the last character.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};

/// Text at the end of a document, with and without the end of its line, in objects and in hooks.
const BLOCKS: [(&str, &str); 7] = [
    ("clipped-open", "|\n    x"),
    ("clipped", "|\n    x\n"),
    ("kept", "|+\n    x\n\n\n"),
    ("kept-open", "|+\n    x"),
    ("stripped", "|-\n    x\n"),
    ("folded", ">+\n    x\n\n"),
    ("plus", "'1+1'\n"),
];

fn texts(scene: &Scene) -> BTreeMap<String, String> {
    let list: Json = serde_json::from_str(
        &scene.cluster.tool("kubectl", &["get", "cm", "-n", &scene.namespace, "-o", "json"]),
    )
    .unwrap();
    let objects = list["items"].as_array().unwrap().iter();
    let text = |object: &Json| {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        Some((name, object["data"]["k"].as_str()?.to_owned()))
    };
    objects.filter_map(text).collect()
}

#[test]
fn text_at_the_end_of_a_document_is_as_long_as_with_helm() {
    let scene = Scene::new("blocks");
    let map = |name: &str, annotations: &str, block: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{annotations}}}\ndata:\n  k: {block}"
        )
    };
    let hook = ", annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}";
    let mut files = Vec::new();
    for (name, block) in BLOCKS {
        files.push((format!("templates/{name}.yaml"), map(name, "", block)));
        files.push((format!("templates/{name}-hook.yaml"), map(&format!("{name}-hook"), hook, block)));
    }
    let joined: Vec<String> =
        BLOCKS.iter().map(|(name, block)| map(&format!("{name}-joined"), "", block)).collect();
    files.push(("templates/joined.yaml".to_owned(), joined.join("\n---\n")));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let path = chart(scene.folder.path(), &files);

    scene.cluster.tool("helm4", &["install", "web", path.to_str().unwrap(), "-n", &scene.namespace]);
    let expected = texts(&scene);
    assert_eq!(expected.len(), BLOCKS.len() * 3);
    scene.cluster.tool("helm4", &["uninstall", "web", "-n", &scene.namespace]);
    scene.cluster.tool("kubectl", &["delete", "configmap", "--all", "-n", &scene.namespace]);
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let file = file.to_str().unwrap();
    scene.cluster.statectl(["apply", file, "--yes"]).expect(0);
    assert_eq!(texts(&scene), expected);
    // The record says the same.
    scene.cluster.statectl(["drift", file, "--detailed-exit-code"]).expect(0);
    scene.cluster.statectl(["plan", file, "--verify=all", "--detailed-exit-code"]).expect(0);
}

/// A map that loses all its members is still there, and empty: one apply alone would take it away.
#[test]
fn a_map_that_becomes_empty_is_there_afterwards() {
    let scene = Scene::new("emptied");
    let write = |context: &str, selector: &str| {
        let budget = format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b}}\nspec: {{minAvailable: 1, selector: \
             {selector}}}\n"
        );
        let web = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
             template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: c, image: \
             \"example.org/a:1\", securityContext: {context}}}]}}\n"
        );
        chart(scene.folder.path(), &[("templates/b.yaml", &budget), ("templates/web.yaml", &web)]);
        scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = false\n")
    };
    let file = write("{privileged: true, capabilities: {add: [A]}}", "{matchLabels: {app: web}}");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    write("{}", "{}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let budget = scene.cluster.get(&scene.namespace, "pdb", "b").unwrap();
    assert_eq!(budget["spec"]["selector"], serde_json::json!({}), "all pods, not none");
    for arguments in [&["plan", path, "--detailed-exit-code"][..], &["drift", path, "--detailed-exit-code"]] {
        scene.cluster.statectl(arguments).expect(0);
    }
    scene.cluster.statectl(["plan", path, "--verify=all", "--detailed-exit-code"]).expect(0);
}
