//! `runs`: what earlier runs left about themselves, on the real API server.

use serde_json::Value as Json;

use crate::outputs::fits;
use crate::support::audit::writes_of_statectl;
use crate::support::scene::{Scene, chart};

const FILES: [(&str, &str); 2] = [
    (
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ .Values.x | quote }}}\n",
    ),
    (
        "templates/b.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\nstringData: {key: {{ .Values.key | quote }}}\n",
    ),
];

const OTHER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
const SECRET: &str = "hunter2-zebra";

fn file(scene: &Scene, x: &str, more: &str) -> String {
    let text = format!(
        "[settings]\nrunHistory = 3\n[apps.small]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\n\
         set = {{ x = \"{x}\", key = \"{SECRET}-{x}\" }}\n{more}"
    );
    scene.write(&text).to_str().unwrap().to_owned()
}

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &FILES);
    scene
}

/// The objects that hold the runs.
fn stored(scene: &Scene) -> Vec<Json> {
    let found = scene.cluster.tool(
        "kubectl",
        &["get", "configmaps", "-n", &scene.namespace, "-l", "statectl.io/run", "-o", "json"],
    );
    let list: Json = serde_json::from_str(&found).unwrap();
    list["items"].as_array().unwrap().clone()
}

fn listed(scene: &Scene, file: &str) -> Vec<(u64, String, String)> {
    let runs = scene.cluster.statectl(["runs", file, "-o", "json"]).expect(0).json();
    fits(&runs);
    let row = |run: &Json| {
        let text = |key: &str| run[key].as_str().unwrap().to_owned();
        (run["run"].as_u64().unwrap(), text("verb"), text("result"))
    };
    runs["runs"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_run_that_does_something_leaves_what_it_did_without_values() {
    let scene = scene("runs-kept");
    let state = file(&scene, "one", "");
    let cluster = scene.cluster;
    cluster.statectl(["runs", &state]).expect(0).says("no run is kept");
    cluster.statectl(["runs", "show", &state]).expect(1).complains("no run is kept");
    cluster.statectl(["apply", &state, "--yes"]).expect(0);
    assert_eq!(listed(&scene, &state), [(1, "apply".to_owned(), "succeeded".to_owned())]);

    // One that finds nothing to do leaves nothing, and writes nothing.
    let mark = cluster.audit_mark();
    cluster.statectl(["apply", &state, "--yes"]).expect(0);
    cluster.statectl(["plan", &state]).expect(0);
    cluster.statectl(["runs", &state]).expect(0);
    assert_eq!(writes_of_statectl(cluster, mark, &[&scene.namespace]), Vec::<String>::new());
    assert_eq!(stored(&scene).len(), 1);

    // A changed file, then one whose chart cannot be deployed.
    file(&scene, "two", "");
    cluster.statectl(["apply", &state, "--yes"]).expect(0);
    let shown = cluster.statectl(["runs", "show", &state]).expect(0);
    for text in ["run 2 of", "apply succeeded", "upgrade", "revision 2", "data.x", "small-1.0.0"] {
        assert!(shown.stdout.contains(text), "{text}:\n{}", shown.stdout);
    }
    let json = cluster.statectl(["runs", "show", &state, "--run", "2", "-o", "json"]).expect(0);
    fits(&json.json());
    let difference = cluster.statectl(["runs", "diff", &state, "--from", "1", "--to", "2"]).expect(0);
    for text in ["- install", "+ upgrade", "create ConfigMap", "update ConfigMap"] {
        assert!(difference.stdout.contains(text), "{text}:\n{}", difference.stdout);
    }
    let difference = cluster.statectl(["runs", "diff", &state, "-o", "json"]).expect(0);
    fits(&difference.json());
    assert_eq!(difference.json()["releases"][0]["before"]["action"], "install");
    cluster.statectl(["runs", "show", &state, "--run", "9"]).expect(1).complains("there is no run 9");

    // No value is in what is stored, packed or not, nor in what is shown.
    let unpacked = cluster.statectl(["runs", "show", &state, "-o", "json"]).expect(0).stdout;
    for text in [unpacked, shown.stdout, json.stdout, difference.stdout] {
        assert!(!text.contains(SECRET) && !text.contains("\"two\""), "{text}");
    }
    assert!(stored(&scene).iter().all(|object| object["immutable"] == true));

    // A destruction is a run too, and the newest three are kept.
    file(&scene, "three", "");
    cluster.statectl(["apply", &state, "--yes"]).expect(0);
    cluster.statectl(["destroy", &state, "--yes"]).expect(0);
    let runs = listed(&scene, &state);
    assert_eq!(runs.iter().map(|run| run.0).collect::<Vec<_>>(), [4, 3, 2]);
    assert_eq!(runs[0].1, "destroy");
}

#[test]
fn a_failed_run_is_kept_and_a_refused_one_that_does_nothing_is_not() {
    let scene = scene("runs-failed");
    let cluster = scene.cluster;
    let wrong = "setString = { bad = \"x\" }\n";
    let state = file(&scene, "one", wrong);
    let template = "{{ if .Values.bad }}apiVersion: v1\nkind: Pod\nmetadata: {name: late, annotations: {helm.sh/hook: post-install}}\n\
                    spec: {restartPolicy: Never, containers: [{name: a, image: registry.k8s.io/pause:3.9, command: [false]}]}\n{{ end }}\n";
    chart(scene.folder.path(), &[FILES[0], FILES[1], ("templates/c.yaml", template)]);
    let failing = file(&scene, "one", &format!("{wrong}timeout = \"2s\"\n"));
    assert_eq!(state, failing);
    cluster.statectl(["apply", &state, "--yes"]).expect(1);
    let runs = listed(&scene, &state);
    assert_eq!((runs.len(), runs[0].2.as_str()), (1, "failed"));
    let shown = cluster.statectl(["runs", "show", &state, "-o", "json"]).expect(0).json();
    assert_eq!(shown["releases"][0]["state"], "failed", "{shown:#}");

    // Only a plan that is refused: nothing was tried.
    let refused =
        file(&scene, "one", "[apps.second]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\n");
    cluster.statectl(["apply", &refused, "--yes", "--target", "second"]).expect(4);
    assert_eq!(listed(&scene, &state).len(), 1);
}

/// Who may not keep runs still applies, and is told.
#[test]
fn a_run_that_cannot_be_kept_is_no_failure() {
    let scene = scene("runs-forbidden");
    let state = file(&scene, "one", "");
    let granted = [
        ("", "secrets", "get,list,watch,create,update,patch,delete"),
        ("coordination.k8s.io", "leases", "get,create,update,delete"),
        ("", "configmaps", "get,create,patch"),
    ];
    let user = scene.cluster.as_user_with(&scene.namespace, "no-runs", scene.folder.path(), &granted);
    let told = user.statectl(["apply", &state, "--yes"]).expect(0);
    for text in ["what this run did is not kept in", "forbidden", "statectl rbac", "settings.runHistory"] {
        assert!(told.stderr.contains(text), "{text}:\n{}", told.stderr);
    }
    assert!(stored(&scene).is_empty());
    // Nobody wants them: nobody asks for a right.
    let text = std::fs::read_to_string(&state).unwrap().replace("runHistory = 3", "runHistory = 0");
    std::fs::write(&state, text.replace("x = \"one\"", "x = \"two\"")).unwrap();
    let told = user.statectl(["apply", &state, "--yes"]).expect(0);
    assert!(!told.stderr.contains("not kept"), "{}", told.stderr);
    assert!(stored(&scene).is_empty());
}

/// A pipeline of an older commit that is run again does not undo what a newer one rolled out.
#[test]
fn an_older_commit_is_refused_where_a_newer_one_was_rolled_out() {
    let scene = scene("older-commit");
    let cluster = scene.cluster;
    let folder = scene.folder.path();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .current_dir(folder)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments);
        let output = command.env_remove("GIT_DIR").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let commit = |message: &str| {
        git(&["add", "-A"]);
        git(&["commit", "-qm", message]);
        git(&["rev-parse", "HEAD"])
    };
    git(&["init", "-q"]);
    let state = file(&scene, "one", "");
    let first = commit("one");
    cluster.statectl(["apply", &state, "--yes"]).expect(0);
    file(&scene, "two", "");
    let second = commit("two");
    cluster.statectl(["apply", &state, "--yes"]).expect(0);

    // The same, a later commit, and one beside it are no way back.
    git(&["checkout", "-q", "-b", "beside", &first]);
    file(&scene, "three", "");
    commit("beside");
    cluster.statectl(["plan", &state]).expect(0).says("upgrade");

    git(&["checkout", "-q", &first]);
    let plan = cluster.statectl(["plan", &state, "-o", "json"]).expect(4).json();
    assert_eq!(plan["releases"][0]["reasons"][0]["code"], "older-commit", "{plan:#}");
    let mark = cluster.audit_mark();
    let told = cluster.statectl(["apply", &state, "--yes"]).expect(4);
    for text in [&first[..10], &second[..10], "--allow-older"] {
        assert!(
            told.stdout.contains(text) || told.stderr.contains(text),
            "{text}: {} {}",
            told.stdout,
            told.stderr
        );
    }
    // A release that is not there neither: the newer commit may have removed it. And nothing is removed.
    for (name, text) in
        [("Chart.yaml", "apiVersion: v2\nname: other\nversion: 1.0.0\n"), ("templates/c.yaml", OTHER)]
    {
        let path = folder.join("other").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let other = "[apps.other]\nenabled = true\nnamespace = \"NS\"\nchart = \"other\"\n";
    file(&scene, "one", other);
    let text = std::fs::read_to_string(&state).unwrap().replacen("enabled = true", "enabled = false", 1);
    std::fs::write(&state, text).unwrap();
    let plan = cluster.statectl(["plan", &state, "-o", "json"]).expect(4).json();
    let codes = plan["releases"].as_array().unwrap().iter().map(|release| &release["reasons"][0]["code"]);
    assert_eq!(codes.collect::<Vec<_>>(), ["older-commit", "older-commit"], "{plan:#}");
    git(&["checkout", "-q", "."]);
    assert_eq!(writes_of_statectl(cluster, mark, &[&scene.namespace]), Vec::<String>::new());

    // A clone without history cannot tell, and says so.
    let shallow = tempfile::tempdir().unwrap();
    let clone = shallow.path().join("clone");
    let url = format!("file://{}", folder.display());
    git(&["clone", "-q", "--depth", "1", "--branch", "beside", &url, clone.to_str().unwrap()]);
    let there = clone.join("state.toml");
    cluster.statectl(["plan", there.to_str().unwrap()]).expect(0).says("nobody can tell whether commit");

    cluster.statectl(["apply", &state, "--yes", "--allow-older"]).expect(0);
    assert_eq!(cluster.get(&scene.namespace, "configmap", "a").unwrap()["data"]["x"], "one");
    // What was gone back to is what counts now.
    cluster.statectl(["plan", &state, "--detailed-exit-code"]).expect(0).says("no changes");
}
