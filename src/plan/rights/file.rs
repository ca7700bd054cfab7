//! The rights that a file takes over its whole life: releases come, change and go, and their objects with them.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{About, Granted, Kinds, Locked, Rights, hook_key, is_namespaced, work};
use crate::dsf::state::{Crds, DesiredState, OnFailure, Release};
use crate::history::Hook;
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};
use crate::plan::SpaceKind;
use crate::plan::body::key_of;

/// What is done with an object in its life. Listing and watching make it cheaper to look at.
const LIFE: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
/// What is done with one that is only waited for.
const WAITED_FOR: [&str; 3] = ["get", "list", "watch"];
const RBAC: &str = "rbac.authorization.k8s.io";

/// A release, and what its chart renders to.
#[derive(Debug)]
pub struct FileRelease<'a> {
    /// The entry.
    pub release: &'a Release,
    /// Its objects.
    pub objects: &'a [Json],
    /// The definitions of its `crds` folder.
    pub crds: &'a [Json],
    /// Its hooks.
    pub hooks: &'a [Hook],
    /// The objects of the hooks that the file gives it.
    pub file_hooks: &'a [Json],
}

/// Returns what `state` takes, as far as it is about these releases. Namespaces that are to be made are in `makes`.
pub fn of_file(
    state: &DesiredState,
    releases: &[FileRelease<'_>],
    makes: &BTreeSet<String>,
    locked: Option<Locked<'_>>,
    kinds: Kinds<'_>,
) -> Rights {
    let mut rights = Rights::default();
    let roles = roles(releases);
    for release in releases {
        of_release(&mut rights, release, &roles, kinds);
        if let Some(locked) = locked {
            let key = &release.release.key;
            let why = format!("the lock of {key}");
            rights.lock(locked.kind, &key.namespace, &why, &["get", "create", "update", "delete"]);
        }
    }
    let of_these = |key: &ReleaseKey| releases.iter().any(|release| release.release.key == *key);
    for moved in state.moved.iter().filter(|moved| of_these(&moved.to)) {
        rights.records(&moved.from, &["get", "list", "delete"]);
        if let Some(locked) = locked {
            let why = format!("the lock of {}", moved.from);
            let verbs = ["get", "create", "update", "delete"];
            rights.lock(locked.kind, &moved.from.namespace, &why, &verbs);
        }
        let new = releases.iter().filter(|release| release.release.key == moved.to);
        for object in new.flat_map(|release| release.objects) {
            if let Some(key) = key_of(object, |gvk| is_namespaced(kinds, gvk), &moved.from.namespace) {
                rights.object(kinds, &key, &["get", "list", "watch", "delete"]);
            }
        }
    }
    if let Some(Locked { kind, context: Some(namespace) }) = locked {
        let verbs = ["get", "create", "update", "delete"];
        rights.lock(kind, namespace, "the lock of the run", &verbs);
    }
    of_namespaces(&mut rights, state, releases, makes);
    if state.settings.expect_cluster.uid.is_some() {
        let about = About {
            namespace: None,
            group: "",
            resource: "namespaces",
            name: "kube-system",
            why: "`settings.expectCluster.uid`",
        };
        rights.limited(about, &["get"]);
    }
    rights
}

/// The roles that the file makes: kind, namespace and name.
type Roles = BTreeSet<(String, String, String)>;

fn roles(releases: &[FileRelease<'_>]) -> Roles {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let role = |release: &FileRelease<'_>, object: &Json| {
        let kind = text(&object["kind"]);
        let metadata = &object["metadata"];
        let namespace = match kind.as_str() {
            "ClusterRole" => String::new(),
            "Role" => metadata["namespace"].as_str().unwrap_or(&release.release.key.namespace).to_owned(),
            _ => return None,
        };
        Some((kind, namespace, text(&metadata["name"])))
    };
    releases.iter().flat_map(|release| release.objects.iter().filter_map(move |o| role(release, o))).collect()
}

fn of_release(rights: &mut Rights, release: &FileRelease<'_>, roles: &Roles, kinds: Kinds<'_>) {
    let entry = release.release;
    let namespace = &entry.key.namespace;
    rights.records(&entry.key, &["get", "list", "create", "update", "delete"]);
    let keys = release
        .objects
        .iter()
        .map(|object| (object, key_of(object, |gvk| is_namespaced(kinds, gvk), namespace)));
    for (object, key) in keys.filter_map(|(object, key)| Some((object, key?))) {
        rights.object(kinds, &key, &LIFE);
        around(rights, object, &key, entry, roles);
    }
    let verbs: &[&'static str] = match entry.crds {
        Crds::Create => &["get", "list", "watch", "create", "patch"],
        Crds::Upgrade => &LIFE,
        Crds::Skip => &[],
    };
    for definition in release.crds {
        if let Some(key) = key_of(definition, |_| false, namespace) {
            rights.object(kinds, &key, verbs);
        }
    }
    let runs = release.hooks.iter().filter(|hook| {
        let is_test = hook.events.iter().all(|event| event.starts_with("test"));
        if is_test { entry.test } else { !entry.no_hooks }
    });
    for hook in runs {
        if let Some(key) = hook_key(kinds, hook, &entry.key) {
            rights.object(kinds, &key, &LIFE);
            logs(rights, &key);
        }
    }
    for object in release.file_hooks {
        if let Some(key) = key_of(object, |gvk| is_namespaced(kinds, gvk), namespace) {
            rights.object(kinds, &key, &LIFE);
        }
    }
    for wanted in &entry.wait_for {
        let (kind, group) = wanted.kind.split_once('.').unwrap_or((&wanted.kind, ""));
        let gvk = GroupVersionKind { group: group.to_owned(), version: String::new(), kind: kind.to_owned() };
        let key = ObjectKey {
            namespace: is_namespaced(kinds, &gvk).then(|| wanted.namespace.clone()),
            gvk,
            name: wanted.name.clone(),
        };
        rights.object(kinds, &key, &WAITED_FOR);
    }
}

/// Adds what an object takes besides itself.
fn around(rights: &mut Rights, object: &Json, key: &ObjectKey, release: &Release, roles: &Roles) {
    let namespace = key.namespace.as_deref();
    let why = key.short();
    match (key.gvk.group.as_str(), key.gvk.kind.as_str()) {
        ("apps", "StatefulSet") => {
            let claims =
                About { namespace, group: "", resource: "persistentvolumeclaims", name: "", why: &why };
            rights.add(claims, &["get", "list"]);
            if !object["spec"]["volumeClaimTemplates"].is_null() {
                rights.add(claims, &["patch"]);
            }
            if release.unstick && release.on_failure == OnFailure::Rollback {
                rights.add(About { resource: "pods", ..claims }, &["get", "list", "delete"]);
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            // What would go with a definition is counted before it goes.
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let (group, plural) = (text(&object["spec"]["group"]), text(&object["spec"]["names"]["plural"]));
            let about = About { namespace: None, group: &group, resource: &plural, name: "", why: &why };
            rights.add(about, &["list"]);
        }
        (RBAC, "Role" | "ClusterRole") => role(rights, object, key),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(rights, object, key, roles),
        // Operators make claims belong to the resource that they are for.
        _ if !key.gvk.is_built_in() && namespace.is_some() => {
            let claims =
                About { namespace, group: "", resource: "persistentvolumeclaims", name: "", why: &why };
            rights.add(claims, &["list"]);
        }
        _ => {}
    }
    logs(rights, key);
}

/// Adds what tells why an object is not ready. Without it things work, and messages say less.
fn logs(rights: &mut Rights, key: &ObjectKey) {
    let Some(namespace) = key.namespace.as_deref() else { return };
    let kind = (key.gvk.group.as_str(), key.gvk.kind.as_str());
    let why = "why something is not ready, and last words of its pods";
    let about = About { namespace: Some(namespace), group: "", resource: "pods", name: "", why };
    let has_pods = matches!(
        kind,
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
            | ("batch", "Job")
            | ("", "Pod" | "ReplicationController")
    );
    if !has_pods {
        return;
    }
    rights.optional(about, &WAITED_FOR);
    rights.optional(About { resource: "pods/log", ..about }, &["get"]);
    let quotas = About { resource: "resourcequotas", why: "whether all that comes fits", ..about };
    rights.optional(quotas, &["list"]);
    if kind == ("apps", "Deployment") {
        rights.optional(About { group: "apps", resource: "replicasets", ..about }, &WAITED_FOR);
    }
    if matches!(kind, ("apps", "Deployment" | "StatefulSet" | "ReplicaSet")) {
        let why = "whether an autoscaler has the replicas";
        let scalers = About { group: "autoscaling", resource: "horizontalpodautoscalers", why, ..about };
        rights.optional(scalers, &["list"]);
    }
}

/// Who makes a role has to have what it gives (Kubernetes, "Privilege escalation prevention and bootstrapping").
fn role(rights: &mut Rights, role: &Json, key: &ObjectKey) {
    if role.get("aggregationRule").is_some_and(|rule| !rule.is_null()) {
        // What it will give is not known: it takes the right to make any.
        let why = key.short();
        let about =
            About { namespace: None, group: RBAC, resource: "clusterroles", name: &key.name, why: &why };
        rights.limited(about, &["escalate"]);
        return;
    }
    for rule in role["rules"].as_array().into_iter().flatten() {
        let granted = Granted { namespace: key.namespace.clone(), rule: rule.clone(), why: key.short() };
        if !rights.granted.contains(&granted) {
            rights.granted.push(granted);
        }
    }
}

/// Who binds a role has to have what it gives, as for one that the file makes, or may bind it by name.
fn binding(rights: &mut Rights, binding: &Json, key: &ObjectKey, roles: &Roles) {
    let target = &binding["roleRef"];
    let (Some(kind), Some(name)) = (target["kind"].as_str(), target["name"].as_str()) else { return };
    let place = if kind == "Role" { key.namespace.clone().unwrap_or_default() } else { String::new() };
    if roles.contains(&(kind.to_owned(), place, name.to_owned())) {
        return;
    }
    let resource = if kind == "ClusterRole" { "clusterroles" } else { "roles" };
    let why = key.short();
    let about = About { namespace: key.namespace.as_deref(), group: RBAC, resource, name, why: &why };
    rights.limited(about, &["bind"]);
}

fn of_namespaces(
    rights: &mut Rights,
    state: &DesiredState,
    releases: &[FileRelease<'_>],
    makes: &BTreeSet<String>,
) {
    let used: BTreeSet<&str> =
        releases.iter().map(|release| release.release.key.namespace.as_str()).collect();
    for (name, namespace) in state.namespaces.iter().filter(|(name, _)| used.contains(name.as_str())) {
        let why = format!("Namespace/{name}");
        let about = About { namespace: None, group: "", resource: "namespaces", name, why: &why };
        let is_marked = !namespace.labels.is_empty()
            || !namespace.annotations.is_empty()
            || !namespace.limits.is_empty()
            || !namespace.quotas.is_empty()
            || state.settings.labels_authoritative;
        if is_marked {
            rights.limited(about, &["get", "patch"]);
        }
        for (kind, is_wanted) in [
            (SpaceKind::LimitRange, !namespace.limits.is_empty()),
            (SpaceKind::ResourceQuota, !namespace.quotas.is_empty()),
        ] {
            if is_wanted {
                let why = format!("{}/{}", kind.kind(), kind.name());
                let resource = work::space_resource(kind);
                let about = About { namespace: Some(name), group: "", resource, name: "", why: &why };
                rights.add(about, &["get", "create", "update", "delete", "patch"]);
            }
        }
    }
    for name in makes.iter().filter(|name| used.contains(name.as_str())) {
        let why = format!("Namespace/{name}, if it is not there");
        let about = About { namespace: None, group: "", resource: "namespaces", name, why: &why };
        rights.add(about, &["get", "create", "patch"]);
    }
}
