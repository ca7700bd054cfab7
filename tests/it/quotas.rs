//! Quotas: what comes together is counted together, and what makes room for itself is not refused.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::support::scene::{Scene, chart};

const MAPS: &str = "{{- range .Values.maps }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ . }} }\nimmutable: true\ndata: { k: {{ $.Values.k | quote }} }\n---\n{{- end }}\n";

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &[("templates/maps.yaml", MAPS)]);
    scene
}

fn app(name: &str, maps: &str, k: &str) -> String {
    format!(
        "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nforce = true\ntimeout = \"60s\"\n\
         values = {{ maps = {maps}, k = \"{k}\" }}\n"
    )
}

/// Makes a quota, or another one of it, and waits until the server counts.
fn quota(scene: &Scene, hard: &Json) {
    let object = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": scene.namespace},
        "spec": {"hard": hard}});
    let file = scene.folder.path().join("quota.json");
    std::fs::write(&file, object.to_string()).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", file.to_str().unwrap()]);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let live = scene.cluster.get(&scene.namespace, "resourcequota", "few").unwrap();
        if live["status"]["hard"] == *hard && live["status"]["used"].is_object() {
            return;
        }
        assert!(Instant::now() < deadline, "{live}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn simulations(scene: &Scene, plan: &Json, release: &str) -> Vec<String> {
    let objects = scene.release(plan, release)["objects"].as_array().unwrap();
    objects.iter().map(|object| object["simulation"].as_str().unwrap().to_owned()).collect()
}

/// Each dry run alone passes; together they do not fit, and the plan says that it cannot tell.
#[test]
fn what_fits_alone_and_not_together_is_unverified() {
    let scene = scene("quota-sum");
    // The namespace has `kube-root-ca.crt` of its own.
    quota(&scene, &json!({"configmaps": "4"}));
    let file = scene.write(&format!("{}{}", app("one", "[\"a\", \"b\"]", "x"), app("two", "[\"c\"]", "x")));
    let plan = scene.plan(&file);
    for (release, count) in [("one", 2), ("two", 1)] {
        assert_eq!(simulations(&scene, &plan, release), vec!["verified"; count], "they fit: {plan:#}");
    }
    quota(&scene, &json!({"configmaps": "3"}));
    let plan = scene.plan(&file);
    for (release, count) in [("one", 2), ("two", 1)] {
        assert_eq!(simulations(&scene, &plan, release), vec!["unverified"; count], "{plan:#}");
    }
    let reasons = scene.release(&plan, "one")["objects"][0]["reasons"].to_string();
    assert!(reasons.contains("quota few leaves 2 of configmaps, and this run takes 3"), "{reasons}");
    quota(&scene, &json!({"configmaps": "4"}));
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
}

/// A run that is kept takes one of them, too.
const NO_RUNS: &str = "[settings]\nrunHistory = 0\n";

/// A full quota: the dry run under another name is refused, and the replacement itself fits.
#[test]
fn a_full_quota_does_not_refuse_a_replacement() {
    let scene = scene("quota-full");
    let file = scene.write(&format!("{NO_RUNS}{}", app("one", "[\"a\", \"b\"]", "x")));
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    quota(&scene, &json!({"configmaps": "3"}));
    let before = scene.cluster.uid(&scene.namespace, "configmap", "a");
    let file = scene.write(&format!("{NO_RUNS}{}", app("one", "[\"a\", \"b\"]", "z")));
    let plan = scene.plan(&file);
    assert_eq!(simulations(&scene, &plan, "one"), ["verified", "verified"], "{plan:#}");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let after = scene.cluster.get(&scene.namespace, "configmap", "a").unwrap();
    assert_eq!(after["data"]["k"], "z");
    assert_ne!(after["metadata"]["uid"], before.as_str());

    // A quota that was lowered below what is there would not take it back.
    quota(&scene, &json!({"configmaps": "2"}));
    let file = scene.write(&app("one", "[\"a\", \"b\"]", "y"));
    let plan = scene.plan(&file);
    let release = scene.release(&plan, "one");
    assert_eq!(release["action"], "blocked", "{release:#}");
    let reasons = release["reasons"].to_string();
    assert!(reasons.contains("could not be created again: quota few leaves 0 of configmaps"), "{reasons}");
}
