//! What is left when something fails: with `onFailure = "keep"` and `"rollback"`, on the real API server.

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::{Scene, chart};
use crate::support::stored::Stored;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";
const ADDED: &str = "{{ if eq .Values.a \"two\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-added }\n{{ end }}\n";
const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ .Release.Name }} }
spec:
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
      annotations: { {{ with .Values.pod }}statectl.io/test-pod: {{ . }}{{ end }} }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
/// What a dry run does not see: a port outside the range of the cluster is refused when it is applied.
const REFUSED: &str = r#"
{{ if .Values.refused }}
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }} }
spec: { type: NodePort, selector: { app: x }, ports: [{ port: 80, nodePort: 20 }] }
{{ end }}
"#;
const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations: { helm.sh/hook: "{{ .Values.hook }}" }
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { {{ with .Values.hookPod }}statectl.io/test-pod: {{ . }}{{ end }} } }
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const VALUES: &str = "a: one\npod: \"\"\nrefused: false\nhook: post-upgrade\nhookPod: \"\"\n";

fn app(rest: &str, set: &str) -> String {
    format!(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = true\ntimeout = \"90s\"\n{rest}\n\
         values = {{ {set} }}\n"
    )
}

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    let files = [
        ("templates/a.yaml", CONFIG_MAP),
        ("templates/added.yaml", ADDED),
        ("templates/b.yaml", DEPLOYMENT),
        ("templates/c.yaml", REFUSED),
        ("templates/hook.yaml", HOOK),
        ("values.yaml", VALUES),
    ];
    chart(scene.folder.path(), &files);
    scene
}

impl Scene {
    fn outcome(&self, apps: &str, code: i32) -> Json {
        let path = self.write(apps);
        let output =
            self.cluster.statectl(["apply", path.to_str().unwrap(), "--yes", "-o", "json"]).expect(code);
        self.release(&output.json(), "r").clone()
    }

    fn record(&self, revision: u64) -> (String, String) {
        let info = Stored::read(self.cluster, &self.namespace, "r", revision).json["info"].clone();
        (info["status"].as_str().unwrap().to_owned(), info["description"].as_str().unwrap().to_owned())
    }

    fn value(&self) -> String {
        let map = self.cluster.get(&self.namespace, "configmap", "r").unwrap();
        map["data"]["a"].as_str().unwrap().to_owned()
    }
}

/// Ways in which an upgrade fails, and what the report says about it.
const WAYS: [(&str, &str, &str); 4] = [
    ("hook", "a = \"two\", hookPod = \"fail\", hook = \"post-upgrade\"", "post-upgrade hook"),
    ("pre-hook", "a = \"two\", hookPod = \"fail\", hook = \"pre-upgrade\"", "pre-upgrade hook"),
    ("object", "a = \"two\", refused = true", "Service"),
    ("readiness", "a = \"two\", pod = \"crash\"", "keeps crashing"),
];

#[test]
fn a_failed_upgrade_stays_as_it_is_unless_it_is_told_to_go_back() {
    for (name, set, said) in WAYS {
        let scene = scene(&format!("keep-{name}"));
        scene.outcome(&app("", ""), 0);
        let end = scene.outcome(&app("", set), 1);
        assert_eq!(end["state"], "failed", "{name}");
        assert!(end["message"].as_str().unwrap().contains(said), "{name}: {end}");
        assert_eq!(scene.record(2).0, "failed", "{name}");
        assert_eq!(scene.record(1).0, "deployed", "{name}");
        let stays = if name == "pre-hook" { "one" } else { "two" };
        assert_eq!(scene.value(), stays, "{name}");
    }
}

#[test]
fn a_failed_upgrade_goes_back_to_the_last_good_revision() {
    for (name, set, said) in WAYS {
        let scene = scene(&format!("back-{name}"));
        let back = "onFailure = \"rollback\"";
        scene.outcome(&app(back, ""), 0);
        let uid = |scene: &Scene| {
            scene.cluster.get(&scene.namespace, "deployment", "r").unwrap()["metadata"]["uid"].clone()
        };
        let before = uid(&scene);
        let file = scene.write(&app(back, set));
        assert_eq!(scene.release(&scene.plan(&file), "r")["rollbackTo"], 1, "{name}: it is said before");
        let end = scene.outcome(&app(back, set), 1);
        assert_eq!((&end["state"], &end["revision"]), (&"rolled-back".into(), &3.into()), "{name}");
        let message = end["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains("rolled back to revision 1"), "{name}: {message}");
        assert_eq!(scene.value(), "one", "{name}");
        assert_eq!(uid(&scene), before, "{name}: nothing is replaced");
        let records = [1, 2, 3].map(|revision| scene.record(revision));
        let states: Vec<&str> = records.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(states, ["superseded", "failed", "deployed"], "{name}");
        assert_eq!(records[2].1, "Rollback to 1", "{name}");
        // What only the failed revision made stays, and the report names it.
        let added = scene.cluster.get(&scene.namespace, "configmap", "r-added").is_some();
        assert_eq!(added, name != "pre-hook", "{name}");
        assert!(!added || message.contains("r-added"), "{name}: {message}");
        // The next good revision takes it away again.
        let fine = scene.outcome(&app(back, "a = \"three\""), 0);
        assert_eq!(fine["state"], "deployed", "{name}");
        assert!(scene.cluster.get(&scene.namespace, "configmap", "r-added").is_none(), "{name}");
    }
}

#[test]
fn a_first_install_that_fails_is_never_uninstalled() {
    let scene = scene("back-first");
    let end = scene.outcome(&app("onFailure = \"rollback\"", "pod = \"crash\""), 1);
    assert_eq!(end["state"], "failed");
    assert_eq!(scene.record(1).0, "failed");
    assert!(scene.cluster.get(&scene.namespace, "deployment", "r").is_some());
}

#[test]
fn a_rollback_that_fails_says_both() {
    let scene = scene("back-fails");
    let back = "onFailure = \"rollback\"";
    scene.outcome(&app(back, "hook = \"post-rollback\", hookPod = \"fail\""), 0);
    let end = scene.outcome(&app(back, "a = \"two\", pod = \"crash\", hook = \"post-upgrade\""), 1);
    assert_eq!(end["state"], "failed");
    let message = end["message"].as_str().unwrap();
    assert!(
        message.contains("keeps crashing") && message.contains("rolling back to revision 1 failed too"),
        "{message}"
    );
    let states = [1, 2, 3].map(|revision| scene.record(revision).0);
    assert_eq!(states, ["deployed", "failed", "failed"]);
    assert!(scene.record(3).1.contains("post-rollback hook"), "{}", scene.record(3).1);
}

#[test]
fn a_crash_loop_fails_in_seconds_with_its_last_words() {
    let scene = scene("crash-log");
    let started = std::time::Instant::now();
    let end = scene.outcome(&app("", "pod = \"crash\"").replace("90s", "300s"), 1);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("keeps crashing") && message.contains("last lines of pod r-"), "{message}");
}

/// The record of the new revision cannot be settled in the end: the objects are as desired, so nothing goes back.
#[test]
fn a_record_that_cannot_be_written_fails_its_release_and_changes_nothing_else() {
    for way in ["keep", "rollback"] {
        let scene = scene(&format!("record-{way}"));
        let rest = format!("onFailure = \"{way}\"");
        scene.outcome(&app(&rest, "hook = \"post-delete\""), 0);
        let proxy = Proxy::start(scene.cluster);
        let refused = Fault::status(403, "Forbidden", "secrets is forbidden: the policy changed");
        proxy.rule(Rule::on("PUT", "/secrets/sh.helm.release.v1.r.v2").fault(refused));
        let path = scene.write(&app(&rest, "a = \"two\", hook = \"post-delete\""));
        let output =
            proxy.cluster().statectl(["apply", path.to_str().unwrap(), "--yes", "-o", "json"]).expect(1);
        let end = scene.release(&output.json(), "r").clone();
        assert_eq!(end["state"], "failed", "{way}");
        let message = end["message"].as_str().unwrap();
        assert!(
            message.contains("sh.helm.release.v1.r.v2") && message.contains("the policy changed"),
            "{message}"
        );
        assert_eq!(scene.value(), "two", "{way}");
        let states = [1, 2].map(|revision| scene.record(revision).0);
        assert_eq!(states, ["deployed", "pending-upgrade"], "{way}");
    }
}

/// A StatefulSet waits for a broken pod instead of replacing it.
#[test]
fn a_broken_pod_that_holds_a_rollback_up_is_named_and_deleted_where_the_file_says_so() {
    let set = DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet");
    for unstick in [false, true] {
        let scene = Scene::new(&format!("unstick-{unstick}"));
        chart(scene.folder.path(), &[("templates/a.yaml", &set), ("values.yaml", VALUES)]);
        let rest = format!("onFailure = \"rollback\"\nunstick = {unstick}");
        let file = |set: &str| app(&rest, set).replace("90s", if unstick { "60s" } else { "12s" });
        scene.outcome(&file(""), 0);
        let uid = |scene: &Scene| scene.cluster.uid(&scene.namespace, "pod", "r-0");
        let (before, owner) = (uid(&scene), scene.cluster.uid(&scene.namespace, "statefulset", "r"));
        let path = scene.write(&file("pod = \"crash\""));
        assert_eq!(scene.release(&scene.plan(&path), "r")["unstick"] == true, unstick, "it is said before");
        let end = scene.outcome(&file("pod = \"crash\""), 1);
        let message = end["message"].as_str().unwrap();
        assert_ne!(uid(&scene), before, "the failed revision had a pod of its own");
        assert_eq!(scene.cluster.uid(&scene.namespace, "statefulset", "r"), owner, "the set itself stays");
        if unstick {
            assert_eq!(end["state"], "rolled-back", "{message}");
            let pod = scene.cluster.get(&scene.namespace, "pod", "r-0").unwrap();
            assert!(pod["metadata"]["annotations"]["statectl.io/test-pod"].is_null(), "{pod}");
        } else {
            assert_eq!(end["state"], "failed", "{message}");
            let way_out = format!(
                "`kubectl delete pod r-0 -n {}`; `unstick = true` deletes such pods",
                scene.namespace
            );
            assert!(message.contains(&way_out), "{message}");
        }
    }
}
