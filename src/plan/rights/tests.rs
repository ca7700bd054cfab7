//! From rights to rules, and what a file takes.

use serde_json::{Value as Json, json};

use super::*;
use crate::dsf::{self, PathKind};

struct EveryFile;

impl dsf::Files for EveryFile {
    fn kind(&self, path: &std::path::Path) -> PathKind {
        if path.ends_with("Chart.yaml") { PathKind::File } else { PathKind::Folder }
    }
}

fn state(text: &str) -> dsf::state::DesiredState {
    let source =
        dsf::Source { name: "state.toml".to_owned(), bytes: text.as_bytes().to_vec(), dir: ".".into() };
    let loaded = dsf::load(&[source], &BTreeMap::new(), &EveryFile, &dsf::Options::default());
    loaded.unwrap_or_else(|problems| panic!("{problems}")).state
}

/// Returns what a file of one release with these objects takes, each rule as one line.
fn rules_of(more: &str, objects: &[Json]) -> Vec<String> {
    let text = format!(
        "context = \"ours\"\n[namespaces.shop]\n[apps.web]\nenabled = true\nnamespace = \"shop\"\nchart = \"./chart\"\n{more}"
    );
    let state = state(&text);
    let release =
        FileRelease { release: &state.releases[0], objects, crds: &[], hooks: &[], file_hooks: &[] };
    let locked = Locked { kind: LockKind::Lease, context: Some("shop") };
    let rights = of_file(&state, &[release], &BTreeSet::new(), Some(locked), &built_in);
    let unknown = rights.unknown.iter().map(|gvk| format!("unknown {gvk}"));
    let mut lines: Vec<String> = Vec::new();
    for set in rights.rules() {
        for rule in set.rules.iter().filter(|rule| !rule.optional) {
            let list = |key: &str| {
                let list = rule.rule[key].as_array().into_iter().flatten();
                list.map(|entry| entry.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(",")
            };
            let place = set.namespace.as_deref().unwrap_or("*");
            let names = list("resourceNames");
            lines.push(
                format!("{place}: {}/{} {} {names}", list("apiGroups"), list("resources"), list("verbs"))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    lines.extend(unknown);
    lines
}

fn object(api_version: &str, kind: &str, more: Json) -> Json {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
    for (key, value) in more.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

const LOCKS: &str = "shop: coordination.k8s.io/leases get,create,update,delete";
const RECORDS: &str = "shop: /secrets get,list,create,update,delete";

#[test]
fn a_file_takes_what_its_objects_and_records_and_locks_take() {
    let life = "get,list,watch,create,patch,delete";
    for (objects, expected) in [
        (vec![], vec![RECORDS.to_owned(), LOCKS.to_owned()]),
        (
            vec![object("v1", "ConfigMap", json!({})), object("v1", "Service", json!({}))],
            vec![RECORDS.to_owned(), format!("shop: /configmaps,services {life}"), LOCKS.to_owned()],
        ),
        (
            vec![object("v1", "Secret", json!({}))],
            vec!["shop: /secrets get,list,watch,create,update,patch,delete".to_owned(), LOCKS.to_owned()],
        ),
        (
            vec![object("v1", "ConfigMap", json!({"metadata": {"name": "x", "namespace": "other"}}))],
            vec![format!("other: /configmaps {life}"), RECORDS.to_owned(), LOCKS.to_owned()],
        ),
        (
            vec![object("apps/v1", "StatefulSet", json!({"spec": {"volumeClaimTemplates": []}}))],
            vec![
                RECORDS.to_owned(),
                "shop: /persistentvolumeclaims get,list,patch".to_owned(),
                format!("shop: apps/statefulsets {life}"),
                LOCKS.to_owned(),
            ],
        ),
        (
            vec![object("storage.k8s.io/v1", "StorageClass", json!({}))],
            vec![format!("*: storage.k8s.io/storageclasses {life}"), RECORDS.to_owned(), LOCKS.to_owned()],
        ),
        // What a role gives has to be had, and a role of others may be bound by name.
        (
            vec![
                object(
                    "rbac.authorization.k8s.io/v1",
                    "Role",
                    json!({"rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]}),
                ),
                object(
                    "rbac.authorization.k8s.io/v1",
                    "RoleBinding",
                    json!({"roleRef": {"kind": "Role", "name": "x"}}),
                ),
                object(
                    "rbac.authorization.k8s.io/v1",
                    "RoleBinding",
                    json!({"roleRef": {"kind": "ClusterRole", "name": "view"}}),
                ),
            ],
            vec![
                RECORDS.to_owned(),
                LOCKS.to_owned(),
                "shop: rbac.authorization.k8s.io/clusterroles bind view".to_owned(),
                format!("shop: rbac.authorization.k8s.io/rolebindings,roles {life}"),
                "shop: /nodes get".to_owned(),
            ],
        ),
        (
            vec![object("monitoring.coreos.com/v1", "ServiceMonitor", json!({}))],
            vec![
                RECORDS.to_owned(),
                "shop: /persistentvolumeclaims list".to_owned(),
                LOCKS.to_owned(),
                "unknown monitoring.coreos.com/v1/ServiceMonitor".to_owned(),
            ],
        ),
    ] {
        let mut found = rules_of("", &objects);
        let mut expected = expected;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{objects:?}");
    }
}

#[test]
fn what_a_file_says_of_its_namespace_takes_rights_on_it() {
    let marks = "[namespaces.shop.labels]\na = \"b\"\n";
    let text = format!(
        "context = \"ours\"\n{marks}[apps.web]\nenabled = true\nnamespace = \"shop\"\nchart = \"./chart\"\n"
    );
    let state = state(&text);
    let release =
        FileRelease { release: &state.releases[0], objects: &[], crds: &[], hooks: &[], file_hooks: &[] };
    let makes = BTreeSet::from(["shop".to_owned()]);
    let of = |makes: &BTreeSet<String>| {
        let release =
            FileRelease { release: release.release, objects: &[], crds: &[], hooks: &[], file_hooks: &[] };
        of_file(&state, &[release], makes, None, &built_in)
    };
    let rule = |rights: &Rights| rights.rules()[0].rules[0].rule.clone();
    assert_eq!(
        rule(&of(&BTreeSet::new())),
        json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "patch"], "resourceNames": ["shop"]})
    );
    assert_eq!(
        rule(&of(&makes)),
        json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create", "patch"]})
    );
    // In one role for everything nothing is bound to a namespace.
    assert!(of(&makes).everywhere().rules().iter().all(|set| set.namespace.is_none()));
}
