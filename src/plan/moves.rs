//! Releases that got another name: said in the file (`moved`), or suspected.
//!
//! A new name looks to the cluster like one release that goes and one that comes. Where both have objects of the same
//! name, or are the same release in another namespace, carrying that out would take away what should only be renamed.

use super::adoption;
use super::decide::{operation_under_way, unreadable_newest};
use super::guard::Keys;
use super::input::{PlanInput, Wanted};
use super::judge::Judged;
use super::reason::Reason;
use super::steps::Work;
use super::{Action, ReleasePlan};
use crate::dsf::state::{Adopt, ForceKind};
use crate::history::{Record, Status};
use crate::model::ObjectKey;

/// Returns the records of the old name, which go when the new name has everything.
pub(super) fn retired(wanted: &Wanted) -> Vec<Record> {
    let history = wanted.moved_from.as_ref().and_then(|moved| moved.history.as_ref().ok());
    history.map(|history| history.records().to_vec()).unwrap_or_default()
}

/// Returns the decisions about the objects that only the old name has.
///
/// # Errors
/// Why the release cannot move: the old name cannot be read or is busy, or objects would be deleted and the app does
/// not say so.
pub(super) fn left_behind(input: &PlanInput, wanted: &Wanted) -> Result<Vec<Judged>, Vec<Reason>> {
    let Some(moved) = &wanted.moved_from else { return Ok(Vec::new()) };
    let history = moved.history.as_ref().map_err(|reason| vec![reason.clone()])?;
    if let Some(reason) = unreadable_newest(history).or_else(|| operation_under_way(history)) {
        return Err(vec![Reason::MoveFromBusy { from: moved.key.clone(), why: reason.to_string() }]);
    }
    let owner = history.latest().and_then(|latest| latest.context());
    match (owner, wanted.release.adopt) {
        (Some(owner), _) if owner == input.context => {}
        (Some(_), Adopt::Any) | (None, Adopt::Any | Adopt::Unowned) => {}
        (Some(owner), _) => {
            return Err(vec![Reason::OtherContext {
                owner: owner.to_owned(),
                context: input.context.clone(),
            }]);
        }
        (None, Adopt::Never) => {
            let (context, app) = (input.context.clone(), wanted.release.app.clone());
            return Err(vec![Reason::NobodysRelease { context, app }]);
        }
    }
    // The keys of the new name are none for what only the old one has: its data stays.
    let keys = Keys::none(&moved.key);
    let remnants = moved.remnants.as_ref().map_err(|reason| vec![reason.clone()])?;
    let judged: Vec<Judged> =
        remnants.iter().map(|remnant| adoption::remnant(input, remnant, &keys)).collect();
    let deleted: Vec<String> = judged
        .iter()
        .filter(|judged| judged.delete.is_some())
        .map(|judged| judged.plan.key.short())
        .collect();
    let elsewhere = moved.key.namespace != wanted.release.key.namespace;
    let consents = wanted.release.force.contains(&ForceKind::Move);
    if !consents && (elsewhere || !deleted.is_empty()) {
        return Err(vec![Reason::MoveDeletes {
            from: moved.key.clone(),
            objects: deleted,
            app: wanted.release.app.clone(),
        }]);
    }
    Ok(judged)
}

/// Blocks a release that would be installed and one that would go, where the two look like one that was renamed.
pub(super) fn block_lookalikes(input: &PlanInput, releases: &mut [ReleasePlan]) {
    if input.really_new {
        return;
    }
    let mut found = Vec::new();
    for (goes, stray) in releases.iter().enumerate().filter_map(|(at, plan)| {
        let stray = input.strays.iter().find(|stray| stray.key == plan.key)?;
        (plan.action == Action::Uninstall).then_some((at, stray))
    }) {
        for (comes, plan) in releases.iter().enumerate() {
            let Some(wanted) = input.wanted.iter().find(|wanted| wanted.release.key == plan.key) else {
                continue;
            };
            let is_new = wanted.history.as_ref().is_ok_and(|history| {
                history.latest().is_none_or(|latest| latest.release.info.status == Status::Uninstalled)
            });
            let Some(Ok(content)) = &wanted.content else { continue };
            let chart = releases[goes].chart_from.as_ref().map(|chart| chart.name.as_str());
            if !is_new || wanted.moved_from.is_some() || chart != Some(content.chart.name()) {
                continue;
            }
            let remnants = stray.remnants.as_ref().map(Vec::as_slice).unwrap_or_default();
            let shared = content.objects.iter().map(|object| &object.key).find(|key: &&ObjectKey| {
                remnants.iter().any(|remnant| remnant.live.is_some() && remnant.key.same_object(key))
            });
            let same_name = stray.key.name == wanted.release.key.name;
            if shared.is_some() || same_name {
                found.push((goes, comes, shared.map(ObjectKey::short)));
            }
        }
    }
    for (goes, comes, shared) in found {
        let (from, to) = (releases[goes].key.clone(), releases[comes].key.clone());
        for at in [goes, comes] {
            let plan = &mut releases[at];
            let reason = Reason::LooksLikeMove { from: from.clone(), to: to.clone(), shared: shared.clone() };
            if plan.action != Action::Blocked {
                plan.action = Action::Blocked;
                plan.work = Work::Nothing;
            }
            if !plan.reasons.contains(&reason) {
                plan.reasons.insert(0, reason);
            }
        }
    }
}
