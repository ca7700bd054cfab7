//! `convert`: files of helmfile and of Helmsman, and what becomes of them.
//!
//! Each folder of `tests/cases/convert` has a helmfile, or an `input` of Helmsman, and what is printed for it. After a wanted
//! change: `STATECTL_BLESS=1`, and read the difference.

use std::path::Path;

use crate::support::repository;
use crate::support::scene::Scene;
use crate::support::statectl::{command, finish};

fn check(case: &Path) {
    let is = |name: &str| case.join(name).exists();
    let (from, input, format) = match () {
        () if is("helmfile.yaml") => ("helmfile", "helmfile.yaml", "yaml"),
        () if is("helmfile.d") => ("helmfile", ".", "yaml"),
        () if is("input.toml") => ("helmsman", "input.toml", "toml"),
        () => ("helmsman", "input.yaml", "yaml"),
    };
    let mut arguments = vec!["convert", from, input, "--format", format];
    if from == "helmfile" {
        arguments.extend(["--context", "shop"]);
    }
    let output = finish(command(arguments).current_dir(case));
    let found = format!("{}--- exit code {}\n", output.stdout, output.code);
    let expected = case.join(format!("expected.{format}"));
    if std::env::var_os("STATECTL_BLESS").is_some() {
        std::fs::write(&expected, &found).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(found, wanted, "{}: {}", case.display(), output.stderr);
    // What is listed stands at the top of the file and on stderr, and counts in the exit code.
    let listed: Vec<&str> = output.stdout.lines().filter_map(|line| line.strip_prefix("# - ")).collect();
    assert_eq!(output.code, if listed.is_empty() { 0 } else { 4 }, "{}", output.stderr);
    for line in listed {
        assert!(output.stderr.contains(line), "{line}: {}", output.stderr);
    }
}

#[test]
fn each_file_becomes_what_is_expected_and_nothing_is_dropped_silently() {
    let mut cases: Vec<_> = std::fs::read_dir(repository("tests/cases/convert"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() >= 5);
    for case in cases {
        check(&case);
    }
}

#[test]
fn wrong_uses_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("helmfile.yaml", "environments: { prod: {} }\nreleases: []\n");
    write("bad.yaml", "releases: [\n");
    write("a.toml", "context = \"a\"\n[namespaces.a]\n[apps.a]\nnamespace = \"a\"\nchart = \"./a\"\n");
    let run =
        |arguments: &[&str]| finish(command([&["convert"], arguments].concat()).current_dir(folder.path()));
    run(&["helmfile", "missing.yaml"]).expect(64).complains("missing.yaml");
    run(&["helmfile", "bad.yaml"]).expect(64).complains("no YAML").complains("helmfile build");
    run(&["helmfile", "helmfile.yaml", "--environment", "x"]).expect(64).complains("no environment `x`");
    run(&["helmfile", "a.toml", "b.toml"]).expect(64).complains("one helmfile");
    run(&["helmsman", "a.toml", "--out", "a.toml"]).expect(64).complains("exists already");
    run(&["helmsman", "a.toml", "--out", "sub/b.toml"]).expect(64).complains("start at other folders");
    run(&["helmsman", "a.toml", "--out", "b.toml"]).expect(0);
    assert!(folder.path().join("b.toml").exists());
    // The folder stands for its helmfile.
    run(&["helmfile", ".", "--environment", "prod"]).expect(3).complains("no release to convert");
    write("helmfile.yaml", "releases: [{ name: a, namespace: a, chart: ./a }]\n");
    run(&["helmfile", "."]).expect(0).says("chart: ./a");
}

const HELMFILE: &str = r#"
environments:
  staging: { values: [env/staging.yaml] }
  prod: { values: [env/prod.yaml] }
---
helmDefaults: { timeout: 120 }
releases:
  - name: web
    namespace: NS
    chart: ./web
    values:
      - values/web.yaml
      - replicas: {{ .Values.replicas }}
        podAnnotations: { stage: "{{ .Environment.Name }}", price: "$5" }
    set:
      - name: greeting
        value: {{ requiredEnv "GREETING" | quote }}
  - name: api
    namespace: NS
    chart: ./web
    needs: [NS/web]
    values: [values/web.yaml]
"#;

/// What real Helm installs as helmfile would ask it to is what the converted file wants.
#[test]
fn a_converted_helmfile_changes_nothing_of_what_helm_installed() {
    let scene = Scene::new("convert");
    let path = |name: &str| scene.folder.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), text).unwrap();
    };
    write("helmfile.yaml", &HELMFILE.replace("NS", &scene.namespace));
    write("values/web.yaml", "greeting: from the file\nreplicas: 1\n");
    write("env/staging.yaml", "replicas: 1\n");
    write("env/prod.yaml", "replicas: 3\n");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(repository("examples/charts/web"))
        .arg(path("web"))
        .status();
    assert!(copied.unwrap().success());
    // The commands that `helmfile --environment prod sync` runs.
    write("inline.yaml", "replicas: 3\npodAnnotations: { stage: prod, price: $5 }\n");
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let helm = |name: &str, values: &[&str], set: &[&str]| {
        let (chart, files) =
            (text(path("web")), values.iter().map(|name| text(path(name))).collect::<Vec<_>>());
        let mut arguments =
            vec!["upgrade", "--install", name, &chart, "-n", &scene.namespace, "--reset-values"];
        arguments.extend(files.iter().flat_map(|file| ["--values", file.as_str()]));
        arguments.extend(set);
        scene.cluster.tool("helm4", &arguments);
    };
    helm("web", &["values/web.yaml", "inline.yaml"], &["--set", "greeting=hello $HOME"]);
    helm("api", &["values/web.yaml"], &[]);

    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("KUBECONFIG", scene.cluster.kubeconfig()).env("GREETING", "hello $HOME");
        finish(command.current_dir(scene.folder.path()))
    };
    run(&["convert", "helmfile", "helmfile.yaml", "--context", &scene.namespace, "--out", "shop.yaml"])
        .expect(0);
    run(&["adopt", "shop.yaml", "--environment", "prod", "--yes"]).expect(0);
    run(&["plan", "shop.yaml", "--environment", "prod", "--detailed-exit-code"]).expect(0).says("no changes");
    // Another environment is another state.
    let plan = run(&["plan", "shop.yaml", "--environment", "staging", "-o", "json"]).expect(0).json();
    assert_eq!(scene.release(&plan, "web")["action"], "upgrade");
    assert_eq!(scene.release(&plan, "api")["action"], "none");
    // And only one of them may be asked for.
    run(&[
        "convert",
        "helmfile",
        ".",
        "--environment",
        "prod",
        "--context",
        &scene.namespace,
        "--out",
        "prod.toml",
    ])
    .expect(0);
    run(&["plan", "prod.toml", "--detailed-exit-code"]).expect(0).says("no changes");
}

/// Both forms of a Helmsman file ask for the same.
#[test]
fn a_converted_helmsman_file_asks_for_the_same() {
    let scene = Scene::new("canonical");
    let file = scene.write(
        "[apps.web]\nnamespace = \"NS\"\nEnabled = true\nchart = \"CHARTS/web\"\nversion = \"1.0.0\"\n\
         [apps.web.set]\ngreeting = \"a $$b\"\n",
    );
    let folder = scene.folder.path();
    let run = |arguments: &[&str]| scene.cluster.statectl_in(folder, arguments);
    run(&["apply", file.to_str().unwrap(), "--allow-outside-paths", "--yes"]).expect(0);
    run(&["convert", "helmsman", file.to_str().unwrap(), "--out", folder.join("new.yaml").to_str().unwrap()])
        .expect(0);
    run(&["plan", "new.yaml", "--allow-outside-paths", "--detailed-exit-code"]).expect(0).says("no changes");
}
