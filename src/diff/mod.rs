//! What a change does to an object: which fields, shown how, owned by whom, and whether the server takes it.
//!
//! Pure functions over JSON: the live object, the desired one and the API server's answers to dry runs. Values
//! of Secrets are masked before anything for display is made, so that no text from here can show one. Knows no
//! client and no release.

mod claim;
mod compare;
mod custom;
mod fieldset;
mod fold;
mod ignored;
mod immutable;
mod managed;
mod manager;
mod mask;
mod path;
mod proof;
mod quantity;
mod refusal;
mod select;
mod text;

use serde_json::Value as Json;

pub use claim::claim_patch;
pub use compare::FieldChange;
pub use custom::{check_schema, schema_of};
pub use fieldset::FieldSet;
pub use fold::{Former, after_fold, fold_updates};
pub use ignored::ignored_changes;
pub use immutable::{Trial, Verdict, classify};
pub use managed::{
    ForeignField, ManagedEntry, Operation, Owner, OwnershipGap, applied_fields, foreign_fields,
    lost_an_empty, managed_entries, ownership_gap,
};
pub use manager::{ManagerClass, is_maker, manager_class};
pub use mask::{Masker, sanitize_message};
pub use path::{FieldPath, Step};
pub use proof::{Doubt, Proof, prove_unchanged};
pub use quantity::{compare as compare_quantities, parse as parse_quantity};
pub use refusal::{Cause, Problem, ServerError};
pub use select::{leaves, matching_fields};
pub use text::{Line, TextDiff};

/// The difference between an object before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectDiff {
    /// The fields that differ, in the order of the object.
    pub changes: Vec<FieldChange>,
    /// The same as lines of YAML.
    pub text: TextDiff,
}

impl ObjectDiff {
    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.text.lines.is_empty()
    }

    /// Returns the fields that differ, as text.
    pub fn paths(&self) -> Vec<String> {
        self.changes.iter().map(|change| change.path.to_string()).collect()
    }
}

/// How much of a difference is shown.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions<'a> {
    /// Makes the markers of secret values.
    pub masker: Masker<'a>,
    /// Equal lines around each difference.
    pub context: usize,
    /// Most lines of one object.
    pub limit: usize,
}

/// Compares a live object with what the server's dry run makes of it. Nothing on one side is a creation or a
/// deletion.
///
/// What the server keeps for itself (versions, times, ownership, status) is left out, and values that only
/// differ in spelling (`1000m` and `1`, `2` and `2.0`) are equal.
pub fn object_diff(before: Option<&Json>, after: Option<&Json>, options: &DiffOptions<'_>) -> ObjectDiff {
    let prepare = |object: Option<&Json>| {
        let mut object = object?.clone();
        strip_server_fields(&mut object);
        options.masker.mask(&mut object);
        Some(object)
    };
    let (before, after) = (prepare(before), prepare(after));
    let root = FieldPath::default();
    let mut changes = Vec::new();
    let after = match (&before, after) {
        (Some(before), Some(after)) => {
            let after = compare::respell(&root, before, after);
            compare::changes(&root, before, &after, &mut changes);
            Some(after)
        }
        (_, after) => after,
    };
    let (old, new) = (text::yaml(before.as_ref()), text::yaml(after.as_ref()));
    ObjectDiff { changes, text: text::compare(&old, &new, options.context, options.limit) }
}

/// Removes what the server writes on its own account.
pub fn strip_server_fields(object: &mut Json) {
    const METADATA: [&str; 7] = [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    let Some(members) = object.as_object_mut() else { return };
    members.remove("status");
    if let Some(metadata) = members.get_mut("metadata").and_then(Json::as_object_mut) {
        for key in METADATA {
            metadata.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
