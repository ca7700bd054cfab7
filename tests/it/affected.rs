//! `affected`: what a change of a git repository reaches.

use std::path::Path;
use std::process::Command;

use crate::support::statectl::{Output, command, finish};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]);
    let output = git.args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(folder: &Path) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "x"]);
}

const STATE: &str = r#"
context = "shop"
[namespaces.shop]
[apps.db]
namespace = "shop"
enabled = true
chart = "../charts/db"
[apps.web]
namespace = "shop"
enabled = true
chart = "../charts/web"
valuesFiles = ["web.yaml"]
needs = ["shop/db"]
[apps.other]
namespace = "shop"
enabled = true
chart = "../charts/web"
set = { a = "fixed" }
"#;
const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n\
                        data: {a: {{ .Values.a | quote }}, random: {{ randAlphaNum 8 | quote }}}\n";

/// A repository with one commit; the files are in a folder of it.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, "shop/state.toml", STATE);
    write(root, "shop/web.yaml", "a: one\n");
    for chart in ["db", "web"] {
        write(
            root,
            &format!("charts/{chart}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {chart}\nversion: 1.0.0\n"),
        );
        write(root, &format!("charts/{chart}/values.yaml"), "a: x\n");
        write(root, &format!("charts/{chart}/templates/a.yaml"), TEMPLATE);
    }
    commit(root);
    folder
}

fn run(folder: &Path, more: &[&str]) -> Output {
    let mut run = command(["affected", "shop/state.toml"].iter().chain(more));
    finish(run.current_dir(folder).env("PATH", std::env::var_os("PATH").unwrap()))
}

fn releases(folder: &Path, more: &[&str]) -> Vec<(String, String)> {
    let json = run(folder, &[&["-o", "json", "--base", "HEAD"], more].concat()).expect(0).json();
    assert_eq!(json["format"], "statectl.affected/v1");
    crate::outputs::fits(&json);
    let rows = json["releases"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["reasons"][0].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn what_comes_of_a_change_decides_and_not_which_files_it_touches() {
    let repository = repository();
    let root = repository.path();
    let check = |name: &str, text: &str, expected: &[(&str, &str)]| {
        let before = std::fs::read_to_string(root.join(name)).ok();
        write(root, name, text);
        let expected: Vec<(String, String)> =
            expected.iter().map(|(name, why)| ((*name).to_owned(), (*why).to_owned())).collect();
        assert_eq!(releases(root, &[]), expected, "{name}");
        match before {
            Some(before) => write(root, name, &before),
            None => std::fs::remove_file(root.join(name)).unwrap(),
        }
    };
    // Nothing, not even what is random in the charts.
    check("README.md", "text", &[]);
    check("shop/web.yaml", "# A comment.\na:   one\n", &[]);
    check("shop/state.toml", &format!("# Moved.\n\n{STATE}"), &[]);
    check("charts/db/templates/NOTES.txt", "notes", &[]);
    // Values, a chart that two releases have, an entry, a setting of one, a new release and one that goes.
    check("shop/web.yaml", "a: two\n", &[("web", "values: a")]);
    let more = TEMPLATE.replace("random:", "more: x, random:");
    check(
        "charts/web/templates/a.yaml",
        &more,
        &[("other", "what the chart renders"), ("web", "what the chart renders")],
    );
    let chart = "apiVersion: v2\nname: db\nversion: 1.0.1\n";
    check("charts/db/Chart.yaml", chart, &[("db", "chart db 1.0.0 becomes db 1.0.1")]);
    check(
        "shop/state.toml",
        &STATE.replacen("chart = \"../charts/db\"", "chart = \"../charts/db\"\ntimeout = \"9s\"", 1),
        &[("db", "its entry")],
    );
    let off = STATE.replace(
        "[apps.other]\nnamespace = \"shop\"\nenabled = true",
        "[apps.other]\nnamespace = \"shop\"\nenabled = false",
    );
    check("shop/state.toml", &off, &[("other", "`enabled` becomes false")]);
    let new = format!("{STATE}[apps.new]\nnamespace = \"shop\"\nenabled = true\nchart = \"../charts/db\"\n");
    check("shop/state.toml", &new, &[("new", "new")]);
    let gone = STATE.split("[apps.other]").next().unwrap();
    check("shop/state.toml", gone, &[("other", "left the file")]);
    // What cannot be rendered may be anything.
    let output = std::fs::read_to_string(root.join("charts/db/templates/a.yaml")).unwrap();
    write(root, "charts/db/templates/a.yaml", "{{ fail \"no\" }}");
    let found = releases(root, &[]);
    assert!(found.len() == 1 && found[0].1.starts_with("cannot be compared: "), "{found:?}");
    write(root, "charts/db/templates/a.yaml", &output);
}

#[test]
fn dependents_revisions_and_the_matrix() {
    let repository = repository();
    let root = repository.path();
    git(root, &["branch", "old"]);
    write(root, "charts/db/values.yaml", "a: y\n");
    commit(root);
    // The commit before is what `auto` means; the work tree is not looked at with --head.
    write(root, "shop/web.yaml", "a: two\n");
    let index = std::fs::read(root.join(".git/index")).unwrap();
    run(root, &["--head", "HEAD"]).expect(0).says("shop/db").says("what the chart renders");
    let head = run(root, &["--head", "HEAD", "-o", "json"]).expect(0).json();
    assert_eq!(head["releases"].as_array().unwrap().len(), 1, "{head}");
    let all = run(root, &["--head", "HEAD", "--with-dependents"]).expect(0);
    all.says("shop/web").stdout.contains("needs shop/db").then_some(()).unwrap();
    assert_eq!(
        run(root, &["--base", "old", "--matrix"]).expect(0).stdout,
        "{\"include\":[{\"release\":\"shop/db\",\"app\":\"db\"},{\"release\":\"shop/web\",\"app\":\"web\"}]}\n"
    );
    assert_eq!(std::fs::read(root.join(".git/index")).unwrap(), index, "the index is not touched");
    assert_eq!(std::fs::read_to_string(root.join("shop/web.yaml")).unwrap(), "a: two\n");
    run(root, &["--base", "HEAD", "--head", "HEAD"]).expect(0).says("no release is affected");
    run(root, &["--base", "nowhere"])
        .expect(64)
        .complains("`nowhere` cannot be compared with")
        .complains("fetch-depth: 0");
    run(root, &["--base", "--upload-pack=x"]).expect(64);
    // A file that was not there before is new as a whole.
    write(root, "shop/state.toml", STATE);
    git(root, &["mv", "shop/state.toml", "shop/moved.toml"]);
    let mut moved = command(["affected", "shop/moved.toml", "--base", "HEAD"]);
    finish(moved.current_dir(root).env("PATH", std::env::var_os("PATH").unwrap()))
        .expect(0)
        .says("not comparable");
    let alone = tempfile::tempdir().unwrap();
    write(alone.path(), "shop/state.toml", STATE);
    run(alone.path(), &[]).expect(64).complains("cannot be compared with");
}

/// On a pull request `auto` is where it left its target, whatever was merged there since.
#[test]
fn auto_means_where_a_pull_request_left_its_target() {
    let repository = repository();
    let root = repository.path();
    // The target goes on with another release than the pull request.
    write(root, "charts/db/values.yaml", "a: y\n");
    commit(root);
    git(root, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(root, &["reset", "-q", "--hard", "HEAD^"]);
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output().unwrap();
    let left = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    write(root, "shop/web.yaml", "a: two\n");
    commit(root);
    commit(root);
    for (name, value) in [("GITHUB_BASE_REF", "main"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", left.as_str())] {
        let mut run = command(["affected", "shop/state.toml", "-o", "json"]);
        run.current_dir(root).env("PATH", std::env::var_os("PATH").unwrap()).env(name, value);
        let json = finish(&mut run).expect(0).json();
        assert_eq!(json["base"], left.as_str(), "{name}");
        assert_eq!(json["releases"].as_array().unwrap().len(), 1, "{name}: {json}");
        assert_eq!(json["releases"][0]["name"], "web", "{name}");
    }
    // Without either it is the commit before, which changed nothing.
    run(root, &[]).expect(0).says("no release is affected");
}
