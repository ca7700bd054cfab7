//! The order in which kinds are created and deleted.

use std::cmp::Ordering;

/// An order of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindOrder {
    /// What others need comes first.
    Install,
    /// What needs others goes first.
    Uninstall,
}

/// Source: Helm 4.3.1, `pkg/release/v1/util/kind_sorter.go`.
const INSTALL: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Source: as [`INSTALL`]. It is not quite the reverse.
const UNINSTALL: [&str; 38] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

impl KindOrder {
    /// Compares two kinds: unknown ones come last, in alphabetical order. The API group does not count.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        let order = match self {
            KindOrder::Install => &INSTALL,
            KindOrder::Uninstall => &UNINSTALL,
        };
        let place = |kind: &str| order.iter().position(|known| *known == kind);
        match (place(a), place(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => a.cmp(b),
        }
    }
}

/// Sorts by kind; what is of one kind keeps its order.
pub fn sort_by_kind<T>(items: &mut [T], order: KindOrder, kind: impl Fn(&T) -> &str) {
    items.sort_by(|a, b| order.compare(kind(a), kind(b)));
}
