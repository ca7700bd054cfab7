//! `reconcile`: the run of a schedule, over and over, whatever happens in between.

use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::support::audit;
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::{Scene, chart};
use crate::support::signal::{self, Sent};
use crate::support::statectl::{Output, wait};

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-a }\n\
                        data: { a: {{ .Values.a | quote }}, b: fixed }\n---\n\
                        apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-b }\n\
                        {{- if .Values.bad }}\ndata: [no, map]\n{{- end }}\n";

fn state(value: &str, more: &str) -> String {
    let app = |name: &str, more: &str| {
        format!(
            "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\nset = {{ a = \"{value}\"{more} }}\n"
        )
    };
    format!("[settings]\nleaseDuration = \"2s\"\n{}{}", app("web", more), app("db", ""))
}

fn scene(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATE), ("values.yaml", "a: x\nbad: false\n")]);
    let file = scene.write(&state("one", "")).to_str().unwrap().to_owned();
    (scene, file)
}

/// The value of a metric, by the beginning of its line.
fn metric(text: &str, name: &str, labels: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    lines.find(|line| line.contains(labels)).map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

/// Every line is a comment or `name{labels} number`, and each metric has its help and type first, once.
fn well_formed(text: &str) {
    let mut current = String::new();
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            current = rest.split(' ').next().unwrap().to_owned();
            assert!(seen.insert(current.clone()), "{current} twice:\n{text}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest, format!("{current} gauge"));
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            let (_, value) = rest.rsplit_once("} ").unwrap();
            assert_eq!(name, current);
            value.parse::<f64>().unwrap();
        }
    }
    assert!(text.ends_with('\n'));
}

/// Twenty runs in a row with injected drift, failures, kills and rivals: each tells the truth in its metrics, no two write
/// at once, and in the end everything is as desired.
#[test]
fn twenty_runs_converge_whatever_happens_in_between() {
    let (scene, file) = scene("reconciled");
    let (cluster, space, folder) = (scene.cluster, scene.namespace.as_str(), scene.folder.path());
    let prom = folder.join("statectl.prom");
    let mark = cluster.audit_mark();
    let run = |number: usize, more: &[&str]| -> Output {
        let user = cluster.as_user(&format!("{space}-{number}"), folder);
        let arguments = ["reconcile", &file, "--retry", "--metrics-file", prom.to_str().unwrap()];
        user.statectl(arguments.iter().chain(more))
    };
    let metrics = || std::fs::read_to_string(&prom).unwrap();
    let labels = |release: &str| format!("release=\"{release}\"");
    let map = |name: &str| cluster.get(space, "configmap", name);
    let mut last_success = 0.0;
    for number in 0..20 {
        match number % 5 {
            // Something was deleted, and something changed, by hand.
            0 if number > 0 => {
                cluster.tool("kubectl", &["delete", "configmap", "web-a", "-n", space]);
                let patch = "{\"data\":{\"b\":\"mine\"}}";
                cluster.tool("kubectl", &["patch", "configmap", "db-a", "-n", space, "-p", patch]);
                run(number, &["--only", "drift"]).expect(0);
                let text = metrics();
                assert_eq!(metric(&text, "statectl_release_drift", &labels("web")), Some(1.0), "{text}");
                assert_eq!(metric(&text, "statectl_release_drift", &labels("db")), Some(1.0), "{text}");
                assert_eq!(map("db-a").unwrap()["data"]["b"], "fixed");
            }
            0 => drop(run(number, &[]).expect(0)),
            // A new state, whose run is killed at one of its writes; the next one goes on.
            1 => {
                scene.write(&state(&format!("v{number}"), ""));
                let user = cluster.as_user(&format!("{space}-{number}"), folder);
                let proxy = Proxy::with_credentials(cluster, user.kubeconfig());
                let fault = if number % 2 == 0 { Fault::Hang } else { Fault::HangReply };
                proxy.rule(Rule::write(3 + number / 2).fault(fault));
                let mut child = proxy.cluster().start_statectl(["reconcile", &file]);
                while proxy.hung() == 0 && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                assert!(child.try_wait().unwrap().is_none(), "it was at work when it was killed");
                signal::send(&child, Sent::Kill);
                assert_eq!(wait(child).code, -1);
            }
            2 => {
                run(number, &[]).expect(0);
                assert_eq!(map("web-a").unwrap()["data"]["a"], format!("v{}", number - 1));
            }
            // One release cannot be rendered to something that the server takes; the other one goes on.
            3 => {
                scene.write(&state(&format!("v{number}"), ", bad = true"));
                run(number, &[]).expect(4);
                let text = metrics();
                assert_eq!(metric(&text, "statectl_run_success", ""), Some(0.0), "{text}");
                assert_eq!(metric(&text, "statectl_run_exit_code", ""), Some(4.0), "{text}");
                assert_eq!(metric(&text, "statectl_release_ok", &labels("web")), Some(0.0), "{text}");
                assert_eq!(metric(&text, "statectl_release_ok", &labels("db")), Some(1.0), "{text}");
                let kept = metric(&text, "statectl_last_success_timestamp_seconds", "");
                assert_eq!(kept, Some(last_success), "{text}");
            }
            // It is mended, and two runs meet: one does the work, the other one waits or leaves it.
            _ => {
                scene.write(&state(&format!("v{number}"), ""));
                std::thread::scope(|scope| {
                    let rivals = ["a", "b"].map(|rival| {
                        let user = cluster.as_user(&format!("{space}-{number}-{rival}"), folder);
                        let file = file.as_str();
                        scope.spawn(move || user.statectl(["reconcile", file, "--lock-wait", "30s"]))
                    });
                    for rival in rivals {
                        rival.join().unwrap().expect(0);
                    }
                });
                run(number, &[]).expect(0).says("no changes");
            }
        }
        if number % 5 != 1 {
            let text = metrics();
            well_formed(&text);
            if let Some(at) = metric(&text, "statectl_last_success_timestamp_seconds", "") {
                last_success = at;
            }
        }
    }
    cluster.statectl(["plan", &file, "--detailed-exit-code"]).expect(0).says("no changes");
    let writes = audit::writes(cluster, mark, space, space);
    // Records are cleaned up after ten revisions; nothing else may be wrong.
    let wrong: Vec<String> = audit::violations(&writes)
        .into_iter()
        .filter(|text| !text.starts_with("a record was removed"))
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_policy_holds_what_goes_beyond_it_and_nothing_else() {
    let (scene, file) = scene("policy");
    let cluster = scene.cluster;
    cluster.statectl(["reconcile", &file, "--only", "drift"]).expect(5).says("held by `--only drift`");
    assert!(cluster.get(&scene.namespace, "configmap", "web-a").is_none());
    cluster.statectl(["reconcile", &file, "--only", "safe"]).expect(0);
    // A change is safe, a removal is not; the other release goes on.
    let without = TEMPLATE.split("---\n").next().unwrap();
    let other = scene.folder.path().join("other");
    std::fs::create_dir_all(other.join("templates")).unwrap();
    std::fs::write(other.join("templates/a.yaml"), without).unwrap();
    std::fs::write(other.join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    let text = state("two", "").replacen("chart = \"chart\"", "chart = \"other\"", 1);
    scene.write(&text);
    cluster
        .statectl(["reconcile", &file, "--only", "safe"])
        .expect(5)
        .says("held by `--only safe`: ConfigMap")
        .says("would be deleted");
    let value = |name: &str| cluster.get(&scene.namespace, "configmap", name).unwrap()["data"]["a"].clone();
    assert_eq!((value("web-a"), value("db-a")), ("one".into(), "two".into()));
    cluster.statectl(["reconcile", &file]).expect(0);
    assert_eq!(value("web-a"), "two");
    assert!(cluster.get(&scene.namespace, "configmap", "web-b").is_none());
    // A release that left the file is removed by `all` only.
    let only_db = text.split("[apps.web]").next().unwrap().to_owned()
        + "[apps.db]"
        + text.split("[apps.db]").nth(1).unwrap();
    scene.write(&only_db);
    cluster.statectl(["reconcile", &file, "--only", "safe"]).expect(5).says("it would be uninstalled");
    assert!(cluster.get(&scene.namespace, "configmap", "web-a").is_some());
    cluster.statectl(["reconcile", &file]).expect(0);
    assert!(cluster.get(&scene.namespace, "configmap", "web-a").is_none());
}

/// The same input that failed is not tried again at once: no new revision, however often the schedule comes.
#[test]
fn after_a_failure_it_waits_before_it_tries_the_same_again() {
    let scene = Scene::new("backs-off");
    // A pod that fails at once, however busy the machine is.
    let hook = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: check\n  annotations: { helm.sh/hook: \
                \"pre-install,pre-upgrade\", statectl.io/test-pod: fail }\n\
                spec: { restartPolicy: Never, containers: [{ name: a, image: a }] }\n";
    chart(
        scene.folder.path(),
        &[
            ("templates/a.yaml", TEMPLATE),
            ("templates/hook.yaml", hook),
            ("values.yaml", "a: x\nbad: false\n"),
        ],
    );
    let apps = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\nset = { a = \"one\" }\n";
    let file = scene.write(apps).to_str().unwrap().to_owned();
    let run = |more: &[&str]| scene.cluster.statectl(["reconcile", &file].iter().chain(more));
    drop(run(&[]).expect(1));
    let (status, revision) = scene.helm_status("web");
    assert_eq!(status, "failed");
    for _ in 0..2 {
        drop(run(&[]).expect(5).says("held until").says("1 failure with the same input"));
    }
    assert_eq!(scene.helm_status("web").1, revision, "no revision was written meanwhile");
    drop(run(&["--retry"]).expect(1));
    assert_eq!(scene.helm_status("web").1, revision + 1);
    // Another input is tried at once.
    scene.write(&apps.replace("one", "two"));
    drop(run(&[]).expect(1));
    // `apply` by a person knows no wait.
    scene.cluster.statectl(["apply", &file, "--yes"]).expect(1);
}

/// A gateway of the test: takes one request and answers it.
fn gateway(status: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/metrics/job/statectl", listener.local_addr().unwrap());
    let taken = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            text.extend_from_slice(&buffer[..read]);
            let shown = String::from_utf8_lossy(&text).into_owned();
            let length = shown.lines().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")
                    .and_then(|length| length.parse::<usize>().ok())
            });
            if let (Some(length), Some(at)) = (length, shown.find("\r\n\r\n"))
                && text.len() >= at + 4 + length
            {
                break;
            }
        }
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        String::from_utf8(text).unwrap()
    });
    (address, taken)
}

#[test]
fn a_gateway_gets_the_metrics_and_its_silence_changes_nothing() {
    let (scene, file) = scene("pushed");
    let (address, taken) = gateway("202 Accepted");
    scene.cluster.statectl(["reconcile", &file, "--metrics-push", &address]).expect(0);
    let request = taken.join().unwrap();
    assert!(request.starts_with("POST /metrics/job/statectl HTTP/1.1\r\n"), "{request}");
    let body = request.split("\r\n\r\n").nth(1).unwrap();
    well_formed(body);
    assert_eq!(metric(body, "statectl_releases", "action=\"install\""), Some(2.0), "{body}");
    let (address, taken) = gateway("500 Internal Server Error");
    scene
        .cluster
        .statectl(["reconcile", &file, "--metrics-push", &address])
        .expect(0)
        .complains("the metrics were not sent: the gateway answers 500");
    taken.join().unwrap();
    // A run that fails before it knows anything tells that, too.
    let prom = scene.folder.path().join("m.prom");
    let arguments =
        ["reconcile", &file, "--kube-context", "nowhere", "--metrics-file", prom.to_str().unwrap()];
    scene.cluster.statectl(arguments).expect(1);
    let text = std::fs::read_to_string(Path::new(&prom)).unwrap();
    well_formed(&text);
    assert_eq!(metric(&text, "statectl_run_success", ""), Some(0.0), "{text}");
}

#[test]
fn a_run_that_meets_another_one_leaves_the_work_to_it() {
    let (scene, file) = scene("meets");
    scene.cluster.statectl(["reconcile", &file]).expect(0);
    scene.write(&state("two", ""));
    // The first one stands still with its lock.
    let user = scene.cluster.as_user(&format!("{}-first", scene.namespace), scene.folder.path());
    let proxy = Proxy::with_credentials(scene.cluster, user.kubeconfig());
    proxy.rule(Rule::write(4).fault(Fault::Delay(std::time::Duration::from_secs(8))));
    let first = proxy.cluster().start_statectl(["reconcile", &file]);
    while proxy.faults() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = ["reconcile", &file, "--lock-wait", "0"];
    scene.cluster.statectl(second).expect(0).complains("another run is at work");
    scene.cluster.statectl(second.iter().chain(&["--fail-if-locked"])).expect(75);
    wait(first).expect(0);
}
