//! Decides about releases of this context that the file does not have any more.
//!
//! The entry is gone when it is needed, so what should happen was stored with the release: `onRemove`.

use super::decide::{Draft, withhold_if_protected};
use super::input::{Operation, PlanInput, Stray};
use super::reason::Reason;
use super::recovery;
use super::steps::{ApplyMode, Disown, Work};
use super::{Action, ReleasePlan};
use crate::dsf::state::OnRemove;
use crate::history::{ON_REMOVE_LABEL, Record, Status};
use crate::model::ObjectKey;

/// Returns the action for a release of this context that the file does not have.
pub(super) fn decide_stray(input: &PlanInput, stray: &Stray) -> ReleasePlan {
    let draft =
        Draft { input, key: stray.key.clone(), app: None, wanted: None, chart_from: None, revision: None }
            .with_history(&stray.history);
    if let Some(message) = &input.removal_withheld {
        return draft.nothing(Reason::RemovalWithheld { message: message.clone() });
    }
    let recovery = match recovery::begin(input, &stray.key, &stray.history, &stray.remnants, None) {
        Ok(recovery) => recovery,
        Err(reason) => return draft.blocked(vec![reason]),
    };
    let gone = stray.history.latest().is_none_or(|latest| latest.release.info.status == Status::Uninstalled);
    if gone {
        let revision = draft.revision.unwrap_or_default();
        return draft.nothing(Reason::OnlyHistory { revision });
    }
    let latest = stray.history.latest().filter(|_| input.operation == Operation::Reconcile);
    match latest.map(|latest| (latest, chosen(latest))) {
        Some((latest, OnRemove::Orphan)) => {
            let work = Disown { key: stray.key.clone(), latest: latest.clone() };
            let mut plan = draft.finish(
                Action::Orphan,
                vec![Reason::LeftFile { context: input.context.clone() }, Reason::OrphanedOnRemove],
            );
            plan.work = Work::Disown(Box::new(work));
            return withhold_if_protected(plan, stray.protected_by.as_deref(), true);
        }
        Some((_, OnRemove::Ask)) => {
            let reasons = vec![
                Reason::AsksOnRemove { release: stray.key.clone() },
                Reason::LeftFile { context: input.context.clone() },
            ];
            return withhold_if_protected(draft.blocked(reasons), stray.protected_by.as_deref(), true);
        }
        Some((_, OnRemove::Uninstall)) | None => {}
    }
    let reason = match input.operation {
        Operation::Reconcile | Operation::Adopt => Reason::LeftFile { context: input.context.clone() },
        Operation::Destroy => Reason::DestroyAsked,
    };
    let plan = recovery::resumed(draft.uninstall(&stray.history, &stray.remnants, reason), recovery);
    withhold_if_protected(plan, stray.protected_by.as_deref(), true)
}

/// Many releases leaving the file at once look like a mistake: a wrong branch, an import that is gone.
pub(super) fn block_mass_removal(input: &PlanInput, releases: &mut [ReleasePlan]) {
    let Some(limit) = input.most_removals else { return };
    let leaves = |plan: &&mut ReleasePlan| plan.app.is_none() && plan.action == Action::Uninstall;
    let count = releases.iter_mut().filter(leaves).count();
    if count <= limit {
        return;
    }
    for plan in releases.iter_mut().filter(leaves) {
        plan.action = Action::Blocked;
        plan.reasons.insert(0, Reason::TooManyRemovals { count, limit });
        plan.work = Work::Nothing;
    }
}

/// With a selection nothing outside it goes, so nothing goes that others are in: a namespace, or a definition.
pub(super) fn block_containers(input: &PlanInput, releases: &mut [ReleasePlan]) {
    if !input.partial {
        return;
    }
    for plan in releases {
        let removed: Vec<&ObjectKey> = match &plan.work {
            Work::Deploy(deploy) => {
                let replaced = deploy.crds.iter().chain(&deploy.applies);
                let replaced = replaced.filter(|step| matches!(step.mode, ApplyMode::Replace(_)));
                replaced.map(|step| &step.key).chain(deploy.prunes.iter().map(|step| &step.key)).collect()
            }
            Work::Uninstall(uninstall) => uninstall.deletes.iter().map(|step| &step.key).collect(),
            Work::Nothing | Work::Seal(_) | Work::GoBack(_) | Work::Disown(_) | Work::Own(_) => Vec::new(),
        };
        let contains = |key: &&ObjectKey| {
            let kind = (key.gvk.group.as_str(), key.gvk.kind.as_str());
            matches!(kind, ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition"))
        };
        let reasons: Vec<Reason> = removed
            .into_iter()
            .filter(contains)
            .map(|object| Reason::HoldsUnselected { object: object.clone() })
            .collect();
        if !reasons.is_empty() {
            plan.action = Action::Blocked;
            plan.reasons = reasons;
            plan.work = Work::Nothing;
        }
    }
}

/// The values of the label that a record carries.
const ORPHAN: &str = "orphan";
const ASK: &str = "ask";

/// Returns the value of the label for a choice; nothing where the label is left out.
pub(super) fn label_of(on_remove: OnRemove) -> Option<&'static str> {
    match on_remove {
        OnRemove::Uninstall => None,
        OnRemove::Orphan => Some(ORPHAN),
        OnRemove::Ask => Some(ASK),
    }
}

/// Returns what was chosen when the release was applied last. A word that no version of the file language has asks a
/// person: nothing is removed on a guess.
pub(super) fn chosen(record: &Record) -> OnRemove {
    match record.labels.get(ON_REMOVE_LABEL).map(String::as_str) {
        None | Some("") => OnRemove::Uninstall,
        Some(ORPHAN) => OnRemove::Orphan,
        Some(_) => OnRemove::Ask,
    }
}
