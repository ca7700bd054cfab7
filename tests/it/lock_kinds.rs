//! What locks are made of, where that of a context is, and who waits for it.

use std::process::{Child, Stdio};

use serde_json::{Value as Json, json};

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;
use crate::support::signal;
use crate::support::statectl::{command, wait};
use crate::support::stored::Stored;

fn file(scene: &Scene, settings: &str, greeting: &str) -> String {
    let text = format!(
        "[settings]\nleaseDuration = \"5s\"\n{settings}\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\nset = {{ greeting = \"{greeting}\" }}\n"
    );
    scene.write(&text).to_str().unwrap().to_owned()
}

impl Scene {
    fn create(&self, object: &Json) {
        let file = self.folder.path().join("object.json");
        std::fs::write(&file, object.to_string()).unwrap();
        self.cluster.tool("kubectl", &["create", "-n", &self.namespace, "-f", file.to_str().unwrap()]);
    }

    /// The lock of the file, which somebody holds.
    fn held_by_alice(&self) {
        let info = json!({"format": "statectl.lock/v1", "id": "alice", "who": "alice@host", "pid": 8, "operation": "apply"});
        self.create(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": format!("statectl-context.{}", self.namespace),
                "labels": {"statectl.io/lock": "context"},
                "annotations": {"statectl.io/lock-info": info.to_string(), "statectl.io/renew-seq": "1"},
            },
            "spec": {"holderIdentity": "alice", "leaseDurationSeconds": 300},
        }));
    }

    /// A lock of the release that somebody holds.
    fn held(&self, kind: &str) {
        let info = json!({"format": "statectl.lock/v1", "id": "alive", "who": "bob@host", "pid": 9, "operation": "apply"});
        let mut annotations =
            json!({"statectl.io/lock-info": info.to_string(), "statectl.io/renew-seq": "1"});
        let mut object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "spec": {"holderIdentity": "alive", "leaseDurationSeconds": 60},
        });
        if kind == "secret" {
            object = json!({"apiVersion": "v1", "kind": "Secret", "type": "statectl.io/lock"});
            annotations["statectl.io/holder"] = "alive".into();
            annotations["statectl.io/lease-seconds"] = "60".into();
        }
        object["metadata"] = json!({
            "name": "statectl.web", "labels": {"statectl.io/lock": "release"}, "annotations": annotations,
        });
        self.create(&object);
    }
}

#[test]
fn locks_of_two_kinds_notice_each_other() {
    for (before, now, kind) in [("secret", "lease", "Secret"), ("lease", "secret", "Lease")] {
        let scene = Scene::new(&format!("kinds-{now}"));
        let set = |lock: &str, greeting: &str| file(&scene, &format!("lock = \"{lock}\""), greeting);
        scene.cluster.statectl(["apply", &set(before, "a"), "--yes"]).expect(0);
        scene.held(before);
        let path = set(now, "b");
        let plan = scene.cluster.statectl(["plan", &path]).expect(4);
        let told = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let lock = format!("by the {kind} {}/statectl.web", scene.namespace);
        assert!(told.contains("bob@host") && told.contains(&lock), "{told}");
        assert!(told.contains("`settings.lock`"), "{told}");
        let refused = scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
        assert!(refused.stdout.contains("bob@host"), "{}", refused.stdout);
        assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 1));
        // Whoever shows the locks shows both kinds.
        scene.cluster.statectl(["locks", &path]).expect(0).says(&format!("/web ({kind})"));
        // When that run is over, the other kind counts from then on, and nobody looks for the first any more.
        scene.cluster.tool("kubectl", &["delete", before, "statectl.web", "-n", &scene.namespace]);
        scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
        let record = Stored::read(scene.cluster, &scene.namespace, "web", 2);
        assert_eq!(record.label("statectl.io/lock-kind"), if now == "secret" { "secret" } else { "" });
        let proxy = Proxy::start(scene.cluster);
        proxy.cluster().statectl(["apply", &set(now, "c"), "--yes"]).expect(0);
        let part = if now == "lease" { "/secrets/statectl" } else { "/leases" };
        let asked = proxy.seen().into_iter().filter(|seen| seen.uri.contains(part)).count();
        assert_eq!(asked, 0, "{now}");
    }
}

#[test]
fn unlock_finds_out_what_the_lock_is_made_of() {
    for lock in ["lease", "secret"] {
        let scene = Scene::new(&format!("unlock-{lock}"));
        let path = file(&scene, &format!("lock = \"{lock}\""), "a");
        let proxy = Proxy::start(scene.cluster);
        proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(Fault::Hang));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it is in the middle", || proxy.faults() == 1);
        signal::send(&run, signal::Sent::Kill);
        drop(wait(run));
        let other = Proxy::start(scene.cluster);
        let name = format!("{}/web", scene.namespace);
        other.cluster().statectl(["unlock", &name, "--revision", "1"]).expect(0).says("marked failed");
        let used = |part: &str| other.seen().iter().any(|seen| seen.is_write() && seen.uri.contains(part));
        assert_eq!(
            (used("/leases"), used("/secrets/statectl")),
            (lock == "lease", lock == "secret"),
            "{lock}"
        );
    }
}

fn started(scene: &Scene, path: &str, number: u32) -> Child {
    command(["apply", path, "--yes", "--lock-wait", "180s"])
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .env("GITHUB_RUN_ID", number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn of_runs_that_wait_the_newest_stays_where_the_file_says_so() {
    let scene = Scene::new("queue");
    let path = file(&scene, "lockQueue = \"newest\"", "a");
    // Long enough for a busy machine: nobody is to count as dead here.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"5s\"", "\"20s\"")).unwrap();
    // Somebody has the lock until the test takes it away.
    scene.held_by_alice();
    let names = || {
        let arguments = ["get", "leases", "-n", &scene.namespace, "-o", "name"];
        scene.cluster.tool("kubectl", &arguments)
    };
    let first = started(&scene, &path, 11);
    signal::until("a run waits", || names().contains("statectl-queue."));
    let second = started(&scene, &path, 12);
    // The older one ends as soon as it sees the newer one, and long before the lock is free.
    let ended = wait(first).expect(75);
    assert!(ended.stderr.contains("a newer run of this file waits"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was written"), "{}", ended.stderr);
    // One that is older, and comes late, does not stay either.
    let late = wait(started(&scene, &path, 11)).expect(75);
    assert!(late.stderr.contains("a newer run of this file waits"), "{}", late.stderr);
    let lock = format!("statectl-context.{}", scene.namespace);
    scene.cluster.tool("kubectl", &["delete", "lease", &lock, "-n", &scene.namespace]);
    drop(wait(second).expect(0));
    assert_eq!(names(), "", "nothing is left");
    assert_eq!(scene.helm_status("web").0, "deployed");
}

#[test]
fn the_lock_of_a_context_stays_where_it_was_when_namespaces_come_and_goes_on_when_they_go() {
    let scene = Scene::new("place");
    let first = scene.namespace.clone();
    let earlier = format!("a-{first}");
    scene.cluster.tool("kubectl", &["create", "namespace", &earlier]);
    let app = |name: &str, namespace: &str, greeting: &str| {
        format!(
            "[apps.{name}]\nenabled = true\nnamespace = \"{namespace}\"\nchart = \"CHARTS/web\"\nset = {{ greeting = \"{greeting}\" }}\n"
        )
    };
    let write = |apps: &str| {
        let text = format!("[namespaces.a-NS]\n[settings]\nleaseDuration = \"5s\"\n{apps}");
        scene.write(&text).to_str().unwrap().to_owned()
    };
    let proxy = Proxy::start(scene.cluster);
    // Where the lock of the context was given back.
    let places = |path: &str, code: i32| -> Vec<String> {
        proxy.clear();
        drop(proxy.cluster().statectl(["apply", path, "--yes"]).expect(code));
        let locks = proxy
            .seen()
            .into_iter()
            .filter(|seen| seen.method == "DELETE" && seen.uri.contains("/leases/statectl-context."));
        let place =
            |uri: String| uri.split("/namespaces/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        locks.map(|seen| place(seen.uri)).collect()
    };
    let one = write(&app("one", "NS", "a"));
    assert_eq!(places(&one, 0), [first.as_str()]);
    // A namespace that comes first by name changes nothing: an older version of the file looks in the same place.
    let both = write(&(app("one", "NS", "a") + &app("two", "a-NS", "a")));
    assert_eq!(places(&both, 0), [first.as_str()]);
    let both = write(&(app("one", "NS", "b") + &app("two", "a-NS", "b")));
    assert_eq!(places(&both, 0), [first.as_str()]);
    let shown = scene.cluster.statectl(["locks", &both, "-o", "json"]).expect(0).json();
    assert_eq!(shown["locks"], json!([]));
    // Its namespace goes: the lock is kept where there is one.
    scene.cluster.tool("kubectl", &["delete", "namespace", &first]);
    let rest = write(&app("two", "a-NS", "c"));
    let rest = rest.as_str();
    assert_eq!(places(rest, 0), [earlier]);
}
