//! Why a release or an object is treated as it is.
//!
//! A reason is data with a stable code; its sentence is made here and nowhere else. Values of Secrets are
//! masked before they get here.

mod known;
mod remedy;
mod text;

pub use known::{KnownReason, known_reasons};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::loss::Lost;
use super::recover;
use super::recover::Interrupted;
use crate::model::{ObjectKey, ReleaseKey};

/// Data, or other objects, that would go with an object, and the keys that are missing for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAtRisk {
    /// The object.
    pub object: ObjectKey,
    /// What would go.
    pub lost: Vec<Lost>,
    /// The entry of the release; nothing for one that left the file.
    pub app: Option<String>,
    /// The kind of `force` that is missing.
    pub force: Option<&'static str>,
    /// The entry of `allowDataLoss` that is missing.
    pub entry: Option<String>,
}

impl DataAtRisk {
    /// Returns the lines to write, where there is an entry to write them in.
    fn remedy(&self) -> Option<String> {
        let app = self.app.as_ref()?;
        let force = self.force.map(|kind| format!("`force = [\"{kind}\"]`"));
        let entry = self.entry.as_ref().map(|entry| format!("`allowDataLoss = [\"{entry}\"]`"));
        let lines: Vec<String> = force.into_iter().chain(entry).collect();
        Some(format!("if that is meant, write {} in [apps.{app}]", lines.join(" and ")))
    }
}

/// A reason for a decision. Every decision has at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the variant's sentence says")]
pub enum Reason {
    /// Desired, recorded and live state agree.
    Unchanged { objects: usize },
    /// The live object has every field that would be applied, and our apply owns exactly these.
    Proven { fields: usize },
    /// There is no record of the release.
    NotInstalled,
    /// The release was uninstalled and only its history is kept.
    OnlyHistory { revision: u64 },
    /// `enabled = false`, and nothing is there.
    Disabled,
    /// `enabled = false`, and the release is there.
    DisabledInFile,
    /// The release belongs to this context and is no longer in the file.
    LeftFile { context: String },
    /// `destroy` was asked for.
    DestroyAsked,
    /// The release or its namespace is protected; what would have happened is withheld.
    Protected { by: String, withheld: String },
    /// Another chart.
    ChartChanged { from: String, to: String },
    /// Another version of the chart.
    VersionChanged { from: String, to: String },
    /// Other values.
    ValuesChanged { keys: Vec<String> },
    /// The rendered objects differ from the recorded ones.
    ManifestChanged { changed: usize, added: usize, removed: usize },
    /// The hooks differ from the recorded ones.
    HooksChanged,
    /// The last revision failed.
    LastFailed { revision: u64, description: String },
    /// An object that should be there is not.
    ObjectMissing { object: ObjectKey },
    /// A live object differs from what is recorded and desired.
    Drifted { object: ObjectKey, fields: Vec<String> },
    /// The server would create the object.
    Created,
    /// An interrupted uninstall has deleted the object; it is created when the old one is gone.
    CreatedAfterGone,
    /// The object is applied as the last good revision has it.
    Restored { revision: u64 },
    /// The server would change these fields.
    Changed { fields: Vec<String> },
    /// Fields of another manager are taken over.
    FieldsTaken { manager: String, fields: Vec<String> },
    /// Entries that client-side Helm, or who made the object, left are folded into ours first, so that dropped fields
    /// go.
    OwnershipFolded { managers: Vec<String>, fields: Vec<String> },
    /// Fields are left out of what is applied, because this manager has them.
    FieldsLeft { manager: String, fields: Vec<String> },
    /// The number of replicas is left to an autoscaler.
    LeftToAutoscaler { fields: Vec<String> },
    /// Others own fields of the manifest with the same values.
    FieldsShared { count: usize },
    /// Fields of another manager stay on an object that is taken over.
    ForeignFieldsStay { manager: String, fields: Vec<String> },
    /// Another manager owns the field with another value, and must not lose it.
    FieldConflict {
        object: ObjectKey,
        field: String,
        manager: String,
        live: String,
        desired: String,
        app: String,
    },
    /// The object exists, and is made only once.
    CreateOnly,
    /// The field was taken back from this manager so often that it makes no sense to go on.
    Flapping { object: ObjectKey, field: String, manager: String, times: u32, app: String },
    /// Pods go on with configuration that changes.
    StaleConfig { object: ObjectKey, configs: Vec<String>, app: String },
    /// The object is in an older manifest of the release and no longer in this one.
    LeftManifest,
    /// The release goes, and the object with it.
    GoesWithRelease,
    /// The object stays, because it says `helm.sh/resource-policy: keep`.
    KeptByPolicy,
    /// The object is not there any more.
    AlreadyGone,
    /// The server refuses to change a field of the object.
    /// `app` is nothing where `force` alone does not help; `stays` if pods and claims would outlive it.
    Immutable { object: ObjectKey, field: String, from: String, to: String, app: Option<String>, stays: bool },
    /// As [`Reason::Immutable`], and the release says `force`.
    ReplaceForced { object: ObjectKey, field: String, stays: bool },
    /// Data, or other objects, would go with the object, and not both keys say that they may.
    DataWouldGo(DataAtRisk),
    /// Data, or other objects, go with the object, as both keys say.
    DataGoes { object: ObjectKey, lost: Vec<Lost> },
    /// The new form of a definition takes fields or versions from objects that exist. `app` is the entry in which
    /// `allowDataLoss` is missing; nothing where the definition is changed all the same.
    DefinitionNarrows {
        object: ObjectKey,
        changes: Vec<String>,
        lost: Result<Vec<Lost>, String>,
        app: Option<String>,
    },
    /// Claims that a StatefulSet made are grown before it is re-created.
    ClaimsGrow { object: ObjectKey, claims: Vec<String> },
    /// Pods that lack a new volume are replaced one by one.
    PodsReplaced { object: ObjectKey, claims: Vec<String> },
    /// A field that the manifest no longer sets, and that cannot change, keeps its value.
    FieldKept { object: ObjectKey, fields: Vec<String> },
    /// Fields that nobody sends any more are removed first.
    LeftoversGo { fields: Vec<String> },
    /// The server accepts the change of these fields and does not make it.
    NoEffect { object: ObjectKey, fields: Vec<String> },
    /// The server would refuse the object.
    RefusedByServer { object: ObjectKey, kind: RefusalKind, message: String },
    /// The object cannot be checked before something else exists.
    KnownAfterApply { object: ObjectKey, arrives: String },
    /// The server could not tell.
    Unverified { object: ObjectKey, message: String },
    /// Something that the decision rests on could not be read.
    Unreadable { what: String, message: String },
    /// The objects of the release cannot be put in an order that keeps what they say about it.
    NoOrder { message: String },
    /// The chart cannot be loaded or rendered.
    NotRendered { message: String },
    /// An operation did not come to its end.
    Interrupted(Box<Interrupted>),
    /// Another operation is under way, or was killed.
    Pending { revision: u64, status: String, since: String },
    /// The newest record cannot be decoded.
    RecordUnreadable { record: String, message: String },
    /// The release belongs to another desired-state file.
    OtherContext { owner: String, context: String },
    /// The release carries nobody's label.
    NobodysRelease { context: String, app: String },
    /// As [`Reason::NobodysRelease`], and the app says `adopt`.
    Adopted,
    /// The release gets the label of this context.
    ChangesOwner { from: Option<String>, context: String },
    /// It has that label.
    AlreadyOurs { context: String },
    /// The object exists and belongs to something else.
    NotOurs { object: ObjectKey, owner: String },
    /// As [`Reason::NotOurs`], and `adopt` has done its work before the object came.
    AdoptionSpent { object: ObjectKey, owner: String, release: ReleaseKey, revision: u64 },
    /// Another release of the file has the object now.
    MovesTo { object: ObjectKey, release: ReleaseKey },
    /// Removal is withheld, because it is not certain that the release is unwanted.
    RemovalWithheld { message: String },
    /// Definitions of the chart's `crds` folder change.
    CrdsChange,
    /// More releases left the file than one run may remove.
    TooManyRemovals { count: usize, limit: usize },
    /// A definition of the `crds` folder exists; Helm leaves it alone.
    CrdExists,
    /// An object that the release no longer has holds data, or other objects, and stays.
    DataKept(DataAtRisk),
    /// The object is being deleted: nothing applied to it would last.
    BeingDeleted { object: ObjectKey },
    /// Another release of the same run applies the object, or this one does so twice.
    AppliedTwice { object: ObjectKey, by: String },
    /// A Job that ended was removed by its own `ttlSecondsAfterFinished`.
    EndedAndGone,
    /// A release that this one waits for is blocked.
    WaitsForBlocked { release: ReleaseKey },
    /// The release had another name before.
    MovedFrom { from: ReleaseKey },
    /// The release under its old name is not in a state to be moved.
    MoveFromBusy { from: ReleaseKey, why: String },
    /// Moving would delete objects of the old name, or make them anew in another namespace.
    MoveDeletes { from: ReleaseKey, objects: Vec<String>, app: String },
    /// One release would go and one would come, and they look like the same one.
    LooksLikeMove { from: ReleaseKey, to: ReleaseKey, shared: Option<String> },
    /// `onRemove` differs from what is stored with the release.
    OnRemoveChanged,
    /// The release left the file, and was applied with `onRemove = "orphan"`.
    OrphanedOnRemove,
    /// The release left the file, and was applied with `onRemove = "ask"`.
    AsksOnRemove { release: ReleaseKey },
    /// The object would go, and what was not asked for may be in it.
    HoldsUnselected { object: ObjectKey },
    /// A controller owns the object.
    OwnedByObject { object: ObjectKey, owner: String },
    /// Nothing shows that the release made the object.
    NoTrace { object: ObjectKey },
    /// The object left the manifest and is a hook now: deleted and created anew by it, or changed by it if it holds data.
    BecomesHook { object: ObjectKey, event: String, stays: bool },
    /// An operation is pending, and such releases are left alone.
    PendingSkipped { revision: u64, status: String, since: String },
    /// The same input failed so often that a scheduled run leaves it.
    Held { failures: usize, app: String },
    /// The same input failed just before, and a reconciliation waits longer after each failure.
    BackingOff { failures: usize, until: String },
    /// The release needs more than the policy of the reconciliation allows.
    BeyondPolicy { policy: &'static str, why: String },
    /// A newer commit than that of the files was rolled out.
    OlderCommit { ours: String, theirs: String },
    /// `rollback` was asked for.
    RollbackAsked { revision: u64 },
    /// The file says what revision `left` says, and somebody went back from that one to `to`. A scheduled run does not undo
    /// it.
    RolledBack { left: u64, to: u64, held: bool, app: String },
    /// A program of the file would run, and nobody allowed that.
    ExecNotAllowed { what: String, command: String },
    /// A hook of the file cannot have its object.
    HookRefused { hook: String, object: ObjectKey, message: String },
    /// An object of the manifest is one of the chart's hooks as well.
    HookMeets { object: ObjectKey, event: String },
}

/// What stands behind a refusal that is not about an immutable field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// Validation or the schema.
    Invalid,
    /// A webhook, a policy or a missing right.
    Denied,
    /// A quota or limit.
    Quota,
    /// A webhook that does not answer.
    Webhook,
    /// A field that another manager owns.
    Conflict,
    /// A field that the object keeps from an older apply and that nobody sends any more.
    Leftover,
}

impl Reason {
    /// Returns the stable code: machines match on it.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Unchanged { .. } => "unchanged",
            Reason::NotInstalled => "not-installed",
            Reason::OnlyHistory { .. } => "only-history",
            Reason::Disabled => "disabled",
            Reason::DisabledInFile => "disabled-in-file",
            Reason::LeftFile { .. } => "left-file",
            Reason::DestroyAsked => "destroy-asked",
            Reason::Protected { .. } => "protected",
            Reason::ChartChanged { .. } => "chart-changed",
            Reason::VersionChanged { .. } => "version-changed",
            Reason::ValuesChanged { .. } => "values-changed",
            Reason::ManifestChanged { .. } => "manifest-changed",
            Reason::HooksChanged => "hooks-changed",
            Reason::LastFailed { .. } => "last-failed",
            Reason::ObjectMissing { .. } => "object-missing",
            Reason::Drifted { .. } => "drifted",
            Reason::Proven { .. } => "proven",
            Reason::Created => "created",
            Reason::CreatedAfterGone => "created-after-gone",
            Reason::Restored { .. } => "restored",
            Reason::Changed { .. } => "changed",
            Reason::FieldsTaken { .. } => "fields-taken",
            Reason::OwnershipFolded { .. } => "ownership-folded",
            Reason::FieldsLeft { .. } => "fields-left",
            Reason::LeftToAutoscaler { .. } => "left-to-autoscaler",
            Reason::FieldsShared { .. } => "fields-shared",
            Reason::ForeignFieldsStay { .. } => "foreign-fields-stay",
            Reason::FieldConflict { .. } => "field-conflict",
            Reason::CreateOnly => "create-only",
            Reason::StaleConfig { .. } => "stale-config",
            Reason::Flapping { .. } => "flapping",
            Reason::LeftManifest => "left-manifest",
            Reason::GoesWithRelease => "goes-with-release",
            Reason::KeptByPolicy => "kept-by-policy",
            Reason::AlreadyGone => "already-gone",
            Reason::Immutable { .. } => "immutable",
            Reason::ReplaceForced { .. } => "replace-forced",
            Reason::DataWouldGo(_) => "data-would-go",
            Reason::DataGoes { .. } => "data-goes",
            Reason::DefinitionNarrows { .. } => "definition-narrows",
            Reason::ClaimsGrow { .. } => "claims-grow",
            Reason::PodsReplaced { .. } => "pods-replaced",
            Reason::FieldKept { .. } => "field-kept",
            Reason::LeftoversGo { .. } => "leftovers-go",
            Reason::NoEffect { .. } => "no-effect",
            Reason::RefusedByServer { kind, .. } => match kind {
                RefusalKind::Invalid => "invalid",
                RefusalKind::Denied => "denied",
                RefusalKind::Quota => "quota",
                RefusalKind::Webhook => "webhook",
                RefusalKind::Conflict => "conflict",
                RefusalKind::Leftover => "leftover",
            },
            Reason::KnownAfterApply { .. } => "known-after-apply",
            Reason::Unverified { .. } => "unverified",
            Reason::Unreadable { .. } => "unreadable",
            Reason::NoOrder { .. } => "no-order",
            Reason::NotRendered { .. } => "not-rendered",
            Reason::Interrupted(found) => recover::entry(found.row).code,
            Reason::Pending { .. } => "pending",
            Reason::RecordUnreadable { .. } => "record-unreadable",
            Reason::OtherContext { .. } => "other-context",
            Reason::NobodysRelease { .. } => "nobodys-release",
            Reason::Adopted => "adopted",
            Reason::ChangesOwner { .. } => "changes-owner",
            Reason::AlreadyOurs { .. } => "already-ours",
            Reason::NotOurs { .. } => "not-ours",
            Reason::AdoptionSpent { .. } => "adoption-spent",
            Reason::MovesTo { .. } => "moves-to",
            Reason::RemovalWithheld { .. } => "removal-withheld",
            Reason::CrdsChange => "crds-change",
            Reason::TooManyRemovals { .. } => "too-many-removals",
            Reason::CrdExists => "crd-exists",
            Reason::DataKept(_) => "data-kept",
            Reason::BeingDeleted { .. } => "being-deleted",
            Reason::AppliedTwice { .. } => "applied-twice",
            Reason::EndedAndGone => "ended-and-gone",
            Reason::WaitsForBlocked { .. } => "waits-for-blocked",
            Reason::MovedFrom { .. } => "moved-from",
            Reason::MoveFromBusy { .. } => "move-from-busy",
            Reason::MoveDeletes { .. } => "move-deletes",
            Reason::LooksLikeMove { .. } => "looks-like-a-move",
            Reason::OnRemoveChanged => "on-remove-changed",
            Reason::OrphanedOnRemove => "orphaned",
            Reason::AsksOnRemove { .. } => "removal-asks",
            Reason::HoldsUnselected { .. } => "holds-unselected",
            Reason::OwnedByObject { .. } => "owned-by-object",
            Reason::NoTrace { .. } => "no-trace",
            Reason::BecomesHook { .. } => "becomes-hook",
            Reason::HookMeets { .. } => "hook-meets",
            Reason::ExecNotAllowed { .. } => "exec-not-allowed",
            Reason::PendingSkipped { .. } => "pending-skipped",
            Reason::Held { .. } => "held",
            Reason::BackingOff { .. } => "backing-off",
            Reason::BeyondPolicy { .. } => "beyond-policy",
            Reason::OlderCommit { .. } => "older-commit",
            Reason::RollbackAsked { .. } => "rollback-asked",
            Reason::RolledBack { .. } => "rolled-back",
            Reason::HookRefused { .. } => "hook-refused",
        }
    }

    /// Returns the object that the reason is about, if it is about one.
    pub fn object(&self) -> Option<&ObjectKey> {
        match self {
            Reason::ObjectMissing { object }
            | Reason::Drifted { object, .. }
            | Reason::Immutable { object, .. }
            | Reason::ReplaceForced { object, .. }
            | Reason::DataWouldGo(DataAtRisk { object, .. })
            | Reason::DataKept(DataAtRisk { object, .. })
            | Reason::DataGoes { object, .. }
            | Reason::DefinitionNarrows { object, .. }
            | Reason::ClaimsGrow { object, .. }
            | Reason::PodsReplaced { object, .. }
            | Reason::FieldKept { object, .. }
            | Reason::NoEffect { object, .. }
            | Reason::BeingDeleted { object }
            | Reason::AppliedTwice { object, .. }
            | Reason::RefusedByServer { object, .. }
            | Reason::KnownAfterApply { object, .. }
            | Reason::Unverified { object, .. }
            | Reason::HoldsUnselected { object }
            | Reason::OwnedByObject { object, .. }
            | Reason::NoTrace { object }
            | Reason::BecomesHook { object, .. }
            | Reason::HookMeets { object, .. }
            | Reason::HookRefused { object, .. }
            | Reason::FieldConflict { object, .. }
            | Reason::StaleConfig { object, .. }
            | Reason::Flapping { object, .. }
            | Reason::AdoptionSpent { object, .. }
            | Reason::MovesTo { object, .. }
            | Reason::NotOurs { object, .. } => Some(object),
            Reason::Unchanged { .. }
            | Reason::NotInstalled
            | Reason::OnlyHistory { .. }
            | Reason::Disabled
            | Reason::DisabledInFile
            | Reason::LeftFile { .. }
            | Reason::DestroyAsked
            | Reason::Protected { .. }
            | Reason::ChartChanged { .. }
            | Reason::VersionChanged { .. }
            | Reason::ValuesChanged { .. }
            | Reason::ManifestChanged { .. }
            | Reason::HooksChanged
            | Reason::LastFailed { .. }
            | Reason::Proven { .. }
            | Reason::Created
            | Reason::CreatedAfterGone
            | Reason::Restored { .. }
            | Reason::Changed { .. }
            | Reason::FieldsTaken { .. }
            | Reason::OwnershipFolded { .. }
            | Reason::FieldsLeft { .. }
            | Reason::LeftToAutoscaler { .. }
            | Reason::FieldsShared { .. }
            | Reason::ForeignFieldsStay { .. }
            | Reason::CreateOnly
            | Reason::LeftManifest
            | Reason::GoesWithRelease
            | Reason::KeptByPolicy
            | Reason::AlreadyGone
            | Reason::Unreadable { .. }
            | Reason::NoOrder { .. }
            | Reason::NotRendered { .. }
            | Reason::ExecNotAllowed { .. }
            | Reason::PendingSkipped { .. }
            | Reason::Held { .. }
            | Reason::BackingOff { .. }
            | Reason::BeyondPolicy { .. }
            | Reason::OlderCommit { .. }
            | Reason::RollbackAsked { .. }
            | Reason::RolledBack { .. }
            | Reason::Interrupted(_)
            | Reason::Pending { .. }
            | Reason::RecordUnreadable { .. }
            | Reason::OtherContext { .. }
            | Reason::NobodysRelease { .. }
            | Reason::Adopted
            | Reason::ChangesOwner { .. }
            | Reason::AlreadyOurs { .. }
            | Reason::RemovalWithheld { .. }
            | Reason::CrdsChange
            | Reason::EndedAndGone
            | Reason::TooManyRemovals { .. }
            | Reason::CrdExists
            | Reason::LeftoversGo { .. }
            | Reason::WaitsForBlocked { .. }
            | Reason::MovedFrom { .. }
            | Reason::MoveFromBusy { .. }
            | Reason::MoveDeletes { .. }
            | Reason::LooksLikeMove { .. }
            | Reason::OnRemoveChanged
            | Reason::OrphanedOnRemove
            | Reason::AsksOnRemove { .. } => None,
        }
    }

    /// Tells whether the reason is worth a line about an object with which nothing is done.
    pub fn is_notable(&self) -> bool {
        matches!(
            self,
            Reason::FieldsLeft { .. }
                | Reason::LeftToAutoscaler { .. }
                | Reason::CreateOnly
                | Reason::NoEffect { .. }
                | Reason::FieldKept { .. }
                | Reason::StaleConfig { .. }
        )
    }

    /// Returns the field that the reason is about, if it is about exactly one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Reason::Immutable { field, .. }
            | Reason::ReplaceForced { field, .. }
            | Reason::Flapping { field, .. }
            | Reason::FieldConflict { field, .. } => Some(field),
            Reason::NoEffect { fields, .. } | Reason::FieldKept { fields, .. } => match fields.as_slice() {
                [field] => Some(field),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", self.code())?;
        map.serialize_entry("message", &self.to_string())?;
        if let Some(object) = self.object() {
            map.serialize_entry("object", &object.short())?;
        }
        if let Some(field) = self.field() {
            map.serialize_entry("field", field)?;
        }
        if let Reason::Immutable { from, to, .. } | Reason::FieldConflict { live: from, desired: to, .. } =
            self
        {
            map.serialize_entry("from", from)?;
            map.serialize_entry("to", to)?;
        }
        match self {
            Reason::DataWouldGo(DataAtRisk { lost, .. })
            | Reason::DataKept(DataAtRisk { lost, .. })
            | Reason::DataGoes { lost, .. } => map.serialize_entry("lost", lost)?,
            Reason::FieldConflict { manager, .. }
            | Reason::FieldsLeft { manager, .. }
            | Reason::FieldsTaken { manager, .. }
            | Reason::ForeignFieldsStay { manager, .. } => map.serialize_entry("manager", manager)?,
            _ => {}
        }
        if let Some(remedy) = self.remedy() {
            map.serialize_entry("remedy", &remedy)?;
        }
        map.end()
    }
}
