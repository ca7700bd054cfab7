//! Locks on the real API server: who waits for whom, what a run costs, and what a runner does that comes too late.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;

/// A file whose locks end after five seconds.
fn file(scene: &Scene, settings: &str, apps: &str) -> String {
    let text = format!("[settings]\nleaseDuration = \"5s\"\n{settings}\n{apps}");
    scene.write(&text).to_str().unwrap().to_owned()
}

fn app(name: &str, greeting: &str) -> String {
    format!(
        "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\nset = {{ greeting = \"{greeting}\" }}\n"
    )
}

fn is_lock(uri: &str) -> bool {
    uri.contains("/leases") || uri.contains("/secrets/statectl")
}

impl Scene {
    fn leases(&self) -> Vec<String> {
        let arguments = ["get", "leases", "-n", &self.namespace, "-o", "name"];
        self.cluster.tool("kubectl", &arguments).lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_lock_costs_two_requests_and_a_plan_none() {
    let scene = Scene::new("lock-cost");
    let path = file(&scene, "", &(app("one", "a") + &app("two", "b")));
    // So long that no renewal is due.
    let text = std::fs::read_to_string(&path).unwrap().replace("\"5s\"", "\"60s\"");
    std::fs::write(&path, text).unwrap();
    let proxy = Proxy::start(scene.cluster);
    let locks = |proxy: &Proxy| proxy.seen().iter().filter(|seen| is_lock(&seen.uri)).count();
    proxy.cluster().statectl(["plan", &path]).expect(0);
    assert_eq!(locks(&proxy), 0, "a plan takes no lock");
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    // Two for the run and two for each of two releases.
    assert_eq!(locks(&proxy), 6, "{:#?}", proxy.seen());
    assert_eq!(scene.leases(), [""; 0], "nothing is left");
    proxy.clear();
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    assert_eq!(locks(&proxy), 1, "where nothing is to be done, a dead run may have left its lock");
    proxy.clear();
    let text = std::fs::read_to_string(&path).unwrap().replace("greeting = \"b\"", "greeting = \"c\"");
    std::fs::write(&path, text).unwrap();
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    assert_eq!(locks(&proxy), 4, "a release that is not touched is not locked");
    // Every write carries a deadline for the server.
    let late = proxy.seen().into_iter().filter(|seen| seen.is_write() && !seen.uri.contains("timeout="));
    assert_eq!(late.count(), 0);
}

#[test]
fn the_second_of_two_runs_waits_and_finds_nothing_to_do() {
    for lock in ["lease", "secret"] {
        let scene = Scene::new(&format!("lock-two-{lock}"));
        let path = file(&scene, &format!("lock = \"{lock}\""), &app("web", "a"));
        let runs: Vec<_> =
            (0..2).map(|_| scene.cluster.start_statectl(["apply", &path, "--yes", "-o", "json"])).collect();
        let mut states: Vec<Json> =
            runs.into_iter().map(|run| wait(run).expect(0).json()["releases"][0]["state"].clone()).collect();
        states.sort_by_key(ToString::to_string);
        assert_eq!(states, ["deployed", "unchanged"], "{lock}");
        assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 1), "{lock}");
        let arguments = ["get", "secrets", "-n", &scene.namespace, "-o", "name"];
        let secrets = scene.cluster.tool("kubectl", &arguments);
        assert!(!secrets.contains("statectl") && scene.leases().is_empty(), "{lock}: {secrets}");
    }
}

#[test]
fn a_run_that_does_not_wait_ends_with_75_and_names_the_holder() {
    let scene = Scene::new("lock-75");
    let path = file(&scene, "", &app("web", "a"));
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("POST", "/secrets").times(1).fault(Fault::Delay(Duration::from_secs(3))));
    let first = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    signal::until("the first run has its lock", || !scene.leases().is_empty());
    let second = scene.cluster.statectl(["apply", &path, "--yes", "--lock-wait", "0"]).expect(75);
    second.complains("locked by").complains("pid").complains("apply").complains("--lock-wait");
    scene.cluster.statectl(["plan", &path]).expect(0);
    drop(wait(first));
}

#[test]
fn a_dead_holder_is_waited_for_once_and_a_frozen_one_writes_nothing_when_it_wakes_up() {
    let scene = Scene::new("lock-frozen");
    let path = file(&scene, "", &app("web", "a"));
    let proxy = Proxy::start(scene.cluster);
    // It freezes with its locks taken, at its first write.
    proxy.rule(Rule::on("POST", "/secrets").times(1).fault(Fault::Hang));
    let frozen = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    signal::until("it is in the middle", || proxy.faults() == 1);
    signal::send(&frozen, Sent::Stop);
    let began = Instant::now();
    scene.cluster.statectl(["apply", &path, "--yes", "--lock-wait", "30s"]).expect(0);
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(5), "{waited:?}");
    assert!(waited < Duration::from_secs(10), "both locks were watched at once: {waited:?}");
    let before = proxy.writes().len();
    signal::send(&frozen, Sent::Continue);
    let woken = wait(frozen).expect(1);
    assert!(
        woken.stdout.contains("lock") && woken.stdout.contains("lost"),
        "{}{}",
        woken.stdout,
        woken.stderr
    );
    assert_eq!(proxy.writes().len(), before, "{:#?}", proxy.writes());
}

#[test]
fn a_lock_that_was_removed_or_taken_ends_the_run() {
    for how in ["removed", "taken"] {
        let scene = Scene::new(&format!("lock-{how}"));
        let path = file(&scene, "", &app("web", "a"));
        let proxy = Proxy::start(scene.cluster);
        let slow = Fault::Delay(Duration::from_secs(3));
        proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(slow));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it is in the middle", || proxy.faults() == 1);
        let lease = ["lease", "statectl.web", "-n", &scene.namespace];
        if how == "removed" {
            scene.cluster.tool("kubectl", &[&["delete"], &lease[..]].concat());
        } else {
            let patch = ["--type=merge", "-p", "{\"spec\":{\"holderIdentity\":\"somebody\"}}"];
            scene.cluster.tool("kubectl", &[&["patch"], &lease[..], &patch].concat());
        }
        let end = wait(run).expect(1);
        assert!(end.stdout.contains("lost"), "{how}: {}{}", end.stdout, end.stderr);
        assert!(scene.cluster.get(&scene.namespace, "deployment", "web").is_none(), "{how}");
        // A lock that was removed is not made anew, and one that was taken is not given back.
        assert_eq!(scene.leases().len(), usize::from(how == "taken"), "{how}");
    }
}

#[test]
fn a_renewal_whose_answer_is_lost_is_not_the_end() {
    let scene = Scene::new("lock-renewal");
    let path = file(&scene, "", &app("web", "a"));
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("PUT", "/leases").times(3).fault(Fault::DropReply));
    proxy.rule(
        Rule::on("PATCH", "/configmaps")
            .unless("dryRun")
            .times(1)
            .fault(Fault::Delay(Duration::from_millis(600))),
    );
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    assert!(proxy.faults() > 1, "{:#?}", proxy.seen());
    assert_eq!(scene.leases(), [""; 0]);
}

#[test]
fn a_user_without_leases_is_told_which_rights_are_missing_and_may_use_secrets() {
    let scene = Scene::new("lock-rights");
    let path = file(&scene, "", &app("web", "a"));
    let rules = [
        ("", "secrets,configmaps,services,serviceaccounts,pods", "*"),
        ("apps", "deployments,replicasets", "*"),
    ];
    let (namespace, folder) = (&scene.namespace, scene.folder.path());
    let user = scene.cluster.as_user_with(namespace, "tenant", folder, &rules);
    let refused = user.statectl(["apply", &path, "--yes"]).expect(4);
    refused.complains("create, get, update leases.coordination.k8s.io").complains("lock = \"secret\"");
    assert!(scene.cluster.get(&scene.namespace, "configmap", "web-config").is_none());
    let path = file(&scene, "lock = \"secret\"", &app("web", "a"));
    user.statectl(["apply", &path, "--yes"]).expect(0);
    let path = file(&scene, "lock = \"none\"", &app("web", "b"));
    user.statectl(["apply", &path, "--yes"]).expect(0).complains("nothing keeps other runs");
}

#[test]
fn a_run_that_is_killed_before_its_first_write_is_followed_by_the_next_one() {
    for (test, part, fault, locks) in [
        // It has both locks, and nothing else.
        ("written", "/secrets", Fault::Hang, 2),
        // It has one, and does not know it.
        ("unknown", "/leases", Fault::HangReply, 1),
    ] {
        let scene = Scene::new(&format!("lock-killed-{test}"));
        let path = file(&scene, "", &app("web", "a"));
        let proxy = Proxy::start(scene.cluster);
        proxy.rule(Rule::on("POST", part).times(1).fault(fault));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it has its locks", || proxy.faults() == 1 && scene.leases().len() == locks);
        signal::send(&run, Sent::Kill);
        drop(wait(run));
        let began = Instant::now();
        scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
        assert!((4..10).contains(&began.elapsed().as_secs()), "{test}: {:?}", began.elapsed());
        assert_eq!(scene.leases(), [""; 0], "{test}");
    }
}

#[test]
fn a_signal_gives_the_locks_back() {
    for (sent, code) in [(Sent::Terminate, 143), (Sent::Interrupt, 130), (Sent::Hangup, 129)] {
        let scene = Scene::new(&format!("lock-{code}"));
        let path = file(&scene, "", &app("web", "a"));
        let proxy = Proxy::start(scene.cluster);
        let slow = Fault::Delay(Duration::from_secs(1));
        proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(slow));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it is in the middle", || proxy.faults() == 1);
        signal::send(&run, sent);
        let began = Instant::now();
        drop(wait(run).expect(code));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_eq!(scene.leases(), [""; 0], "{code}");
        assert_eq!(scene.helm_status("web").0, "failed", "{code}");
    }
}
