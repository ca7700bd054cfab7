//! What a dry run is known not to check: said in the plan, since "accepted" would be too much.
//!
//! Found on Kubernetes 1.36: the port range of node ports, whether a cluster IP is free, and the size limit of the
//! store are looked at only when something is written.

use serde_json::Value as Json;

use super::reason::Reason;
use crate::model::ObjectKey;

/// From this size on the store may refuse an object that the server accepted (etcd's limit is 1.5 MiB).
const LARGE: usize = 1_500_000;

/// Returns a reason if a creation or a change has something that was not checked.
pub(super) fn reasons(key: &ObjectKey, body: &Json, live: Option<&Json>) -> Option<Reason> {
    let mut unchecked = Vec::new();
    if key.gvk.group.is_empty() && key.gvk.kind == "Service" {
        let set = |json: Option<&Json>, pointer: &str| json.and_then(|json| json.pointer(pointer)).cloned();
        let ip = body.pointer("/spec/clusterIP").and_then(Json::as_str).unwrap_or_default();
        if !matches!(ip, "" | "None") && set(live, "/spec/clusterIP").as_ref() != Some(&Json::from(ip)) {
            unchecked.push("whether its cluster IP is free");
        }
        let before = live.map(node_ports).unwrap_or_default();
        if node_ports(body).iter().any(|port| !before.contains(port)) {
            unchecked.push("whether its node port is in the server's range");
        }
    }
    if body.to_string().len() > LARGE {
        unchecked.push("whether the store takes an object of its size");
    }
    let message = format!("{} is known only when it is applied", unchecked.join(" and "));
    (!unchecked.is_empty()).then(|| Reason::Unverified { object: key.clone(), message })
}

fn node_ports(service: &Json) -> Vec<i64> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let set = ports.filter_map(|port| port["nodePort"].as_i64());
    set.chain(service["spec"]["healthCheckNodePort"].as_i64()).filter(|port| *port != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GroupVersionKind;
    use serde_json::json;

    #[test]
    fn what_only_the_write_tells_is_said() {
        let service = ObjectKey {
            gvk: GroupVersionKind::new("v1", "Service"),
            namespace: Some("shop".to_owned()),
            name: "web".to_owned(),
        };
        let port = |port: i64| json!({"spec": {"ports": [{"port": 80, "nodePort": port}]}});
        let ip = |ip: &str| json!({"spec": {"clusterIP": ip}});
        let large = json!({"data": "x".repeat(LARGE)});
        for (body, live, expected) in [
            (port(30_000), None, Some("node port")),
            (port(30_000), Some(port(30_000)), None),
            (port(30_001), Some(port(30_000)), Some("node port")),
            (port(0), None, None),
            (ip("10.0.0.9"), None, Some("cluster IP")),
            (ip("10.0.0.9"), Some(ip("10.0.0.9")), None),
            (ip("None"), None, None),
            (large, None, Some("size")),
            (json!({}), None, None),
        ] {
            let told = reasons(&service, &body, live.as_ref()).map(|reason| reason.to_string());
            assert_eq!(told.is_some(), expected.is_some(), "{body}");
            assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()), "{body}");
        }
    }
}
