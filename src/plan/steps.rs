//! What execution does: everything decided, with the preconditions under which the decision holds.
//!
//! Execution follows these steps in order and decides nothing. A precondition that no longer holds ends the
//! release; it never leads to another step.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::app_hooks::FileHooks;
use super::guard::Permit;
use super::input::Probe;
use super::loss::Lost;
use super::sequence::Edges;
use crate::diff::{FieldPath, Former};
use crate::history::{self, Record};
use crate::model::{ObjectKey, ReleaseKey};

/// What is to be done for a release.
#[derive(Debug)]
pub enum Work {
    /// Nothing.
    Nothing,
    /// A new revision.
    Deploy(Box<Deploy>),
    /// The newest record is all that is missing.
    Seal(Box<Seal>),
    /// The last good revision is restored.
    GoBack(Box<GoBack>),
    /// Removal.
    Uninstall(Box<Uninstall>),
    /// The marks of the owner go.
    Disown(Box<Disown>),
    /// The marks of another owner come.
    Own(Box<Own>),
}

/// Whether a revision is the first that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeployKind {
    /// Install hooks run; the record starts as `pending-install`.
    Install,
    /// Upgrade hooks run; the record starts as `pending-upgrade`.
    Upgrade,
    /// Rollback hooks run; the record starts as `pending-rollback`, and is that of an earlier revision again.
    Rollback,
}

impl DeployKind {
    /// Returns the events of the chart's hooks that run before and after. Source: Helm `pkg/release/v1/hook.go`.
    pub fn events(self) -> [&'static str; 2] {
        match self {
            DeployKind::Install => ["pre-install", "post-install"],
            DeployKind::Upgrade => ["pre-upgrade", "post-upgrade"],
            DeployKind::Rollback => ["pre-rollback", "post-rollback"],
        }
    }
}

/// A new revision.
#[derive(Debug)]
pub struct Deploy {
    /// Which hooks run.
    pub kind: DeployKind,
    /// The record to write first; its status says pending.
    pub record: history::Release,
    /// The labels of the record besides Helm's own.
    pub labels: BTreeMap<String, String>,
    /// The annotations of the record.
    pub annotations: BTreeMap<String, String>,
    /// The record of an operation that was interrupted: it is settled first, if it is still as it was.
    pub interrupted: Option<Record>,
    /// How it is settled.
    pub interrupted_as: SettledAs,
    /// Records that say deployed or uninstalled now and become superseded at the end.
    pub superseded: Vec<Record>,
    /// Records beyond the history limit, removed at the end.
    pub forgotten: Vec<Record>,
    /// The records of the name that the release had before, removed when everything has the new one.
    pub retired: Vec<Record>,
    /// Custom resource definitions, created before everything else.
    pub crds: Vec<Apply>,
    /// The objects, wave by wave, in Helm's install order.
    pub applies: Vec<Apply>,
    /// What has to be ready before an object is applied.
    pub after: Edges,
    /// Objects that the chart no longer has, removed in reverse after the others are ready.
    pub prunes: Vec<Delete>,
    /// Objects that the release no longer has because they became hooks: removed when the hook is created.
    pub handed: Vec<Delete>,
    /// What has to be gone before an object is pruned.
    pub gone: Edges,
    /// Whether chart hooks run.
    pub run_hooks: bool,
    /// The hooks of the file.
    pub file_hooks: FileHooks,
    /// Whether the chart's tests run at the end.
    pub test: bool,
    /// Whether readiness is waited for.
    pub wait: bool,
    /// The longest time for hooks, readiness and replacement, each.
    pub timeout: Duration,
    /// What is done if it fails.
    pub rollback: Option<Rollback>,
}

/// How the record of an operation that was interrupted is settled before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledAs {
    /// Failed.
    Failed,
    /// Failed, and immutable from then on, so that whoever left it can no longer write it.
    Fenced,
    /// Deployed: it came to its end, and another revision follows.
    Deployed,
}

/// The way back from an operation that was interrupted.
#[derive(Debug)]
pub struct GoBack {
    /// The record that it left, as it is now.
    pub record: Record,
    /// How that is settled.
    pub settled_as: SettledAs,
    /// What restores the last good revision.
    pub rollback: Rollback,
}

/// The end of an operation that was interrupted before its last write.
#[derive(Debug)]
pub struct Seal {
    /// The record, as it is now: it says pending, or deployed like others.
    pub record: Record,
    /// Records that say deployed now and become superseded.
    pub superseded: Vec<Record>,
    /// Objects that have to be ready first.
    pub ready: Vec<ObjectKey>,
    /// The longest time for that.
    pub timeout: Duration,
}

/// The way back to the last good revision. It replaces nothing and deletes nothing.
#[derive(Debug)]
pub struct Rollback {
    /// The revision that is restored.
    pub to: u64,
    /// The record to write first; its status says pending.
    pub record: history::Release,
    /// The labels of the record besides Helm's own.
    pub labels: BTreeMap<String, String>,
    /// Records that say deployed now and become superseded at the end.
    pub superseded: Vec<Record>,
    /// The objects as they are recorded, wave by wave, in Helm's install order.
    pub applies: Vec<Apply>,
    /// What has to be ready before an object is applied.
    pub after: Edges,
    /// Objects that the new revision deletes and re-creates: changing them back would take that once more.
    pub left_out: Vec<ObjectKey>,
    /// Objects that only the new revision makes: they stay.
    pub stays: Vec<ObjectKey>,
    /// Whether chart hooks run.
    pub run_hooks: bool,
    /// Whether readiness is waited for.
    pub wait: bool,
    /// Whether broken pods of the failed revision that StatefulSets wait for are deleted.
    pub unstick: bool,
    /// The longest time for hooks and readiness, each.
    pub timeout: Duration,
}

/// An object to apply.
#[derive(Debug)]
pub struct Apply {
    /// The object.
    pub key: ObjectKey,
    /// What to send.
    pub body: Json,
    /// How.
    pub mode: ApplyMode,
}

/// How an object is applied.
#[derive(Debug)]
pub enum ApplyMode {
    /// It does not exist.
    Create,
    /// It exists with this uid.
    Update {
        /// The uid that must still be there.
        uid: String,
        /// The rewrite of `managedFields` that comes first.
        fold: Option<Fold>,
    },
    /// It is as desired: nothing is sent, but readiness counts it.
    Unchanged,
    /// It cannot be known whether it exists: what comes before it arrives in this run.
    Either,
    /// The one with this uid is going: it is waited for, and then the object is created.
    AfterGone {
        /// The uid of the one that is going.
        uid: String,
    },
    /// It is deleted and created again.
    Replace(Box<Replace>),
}

/// A deletion that is followed by a creation.
#[derive(Debug)]
pub struct Replace {
    /// The uid to delete.
    pub uid: String,
    /// The permission.
    pub permit: Permit,
    /// What happens to the dependents.
    pub dependents: Dependents,
    /// What the server said to the same object under a fresh name.
    pub probe: Probe,
    /// What goes with it.
    pub lost: Vec<Lost>,
    /// Claims that are grown before.
    pub grow: Vec<Grow>,
    /// Whether pods that outlive it are replaced one by one afterwards, because they lack a volume.
    pub replace_pods: bool,
}

/// A claim that is grown.
#[derive(Clone, Debug)]
pub struct Grow {
    /// The claim.
    pub claim: ObjectKey,
    /// The uid that must still be there.
    pub uid: String,
    /// The size that it asks for now.
    pub from: String,
    /// The size that it will ask for.
    pub to: String,
}

/// A rewrite of field ownership: everything that client-side Helm, or who made the object, owns becomes part of the
/// apply entry.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The object as it was planned with, without what the server keeps for itself: the rewrite holds for an object
    /// that is still the same, whatever its status and resource version are by now.
    pub content: Json,
    /// Fields that nobody owns and nobody sends any more: they become part of the apply entry too, so that the apply
    /// that follows removes them.
    pub claims: Vec<FieldPath>,
    /// Whose fields become part of it.
    pub from: Vec<Former>,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They go, after the object.
    Background,
    /// They stay, and the re-created object adopts them.
    Orphan,
}

/// An object to remove.
#[derive(Debug)]
pub struct Delete {
    /// The object.
    pub key: ObjectKey,
    /// The uid to delete.
    pub uid: String,
    /// What happens to the dependents.
    pub dependents: Dependents,
    /// What goes with it.
    pub lost: Vec<Lost>,
    /// The permission; only what holds data needs one.
    pub permit: Option<Permit>,
}

/// The end of an ownership: the release stays as it is and belongs to nobody.
#[derive(Debug)]
pub struct Disown {
    /// The release.
    pub key: ReleaseKey,
    /// The newest record, which says who the owner is.
    pub latest: Record,
}

/// A new owner: the release stays as it is.
#[derive(Debug)]
pub struct Own {
    /// The release.
    pub key: ReleaseKey,
    /// Its records with the labels to write, the newest one last: until then the old owner has it.
    pub records: Vec<Record>,
}

/// A removal.
#[derive(Debug)]
pub struct Uninstall {
    /// The release.
    pub key: ReleaseKey,
    /// The newest record: its hooks run, and it is marked first.
    pub latest: Record,
    /// Every record.
    pub records: Vec<Record>,
    /// The objects, the last wave first, in Helm's uninstall order.
    pub deletes: Vec<Delete>,
    /// What has to be gone before an object is removed.
    pub after: Edges,
    /// Whether chart hooks run.
    pub run_hooks: bool,
    /// The hooks of the file.
    pub file_hooks: FileHooks,
    /// The longest time for hooks and for the objects to be gone, each.
    pub timeout: Duration,
}
