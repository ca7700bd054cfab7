//! Objects of a release that become hooks, and hooks that would take an object from their release.

use crate::support::scene::{Scene, chart};

const HOOK: &str = "annotations: {helm.sh/hook: \"pre-upgrade\"}, ";

fn job(hook: &str, stamp: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{{hook}name: migrate}}\nspec:\n  template:\n    spec: {{restartPolicy: \
         Never, containers: [{{name: c, image: \"example.org/a:{stamp}\"}}]}}\n"
    )
}

fn map(hook: &str, name: &str, k: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{hook}name: {name}}}\ndata: {{k: {k}}}\n")
}

fn claim(hook: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{{hook}name: data}}\nspec: {{accessModes: [ReadWriteOnce], \
         resources: {{requests: {{storage: 1Gi}}}}}}\n"
    )
}

/// As Helm does, whose next upgrade finds nothing left to remove.
#[test]
fn an_object_that_becomes_a_hook_makes_way_for_it() {
    let scene = Scene::new("to-hook");
    let write = |hook: &str, k: &str| {
        let (job, first, second, claim) =
            (job(hook, k), map(hook, "first", k), map("", "second", k), claim(hook));
        let files = [
            ("templates/job.yaml", job.as_str()),
            ("templates/first.yaml", first.as_str()),
            ("templates/second.yaml", second.as_str()),
            ("templates/claim.yaml", claim.as_str()),
        ];
        chart(scene.folder.path(), &files);
        scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nforce = true\n")
    };
    let file = write("", "one");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let uid = |kind: &str, name: &str| scene.cluster.uid(&scene.namespace, kind, name);
    let before = (uid("job", "migrate"), uid("configmap", "first"), uid("pvc", "data"));

    write(HOOK, "two");
    let plan = scene.plan(&file);
    let objects = scene.release(&plan, "web")["objects"].as_array().unwrap();
    for (kind, action) in [("Job", "delete"), ("PersistentVolumeClaim", "keep")] {
        let found = objects.iter().find(|object| object["kind"] == kind).unwrap();
        assert_eq!(
            (&found["action"], &found["reasons"][0]["code"]),
            (&action.into(), &"becomes-hook".into()),
            "{found}"
        );
    }
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let after = (uid("job", "migrate"), uid("configmap", "first"), uid("pvc", "data"));
    assert!(after.0 != before.0 && after.1 != before.1, "they were made anew");
    assert_eq!(after.2, before.2, "what holds data stays");
    let first = scene.cluster.get(&scene.namespace, "configmap", "first").unwrap();
    assert_eq!(first["data"]["k"], "two");
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
}

#[test]
fn a_hook_that_would_take_an_object_of_its_release_is_refused_before_anything_runs() {
    let scene = Scene::new("hook-meets");
    let (hook, own) = (map(HOOK, "first", "hook"), map("", "first", "own"));
    chart(scene.folder.path(), &[("templates/own.yaml", &own)]);
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    chart(scene.folder.path(), &[("templates/own.yaml", &own), ("templates/hook.yaml", &hook)]);
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    assert_eq!(scene.release(&plan, "web")["reasons"][0]["code"], "hook-meets");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 1));
}

/// A hook that shows its revision, or says something else at an upgrade, is no change of a release that is as desired.
#[test]
fn a_hook_that_differs_at_each_revision_is_no_change() {
    let scene = Scene::new("hook-turns");
    let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: turn\n  annotations: {helm.sh/hook: \
                \"pre-install,pre-upgrade\"}\ndata: {revision: \"{{ .Release.Revision }}\", upgrade: \"{{ .Release.IsUpgrade }}\"}\n";
    let write = |k: &str, more: &str| {
        let files =
            [("templates/own.yaml", &*map("", "own", k)), ("templates/hook.yaml", &*format!("{hook}{more}"))];
        chart(scene.folder.path(), &files);
    };
    write("one", "");
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let path = file.to_str().unwrap();
    for (k, revision) in [("one", 1), ("two", 2), ("three", 3)] {
        write(k, "");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        assert_eq!(scene.helm_status("web").1, revision);
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
    }
    // What the chart itself changes in it is one.
    write("three", "# {{ .Release.Revision }} and more\n");
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "web")["reasons"][0]["code"], "hooks-changed");
}
