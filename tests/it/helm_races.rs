//! Real helm 3 and 4 beside statectl: at the same time in both directions, and killed at each of its writes.
//!
//! What must hold: a record that helm wrote is never overwritten by a run that had not read it, and whatever helm leaves is
//! finished by plain `apply`.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use crate::kill::{End, forget_definition, identities, items, look, records, scene, write};
use crate::support::cluster::Cluster;
use crate::support::points::{self, Point};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::say;
use crate::support::scene::Scene;
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;

const HELMS: [&str; 2] = ["helm3", "helm4"];
const ONE: &str = "set = { a = \"one\" }";
const TWO: &str = "set = { a = \"two\" }";

/// Starts helm on the release of a scene; `a` is what it sets.
fn helm(scene: &Scene, cluster: &Cluster, name: &str, arguments: &[&str]) -> Child {
    let chart = scene.folder.path().join("chart");
    let arguments = arguments.iter().map(|argument| argument.replace("CHART", chart.to_str().unwrap()));
    Command::new(scene.cluster.tool_path(name))
        .args(arguments)
        .args(["-n", &scene.namespace])
        .env_clear()
        .env("HOME", scene.folder.path())
        .env("KUBECONFIG", cluster.kubeconfig())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("helm starts")
}

/// Writes the file; what helm leaves is taken up after a second.
fn file(scene: &Scene, rest: &str) -> String {
    let path = write(scene, rest);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("[settings]\n", "[settings]\nforeignPendingAfter = \"1s\"\n");
    std::fs::write(&path, text).unwrap();
    path
}

fn apply(scene: &Scene, rest: &str) {
    scene.cluster.statectl(["apply", &write(scene, rest), "--yes"]).expect(0);
}

/// Applies what the scenes want at the end, and fails the test if it is not there then.
#[track_caller]
fn converges(scene: &Scene, path: &str, before: &[String]) {
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let mut wrong = Vec::new();
    look(scene, End::Desired, before, &mut wrong);
    assert_eq!(wrong, [""; 0]);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
    forget_definition(scene);
}

/// Returns the revisions and their states.
fn states(scene: &Scene) -> Vec<(u64, String)> {
    let items = items(scene, "secrets");
    records(&items).into_iter().map(|(revision, state)| (revision, state.to_owned())).collect()
}

/// What helm does when it is killed.
struct Operation {
    name: &'static str,
    /// What is applied before.
    before: &'static [&'static str],
    arguments: &'static [&'static str],
    /// What is applied afterwards.
    app: &'static str,
    end: End,
}

const OPERATIONS: [Operation; 5] = [
    Operation {
        name: "install",
        before: &[],
        arguments: &["install", "r", "CHART", "--set", "a=two"],
        app: "set = { a = \"two\" }\nadopt = \"unowned\"",
        end: End::Desired,
    },
    Operation {
        name: "upgrade",
        before: &[ONE],
        arguments: &["upgrade", "r", "CHART", "--set", "a=two"],
        app: TWO,
        end: End::Desired,
    },
    Operation {
        name: "rollback",
        before: &[ONE, TWO],
        arguments: &["rollback", "r", "1"],
        app: TWO,
        end: End::Desired,
    },
    Operation {
        name: "uninstall",
        before: &[ONE],
        arguments: &["uninstall", "r"],
        app: TWO,
        end: End::Desired,
    },
    Operation { name: "leave", before: &[ONE], arguments: &["uninstall", "r"], app: "GONE", end: End::Gone },
];

impl Operation {
    /// Makes what is there before, and starts helm through a proxy.
    fn start(&self, scene: &Scene, name: &str, rule: Option<Rule>) -> (Proxy, Child) {
        for before in self.before {
            apply(scene, before);
        }
        let proxy = Proxy::start(scene.cluster);
        if let Some(rule) = rule {
            proxy.rule(rule);
        }
        let child = helm(scene, proxy.cluster(), name, self.arguments);
        (proxy, child)
    }

    fn killed(&self, name: &str, point: &Point) -> Result<(), String> {
        let scene = scene(&format!("helm-{}", point.label()));
        let (proxy, child) = self.start(&scene, name, Some(point.rule()));
        let before = if self.arguments[0] == "uninstall" { Vec::new() } else { identities(&scene) };
        points::kill(&proxy, child)?;
        // As old as what helm left has to be.
        std::thread::sleep(Duration::from_millis(2100));
        let path = file(&scene, self.app);
        let next = scene.cluster.statectl(["apply", &path, "--yes"]);
        let mut wrong = Vec::new();
        if next.code != 0 {
            wrong.push(format!("exit code {}: {}{}", next.code, next.stdout, next.stderr));
        }
        look(&scene, self.end, &before, &mut wrong);
        let plan = scene.cluster.statectl(["plan", &path, "--detailed-exit-code"]);
        if plan.code != 0 {
            wrong.push(format!("something is left to do: {}{}", plan.stdout, plan.stderr));
        }
        forget_definition(&scene);
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

/// A sample; all points with `scripts/kill-matrix`.
#[test]
fn a_helm_that_is_killed_at_any_write_is_recovered_from() {
    let pairs = || HELMS.iter().flat_map(|helm| OPERATIONS.iter().map(move |operation| (*helm, operation)));
    let lists: Vec<Vec<String>> = std::thread::scope(|scope| {
        let writes = |(name, operation): (&'static str, &'static Operation)| {
            let scene = scene(&format!("helm-{name}-{}", operation.name));
            let (proxy, child) = operation.start(&scene, name, None);
            let output = wait(child).expect(0);
            drop(output);
            forget_definition(&scene);
            points::writes_of(&proxy, &scene.namespace)
        };
        let started: Vec<_> = pairs().map(|pair| scope.spawn(move || writes(pair))).collect();
        started.into_iter().map(|list| list.join().unwrap()).collect()
    });
    let named = pairs().zip(lists);
    let points = named
        .flat_map(|((helm, operation), writes)| Point::of(&format!("{helm} {}", operation.name), writes));
    let all = points::all_are_wanted();
    let (table, failed) = points::table(
        points.collect(),
        |at| all || at % 23 == 7,
        |_, point| {
            let (helm, name) = point.name.split_once(' ').unwrap();
            let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
            operation.killed(helm, point)
        },
    );
    say(&table);
    assert_eq!(failed, 0, "{table}");
}

/// Starts a run that stands still in the middle, and returns when it does.
fn in_the_middle(scene: &Scene, path: &str, seconds: u64) -> (Proxy, Child) {
    let proxy = Proxy::start(scene.cluster);
    let rule = Rule::on("PATCH", "/configmaps/r?").unless("dryRun").times(1);
    proxy.rule(rule.fault(Fault::Delay(Duration::from_secs(seconds))));
    let run = proxy.cluster().start_statectl(["apply", path, "--yes"]);
    signal::until("it is in the middle", || proxy.faults() == 1);
    (proxy, run)
}

#[test]
fn a_helm_upgrade_during_a_run_is_refused() {
    for name in HELMS {
        let scene = scene(&format!("races-upgrade-{name}"));
        apply(&scene, ONE);
        let (before, path) = (identities(&scene), file(&scene, TWO));
        let (_proxy, run) = in_the_middle(&scene, &path, 3);
        let helm = helm(&scene, scene.cluster, name, &["upgrade", "r", "CHART", "--set", "a=helm"]);
        wait(helm).expect(1).complains("another operation");
        drop(wait(run).expect(0));
        assert_eq!(states(&scene), [(1, "superseded".to_owned()), (2, "deployed".to_owned())], "{name}");
        converges(&scene, &path, &before);
    }
}

/// `helm rollback` and `helm uninstall` do not care that a revision is pending.
#[test]
fn a_helm_rollback_during_a_run_ends_the_run_and_is_not_overwritten() {
    for name in HELMS {
        let scene = scene(&format!("races-rollback-{name}"));
        apply(&scene, ONE);
        let (before, path) = (identities(&scene), file(&scene, TWO));
        let (_proxy, run) = in_the_middle(&scene, &path, 4);
        let helm = helm(&scene, scene.cluster, name, &["rollback", "r", "1", "--no-hooks"]);
        drop(wait(helm).expect(0));
        let record = || scene.cluster.get(&scene.namespace, "secret", "sh.helm.release.v1.r.v3").unwrap();
        let version = |record: Json| record["metadata"]["resourceVersion"].clone();
        let of_helm = version(record());
        wait(run).expect(1).says("revision 3 of r was made by somebody else");
        assert_eq!(version(record()), of_helm, "{name}: the record of helm is as it was");
        let states = states(&scene);
        let last: Vec<&str> = states.iter().map(|(_, state)| state.as_str()).collect();
        assert_eq!(last, ["superseded", "failed", "deployed"], "{name}");
        converges(&scene, &path, &before);
    }
}

#[test]
fn a_helm_uninstall_during_a_run_ends_the_run() {
    for name in HELMS {
        let scene = scene(&format!("races-uninstall-{name}"));
        // What only the older revision has would be left by helm: it removes what the pending one says.
        apply(&scene, "set = { a = \"zero\" }");
        let path = file(&scene, TWO);
        let (_proxy, run) = in_the_middle(&scene, &path, 6);
        drop(wait(helm(&scene, scene.cluster, name, &["uninstall", "r", "--no-hooks"])).expect(0));
        assert_eq!(states(&scene), [], "{name}");
        let end = wait(run).expect(1);
        assert!(end.stdout.contains("somebody else"), "{name}: {}{}", end.stdout, end.stderr);
        assert_eq!(states(&scene), [], "{name}: no record comes back");
        converges(&scene, &path, &[]);
    }
}

#[test]
fn a_run_during_a_helm_upgrade_writes_nothing() {
    for name in HELMS {
        let scene = scene(&format!("races-helm-{name}"));
        apply(&scene, ONE);
        let before = identities(&scene);
        let proxy = Proxy::start(scene.cluster);
        let rule = Rule::on("PATCH", "/configmaps/").unless("dryRun").times(1);
        proxy.rule(rule.fault(Fault::Delay(Duration::from_secs(4))));
        let helm = helm(&scene, proxy.cluster(), name, &["upgrade", "r", "CHART", "--set", "a=helm"]);
        signal::until("helm is in the middle", || proxy.faults() == 1);
        let own = Proxy::start(scene.cluster);
        let path = write(&scene, TWO);
        let refused = own.cluster().statectl(["apply", &path, "--yes"]).expect(4);
        drop(refused.says("a helm without a lock").says("revision 2 is pending-upgrade"));
        assert_eq!(own.writes(), [""; 0], "{name}");
        drop(wait(helm).expect(0));
        assert_eq!(states(&scene), [(1, "superseded".to_owned()), (2, "deployed".to_owned())], "{name}");
        converges(&scene, &path, &before);
    }
}

#[test]
fn a_helm_upgrade_between_the_plan_and_the_first_write_is_planned_around() {
    for name in HELMS {
        let scene = scene(&format!("races-between-{name}"));
        apply(&scene, ONE);
        let (before, path) = (identities(&scene), file(&scene, TWO));
        let proxy = Proxy::start(scene.cluster);
        let rule = Rule::on("POST", "/secrets").times(1).fault(Fault::Delay(Duration::from_millis(1700)));
        proxy.rule(rule);
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it has planned", || proxy.faults() == 1);
        let child =
            helm(&scene, scene.cluster, name, &["upgrade", "r", "CHART", "--set", "a=helm", "--no-hooks"]);
        drop(wait(child).expect(0));
        wait(run).expect(0).complains("plans again");
        let states = states(&scene);
        let last: Vec<&str> = states.iter().map(|(_, state)| state.as_str()).collect();
        assert_eq!(last, ["superseded", "superseded", "deployed"], "{name}");
        converges(&scene, &path, &before);
    }
}

/// A helm that stood still, was taken for dead, and goes on: it overwrites its own record, and what it changes is put
/// right by the next run.
#[test]
fn a_helm_that_wakes_up_after_it_was_taken_over_from_is_put_right() {
    for name in HELMS {
        let scene = scene(&format!("races-zombie-{name}"));
        apply(&scene, ONE);
        let (before, path) = (identities(&scene), file(&scene, TWO));
        let proxy = Proxy::start(scene.cluster);
        let rule = Rule::on("PATCH", "/configmaps/").unless("dryRun").times(1);
        proxy.rule(rule.fault(Fault::Delay(Duration::from_millis(700))));
        let child =
            helm(&scene, proxy.cluster(), name, &["upgrade", "r", "CHART", "--set", "a=helm", "--no-hooks"]);
        signal::until("helm is in the middle", || proxy.faults() == 1);
        signal::send(&child, Sent::Stop);
        std::thread::sleep(Duration::from_millis(2100));
        scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
        assert_eq!(states(&scene).last(), Some(&(3, "deployed".to_owned())), "{name}");
        signal::send(&child, Sent::Continue);
        drop(wait(child));
        let deployed = states(&scene).into_iter().filter(|(_, state)| state == "deployed").count();
        assert_eq!(deployed, 2, "{name}: helm does not look at what became of its record");
        converges(&scene, &path, &before);
    }
}
