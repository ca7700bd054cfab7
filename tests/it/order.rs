//! In which order things are written: Helm's, where Helm has one, and after what was asked for besides. The server's
//! audit log is the witness.

use serde_json::Value as Json;

use crate::support::cluster::Cluster;
use crate::support::repository;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::wait;

/// A write that the server carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Write {
    /// `write` or `delete`: how an object is written differs between clients.
    verb: &'static str,
    kind: String,
    name: String,
}

impl Write {
    fn text(&self) -> String {
        format!("{} {}/{}", self.verb, self.kind, self.name)
    }
}

/// Returns the writes of one user since `mark` in the order in which the server got them. Records count when they are
/// created.
fn writes(cluster: &Cluster, mark: u64, user: &str) -> Vec<Write> {
    let mut entries: Vec<Json> = cluster.requests_since(mark);
    entries.retain(|entry| entry["user"]["username"].as_str().is_some_and(|name| name.ends_with(user)));
    entries.sort_by_key(|entry| entry["requestReceivedTimestamp"].as_str().unwrap().to_owned());
    let write = |entry: &Json| {
        let text =
            |pointer: &str| entry.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
        let (kind, name, uri) = (text("/objectRef/resource"), text("/objectRef/name"), text("/requestURI"));
        let verb = match entry["verb"].as_str()? {
            "create" | "patch" | "update" => "write",
            "delete" => "delete",
            _ => return None,
        };
        let refused = entry["responseStatus"]["code"].as_u64()? >= 300;
        let is_record = kind == "secrets" && (name.starts_with("sh.helm") || name.is_empty());
        let passed_over = kind.starts_with("selfsubject")
            || kind == "customresourcedefinitions"
            || kind == "leases"
            || kind == "namespaces"
            || (is_record && entry["verb"] != "create");
        if refused || uri.contains("dryRun=All") || passed_over {
            return None;
        }
        Some(Write { verb, kind, name: if is_record { "record".to_owned() } else { name } })
    };
    entries.iter().filter_map(write).collect()
}

/// Helm creates the objects of one kind side by side: their order means nothing.
fn by_kind(writes: &[Write]) -> Vec<String> {
    let mut out = Vec::new();
    for run in writes.chunk_by(|a, b| a.kind == b.kind && a.verb == b.verb) {
        let mut names: Vec<String> = run.iter().map(Write::text).collect();
        names.sort();
        out.extend(names);
    }
    out
}

/// Names of created objects are in the body, which the audit log does not have: helm 3 creates by POST.
fn without_names(writes: &[String]) -> Vec<String> {
    writes.iter().map(|text| text.split('/').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_order_of_writes_is_helms() {
    let chart = repository("tests/cases/records/rich-1.2.3.tgz");
    let app = |values: &str| {
        let chart = chart.to_str().unwrap();
        format!(
            "[settings]\nrunHistory = 0\n[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"{chart}\"\nwait = true\nset = {{ {values} }}\n"
        )
    };
    for helm in ["helm3", "helm4"] {
        let scene = Scene::new(&format!("wire-like-{helm}"));
        let ours = scene.cluster.as_account(&scene.namespace, "ours", scene.folder.path());
        let theirs_in = scene.cluster.namespace(&format!("wire-{helm}"));
        let theirs = scene.cluster.as_account(&theirs_in, helm, scene.folder.path());
        let run = |verb: &str, rest: &[&str]| {
            let mark = scene.cluster.audit_mark();
            theirs.tool(helm, &[&[verb, "r"], rest, &["-n", &theirs_in, "--wait"]].concat());
            writes(&theirs, mark, &format!("{theirs_in}:{helm}"))
        };
        let apply = |values: &str| {
            let file = scene.write(&app(values));
            let mark = scene.cluster.audit_mark();
            ours.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
            writes(&ours, mark, &format!("{}:ours", scene.namespace))
        };
        let path = chart.to_str().unwrap();
        // Helm 3 creates by POST, and the audit log names what is in the path only.
        let same = |helms: &[Write], ours: &[Write], what: &str| {
            if helm == "helm3" {
                assert_eq!(without_names(&by_kind(helms)), without_names(&by_kind(ours)), "{helm} {what}");
            } else {
                assert_eq!(by_kind(helms), by_kind(ours), "{helm} {what}");
            }
        };

        let (helms, mine) = (run("install", &[path]), apply("replicas = \"1\""));
        same(&helms, &mine, "install");
        assert!(helms.len() > 10, "hooks, record and objects: {helms:#?}");

        // What is as desired is not written: what is, comes in the same order.
        let helms = run("upgrade", &[path, "--set", "replicas=2,extra=yes"]);
        let mine = apply("replicas = \"2\", extra = \"yes\"");
        let kinds = |writes: &[Write]| {
            writes.iter().map(|write| (write.verb, write.kind.clone())).collect::<Vec<_>>()
        };
        let mut rest = kinds(&helms).into_iter();
        for write in kinds(&mine) {
            assert!(
                rest.any(|other| other == write),
                "{helm} upgrade: {write:?} is out of order\n{helms:#?}\n{mine:#?}"
            );
        }
        let hooks = |writes: &[Write]| writes.iter().filter(|write| write.kind == "jobs").count();
        assert_eq!(hooks(&helms), hooks(&mine), "{helm} upgrade: hooks");

        // Helm removes what the chart no longer has before it runs the post-upgrade hook; here it goes after that.
        let helms = run("upgrade", &[path, "--set", "replicas=2"]);
        let mine = apply("replicas = \"2\"");
        let gone = Write { verb: "delete", kind: "configmaps".to_owned(), name: "r-extra".to_owned() };
        let place = |writes: &[Write]| writes.iter().position(|write| *write == gone);
        assert!(place(&helms) < helms.iter().rposition(|write| write.kind == "jobs"), "{helms:#?}");
        assert_eq!(place(&mine), Some(mine.len() - 1), "{mine:#?}");

        let helms = run("uninstall", &[]);
        let file = scene.write(&app("replicas = \"2\""));
        let mark = scene.cluster.audit_mark();
        ours.statectl(["destroy", file.to_str().unwrap(), "--yes"]).expect(0);
        let mine = writes(&ours, mark, &format!("{}:ours", scene.namespace));
        same(&helms, &mine, "uninstall");
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: {{ .Release.Name }}-NAME, annotations: { AFTER } }\n\
    spec:\n  selector: { matchLabels: { app: {{ .Release.Name }}-NAME } }\n  template:\n    metadata: { labels: { app: {{ .Release.Name }}-NAME } }\n    \
    spec: { containers: [{ name: a, image: example.org/a:1 }] }\n";

fn config(name: &str, after: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {{{{ .Release.Name }}}}-{name}, annotations: {{ {after} }} }}\n"
    )
}

fn place(writes: &[Write], text: &str) -> usize {
    writes.iter().position(|write| write.text() == text).unwrap_or_else(|| {
        panic!("{text} is among {:#?}", writes.iter().map(Write::text).collect::<Vec<_>>())
    })
}

#[test]
fn an_object_waits_for_what_it_names_and_goes_before_it() {
    let scene = Scene::new("order-names");
    let ours = scene.cluster.as_account(&scene.namespace, "ours", scene.folder.path());
    let user = format!("{}:ours", scene.namespace);
    let deployment = |name: &str, after: &str| DEPLOYMENT.replace("NAME", name).replace("AFTER", after);
    let late = "statectl.io/depends-on: Deployment/r-db";
    chart(
        scene.folder.path(),
        &[
            ("templates/db.yaml", &deployment("db", "")),
            ("templates/late.yaml", &config("late", late)),
            (
                "templates/web.yaml",
                &deployment("web", "statectl.io/depends-on: \"ConfigMap/r-late, Deployment.apps/r-db\""),
            ),
        ],
    );
    // Without `wait`: only the edges are waited for.
    let file = scene.write("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let path = file.to_str().unwrap();

    let plan = scene.plan(&file);
    let edges = |plan: &Json| -> Vec<String> {
        let objects = scene.release(plan, "r")["objects"].as_array().unwrap().iter();
        objects.map(|object| format!("{}: {}", object["name"].as_str().unwrap(), object["after"])).collect()
    };
    let ns = &scene.namespace;
    let expected = [
        "r-db: null".to_owned(),
        format!("r-late: [\"Deployment {ns}/r-db\"]"),
        format!("r-web: [\"ConfigMap {ns}/r-late\",\"Deployment {ns}/r-db\"]"),
    ];
    assert_eq!(edges(&plan), expected);
    let text = scene.cluster.statectl(["plan", path]).expect(0).stdout;
    assert!(text.contains(&format!("once Deployment {ns}/r-db is ready")), "{text}");

    let mark = scene.cluster.audit_mark();
    ours.statectl(["apply", path, "--yes"]).expect(0);
    let mine = writes(&ours, mark, &user);
    let (db, config, web) = (
        place(&mine, "write deployments/r-db"),
        place(&mine, "write configmaps/r-late"),
        place(&mine, "write deployments/r-web"),
    );
    assert!(db < config && config < web, "{mine:#?}");
    // The server saw the database ready, by its controller's word, before it got what waits for it.
    let entries = scene.cluster.requests_since(mark);
    let at = |entry: &Json| entry["requestReceivedTimestamp"].as_str().unwrap().to_owned();
    let about = |entry: &&Json, resource: &str, name: &str, sub: &str| {
        let reference = &entry["objectRef"];
        reference["resource"] == resource
            && reference["name"] == name
            && reference["namespace"] == **ns
            && reference["subresource"].as_str().unwrap_or_default() == sub
            && entry["verb"] != "get"
            && !entry["requestURI"].as_str().unwrap().contains("dryRun=All")
    };
    let ready =
        entries.iter().filter(|entry| about(entry, "deployments", "r-db", "status")).map(at).max().unwrap();
    let sent = entries.iter().find(|entry| about(entry, "configmaps", "r-late", "")).map(at).unwrap();
    assert!(ready < sent, "status at {ready}, next object at {sent}");

    // Nothing is waited for, and nothing written, where nothing changes.
    let plan = scene.plan(&file);
    assert_eq!(plan["changes"], false, "{plan:#}");

    // In reverse on the way out, from the record: the chart is gone by then.
    std::fs::remove_dir_all(scene.folder.path().join("chart")).unwrap();
    let file = scene.write("");
    let mark = scene.cluster.audit_mark();
    let output = ours.statectl(["apply", file.to_str().unwrap(), "--yes", "--allow-prune"]).expect(0);
    assert!(output.stdout.contains("uninstalled"), "{}", output.stdout);
    let mine = writes(&ours, mark, &user);
    let gone = ["delete deployments/r-web", "delete configmaps/r-late", "delete deployments/r-db"];
    assert!(gone.map(|text| place(&mine, text)).is_sorted(), "{mine:#?}");
}

#[test]
fn groups_of_helms_draft_count_where_the_app_says_so() {
    let scene = Scene::new("order-groups");
    let ours = scene.cluster.as_account(&scene.namespace, "ours", scene.folder.path());
    let group = |name: &str, on: &str| {
        let on = if on.is_empty() {
            String::new()
        } else {
            format!(", helm.sh/depends-on/resource-groups: '[\"{on}\"]'")
        };
        config(name, &format!("helm.sh/resource-group: {name}{on}"))
    };
    chart(
        scene.folder.path(),
        &[
            ("templates/a.yaml", &group("a", "z")),
            ("templates/z.yaml", &group("z", "")),
            ("templates/b.yaml", &config("b", "")),
        ],
    );
    let app =
        |more: &str| format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{more}");
    let file = scene.write(&app(""));
    let plan = scene.plan(&file);
    let notes = plan["notes"].to_string();
    assert!(notes.contains("sequencing"), "{notes}");

    let file = scene.write(&app("sequencing = \"annotations\"\n"));
    let mark = scene.cluster.audit_mark();
    ours.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let mine = writes(&ours, mark, &format!("{}:ours", scene.namespace));
    let order = ["write configmaps/r-z", "write configmaps/r-a", "write configmaps/r-b"];
    assert!(order.map(|text| place(&mine, text)).is_sorted(), "{mine:#?}");
    // The server would refuse the key with two slashes; the record keeps it.
    let live =
        scene.cluster.tool("kubectl", &["get", "configmap", "r-a", "-n", &scene.namespace, "-o", "yaml"]);
    assert!(!live.contains("depends-on"), "{live}");
    let stored = scene.cluster.tool("helm4", &["get", "manifest", "r", "-n", &scene.namespace]);
    assert!(stored.contains("helm.sh/depends-on/resource-groups"), "{stored}");
    assert!(scene.plan(&file)["changes"] == false);

    let mark = scene.cluster.audit_mark();
    ours.statectl(["destroy", file.to_str().unwrap(), "--yes"]).expect(0);
    let mine = writes(&ours, mark, &format!("{}:ours", scene.namespace));
    let order = ["delete configmaps/r-b", "delete configmaps/r-a", "delete configmaps/r-z"];
    assert!(order.map(|text| place(&mine, text)).is_sorted(), "{mine:#?}");
}

#[test]
fn an_order_that_cannot_be_blocks_the_release_and_says_why() {
    let scene = Scene::new("order-circle");
    chart(
        scene.folder.path(),
        &[
            ("templates/a.yaml", &config("a", "statectl.io/depends-on: ConfigMap/r-b")),
            ("templates/b.yaml", &config("b", "statectl.io/depends-on: ConfigMap/r-a")),
        ],
    );
    let file = scene.write("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let output = scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(4);
    assert!(output.stdout.contains("objects wait for each other: ConfigMap"), "{}", output.stdout);
}

/// Secret, ConfigMap, definition and its object, Deployment with a hook, ordered by kind; a second release that needs the
/// first, and one that waits for an object that no chart has.
#[test]
fn a_release_starts_when_what_it_needs_is_ready() {
    let scene = Scene::new("order-needs");
    let ours = scene.cluster.as_account(&scene.namespace, "ours", scene.folder.path());
    let user = format!("{}:ours", scene.namespace);
    let group = format!("{}.example.org", scene.namespace);
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: gadgets.{group} }}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{ plural: gadgets, singular: gadget, kind: Gadget }}\n  \
         versions:\n    - name: v1\n      served: true\n      storage: true\n      \
         schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }}\n"
    );
    let gadget = format!(
        "{{{{ if .Values.first }}}}\napiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: {{{{ .Release.Name }}}} }}\n{{{{ end }}}}\n"
    );
    let definition = format!("{{{{ if .Values.first }}}}\n{definition}{{{{ end }}}}\n");
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata: { name: {{ .Release.Name }}-hook, annotations: { helm.sh/hook: pre-install } }\n\
        spec: { template: { spec: { restartPolicy: Never, containers: [{ name: a, image: example.org/a:1 }] } } }\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: {{ .Release.Name }}-secret }\nstringData: { a: b }\n";
    chart(
        scene.folder.path(),
        &[
            ("templates/1.yaml", &DEPLOYMENT.replace("NAME", "main").replace("AFTER", "")),
            ("templates/2.yaml", &gadget),
            ("templates/3.yaml", &definition),
            ("templates/4.yaml", &config("config", "")),
            ("templates/5.yaml", secret),
            ("templates/6.yaml", hook),
            ("values.yaml", "first: false\n"),
        ],
    );
    let app = |name: &str, more: &str| {
        format!("[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{more}\n")
    };
    let apps = app("first", "values = { first = true }")
        + &app("second", "needs = [\"NS/first\"]")
        + &app("third", "waitFor = [{ kind = \"ConfigMap\", name = \"gate\" }]");
    let file = scene.write(&apps);
    let path = file.to_str().unwrap();
    let text = scene.cluster.statectl(["plan", path]).expect(0).stdout;
    for edge in [format!("starts after {}/first", scene.namespace), "starts when ConfigMap".to_owned()] {
        assert!(text.contains(&edge), "{edge}: {text}");
    }

    let mark = scene.cluster.audit_mark();
    let running = ours.start_statectl(["apply", path, "--yes"]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !writes(&ours, mark, &user).iter().any(|write| write.text() == "write deployments/second-main") {
        assert!(std::time::Instant::now() < deadline, "the second release never came");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let third = writes(&ours, mark, &user).into_iter().find(|write| write.name.starts_with("third"));
    assert_eq!(third, None, "it waits for the gate");
    scene.cluster.tool("kubectl", &["create", "configmap", "gate", "-n", &scene.namespace]);
    wait(running).expect(0);
    let mine = writes(&ours, mark, &user);
    let order = [
        "write jobs/first-hook",
        "write secrets/first-secret",
        "write configmaps/first-config",
        "write deployments/first-main",
        "write gadgets/first",
        "write jobs/second-hook",
        "write secrets/second-secret",
        "write configmaps/second-config",
        "write deployments/second-main",
    ];
    assert!(order.map(|text| place(&mine, text)).is_sorted(), "{mine:#?}");
    assert!(mine.iter().any(|write| write.name == "third-main"));
}
