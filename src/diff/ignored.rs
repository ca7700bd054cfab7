//! Changes that the server accepts and does not make.

use serde_json::Value as Json;

use super::compare::{self, changes};
use super::path::FieldPath;

/// Fields that keep their value when a manifest drops them, without any sign in the answer (measured on Kubernetes
/// 1.36). Of other dropped fields the default comes back, or another owner keeps them.
const KEPT: [(&str, &str); 4] = [
    ("Service", "spec.clusterIP"),
    ("Service", "spec.clusterIPs"),
    ("Service", "spec.ipFamilies"),
    ("Service", "spec.ipFamilyPolicy"),
];

/// Returns the fields that differ between the recorded manifest and the desired object and that the answer to a dry run
/// leaves as they are live: a change of them has no effect.
pub fn ignored_changes(recorded: Option<&Json>, desired: &Json, live: &Json, result: &Json) -> Vec<String> {
    let Some(recorded) = recorded else { return Vec::new() };
    let kind = desired["kind"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    changes(&FieldPath::default(), recorded, desired, &mut found);
    let ignored = found.into_iter().map(|change| change.path).filter(|path| {
        let (before, after) = (path.find(live), path.find(result));
        if before != after {
            return false;
        }
        match path.find(desired) {
            Some(wanted) => !is_met(path, after, wanted),
            None => after.is_some() && KEPT.contains(&(kind, path.to_string().as_str())),
        }
    });
    ignored.map(|path| path.to_string()).collect()
}

/// Tells whether a stored value is the wanted one by meaning. What is empty need not be stored.
fn is_met(path: &FieldPath, stored: Option<&Json>, wanted: &Json) -> bool {
    let Some(stored) = stored else { return is_empty(wanted) };
    let wanted = compare::respell(path, stored, wanted.clone());
    let mut differences = Vec::new();
    changes(path, &compare::project(stored, &wanted), &wanted, &mut differences);
    differences
        .iter()
        .all(|change| change.before.is_none() && change.path.find_below(path, &wanted).is_some_and(is_empty))
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.values().all(is_empty),
        Json::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(recorded: Json, desired: Json, live: &Json, result: &Json, expected: &[&str]) {
        assert_eq!(ignored_changes(Some(&recorded), &desired, live, result), expected);
    }

    #[test]
    fn an_accepted_change_that_is_not_made_is_found() {
        let service = |spec: Json| json!({"kind": "Service", "spec": spec});
        let headless = service(json!({"clusterIP": "None", "clusterIPs": ["None"]}));
        let (none, dropped) = (service(json!({"clusterIP": "None"})), service(json!({})));
        check(none.clone(), dropped, &headless, &headless, &["spec.clusterIP"]);
        check(none, service(json!({"clusterIP": ""})), &headless, &headless, &["spec.clusterIP"]);
        let request = |text: &str| json!({"kind": "CertificateSigningRequest", "spec": {"request": text}});
        check(request("a"), request("b"), &request("a"), &request("a"), &["spec.request"]);
        check(request("a"), request("b"), &request("a"), &request("b"), &[]);
        // Somebody made the change already.
        check(request("a"), request("b"), &request("b"), &request("b"), &[]);
    }

    #[test]
    fn what_the_server_only_spells_otherwise_is_met() {
        let pod = |spec: Json| json!({"kind": "Pod", "spec": spec});
        let live = pod(json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}));
        let desired = pod(
            json!({"hostNetwork": false, "containers": [{"name": "c", "env": [], "resources": {"limits": {"cpu": "1000m"}}}]}),
        );
        check(pod(json!({"containers": [{"name": "c"}]})), desired, &live, &live, &[]);
        // A default comes back.
        let replicas = json!({"kind": "Deployment", "spec": {"replicas": 1}});
        check(replicas.clone(), json!({"kind": "Deployment", "spec": {}}), &replicas, &replicas, &[]);
    }
}
