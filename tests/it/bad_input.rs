//! What goes wrong before anything is done: one error block, the right exit code, nothing applied.

use crate::support::cluster::cluster;
use crate::support::statectl::{command, finish, offline};

const MINIMAL: &str =
    "context = \"c\"\n[namespaces.n]\n[apps.web]\nenabled = true\nnamespace = \"n\"\nchart = \"./chart\"\n";

/// A folder with a desired-state file and a chart whose only template is `template`.
fn folder(state: &str, template: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("state.toml", state);
    write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    write("chart/templates/a.yaml", template);
    folder
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n";

#[test]
fn files_and_usage_need_no_cluster_to_be_refused() {
    let broken = folder("context = \n", CONFIG_MAP);
    let unknown = folder(&MINIMAL.replace("chart =", "chrat ="), CONFIG_MAP);
    let missing = folder(&MINIMAL.replace("./chart", "./nowhere"), CONFIG_MAP);
    let path = |folder: &tempfile::TempDir| folder.path().join("state.toml").display().to_string();
    offline(["plan", "/nowhere/state.toml"]).expect(64).complains("/nowhere/state.toml");
    offline(["plan", &path(&broken)]).expect(64).complains("state.toml:1:");
    offline(["plan", &path(&unknown)]).expect(64).complains("did you mean `chart`?");
    offline(["plan", &path(&missing)]).expect(64).complains("nowhere");
    offline(["plan"]).expect(64).complains("no desired-state file");
    offline(["plan", "--no-such-flag", "x.toml"]).expect(64);
    offline(["frobnicate"]).expect(64);
    offline(["plan", &path(&missing), "-o", "xml"]).expect(64).complains("json");
    offline(["apply", &path(&missing)]).expect(64).complains("--yes");
    offline(["--help"]).expect(0).says("plan");
    offline(["--version"]).expect(0).says("statectl");
}

#[test]
fn a_cluster_that_cannot_be_used_is_an_error_that_names_it() {
    let good = folder(MINIMAL, CONFIG_MAP);
    let state = good.path().join("state.toml");
    let kubeconfig = |text: &str| {
        let path = good.path().join("kubeconfig");
        std::fs::write(&path, text).unwrap();
        path
    };
    let run = |kubeconfig: &std::path::Path, extra: &[&str]| {
        let mut command = command(["plan", state.to_str().unwrap()]);
        finish(command.args(extra).env("KUBECONFIG", kubeconfig))
    };
    let config = |server: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{}}}}]\n"
        )
    };
    run(&kubeconfig(&config("https://127.0.0.1:1")), &[]).expect(1).complains("https://127.0.0.1:1");
    run(&kubeconfig(&config("https://127.0.0.1:1")), &["--kube-context", "b"]).expect(1).complains("a");
    run(&kubeconfig("not a kubeconfig"), &[]).expect(1).complains("kubeconfig");
    run(std::path::Path::new("/nowhere/kubeconfig"), &[]).expect(1).complains("hint:");

    let token = {
        let text = std::fs::read_to_string(&cluster().kubeconfig).unwrap();
        let server = text.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap().to_owned();
        let text = config(&server).replace("user: {}", "user: {token: expired}");
        text.replace("cluster: {server", "cluster: {insecure-skip-tls-verify: true, server")
    };
    run(&kubeconfig(&token), &[]).expect(1).complains("credentials");
}

#[test]
fn a_chart_that_cannot_be_rendered_stops_the_run() {
    let cluster = cluster();
    let namespace = cluster.namespace("not-rendered");
    let state = format!(
        "context = \"not-rendered\"\n[namespaces.{namespace}]\n[apps.bad]\nenabled = true\nnamespace = \"{namespace}\"\n\
         chart = \"./chart\"\n[apps.good]\nenabled = true\nnamespace = \"{namespace}\"\nchart = \"./chart\"\nvalues = {{ x = 1 }}\n"
    );
    let template = format!("{CONFIG_MAP}data:\n  x: {{{{ required \"x is needed\" .Values.x | quote }}}}\n");
    let folder = folder(&state, &template);
    let path = folder.path().join("state.toml").display().to_string();
    let plan = cluster.statectl(["plan", &path]).expect(1);
    assert!(plan.stderr.contains("web/templates/a.yaml:5"), "{}", plan.stderr);
    assert!(plan.stderr.contains("x is needed"), "{}", plan.stderr);
    cluster.statectl(["apply", &path, "--yes"]).expect(1);
    assert!(cluster.get(&namespace, "configmap", "a").is_none(), "nothing is applied");
}

#[test]
fn a_missing_right_is_named_and_nothing_is_applied() {
    let cluster = cluster();
    let namespace = cluster.namespace("no-rights");
    let state = format!(
        "context = \"no-rights\"\n[namespaces.{namespace}]\n[apps.a]\nenabled = true\nnamespace = \"{namespace}\"\nchart = \"./chart\"\n"
    );
    let folder = folder(&state, CONFIG_MAP);
    let path = folder.path().join("state.toml");
    let alice = cluster.kubeconfig.with_file_name("alice.kubeconfig");
    let mut command = command(["apply", path.to_str().unwrap(), "--yes"]);
    let output = finish(command.env("KUBECONFIG", alice)).expect(1);
    assert!(output.stderr.contains("secrets is forbidden"), "{}", output.stderr);
    assert!(cluster.get(&namespace, "configmap", "a").is_none(), "nothing is applied");
}
