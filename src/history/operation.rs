//! What a record carries about the operation of statectl that wrote it, and about one that was interrupted.
//!
//! Kept in annotations: Helm drops them whenever it writes a record, so one that still has them was written last by
//! statectl. A record that lost them is treated as one of Helm's, which is the careful side.

use serde::{Deserialize, Serialize};

use super::record::Record;
use super::revisions::History;
use crate::lock::Kind;

/// The annotation of the operation.
pub const OPERATION_ANNOTATION: &str = "statectl.io/operation";
/// The annotation of a record whose operation was interrupted; its value is the state that it was left in.
pub const INTERRUPTED_ANNOTATION: &str = "statectl.io/interrupted";
/// The label of records that were written under locks that are no Leases.
pub const LOCK_KIND_LABEL: &str = "statectl.io/lock-kind";
/// The version of the format.
const FORMAT: &str = "statectl.operation/v1";

/// An operation of statectl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Operation {
    format: String,
    /// The random name of the process.
    pub id: String,
    /// The uid of the lock under which it was begun; empty without a lock.
    pub lock: String,
    /// How often that lock had changed hands.
    pub epoch: u64,
    /// The silence after which its holder counts as dead, in seconds.
    pub seconds: u32,
    /// Who it was, for people.
    pub who: String,
    /// The namespace of the lock of its context; empty where there was none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The commit that its desired-state file was checked out at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What it was about to do that leaves nothing in the cluster if it is interrupted, such as to re-create an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl Operation {
    /// Returns an operation that begins.
    pub fn new(id: &str, who: &str, (lock, epoch): (&str, u64), seconds: u32) -> Self {
        Self {
            format: FORMAT.to_owned(),
            id: id.to_owned(),
            lock: lock.to_owned(),
            epoch,
            seconds,
            who: who.to_owned(),
            place: String::new(),
            commit: None,
            step: None,
        }
    }

    /// Returns the same operation under a lock of its context that is kept in this namespace.
    #[must_use]
    pub fn in_place(self, place: String) -> Self {
        Self { place, ..self }
    }

    /// Returns the same operation, from this commit.
    #[must_use]
    pub fn from_commit(self, commit: Option<String>) -> Self {
        Self { commit, ..self }
    }

    /// Returns the same operation at another step.
    #[must_use]
    pub fn at(self, step: Option<String>) -> Self {
        Self { step, ..self }
    }

    /// Returns the text of the annotation.
    pub fn to_text(&self) -> String {
        // Texts and numbers always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Record {
    /// Returns the operation that wrote the record, if no other tool has written it since. One of a format that is not
    /// known counts as another tool's.
    pub fn operation(&self) -> Option<Operation> {
        let text = self.annotations.get(OPERATION_ANNOTATION)?;
        serde_json::from_str::<Operation>(text).ok().filter(|operation| operation.format == FORMAT)
    }

    /// Returns what the locks were made of under which the record was written; nothing where that is not known, or there
    /// were none.
    pub fn lock_kind(&self) -> Option<Kind> {
        match self.labels.get(LOCK_KIND_LABEL).map(String::as_str) {
            Some(SECRETS) => Some(Kind::Secret),
            Some(_) => None,
            // Only statectl locks, and it says so where it does not use Leases.
            None => self.operation().map(|_| Kind::Lease),
        }
    }

    /// Tells whether the operation was interrupted, and marked so.
    pub fn was_interrupted(&self) -> bool {
        self.annotations.contains_key(INTERRUPTED_ANNOTATION)
    }
}

/// The value of the label for locks that are Secrets, and for none.
const SECRETS: &str = "secret";
const NO_LOCKS: &str = "none";

/// Returns the value of the label; nothing where it is left out.
pub fn lock_kind_label(kind: Option<Kind>) -> Option<&'static str> {
    match kind {
        Some(Kind::Lease) => None,
        Some(Kind::Secret) => Some(SECRETS),
        None => Some(NO_LOCKS),
    }
}

/// Returns the namespace in which the lock of a context was kept last; nothing where no record says so.
pub fn lock_place<'a>(histories: impl Iterator<Item = &'a History>, context: &str) -> Option<String> {
    let latest = histories.filter_map(History::latest).filter(|record| record.context() == Some(context));
    let placed = latest.filter_map(|record| {
        let place = record.operation()?.place;
        (!place.is_empty()).then_some((record.written_at, place))
    });
    // Of two that were written in the same second the later name counts, for everybody.
    placed.max().map(|(_, place)| place)
}
