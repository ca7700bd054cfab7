//! The kinds of Kubernetes itself, as rights name them: known without a server.
//!
//! Source: the discovery of kube-apiserver 1.36, and kinds of neighbouring versions.

use super::KindName;
use crate::model::GroupVersionKind;

/// Group, kind, plural, and whether objects live in namespaces.
#[rustfmt::skip]
const BUILT_IN: [(&str, &str, &str, bool); 64] = [
    ("", "ConfigMap", "configmaps", true),
    ("", "Endpoints", "endpoints", true),
    ("", "Event", "events", true),
    ("", "LimitRange", "limitranges", true),
    ("", "Namespace", "namespaces", false),
    ("", "Node", "nodes", false),
    ("", "PersistentVolume", "persistentvolumes", false),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", true),
    ("", "Pod", "pods", true),
    ("", "PodTemplate", "podtemplates", true),
    ("", "ReplicationController", "replicationcontrollers", true),
    ("", "ResourceQuota", "resourcequotas", true),
    ("", "Secret", "secrets", true),
    ("", "Service", "services", true),
    ("", "ServiceAccount", "serviceaccounts", true),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", false),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", false),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false),
    ("apiregistration.k8s.io", "APIService", "apiservices", false),
    ("apps", "ControllerRevision", "controllerrevisions", true),
    ("apps", "DaemonSet", "daemonsets", true),
    ("apps", "Deployment", "deployments", true),
    ("apps", "ReplicaSet", "replicasets", true),
    ("apps", "StatefulSet", "statefulsets", true),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true),
    ("batch", "CronJob", "cronjobs", true),
    ("batch", "Job", "jobs", true),
    ("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", false),
    ("certificates.k8s.io", "ClusterTrustBundle", "clustertrustbundles", false),
    ("coordination.k8s.io", "Lease", "leases", true),
    ("coordination.k8s.io", "LeaseCandidate", "leasecandidates", true),
    ("discovery.k8s.io", "EndpointSlice", "endpointslices", true),
    ("events.k8s.io", "Event", "events", true),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", false),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "prioritylevelconfigurations", false),
    ("networking.k8s.io", "IPAddress", "ipaddresses", false),
    ("networking.k8s.io", "Ingress", "ingresses", true),
    ("networking.k8s.io", "IngressClass", "ingressclasses", false),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", true),
    ("networking.k8s.io", "ServiceCIDR", "servicecidrs", false),
    ("node.k8s.io", "RuntimeClass", "runtimeclasses", false),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets", true),
    ("policy", "PodSecurityPolicy", "podsecuritypolicies", false),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io", "Role", "roles", true),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", true),
    ("resource.k8s.io", "DeviceClass", "deviceclasses", false),
    ("resource.k8s.io", "DeviceTaintRule", "devicetaintrules", false),
    ("resource.k8s.io", "ResourceClaim", "resourceclaims", true),
    ("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates", true),
    ("resource.k8s.io", "ResourceSlice", "resourceslices", false),
    ("scheduling.k8s.io", "PriorityClass", "priorityclasses", false),
    ("storage.k8s.io", "CSIDriver", "csidrivers", false),
    ("storage.k8s.io", "CSINode", "csinodes", false),
    ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities", true),
    ("storage.k8s.io", "StorageClass", "storageclasses", false),
    ("storage.k8s.io", "VolumeAttachment", "volumeattachments", false),
    ("storage.k8s.io", "VolumeAttributesClass", "volumeattributesclasses", false),
    ("storagemigration.k8s.io", "StorageVersionMigration", "storageversionmigrations", false),
];

/// Returns what a kind of Kubernetes itself is called, in any version of its group.
pub fn built_in(gvk: &GroupVersionKind) -> Option<KindName> {
    let in_group = |group: &str| group == gvk.group || (gvk.version.is_empty() && gvk.group.is_empty());
    let fits = |(group, kind, _, _): &&(&str, &str, &str, bool)| in_group(group) && *kind == gvk.kind;
    let (group, _, plural, namespaced) = BUILT_IN.iter().find(fits)?;
    Some(KindName { group: (*group).to_owned(), plural: (*plural).to_owned(), namespaced: *namespaced })
}
