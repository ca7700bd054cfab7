//! The audit log of the real server: who wrote what, and when; and what must hold for it.
//!
//! Every process of a test is a user of its own ([`Cluster::as_user`]), so that the log tells their writes apart. It has the
//! server's times only: when a request was received, and when its answer was done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::cluster::Cluster;

/// A request that was meant to change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) code: u64,
    pub(crate) received: Timestamp,
    pub(crate) completed: Timestamp,
}

impl Write {
    fn of(entry: &Json) -> Option<Self> {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let verb = text(&entry["verb"]);
        let changes = matches!(verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        if !changes || entry["requestURI"].as_str()?.contains("dryRun=All") {
            return None;
        }
        let user = match entry["impersonatedUser"]["username"].as_str() {
            Some(user) => user.to_owned(),
            None => text(&entry["user"]["username"]),
        };
        Some(Self {
            user,
            verb,
            resource: text(&entry["objectRef"]["resource"]),
            name: text(&entry["objectRef"]["name"]),
            code: entry["responseStatus"]["code"].as_u64().unwrap_or_default(),
            received: entry["requestReceivedTimestamp"].as_str()?.parse().ok()?,
            completed: entry["stageTimestamp"].as_str()?.parse().ok()?,
        })
    }

    /// Tells whether the server did it.
    pub(crate) fn is_done(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Tells whether it is about a lock.
    pub(crate) fn is_lock(&self) -> bool {
        self.resource == "leases" || self.name.starts_with("statectl")
    }

    /// Tells whether it is about a release record.
    pub(crate) fn is_record(&self) -> bool {
        self.resource == "secrets" && self.name.starts_with("sh.helm.release.v1.")
    }

    /// Returns the release that the object belongs to: the test gives objects the names of their releases.
    fn release(&self) -> &str {
        let name = self.name.strip_prefix("sh.helm.release.v1.").unwrap_or(&self.name);
        name.split(['.', '-']).next().unwrap_or_default()
    }

    fn line(&self) -> String {
        let Self { user, verb, resource, name, code, received, completed, .. } = self;
        format!("{received:.3}..{completed:.3} {user} {verb} {resource}/{name} {code}")
    }
}

/// Returns the writes in a namespace since `mark` by users whose names begin with `prefix`, in the order in which they came.
pub(crate) fn writes(cluster: &Cluster, mark: u64, namespace: &str, prefix: &str) -> Vec<Write> {
    let entries = cluster.requests_since(mark);
    let own = entries.iter().filter(|entry| entry["objectRef"]["namespace"] == namespace);
    let mut writes: Vec<Write> =
        own.filter_map(Write::of).filter(|write| write.user.starts_with(prefix)).collect();
    writes.sort_by_key(|write| write.received);
    writes
}

/// Returns the writes by statectl since `mark` in `namespaces`, as `VERB URI`: everything but reads, dry runs and questions
/// about rights. What controllers write into a new namespace (its account, its root certificate) is not statectl's.
pub(crate) fn writes_of_statectl(cluster: &Cluster, mark: u64, namespaces: &[&str]) -> Vec<String> {
    let written = |entry: &&Json| {
        let verb = entry["verb"].as_str().unwrap_or_default();
        let uri = entry["requestURI"].as_str().unwrap_or_default();
        let ours = entry["userAgent"].as_str().unwrap_or_default().starts_with("statectl");
        let here = namespaces.iter().any(|namespace| {
            let path = uri.split('?').next().unwrap_or_default();
            path.split('/').skip_while(|part| *part != "namespaces").nth(1) == Some(namespace)
        });
        ours && here
            && !matches!(verb, "get" | "list" | "watch")
            && !uri.contains("dryRun=All")
            && !uri.contains("accessreviews")
            && !uri.contains("rulesreviews")
    };
    let entries = cluster.requests_since(mark);
    entries.iter().filter(written).map(|entry| format!("{} {}", entry["verb"], entry["requestURI"])).collect()
}

/// Returns what is wrong with the writes of several runs: two at once on one release, a revision that was made twice, a
/// record that was removed.
///
/// Needs nothing of the locks: a run works on a release from its first attempt to write something of it to its last, and
/// during that time nobody else may even try.
pub(crate) fn violations(writes: &[Write]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut sessions: BTreeMap<&str, BTreeMap<&str, (&Write, &Write)>> = BTreeMap::new();
    for write in writes.iter().filter(|write| !write.is_lock()) {
        let session =
            sessions.entry(write.release()).or_default().entry(&write.user).or_insert((write, write));
        if write.received < session.0.received {
            session.0 = write;
        }
        if write.completed > session.1.completed {
            session.1 = write;
        }
    }
    for (release, sessions) in sessions {
        let mut sessions: Vec<_> = sessions.into_iter().collect();
        sessions.sort_by_key(|(_, (first, _))| first.received);
        for pair in sessions.windows(2) {
            let [(a, (_, last)), (b, (first, _))] = pair else { continue };
            if first.received < last.completed {
                wrong.push(format!(
                    "{release}: {a} and {b} wrote at the same time: {} and {}",
                    last.line(),
                    first.line()
                ));
            }
        }
    }
    let mut made = BTreeSet::new();
    for write in writes.iter().filter(|write| write.is_record() && write.is_done()) {
        if write.verb == "create" && !made.insert(&write.name) {
            wrong.push(format!("a revision was made twice: {}", write.line()));
        }
        if write.verb.starts_with("delete") {
            wrong.push(format!("a record was removed: {}", write.line()));
        }
    }
    wrong
}

impl Cluster {
    /// Returns the cluster as a user sees it who may do everything and has a name of its own in the audit log. Costs no
    /// request. `folder` holds its kubeconfig.
    pub(crate) fn as_user(&self, name: &str, folder: &Path) -> Self {
        let text = std::fs::read_to_string(&self.kubeconfig).expect("the kubeconfig is there");
        let mut config: Json = serde_yaml::from_str(&text).expect("it is YAML");
        config["users"][0]["user"]["as"] = name.into();
        config["users"][0]["user"]["as-groups"] = serde_json::json!(["system:masters"]);
        let kubeconfig = folder.join(format!("{name}.kubeconfig"));
        std::fs::write(&kubeconfig, config.to_string()).expect("it can be written");
        Self { kubeconfig, audit_log: self.audit_log.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write of `user` from second `from` to second `to`.
    fn write(user: &str, verb: &str, name: &str, (from, to): (i64, i64)) -> Write {
        let at = |second| Timestamp::from_second(second).unwrap();
        Write {
            user: user.to_owned(),
            verb: verb.to_owned(),
            resource: if name.starts_with("sh.") { "secrets" } else { "configmaps" }.to_owned(),
            name: name.to_owned(),
            code: if verb == "create" { 201 } else { 200 },
            received: at(from),
            completed: at(to),
        }
    }

    #[test]
    fn the_checker_finds_what_it_is_for() {
        let (one, two) = ("sh.helm.release.v1.r.v1", "sh.helm.release.v1.r.v2");
        let of_a = [
            write("a", "create", one, (1, 2)),
            write("a", "patch", "r", (3, 4)),
            write("a", "update", one, (5, 6)),
        ];
        let good =
            [&of_a[..], &[write("b", "create", two, (7, 8)), write("c", "patch", "other", (3, 9))]].concat();
        assert_eq!(violations(&good), [""; 0]);
        let refused = Write { code: 409, ..write("b", "create", one, (3, 4)) };
        for (more, expected) in [
            (write("b", "patch", "r-x", (5, 7)), "at the same time"),
            // Even the attempt: whoever has the lock would not have had to be refused.
            (refused, "at the same time"),
            // One that began long before, and whose answer came late.
            (write("z", "patch", "r", (0, 3)), "at the same time"),
            (write("b", "create", two, (7, 8)), ""),
            (write("a", "create", one, (6, 7)), "made twice"),
            (write("b", "delete", one, (7, 8)), "was removed"),
            // Locks are not what is locked.
            (Write { resource: "leases".to_owned(), ..write("b", "update", "statectl.r", (1, 2)) }, ""),
        ] {
            let all = [&of_a[..], std::slice::from_ref(&more)].concat();
            let found = violations(&all).join("\n");
            assert_eq!(found.is_empty(), expected.is_empty(), "{more:?}: {found}");
            assert!(found.contains(expected), "{more:?}: {found}");
        }
    }
}
