//! Whether a live object does its work yet.
//!
//! A function of the object's own JSON and of what the caller has seen around it. The rules are those of
//! kstatus (`sigs.k8s.io/cli-utils/pkg/kstatus/status`), changed where they report ready too early or never:
//! a running Job is not done, a failed Pod is not ready, a claim that waits for its first pod is no reason to
//! wait, a load balancer needs an address, and what will never start fails. Knows no client, no clock and no waiting;
//! how long a failure that may heal must last is the caller's business.

mod apiservice;
mod crd;
mod cronjob;
mod custom;
mod daemonset;
mod deployment;
mod generic;
mod job;
mod known;
mod namespace;
mod pod;
mod pvc;
mod read;
mod replicaset;
mod service;
mod statefulset;
mod table;
mod workload;

pub use known::{KnownRule, known_rules};
pub use table::VERSION as KNOWN_RULES_VERSION;

use serde_json::Value as Json;

use crate::dsf::state::ReadyRule;
use crate::model::split_api_version;

/// The state of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does its work. The note says what a person might not expect.
    Ready(Option<String>),
    /// It is on its way; the text says what is missing.
    Progressing(String),
    /// It does not work and may still heal by itself, as a container does that crashed once because what it needs was
    /// not there yet; the text says what is wrong.
    Failing(String),
    /// Without a change it will not get ready; the text says why.
    Failed(String),
}

impl Health {
    /// Tells whether the object does its work.
    pub fn is_ready(&self) -> bool {
        matches!(self, Health::Ready(_))
    }

    fn ready() -> Self {
        Health::Ready(None)
    }

    fn noted(note: impl Into<String>) -> Self {
        Health::Ready(Some(note.into()))
    }

    fn progressing(why: impl Into<String>) -> Self {
        Health::Progressing(why.into())
    }

    fn failed(why: impl Into<String>) -> Self {
        Health::Failed(why.into())
    }
}

/// What is known around an object. Everything is optional: without it the object's own status decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// Pods of the namespace, or only those of the object; those of other owners are passed over.
    pub pods: &'a [&'a Json],
    /// ReplicaSets of the namespace, by which the pods of a Deployment's newest template are told from old
    /// ones.
    pub replica_sets: &'a [&'a Json],
    /// The claim's storage class binds only when a pod mounts the claim (`WaitForFirstConsumer`).
    pub binds_on_first_use: bool,
    /// A controller is expected to write a status, so an object without one is not finished.
    pub writes_status: bool,
    /// What the desired-state file says of kinds; it comes before what is known of them here.
    pub rules: &'a [ReadyRule],
}

/// Returns the state of `object` as it stands in the cluster.
pub fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    if let Some(health) = read::deletion(object) {
        return health;
    }
    if let Some(health) = read::unseen_change(object) {
        return health;
    }
    let (group, _) = split_api_version(read::text(object, "/apiVersion"));
    if let Some(rule) = custom::rule(evidence.rules, group, read::text(object, "/kind")) {
        return custom::health(object, rule);
    }
    if let Some(rule) = known::rule(group, read::text(object, "/kind")) {
        return known::health(object, rule);
    }
    // A kind of the same name in another group is a custom resource.
    match (group, read::text(object, "/kind")) {
        ("apps", "Deployment") => deployment::health(object, evidence),
        ("apps", "StatefulSet") => statefulset::health(object, evidence),
        ("apps", "DaemonSet") => daemonset::health(object, evidence),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => replicaset::health(object, evidence),
        ("batch", "Job") => job::health(object, evidence),
        ("batch", "CronJob") => cronjob::health(object),
        ("", "Pod") => pod::health(object),
        ("", "PersistentVolumeClaim") => pvc::health(object, evidence),
        ("", "Service") => service::health(object),
        ("", "Namespace") => namespace::health(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::health(object),
        ("apiregistration.k8s.io", "APIService") => apiservice::health(object),
        (group, _) => generic::health(object, group, evidence),
    }
}

/// Returns the state of a Pod or a Job that has to come to its end: a Pod that is ready is not done.
pub fn ended(object: &Json, evidence: &Evidence<'_>) -> Health {
    match (read::text(object, "/apiVersion"), read::text(object, "/kind")) {
        ("v1", "Pod") => read::deletion(object).unwrap_or_else(|| pod::to_its_end(object)),
        _ => health(object, evidence),
    }
}

#[cfg(test)]
mod tests;
