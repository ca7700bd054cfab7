//! Several clusters in one run, on two real API servers.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};

use crate::support::cluster::{Cluster, another, cluster};
use crate::support::scene::chart;
use crate::support::statectl::{Output, command, finish};

const MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: b }\n";

/// Files for two clusters: the contexts `main`, `alias` (the same cluster) and `other`.
struct Two {
    folder: tempfile::TempDir,
    namespace: String,
}

impl Two {
    fn new(test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        chart(folder.path(), &[("templates/a.yaml", MAP), ("values.yaml", "")]);
        let two = Self { folder, namespace: cluster().namespace(test) };
        let (main, other) = (read(cluster()), read(another()));
        let entry = |list: &str, name: &str, from: &Json| {
            let mut entry = from[list][0].clone();
            entry["name"] = name.into();
            entry
        };
        let context = |name: &str, of: &str| serde_json::json!({ "name": name, "context": { "cluster": of, "user": of } });
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "main",
            "clusters": [entry("clusters", "main", &main), entry("clusters", "other", &other)],
            "users": [entry("users", "main", &main), entry("users", "other", &other)],
            "contexts": [context("main", "main"), context("alias", "main"), context("other", "other")],
        });
        std::fs::write(two.kubeconfig(), kubeconfig.to_string()).unwrap();
        two
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn run(&self, verb: &str, apps: &str, flags: &[&str]) -> Output {
        let path = self.folder.path().join("state.toml");
        let namespace = &self.namespace;
        let text = format!("context = \"{namespace}\"\n{apps}").replace("NS", namespace);
        std::fs::write(&path, text).unwrap();
        let arguments = [&[verb, path.to_str().unwrap()][..], flags].concat();
        finish(command(arguments).env("KUBECONFIG", self.kubeconfig()))
    }

    fn there(&self, cluster: &Cluster, name: &str) -> bool {
        cluster.get(&self.namespace, "configmap", name).is_some()
    }
}

/// The kubeconfig, with its certificates inside.
fn read(cluster: &Cluster) -> Json {
    let text = cluster.tool("kubectl", &["config", "view", "--raw", "--flatten", "-o", "json"]);
    serde_json::from_str(&text).unwrap()
}

fn app(name: &str, rest: &str) -> String {
    format!("[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{rest}\n")
}

const HEAD: &str = "[settings]\nkubeContext = \"main\"\n[namespaces.NS]\n";

#[test]
fn each_cluster_gets_its_own_releases_and_keeps_those_of_the_others() {
    let two = Two::new("two-clusters");
    // One name on both clusters is two releases.
    let here = app("a", "");
    let there = app("x", "name = \"a\"\nkubeContext = \"other\"");
    let both = format!("{HEAD}{here}{there}{}", app("b", "kubeContext = \"other\""));
    let plan = two.run("plan", &both, &["-o", "json"]).expect(0).json();
    assert_eq!(plan["format"], "statectl.clusters/v1");
    let clusters = plan["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2);
    assert_eq!((&clusters[0]["kubeContext"], &clusters[1]["kubeContext"]), (&Json::Null, &"other".into()));
    for (part, releases) in clusters.iter().zip([1, 2]) {
        assert_eq!(part["report"]["format"], "statectl.plan/v1");
        assert_eq!(part["report"]["releases"].as_array().unwrap().len(), releases);
        assert_eq!(part["report"]["releases"][0]["action"], "install");
    }
    assert_ne!(clusters[0]["report"]["cluster"]["server"], clusters[1]["report"]["cluster"]["server"]);

    two.run("apply", &both, &["--yes"]).expect(0);
    assert!(two.there(cluster(), "a") && two.there(another(), "a"));
    assert!(!two.there(cluster(), "b") && two.there(another(), "b"));
    two.run("plan", &both, &["--detailed-exit-code"]).expect(0);

    // A release that leaves the file goes from its own cluster only.
    two.run("apply", &format!("{HEAD}{here}{there}{}", app("c", "kubeContext = \"other\"")), &["--yes"])
        .expect(0);
    assert!(two.there(cluster(), "a") && two.there(another(), "a"));
    assert!(!two.there(another(), "b") && two.there(another(), "c"));
}

#[test]
fn two_contexts_of_one_cluster_remove_nothing_of_each_other() {
    let two = Two::new("alias-clusters");
    let state = format!("{HEAD}{}{}", app("a", ""), app("b", "kubeContext = \"alias\""));
    for _ in 0..2 {
        two.run("apply", &state, &["--yes"]).expect(0);
        assert!(two.there(cluster(), "a") && two.there(cluster(), "b"));
    }
    let output = two.run("plan", &state, &["--detailed-exit-code"]).expect(0);
    assert!(output.stdout.contains("the files have it on another one"), "{}", output.stdout);
}

#[test]
fn a_context_on_the_command_line_means_one_cluster() {
    let two = Two::new("one-cluster");
    let state = format!("{HEAD}{}{}", app("a", ""), app("b", "kubeContext = \"other\""));
    let output = two.run("apply", &state, &["--yes", "--kube-context", "main"]).expect(0);
    assert!(output.stdout.contains("1 release of other clusters left out"), "{}", output.stdout);
    assert!(two.there(cluster(), "a") && !two.there(another(), "b"));
    two.run("apply", &state, &["--yes", "--target", "b"]).expect(0);
    assert!(two.there(another(), "b"));
    two.run("plan", &state, &["--target", "c"]).expect(3);

    // A plan that is saved is one of one cluster.
    let out = two.folder.path().join("plan.json");
    let out = out.to_str().unwrap();
    two.run("plan", &state, &["--out", out]).expect(64).complains("--kube-context");
    assert!(!Path::new(out).exists());
    let changed = state.replacen("chart\"", "chart\"\nset = { a = \"1\" }", 1);
    two.run("plan", &changed, &["--out", out, "--kube-context", "main"]).expect(0);
    finish(command(["apply", out]).env("KUBECONFIG", two.kubeconfig())).expect(0);
    two.run("plan", &changed, &["--detailed-exit-code", "--kube-context", "main"]).expect(0);
}

#[test]
fn what_happens_on_one_cluster_does_not_keep_the_run_from_the_next() {
    let two = Two::new("broken-cluster");
    let state =
        format!("{HEAD}{}{}", app("a", "kubeContext = \"gone\""), app("b", "kubeContext = \"other\""));
    two.run("apply", &state, &["--yes"]).expect(1).complains("gone: error");
    assert!(two.there(another(), "b"));
    let report = two.run("status", &state, &["-o", "json"]).expect(1).json();
    let clusters = report["clusters"].as_array().unwrap();
    assert!(clusters[1]["failure"].as_str().unwrap().contains("there is no context `gone`"), "{report}");
    assert_eq!(clusters[2]["report"]["releases"][0]["status"], "deployed");

    let stops =
        state.replacen("[settings]", "[settings]\nonError = \"stop\"", 1).replace("= \"b\"", "= \"c\"");
    two.run("destroy", &stops, &["--yes"]).expect(1);
    assert!(two.there(another(), "b"), "the run ended before the other cluster");
}

#[test]
fn only_the_cluster_of_the_settings_is_the_expected_one() {
    let two = Two::new("expected-cluster");
    let head = HEAD.replacen("\n[namespaces", "\nexpectCluster = { context = \"main\" }\n[namespaces", 1);
    let state = format!("{head}{}{}", app("a", ""), app("b", "kubeContext = \"other\""));
    two.run("plan", &state, &[]).expect(0);
    two.run("plan", &state, &["--kube-context", "other"]).expect(4).complains("not the expected cluster");
}

#[test]
fn the_flag_chooses_among_the_clusters_of_the_files() {
    let two = Two::new("chosen-cluster");
    let state = format!("{HEAD}{}{}", app("a", ""), app("b", "name = \"a\"\nkubeContext = \"other\""));
    let plan = two.run("plan", &state, &["-o", "json", "--kube-context", "other"]).expect(0).json();
    assert_eq!(plan["releases"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan["releases"][0]["app"], "b", "{plan}");
    // Where the settings name no cluster the flag says where the others are; nothing is there twice then.
    let unnamed = state.replace("kubeContext = \"main\"\n", "");
    two.run("plan", &unnamed, &["--kube-context", "other"]).expect(64).complains("would be there twice");
}
