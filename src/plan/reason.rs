//! Why a release or an object is treated as it is.
//!
//! A reason is data with a stable code; its sentence is made here and nowhere else. Values of Secrets are
//! masked before they get here.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::model::{ObjectKey, ReleaseKey};
use crate::text::plural;

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
    /// The server would change these fields.
    Changed { fields: Vec<String> },
    /// Fields of another manager are taken over.
    FieldsTaken { manager: String, fields: Vec<String> },
    /// Entries that client-side Helm left are folded into ours first, so that dropped fields go.
    OwnershipFolded { fields: Vec<String> },
    /// The object is in an older manifest of the release and no longer in this one.
    LeftManifest,
    /// The object stays, because it says `helm.sh/resource-policy: keep`.
    KeptByPolicy,
    /// The object is not there any more.
    AlreadyGone,
    /// The server refuses to change a field of the object.
    /// `app` is nothing where no `force` helps.
    Immutable { object: ObjectKey, field: String, from: String, to: String, app: Option<String> },
    /// As [`Reason::Immutable`], and the release says `force`.
    ReplaceForced { object: ObjectKey, field: String },
    /// The object holds data or other objects: it is never deleted to be created again.
    NeverReplaced { object: ObjectKey },
    /// The server would refuse the object.
    RefusedByServer { object: ObjectKey, kind: RefusalKind, message: String },
    /// The object cannot be checked before something else exists.
    KnownAfterApply { object: ObjectKey, arrives: String },
    /// The server could not tell.
    Unverified { object: ObjectKey, message: String },
    /// Something that the decision rests on could not be read.
    Unreadable { what: String, message: String },
    /// The chart cannot be loaded or rendered.
    NotRendered { message: String },
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
    /// The object exists and belongs to something else.
    NotOurs { object: ObjectKey, owner: String },
    /// Removal is withheld, because it is not certain that the release is unwanted.
    RemovalWithheld { message: String },
    /// Definitions of the chart's `crds` folder change.
    CrdsChange,
    /// More releases left the file than one run may remove.
    TooManyRemovals { count: usize, limit: usize },
    /// A definition of the `crds` folder exists; Helm leaves it alone.
    CrdExists,
    /// An object that the release no longer has holds data, or other objects, and stays.
    DataKept { object: ObjectKey },
    /// Replacing the StatefulSet would delete its claims.
    ClaimsWouldGo { object: String },
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
    /// A controller owns the object.
    OwnedByObject { object: ObjectKey, owner: String },
    /// Nothing shows that the release made the object.
    NoTrace { object: ObjectKey },
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
            Reason::Changed { .. } => "changed",
            Reason::FieldsTaken { .. } => "fields-taken",
            Reason::OwnershipFolded { .. } => "ownership-folded",
            Reason::LeftManifest => "left-manifest",
            Reason::KeptByPolicy => "kept-by-policy",
            Reason::AlreadyGone => "already-gone",
            Reason::Immutable { .. } => "immutable",
            Reason::ReplaceForced { .. } => "replace-forced",
            Reason::NeverReplaced { .. } => "never-replaced",
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
            Reason::NotRendered { .. } => "not-rendered",
            Reason::Pending { .. } => "pending",
            Reason::RecordUnreadable { .. } => "record-unreadable",
            Reason::OtherContext { .. } => "other-context",
            Reason::NobodysRelease { .. } => "nobodys-release",
            Reason::Adopted => "adopted",
            Reason::NotOurs { .. } => "not-ours",
            Reason::RemovalWithheld { .. } => "removal-withheld",
            Reason::CrdsChange => "crds-change",
            Reason::TooManyRemovals { .. } => "too-many-removals",
            Reason::CrdExists => "crd-exists",
            Reason::DataKept { .. } => "data-kept",
            Reason::ClaimsWouldGo { .. } => "claims-would-go",
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
            Reason::OwnedByObject { .. } => "owned-by-object",
            Reason::NoTrace { .. } => "no-trace",
        }
    }

    /// Returns the object that the reason is about, if it is about one.
    pub fn object(&self) -> Option<&ObjectKey> {
        match self {
            Reason::ObjectMissing { object }
            | Reason::Drifted { object, .. }
            | Reason::Immutable { object, .. }
            | Reason::ReplaceForced { object, .. }
            | Reason::NeverReplaced { object }
            | Reason::DataKept { object }
            | Reason::BeingDeleted { object }
            | Reason::AppliedTwice { object, .. }
            | Reason::RefusedByServer { object, .. }
            | Reason::KnownAfterApply { object, .. }
            | Reason::Unverified { object, .. }
            | Reason::OwnedByObject { object, .. }
            | Reason::NoTrace { object }
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
            | Reason::Changed { .. }
            | Reason::FieldsTaken { .. }
            | Reason::OwnershipFolded { .. }
            | Reason::LeftManifest
            | Reason::KeptByPolicy
            | Reason::AlreadyGone
            | Reason::Unreadable { .. }
            | Reason::NotRendered { .. }
            | Reason::Pending { .. }
            | Reason::RecordUnreadable { .. }
            | Reason::OtherContext { .. }
            | Reason::NobodysRelease { .. }
            | Reason::Adopted
            | Reason::RemovalWithheld { .. }
            | Reason::CrdsChange
            | Reason::EndedAndGone
            | Reason::TooManyRemovals { .. }
            | Reason::CrdExists
            | Reason::ClaimsWouldGo { .. }
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

    /// Returns the field that the reason is about, if it is about exactly one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Reason::Immutable { field, .. } | Reason::ReplaceForced { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Returns the line or command that gets past this reason, where there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Reason::Immutable { app: Some(app), .. } => {
                Some(format!("to delete and re-create it, write `force = true` in [apps.{app}]"))
            }
            Reason::NobodysRelease { app, .. } => {
                Some(format!("to take it over, write `adopt = \"unowned\"` in [apps.{app}]"))
            }
            Reason::Pending { status, .. } => Some(match status.as_str() {
                "uninstalling" => "wait until it ends; if its process is gone, `helm uninstall` finishes it".to_owned(),
                "pending-install" => {
                    "wait until it ends; if its process is gone, `helm uninstall` removes what it left".to_owned()
                }
                _ => "wait until it ends; if its process is gone, `helm rollback` to the last good revision".to_owned(),
            }),
            Reason::RecordUnreadable { record, .. } => {
                Some(format!("look at the Secret {record}; once it is repaired or removed, plan again"))
            }
            Reason::OtherContext { owner, .. } => {
                Some(format!("remove the app here, or manage it in the file whose context is `{owner}`"))
            }
            Reason::NotOurs { owner, .. } if owner == "no release" => Some(
                "to take it over, write `adopt = \"unowned\"` in the app; else rename the object, or remove it".to_owned(),
            ),
            Reason::NotOurs { .. } => Some("rename the object, or remove it where it is managed now".to_owned()),
            Reason::BeingDeleted { .. } => {
                Some("plan again when it is gone; `kubectl get -o yaml` shows the finalizers that hold it".to_owned())
            }
            Reason::AppliedTwice { .. } => Some("let one release have it, or give it another name".to_owned()),
            Reason::ClaimsWouldGo { .. } => {
                Some("set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain first".to_owned())
            }
            Reason::TooManyRemovals { .. } => {
                Some("if they are all meant to go, add `--allow-prune`".to_owned())
            }
            Reason::MoveDeletes { app, .. } => Some(format!(
                "keep the names of the objects (many charts: `fullnameOverride`), or write `force = [\"move\"]` in [apps.{app}]"
            )),
            Reason::LooksLikeMove { from, to, .. } => Some(format!(
                "if it was renamed, write [[moved]] with `from = \"{from}\"` and `to = \"{to}\"`; if not, add `--really-new`"
            )),
            Reason::AsksOnRemove { release } => Some(format!(
                "to uninstall {release}, put its entry back with `enabled = false`; to keep it, put it back as it was"
            )),
            Reason::NeverReplaced { .. } => {
                Some("undo the change, or move the data to an object with another name".to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unchanged { objects: 1 } => f.write_str("1 object is as desired"),
            Reason::Unchanged { objects } => write!(f, "all {objects} objects are as desired"),
            Reason::NotInstalled => f.write_str("not installed yet"),
            Reason::OnlyHistory { revision } => {
                write!(f, "uninstalled, only its history up to revision {revision} is kept")
            }
            Reason::Disabled => f.write_str("disabled in the file, and not installed"),
            Reason::DisabledInFile => f.write_str("`enabled = false` in the file"),
            Reason::LeftFile { context } => {
                write!(f, "belongs to context `{context}` and is no longer in the file")
            }
            Reason::DestroyAsked => f.write_str("destroy was asked for"),
            Reason::Protected { by, withheld } => write!(f, "{by} is protected; withheld: {withheld}"),
            Reason::ChartChanged { from, to } => write!(f, "chart changes from {from} to {to}"),
            Reason::VersionChanged { from, to } => write!(f, "chart version {from} becomes {to}"),
            Reason::ValuesChanged { keys } if keys.is_empty() => f.write_str("values change"),
            Reason::ValuesChanged { keys } => write!(f, "values change: {}", list(keys)),
            Reason::ManifestChanged { changed, added, removed } => {
                write!(f, "manifest changes: {changed} changed, {added} added, {removed} removed")
            }
            Reason::HooksChanged => f.write_str("hooks change"),
            Reason::LastFailed { revision, description } => {
                write!(f, "revision {revision} failed: {}", first_line(description))
            }
            Reason::ObjectMissing { object } => write!(f, "{object} is missing in the cluster"),
            Reason::Drifted { object, fields } => {
                write!(f, "{object} was changed in the cluster: {}", list(fields))
            }
            Reason::Proven { fields } => write!(
                f,
                "as desired: {} of the live object have the value that would be applied, and no other field is \
                 owned, so the server was not asked",
                plural(*fields, "field"),
            ),
            Reason::Created => f.write_str("does not exist yet"),
            Reason::Changed { fields } => write!(f, "changes {}", list(fields)),
            Reason::FieldsTaken { manager, fields } => {
                write!(f, "takes {} from field manager `{manager}`", list(fields))
            }
            Reason::OwnershipFolded { fields } if fields.is_empty() => {
                f.write_str("takes over the field ownership that client-side Helm left")
            }
            Reason::OwnershipFolded { fields } => {
                write!(
                    f,
                    "takes over the field ownership that client-side Helm left; goes with it: {}",
                    list(fields)
                )
            }
            Reason::LeftManifest => f.write_str("no longer in the chart's output"),
            Reason::KeptByPolicy => f.write_str("stays: `helm.sh/resource-policy: keep`"),
            Reason::AlreadyGone => f.write_str("is gone already"),
            Reason::Immutable { object, field, from, to, .. } => {
                write!(f, "{object}: field {field} is immutable: {from} → {to}")
            }
            Reason::ReplaceForced { object, field } => {
                write!(f, "{object} is deleted and re-created (`force`), because field {field} is immutable")
            }
            Reason::NeverReplaced { object } => {
                write!(f, "{object} is never deleted to be re-created: data would go with it")
            }
            Reason::RefusedByServer { object, message, .. } => {
                write!(f, "{object} would be refused: {}", first_line(message))
            }
            Reason::KnownAfterApply { object, arrives } => {
                write!(f, "{object} is checked when it is applied: {arrives} arrives in this run")
            }
            Reason::Unverified { object, message } => {
                write!(f, "{object} could not be checked: {}", first_line(message))
            }
            Reason::Unreadable { what, message } => {
                write!(f, "{what} cannot be read: {}", first_line(message))
            }
            Reason::NotRendered { message } => f.write_str(message.trim_end()),
            Reason::Pending { revision, status, since } => {
                write!(
                    f,
                    "revision {revision} is {status} since {since}: another operation is under way or was killed"
                )
            }
            Reason::RecordUnreadable { record, message } => {
                write!(f, "the newest record {record} cannot be read: {}", first_line(message))
            }
            Reason::OtherContext { owner, context } => {
                write!(f, "belongs to context `{owner}`, not to `{context}`")
            }
            Reason::NobodysRelease { context, .. } => {
                write!(f, "exists and does not carry the label of context `{context}`")
            }
            Reason::Adopted => f.write_str("exists without a label and is taken over (`adopt`)"),
            Reason::NotOurs { object, owner } => write!(f, "{object} exists and belongs to {owner}"),
            Reason::RemovalWithheld { message } => write!(f, "not removed: {message}"),
            Reason::CrdsChange => f.write_str("custom resource definitions of the chart change"),
            Reason::TooManyRemovals { count, limit } => {
                write!(f, "{count} releases left the file, and one run removes at most {limit} (`maxPrune`)")
            }
            Reason::CrdExists => f.write_str("exists; definitions of the `crds` folder are never changed"),
            Reason::DataKept { object } => {
                write!(f, "{object} is no longer in the chart's output, and stays: data would go with it")
            }
            Reason::ClaimsWouldGo { object } => write!(
                f,
                "StatefulSet {object} cannot be deleted: its claims, and the data, would go with it \
                 (persistentVolumeClaimRetentionPolicy.whenDeleted)"
            ),
            Reason::BeingDeleted { object } => write!(f, "{object} is being deleted, and not gone yet"),
            Reason::AppliedTwice { object, by } => write!(f, "{object} is also applied by {by}"),
            Reason::EndedAndGone => f.write_str("ended, and was removed by its own time to live"),
            Reason::WaitsForBlocked { release } => write!(f, "waits for {release}, which is blocked"),
            Reason::MovedFrom { from } => write!(f, "was {from} before, and takes over its objects"),
            Reason::MoveFromBusy { from, why } => write!(f, "cannot take over from {from}: {why}"),
            Reason::MoveDeletes { from, objects, .. } if objects.is_empty() => {
                write!(f, "{from} is in another namespace: its objects would be made anew there")
            }
            Reason::MoveDeletes { from, objects, .. } => {
                write!(f, "taking over from {from} would delete {}", list(objects))
            }
            Reason::LooksLikeMove { from, to, shared } => {
                write!(f, "{to} would be installed and {from} uninstalled, and they look like one release")?;
                match shared {
                    Some(object) => write!(f, ": same chart, and both have {object}"),
                    None => f.write_str(": same chart, same name"),
                }
            }
            Reason::OnRemoveChanged => f.write_str("`onRemove` changes"),
            Reason::OrphanedOnRemove => {
                f.write_str("stays as it is and belongs to nobody from now on (`onRemove = \"orphan\"`)")
            }
            Reason::AsksOnRemove { release } => {
                write!(f, "{release} left the file, and was applied with `onRemove = \"ask\"`")
            }
            Reason::OwnedByObject { object, owner } => {
                write!(f, "{object} belongs to {owner}, which removes it or not")
            }
            Reason::NoTrace { object } => {
                write!(
                    f,
                    "{object} carries the marks of the release, but no field of it was set by Helm or statectl"
                )
            }
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
        if let Reason::Immutable { from, to, .. } = self {
            map.serialize_entry("from", from)?;
            map.serialize_entry("to", to)?;
        }
        if let Some(remedy) = self.remedy() {
            map.serialize_entry("remedy", &remedy)?;
        }
        map.end()
    }
}

/// Names up to three items and counts the rest.
fn list(items: &[String]) -> String {
    let shown = items.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(3) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
