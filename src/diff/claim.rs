//! Taking ownership of fields that nobody owns, so that an apply without them removes them.

use serde_json::{Value as Json, json};

use super::fieldset::FieldSet;
use super::fold::{Former, fold_updates};
use super::path::{FieldPath, Step};

/// Returns the JSON patch that makes everything that `from` own, and the fields of `claims`, part
/// of the apply entry of `manager`, over exactly the version that was read; nothing if there is nothing to do.
///
/// Fields that are not there, and those below lists, are passed over: elements of lists are owned by their keys.
pub fn claim_patch(object: &Json, manager: &str, from: &[Former], claims: &[FieldPath]) -> Option<Json> {
    let folded = fold_updates(object, manager, from);
    let mut entries = match &folded {
        Some(entries) => entries.clone(),
        None => object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default(),
    };
    let claimed = claims.iter().filter_map(|path| set_of(object, path));
    let claimed = claimed.fold(FieldSet::default(), |all, set| all.union(&set));
    if folded.is_none() && claimed.is_empty() {
        return None;
    }
    let is_ours = |entry: &&mut Json| {
        entry["manager"] == manager && entry["operation"] == "Apply" && entry.get("subresource").is_none()
    };
    if !claimed.is_empty() {
        match entries.iter_mut().find(is_ours) {
            Some(entry) => {
                entry["fieldsV1"] = FieldSet::parse(&entry["fieldsV1"]).union(&claimed).to_json();
            }
            None => entries.push(json!({
                "manager": manager,
                "operation": "Apply",
                "apiVersion": object["apiVersion"],
                "fieldsType": "FieldsV1",
                "fieldsV1": claimed.to_json(),
            })),
        }
    }
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"]},
    ]))
}

/// Returns the fields at and below a path.
fn set_of(object: &Json, path: &FieldPath) -> Option<FieldSet> {
    let below = fields(path.find(object)?);
    let wrapped = path.0.iter().rev().try_fold(below, |below, step| match step {
        Step::Key(key) => Some(json!({format!("f:{key}"): below})),
        Step::Index(_) | Step::Match(_) | Step::Value(_) => None,
    })?;
    Some(FieldSet::parse(&wrapped))
}

/// Returns the members of a value in the spelling of FieldsV1; what is no map has none.
fn fields(value: &Json) -> Json {
    let members = value.as_object().into_iter().flatten();
    members.map(|(key, value)| (format!("f:{key}"), fields(value))).collect::<serde_json::Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_fields_join_our_entry() {
        let live = |entries: Json| {
            json!({"apiVersion": "apps/v1", "metadata": {"resourceVersion": "7", "managedFields": entries},
            "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "list": [1]}})
        };
        let entry = |fields: Json| json!({"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let claims = [FieldPath::parse("spec.strategy.rollingUpdate"), FieldPath::parse("spec.absent")];
        let rolling = json!({"f:rollingUpdate": {"f:maxSurge": {}}});
        for (entries, expected) in [
            (json!([]), json!([entry(json!({"f:spec": {"f:strategy": rolling}}))])),
            (
                json!([entry(json!({"f:spec": {"f:replicas": {}}}))]),
                json!([entry(json!({"f:spec": {"f:replicas": {}, "f:strategy": rolling}}))]),
            ),
        ] {
            let patch = claim_patch(&live(entries), "helm", &[Former::updates_of("helm")], &claims).unwrap();
            assert_eq!(patch[0]["value"], expected);
            assert_eq!(patch[1]["value"], "7");
        }
        let nothing = [FieldPath::parse("spec.absent"), FieldPath::parse("spec.list[0]")];
        assert_eq!(claim_patch(&live(json!([])), "helm", &[Former::updates_of("helm")], &nothing), None);
    }
}
