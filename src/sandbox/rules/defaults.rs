//! What the server fills in where nothing is given.
//!
//! Source: the functions `SetDefaults_*` of Kubernetes: a rule belongs to a type, wherever it stands in an object.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::sandbox::schema::{Shape, Type, Types};

/// Type, field, and the JSON that stands there where nothing is given.
const FIELDS: &[(&str, &str, &str)] = &[
    ("AzureDiskVolumeSource", "cachingMode", "\"ReadWrite\""),
    ("AzureDiskVolumeSource", "fsType", "\"ext4\""),
    ("AzureDiskVolumeSource", "kind", "\"Shared\""),
    ("AzureDiskVolumeSource", "readOnly", "false"),
    ("CSIDriverSpec", "attachRequired", "true"),
    ("CSIDriverSpec", "fsGroupPolicy", "\"ReadWriteOnceWithFSType\""),
    ("CSIDriverSpec", "podInfoOnMount", "false"),
    ("CSIDriverSpec", "requiresRepublish", "false"),
    ("CSIDriverSpec", "seLinuxMount", "false"),
    ("CSIDriverSpec", "storageCapacity", "false"),
    ("CSIDriverSpec", "volumeLifecycleModes", "[\"Persistent\"]"),
    ("ConfigMapVolumeSource", "defaultMode", "420"),
    ("Container", "terminationMessagePath", "\"/dev/termination-log\""),
    ("Container", "terminationMessagePolicy", "\"File\""),
    ("ContainerPort", "protocol", "\"TCP\""),
    ("CronJobSpec", "concurrencyPolicy", "\"Allow\""),
    ("CronJobSpec", "failedJobsHistoryLimit", "1"),
    ("CronJobSpec", "successfulJobsHistoryLimit", "3"),
    ("CronJobSpec", "suspend", "false"),
    ("CustomResourceDefinitionSpec", "conversion", "{\"strategy\":\"None\"}"),
    ("DaemonSetSpec", "revisionHistoryLimit", "10"),
    ("DaemonSetUpdateStrategy", "type", "\"RollingUpdate\""),
    ("DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("DeploymentSpec", "replicas", "1"),
    ("DeploymentSpec", "revisionHistoryLimit", "10"),
    ("DeploymentStrategy", "type", "\"RollingUpdate\""),
    ("DownwardAPIVolumeSource", "defaultMode", "420"),
    ("EndpointPort", "name", "\"\""),
    ("EndpointPort", "protocol", "\"TCP\""),
    ("EphemeralContainer", "terminationMessagePath", "\"/dev/termination-log\""),
    ("EphemeralContainer", "terminationMessagePolicy", "\"File\""),
    ("GRPCAction", "service", "\"\""),
    ("HTTPGetAction", "path", "\"/\""),
    ("HTTPGetAction", "scheme", "\"HTTP\""),
    ("HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    ("HostPathVolumeSource", "type", "\"\""),
    ("ISCSIVolumeSource", "iscsiInterface", "\"default\""),
    ("IngressClassParametersReference", "scope", "\"Cluster\""),
    ("MatchResources", "matchPolicy", "\"Equivalent\""),
    ("MatchResources", "namespaceSelector", "{}"),
    ("MatchResources", "objectSelector", "{}"),
    ("MutatingWebhook", "failurePolicy", "\"Fail\""),
    ("MutatingWebhook", "matchPolicy", "\"Equivalent\""),
    ("MutatingWebhook", "namespaceSelector", "{}"),
    ("MutatingWebhook", "objectSelector", "{}"),
    ("MutatingWebhook", "reinvocationPolicy", "\"Never\""),
    ("MutatingWebhook", "timeoutSeconds", "10"),
    ("NamedRuleWithOperations", "scope", "\"*\""),
    ("NamespaceStatus", "phase", "\"Active\""),
    ("NetworkPolicyPort", "protocol", "\"TCP\""),
    ("ObjectFieldSelector", "apiVersion", "\"v1\""),
    ("PersistentVolumeClaimSpec", "volumeMode", "\"Filesystem\""),
    ("PersistentVolumeClaimStatus", "phase", "\"Pending\""),
    ("PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "\"Retain\""),
    ("PersistentVolumeSpec", "volumeMode", "\"Filesystem\""),
    ("PersistentVolumeStatus", "phase", "\"Pending\""),
    ("PodFailurePolicyOnPodConditionsPattern", "status", "\"True\""),
    ("PodSpec", "dnsPolicy", "\"ClusterFirst\""),
    ("PodSpec", "restartPolicy", "\"Always\""),
    ("PodSpec", "schedulerName", "\"default-scheduler\""),
    ("PodSpec", "securityContext", "{}"),
    ("PodSpec", "terminationGracePeriodSeconds", "30"),
    ("PodStatus", "phase", "\"Pending\""),
    ("PriorityClass", "preemptionPolicy", "\"PreemptLowerPriority\""),
    ("Probe", "failureThreshold", "3"),
    ("Probe", "periodSeconds", "10"),
    ("Probe", "successThreshold", "1"),
    ("Probe", "timeoutSeconds", "1"),
    ("ProjectedVolumeSource", "defaultMode", "420"),
    ("ReplicaSetSpec", "replicas", "1"),
    ("ReplicationControllerSpec", "replicas", "1"),
    ("RoleRef", "apiGroup", "\"rbac.authorization.k8s.io\""),
    ("RuleWithOperations", "scope", "\"*\""),
    ("Secret", "type", "\"Opaque\""),
    ("SecretVolumeSource", "defaultMode", "420"),
    ("ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("ServicePort", "protocol", "\"TCP\""),
    ("ServiceReference", "port", "443"),
    ("ServiceSpec", "sessionAffinity", "\"None\""),
    ("ServiceSpec", "type", "\"ClusterIP\""),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", "\"Retain\""),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", "\"Retain\""),
    ("StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"),
    ("StatefulSetSpec", "podManagementPolicy", "\"OrderedReady\""),
    ("StatefulSetSpec", "replicas", "1"),
    ("StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("StorageClass", "reclaimPolicy", "\"Delete\""),
    ("StorageClass", "volumeBindingMode", "\"Immediate\""),
    ("ValidatingAdmissionPolicySpec", "failurePolicy", "\"Fail\""),
    ("ValidatingWebhook", "failurePolicy", "\"Fail\""),
    ("ValidatingWebhook", "matchPolicy", "\"Equivalent\""),
    ("ValidatingWebhook", "namespaceSelector", "{}"),
    ("ValidatingWebhook", "objectSelector", "{}"),
    ("ValidatingWebhook", "timeoutSeconds", "10"),
];

/// Fills in what the server does where an object, as its types decode it, says nothing. A custom object gets nothing
/// here: its defaults are those of its schema.
pub fn default(types: &Types, object: &mut Value, _live: Option<&Value>) {
    if types.is_custom(object) {
        return;
    }
    let owned = object.clone();
    let Some(kind) = types.of(&owned) else { return };
    default_kind(object);
    walk(kind, object);
}

fn walk(kind: Type<'_>, value: &mut Value) {
    let shape = kind.shape(Some(value));
    match value {
        Value::Object(members) if shape == Shape::Map => {
            default_type(kind.name().rsplit('.').next().unwrap_or_default(), members);
            for (key, member) in members.iter_mut() {
                if let Some(kind) = kind.member(key).filter(|kind| !kind.is_open()) {
                    walk(kind, member);
                }
            }
        }
        Value::Array(elements) if shape == Shape::List => {
            elements.iter_mut().for_each(|element| walk(kind.item(), element));
        }
        _ => {}
    }
}

fn fill(members: &mut Map<String, Value>, key: &str, value: Value) {
    if members.get(key).is_none_or(Value::is_null) {
        members.insert(key.to_owned(), value);
    }
}

fn text<'a>(members: &'a Map<String, Value>, key: &str) -> &'a str {
    members.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Fills in what belongs to a type.
fn default_type(name: &str, members: &mut Map<String, Value>) {
    if let "DeploymentStrategy" | "DaemonSetUpdateStrategy" | "StatefulSetUpdateStrategy" = name {
        default_strategy(name, members);
    }
    let first = FIELDS.partition_point(|(of, ..)| *of < name);
    for (_, field, json) in FIELDS[first..].iter().take_while(|(of, ..)| *of == name) {
        fill(members, field, serde_json::from_str(json).unwrap_or_default());
    }
    match name {
        "Container" | "EphemeralContainer" => {
            let policy = if is_latest(text(members, "image")) { "Always" } else { "IfNotPresent" };
            fill(members, "imagePullPolicy", policy.into());
        }
        "ImageVolumeSource" => {
            let policy = if is_latest(text(members, "reference")) { "Always" } else { "IfNotPresent" };
            fill(members, "pullPolicy", policy.into());
        }
        "PodSpec" => {
            let account = match text(members, "serviceAccountName") {
                "" => text(members, "serviceAccount").to_owned(),
                name => name.to_owned(),
            };
            if !account.is_empty() {
                members.insert("serviceAccount".to_owned(), account.clone().into());
                members.insert("serviceAccountName".to_owned(), account.into());
            }
            if members.get("hostNetwork") == Some(&Value::Bool(true)) {
                for list in ["containers", "initContainers"] {
                    default_host_ports(members.get_mut(list));
                }
            }
        }
        "Subject" => {
            if let "User" | "Group" = text(members, "kind") {
                fill(members, "apiGroup", "rbac.authorization.k8s.io".into());
            }
        }
        // A volume of no kind is an empty folder.
        "Volume" if members.keys().all(|key| key == "name") => {
            members.insert("emptyDir".to_owned(), json!({}));
        }
        _ => {}
    }
}

fn default_strategy(name: &str, members: &mut Map<String, Value>) {
    let untyped = text(members, "type").is_empty();
    fill(members, "type", "RollingUpdate".into());
    if text(members, "type") != "RollingUpdate" {
        return;
    }
    let (surge, unavailable) = match name {
        "DeploymentStrategy" => (json!("25%"), json!("25%")),
        _ => (json!(0), json!(1)),
    };
    if name != "StatefulSetUpdateStrategy" || untyped {
        fill(members, "rollingUpdate", json!({}));
    }
    if let Some(rolling) = members.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
        if name == "StatefulSetUpdateStrategy" {
            fill(rolling, "partition", 0.into());
        } else {
            fill(rolling, "maxSurge", surge);
            fill(rolling, "maxUnavailable", unavailable);
        }
    }
}

fn default_host_ports(containers: Option<&mut Value>) {
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        for port in list(container, "/ports") {
            let number = port["containerPort"].clone();
            if let Some(port) = port.as_object_mut() {
                fill(port, "hostPort", number);
            }
        }
    }
}

/// Tells whether an image is named without a tag and a digest, or with the tag `latest`.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, ""), |(name, digest)| (name, digest));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_empty(),
    }
}

/// Fills in what belongs to a kind as a whole.
fn default_kind(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            if name.as_str().is_some_and(|name| !name.is_empty()) {
                object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            }
        }
        "Secret" => default_secret(object),
        "Pod" => default_pod(object),
        "Job" => default_job(object),
        "Service" => default_service(object),
        "NetworkPolicy" if is_empty(&object["spec"]["policyTypes"]) => {
            let has_egress = !is_empty(&object["spec"]["egress"]);
            object["spec"]["policyTypes"] =
                if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        }
        "HorizontalPodAutoscaler" => default_autoscaler(object),
        "CustomResourceDefinition" => default_definition(object),
        "StatefulSet" => {
            for claim in list(object, "/spec/volumeClaimTemplates") {
                claim["apiVersion"] = "v1".into();
                claim["kind"] = "PersistentVolumeClaim".into();
            }
        }
        "LimitRange" => {
            for limit in list(object, "/spec/limits") {
                if limit["type"] == "Container" {
                    fill_each(limit, "max", "default");
                    fill_each(limit, "default", "defaultRequest");
                    fill_each(limit, "min", "defaultRequest");
                }
            }
        }
        _ => {}
    }
}

/// The elements of a list, where there is one.
fn list<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Fills an object's member with what another one has and it has not.
fn fill_each(object: &mut Value, from: &str, to: &str) {
    for (key, value) in object[from].as_object().cloned().into_iter().flatten() {
        if object[to].get(&key).is_none() {
            object[to][key] = value;
        }
    }
}

fn default_secret(object: &mut Value) {
    let Some(text) = object.as_object_mut().and_then(|object| object.remove("stringData")) else { return };
    for (key, value) in text.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        object["data"][key] = base64::engine::general_purpose::STANDARD.encode(value).into();
    }
}

fn default_pod(object: &mut Value) {
    for containers in ["/spec/containers", "/spec/initContainers"] {
        for container in list(object, containers) {
            if !is_empty(&container["resources"]["limits"]) {
                fill_each(&mut container["resources"], "limits", "requests");
            }
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        fill(spec, "enableServiceLinks", true.into());
    }
}

fn default_job(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if let Some(spec) = object["spec"].as_object_mut() {
        if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
            spec.insert("completions".to_owned(), 1.into());
        }
        let limit: i64 = if spec.contains_key("backoffLimitPerIndex") { 2_147_483_647 } else { 6 };
        let replaces = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        fill(spec, "parallelism", 1.into());
        fill(spec, "backoffLimit", limit.into());
        fill(spec, "completionMode", "NonIndexed".into());
        fill(spec, "suspend", false.into());
        fill(spec, "manualSelector", false.into());
        fill(spec, "podReplacementPolicy", replaces.into());
    }
    if is_empty(&object["metadata"]["labels"]) && !is_empty(&labels) {
        object["metadata"]["labels"] = labels;
    }
}

fn default_service(object: &mut Value) {
    let Some(spec) = object["spec"].as_object_mut() else { return };
    let kind = match text(spec, "type") {
        "" => "ClusterIP".to_owned(),
        kind => kind.to_owned(),
    };
    match text(spec, "sessionAffinity") {
        "ClientIP" => {
            let seconds =
                spec.get("sessionAffinityConfig").map(|config| &config["clientIP"]["timeoutSeconds"]);
            if seconds.is_none_or(Value::is_null) {
                spec.insert(
                    "sessionAffinityConfig".to_owned(),
                    json!({"clientIP": {"timeoutSeconds": 10_800}}),
                );
            }
        }
        "" | "None" => drop(spec.remove("sessionAffinityConfig")),
        _ => {}
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port["targetPort"] == 0 || port["targetPort"] == "" || port["targetPort"].is_null() {
            port["targetPort"] = port["port"].clone();
        }
    }
    let is_balancer = kind == "LoadBalancer";
    let is_reached =
        is_balancer || kind == "NodePort" || (kind == "ClusterIP" && spec.contains_key("externalIPs"));
    if is_reached {
        fill(spec, "externalTrafficPolicy", "Cluster".into());
    }
    if is_balancer || kind == "NodePort" || kind == "ClusterIP" {
        fill(spec, "internalTrafficPolicy", "Cluster".into());
    }
    if is_balancer {
        fill(spec, "allocateLoadBalancerNodePorts", true.into());
    }
}

fn default_autoscaler(object: &mut Value) {
    if object["apiVersion"] != "autoscaling/v2" {
        return;
    }
    let Some(spec) = object["spec"].as_object_mut() else { return };
    if spec.get("metrics").is_none_or(is_empty) {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    if let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) {
        let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        let up = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent]});
        let down = json!({"selectPolicy": "Max", "policies": [percent]});
        for (key, rules) in [("scaleUp", up), ("scaleDown", down)] {
            let given = behavior.entry(key).or_insert_with(|| json!({}));
            for (key, value) in rules.as_object().cloned().into_iter().flatten() {
                if given.get(&key).is_none_or(Value::is_null) {
                    given[key] = value;
                }
            }
        }
    }
}

fn default_definition(object: &mut Value) {
    let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = object["spec"]["names"].as_object_mut() {
        fill(names, "listKind", format!("{kind}List").into());
        fill(names, "singular", kind.to_lowercase().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(FIELDS.is_sorted_by_key(|(name, ..)| *name));
    }

    #[test]
    fn images_without_a_tag_are_the_latest() {
        for (image, expected) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.2", false),
            ("localhost:5000/nginx", true),
            ("localhost:5000/nginx:1", false),
            ("nginx@sha256:abc", false),
        ] {
            assert_eq!(is_latest(image), expected, "{image}");
        }
    }
}
