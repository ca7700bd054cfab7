//! What verbs give in each of their forms. `tests/cases/outputs` holds a file for each verb and form; after a wanted change,
//! run with `STATECTL_BLESS=1` and read the difference.

use std::path::Path;

use regex_automata::meta::Regex;
use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scan;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::{Output, command, finish, offline};

const TEMPLATES: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }} }
{{- if .Values.sealed }}
immutable: true
{{- end }}
data:
  a: {{ .Values.a | quote }}
  log: |
    first
    ::error::obeyed ##[add-mask]a
    | a <b>`code`</b> @team {{ .Values.a }}
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }} }
stringData: { password: {{ .Values.password | quote }} }
{{- if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-extra }
data: { more: "yes" }
{{- end }}
"#;
const PASSWORD: &str = "pa<ss>&w0rd-7f3a";

fn apps(second: bool) -> String {
    let app = |name: &str, enabled: bool, values: &str, rest: &str| {
        format!(
            "[apps.{name}]\nenabled = {enabled}\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ {values} }}\n{rest}\
             set = {{ password = \"${{OUTPUTS_PASSWORD:-{PASSWORD}}}{}\" }}\n",
            if second { "-two" } else { "-one" }
        )
    };
    let (a, extra) = if second { ("two", false) } else { ("one", true) };
    let mut text = app("web", true, &format!("a = \"{a}\", extra = {extra}"), "");
    text.push_str(&app("old", !second, "a = \"one\"", ""));
    text.push_str(&app("sealed", true, &format!("a = \"{a}\", sealed = true"), ""));
    text.push_str("[apps.same]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = { a = \"same\", password = \"\" }\n");
    if second {
        text.push_str(&app("api", true, "a = \"new\"", "needs = [\"NS/web\"]\n"));
    }
    text
}

/// A scene with four releases at revision 1, and a file that wants something else of each but one.
fn changed(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    scan::secret(PASSWORD);
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATES), ("values.yaml", "")]);
    let state = scene.write(&apps(false)).to_str().unwrap().to_owned();
    scene.cluster.statectl(["apply", &state, "--yes"]).expect(0);
    scene.write(&apps(true));
    (scene, state)
}

/// Leaves out what differs from run to run.
fn stable(scene: &Scene, text: &str) -> String {
    let mut text =
        text.replace(&scene.namespace, "NS").replace(scene.folder.path().to_str().unwrap(), "FOLDER");
    for (pattern, with) in [
        (r"https://[0-9.]+:[0-9]+", "https://SERVER"),
        (r"https-?:?/*-?[0-9.]+:[0-9]+", "https://SERVER"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"sha256:[0-9a-f]{64}", "sha256:DIGEST"),
        (r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "TIME"),
        (r"v1\.[0-9]+\.[0-9]+", "VERSION"),
        (r"statectl-it-[0-9]+", "CLUSTER"),
        (r"\([0-9.]+ s\)", "(TIME)"),
        // The salt of a run, so that a value cannot be found by trying.
        (r"\(masked [0-9a-f]{10}\)", "(masked)"),
    ] {
        let found = Regex::new(pattern).unwrap();
        let mut out = String::new();
        let mut last = 0;
        for at in found.find_iter(&text) {
            out.push_str(&text[last..at.start()]);
            out.push_str(with);
            last = at.end();
        }
        out.push_str(&text[last..]);
        text = out;
    }
    text
}

/// Compares a result with the one that is kept.
fn kept(name: &str, text: &str) {
    let path = repository("tests/cases/outputs").join(name);
    if std::env::var_os("STATECTL_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; STATECTL_BLESS=1 writes it anew\n{text}");
}

#[test]
fn each_verb_gives_each_of_its_forms_twice_the_same() {
    let (scene, state) = changed("forms");
    let cluster = scene.cluster;
    for (verb, code, forms) in [
        ("plan", 4, &["text", "json", "yaml", "ndjson", "markdown", "html"][..]),
        ("diff", 4, &["text", "json", "yaml", "ndjson", "markdown", "html"]),
        ("drift", 0, &["text", "json", "yaml", "ndjson", "markdown", "html"]),
        ("validate", 0, &["text", "json", "yaml", "ndjson", "markdown", "junit", "gitlab"]),
        ("test", 1, &["text", "json", "yaml", "ndjson", "markdown", "junit"]),
    ] {
        if verb == "drift" {
            let patch = r#"{"data":{"a":"by hand"}}"#;
            cluster
                .tool("kubectl", &["-n", &scene.namespace, "patch", "configmap", "same", "--patch", patch]);
        }
        // All forms of one run are those of a run each.
        let file = |form: &str| format!("{form}={}", scene.folder.path().join(form).display());
        let all: Vec<String> = forms.iter().flat_map(|form| ["-o".to_owned(), file(form)]).collect();
        let arguments = [vec![verb.to_owned(), state.clone()], all].concat();
        drop(cluster.statectl_in(scene.folder.path(), &arguments).expect(code));
        for form in forms {
            let run = cluster.statectl_in(scene.folder.path(), [verb, &state, "-o", form]).expect(code);
            let written = std::fs::read_to_string(scene.folder.path().join(form)).unwrap();
            let (written, again) = (stable(&scene, &written), stable(&scene, &run.stdout));
            assert!(again == written, "{verb} {form} differs in a second run\n{written}\n{again}");
            // Columns of a table are as wide as the name of the namespace.
            let narrow = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
            let written = if *form == "text" { written.lines().map(narrow).collect() } else { written };
            kept(&format!("{verb}.{form}"), &written);
        }
        cluster.statectl([verb, &state, "-o", "pdf"]).expect(64).complains("this verb has: text, json");
    }
    let plan = scene.plan(Path::new(&state));
    let summary = &plan["summary"];
    assert_eq!(summary["hasDestroy"], true, "{summary}");
    assert_eq!(summary["releases"]["uninstall"], 1, "{summary}");
}

#[test]
fn a_run_tells_its_events_as_they_happen_and_its_end_in_each_form() {
    let (scene, state) = changed("run-forms");
    let forms = ["json", "yaml", "markdown", "html", "junit"];
    let file = |form: &str| format!("{form}={}", scene.folder.path().join(form).display());
    let mut arguments: Vec<String> =
        ["apply", &state, "--yes", "-p", "1", "-o", "ndjson"].map(str::to_owned).to_vec();
    arguments.extend(forms.iter().chain(&["ndjson"]).flat_map(|form| ["-o".to_owned(), file(form)]));
    let run = scene.cluster.statectl(&arguments).expect(4);
    assert_eq!(std::fs::read_to_string(scene.folder.path().join("ndjson")).unwrap(), run.stdout);
    let lines: Vec<Json> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Json> = lines.iter().filter(|line| line["format"] == "statectl.event/v1").collect();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["number"], at + 1, "{event}");
    }
    let told = |event: &str, release: &str| {
        let release = format!("{}/{release}", scene.namespace);
        events.iter().position(|line| line["event"] == event && line["release"] == release.as_str())
    };
    for release in ["web", "old", "api"] {
        assert!(
            told("release-started", release).unwrap() < told("release-ended", release).unwrap(),
            "{release}"
        );
    }
    assert!(told("release-ended", "web").unwrap() < told("release-started", "api").unwrap());
    assert_eq!(lines.last().unwrap()["format"], "statectl.run-line/v1");
    assert_eq!(lines.last().unwrap()["line"], "summary");
    for form in forms {
        let text = std::fs::read_to_string(scene.folder.path().join(form)).unwrap();
        kept(&format!("apply.{form}"), &stable(&scene, &text));
    }
}

/// Runs as a step of a job on GitHub.
fn on_github(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    command.env("KUBECONFIG", &scene.cluster.kubeconfig).env("GITHUB_ACTIONS", "true");
    for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        let path = scene.folder.path().join(name);
        drop(std::fs::remove_file(&path));
        command.env(name, path);
    }
    finish(command.current_dir(scene.folder.path()))
}

#[test]
fn a_job_on_github_gets_outputs_a_summary_and_folds_and_obeys_nothing_else() {
    let (scene, state) = changed("github");
    let file = |name: &str| std::fs::read_to_string(scene.folder.path().join(name)).unwrap();
    for form in ["text", "json", "yaml", "ndjson", "markdown", "html"] {
        for verb in ["plan", "diff"] {
            let run = on_github(&scene, &[verb, &state, "-o", form]).expect(4);
            let folds = form == "text" && verb == "diff";
            let obeyed: Vec<&str> = [&run.stdout, &run.stderr]
                .into_iter()
                .flat_map(|text| text.lines())
                .filter(|line| line.contains("##[") || line.trim_start().starts_with("::"))
                .filter(|line| !folds || !(line.starts_with("::group::") || *line == "::endgroup::"))
                .collect();
            assert!(obeyed.is_empty(), "{verb} {form}: {obeyed:?}");
            assert_eq!(folds, run.stdout.contains("::group::"), "{verb} {form}");
            assert!(run.stdout.contains("obeyed"), "{verb} {form} shows the line\n{}", run.stdout);
            // What machines read says the same as elsewhere.
            let elsewhere =
                scene.cluster.statectl_in(scene.folder.path(), [verb, &state, "-o", form]).expect(4);
            let read = |text: &str| -> Option<Vec<Json>> {
                match form {
                    "json" => Some(vec![serde_json::from_str(text).unwrap()]),
                    "ndjson" => Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()),
                    "yaml" => {
                        let value = statectl::yaml::read_typed(text.as_bytes()).unwrap();
                        let raw = statectl::value::json::Escape::Raw;
                        Some(vec![
                            serde_json::from_str(&statectl::value::json::to_string(&value, raw).unwrap())
                                .unwrap(),
                        ])
                    }
                    _ => None,
                }
            };
            let (here, there) = (stable(&scene, &run.stdout), stable(&scene, &elsewhere.stdout));
            assert_eq!(read(&here), read(&there), "{verb} {form}");
            let outputs = file("GITHUB_OUTPUT");
            assert!(outputs.starts_with("changes=true\nblocked=true\ndestroys=true\n"), "{outputs}");
            assert!(outputs.ends_with("exit-code=4\n"), "{outputs}");
            assert_eq!(verb == "plan", outputs.contains("effect=sha256:"), "{outputs}");
            scan::text("the outputs of the step", &outputs);
            let summary = file("GITHUB_STEP_SUMMARY");
            assert!(summary.starts_with("<!-- statectl:"), "{summary}");
            scan::text("the summary of the job", &summary);
        }
    }
    // A flag and a variable win over what is found.
    let run = on_github(&scene, &["diff", &state, "--ci", "none"]).expect(4);
    assert!(!run.stdout.contains("::group::") && !scene.folder.path().join("GITHUB_OUTPUT").exists());
    let run = on_github(&scene, &["diff", &state, "--ci", "gitlab"]).expect(4);
    assert!(run.stdout.contains("section_start:"), "{}", run.stdout);
    let widget = scene.folder.path().join("widget.json");
    let arguments = ["plan", &state, "--gitlab-report", widget.to_str().unwrap()];
    drop(scene.cluster.statectl_in(scene.folder.path(), arguments).expect(4));
    let widget: Json = serde_json::from_str(&std::fs::read_to_string(widget).unwrap()).unwrap();
    assert_eq!(widget, serde_json::json!({"create": 2, "delete": 3, "update": 2}));
}

#[test]
fn problems_of_files_are_shown_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[namespaces.shop]\n[apps.web]\nnamespace = \"shop\"\nenabled = true\nchart = \"none\"\nprioritty = 1\n";
    std::fs::write(folder.path().join("a.toml"), text).unwrap();
    let run = |arguments: &[&str], github: bool| {
        let mut command = command(arguments);
        finish(command.current_dir(folder.path()).env("GITHUB_ACTIONS", github.to_string()))
    };
    for verb in ["validate", "plan"] {
        let told = run(&[verb, "a.toml"], true).expect(64);
        let line =
            "::error file=a.toml,line=6,col=1,endLine=6,title=statectl unknown-key::apps.web.prioritty";
        assert!(told.stderr.lines().any(|found| found.starts_with(line)), "{}", told.stderr);
        assert!(!run(&[verb, "a.toml"], false).expect(64).stderr.contains("::error"));
    }
    for form in ["json", "markdown", "junit", "gitlab", "ndjson"] {
        let told = run(&["validate", "a.toml", "-o", form], false).expect(64);
        kept(&format!("validate-wrong.{form}"), &told.stdout);
    }
    offline(["status", "a.toml", "-o", "html"]).expect(64).complains("this verb has: text, json, yaml");
}

/// Fails the test unless a document fits the published schema of its format, and has no key that the schema lacks.
pub(crate) fn fits(document: &Json) {
    let tag = document["format"].as_str().unwrap();
    let schema = offline(["schema", tag]).expect(0).json();
    let name = tag.trim_start_matches("statectl.").trim_end_matches("/v1");
    let kept = std::fs::read_to_string(repository(&format!("docs/reference/schemas/{name}.json"))).unwrap();
    assert_eq!(serde_json::from_str::<Json>(&kept).unwrap(), schema, "{name}");
    let validator = jsonschema::validator_for(&closed(schema)).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{tag}\n{}\n{document:#}", problems.join("\n"));
}

/// Forbids what a schema does not name, wherever it names something.
fn closed(mut schema: Json) -> Json {
    match &mut schema {
        Json::Object(members) => {
            for (_, member) in members.iter_mut() {
                *member = closed(member.take());
            }
            if members.contains_key("properties") && members.get("type").is_some_and(|kind| kind == "object")
            {
                members.insert("additionalProperties".to_owned(), Json::Bool(false));
            }
        }
        Json::Array(members) => members.iter_mut().for_each(|member| *member = closed(member.take())),
        _ => {}
    }
    schema
}

#[test]
fn what_verbs_print_fits_the_published_schemas() {
    let (scene, state) = changed("schemas");
    let release = format!("{}/web", scene.namespace);
    let folder = scene.folder.path();
    let run = |arguments: &[&str]| {
        let output = scene.cluster.statectl_in(folder, arguments);
        assert!([0, 1, 4].contains(&output.code), "{arguments:?}: {}", output.stderr);
        output
    };
    let json = |arguments: &[&str]| run(&[arguments, &["-o", "json"]].concat()).json();
    for verb in ["plan", "diff", "validate", "test", "status", "locks", "config", "graph", "rbac"] {
        fits(&json(&[verb, &state]));
    }
    drop(run(&["plan", &state, "--out", "saved.json"]));
    fits(&serde_json::from_str(&std::fs::read_to_string(folder.join("saved.json")).unwrap()).unwrap());
    scene.cluster.tool(
        "kubectl",
        &["-n", &scene.namespace, "patch", "configmap", "same", "--patch", r#"{"data":{"a":"b"}}"#],
    );
    scene.cluster.tool("kubectl", &["-n", &scene.namespace, "delete", "secret", "web"]);
    fits(&json(&["drift", &state]));
    let events = run(&["apply", &state, "--yes", "-o", "ndjson", "-o", "json=run.json"]);
    for line in events.stdout.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        if line["format"] == "statectl.event/v1" {
            fits(&line);
        }
    }
    fits(&serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap());
    fits(&json(&["history", &release]));
    fits(&json(&["recover", &state, "--yes"]));
    let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
    let row = statectl::report::AffectedRow {
        namespace: "a".to_owned(),
        name: "b".to_owned(),
        app: "b".to_owned(),
        reasons: vec!["why".to_owned()],
    };
    fits(&read(&statectl::report::affected_json("main", Some("HEAD"), &[row])));
    let key = statectl::model::ReleaseKey { namespace: "a".to_owned(), name: "b".to_owned() };
    fits(&read(&statectl::report::unlock_json(&key, 3, "pending-upgrade")));
    let part = statectl::report::ClusterPart { context: Some("a"), report: Some("{}"), failure: None };
    let gone = statectl::report::ClusterPart { context: None, report: None, failure: Some("why") };
    fits(&read(&statectl::report::clusters_json([part, gone].into_iter())));
    let who = statectl::report::notification::Run { verb: "apply".to_owned(), who: "a@b".to_owned() };
    fits(&statectl::report::notification::Digest::of_failure(&who, "shop", None, "why").plain());
    scene.write("");
    drop(run(&["lock", &state]));
    let lock = std::fs::read_to_string(folder.join("statectl.lock")).unwrap();
    fits(&serde_json::to_value(lock.parse::<toml::Table>().unwrap()).unwrap());
    offline(["schema", "plam"]).expect(64).complains("did you mean `plan`?");
}

#[test]
fn each_format_has_a_published_schema() {
    fn tags(folder: &Path, found: &mut std::collections::BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                tags(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for part in text.split("\"statectl.").skip(1) {
                found.extend(part.split_once("/v1\"").map(|(name, _)| name.to_owned()));
            }
        }
    }
    let mut found = std::collections::BTreeSet::new();
    tags(&repository("src"), &mut found);
    // One is a note in Helm's own records, which nobody else reads; lines are members of reports.
    found.retain(|name| name != "operation" && !name.ends_with("-line") && !name.contains(['{', '"', '\n']));
    assert!(found.len() > 15, "{found:?}");
    let known: std::collections::BTreeSet<String> =
        statectl::report::SCHEMAS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let missing: Vec<&String> = found.difference(&known).collect();
    assert!(missing.is_empty(), "no schema in docs/reference/schemas: {missing:?}");
    let kept = std::fs::read_dir(repository("docs/reference/schemas")).unwrap().count();
    assert_eq!(kept, known.len());
}
