//! Decides what happens to one object.

use serde_json::Value as Json;

use super::guard::{self, Keys, Permit};
use super::input::{ObservedObject, Remnant, ServerAnswer};
use super::leftover::{self, Leftovers};
use super::ownership;
use super::reason::Reason;
use super::refused::refused;
use super::steps::{Apply, ApplyMode, Delete, Dependents, Fold};
use super::{Lost, ObjectAction, ObjectPlan, loss, unproven};
use crate::diff::{self, DiffOptions, Masker, ObjectDiff, Proof};
use crate::dsf::state::Adopt;
use crate::model::{
    FIELD_MANAGER, ObjectKey, RELEASE_NAME_ANNOTATION, RELEASE_NAMESPACE_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION, ReleaseKey,
};

/// Equal lines around a difference.
const CONTEXT_LINES: usize = 2;
/// Most lines of one object's difference.
const MOST_LINES: usize = 400;
/// Whose objects are judged, and what the file allows for them.
pub(super) struct Owner {
    pub(super) release: ReleaseKey,
    pub(super) app: String,
    pub(super) keys: Keys,
    /// What may be taken over in this run.
    pub(super) adopt: Adopt,
    /// The name that the release had before: its objects are taken over.
    pub(super) moved_from: Option<ReleaseKey>,
    /// The revision with which `adopt` has done its work.
    pub(super) adoption_spent: Option<u64>,
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
}

impl Judged {
    pub(super) fn new(key: &ObjectKey, action: ObjectAction, reasons: Vec<Reason>) -> Self {
        let (key, warnings, after) = (key.clone(), Vec::new(), Vec::new());
        let plan = ObjectPlan { key, action, reasons, diff: None, live: None, warnings, after };
        Self { plan, apply: None, delete: None, fold: None, refusals: Vec::new() }
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

    /// Makes the removal that of an object whose whole release goes.
    pub(super) fn with_its_release(mut self) -> Self {
        for reason in self.plan.reasons.iter_mut().filter(|reason| **reason == Reason::LeftManifest) {
            *reason = Reason::GoesWithRelease;
        }
        self
    }

    pub(super) fn refused(key: &ObjectKey, reasons: Vec<Reason>) -> Self {
        let refusals = reasons.clone();
        Self { refusals, ..Self::new(key, ObjectAction::Blocked, reasons) }
    }

    pub(super) fn applying(mut self, object: &ObservedObject, mode: ApplyMode) -> Self {
        self.apply = Some(Apply { key: object.key.clone(), body: object.body.clone(), mode });
        self
    }

    pub(super) fn showing(mut self, diff: ObjectDiff) -> Self {
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
    if object.settled.left_alone {
        return Judged::new(key, ObjectAction::None, vec![Reason::CreateOnly])
            .applying(object, ApplyMode::Unchanged);
    }
    if let Some(stranger) = object.live.as_ref().and_then(|live| stranger(live, owner)) {
        return Judged::refused(key, vec![not_ours(key, stranger, owner)]);
    }
    if object.live.as_ref().is_some_and(is_being_deleted) {
        return Judged::refused(key, vec![Reason::BeingDeleted { object: key.clone() }]);
    }
    let conflicts = ownership::conflicts(object, &owner.app, masker);
    if !conflicts.is_empty() {
        let refused = Judged::refused(key, conflicts);
        return match (&object.answer, &object.live) {
            (ServerAnswer::Accepted { result, .. }, Some(live)) => {
                refused.showing(difference(Some(live), result, masker))
            }
            _ => refused,
        };
    }
    match &object.answer {
        ServerAnswer::Unasked { proof } => proven(object, *proof),
        ServerAnswer::Refused { verdict } => refused(object, owner, verdict, masker),
        ServerAnswer::Accepted { result, warnings } => {
            // What is left to others is no change of the manifest that the server would have to make.
            let recorded = recorded.map(|recorded| {
                let mut recorded = recorded.clone();
                object.settled.kept.iter().for_each(|(path, _)| path.cut(&mut recorded));
                recorded
            });
            let mut judged = accepted(object, owner, recorded.as_ref(), result, masker);
            judged.plan.warnings = warnings.clone();
            judged
        }
        ServerAnswer::Later { .. } | ServerAnswer::Unknown { .. } => Judged::refused(key, Vec::new()),
    }
}

/// Returns the decision about an object that is as desired, which the live one proves.
fn proven(object: &ObservedObject, proof: Proof) -> Judged {
    let mut reasons = vec![Reason::Proven { fields: proof.fields }];
    reasons.extend(ownership::reasons(&object.settled));
    Judged::new(&object.key, ObjectAction::None, reasons).applying(object, ApplyMode::Unchanged)
}

/// Returns the decision about a Job that has ended and was removed by its own time to live.
pub(super) fn ended_and_gone(object: &ObservedObject) -> Judged {
    Judged::new(&object.key, ObjectAction::None, vec![Reason::EndedAndGone])
}

/// Returns the decision about an object of the release that an interrupted uninstall has deleted, and that is still
/// there: it is waited for, and then created. Nothing for any other object.
pub(super) fn after_uninstall(object: &ObservedObject, owner: &Owner) -> Option<Judged> {
    let live = object.live.as_ref().filter(|live| is_being_deleted(live))?;
    if stranger(live, owner).is_some() || object.settled.left_alone {
        return None;
    }
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let judged = Judged::new(&object.key, ObjectAction::Create, vec![Reason::CreatedAfterGone]);
    Some(judged.applying(object, ApplyMode::AfterGone { uid }))
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
            let conflicts = ownership::conflicts(object, &owner.app, masker);
            if !conflicts.is_empty() {
                return Judged::refused(key, conflicts).showing(diff);
            }
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let mut reasons = vec![Reason::Changed { fields: diff.paths() }];
            let fold = fold(object, live, Vec::new());
            if fold.is_some() {
                let managers = ownership::managers(&object.settled.from);
                reasons.push(Reason::OwnershipFolded { managers, fields: Vec::new() });
            }
            reasons.extend(ownership::reasons(&object.settled));
            Judged::new(key, ObjectAction::Update, reasons)
                .applying(object, ApplyMode::Update { uid, fold })
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
/// release's marks is removed, and what holds data or other objects only if both keys say so.
pub(super) fn remnant(remnant: &Remnant, keys: &Keys) -> Judged {
    let key = &remnant.key;
    let Some(live) = &remnant.live else {
        return Judged::new(key, ObjectAction::None, vec![Reason::AlreadyGone]);
    };
    // Helm asks the live object when it upgrades, and the manifest when it uninstalls: either is enough.
    let policy = live["metadata"]["annotations"][RESOURCE_POLICY_ANNOTATION].as_str();
    let keeps = policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"));
    if keeps || remnant.keep_in_manifest {
        return Judged::new(key, ObjectAction::Keep, vec![Reason::KeptByPolicy]);
    }
    match owner_of(live) {
        Some(owner) if owner == *keys.release() => {}
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
    let known = remnant.lost.as_deref().unwrap_or_default();
    let lost: Vec<_> = loss::own(key, live).into_iter().chain(known.iter().cloned()).collect();
    let claims_go = loss::takes_its_claims(live);
    let goes = claims_go || lost.iter().any(|lost| matches!(lost, Lost::Claim { .. }));
    let permit = match guard::permit_removal(keys, key, (goes, &lost)) {
        // A set cannot go and leave its claims behind, as long as it says that they go with it.
        Err(risk) if claims_go => return Judged::refused(key, vec![Reason::DataWouldGo(risk)]),
        Err(risk) => return Judged::new(key, ObjectAction::Keep, vec![Reason::DataKept(risk)]),
        Ok(permit) => permit,
    };
    if let Err(message) = &remnant.lost
        && (permit.is_some() || claims_go || !key.gvk.is_built_in())
    {
        let what = format!("what would go with {key}");
        return Judged::refused(key, vec![Reason::Unreadable { what, message: message.clone() }]);
    }
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut reasons = vec![Reason::LeftManifest];
    if permit.is_some() {
        reasons.push(Reason::DataGoes { object: key.clone(), lost: lost.clone() });
    }
    let mut judged = Judged::new(key, ObjectAction::Delete, reasons);
    judged.delete = Some(Delete { key: key.clone(), uid, dependents: Dependents::Background, lost, permit });
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

/// Returns the decision about an object that another release of the file has now.
pub(super) fn moved(remnant: &Remnant, release: &ReleaseKey) -> Judged {
    let reason = Reason::MovesTo { object: remnant.key.clone(), release: release.clone() };
    Judged::new(&remnant.key, ObjectAction::Keep, vec![reason])
}

fn is_being_deleted(live: &Json) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
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

fn not_ours(key: &ObjectKey, stranger: String, owner: &Owner) -> Reason {
    match owner.adoption_spent {
        Some(revision) => Reason::AdoptionSpent {
            object: key.clone(),
            owner: stranger,
            release: owner.release.clone(),
            revision,
        },
        None => Reason::NotOurs { object: key.clone(), owner: stranger },
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
        let reasons = std::iter::once(Reason::Created).chain(unproven::reasons(key, &object.body, None));
        return Judged::new(key, ObjectAction::Create, reasons.collect())
            .applying(object, ApplyMode::Create)
            .showing(difference(None, result, masker));
    };
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    // The dry run still has what nobody sends any more and our apply entry does not own; the apply after the fold has
    // not.
    let Leftovers { gone, claims } = leftover::unsent(recorded, &object.body, live, result);
    let fold = fold(object, live, claims.clone());
    let mut result = result.clone();
    for path in gone.iter().chain(&claims) {
        path.remove(&mut result);
    }
    let diff = difference(Some(live), &result, masker);
    // Where the server was asked for both steps, its answer lacks what goes.
    let gone: Vec<String> = if object.settled.is_simulated {
        let without = diff.changes.iter().filter(|change| change.after.is_none());
        without.map(|change| change.path.to_string()).collect()
    } else {
        gone.iter().map(ToString::to_string).collect()
    };
    let mut extra = ownership::reasons(&object.settled);
    let ignored = diff::ignored_changes(recorded, &object.body, live, &result);
    if !ignored.is_empty() {
        extra.push(Reason::NoEffect { object: key.clone(), fields: ignored });
    }
    if !object.around.kept.is_empty() {
        extra.push(Reason::FieldKept { object: key.clone(), fields: object.around.kept.clone() });
    }
    let managers = ownership::managers(&object.settled.from);
    let is_ours = owner_of(live).as_ref() == Some(&owner.release);
    if diff.is_empty() && gone.is_empty() && claims.is_empty() {
        let reasons = std::iter::once(Reason::Unchanged { objects: 1 }).chain(extra).collect();
        let mut judged = Judged::new(key, ObjectAction::None, reasons).applying(object, ApplyMode::Unchanged);
        judged.fold = fold.map(|fold| {
            let mode = ApplyMode::Update { uid, fold: Some(fold) };
            (mode, Reason::OwnershipFolded { managers, fields: Vec::new() })
        });
        return judged;
    }
    let mut reasons = Vec::new();
    if !diff.is_empty() {
        reasons.push(Reason::Changed { fields: diff.paths() });
    }
    if has_old_entries(object, live) {
        reasons.push(Reason::OwnershipFolded { managers, fields: gone });
    }
    if !claims.is_empty() {
        reasons.push(Reason::LeftoversGo { fields: claims.iter().map(ToString::to_string).collect() });
    }
    reasons.extend(extra);
    reasons.extend(unproven::reasons(key, &object.body, Some(live)));
    let action = if is_ours { ObjectAction::Update } else { ObjectAction::Adopt };
    Judged::new(key, action, reasons).applying(object, ApplyMode::Update { uid, fold }).showing(diff)
}

/// Returns the rewrite of ownership that client-side Helm, who made the object, or fields that nobody owns make
/// necessary.
pub(super) fn fold(object: &ObservedObject, live: &Json, claims: Vec<diff::FieldPath>) -> Option<Fold> {
    if !has_old_entries(object, live) && claims.is_empty() {
        return None;
    }
    let mut content = live.clone();
    diff::strip_server_fields(&mut content);
    Some(Fold { content, from: object.settled.from.clone(), claims })
}

/// Tells whether client-side Helm, or who made the object, left ownership that has to be taken over.
pub(super) fn has_old_entries(object: &ObservedObject, live: &Json) -> bool {
    diff::fold_updates(live, FIELD_MANAGER, &object.settled.from).is_some()
}

pub(super) fn difference(live: Option<&Json>, result: &Json, masker: Masker<'_>) -> ObjectDiff {
    diff::object_diff(live, Some(result), &DiffOptions { masker, context: CONTEXT_LINES, limit: MOST_LINES })
}

/// Returns the permit of a replacement, to be counted in the release's action.
pub(super) fn permit_of(judged: &Judged) -> Option<&Permit> {
    match &judged.apply.as_ref()?.mode {
        ApplyMode::Replace(replace) => Some(&replace.permit),
        ApplyMode::Create
        | ApplyMode::Update { .. }
        | ApplyMode::Unchanged
        | ApplyMode::Either
        | ApplyMode::AfterGone { .. } => None,
    }
}
