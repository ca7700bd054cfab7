//! What a killed run leaves, and what the next one makes of it: `kill -9` before and after each write.
//!
//! A sample of the points runs with the other tests; `scripts/kill-matrix` runs all and prints a table.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::{Scene, chart};
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;
use crate::support::{repository, say};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";
const OLD: &str = "{{ if eq .Values.a \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-old }\n{{ end }}\n";
const NEW: &str = "{{ if ne .Values.a \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-new }\n{{ end }}\n";
const FIXED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-fixed }\nimmutable: true\ndata: { a: {{ .Values.fixed | quote }} }\n";
const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: {{ .Release.Name }} }\nspec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }\n";
const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations: { helm.sh/hook: "pre-install,pre-upgrade,post-upgrade,pre-delete" }
spec:
  backoffLimit: 0
  template:
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;

/// An operation that is killed.
struct Scenario {
    name: &'static str,
    /// What is applied before, if anything.
    before: Option<&'static str>,
    /// What is applied, killed, and applied again.
    app: &'static str,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario { name: "install", before: None, app: "set = { a = \"two\" }" },
    Scenario { name: "upgrade", before: Some("set = { a = \"one\" }"), app: "set = { a = \"two\" }" },
    Scenario {
        name: "replace",
        before: Some("set = { a = \"one\", fixed = \"x\" }"),
        app: "set = { a = \"two\", fixed = \"y\" }\nforce = [\"replace\"]",
    },
    Scenario {
        name: "uninstall",
        before: Some(
            "set = { a = \"one\" }\nallowDataLoss = [\"PersistentVolumeClaim/r\"]\nforce = [\"prune-stateful\"]",
        ),
        app: "GONE",
    },
];

/// Where a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    After,
}

fn scene(name: &str) -> Scene {
    let scene = Scene::new(name);
    let files = [
        ("templates/a.yaml", CONFIG_MAP),
        ("templates/old.yaml", OLD),
        ("templates/new.yaml", NEW),
        ("templates/fixed.yaml", FIXED),
        ("templates/claim.yaml", CLAIM),
        ("templates/hook.yaml", HOOK),
        ("values.yaml", "a: zero\nfixed: x\n"),
    ];
    chart(scene.folder.path(), &files);
    scene
}

fn write(scene: &Scene, rest: &str) -> String {
    let (enabled, rest) = if rest == "GONE" {
        ("false", "allowDataLoss = [\"PersistentVolumeClaim/r\"]\nforce = [\"prune-stateful\"]")
    } else {
        ("true", rest)
    };
    let apps = format!(
        "[settings]\nleaseDuration = \"3s\"\n[apps.r]\nenabled = {enabled}\nnamespace = \"NS\"\nchart = \"./chart\"\ntimeout = \"60s\"\n{rest}\n"
    );
    scene.write(&apps).to_str().unwrap().to_owned()
}

/// Returns the writes of a run that is not killed.
fn writes_of(scenario: &Scenario) -> Vec<String> {
    let scene = scene(&format!("kill-{}", scenario.name));
    if let Some(before) = scenario.before {
        scene.cluster.statectl(["apply", &write(&scene, before), "--yes"]).expect(0);
    }
    let path = write(&scene, scenario.app);
    let proxy = Proxy::start(scene.cluster);
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    let counted = proxy.seen().into_iter().filter(|seen| seen.is_write() && !seen.is_renewal());
    let name = |uri: &str| {
        let path = uri.split('?').next().unwrap_or_default();
        path.replace(&scene.namespace, "NS").trim_start_matches("/api/v1/namespaces/NS/").to_owned()
    };
    counted.map(|seen| format!("{} {}", seen.method, name(&seen.uri))).collect()
}

/// Kills a run at one write, applies again, and returns what is wrong then; nothing if it converged.
fn killed(scenario: &Scenario, number: usize, when: When) -> Result<(), String> {
    let scene = scene(&format!("kill-{}-{number}-{when:?}", scenario.name).to_lowercase());
    if let Some(before) = scenario.before {
        scene.cluster.statectl(["apply", &write(&scene, before), "--yes"]).expect(0);
    }
    let claim = || {
        let claim = scene.cluster.get(&scene.namespace, "pvc", "r");
        claim.map(|claim| claim["metadata"]["uid"].clone())
    };
    let old_claim = claim();
    let path = write(&scene, scenario.app);
    let proxy = Proxy::start(scene.cluster);
    let fault = if when == When::Before { Fault::Hang } else { Fault::HangReply };
    proxy.rule(Rule::write(number).fault(fault));
    let mut run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    let began = Instant::now();
    while proxy.faults() == 0 && run.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            return Err("the write does not come".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // What the server was asked to do is done by then.
    std::thread::sleep(Duration::from_millis(300));
    if run.try_wait().unwrap().is_none() {
        signal::send(&run, Sent::Kill);
    }
    drop(wait(run));
    // Nothing but the same command again.
    let next = scene.cluster.statectl(["apply", &path, "--yes"]);
    if next.code != 0 {
        return Err(format!("exit code {}: {}{}", next.code, next.stdout, next.stderr));
    }
    converged(&scene, scenario, &path, old_claim.as_ref(), claim().as_ref())
}

/// Looks at the server itself.
fn converged(
    scene: &Scene,
    scenario: &Scenario,
    path: &str,
    old_claim: Option<&Json>,
    new_claim: Option<&Json>,
) -> Result<(), String> {
    let cluster = scene.cluster;
    let list = |kind: &str| {
        let text = cluster.tool("kubectl", &["get", kind, "-n", &scene.namespace, "-o", "json"]);
        serde_json::from_str::<Json>(&text).unwrap()["items"].as_array().unwrap().clone()
    };
    let names = |kind: &str| {
        let mut names: Vec<String> =
            list(kind).iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect();
        names.retain(|name| name != "kube-root-ca.crt");
        names
    };
    let mut wrong = Vec::new();
    let records: Vec<Json> = list("secrets")
        .into_iter()
        .filter(|secret| secret["metadata"]["labels"]["owner"] == "helm")
        .collect();
    let states: Vec<&str> =
        records.iter().map(|record| record["metadata"]["labels"]["status"].as_str().unwrap()).collect();
    if scenario.app == "GONE" {
        if !records.is_empty() || !names("configmaps").is_empty() {
            wrong.push(format!("left: {states:?} {:?}", names("configmaps")));
        }
    } else {
        // Killed between its last two writes, a run leaves two that say deployed; the newest counts, for Helm as well.
        let newest = states.last().copied().unwrap_or_default();
        if newest != "deployed"
            || states.iter().any(|state| state.starts_with("pending") || *state == "uninstalling")
        {
            wrong.push(format!("records: {states:?}"));
        }
        if names("configmaps") != ["r", "r-fixed", "r-new"] {
            wrong.push(format!("objects: {:?}", names("configmaps")));
        }
        if cluster.get(&scene.namespace, "configmap", "r").unwrap()["data"]["a"] != "two" {
            wrong.push("it is not as desired".to_owned());
        }
        if old_claim.is_some() && old_claim != new_claim {
            wrong.push("the claim is another one".to_owned());
        }
        for helm in ["helm3", "helm4"] {
            let (found, text) = cluster.try_tool(helm, &["status", "r", "-n", &scene.namespace]);
            if !found || !text.contains("STATUS: deployed") {
                wrong.push(format!("{helm} status: {text}"));
            }
        }
        let plan = cluster.statectl(["plan", path, "--detailed-exit-code"]);
        if plan.code != 0 {
            wrong.push(format!("something is left to do: {}", plan.stdout));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// Runs points side by side and returns the table, and how many did not converge.
fn matrix(scenarios: &[Scenario], takes: impl Fn(usize) -> bool) -> (String, usize) {
    let mut points = Vec::new();
    for scenario in scenarios {
        let writes = writes_of(scenario);
        for (number, write) in writes.into_iter().enumerate() {
            points.push((scenario, number, When::Before, write.clone()));
            points.push((scenario, number, When::After, write));
        }
    }
    let all = points.len();
    let points: Vec<_> =
        points.into_iter().enumerate().filter(|(at, _)| takes(*at)).map(|(_, point)| point).collect();
    let queue = Mutex::new(points.iter());
    let rows = Mutex::new(Vec::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((scenario, number, when, write)) = queue.lock().unwrap().next() else { return };
                    let result = killed(scenario, *number, *when);
                    rows.lock().unwrap().push((scenario.name, *number, *when, write.clone(), result));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(name, number, when, _, _)| (*name, *number, *when == When::After));
    let mut text = String::new();
    let mut failed = 0;
    for (name, number, when, write, result) in &rows {
        let said = match result {
            Ok(()) => "converged".to_owned(),
            Err(why) => {
                failed += 1;
                format!("NOT converged: {why}")
            }
        };
        writeln!(text, "{name:<10} {number:>2} {when:<7?} {write:<60} {said}").unwrap();
    }
    let seconds = began.elapsed().as_secs();
    writeln!(text, "{} of {all} points, {failed} did not converge, {seconds} s", rows.len()).unwrap();
    (text, failed)
}

/// A sample; all of them with `STATECTL_KILL_MATRIX=all`.
#[test]
fn a_run_that_is_killed_at_any_write_is_finished_by_the_same_command() {
    let all = std::env::var("STATECTL_KILL_MATRIX").is_ok_and(|value| value == "all");
    let (table, failed) = matrix(&SCENARIOS, |at| all || at % 5 == 1);
    say(&table);
    assert_eq!(failed, 0, "{table}");
}

#[test]
fn a_helm_that_was_killed_is_waited_for_and_then_recovered_from() {
    let scene = Scene::new("helm-killed");
    let file = |more: &str| {
        let apps = format!(
            "[settings]\nleaseDuration = \"3s\"\n{more}\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n"
        );
        scene.write(&apps).to_str().unwrap().to_owned()
    };
    let path = file("");
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    let uid = scene.cluster.uid(namespace, "deployment", "web");
    let script = format!(
        "timeout -s KILL 3 \"$HELM\" upgrade web {} -n {namespace} --set 'podAnnotations.statectl\\.io/test-pod=never-ready' --wait",
        repository("examples/charts/web").display()
    );
    let status = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("HELM", scene.cluster.tool_path("helm4"))
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .status()
        .unwrap();
    assert!(!status.success());
    assert_eq!(scene.helm_status("web"), ("pending-upgrade".to_owned(), 2));
    // Nobody knows whether it is alive.
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4).says("a helm without a lock").says("unlock");
    let never = file("foreignPendingAfter = \"never\"");
    scene.cluster.statectl(["apply", &never, "--yes"]).expect(4);
    let report = file("foreignPendingAfter = \"1s\"\nrecover = \"report\"");
    scene.cluster.statectl(["apply", &report, "--yes"]).expect(4).says("interrupted");
    let soon = file("foreignPendingAfter = \"1s\"");
    scene.cluster.statectl(["plan", &soon]).expect(0).says("R9").says("recover");
    scene.cluster.statectl(["apply", &soon, "--yes"]).expect(0);
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 3));
    assert_eq!(scene.cluster.uid(namespace, "deployment", "web"), uid);
    let history = scene.cluster.tool("helm4", &["history", "web", "-n", namespace]);
    assert!(history.contains("recovered from"), "{history}");
}

#[test]
fn a_lock_is_shown_and_a_killed_run_is_unlocked_or_recovered() {
    for verb in ["unlock", "recover"] {
        let scene = scene(&format!("kill-{verb}"));
        let path = write(&scene, "set = { a = \"two\" }");
        let proxy = Proxy::start(scene.cluster);
        proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(Fault::Hang));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it is in the middle", || proxy.faults() == 1);
        let shown = scene.cluster.statectl(["locks", &path, "-o", "json"]).expect(0).json();
        let release =
            &shown["locks"].as_array().unwrap().iter().find(|lock| lock["scope"] == "release").unwrap();
        assert_eq!((&release["name"], &release["state"]), (&"r".into(), &"renewed".into()), "{shown}");
        assert_eq!(
            (&release["revision"], &release["status"]),
            (&1.into(), &"pending-install".into()),
            "{shown}"
        );
        assert_eq!(release["holder"]["operation"], "apply");
        signal::send(&run, Sent::Kill);
        drop(wait(run));
        let name = format!("{}/r", scene.namespace);
        if verb == "unlock" {
            scene.cluster.statectl(["unlock", &name, "--revision", "2"]).expect(4).complains("is 1, not 2");
            scene.cluster.statectl(["unlock", &name, "--revision", "1"]).expect(0).says("marked failed");
            assert_eq!(scene.helm_status("r"), ("failed".to_owned(), 1));
            scene
                .cluster
                .statectl(["unlock", &name, "--revision", "1"])
                .expect(4)
                .complains("nothing to unlock");
            scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
        } else {
            scene.cluster.statectl(["recover", &path, "--release", &name, "--yes"]).expect(0);
            scene.cluster.statectl(["recover", &path, "--yes"]).expect(0).says("nothing was interrupted");
        }
        assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 2));
    }
}
