//! What `lookup` answers: a snapshot of objects, never a live cluster.
//!
//! What the snapshot lacks is noted down, so that the caller can fetch it and render again.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Map, Value};

/// One question of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupKey {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for all namespaces and for cluster-scoped kinds.
    pub namespace: String,
    /// The name; empty for a list of all objects.
    pub name: String,
}

/// The answers for a render, and the questions that had none.
#[derive(Clone, Debug, Default)]
pub struct Lookups {
    /// Nothing where there is no cluster to ask.
    answers: Option<BTreeMap<LookupKey, Result<Value, String>>>,
    missing: BTreeSet<LookupKey>,
}

impl Lookups {
    /// Returns answers without a cluster: every object is absent.
    pub fn offline() -> Self {
        Self::default()
    }

    /// Returns answers that are still to be filled from a cluster.
    pub fn live() -> Self {
        Self { answers: Some(BTreeMap::new()), missing: BTreeSet::new() }
    }

    /// Gives the answer to a question: the object, an empty mapping if there is none, or why it cannot be had,
    /// which makes the render fail.
    pub fn answer(&mut self, key: LookupKey, answer: Result<Value, String>) {
        self.missing.remove(&key);
        self.answers.get_or_insert_default().insert(key, answer);
    }

    /// Returns the questions that had no answer. As long as there are any, the result of a render (be it an error)
    /// is only good for finding them.
    pub fn missing(&self) -> impl Iterator<Item = &LookupKey> {
        self.missing.iter()
    }

    pub(super) fn ask(&mut self, key: LookupKey) -> Result<Value, String> {
        let absent = Ok(Value::Map(Map::new()));
        let Some(answers) = &self.answers else { return absent };
        match answers.get(&key) {
            Some(answer) => answer.clone(),
            None => {
                self.missing.insert(key);
                absent
            }
        }
    }
}
