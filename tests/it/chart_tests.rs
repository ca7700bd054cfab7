//! Tests of charts: `test = true` and `statectl test`, on the real API server.

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};
use crate::support::stored::Stored;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.pod | quote }} }\n";
const TEST: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  annotations:
    helm.sh/hook: test
    {{ with .Values.pod }}statectl.io/test-pod: {{ . }}{{ end }}
spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;

fn app(rest: &str) -> String {
    format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\ntimeout = \"90s\"\n{rest}\n")
}

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    let files =
        [("templates/a.yaml", CONFIG_MAP), ("templates/t.yaml", TEST), ("values.yaml", "pod: \"\"\n")];
    chart(scene.folder.path(), &files);
    scene
}

/// How the record says the test ended.
fn phase(scene: &Scene, revision: u64) -> Json {
    Stored::read(scene.cluster, &scene.namespace, "r", revision).json["hooks"][0]["last_run"]["phase"].clone()
}

#[test]
fn tests_run_after_a_revision_that_asks_for_them() {
    let scene = scene("test-key");
    let run = |apps: &str, code: i32| {
        let path = scene.write(apps);
        let output = scene.cluster.statectl(["apply", path.to_str().unwrap(), "--yes", "-o", "json"]);
        scene.release(&output.expect(code).json(), "r").clone()
    };
    run(&app(""), 0);
    assert_eq!(phase(&scene, 1), "", "nobody asked");
    run(&app("test = true\nvalues = { pod = \"\", b = 1 }"), 0);
    assert_eq!(phase(&scene, 2), "Succeeded");
    let file = scene.write(&app("test = true\nvalues = { pod = \"fail\" }"));
    let planned = scene.plan(&file);
    let hooks = scene.release(&planned, "r")["hooks"].clone();
    assert_eq!(hooks[0]["event"], "test", "{hooks}");
    let end = run(&app("test = true\nvalues = { pod = \"fail\" }"), 1);
    assert_eq!(end["state"], "failed");
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("revision 3 is deployed, and its tests failed"), "{message}");
    assert_eq!((scene.helm_status("r"), phase(&scene, 3)), (("deployed".to_owned(), 3), "Failed".into()));
    // The revision is there: the next run has nothing to do.
    assert_eq!(scene.release(&scene.plan(&file), "r")["action"], "none");
}

#[test]
fn the_verb_tests_what_is_deployed() {
    let scene = scene("test-verb");
    let file = scene.write(&app(""));
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["test", path]).expect(1).complains("it is not installed");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    scene.cluster.statectl(["test", path]).expect(0).says("r-test  passed");
    let report = scene.cluster.statectl(["test", path, "-o", "json"]).expect(0).json();
    assert_eq!(report["format"], "statectl.test/v1");
    assert_eq!(scene.release(&report, "r")["tests"][0]["result"], "passed");
    assert_eq!(phase(&scene, 1), "Succeeded");
    scene.cluster.tool("helm4", &["test", "r", "-n", &scene.namespace]);
    scene.cluster.statectl(["test", path, "--target", "nobody"]).expect(3);

    scene
        .cluster
        .statectl(["apply", scene.write(&app("set = { pod = \"fail\" }")).to_str().unwrap(), "--yes"])
        .expect(0);
    let output = scene.cluster.statectl(["test", path]).expect(1).says("r-test  failed");
    assert!(output.stderr.contains("last lines of pod r-test"), "{}", output.stderr);
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 2));
}

/// What a container says is shown without the secret values of its release, in failures and where it is asked for.
#[test]
fn logs_are_shown_without_the_secrets_of_the_release() {
    let scene = scene("test-logs");
    // Every container of the test cluster says the same, and this line is one of it.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: x }\nstringData: { file: \"said: a line on stderr\\n\" }\n";
    let hook = TEST.replace("helm.sh/hook: test", "helm.sh/hook: pre-upgrade").replace("-test", "-hook");
    let asked = "{{ with .Values.policy }}helm.sh/hook-output-log-policy: {{ . }}{{ end }}";
    let hook = hook.replace("helm.sh/hook: pre", &format!("{asked}\n    helm.sh/hook: pre"));
    chart(scene.folder.path(), &[("templates/s.yaml", secret), ("templates/h.yaml", &hook)]);
    let file = scene.write(&app(""));
    let path = file.to_str().unwrap();
    let log = "container a:\nsimulated container: first line\nsimulated container: (masked)\nsimulated container: last line";
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let quiet = scene.cluster.statectl(["test", path]).expect(0);
    assert!(!quiet.stderr.contains("simulated"), "{}", quiet.stderr);
    let told = scene.cluster.statectl(["test", path, "--logs"]).expect(0);
    assert!(told.stderr.contains(log) && told.stderr.contains("hook r-test: last lines"), "{}", told.stderr);
    scene.write(&app("values = { b = 1 }"));
    let told = scene.cluster.statectl(["apply", path, "--yes", "--hook-logs"]).expect(0);
    assert!(told.stderr.contains(log) && told.stderr.contains("hook r-hook: last lines"), "{}", told.stderr);
    scene.write(&app("values = { b = 2 }"));
    let quiet = scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert!(!quiet.stderr.contains("simulated"), "{}", quiet.stderr);
    scene.write(&app("values = { policy = \"hook-succeeded\" }"));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0).complains(log);
    scene.write(&app("values = { pod = \"fail\" }"));
    let failed = scene.cluster.statectl(["apply", path, "--yes"]).expect(1);
    let all = format!("{}{}", failed.stdout, failed.stderr);
    assert!(all.contains("last lines of pod r-hook") && all.contains("(masked)"), "{all}");
    assert!(!all.contains("a line on stderr"), "{all}");
    let record = Stored::read(scene.cluster, &scene.namespace, "r", 5).json;
    assert!(!record["info"]["description"].to_string().contains("a line on stderr"), "{record}");
}
