//! Fields that nobody sends any more, and that would stay all the same.
//!
//! Server-side apply removes a field that left the manifest if our apply entry owns it and nobody else does. What
//! client-side Helm set is owned by another entry; what the server derived from `stringData`, and defaults such as the
//! parameters of a rolling update, are owned by nobody. Such fields are made part of our apply entry first, so that
//! the apply removes them; nothing is ever deleted and re-created for them (measured on Kubernetes 1.36).

use serde_json::Value as Json;

use crate::diff::{self, DiffOptions, FieldPath, Masker, Step};
use crate::model::FIELD_MANAGER;

/// Fields that would be left over.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// Those that the apply removes after ownership was folded.
    pub(super) gone: Vec<FieldPath>,
    /// Those that nobody owns: they have to be claimed first.
    pub(super) claims: Vec<FieldPath>,
}

/// Returns the fields that the recorded manifest has, the desired object has not, and the live one still has,
/// although the server accepts the desired object.
pub(super) fn unsent(recorded: Option<&Json>, desired: &Json, live: &Json, result: &Json) -> Leftovers {
    let mut found = Leftovers::default();
    let Some(recorded) = recorded else { return found };
    let before = super::body::applicable(recorded.clone());
    let options = DiffOptions { masker: Masker::new(&[]), context: 0, limit: 0 };
    let dropped = diff::object_diff(Some(&before), Some(desired), &options).changes;
    let owners = Owners::of(live);
    for change in dropped.into_iter().filter(|change| change.after.is_none()) {
        let path = change.path;
        let Some(value) = path.find(live).filter(|_| !is_identity(&path)) else { continue };
        if Owners::touch(&owners.others, &path) {
            continue;
        }
        if let Some(alias) = account_alias(&path, desired).filter(|alias| alias.find(live).is_some()) {
            if !Owners::touch(&owners.others, &alias) && path.find(result).is_some() {
                found.claims.extend([alias, path]);
            }
        } else if Owners::touch(&owners.updates, &path) {
            found.gone.push(path);
        } else if !Owners::touch(&owners.applied, &path)
            && path.find(result) == Some(value)
            && path.find(&before).is_some_and(|sent| sent == value)
            && is_claimable(&path, value)
        {
            found.claims.push(path);
        }
    }
    found
}

/// Returns the fields that are in the way of what the server refuses for their sake: the named ones, or those beside
/// them, if they are live, not sent, and owned by nobody else.
pub(super) fn in_the_way(named: &[String], desired: &Json, live: &Json) -> Vec<FieldPath> {
    let owners = Owners::of(live);
    let mut found = Vec::new();
    for path in named.iter().map(|name| FieldPath::parse(name)) {
        let Some((_, parent)) = path.0.split_last() else { continue };
        let parent = FieldPath(parent.to_vec());
        let beside = || {
            let keys = parent.find(live).and_then(Json::as_object).into_iter().flat_map(|all| all.keys());
            keys.map(|key| parent.key(key)).filter(|path| path.find(desired).is_none()).collect()
        };
        let own = path.find(live).is_some() && path.find(desired).is_none();
        let paths: Vec<FieldPath> = if own { vec![path.clone()] } else { beside() };
        found.extend(paths.into_iter().filter(|path| {
            path.find(live).is_some_and(|value| is_claimable(path, value))
                && !Owners::touch(&owners.others, path)
        }));
    }
    found
}

/// Returns the leaves that others than Helm own.
pub(super) fn is_foreign(live: &Json, path: &FieldPath) -> bool {
    Owners::touch(&Owners::of(live).others, path)
}

/// Who owns which fields of a live object, as texts of paths.
struct Owners {
    /// Our apply entry.
    applied: Vec<String>,
    /// What client-side Helm left.
    updates: Vec<String>,
    others: Vec<String>,
}

impl Owners {
    fn of(live: &Json) -> Self {
        let mut owners = Owners { applied: Vec::new(), updates: Vec::new(), others: Vec::new() };
        for entry in diff::managed_entries(live) {
            let ours = entry.owner.manager == FIELD_MANAGER && entry.owner.subresource.is_empty();
            let list = match (ours, entry.owner.operation) {
                (true, diff::Operation::Apply) => &mut owners.applied,
                (true, diff::Operation::Update) => &mut owners.updates,
                (false, _) => &mut owners.others,
            };
            list.extend(entry.fields.leaves().iter().map(ToString::to_string));
        }
        owners
    }

    /// Tells whether one of the owned fields is this one, above it or below it.
    fn touch(owned: &[String], path: &FieldPath) -> bool {
        let path = path.to_string();
        let within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        owned.iter().any(|owned| within(owned, &path) || within(&path, owned))
    }
}

/// What identifies an object is owned by nobody and never left over.
fn is_identity(path: &FieldPath) -> bool {
    let text = path.to_string();
    ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.generateName"]
        .contains(&text.as_str())
}

/// A field can be claimed if the way to it has no list, and it holds none: elements of lists are owned by their keys.
fn is_claimable(path: &FieldPath, value: &Json) -> bool {
    fn has_list(value: &Json) -> bool {
        match value {
            Json::Array(_) => true,
            Json::Object(members) => members.values().any(has_list),
            _ => false,
        }
    }
    path.0.iter().all(|step| matches!(step, Step::Key(_))) && !has_list(value)
}

/// Returns the old name of the field that names a pod's account: the server fills it in beside the new one, and takes
/// the account from it when the new one is dropped.
fn account_alias(path: &FieldPath, desired: &Json) -> Option<FieldPath> {
    let (last, parent) = path.0.split_last()?;
    let parent = FieldPath(parent.to_vec());
    let has_pods = parent.find(desired).is_some_and(|spec| spec["containers"].is_array());
    (*last == Step::Key("serviceAccountName".to_owned()) && has_pods).then(|| parent.key("serviceAccount"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Json) -> Json {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields})
    }

    fn texts(paths: &[FieldPath]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(recorded: Json, live: &Json, gone: &[&str], claims: &[&str]) {
        let desired = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}});
        let found = unsent(Some(&recorded), &desired, live, live);
        let expected = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!((texts(&found.gone), texts(&found.claims)), (expected(gone), expected(claims)));
    }

    #[test]
    fn what_was_sent_once_and_nobody_owns_is_claimed() {
        let data = json!({"x": "1", "old": "o"});
        let live = |entries: Json| {
            json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "managedFields": entries},
                "data": data})
        };
        let recorded =
            json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": data});
        let x = json!({"f:data": {"f:x": {}}});
        let both = json!({"f:data": {"f:x": {}, "f:old": {}}});
        let old = json!({"f:data": {"f:old": {}}});
        check(recorded.clone(), &live(json!([entry("helm", "Apply", x.clone())])), &[], &["data.old"]);
        check(recorded.clone(), &live(json!([entry("helm", "Apply", both.clone())])), &[], &[]);
        check(recorded.clone(), &live(json!([entry("helm", "Update", both)])), &["data.old"], &[]);
        let shared = json!([entry("helm", "Apply", x.clone()), entry("kubectl-edit", "Update", old)]);
        check(recorded.clone(), &live(shared), &[], &[]);
        let mut other_value = recorded;
        other_value["data"]["old"] = json!("p");
        check(other_value, &live(json!([entry("helm", "Apply", x)])), &[], &[]);
    }

    #[test]
    fn an_account_goes_with_its_alias() {
        let spec = |account: Json| {
            let mut spec = json!({"containers": []});
            if let (Some(spec), Json::Object(account)) = (spec.as_object_mut(), account) {
                spec.extend(account);
            }
            json!({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": spec}}})
        };
        let mut live = spec(json!({"serviceAccountName": "x", "serviceAccount": "x"}));
        live["metadata"]["managedFields"] = json!([entry(
            "helm",
            "Apply",
            json!({"f:spec": {"f:template": {"f:spec": {"f:serviceAccountName": {}}}}})
        )]);
        let recorded = spec(json!({"serviceAccountName": "x"}));
        let found = unsent(Some(&recorded), &spec(json!({})), &live, &live);
        let names = ["spec.template.spec.serviceAccount", "spec.template.spec.serviceAccountName"];
        assert_eq!((texts(&found.gone), texts(&found.claims)), (vec![], names.map(str::to_owned).to_vec()));
    }

    #[test]
    fn what_is_in_the_way_is_what_is_live_and_not_sent() {
        let live = json!({"spec": {"strategy": {"type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}}});
        let desired = json!({"spec": {"strategy": {"type": "Recreate"}}});
        let named = ["spec.strategy.rollingUpdate".to_owned()];
        assert_eq!(texts(&in_the_way(&named, &desired, &live)), ["spec.strategy.rollingUpdate"]);
        let beside = ["spec.strategy.type".to_owned()];
        assert_eq!(texts(&in_the_way(&beside, &desired, &live)), ["spec.strategy.rollingUpdate"]);
        let indexed = ["spec.template.spec.containers[0].env[0].valueFrom".to_owned()];
        assert_eq!(texts(&in_the_way(&indexed, &desired, &live)), [""; 0]);
    }
}
