//! Decides what happens to one object.

use serde_json::Value as Json;

use super::guard::{self, ImmutableChange, Permit};
use super::input::{ObservedObject, Remnant, ServerAnswer};
use super::reason::{Reason, RefusalKind};
use super::steps::{Apply, ApplyMode, Delete, Dependents, Fold};
use super::{ObjectAction, ObjectPlan};
use crate::diff::{self, DiffOptions, FieldPath, Masker, ObjectDiff, Problem, Proof, Verdict};
use crate::dsf::state::Adopt;
use crate::model::{
    FIELD_MANAGER, ObjectKey, RELEASE_NAME_ANNOTATION, RELEASE_NAMESPACE_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION, ReleaseKey,
};

/// Equal lines around a difference.
const CONTEXT_LINES: usize = 2;
/// Most lines of one object's difference.
const MOST_LINES: usize = 400;
/// Longest value that is shown in a reason.
const LONGEST_VALUE: usize = 80;

/// Whose objects are judged, and what the file allows for them.
pub(super) struct Owner {
    pub(super) release: ReleaseKey,
    pub(super) app: String,
    pub(super) forced: bool,
    pub(super) adopt: Adopt,
    /// The name that the release had before: its objects are taken over.
    pub(super) moved_from: Option<ReleaseKey>,
}

/// The decision about an object, with what execution does for it.
pub(super) struct Judged {
    pub(super) plan: ObjectPlan,
    pub(super) apply: Option<Apply>,
    pub(super) delete: Option<Delete>,
    /// What is done with an object that is as desired if its release changes anyway: client-side Helm owns fields of
    /// it, and what a chart drops of those would stay.
    fold: Option<(ApplyMode, Reason)>,
    /// Why the release is blocked.
    pub(super) refusals: Vec<Reason>,
    pub(super) warnings: Vec<String>,
}

impl Judged {
    fn new(key: &ObjectKey, action: ObjectAction, reasons: Vec<Reason>) -> Self {
        let plan = ObjectPlan { key: key.clone(), action, reasons, diff: None };
        Self { plan, apply: None, delete: None, fold: None, refusals: Vec::new(), warnings: Vec::new() }
    }

    /// Makes the decision that of a release that changes.
    pub(super) fn in_a_changing_release(mut self) -> Self {
        if let Some((mode, reason)) = self.fold.take() {
            self.plan.action = ObjectAction::Update;
            self.plan.reasons = vec![reason];
            if let Some(apply) = &mut self.apply {
                apply.mode = mode;
            }
        }
        self
    }

    fn refused(key: &ObjectKey, reasons: Vec<Reason>) -> Self {
        let refusals = reasons.clone();
        Self { refusals, ..Self::new(key, ObjectAction::Blocked, reasons) }
    }

    fn applying(mut self, object: &ObservedObject, mode: ApplyMode) -> Self {
        self.apply = Some(Apply { key: object.key.clone(), body: object.body.clone(), mode });
        self
    }

    fn showing(mut self, diff: ObjectDiff) -> Self {
        self.plan.diff = Some(diff);
        self
    }
}

/// Returns the decision about a desired object.
///
/// 1. Something that arrives in this run comes first: it is applied unchecked, and the plan says so.
/// 2. It belongs to somebody else: whatever the server would say, it is not touched.
/// 3. The server refuses: replaced with a permit, or blocked with the reason.
/// 4. The server accepts: created, changed, or left alone.
pub(super) fn object(
    object: &ObservedObject,
    owner: &Owner,
    recorded: Option<&Json>,
    masker: Masker<'_>,
) -> Judged {
    let key = &object.key;
    match &object.answer {
        ServerAnswer::Later { arrives } => {
            let reason = Reason::KnownAfterApply { object: key.clone(), arrives: arrives.clone() };
            return Judged::new(key, ObjectAction::Create, vec![reason]).applying(object, ApplyMode::Either);
        }
        ServerAnswer::Unknown { message } => {
            let reason = Reason::Unreadable { what: key.to_string(), message: message.clone() };
            return Judged::refused(key, vec![reason]);
        }
        ServerAnswer::Unasked { .. } | ServerAnswer::Accepted { .. } | ServerAnswer::Refused { .. } => {}
    }
    if let Some(stranger) = object.live.as_ref().and_then(|live| stranger(live, owner)) {
        return Judged::refused(key, vec![Reason::NotOurs { object: key.clone(), owner: stranger }]);
    }
    if object.live.as_ref().is_some_and(is_being_deleted) {
        return Judged::refused(key, vec![Reason::BeingDeleted { object: key.clone() }]);
    }
    match &object.answer {
        ServerAnswer::Unasked { proof } => proven(object, *proof),
        ServerAnswer::Refused { verdict } => refused(object, owner, verdict, masker),
        ServerAnswer::Accepted { result, warnings } => {
            let mut judged = accepted(object, owner, recorded, result, masker);
            judged.warnings = warnings.iter().map(|text| format!("{key}: {text}")).collect();
            judged
        }
        ServerAnswer::Later { .. } | ServerAnswer::Unknown { .. } => Judged::refused(key, Vec::new()),
    }
}

/// Returns the decision about an object that is as desired, which the live one proves.
fn proven(object: &ObservedObject, proof: Proof) -> Judged {
    let reason = Reason::Proven { fields: proof.fields };
    Judged::new(&object.key, ObjectAction::None, vec![reason]).applying(object, ApplyMode::Unchanged)
}

/// Returns the decision about a Job that has ended and was removed by its own time to live.
pub(super) fn ended_and_gone(object: &ObservedObject) -> Judged {
    Judged::new(&object.key, ObjectAction::None, vec![Reason::EndedAndGone])
}

/// Returns the decision about a definition of a chart's `crds` folder: created if it is missing, else left
/// alone, as Helm does.
pub(super) fn created_definition(object: &ObservedObject) -> Judged {
    if object.live.is_some() {
        return Judged::new(&object.key, ObjectAction::None, vec![Reason::CrdExists])
            .applying(object, ApplyMode::Unchanged);
    }
    Judged::new(&object.key, ObjectAction::Create, vec![Reason::Created]).applying(object, ApplyMode::Create)
}

/// Returns the decision about a definition of a chart's `crds` folder that is kept up to date. Definitions carry
/// no release's marks: they belong to all that use them.
pub(super) fn upgraded_definition(object: &ObservedObject, owner: &Owner, masker: Masker<'_>) -> Judged {
    let Some(live) = &object.live else { return created_definition(object) };
    let key = &object.key;
    match &object.answer {
        ServerAnswer::Accepted { result, .. } => {
            let diff = difference(Some(live), result, masker);
            if diff.is_empty() {
                return created_definition(object);
            }
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let reasons = vec![Reason::Changed { fields: diff.paths() }];
            Judged::new(key, ObjectAction::Update, reasons)
                .applying(object, ApplyMode::Update { uid, fold: None })
                .showing(diff)
        }
        ServerAnswer::Unasked { proof } => proven(object, *proof),
        ServerAnswer::Refused { verdict } => refused(object, owner, verdict, masker),
        ServerAnswer::Later { .. } | ServerAnswer::Unknown { .. } => {
            let message = "the server could not be asked about the new definition".to_owned();
            Judged::refused(key, vec![Reason::Unreadable { what: key.to_string(), message }])
        }
    }
}

/// Returns the decision about an object that the release no longer has. Only an object that carries this very
/// release's marks is removed, and none that holds data or other objects.
pub(super) fn remnant(remnant: &Remnant, release: &ReleaseKey) -> Judged {
    let key = &remnant.key;
    let Some(live) = &remnant.live else {
        return Judged::new(key, ObjectAction::None, vec![Reason::AlreadyGone]);
    };
    // Helm asks the live object when it upgrades, and the manifest when it uninstalls: either is enough.
    let policy = live["metadata"]["annotations"][RESOURCE_POLICY_ANNOTATION].as_str();
    if policy == Some("keep") || remnant.keep_in_manifest {
        return Judged::new(key, ObjectAction::Keep, vec![Reason::KeptByPolicy]);
    }
    match owner_of(live) {
        Some(owner) if owner == *release => {}
        owner => {
            let owner = owner.map_or_else(|| "no release".to_owned(), |owner| format!("release {owner}"));
            return Judged::new(
                key,
                ObjectAction::Keep,
                vec![Reason::NotOurs { object: key.clone(), owner }],
            );
        }
    }
    if let Some(reason) = not_ours_to_remove(key, live) {
        return Judged::new(key, ObjectAction::Keep, vec![reason]);
    }
    if guard::holds_data(key) {
        return Judged::new(key, ObjectAction::Keep, vec![Reason::DataKept { object: key.clone() }]);
    }
    if takes_its_claims(live) {
        return Judged::refused(key, vec![Reason::ClaimsWouldGo { object: key.name.clone() }]);
    }
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut judged = Judged::new(key, ObjectAction::Delete, vec![Reason::LeftManifest]);
    judged.delete = Some(Delete { key: key.clone(), uid });
    judged
}

/// Returns why an object with the marks of the release is left where it is: marks are copied with the manifest they
/// stand in, so they alone prove nothing.
fn not_ours_to_remove(key: &ObjectKey, live: &Json) -> Option<Reason> {
    let owners = live["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    if let Some(owner) = owners.into_iter().find(|owner| owner["controller"] == true) {
        let text = |member: &str| owner[member].as_str().unwrap_or_default().to_owned();
        let owner = format!("{}/{}", text("kind"), text("name"));
        return Some(Reason::OwnedByObject { object: key.clone(), owner });
    }
    let made = diff::managed_entries(live).into_iter().any(|entry| entry.owner.manager == FIELD_MANAGER);
    (!made).then(|| Reason::NoTrace { object: key.clone() })
}

fn is_being_deleted(live: &Json) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
}

/// Tells whether the claims of a StatefulSet are deleted with it.
fn takes_its_claims(live: &Json) -> bool {
    live["kind"] == "StatefulSet"
        && live["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"
}

/// Returns who an existing object belongs to, if that is not this release and the file does not say to take it.
fn stranger(live: &Json, owner: &Owner) -> Option<String> {
    match owner_of(live) {
        Some(release) if release == owner.release || Some(&release) == owner.moved_from.as_ref() => None,
        Some(_) if owner.adopt == Adopt::Any => None,
        Some(release) => Some(format!("release {release}")),
        None if owner.adopt != Adopt::Never => None,
        None => Some("no release".to_owned()),
    }
}

/// Returns the release whose marks an object carries (Helm `pkg/action/validate.go`).
pub(super) fn owner_of(live: &Json) -> Option<ReleaseKey> {
    let annotations = &live["metadata"]["annotations"];
    let name = annotations[RELEASE_NAME_ANNOTATION].as_str()?;
    let namespace = annotations[RELEASE_NAMESPACE_ANNOTATION].as_str()?;
    Some(ReleaseKey::new(namespace, name))
}

fn accepted(
    object: &ObservedObject,
    owner: &Owner,
    recorded: Option<&Json>,
    result: &Json,
    masker: Masker<'_>,
) -> Judged {
    let key = &object.key;
    let Some(live) = &object.live else {
        return Judged::new(key, ObjectAction::Create, vec![Reason::Created])
            .applying(object, ApplyMode::Create)
            .showing(difference(None, result, masker));
    };
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let fold = ownership(live);
    // The dry run still has what client-side Helm owns and nobody sends any more; the apply after the fold has not.
    let dropped = match &fold {
        Some(_) => dropped_fields(recorded, &object.body, live),
        None => Vec::new(),
    };
    let mut result = result.clone();
    for path in &dropped {
        path.remove(&mut result);
    }
    let diff = difference(Some(live), &result, masker);
    let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
    let is_ours = owner_of(live).as_ref() == Some(&owner.release);
    if diff.is_empty() && dropped.is_empty() {
        let mut judged = Judged::new(key, ObjectAction::None, vec![Reason::Unchanged { objects: 1 }])
            .applying(object, ApplyMode::Unchanged);
        judged.fold = fold.map(|fold| {
            let mode = ApplyMode::Update { uid, fold: Some(fold) };
            (mode, Reason::OwnershipFolded { fields: Vec::new() })
        });
        return judged;
    }
    let mut reasons = Vec::new();
    if !diff.is_empty() {
        reasons.push(Reason::Changed { fields: diff.paths() });
    }
    if fold.is_some() {
        reasons.push(Reason::OwnershipFolded { fields: dropped });
    }
    reasons.extend(taken_fields(live, &object.body));
    let action = if is_ours { ObjectAction::Update } else { ObjectAction::Adopt };
    Judged::new(key, action, reasons).applying(object, ApplyMode::Update { uid, fold }).showing(diff)
}

/// Returns the rewrite of ownership that client-side Helm makes necessary.
fn ownership(live: &Json) -> Option<Fold> {
    diff::fold_updates(live, FIELD_MANAGER, &[FIELD_MANAGER])?;
    let mut content = live.clone();
    diff::strip_server_fields(&mut content);
    Some(Fold { content })
}

/// Returns the fields that the recorded manifest has, the desired object has not, and the live one still has. With
/// the ownership of client-side Helm taken over they go, unless somebody else owns them too. What the server filled
/// in is in no manifest, and comes back by itself.
fn dropped_fields(recorded: Option<&Json>, desired: &Json, live: &Json) -> Vec<FieldPath> {
    let Some(recorded) = recorded else { return Vec::new() };
    let before = super::body::applicable(recorded.clone());
    let masker = Masker::new(&[]);
    let options = DiffOptions { masker, context: 0, limit: 0 };
    let gone = diff::object_diff(Some(&before), Some(desired), &options).changes;
    let others = others_fields(live);
    gone.into_iter()
        .filter(|change| change.after.is_none())
        .map(|change| change.path)
        .filter(|path| path.find(live).is_some() && !others.contains(&path.to_string()))
        .collect()
}

/// Returns the fields that other managers own as well, which therefore stay.
fn others_fields(live: &Json) -> Vec<String> {
    let entries = diff::managed_entries(live).into_iter();
    let others =
        entries.filter(|entry| entry.owner.manager != FIELD_MANAGER || !entry.owner.subresource.is_empty());
    others.flat_map(|entry| entry.fields.leaves()).map(|path| path.to_string()).collect()
}

/// Returns a reason for each other manager whose different values are overwritten.
fn taken_fields(live: &Json, desired: &Json) -> Vec<Reason> {
    let mut by_manager: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    for field in diff::foreign_fields(live, desired, FIELD_MANAGER).into_iter().filter(|field| !field.equal) {
        by_manager.entry(field.owner.to_string()).or_default().push(field.path.to_string());
    }
    by_manager.into_iter().map(|(manager, fields)| Reason::FieldsTaken { manager, fields }).collect()
}

fn refused(object: &ObservedObject, owner: &Owner, verdict: &Verdict, masker: Masker<'_>) -> Judged {
    let key = &object.key;
    let server = |kind: RefusalKind, message: String| {
        let reason = Reason::RefusedByServer { object: key.clone(), kind, message };
        Judged::refused(key, vec![reason])
    };
    match verdict {
        Verdict::Immutable { fields } => immutable(object, owner, fields, masker),
        Verdict::Mixed { fields, problems } => {
            let message = format!("{} (besides, {} cannot change)", texts(problems), fields.join(", "));
            server(RefusalKind::Invalid, message)
        }
        Verdict::Invalid { problems }
        | Verdict::Unclear { problems }
        | Verdict::NeedsFreshName { problems }
        | Verdict::NeedsReplace { problems } => server(RefusalKind::Invalid, texts(problems)),
        Verdict::Leftover { fields } => {
            let message = format!(
                "{} is left from an earlier apply and is in the way; remove it by hand once",
                fields.join(", ")
            );
            server(RefusalKind::Leftover, message)
        }
        Verdict::Denied { message } | Verdict::Forbidden { message } => {
            server(RefusalKind::Denied, message.clone())
        }
        Verdict::Conflict { problems } => server(RefusalKind::Conflict, texts(problems)),
        Verdict::Stale => {
            server(RefusalKind::Conflict, "it changed while it was looked at; plan again".to_owned())
        }
        Verdict::Quota { message } => server(RefusalKind::Quota, message.clone()),
        Verdict::VolumeCannotGrow => {
            server(RefusalKind::Invalid, "the storage class does not allow volumes to grow".to_owned())
        }
        Verdict::TypedMerge { message } | Verdict::BadRequest { message } | Verdict::TooLarge { message } => {
            server(RefusalKind::Invalid, message.clone())
        }
        Verdict::WebhookUnavailable { message } => server(RefusalKind::Webhook, message.clone()),
        Verdict::NoDryRun { message } => {
            let reason = Reason::Unverified { object: key.clone(), message: message.clone() };
            let mode = match object.live.as_ref().and_then(|live| live["metadata"]["uid"].as_str()) {
                Some(uid) => ApplyMode::Update { uid: uid.to_owned(), fold: None },
                None => ApplyMode::Create,
            };
            let action = if object.live.is_some() { ObjectAction::Update } else { ObjectAction::Create };
            Judged::new(key, action, vec![reason]).applying(object, mode)
        }
        Verdict::NamespaceMissing => server(RefusalKind::Invalid, "its namespace does not exist".to_owned()),
        Verdict::NamespaceTerminating => {
            server(RefusalKind::Denied, "its namespace is being deleted".to_owned())
        }
        Verdict::KindMissing => {
            server(RefusalKind::Invalid, format!("the server does not know the kind {}", key.gvk))
        }
        Verdict::Unavailable { message } | Verdict::Other { message } => {
            Judged::refused(key, vec![Reason::Unreadable { what: key.to_string(), message: message.clone() }])
        }
    }
}

/// A field cannot change in place: replaced with a permit, else blocked with the line that would permit it.
fn immutable(object: &ObservedObject, owner: &Owner, fields: &[String], masker: Masker<'_>) -> Judged {
    let key = &object.key;
    let live = object.live.clone().unwrap_or_default();
    let named: &[String] = if fields.is_empty() { &["spec".to_owned()] } else { fields };
    let field = named.join(", ");
    let diff = difference(Some(&live), &merged(&live, &object.body), masker);
    let changes = named.iter().map(|field| ImmutableChange {
        field: field.clone(),
        from: shown_value(&live, field, masker),
        to: shown_value(&object.body, field, masker),
    });
    let changes = changes.collect();
    let dependents = match dependents(&live, &object.body) {
        Ok(dependents) => dependents,
        Err(reason) if owner.forced => {
            return Judged::refused(key, vec![reason]).showing(diff);
        }
        Err(_) => Dependents::Background,
    };
    match guard::permit_replace(&owner.release, &owner.app, owner.forced, key, changes) {
        Err(reasons) => Judged::refused(key, reasons).showing(diff),
        Ok(permit) => {
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let reason = Reason::ReplaceForced { object: key.clone(), field };
            Judged::new(key, ObjectAction::Replace, vec![reason])
                .applying(object, ApplyMode::Replace { uid, permit, dependents })
                .showing(diff)
        }
    }
}

/// Returns what happens to the dependents of an object that is replaced.
///
/// The pods of a StatefulSet, and its claims, survive when they are orphaned, and the new one adopts them: as
/// long as selector, pod labels and mounted claims are the same (measured on Kubernetes 1.36). Otherwise its
/// pods have to go; its claims stay, unless they are set to go with it.
fn dependents(live: &Json, desired: &Json) -> Result<Dependents, Reason> {
    if live["kind"] != "StatefulSet" {
        return Ok(Dependents::Background);
    }
    let (from, to) = (&live["spec"], &desired["spec"]);
    let claims = |spec: &Json| -> Vec<String> {
        let templates = spec["volumeClaimTemplates"].as_array().into_iter().flatten();
        templates.map(|claim| claim["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let adoptable = from["selector"] == to["selector"]
        && from["template"]["metadata"]["labels"] == to["template"]["metadata"]["labels"]
        && claims(from) == claims(to);
    if adoptable {
        return Ok(Dependents::Orphan);
    }
    if takes_its_claims(live) {
        let name = live["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Reason::ClaimsWouldGo { object: name.to_owned() });
    }
    Ok(Dependents::Background)
}

/// Lays the desired fields over the live object, for a picture of what was asked for.
fn merged(live: &Json, desired: &Json) -> Json {
    match (live, desired) {
        (Json::Object(live), Json::Object(desired)) => {
            let mut all = live.clone();
            for (key, value) in desired {
                let below = live.get(key).unwrap_or(&Json::Null);
                all.insert(key.clone(), merged(below, value));
            }
            Json::Object(all)
        }
        // Elements get the server's defaults too; lists of other lengths are shown as they were asked for.
        (Json::Array(live), Json::Array(desired)) if live.len() == desired.len() => {
            live.iter().zip(desired).map(|(live, desired)| merged(live, desired)).collect()
        }
        (_, desired) => desired.clone(),
    }
}

fn difference(live: Option<&Json>, result: &Json, masker: Masker<'_>) -> ObjectDiff {
    diff::object_diff(live, Some(result), &DiffOptions { masker, context: CONTEXT_LINES, limit: MOST_LINES })
}

/// Returns the value at a field as the server names it, short and without secrets.
fn shown_value(object: &Json, field: &str, masker: Masker<'_>) -> String {
    let mut object = object.clone();
    masker.mask(&mut object);
    let value = FieldPath::parse(field).find(&object).unwrap_or(&Json::Null);
    let text = match value {
        Json::Null => "(none)".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST_VALUE {
        return text;
    }
    text.chars().take(LONGEST_VALUE).chain(std::iter::once('…')).collect()
}

fn texts(problems: &[Problem]) -> String {
    let text = |problem: &Problem| match problem.field.as_str() {
        "" => problem.message.clone(),
        field => format!("{field}: {}", problem.message),
    };
    problems.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// Returns the permit of a replacement, to be counted in the release's action.
pub(super) fn permit_of(judged: &Judged) -> Option<&Permit> {
    match &judged.apply.as_ref()?.mode {
        ApplyMode::Replace { permit, .. } => Some(permit),
        ApplyMode::Create | ApplyMode::Update { .. } | ApplyMode::Unchanged | ApplyMode::Either => None,
    }
}
