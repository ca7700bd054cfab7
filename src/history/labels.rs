//! Labels on release records: Helm's own, and those by which a desired state recognises its releases.
//!
//! The ownership labels are Helmsman's, so that both tools see the same contexts.

use std::collections::BTreeMap;

/// Label that names the desired state ("context") a release belongs to.
pub const CONTEXT_LABEL: &str = "HELMSMAN_CONTEXT";
/// Label that says what happens to the release when its entry leaves the file; missing where it is uninstalled.
pub const ON_REMOVE_LABEL: &str = "statectl.io/on-remove";
/// Label that says which annotations the order inside the release follows, so that a removal can follow them too.
pub const SEQUENCING_LABEL: &str = "statectl.io/sequencing";
/// Returns Helmsman's annotation of a record for a hook of the file: `ok` or `failed`.
pub fn hook_annotation(hook: &str) -> String {
    format!("helmsman/{hook}")
}

const MANAGER_LABEL: &str = "MANAGED-BY";
const MANAGER: &str = "HELMSMAN";
const NAMESPACE_LABEL: &str = "NAMESPACE";

/// Labels that Helm's storage sets itself on every record.
pub(super) const NAME: &str = "name";
pub(super) const OWNER: &str = "owner";
pub(super) const HELM: &str = "helm";
pub(super) const STATUS: &str = "status";
pub(super) const VERSION: &str = "version";
pub(super) const CREATED_AT: &str = "createdAt";
pub(super) const MODIFIED_AT: &str = "modifiedAt";
const SYSTEM: [&str; 6] = [NAME, OWNER, STATUS, VERSION, CREATED_AT, MODIFIED_AT];

/// Returns the context a record is marked with, or nothing for a release that no desired state has claimed.
///
/// The label alone counts: `MANAGED-BY` says no more than that it is there.
pub fn context_of(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(CONTEXT_LABEL).map(String::as_str).filter(|context| !context.is_empty())
}

/// Returns the labels that mark a record as belonging to `context`.
pub fn labels_for(context: &str, namespace: &str) -> BTreeMap<String, String> {
    [(MANAGER_LABEL, MANAGER), (NAMESPACE_LABEL, namespace), (CONTEXT_LABEL, context)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Returns the labels without the marks of an owner: a release with them belongs to nobody.
pub fn without_owner(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let marks = [MANAGER_LABEL, NAMESPACE_LABEL, CONTEXT_LABEL, ON_REMOVE_LABEL];
    labels
        .iter()
        .filter(|(key, _)| !marks.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Returns the labels of a record that Helm carries over to the next revision: all but those its storage sets.
///
/// Helm also carries `modifiedAt` over and never refreshes it, which makes the label useless as a clock; it is
/// left behind here.
pub fn user_labels(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    labels
        .iter()
        .filter(|(key, _)| !SYSTEM.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_record_is_recognised_and_the_marks_are_carried_over() {
        let mut labels = labels_for("shop", "prod");
        assert_eq!(context_of(&labels), Some("shop"));
        labels.insert(STATUS.to_owned(), "deployed".to_owned());
        labels.insert(MODIFIED_AT.to_owned(), "1".to_owned());
        assert_eq!(user_labels(&labels), labels_for("shop", "prod"));
        assert_eq!(context_of(&BTreeMap::new()), None);
        assert_eq!(context_of(&[(CONTEXT_LABEL.to_owned(), String::new())].into()), None);
    }
}
