//! What statectl does otherwise than Helm, on purpose. docs/compatibility.md lists it, with these tests.

use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::offline;
use crate::support::stored::Stored;

/// An app `r` of the chart that [`chart`] wrote.
fn app(rest: &str) -> String {
    format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{rest}\n")
}

impl Scene {
    fn apply(&self, apps: &str, code: i32) -> String {
        let path = self.write(apps);
        let output = self.cluster.statectl(["apply", path.to_str().unwrap(), "--yes"]).expect(code);
        output.stdout + &output.stderr
    }

    fn helm4(&self, verb: &str, name: &str, rest: &[&str]) -> bool {
        let chart = self.folder.path().join("chart");
        let arguments =
            [&[verb, name, chart.to_str().unwrap(), "-n", self.namespace.as_str()][..], rest].concat();
        self.cluster.try_tool("helm4", &arguments).0
    }

    /// The records of a release that were rewritten since `mark`, in their order.
    fn rewritten(&self, release: &str, mark: u64) -> Vec<String> {
        let prefix = format!("/{}/secrets/sh.helm.release.v1.{release}.", self.namespace);
        let requests = self.cluster.requests_since(mark);
        let uris = requests.iter().filter(|request| request["verb"] == "update");
        let name = |request: &Json| {
            let path = request["requestURI"].as_str()?.split('?').next()?;
            Some(path.split_once(&prefix)?.1.to_owned())
        };
        uris.filter_map(name).collect()
    }
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";

#[test]
fn a_change_that_the_server_refuses_leaves_no_revision() {
    let scene = Scene::new("refused");
    let secret = "apiVersion: v1\nkind: Service\nmetadata: { name: {{ .Release.Name }} }\n\
                  spec: { ports: [{ name: a, port: {{ .Values.port }} }] }\n";
    chart(scene.folder.path(), &[("templates/a.yaml", secret), ("values.yaml", "port: 80\n")]);
    scene.apply(&app(""), 0);
    let said = scene.apply(&app("set = { port = \"99999\" }"), 4);
    assert!(said.contains("99999"), "{said}");
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 1));
    assert!(!scene.helm4("upgrade", "r", &["--set", "port=99999"]));
    assert_eq!(scene.helm_status("r"), ("failed".to_owned(), 2));
}

#[test]
fn the_new_record_says_deployed_before_the_old_one_says_superseded() {
    let scene = Scene::new("record-order");
    chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "a: one\n")]);
    scene.apply(&app(""), 0);
    let mark = scene.cluster.audit_mark();
    scene.apply(&app("set = { a = \"two\" }"), 0);
    assert!(scene.helm4("upgrade", "r", &["--set", "a=three"]));
    // The audit log is written a moment after the answer.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(scene.rewritten("r", mark), ["v2", "v1", "v2", "v3"], "ours, then Helm's");
}

#[test]
fn what_left_the_chart_goes_when_the_rest_is_ready() {
    let scene = Scene::new("prune-last");
    let deployment = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ .Release.Name }} }
spec:
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
      annotations: { statectl.io/test-pod: {{ .Values.pod }} }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
    let extra = format!("{{{{ if .Values.a }}}}\n{CONFIG_MAP}{{{{ end }}}}");
    let files = [
        ("templates/a.yaml", extra.as_str()),
        ("templates/b.yaml", deployment),
        ("values.yaml", "pod: ready\n"),
    ];
    chart(scene.folder.path(), &files);
    let there = |name: &str| scene.cluster.get(&scene.namespace, "configmap", name).is_some();
    // Pods of any other name than the known ones stay pending: nothing is waited for here.
    scene.apply(&app("set = { a = \"x\" }"), 0);
    assert!(scene.helm4("install", "h", &["--set", "a=x"]));
    assert!(there("r") && there("h"));
    scene.apply(&app("set = { pod = \"never-ready\" }\nwait = true\ntimeout = \"8s\""), 1);
    assert!(there("r"), "the new pods never got ready: what they replace has not been removed");
    assert!(!scene.helm4("upgrade", "h", &["--set", "pod=never-ready", "--wait", "--timeout", "8s"]));
    assert!(!there("h"), "Helm removes it before it waits");
}

#[test]
fn a_hook_is_made_only_when_the_one_before_it_is_gone() {
    let scene = Scene::new("hook-gone");
    let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-hook\n  \
                annotations: { helm.sh/hook: \"pre-install,pre-upgrade\" }\n";
    let files =
        [("templates/a.yaml", CONFIG_MAP), ("templates/hook.yaml", hook), ("values.yaml", "a: one\n")];
    chart(scene.folder.path(), &files);
    scene.apply(&app(""), 0);
    assert!(scene.helm4("install", "h", &[]));
    let patch = |release: &str, finalizers: &str| {
        let name = format!("{release}-hook");
        let patch = format!("{{\"metadata\":{{\"finalizers\":{finalizers}}}}}");
        let place = ["patch", "configmap", &name, "-n", &scene.namespace, "--type=merge", "-p", &patch];
        scene.cluster.try_tool("kubectl", &place);
    };
    for release in ["r", "h"] {
        patch(release, "[\"example.org/held\"]");
    }
    scene.apply(&app("set = { a = \"two\" }\ntimeout = \"4s\""), 1);
    assert_eq!(scene.helm_status("r"), ("failed".to_owned(), 2));
    assert!(scene.helm4("upgrade", "h", &["--set", "a=two"]), "Helm applies the hook onto the one that goes");
    for release in ["r", "h"] {
        patch(release, "[]");
    }
    assert!(scene.cluster.get(&scene.namespace, "configmap", "h-hook").is_none(), "and then it is not there");
    scene.apply(&app("set = { a = \"two\" }"), 0);
    assert!(scene.cluster.get(&scene.namespace, "configmap", "r-hook").is_some());
}

#[test]
fn a_release_stops_at_its_first_failing_object_and_existing_definitions_stay() {
    let scene = Scene::new("first-failure");
    let definition = |kind: &str, members: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: {plural}.{group} }}\n\
             spec:\n  group: {group}\n  scope: Namespaced\n  names: {{ plural: {plural}, singular: {singular}, kind: {kind} }}\n  \
             versions:\n    - name: v1\n      served: true\n      storage: true\n      schema:\n        openAPIV3Schema:\n          \
             type: object\n          properties: {{ size: {{ type: integer }}{members} }}\n",
            plural = format!("{}s", kind.to_lowercase()),
            singular = kind.to_lowercase(),
            group = format!("{}.example.org", scene.namespace),
        )
    };
    let object = |kind: &str, size: &str| {
        format!(
            "apiVersion: {}.example.org/v1\nkind: {kind}\nmetadata: {{ name: {{{{ .Release.Name }}}} }}\nsize: {size}\n",
            scene.namespace
        )
    };
    // A dry run does not see that the server will refuse the first of the two.
    let wrong = "apiVersion: v1\nkind: Service\nmetadata: { name: {{ .Release.Name }} }\n\
                 spec: { type: NodePort, ports: [{ port: 80, nodePort: 20 }] }\n";
    let (second, right) = (definition("Second", ""), object("Second", "1"));
    let files = [("templates/a.yaml", wrong), ("templates/b.yaml", &right), ("crds/b.yaml", &second)];
    chart(scene.folder.path(), &files);
    let second_of = |name: &str| {
        let kind = format!("seconds.{}.example.org", scene.namespace);
        scene.cluster.get(&scene.namespace, &kind, name)
    };
    scene.apply(&app(""), 1);
    assert_eq!(scene.helm_status("r"), ("failed".to_owned(), 1));
    assert!(second_of("r").is_none(), "nothing after the first failure");
    assert!(!scene.helm4("install", "h", &[]));
    assert!(second_of("h").is_some(), "Helm goes on");

    let changed = definition("Second", ", more: { type: string }");
    chart(scene.folder.path(), &[("crds/b.yaml", &changed), ("templates/a.yaml", "")]);
    let has_more = || {
        let name = format!("seconds.{}.example.org", scene.namespace);
        let definition = scene.cluster.get("default", "crd", &name).unwrap();
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].get("more").is_some()
    };
    scene.apply(&app("name = \"r2\""), 0);
    assert!(!has_more(), "an install makes definitions, it does not change them");
    assert!(scene.helm4("install", "h2", &[]));
    assert!(has_more(), "Helm 4 does");
}

/// Renders a chart that shows its values, and returns what it prints or says.
fn values_of(values: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path =
        chart(folder.path(), &[("templates/a.yaml", "a: {{ .Values | toJson }}\n"), ("values.yaml", values)]);
    let output = offline([&["template", "demo", path.to_str().unwrap()], flags].concat());
    output.stdout + &output.stderr
}

#[test]
fn keys_that_become_the_same_text_are_picked_by_rule() {
    for _ in 0..8 {
        let text = values_of("\"1\": text\n1: number\n\"true\": text\nyes: bool\n", &[]);
        assert!(text.contains(r#"a: {"1":"number","true":"bool"}"#), "{text}");
    }
}

#[test]
fn the_content_of_a_file_that_is_no_text_is_made_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bytes");
    std::fs::write(&file, b"\xffa").unwrap();
    let text = values_of("", &["--set-file", &format!("b={}", file.display())]);
    assert!(text.contains("a: {\"b\":\"\u{fffd}a\"}"), "{text}");
}

#[test]
fn values_that_nest_too_deeply_are_refused() {
    let nested = |depth: usize| format!("a: {}1{}\n", "[".repeat(depth), "]".repeat(depth));
    assert!(values_of(&nested(200), &[]).contains("[[[[1]]]]"));
    assert!(values_of(&nested(300), &[]).contains("exceeded max depth of 256"));
}

/// What Helm 4 and statectl say to the same chart: its own files and the flags are all they see.
fn both(files: &[(&str, &str)]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = chart(folder.path(), files);
    let arguments = ["template", "demo", path.to_str().unwrap()];
    let ours = offline(arguments);
    let (_, theirs) = crate::support::cluster::cluster().try_tool("helm4", &arguments);
    (ours.stdout + &ours.stderr, theirs)
}

#[test]
fn toml_that_cannot_be_read_is_told_in_other_words() {
    let text = "a: {{ fromToml \"a = [\" | toJson }}\nb: {{ fromToml \"a = 1\" | toJson }}\n";
    let (ours, theirs) = both(&[("templates/a.yaml", text)]);
    assert!(theirs.contains(r#"a: {"Error":"toml: line 1"#), "{theirs}");
    assert!(ours.contains(r#"a: {"Error":"unclosed array"#), "{ours}");
    for said in [ours, theirs] {
        assert!(said.contains(r#"b: {"a":1}"#), "{said}");
    }
}

#[test]
fn a_value_that_is_no_uri_is_refused_in_shorter_words() {
    // Later drafts take `format` for a remark.
    let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"u": {"type": "string", "format": "uri"}}}"#;
    let (ours, theirs) = both(&[
        ("values.schema.json", schema),
        ("values.yaml", "u: \"http://[::1\"\n"),
        ("templates/a.yaml", ""),
    ]);
    for said in [ours, theirs] {
        assert!(said.contains("- at '/u': 'http://[::1' is not valid uri: "), "{said}");
    }
}

#[test]
fn a_schema_is_never_downloaded() {
    let schema = r#"{"properties": {"u": {"$ref": "http://127.0.0.1:1/x.json"}}}"#;
    let (ours, theirs) =
        both(&[("values.schema.json", schema), ("values.yaml", "u: 1\n"), ("templates/a.yaml", "")]);
    assert!(theirs.contains("Get \"http://127.0.0.1:1/x.json\""), "Helm asks for it: {theirs}");
    assert!(
        ours.contains("http://127.0.0.1:1/x.json") && ours.contains("there is no network here"),
        "{ours}"
    );
}

/// Tests are renamed; the page must not name ones that are gone.
/// The code of the library and of these tests.
fn sources() -> String {
    let mut sources = String::new();
    let mut open = vec![repository("src"), repository("tests/it")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources += &std::fs::read_to_string(&path).unwrap();
            }
        }
    }
    sources
}

/// A statement whose test was renamed is one that nobody proves.
#[test]
fn each_test_that_a_page_names_exists() {
    let sources = sources();
    let mut missing = Vec::new();
    let mut named = 0;
    for page in ["docs/concepts/recovery.md", "docs/reference/rbac.md", "docs/complaints.md"] {
        let text = std::fs::read_to_string(repository(page)).unwrap();
        for name in text.split('`').skip(1).step_by(2) {
            let test = name.rsplit("::").next().unwrap_or_default();
            let is_test = test.matches('_').count() > 2
                && test.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
            if is_test {
                named += 1;
                if !sources.contains(&format!("fn {test}(")) {
                    missing.push(format!("{page}: {name}"));
                }
            }
        }
    }
    assert!(named > 20, "the tests are found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn each_known_difference_names_a_test_that_exists() {
    let page = std::fs::read_to_string(repository("docs/compatibility.md")).unwrap();
    let sources = sources();
    let mut rows = 0;
    let mut missing = Vec::new();
    let is_head = |line: &str| line.starts_with("| what ") || line.starts_with("| key ");
    for line in page.lines().filter(|line| line.starts_with("| ") && !is_head(line)) {
        rows += 1;
        let tests = line.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default().split(", ");
        // Of desired-state files the cases are named as well.
        let is_case = |test: &str| repository("tests/cases/dsf").join(test).is_dir();
        let exists =
            |test: &str| !test.is_empty() && (is_case(test) || sources.contains(&format!("fn {test}(")));
        if !tests.map(|test| test.trim_matches('`')).all(exists) {
            missing.push(line.to_owned());
        }
    }
    assert!(rows > 10, "the table is found");
    assert!(missing.is_empty(), "rows without a test:\n{}", missing.join("\n"));
}

/// Every key of Helmsman, and every flag, has its row, whatever becomes of it.
#[test]
fn every_key_and_flag_of_helmsman_has_a_row() {
    use statectl::dsf::keys::{Section, keys_of};
    let flags = "f p e v file spec target group exclude-target exclude-group kubeconfig apply dry-run destroy ns-override \
                 context-override migrate-context keep-untracked-releases always-upgrade force-upgrades replace-on-rename \
                 show-diff diff-context show-secrets kubectl-diff detailed-exit-code no-env-subst subst-env-values \
                 no-recursive-env-expand no-ssm-subst subst-ssm-values skip-validation skip-ignored skip-pending \
                 pending-max-retries no-ns no-update update-deps download-charts check-for-chart-updates verify no-cleanup \
                 no-banner no-color no-fancy debug verbose parallel-files";
    let page = std::fs::read_to_string(repository("docs/compatibility.md")).unwrap();
    let cells: String = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next().map(|cell| format!("{cell}\n")))
        .collect();
    let has = |word: &str| cells.contains(&format!("`{word}`"));
    let keys = Section::ALL.into_iter().flat_map(keys_of).filter(|key| key.helmsman).map(|key| key.name);
    let missing: Vec<&str> = keys.filter(|key| !has(key)).collect();
    assert!(missing.is_empty(), "keys without a row: {}", missing.join(", "));
    let dashed = |flag: &&str| has(&format!("--{flag}")) || has(&format!("-{flag}"));
    let missing: Vec<&str> = flags.split_whitespace().filter(|flag| !dashed(flag)).collect();
    assert!(missing.is_empty(), "flags without a row: {}", missing.join(", "));
}

/// What no release of Helm writes into a record: the marks of the owner.
#[test]
fn records_carry_the_marks_of_their_owner_and_no_stale_time() {
    let scene = Scene::new("marks");
    chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "a: one\n")]);
    let labels = |revision: u32| -> Json {
        let name = format!("sh.helm.release.v1.r.v{revision}");
        scene.cluster.get(&scene.namespace, "secret", &name).unwrap()["metadata"]["labels"].clone()
    };
    scene.apply(&app(""), 0);
    let first = labels(1);
    assert_eq!(first["HELMSMAN_CONTEXT"], scene.namespace.as_str());
    scene.cluster.tool(
        "kubectl",
        &[
            "label",
            "secret",
            "sh.helm.release.v1.r.v1",
            "-n",
            &scene.namespace,
            "--overwrite",
            "modifiedAt=1",
            "team=a",
        ],
    );
    scene.apply(&app("set = { a = \"two\" }"), 0);
    let second = labels(2);
    assert_eq!(second["team"], "a", "labels of people go on, as in Helm");
    assert_ne!(second["modifiedAt"], "1", "Helm carries this one over too");
    assert_eq!(second["HELMSMAN_CONTEXT"], scene.namespace.as_str());
}

/// `helmFlags` with `--reuse-values` and `--reset-then-reuse-values`: values, defaults and records are Helm's.
#[test]
fn values_of_the_last_revision_are_reused_as_helm_does() {
    let scene = Scene::new("reuse");
    let shown = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\n\
                 data: { values: {{ .Values | toJson | quote }} }\n";
    let write = |values: &str| {
        chart(scene.folder.path(), &[("templates/a.yaml", shown), ("values.yaml", values)]);
    };
    for mode in ["reuse-values", "reset-then-reuse-values", "reset-values"] {
        let (ours, theirs) = (format!("r-{mode}"), format!("h-{mode}"));
        let apps = |rest: &str| app(rest).replace("[apps.r]", &format!("[apps.{ours}]"));
        write("a: one\nb: { x: 1, y: 1 }\ngone: null\n");
        scene.apply(&apps("values = { a = \"given\", b = { y = 2 }, list = [1] }"), 0);
        assert!(scene.helm4("install", &theirs, &["--set", "a=given,b.y=2,list={1}"]));
        write("a: new\nb: { x: 9, y: 9, z: 9 }\nadded: { k: true }\n");
        let upgraded = apps(&format!("values = {{ c = 3, b = {{ z = 4 }} }}\nhelmFlags = [\"--{mode}\"]"));
        scene.apply(&upgraded, 0);
        assert!(scene.helm4("upgrade", &theirs, &["--set", "c=3,b.z=4", &format!("--{mode}")]));
        let values = |release: &str| -> Json {
            let map = scene.cluster.get(&scene.namespace, "configmap", release).unwrap();
            serde_json::from_str(map["data"]["values"].as_str().unwrap()).unwrap()
        };
        assert_eq!(values(&ours), values(&theirs), "{mode}");
        let record = |release: &str| Stored::read(scene.cluster, &scene.namespace, release, 2).json;
        let (record, expected) = (record(&ours), record(&theirs));
        assert_eq!(record["config"], expected["config"], "{mode}");
        assert_eq!(record["chart"]["values"], expected["chart"]["values"], "{mode}");
        let file = scene.write(&upgraded);
        assert_eq!(scene.release(&scene.plan(&file), &ours)["action"], "none", "{mode}");
    }
}
