//! Waits follow what happens by watches: what these cost, and what becomes of a wait when they fail. On the real API
//! server, with a proxy in front that makes them fail.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::say;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::wait;

/// An object whose readiness a test decides: a rule of the file asks for a label.
const GATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}, labels: { n: {{ .Values.n | quote }} } }\n";
const RULE: &str =
    "ready = [{ kind = \"ConfigMap\", current = \"metadata.annotations['test/open'] == 'yes'\" }]\n";

fn app(name: &str, rest: &str) -> String {
    format!(
        "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = true\ntimeout = \"90s\"\n{rest}\n"
    )
}

fn gate(test: &str) -> Scene {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &[("templates/a.yaml", GATE), ("values.yaml", "n: 1\n")]);
    scene
}

impl Scene {
    /// Waits for an object, and makes it ready a while later.
    fn open(&self, name: &str, later: Duration) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.cluster.get(&self.namespace, "configmap", name).is_none() {
            assert!(Instant::now() < deadline, "{name} never came");
            std::thread::sleep(Duration::from_millis(100));
        }
        std::thread::sleep(later);
        let place = ["annotate", "configmap", name, "-n", &self.namespace, "--overwrite", "test/open=yes"];
        self.cluster.tool("kubectl", &place);
    }
}

fn watches(proxy: &Proxy) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for seen in proxy.seen().iter().filter(|seen| seen.uri.contains("watch=true")) {
        *counts.entry(seen.uri.split('?').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn a_wait_ends_well_whatever_becomes_of_its_watch() {
    let scene = gate("watch-faults");
    let proxy = Proxy::start(scene.cluster);
    let gone = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n";
    let forbidden = || Fault::status(403, "Forbidden", "configmaps is forbidden: cannot watch");
    let complaint = "ConfigMap objects cannot be watched, so they are looked at every second";
    for (name, part, unless, fault, said) in [
        ("cut", "watch=true", "", Fault::CutWatch(Duration::from_millis(50)), ""),
        ("drop", "watch=true", "", Fault::Drop, ""),
        ("gone", "watch=true", "", Fault::status(410, "Expired", "too old resource version"), ""),
        ("told-gone", "watch=true", "", Fault::answer(200, gone), ""),
        ("silent", "watch=true", "", Fault::SilentWatch, ""),
        ("busy", "watch=true", "", Fault::answer(503, "service unavailable"), ""),
        ("slow", "/configmaps", "dryRun", Fault::Delay(Duration::from_millis(1500)), ""),
        ("not-watched", "watch=true", "", forbidden(), complaint),
        ("not-listed", "/configmaps?", "", forbidden(), complaint),
    ] {
        proxy.clear();
        let rule = Rule::on("GET", part);
        proxy.rule(if unless.is_empty() { rule.fault(fault) } else { rule.unless("dryRun").fault(fault) });
        let file = scene.write(&app(name, RULE));
        let arguments = ["apply", file.to_str().unwrap(), "--yes", "--target", name];
        let running = proxy.cluster().start_statectl(arguments);
        scene.open(name, if name == "slow" { Duration::from_secs(4) } else { Duration::from_millis(1500) });
        let opened = Instant::now();
        let output = wait(running).expect(0);
        assert!(output.stderr.contains("waits for metadata.annotations"), "{name}: {}", output.stderr);
        assert_eq!(output.stderr.matches(complaint).count(), usize::from(!said.is_empty()), "{name}");
        say(&format!("{name}: ended {:?} after the object was ready", opened.elapsed()));
        assert!(proxy.faults() > 0, "{name}");
    }
}

#[test]
fn each_kind_and_namespace_is_watched_once() {
    let scene = gate("watch-once");
    let proxy = Proxy::start(scene.cluster);
    let names = ["a", "b", "c", "d", "e", "f"];
    let apps: String =
        names.iter().map(|name| app(name, &format!("priority = {}\n{RULE}", name.len()))).collect();
    let late = "needs = [\"NS/a\", \"NS/b\"]\n";
    let file = scene.write(&format!("{apps}{}", app("late", &format!("priority = 2\n{late}{RULE}"))));
    let running = proxy.cluster().start_statectl(["apply", file.to_str().unwrap(), "--yes"]);
    for name in names.iter().chain(&["late"]) {
        scene.open(name, Duration::from_millis(300));
    }
    wait(running).expect(0);
    let path = format!("/api/v1/namespaces/{}/configmaps", scene.namespace);
    assert_eq!(watches(&proxy), BTreeMap::from([(path, 1)]));
    // What is ready at once is not watched.
    proxy.clear();
    let plain = scene.write(&app("plain", ""));
    proxy.cluster().statectl(["apply", plain.to_str().unwrap(), "--yes", "--target", "plain"]).expect(0);
    assert_eq!(watches(&proxy), BTreeMap::new());
}

/// By the clock of the server: from the end of the write that makes an object ready to statectl's next question, which
/// the watch is the cause of.
#[test]
fn readiness_is_noticed_at_once() {
    let scene = gate("watch-latency");
    let account = scene.cluster.as_account(&scene.namespace, "deployer", scene.folder.path());
    let mut times = Vec::new();
    for round in 0..5 {
        let name = format!("r{round}");
        let file = scene.write(&app(&name, RULE));
        let mark = scene.cluster.audit_mark();
        let running = account.start_statectl(["apply", file.to_str().unwrap(), "--yes", "--target", &name]);
        scene.open(&name, Duration::from_millis(1500 + 130 * round));
        wait(running).expect(0);
        std::thread::sleep(Duration::from_millis(200));
        let path = format!("/namespaces/{}/configmaps/{name}", scene.namespace);
        let requests = scene.cluster.requests_since(mark);
        let about = |entry: &&Json| entry["requestURI"].as_str().is_some_and(|uri| uri.contains(&path));
        let user = |entry: &Json| entry["user"]["username"].as_str().unwrap_or_default().to_owned();
        let time = |entry: &Json, key: &str| entry[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let opened = requests
            .iter()
            .filter(about)
            .filter(|entry| entry["verb"] == "patch" && !user(entry).contains("deployer"))
            .map(|entry| time(entry, "stageTimestamp"))
            .max()
            .expect("the object was made ready");
        let noticed = requests
            .iter()
            .filter(about)
            .filter(|entry| entry["verb"] == "get" && user(entry).contains("deployer"))
            .map(|entry| time(entry, "requestReceivedTimestamp"))
            .filter(|at| *at > opened)
            .min()
            .expect("statectl asks");
        times.push(noticed.as_millisecond() - opened.as_millisecond());
    }
    times.sort_unstable();
    say(&format!("from ready to noticed, ms: {times:?}"));
    assert!(times[2] < 1000, "half of them are noticed within a second: {times:?}");
}

const PENDING: &str = r#"
{{- range $kind := list "Deployment" "StatefulSet" "DaemonSet" }}
---
apiVersion: apps/v1
kind: {{ $kind }}
metadata: { name: x }
spec:
  selector: { matchLabels: { app: {{ $kind }} } }
  template:
    metadata: { labels: { app: {{ $kind }} }, annotations: { statectl.io/test-pod: never-ready } }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
{{- end }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: x }
spec: { accessModes: [ReadWriteOnce], storageClassName: nobody, resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: Service
metadata: { name: x }
spec: { type: LoadBalancer, ports: [{ port: 80 }], selector: { app: x } }
---
apiVersion: batch/v1
kind: Job
metadata: { name: x }
spec:
  template:
    metadata: { annotations: { statectl.io/test-pod: never-ready } }
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;

#[test]
fn a_thousand_cut_watches_leave_nothing_behind() {
    let scene = Scene::new("watch-memory");
    chart(scene.folder.path(), &[("templates/a.yaml", PENDING)]);
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("GET", "watch=true").fault(Fault::CutWatch(Duration::from_millis(1))));
    let file = scene.write(&app("r", "").replace("90s", "600s"));
    let mut running = proxy.cluster().start_statectl(["apply", file.to_str().unwrap(), "--yes"]);
    let memory_after = |cuts: usize| {
        let deadline = Instant::now() + Duration::from_secs(150);
        while proxy.faults() < cuts {
            assert!(Instant::now() < deadline, "{} cuts only", proxy.faults());
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let (few, many) = (memory_after(100), memory_after(1000));
    let watched = watches(&proxy);
    let kinds = watched.len();
    running.kill().unwrap();
    running.wait().unwrap();
    say(&format!("anonymous memory after 100 cut watches {few} kB, after 1000 {many} kB, of {kinds} kinds"));
    // What is ready at the first look is not watched.
    assert!((6..=8).contains(&kinds), "{watched:?}");
    assert!(many < few + 2_000, "{few} kB, then {many} kB");
}
