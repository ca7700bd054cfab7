//! `rollback` and `history`: the same revisions as Helm's, under our guards.

use serde_json::Value as Json;

use crate::support::audit::writes_of_statectl;
use crate::support::scene::{Scene, chart};

/// A chart with one more object in its second version, and hooks that say which operation ran them.
const FILES: [(&str, &str); 2] = [
    (
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ .Values.x | quote }}}\n\
         {{- if eq .Values.x \"two\" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n{{- end }}\n",
    ),
    (
        "templates/hook.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations:\n    helm.sh/hook: pre-rollback\n\
         data: {of: {{ .Values.x | quote }}}\n",
    ),
];

const APPS: &str =
    "[apps.small]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\nset = { x = \"one\" }\n";

fn installed(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &FILES);
    let file = scene.write(APPS).to_str().unwrap().to_owned();
    scene.cluster.statectl(["apply", &file, "--yes"]).expect(0);
    scene.write(&APPS.replace("one", "two"));
    scene.cluster.statectl(["apply", &file, "--yes"]).expect(0);
    (scene, file)
}

fn map(scene: &Scene, name: &str) -> Option<Json> {
    scene.cluster.get(&scene.namespace, "configmap", name).map(|map| map["data"].clone())
}

fn helm_history(scene: &Scene, helm: &str) -> Vec<Json> {
    let text = scene.cluster.tool(helm, &["history", "small", "-n", &scene.namespace, "-o", "json"]);
    serde_json::from_str(&text).unwrap()
}

/// What Helm and we say of each revision, without times.
fn compared(scene: &Scene) {
    let key = format!("{}/small", scene.namespace);
    let ours = scene.cluster.statectl(["history", &key, "-o", "json"]).expect(0).json();
    assert_eq!(ours["format"], "statectl.history/v1");
    let row = |row: &Json, chart: &str| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (row["revision"].as_u64().unwrap(), text("status"), text(chart), text("description"))
    };
    let ours: Vec<_> =
        ours["revisions"].as_array().unwrap().iter().map(|found| row(found, "chart")).collect();
    for helm in ["helm3", "helm4"] {
        let theirs: Vec<_> = helm_history(scene, helm).iter().map(|found| row(found, "chart")).collect();
        assert_eq!(ours, theirs, "{helm}");
    }
}

#[test]
fn a_rollback_is_that_of_helm_and_helm_goes_on_from_it() {
    let (scene, file) = installed("goes-back");
    let key = format!("{}/small", scene.namespace);
    let mark = scene.cluster.audit_mark();
    scene
        .cluster
        .statectl(["rollback", &key, &file, "--dry-run"])
        .expect(0)
        .says("goes back to revision 1")
        .says("ConfigMap");
    let writes = writes_of_statectl(scene.cluster, mark, &[&scene.namespace]);
    assert!(writes.is_empty(), "--dry-run writes nothing: {writes:?}");

    scene.cluster.statectl(["rollback", &key, &file, "--yes"]).expect(0).says("revision 3");
    assert_eq!(map(&scene, "a").unwrap()["x"], "one");
    assert!(map(&scene, "b").is_none(), "what came with revision 2 goes");
    assert_eq!(
        map(&scene, "hook").unwrap()["of"],
        "one",
        "the hook of the revision that is gone back to ran"
    );
    compared(&scene);
    let newest = helm_history(&scene, "helm4").pop().unwrap();
    assert_eq!(
        (newest["status"].as_str(), newest["description"].as_str()),
        (Some("deployed"), Some("Rollback to 1"))
    );
    let values =
        scene.cluster.tool("helm4", &["get", "values", "small", "-n", &scene.namespace, "-o", "json"]);
    assert_eq!(serde_json::from_str::<Json>(&values).unwrap(), serde_json::json!({"x": "one"}));

    // Both Helms go on from it, and a way back of theirs is told as one too.
    scene.cluster.tool("helm3", &["rollback", "small", "2", "-n", &scene.namespace]);
    assert_eq!(map(&scene, "a").unwrap()["x"], "two");
    scene.cluster.statectl(["rollback", &key, &file, "--to", "3", "--yes"]).expect(0);
    assert_eq!(map(&scene, "a").unwrap()["x"], "one");
    scene.cluster.tool("helm4", &["rollback", "small", "-n", &scene.namespace]);
    assert_eq!(map(&scene, "a").unwrap()["x"], "two");
    compared(&scene);
    scene.cluster.statectl(["history", &key, "--max", "1"]).expect(0).says("Rollback to 4");
}

/// A schedule does not undo what a person did at night; a person, or another desired state, does.
#[test]
fn a_scheduled_run_holds_what_was_rolled_back() {
    let (scene, file) = installed("stays-back");
    let key = format!("{}/small", scene.namespace);
    scene.cluster.statectl(["rollback", &key, &file, "--yes"]).expect(0);
    let held = scene.cluster.statectl(["apply", &file, "--yes", "--scheduled"]).expect(5);
    held.says("held: revision 2, which is what the file says, was rolled back to 1");
    assert_eq!(map(&scene, "a").unwrap()["x"], "one");
    let plan = scene.plan(file.as_ref());
    let release = scene.release(&plan, "small");
    assert_eq!(release["action"], "upgrade", "{release}");
    assert!(release["reasons"].to_string().contains("rolled-back"), "{release}");
    // Another desired state is not held, and neither is the one that the rollback brought.
    scene.write(&APPS.replace("one", "three"));
    scene.cluster.statectl(["apply", &file, "--yes", "--scheduled"]).expect(0);
    assert_eq!(map(&scene, "a").unwrap()["x"], "three");
    scene.cluster.statectl(["rollback", &key, &file, "--to", "3", "--yes"]).expect(0);
    scene.write(APPS);
    scene.cluster.statectl(["apply", &file, "--yes", "--scheduled"]).expect(0).says("no changes");
    // `--retry` is a person's word.
    scene.write(&APPS.replace("one", "three"));
    scene.cluster.statectl(["apply", &file, "--yes", "--scheduled", "--retry"]).expect(0);
    assert_eq!(map(&scene, "a").unwrap()["x"], "three");
}

#[test]
fn the_guards_hold_on_the_way_back_too() {
    let scene = Scene::new("guarded-back");
    let service = |ip: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nimmutable: true\nstringData: {{x: '{ip}'}}\n"
        )
    };
    let apps = APPS.replace("set = { x = \"one\" }\n", "");
    let file = scene.write(&apps).to_str().unwrap().to_owned();
    chart(scene.folder.path(), &[("templates/s.yaml", &service("one"))]);
    scene.cluster.statectl(["apply", &file, "--yes"]).expect(0);
    chart(scene.folder.path(), &[("templates/s.yaml", &service("two"))]);
    scene.write(&format!("{apps}force = [\"replace\"]\n"));
    scene.cluster.statectl(["apply", &file, "--yes"]).expect(0);
    scene.write(&apps);
    let uid = || scene.cluster.get(&scene.namespace, "secret", "s").unwrap()["metadata"]["uid"].clone();
    let before = uid();
    let key = format!("{}/small", scene.namespace);
    scene
        .cluster
        .statectl(["rollback", &key, &file, "--yes"])
        .expect(4)
        .says("immutable")
        .says("force = [\"replace\"]");
    assert_eq!(uid(), before);
    assert_eq!(scene.helm_status("small"), ("deployed".to_owned(), 2));
    scene.write(&format!("{apps}force = [\"replace\"]\n"));
    scene.cluster.statectl(["rollback", &key, &file, "--yes"]).expect(0);
    assert_ne!(uid(), before);
    assert_eq!(scene.helm_status("small"), ("deployed".to_owned(), 3));
}

#[test]
fn what_cannot_be_gone_back_to_is_refused_with_the_way_to_go() {
    let (scene, file) = installed("no-way-back");
    let key = format!("{}/small", scene.namespace);
    let other = format!("{}/other", scene.namespace);
    for (arguments, code, complaint) in [
        (vec!["rollback", &key, &file, "--yes", "--to", "7"], 4, "there is no revision 7"),
        (vec!["rollback", &other, &file, "--yes"], 3, "the selection matches no release"),
        (vec!["rollback", "small", &file, "--yes"], 64, "is not of the form NAMESPACE/NAME"),
        (vec!["rollback", &key, &file], 64, "add `--yes`"),
        (vec!["history", &other], 1, "has no record"),
    ] {
        scene.cluster.statectl(arguments).expect(code).complains(complaint);
    }
    scene.write(&APPS.replace("enabled = true", "enabled = false"));
    scene.cluster.statectl(["rollback", &key, &file, "--yes"]).expect(4).complains("the file does not want");
    assert_eq!(scene.helm_status("small"), ("deployed".to_owned(), 2));
    // One that is there already is no change, and no revision.
    scene.write(&APPS.replace("one", "two"));
    scene.cluster.statectl(["rollback", &key, &file, "--to", "2", "--yes"]).expect(0).says("no changes");
    assert_eq!(scene.helm_status("small"), ("deployed".to_owned(), 2));
}
