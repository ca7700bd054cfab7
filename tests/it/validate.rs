//! `validate` and `config`: what is said of files, without a cluster.

use std::path::Path;

use crate::support::statectl::{Output, command, finish};

/// A folder with files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Runs in a folder with an environment of its own.
fn run(folder: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = command(arguments);
    finish(command.current_dir(folder).envs(env.iter().copied()))
}

const CHART: (&str, &str) = ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n");

fn state(rest: &str) -> String {
    format!("[namespaces.shop]\n[apps.web]\nnamespace = \"shop\"\nenabled = true\nchart = \"chart\"\n{rest}")
}

#[test]
fn valid_files_are_told_with_what_a_person_should_know() {
    let text = state("version = \"^1.0\"\n[settings]\nstorageBackend = \"configmap\"\n");
    let folder = folder(&[("a.toml", &text), CHART]);
    run(folder.path(), &["validate", "a.toml"], &[])
        .expect(0)
        .says("the file is valid: 1 release, 1 enabled, in 1 namespace")
        .says("settings.storageBackend: not supported yet");
    let json = run(folder.path(), &["validate", "a.toml", "-o", "json"], &[]).expect(0).json();
    assert_eq!(json["format"], "statectl.validate/v1");
    assert_eq!(json["valid"], true);
    assert_eq!(json["notes"][0]["code"], "not-supported-yet");
    assert_eq!(json["notes"][0]["location"]["line"], 8);
    // What only passes a check is refused where it would be acted on.
    run(folder.path(), &["plan", "a.toml"], &[]).expect(64).complains("storageBackend: not supported yet");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = state("prioritty = 1\nwait = 3\nvaluesFiles = [\"nope.yaml\"]\n");
    let folder = folder(&[("a.toml", &text), CHART]);
    let output = run(folder.path(), &["validate", "a.toml"], &[]).expect(64);
    let output =
        output.complains("did you mean `priority`?").complains("a.toml:7:8").complains("no file `nope.yaml`");
    output.complains("3 problems found");
    let json = run(folder.path(), &["validate", "a.toml", "-o", "json"], &[]).expect(64).json();
    assert_eq!(json["valid"], false);
    let codes: Vec<&str> = json["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["unknown-key", "wrong-type", "missing-file"]);
    run(folder.path(), &["validate", "nowhere.toml"], &[]).expect(64).complains("nowhere.toml");
    run(folder.path(), &["validate"], &[]).expect(64).complains("no desired-state file");
    run(folder.path(), &["validate", "a.toml", "--helmsman-compat"], &[])
        .expect(64)
        .complains("2 problems found");
}

#[test]
fn charts_and_values_files_are_looked_into() {
    let text = state(
        "version = \"2.0.0\"\nvaluesFiles = [\"v.yaml\"]\n[apps.b]\nnamespace = \"shop\"\nenabled = true\nchart = \"broken\"\n",
    );
    let folder = folder(&[("a.toml", &text), CHART, ("broken/Chart.yaml", "name: [\n"), ("v.yaml", "- a\n")]);
    run(folder.path(), &["validate", "a.toml"], &[])
        .expect(64)
        .complains("apps.web.version: the chart at chart has version 1.2.3, not 2.0.0")
        .complains("`v.yaml` is no values file")
        .complains("apps.b.chart: the chart broken cannot be loaded")
        .complains(" --> a.toml:6:1");
    run(folder.path(), &["validate", "a.toml", "--skip-charts"], &[]).expect(0);
}

#[test]
fn variables_come_from_the_environment_and_files_over_it() {
    let text = state("description = \"$A $B $C\"\n");
    let folder =
        folder(&[("a.toml", &text), CHART, (".env", "A=dotenv\nB=dotenv\n"), ("more.env", "B=more\n")]);
    let env = [("A", "process"), ("C", "process")];
    let json =
        run(folder.path(), &["validate", "a.toml", "-e", "more.env", "-o", "json"], &env).expect(0).json();
    let notes: Vec<&str> =
        json["notes"].as_array().unwrap().iter().map(|note| note["message"].as_str().unwrap()).collect();
    assert_eq!(notes, [".env: `A` has another value in the environment; the file's counts"]);
    run(folder.path(), &["validate", "a.toml"], &[])
        .expect(64)
        .complains("environment variable `C` is not set");
    run(folder.path(), &["validate", "a.toml", "--no-env-subst"], &[]).expect(0);
    run(folder.path(), &["validate", "a.toml", "-e", "nope.env"], &[]).expect(64).complains("nope.env");
}

/// Each way out of a repository, and that nothing of the file outside is shown.
#[test]
fn paths_do_not_lead_out_of_the_repository() {
    let outside = folder(&[("secret.toml", "context = \"s3cret\"\n"), ("values.yaml", "a: s3cret\n")]);
    let absolute = outside.path().join("secret.toml").display().to_string();
    let inside = folder(&[
        ("repo/.git/HEAD", ""),
        ("repo/env/a.toml", ""),
        ("repo/values.yaml", "a: 1\n"),
        ("repo/env/chart/Chart.yaml", CHART.1),
        ("near.toml", "context = \"s3cret\"\n"),
    ]);
    let repo = inside.path().join("repo");
    std::os::unix::fs::symlink(outside.path(), repo.join("env/link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("values.yaml"), repo.join("env/linked.yaml")).unwrap();
    let import = |path: &str| format!("imports = [\"{path}\"]\n{}", state(""));
    for text in [
        import(&absolute),
        import("../../near.toml"),
        import("link/secret.toml"),
        import("link/*.toml"),
        import("./../env/../../near.toml"),
        state("valuesFiles = [\"link/values.yaml\"]\n"),
        state("valuesFile = \"linked.yaml\"\n"),
        state("valuesFiles = [\"../../near.toml\"]\n"),
        state("helmFlags = [\"-f\", \"linked.yaml\"]\n"),
        state("[apps.web.setFile]\na = \"linked.yaml\"\n"),
        state("secretsFile = \"linked.yaml\"\n"),
        state("[apps.web.hooks]\npreInstall = \"linked.yaml\"\n"),
    ] {
        std::fs::write(repo.join("env/a.toml"), &text).unwrap();
        let output = run(&repo.join("env"), &["validate", "a.toml"], &[]).expect(64);
        assert!(output.stderr.contains("outside the repository"), "{text}{}", output.stderr);
        assert!(!output.stderr.contains("s3cret"), "{text}{}", output.stderr);
    }
    // What a chart could read it could show.
    std::os::unix::fs::symlink(outside.path(), repo.join("env/chart/files")).unwrap();
    std::fs::write(repo.join("env/a.toml"), state("")).unwrap();
    run(&repo.join("env"), &["validate", "a.toml"], &[]).expect(64).complains("leads out of the repository");
    std::fs::remove_file(repo.join("env/chart/files")).unwrap();
    let allowed = state("valuesFiles = [\"link/values.yaml\", \"../values.yaml\"]\n");
    std::fs::write(repo.join("env/a.toml"), &allowed).unwrap();
    run(&repo.join("env"), &["validate", "a.toml", "--allow-outside-paths"], &[]).expect(0);
    // The repository reaches as far as its git folder, not only as far as the folder of the file.
    std::fs::write(repo.join("env/a.toml"), state("valuesFiles = [\"../values.yaml\"]\n")).unwrap();
    run(&repo.join("env"), &["validate", "a.toml"], &[]).expect(0);
}

#[test]
fn the_result_is_shown_with_the_origin_of_each_key() {
    let base = "[defaults]\nwait = true\n[appsTemplates.small]\npriority = -5\n[helmRepos]\nr = \"https://u:s3cret@example.org/x\"\n";
    let text = format!(
        "imports = [\"base.toml\"]\n[vars]\ndomain = \"example.org\"\n{}extends = [\"small\"]\n\
         values = {{ host = \"${{vars.domain}}\", password = \"s3cret\", user = \"$DB_USER\", on = \"yes\" }}\n\
         [environments.staging]\napps.web.values.replicas = 1\n",
        state("")
    );
    let folder = folder(&[("a.toml", &text), ("base.toml", base), CHART]);
    let arguments = ["config", "a.toml", "--environment", "staging", "--set-app", "web.timeout=5m"];
    let env = [("DB_USER", "s3cret-user")];
    let output = run(folder.path(), &arguments, &env).expect(0);
    for line in [
        "wait: true",
        "# base.toml:2:1",
        "priority: -5",
        "# base.toml:4:1",
        "host: example.org",
        "password: (hidden)",
        "user: $DB_USER",
        "\"on\": \"yes\"",
        "replicas: 1",
        "r: \"https://(hidden)@example.org/x\"",
        "# --set-app:1:1",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("s3cret"), "{}", output.stdout);
    let json = run(folder.path(), &[&arguments[..], &["-o", "json"]].concat(), &env).expect(0);
    assert!(!json.stdout.contains("s3cret"), "{}", json.stdout);
    let json = json.json();
    assert_eq!(json["format"], "statectl.config/v1");
    assert_eq!(json["environment"], "staging");
    assert_eq!(json["config"]["apps"]["web"]["values"]["replicas"], 1);
    assert_eq!(json["origins"]["/apps/web/wait"], "base.toml:2:1");
    let yaml = run(folder.path(), &[&arguments[..], &["-o", "yaml"]].concat(), &env).expect(0);
    assert!(yaml.stdout.contains("format: statectl.config/v1"), "{}", yaml.stdout);
    // What is shown is itself a desired-state file, but for what is hidden.
    std::fs::write(folder.path().join("again.yaml"), &output.stdout).unwrap();
    run(folder.path(), &["validate", "again.yaml", "--skip-charts"], &env).expect(0);
}

#[test]
fn a_list_of_files_is_read_as_helmsman_reads_it() {
    let folder = folder(&[
        ("lists/spec.yaml", "stateFiles:\n  - path: a.toml\n  - path: elsewhere/b.toml\n"),
        ("lists/a.toml", "[namespaces.shop]\n"),
        ("lists/.git/HEAD", ""),
        ("elsewhere/b.toml", "[apps.web]\nnamespace = \"shop\"\nenabled = true\nchart = \"chart\"\n"),
        ("elsewhere/chart/Chart.yaml", CHART.1),
    ]);
    // The second file is in the working folder, which is outside of the repository of the list.
    run(folder.path(), &["validate", "--spec", "lists/spec.yaml"], &[]).expect(64).complains("outside");
    run(folder.path(), &["validate", "--spec", "lists/spec.yaml", "--allow-outside-paths"], &[])
        .expect(0)
        .says("found in the working folder, not beside the spec file");
}

#[test]
fn a_file_for_set_file_is_found_where_helmsman_looks() {
    let text = state("[apps.web.setFile]\na = \"ca.pem\"\n");
    let folder = folder(&[
        (".git/HEAD", ""),
        ("env/a.toml", &text),
        ("env/chart/Chart.yaml", CHART.1),
        ("ca.pem", "x"),
    ]);
    run(folder.path(), &["validate", "env/a.toml"], &[]).expect(0).says("found in the working folder");
}
