//! Saved plans: carried out exactly, or refused with what moved.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value as Json;

use crate::support::audit::writes_of_statectl;
use crate::support::scan;
use crate::support::scene::{Scene, chart};

const TEMPLATES: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }} }
data: { a: {{ .Values.a | quote }} }
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }} }
stringData: { password: {{ .Values.password | quote }} }
"#;
const PASSWORD: &str = "hunter2-7f3a";

fn app(a: &str) -> String {
    format!(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ a = \"{a}\" }}\n\
         set = {{ password = \"${{SAVED_PASSWORD:-{PASSWORD}-{a}}}\" }}\n[apps.still]\nenabled = true\nnamespace = \"NS\"\n\
         chart = \"./chart\"\nvalues = {{ a = \"same\" }}\nset = {{ password = \"x\" }}\n"
    )
}

/// A scene with `r` at revision 1 and a saved plan for revision 2.
fn saved(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    scan::secret(PASSWORD);
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATES), ("values.yaml", "")]);
    let state = scene.write(&app("one"));
    scene.cluster.statectl(["apply", state.to_str().unwrap(), "--yes"]).expect(0);
    scene.write(&app("two"));
    let plan = scene.folder.path().join("plan.json").to_str().unwrap().to_owned();
    scene
        .cluster
        .statectl(["plan", state.to_str().unwrap(), "--out", &plan])
        .expect(0)
        .says("statectl apply");
    (scene, plan)
}

#[test]
fn a_saved_plan_is_carried_out_without_a_question_and_once() {
    let (scene, plan) = saved("saved");
    let mode = std::fs::metadata(&plan).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&plan).unwrap();
    assert!(text.starts_with("{\n  \"format\": \"statectl.saved-plan/v1\""), "{text}");
    scene.cluster.statectl(["apply", plan.as_str()]).expect(0);
    let map = scene.cluster.get(&scene.namespace, "configmap", "r").unwrap();
    assert_eq!(map["data"]["a"], "two");
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 2));
    // Done is done.
    scene
        .cluster
        .statectl(["apply", plan.as_str()])
        .expect(4)
        .complains("its newest revision was 1 and is 2");
}

#[test]
fn whatever_moves_makes_a_saved_plan_unfit() {
    type Move = fn(&Scene);
    let moves: [(&str, Move, &str); 8] = [
        (
            "record",
            |scene| {
                let chart = scene.folder.path().join("chart");
                let values = ["--set", "a=helm,password=x"];
                let place = ["upgrade", "still", chart.to_str().unwrap(), "-n", &scene.namespace];
                scene.cluster.tool("helm4", &[&place[..], &values].concat());
            },
            "still: its newest revision was 1 and is 2",
        ),
        (
            "object",
            |scene| {
                let patch = [
                    "patch",
                    "configmap",
                    "r",
                    "-n",
                    &scene.namespace,
                    "--type=merge",
                    "-p",
                    "{\"data\":{\"b\":\"1\"}}",
                ];
                scene.cluster.tool("kubectl", &patch);
            },
            "ConfigMap NS/r was changed in the cluster",
        ),
        (
            "secret",
            |scene| {
                let patch = ["label", "secret", "r", "-n", &scene.namespace, "a=b"];
                scene.cluster.tool("kubectl", &patch);
            },
            "Secret NS/r",
        ),
        (
            "recreated",
            |scene| {
                scene.cluster.tool("kubectl", &["delete", "configmap", "r", "-n", &scene.namespace]);
            },
            "ConfigMap NS/r",
        ),
        (
            "file",
            |scene| {
                scene.write(&app("three"));
            },
            "state.toml is not the same any more",
        ),
        (
            "chart",
            |scene| {
                chart(scene.folder.path(), &[("templates/a.yaml", &format!("{TEMPLATES}# more\n"))]);
            },
            "the files of the chart",
        ),
        ("values", |_| {}, "its values, or what they render to, are not the same"),
        (
            "cluster",
            |scene| {
                let path = scene.folder.path().join("plan.json");
                let text = std::fs::read_to_string(&path).unwrap();
                let uid = text.lines().find(|line| line.contains("\"uid\"")).unwrap().to_owned();
                std::fs::write(&path, text.replacen(&uid, "    \"uid\": \"another\"", 1)).unwrap();
            },
            "the plan is for the cluster",
        ),
    ];
    for (name, change, said) in moves {
        let (scene, plan) = saved(&format!("saved-{name}"));
        change(&scene);
        let mark = scene.cluster.audit_mark();
        let mut command = crate::support::statectl::command(["apply", plan.as_str()]);
        command.env("KUBECONFIG", &scene.cluster.kubeconfig);
        if name == "values" {
            command.env("SAVED_PASSWORD", "another");
        }
        let output = crate::support::statectl::finish(&mut command);
        output.expect(4).complains(&said.replace("NS", &scene.namespace));
        std::thread::sleep(std::time::Duration::from_millis(300));
        let writes = writes_of_statectl(scene.cluster, mark, &[&scene.namespace]);
        assert!(writes.is_empty(), "{name}: {writes:?}");
    }
}

#[test]
fn a_file_that_is_no_saved_plan_of_this_version_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    for (text, said) in [
        ("{\"format\":\"statectl.saved-plan/v9\"}", "v9"),
        ("{\"format\":\"statectl.saved-plan/v1\",\"releases\":3}", "not a saved plan"),
    ] {
        std::fs::write(&path, text).unwrap();
        let output = crate::support::statectl::offline(["apply", path.to_str().unwrap()]);
        output.expect(64).complains(said);
    }
    std::fs::write(&path, "{\"format\":\"statectl.saved-plan/v1\"}").unwrap();
    let output = crate::support::statectl::offline(["apply", path.to_str().unwrap(), "--target", "a"]);
    assert_eq!(output.code, 64);
}

#[test]
fn the_effect_of_a_plan_is_the_same_as_long_as_it_does_the_same() {
    let (scene, plan) = saved("effect");
    // In a repository, the file says which commit it was made from.
    let commit = "0123456789012345678901234567890123456789";
    std::fs::create_dir(scene.folder.path().join(".git")).unwrap();
    std::fs::write(scene.folder.path().join(".git/HEAD"), commit).unwrap();
    let state = scene.folder.path().join("state.toml");
    let state = state.to_str().unwrap();
    let effect = || {
        scene.cluster.statectl(["plan", state, "--out", &plan]).expect(0);
        let saved: Json = serde_json::from_str(&std::fs::read_to_string(&plan).unwrap()).unwrap();
        let report = scene.plan(std::path::Path::new(state));
        assert_eq!(saved["effect"], report["effect"]);
        assert_eq!(saved["commit"], commit);
        let effect = report["effect"].as_str().unwrap().to_owned();
        assert!(effect.starts_with("sha256:") && effect.len() == 71, "{effect}");
        effect
    };
    let two = effect();
    assert_eq!(effect(), two);
    // A value of a Secret cannot be found in it; whatever else is written is.
    let text = std::fs::read_to_string(state).unwrap();
    std::fs::write(state, text.replace(&format!("{PASSWORD}-two"), "another")).unwrap();
    assert_eq!(effect(), two);
    scene.write(&app("three"));
    let three = effect();
    assert_ne!(three, two);
    scene.write(&app("two").replace("apps.still]\nenabled = true", "apps.still]\nenabled = false"));
    assert!(![two, three].contains(&effect()));
}

/// Somebody agreed to a digest: as long as the effect is that one it is carried out, without another look; another one is not.
#[test]
fn only_what_was_approved_is_carried_out() {
    let (scene, _) = saved("approved");
    let state = scene.folder.path().join("state.toml");
    let state = state.to_str().unwrap();
    let effect = || scene.plan(state.as_ref())["effect"].as_str().unwrap().to_owned();
    let approved = effect();
    scene.write(&app("three"));
    let other = effect();
    let arguments = |digest: &str| ["apply", state, "--yes", "--approved", digest].map(str::to_owned);
    scene
        .cluster
        .statectl(arguments(&approved))
        .expect(4)
        .complains("is not what was approved")
        .complains(&approved)
        .complains(&other);
    assert_eq!(effect(), other, "nothing was applied");
    scene.cluster.statectl(arguments("sha256:0")).expect(4);
    scene.cluster.statectl(arguments(&other)).expect(0);
    // Nothing to do needs nobody's word.
    scene.cluster.statectl(arguments(&approved)).expect(0).says("no changes");
}
