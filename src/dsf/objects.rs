//! What a file says about objects of the cluster: which ones, and what counts for them.

use crate::expression::Expression;
use crate::model::{FieldPattern, ObjectKey, glob};
use std::fmt;

/// Names an object of a release: its kind, written `Kind` or `Kind.group`, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// The kind, with its API group where the kind alone is not enough.
    pub kind: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// Tells whether this names the object.
    pub fn names(&self, object: &ObjectKey) -> bool {
        self.name == object.name && is_kind(&self.kind, object)
    }
}

/// Tells whether `kind`, written `Kind` or `Kind.group`, is the kind of an object.
fn is_kind(kind: &str, object: &ObjectKey) -> bool {
    match kind.split_once('.') {
        Some((kind, group)) => glob(kind, &object.gvk.kind) && group == object.gvk.group,
        None => glob(kind, &object.gvk.kind),
    }
}

/// What happens to fields that another manager owns with another value.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictRule {
    /// The fields; none for all.
    pub path: Option<FieldPattern>,
    /// The managers: a name, in which `*` stands for any text.
    pub manager: String,
    /// What happens.
    pub action: ConflictAction,
}

/// What happens to a field that another manager owns with another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictAction {
    /// It becomes what the chart says.
    Take,
    /// It stays as it is, and is left out of what is applied.
    Keep,
    /// The release is blocked.
    Fail,
}

/// Fields that count neither as drift nor as a change.
#[derive(Clone, Debug, PartialEq)]
pub struct IgnoreRule {
    /// The kind, written `Kind` or `Kind.group`; `*` stands for any text.
    pub kind: String,
    /// The name, in which `*` stands for any text; none for all.
    pub name: Option<String>,
    /// The fields.
    pub path: FieldPattern,
}

impl IgnoreRule {
    /// Tells whether the rule is about this object.
    pub fn covers(&self, object: &ObjectKey) -> bool {
        is_kind(&self.kind, object) && self.name.as_ref().is_none_or(|name| glob(name, &object.name))
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// When objects of a kind are ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyRule {
    /// The kind, with its API group where the kind alone is not enough.
    pub kind: String,
    /// Holds for an object that is ready.
    pub current: Expression,
    /// Holds for an object that will not get ready.
    pub failed: Option<Expression>,
}

/// An object of the cluster that has to be there, and ready, before a release starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFor {
    /// The kind, with its API group where the kind alone is not enough.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace; that of the release where none is given. It means nothing for kinds without namespaces.
    pub namespace: String,
}

impl fmt::Display for WaitFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}
