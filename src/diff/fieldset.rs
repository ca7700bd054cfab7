//! Sets of fields in the form of `managedFields` (FieldsV1).
//!
//! Source: `sigs.k8s.io/structured-merge-diff/v6/fieldpath/serialize.go`. A member `f:NAME` is a field,
//! `k:{…}` the list element with these keys, `v:…` the element of a set, `i:N` an element by position. An empty
//! object ends a path; `.` marks a field that is in the set and has members in it too.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::path::{FieldPath, Step};

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// The field itself is in the set.
    member: bool,
    /// By element in FieldsV1 spelling.
    children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// Reads `fieldsV1`; what is not an object is an empty set.
    pub fn parse(json: &Json) -> Self {
        let children = json.as_object().into_iter().flatten();
        Self {
            member: false,
            children: children.map(|(key, value)| (key.clone(), Self::parse_node(value))).collect(),
        }
    }

    fn parse_node(json: &Json) -> Self {
        let mut node = Self::parse(json);
        node.member = node.children.remove(".").is_some() || node.children.is_empty();
        node
    }

    /// Returns `fieldsV1`.
    pub fn to_json(&self) -> Json {
        let mut object: serde_json::Map<String, Json> =
            self.children.iter().map(|(key, child)| (key.clone(), child.to_json())).collect();
        if self.member && !object.is_empty() {
            object.insert(".".to_owned(), Json::Object(serde_json::Map::new()));
        }
        Json::Object(object)
    }

    /// Returns the fields of both sets.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.member |= other.member;
        for (key, child) in &other.children {
            let mine = self.children.remove(key).unwrap_or_default();
            self.children.insert(key.clone(), mine.union(child));
        }
        self
    }

    /// Tells whether no field is in the set.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Returns the fields without members, outermost first.
    pub fn leaves(&self) -> Vec<FieldPath> {
        let mut found = Vec::new();
        self.collect(&FieldPath::default(), &mut found);
        found
    }

    fn collect(&self, path: &FieldPath, found: &mut Vec<FieldPath>) {
        if self.is_leaf() {
            found.push(path.clone());
        }
        for (key, child) in &self.children {
            child.collect(&path.join(element(key)), found);
        }
    }

    /// Tells whether the field is in the set as a whole.
    pub(super) fn is_leaf(&self) -> bool {
        self.member && self.children.is_empty()
    }

    /// Tells whether the field itself is in the set, with or without members.
    pub(super) fn is_member(&self) -> bool {
        self.member
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&str, &FieldSet)> {
        self.children.iter().map(|(key, child)| (key.as_str(), child))
    }

    pub(super) fn field(&self, name: &str) -> Option<&FieldSet> {
        self.children.get(&format!("f:{name}"))
    }

    /// Returns the set below a path of elements in FieldsV1 spelling.
    pub(super) fn below(&self, elements: &[&str]) -> Option<&FieldSet> {
        elements.iter().try_fold(self, |set, element| set.children.get(*element))
    }

    pub(super) fn has_members(&self) -> bool {
        !self.children.is_empty()
    }
}

/// Returns the step that an element of FieldsV1 means.
pub(super) fn element(text: &str) -> Step {
    let (kind, rest) = text.split_once(':').unwrap_or(("f", text));
    match kind {
        "k" => match serde_json::from_str::<serde_json::Map<String, Json>>(rest) {
            Ok(keys) => Step::Match(keys.into_iter().map(|(key, value)| (key, plain(&value))).collect()),
            Err(_) => Step::Value(rest.to_owned()),
        },
        "v" => Step::Value(rest.to_owned()),
        "i" => rest.parse().map_or_else(|_| Step::Value(rest.to_owned()), Step::Index),
        _ => Step::Key(rest.to_owned()),
    }
}

/// Returns the value that an element of FieldsV1 means inside `json`.
pub(super) fn resolve<'a>(json: &'a Json, text: &str) -> Option<&'a Json> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "f" => json.get(rest),
        "i" => json.get(rest.parse::<usize>().ok()?),
        "v" => {
            let value: Json = serde_json::from_str(rest).ok()?;
            json.as_array()?.iter().find(|item| **item == value)
        }
        "k" => {
            let keys: serde_json::Map<String, Json> = serde_json::from_str(rest).ok()?;
            let items = json.as_array()?;
            let matches = |item: &&Json, default: bool| {
                keys.iter().all(|(key, value)| item.get(key).map_or(default, |found| found == value))
            };
            // A manifest may leave out a key that the server fills in, such as a port's protocol.
            items.iter().find(|item| matches(item, false)).or_else(|| {
                items
                    .iter()
                    .find(|item| keys.keys().any(|key| item.get(key).is_some()) && matches(item, true))
            })
        }
        _ => None,
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_survives_reading_and_writing() {
        for fields in [
            json!({}),
            json!({"f:data": {"f:a": {}, ".": {}}}),
            json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}}}}),
            json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"x/y\"": {}}}, "f:list": {"i:0": {}}}),
        ] {
            assert_eq!(FieldSet::parse(&fields).to_json(), fields);
        }
        assert!(FieldSet::parse(&json!(null)).is_empty());
    }

    #[test]
    fn a_union_holds_the_fields_of_both() {
        let union = |a: Json, b: Json| FieldSet::parse(&a).union(&FieldSet::parse(&b)).to_json();
        assert_eq!(union(json!({"f:a": {}}), json!({"f:b": {}})), json!({"f:a": {}, "f:b": {}}));
        assert_eq!(
            union(json!({"f:a": {"f:x": {}}}), json!({"f:a": {}})),
            json!({"f:a": {".": {}, "f:x": {}}})
        );
        assert_eq!(union(json!({"f:a": {}}), json!({})), json!({"f:a": {}}));
    }

    #[test]
    fn leaves_are_named_as_paths() {
        let set = FieldSet::parse(
            &json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}, "f:x": {}}}),
        );
        let leaves: Vec<String> = set.leaves().iter().map(ToString::to_string).collect();
        assert_eq!(leaves, ["spec.ports[port=80,protocol=TCP].port", "spec.x"]);
    }
}
