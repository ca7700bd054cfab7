//! A database that stands still in the middle of writes, on a cluster of the test's own: a write that it has already may be
//! stored after the run was told that it failed.

use std::sync::{Barrier, Mutex};
use std::time::Duration;

use crate::kill::{End, filled, identities, look, write};
use crate::support::audit;
use crate::support::cluster::{Cluster, own_cluster};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::say;
use crate::support::scene::Scene;
use crate::support::signal;
use crate::support::statectl::wait;

/// The writes of an upgrade at which the database stands still, and for how many seconds. A write may take one, and a lock
/// is lost after two without a renewal.
const WRITES: [(&str, &str, usize, u64); 8] = [
    ("POST", "/leases", 0, 2),
    ("POST", "/leases", 1, 4),
    ("POST", "/secrets", 0, 2),
    ("POST", "/secrets", 0, 5),
    ("PATCH", "/configmaps/r?", 0, 4),
    ("PATCH", "/statefulsets/r?", 0, 1),
    ("DELETE", "/configmaps/r-old", 0, 4),
    // The last of the record.
    ("PUT", "/secrets/sh.helm.release.v1.r.v2", 4, 4),
];

/// A run during which the database stood still.
struct Disturbed {
    scene: Scene,
    before: Vec<String>,
    mark: u64,
    path: String,
    told: String,
}

/// Runs an upgrade, and stops the database when it has just been asked to store a write. One run at a time is started, so
/// that each one comes to its write.
fn disturbed(
    cluster: &'static Cluster,
    number: usize,
    (method, part, skip, seconds): (&'static str, &'static str, usize, u64),
    (prepared, turn): (&Barrier, &Mutex<()>),
) -> Disturbed {
    let scene = filled(Scene::on(cluster, &format!("frozen-{number}")));
    cluster.statectl(["apply", &write(&scene, "set = { a = \"one\" }"), "--yes"]).expect(0);
    prepared.wait();
    let mine = turn.lock().unwrap();
    let (before, mark) = (identities(&scene), cluster.audit_mark());
    let path = write(&scene, "set = { a = \"two\" }");
    let user = cluster.as_user(&format!("{}-run", scene.namespace), scene.folder.path());
    let proxy = Proxy::with_credentials(cluster, user.kubeconfig());
    let rule = Rule::on(method, part).unless("dryRun").skip(skip).times(1);
    proxy.rule(rule.fault(Fault::Delay(Duration::from_millis(200))));
    let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    signal::until(&format!("{method} {part}"), || proxy.faults() == 1);
    cluster.signal_etcd("-STOP");
    std::thread::sleep(Duration::from_secs(seconds));
    cluster.signal_etcd("-CONT");
    drop(mine);
    let code = wait(run).code;
    Disturbed { scene, before, mark, path, told: format!("{seconds} s at {method} {part}: exit code {code}") }
}

#[test]
fn a_write_that_is_stored_late_is_found() {
    let cluster = own_cluster("-frozen");
    let (prepared, turn) = (Barrier::new(WRITES.len()), Mutex::new(()));
    let runs: Vec<Disturbed> = std::thread::scope(|scope| {
        let start = |(number, of): (usize, &'static (&'static str, &'static str, usize, u64))| {
            let turns = (&prepared, &turn);
            scope.spawn(move || disturbed(cluster, number, *of, turns))
        };
        let started: Vec<_> = WRITES.iter().enumerate().map(start).collect();
        started.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let wrong = Mutex::new(Vec::new());
    let late = Mutex::new(0);
    std::thread::scope(|scope| {
        for run in &runs {
            let (wrong, late) = (&wrong, &late);
            scope.spawn(move || {
                let Disturbed { scene, before, mark, path, told } = run;
                let user = cluster.as_user(&format!("{}-next", scene.namespace), scene.folder.path());
                let next = user.statectl(["apply", path, "--yes", "--lock-wait", "60s"]);
                let mut found = Vec::new();
                if next.code != 0 {
                    found.push(format!("exit code {}: {}{}", next.code, next.stdout, next.stderr));
                }
                look(scene, End::Desired, before, &mut found);
                let writes = audit::writes(cluster, *mark, &scene.namespace, &scene.namespace);
                found.extend(audit::violations(&writes));
                let unknown = writes.iter().filter(|write| write.code >= 500).count();
                *late.lock().unwrap() += unknown;
                say(&format!("{told}; {} writes, {unknown} without a word", writes.len()));
                if !found.is_empty() {
                    found.extend(writes.iter().map(|write| format!("{write:?}")));
                }
                wrong.lock().unwrap().extend(found.into_iter().map(|found| format!("{told}: {found}")));
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(late.into_inner().unwrap() > 0, "the database stood still for nothing");
}
