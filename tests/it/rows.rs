//! Every row of the decision table, on the real API server: the state is made by editing records and objects, then
//! `plan` has to name the row, and `apply` has to do what the row says.

use std::collections::BTreeSet;
use std::io::Write as _;

use base64::Engine as _;
use serde_json::{Value as Json, json};
use statectl::plan::recover::TABLE;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::{Scene, chart};
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;
use crate::support::stored::Stored;

const MAPS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { x: {{ .Values.x | quote }} }\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: b }\ndata: { y: b }\n";
const OPERATION: &str = "statectl.io/operation";
const INTERRUPTED: &str = "statectl.io/interrupted";
/// A file that wants this value, and nothing else of the settings.
const ONE: &str = "set = { x = \"one\" }";
const TWO: &str = "set = { x = \"two\" }";

/// A namespace with one release of two ConfigMaps.
struct Stage {
    scene: Scene,
}

impl Stage {
    /// Starts with the first revision, which wants `one`.
    fn new(name: &str) -> Self {
        let scene = Scene::new(name);
        chart(scene.folder.path(), &[("templates/a.yaml", MAPS), ("values.yaml", "x: zero\n")]);
        let stage = Self { scene };
        stage.apply("", ONE, 0);
        stage
    }

    fn file(&self, settings: &str, app: &str) -> String {
        let enabled = if app == "GONE" { "false" } else { "true" };
        let app = app.trim_start_matches("GONE");
        let text = format!(
            "[settings]\nleaseDuration = \"3s\"\n{settings}\n[apps.web]\nenabled = {enabled}\nnamespace = \"NS\"\nchart = \"./chart\"\ntimeout = \"20s\"\n{app}\n"
        );
        self.scene.write(&text).to_str().unwrap().to_owned()
    }

    fn apply(&self, settings: &str, app: &str, code: i32) -> Json {
        let path = self.file(settings, app);
        self.scene.cluster.statectl(["apply", &path, "--yes", "-o", "json"]).expect(code).json()
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        self.scene.cluster.tool("kubectl", &[arguments, &["-n", &self.scene.namespace]].concat())
    }

    /// Rewrites a record, as `edit` says, under the number `to`.
    fn record(&self, from: u64, to: u64, edit: impl FnOnce(&mut Json, &mut Json)) {
        let Stored { mut secret, mut json, .. } =
            Stored::read(self.scene.cluster, &self.scene.namespace, "web", from);
        json["version"] = to.into();
        let metadata = &mut secret["metadata"];
        metadata["name"] = format!("sh.helm.release.v1.web.v{to}").into();
        metadata["labels"]["version"] = to.to_string().into();
        for member in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.as_object_mut().unwrap().remove(member);
        }
        edit(&mut json, metadata);
        metadata["labels"]["status"] = json["info"]["status"].clone();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(json.to_string().as_bytes()).unwrap();
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        secret["data"]["release"] = encode(encode(&packed.finish().unwrap()).as_bytes()).into();
        let file = self.scene.folder.path().join("record.json");
        std::fs::write(&file, secret.to_string()).unwrap();
        let path = file.to_str().unwrap();
        if from == to {
            self.kubectl(&["replace", "-f", path]);
        } else {
            self.kubectl(&["create", "-f", path]);
        }
    }

    /// Leaves a record in a state, as a run of statectl that is gone leaves it.
    fn left(&self, revision: u64, status: &str) {
        self.record(revision, revision, |release, metadata| leave(release, metadata, status));
    }

    /// Leaves a second revision, which wants `two`, in a state.
    fn second(&self, status: &str) {
        self.record(1, 2, |release, metadata| {
            to_two(release);
            leave(release, metadata, status);
        });
    }

    fn status(&self, revision: u64) -> String {
        let record = Stored::read(self.scene.cluster, &self.scene.namespace, "web", revision);
        assert_eq!(record.label("status"), record.json["info"]["status"]);
        record.label("status").to_owned()
    }

    fn value(&self) -> Option<String> {
        let map = self.scene.cluster.get(&self.scene.namespace, "configmap", "a")?;
        map["data"]["x"].as_str().map(str::to_owned)
    }
}

fn to_two(release: &mut Json) {
    release["config"]["x"] = "two".into();
    let manifest = release["manifest"].as_str().unwrap().replace("one", "two");
    release["manifest"] = manifest.into();
}

fn leave(release: &mut Json, metadata: &mut Json, status: &str) {
    release["info"]["status"] = status.into();
    let operation = json!({
        "format": "statectl.operation/v1", "id": "dead", "lock": "gone", "epoch": 0, "seconds": 1,
        "who": "ann@ci (pid 7)",
    });
    metadata["annotations"] = json!({OPERATION: operation.to_string()});
}

/// A record of another tool carries no marks.
fn foreign(metadata: &mut Json) {
    metadata.as_object_mut().unwrap().remove("annotations");
}

/// A state, and what becomes of it.
struct Case {
    row: &'static str,
    stage: fn(&Stage),
    settings: &'static str,
    app: &'static str,
    /// The code of `apply`.
    code: i32,
    /// The newest revision afterwards and its state, and the value of the object.
    after: Option<(u64, &'static str)>,
    value: Option<&'static str>,
}

const AUTO: &str = "";

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let case = |row, stage, app, code, after, value| Case { row, stage, settings: AUTO, app, code, after, value };
    vec![
        case("R2", |stage| stage.record(1, 2, |release, metadata| { leave(release, metadata, "pending-upgrade"); foreign(metadata); }),
            ONE, 4, Some((2, "pending-upgrade")), Some("one")),
        case("R3", |stage| {
            stage.second("pending-upgrade");
            stage.kubectl(&["label", "configmap", "a", "helm.toolkit.fluxcd.io/name=theirs"]);
        }, TWO, 4, Some((2, "pending-upgrade")), Some("one")),
        case("R4", |stage| {
            stage.left(1, "pending-install");
            stage.kubectl(&["delete", "configmap", "a", "b"]);
        }, ONE, 0, Some((2, "deployed")), Some("one")),
        case("R5", |stage| {
            stage.left(1, "pending-install");
            stage.kubectl(&["delete", "configmap", "b"]);
        }, ONE, 0, Some((2, "deployed")), Some("one")),
        case("R6", |stage| {
            stage.left(1, "pending-install");
            stage.kubectl(&["annotate", "--overwrite", "configmap", "a", "meta.helm.sh/release-name=other"]);
        }, ONE, 4, Some((1, "pending-install")), Some("one")),
        case("R7", |stage| stage.left(1, "pending-install"), ONE, 0, Some((1, "deployed")), Some("one")),
        case("R8", |stage| {
            stage.second("pending-upgrade");
            stage.kubectl(&["delete", "configmap", "a", "b"]);
        }, TWO, 0, Some((3, "deployed")), Some("two")),
        case("R9", |stage| stage.second("pending-upgrade"), TWO, 0, Some((3, "deployed")), Some("two")),
        Case {
            row: "R9b", stage: |stage| stage.second("pending-upgrade"), settings: "onInterrupted = \"rollback\"", app: TWO,
            code: 1, after: Some((3, "deployed")), value: Some("one"),
        },
        case("R10", |stage| {
            stage.apply("", TWO, 0);
            stage.left(2, "pending-upgrade");
        }, TWO, 0, Some((2, "deployed")), Some("two")),
        // The file says something else by now.
        case("R10", |stage| {
            stage.apply("", TWO, 0);
            stage.left(2, "pending-upgrade");
        }, ONE, 0, Some((3, "deployed")), Some("one")),
        case("R11", |stage| stage.second("pending-rollback"), TWO, 0, Some((3, "deployed")), Some("two")),
        case("R12", |stage| {
            stage.left(1, "uninstalling");
            stage.kubectl(&["delete", "configmap", "b"]);
        }, ONE, 0, Some((2, "deployed")), Some("one")),
        case("R13", |stage| stage.left(1, "uninstalling"), "GONE", 0, None, None),
        case("R13", |stage| stage.second("pending-upgrade"), "GONE", 0, None, None),
        case("R14", |stage| stage.second("failed"), TWO, 0, Some((3, "deployed")), Some("two")),
        case("R15", |stage| stage.left(1, "failed"), ONE, 0, Some((2, "deployed")), Some("one")),
        case("R16", |stage| stage.left(1, "superseded"), TWO, 0, Some((2, "deployed")), Some("two")),
        case("R17", |stage| stage.second("deployed"), TWO, 0, Some((3, "deployed")), Some("two")),
        case("R18", |stage| drop(stage.kubectl(&["delete", "secret", "-l", "owner=helm"])), ONE, 0, Some((1, "deployed")), Some("one")),
        case("R19", |stage| {
            stage.kubectl(&["patch", "secret", "sh.helm.release.v1.web.v1", "--type=merge", "-p", "{\"data\":{\"release\":\"QUFB\"}}"]);
        }, TWO, 4, None, Some("one")),
        case("R19", |stage| stage.left(1, "odd"), TWO, 4, Some((1, "odd")), Some("one")),
        case("R20", |stage| {
            stage.apply("", TWO, 0);
            stage.left(1, "pending-upgrade");
        }, ONE, 0, Some((3, "deployed")), Some("one")),
        case("R21", |stage| {
            for revision in [2, 3] {
                stage.record(1, revision, |release, metadata| {
                    to_two(release);
                    leave(release, metadata, "failed");
                    metadata["annotations"][INTERRUPTED] = "pending-upgrade".into();
                });
            }
            stage.record(3, 4, |release, metadata| leave(release, metadata, "pending-upgrade"));
        }, TWO, 4, Some((4, "pending-upgrade")), Some("one")),
    ]
}

/// Returns what a plan says that names a row: codes of reasons, and notes.
fn says(plan: &Json) -> (Vec<String>, Vec<String>) {
    let texts = |value: &Json, member: &str| -> Vec<String> {
        let list = value.as_array().into_iter().flatten();
        list.map(|item| if member.is_empty() { item } else { &item[member] })
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    (texts(&plan["releases"][0]["reasons"], "code"), texts(&plan["notes"], ""))
}

fn check(number: usize, case: &Case) {
    let row = case.row;
    let entry = TABLE.iter().find(|entry| entry.id == row).unwrap();
    let stage = Stage::new(&format!("{}-{number}", row.to_lowercase()));
    (case.stage)(&stage);
    let path = stage.file(case.settings, case.app);
    let plan = stage.scene.cluster.statectl(["plan", &path, "-o", "json"]).json();
    let (codes, notes) = says(&plan);
    let noted = notes.iter().any(|note| note.contains(&format!("({row})")));
    assert!(codes.iter().any(|code| code == entry.code) || noted, "{row}: {codes:?} {notes:?}");
    let uid = stage
        .scene
        .cluster
        .get(&stage.scene.namespace, "configmap", "b")
        .map(|map| map["metadata"]["uid"].clone());
    stage.scene.cluster.statectl(["apply", &path, "--yes"]).expect(case.code);
    assert_eq!(stage.value().as_deref(), case.value, "{row}");
    if let Some((revision, status)) = case.after {
        assert_eq!(stage.status(revision), status, "{row}");
        let next = format!("sh.helm.release.v1.web.v{}", revision + 1);
        assert!(stage.scene.cluster.get(&stage.scene.namespace, "secret", &next).is_none(), "{row}");
    }
    // Nothing that was there is made anew.
    let now = stage
        .scene
        .cluster
        .get(&stage.scene.namespace, "configmap", "b")
        .map(|map| map["metadata"]["uid"].clone());
    assert!(uid.is_none() || now.is_none() || uid == now, "{row}");
    if case.code == 0 && case.after.is_some() {
        // Both Helms go on from there, and there is nothing left to do.
        for helm in ["helm3", "helm4"] {
            let text = stage.scene.cluster.tool(helm, &["status", "web", "-n", &stage.scene.namespace]);
            assert!(text.contains("STATUS: deployed"), "{row}: {text}");
        }
        stage.scene.cluster.statectl(["plan", &path, "--detailed-exit-code"]).expect(0);
    }
    match row {
        // The next one rolls out what the file says.
        "R9b" => {
            stage.apply(case.settings, case.app, 0);
            assert_eq!((stage.status(4).as_str(), stage.value().as_deref()), ("deployed", Some("two")));
        }
        // What came to its end keeps that name.
        "R10" if case.app == ONE => assert_eq!(stage.status(2), "superseded"),
        "R9" | "R8" | "R11" => assert_eq!(stage.status(2), "failed"),
        "R20" => assert_eq!(stage.status(1), "pending-upgrade"),
        "R21" => {
            stage.scene.cluster.statectl(["apply", &path, "--yes", "--retry"]).expect(0);
            assert_eq!(stage.status(5), "deployed");
        }
        "R13" => assert_eq!(stage.kubectl(&["get", "secret", "-l", "owner=helm", "-o", "name"]), ""),
        _ => {}
    }
}

#[test]
fn each_row_of_the_table_is_reached_and_does_what_it_says() {
    let cases = cases();
    let queue = std::sync::Mutex::new(cases.iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((number, case)) = queue.lock().unwrap().next() else { return };
                    check(number, case);
                }
            });
        }
    });
    let mut rows: BTreeSet<&str> = cases.iter().map(|case| case.row).collect();
    // Those of locks have tests of their own.
    rows.extend(["R0", "R1"]);
    assert_eq!(rows, TABLE.iter().map(|entry| entry.id).collect());
}

#[test]
fn a_release_whose_lock_is_renewed_or_cannot_be_read_is_left_alone() {
    let stage = Stage::new("r0");
    stage.second("pending-upgrade");
    let info = json!({"format": "statectl.lock/v1", "id": "alive", "who": "bob@host", "pid": 9, "operation": "apply"});
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": "statectl.web", "namespace": stage.scene.namespace,
            "labels": {"statectl.io/lock": "release"},
            "annotations": {"statectl.io/lock-info": info.to_string(), "statectl.io/renew-seq": "4"},
        },
        "spec": {"holderIdentity": "alive", "leaseDurationSeconds": 60, "leaseTransitions": 0},
    });
    let file = stage.scene.folder.path().join("lease.json");
    std::fs::write(&file, lease.to_string()).unwrap();
    stage.kubectl(&["create", "-f", file.to_str().unwrap()]);
    let path = stage.file("", TWO);
    // A plan shows the row that would be taken, and who holds the lock.
    let plan = stage.scene.cluster.statectl(["plan", &path]).expect(0);
    assert!(
        plan.stdout.contains("(R9)") && plan.stdout.contains("its lock says: bob@host"),
        "{}",
        plan.stdout
    );
    let refused = stage.scene.cluster.statectl(["apply", &path, "--yes", "--lock-wait", "0"]).expect(75);
    assert!(refused.stdout.contains("locked by bob@host"), "{}", refused.stdout);
    assert_eq!((stage.status(2).as_str(), stage.value().as_deref()), ("pending-upgrade", Some("one")));

    // R1: the lock cannot be read.
    let rules = [("", "secrets,configmaps", "*")];
    let (namespace, folder) = (&stage.scene.namespace, stage.scene.folder.path());
    let user = stage.scene.cluster.as_user_with(namespace, "no-leases", folder, &rules);
    let plan = user.statectl(["plan", &path, "-o", "json"]).expect(4).json();
    assert_eq!(plan["releases"][0]["reasons"][0]["code"], "lock-unreadable", "{plan}");
    let _ = user.statectl(["apply", &path, "--yes"]).expect(4);
    assert_eq!((stage.status(2).as_str(), stage.value().as_deref()), ("pending-upgrade", Some("one")));
}

#[test]
fn what_an_interrupted_uninstall_deletes_is_waited_for_and_a_failed_destroy_is_finished() {
    let stage = Stage::new("r12");
    let finalizer = |value: &str| {
        let patch = format!("{{\"metadata\":{{\"finalizers\":{value}}}}}");
        stage.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", &patch]);
    };
    finalizer("[\"example.com/hold\"]");
    let short = format!("{ONE}\ntimeout = \"3s\"").replace("timeout = \"20s\"\n", "");
    let path = stage.file("", &short);
    let path_of = |text: &str| {
        let file = std::fs::read_to_string(&path).unwrap().replace("timeout = \"20s\"\n", "");
        std::fs::write(&path, file).unwrap();
        assert!(!text.is_empty());
        path.clone()
    };
    let path = path_of("short");
    // It does not go: the destroy fails, and says what holds it.
    let failed = stage.scene.cluster.statectl(["destroy", &path, "--yes"]).expect(1);
    assert!(failed.stdout.contains("example.com/hold"), "{}", failed.stdout);
    assert_eq!(stage.status(1), "uninstalling");
    // An apply waits for what is going; in vain, and says so.
    let plan = stage.scene.plan(std::path::Path::new(&path));
    assert_eq!(plan["releases"][0]["reasons"][0]["code"], "interrupted-uninstall", "{plan}");
    let waited = stage.scene.cluster.statectl(["apply", &path, "--yes"]).expect(1);
    assert!(
        waited.stdout.contains("is still there") && waited.stdout.contains("example.com/hold"),
        "{}",
        waited.stdout
    );
    assert_eq!(stage.status(2), "failed");
    // Then the same again, and this time it goes.
    stage.left(2, "uninstalling");
    let run = stage.scene.cluster.start_statectl(["apply", &path, "--yes"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    finalizer("null");
    let done = wait(run).expect(0);
    assert!(done.stdout.contains("R12"), "{}", done.stdout);
    assert_eq!((stage.status(3).as_str(), stage.value().as_deref()), ("deployed", Some("one")));

    // A destroy that failed is finished by the next one.
    finalizer("[\"example.com/hold\"]");
    drop(stage.scene.cluster.statectl(["destroy", &path, "--yes"]).expect(1));
    finalizer("null");
    let done = stage.scene.cluster.statectl(["destroy", &path, "--yes"]).expect(0);
    assert!(done.stdout.contains("R13"), "{}", done.stdout);
    assert_eq!(stage.kubectl(&["get", "secret", "-l", "owner=helm", "-o", "name"]), "");
}

#[test]
fn a_helm_that_wakes_up_late_cannot_write_the_record_that_was_taken_from_it() {
    let scene = Scene::new("fence");
    let file = |more: &str| {
        let text = format!(
            "[settings]\nleaseDuration = \"3s\"\nforeignPendingAfter = \"1s\"\n{more}\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n"
        );
        scene.write(&text).to_str().unwrap().to_owned()
    };
    let path = file("fenceTakenOver = true");
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let chart = crate::support::repository("examples/charts/web");
    let helm = std::process::Command::new(scene.cluster.tool_path("helm4"))
        .args(["upgrade", "web", chart.to_str().unwrap(), "-n", &scene.namespace, "--wait"])
        .args(["--set", "podAnnotations.statectl\\.io/test-pod=never-ready"])
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    signal::until("helm has begun", || {
        let name = "sh.helm.release.v1.web.v2";
        scene.cluster.get(&scene.namespace, "secret", name).is_some()
    });
    // It waits by now, or soon will.
    std::thread::sleep(std::time::Duration::from_secs(2));
    signal::send(&helm, Sent::Stop);
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let record = |revision| Stored::read(scene.cluster, &scene.namespace, "web", revision);
    let taken = record(2);
    assert_eq!((taken.label("status"), &taken.secret["immutable"]), ("failed", &true.into()));
    signal::send(&helm, Sent::Continue);
    // Now its end comes, and its record cannot be written.
    signal::send(&helm, Sent::Terminate);
    drop(wait(helm));
    assert_eq!(record(2).secret["data"], taken.secret["data"]);
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 3));
    for helm in ["helm3", "helm4"] {
        scene.cluster.tool(helm, &["history", "web", "-n", &scene.namespace]);
    }
    // It goes like any other.
    scene.cluster.statectl(["destroy", &path, "--yes"]).expect(0);
    assert!(scene.cluster.get(&scene.namespace, "secret", "sh.helm.release.v1.web.v2").is_none());
}

#[test]
fn a_revision_that_somebody_else_made_meanwhile_ends_the_run_before_anything_is_removed() {
    let stage = Stage::new("newer");
    stage.apply("", TWO, 0);
    // The next version of the chart has one object less.
    let maps = MAPS.split("---").next().unwrap();
    chart(stage.scene.folder.path(), &[("templates/a.yaml", maps)]);
    let path = stage.file("", "set = { x = \"three\" }");
    let proxy = Proxy::start(stage.scene.cluster);
    let slow = Fault::Delay(std::time::Duration::from_secs(4));
    proxy.rule(Rule::on("PATCH", "/configmaps/a").unless("dryRun").times(1).fault(slow));
    let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    signal::until("it is in the middle", || proxy.faults() == 1);
    stage.scene.cluster.tool("helm4", &["rollback", "web", "1", "-n", &stage.scene.namespace]);
    let ended = wait(run).expect(1);
    assert!(ended.stdout.contains("revision 4 of web was made by somebody else"), "{}", ended.stdout);
    assert!(
        stage.scene.cluster.get(&stage.scene.namespace, "configmap", "b").is_some(),
        "nothing was removed"
    );
    assert_eq!(stage.scene.helm_status("web"), ("deployed".to_owned(), 4));
    assert_eq!(stage.status(3), "failed");
    // The next run goes on from what is there.
    stage.scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    assert_eq!(stage.value().as_deref(), Some("three"));
}

#[test]
fn a_release_with_a_new_name_is_locked_under_both() {
    let stage = Stage::new("moved-lock");
    let text = "[settings]\nleaseDuration = \"5s\"\n[[moved]]\nfrom = \"NS/web\"\nto = \"NS/shop\"\n[apps.shop]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nset = { x = \"one\" }\n";
    let path = stage.scene.write(text).to_str().unwrap().to_owned();
    let proxy = Proxy::start(stage.scene.cluster);
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    let locks: Vec<String> = proxy
        .seen()
        .iter()
        .filter(|seen| seen.method == "DELETE" && seen.uri.contains("/leases/"))
        .map(|seen| seen.uri.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert!(
        locks.contains(&"statectl.web".to_owned()) && locks.contains(&"statectl.shop".to_owned()),
        "{locks:?}"
    );
}
