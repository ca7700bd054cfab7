//! `adopt`: releases of another owner get the label of this file. Nothing else of them changes.
//!
//! The labels are Helmsman's and stand on every record of a release, as Helmsman reads the one that its list ends with
//! (`v9` after `v10`).

use super::decide::{Draft, operation_under_way, unreadable_newest, withhold_if_protected};
use super::input::{OwnerBefore, PlanInput, Wanted};
use super::leave;
use super::reason::Reason;
use super::steps::{Own, Work};
use super::{Action, ReleasePlan};
use crate::dsf::state::Release;
use crate::history::{self, History, Record, Status};

/// Returns the action for a release of the file.
pub(super) fn decide(draft: Draft<'_>, input: &PlanInput, wanted: &Wanted, history: &History) -> ReleasePlan {
    if let Some(reason) = unreadable_newest(history).or_else(|| operation_under_way(history)) {
        return draft.blocked(vec![reason]);
    }
    let Some(latest) = history.latest() else { return draft.nothing(Reason::NotInstalled) };
    if latest.release.info.status == Status::Uninstalled {
        return draft.nothing(Reason::OnlyHistory { revision: latest.release.version });
    }
    let context = &input.context;
    let asked = match &input.adopts_from {
        Some(OwnerBefore::Context(name)) => Some(name.as_str()),
        Some(OwnerBefore::Nobody) | None => None,
    };
    match latest.context() {
        Some(owner) if owner == context => draft.nothing(Reason::AlreadyOurs { context: context.clone() }),
        owner if owner == asked && input.adopts_from.is_some() => {
            let from = owner.map(str::to_owned);
            let reason = Reason::ChangesOwner { from, context: context.clone() };
            let work = own(context, &wanted.release, history);
            let mut plan = draft.finish(Action::Adopt, vec![reason]);
            plan.work = Work::Own(Box::new(work));
            withhold_if_protected(plan, wanted.protected_by.as_deref(), true)
        }
        Some(owner) => {
            let reason = Reason::OtherContext { owner: owner.to_owned(), context: context.clone() };
            draft.blocked(vec![reason])
        }
        None => {
            let app = wanted.release.app.clone();
            draft.blocked(vec![Reason::NobodysRelease { context: context.clone(), app }])
        }
    }
}

/// Records that nobody may change keep their labels; Helmsman's reading of one of them is no worse than before.
fn own(context: &str, release: &Release, history: &History) -> Own {
    let newest = history.latest().map(|latest| latest.release.version);
    let writable = |record: &&Record| record.frozen.is_none() || Some(record.release.version) == newest;
    let marked = |record: &Record| {
        let mut record = record.clone();
        record.labels.extend(history::labels_for(context, &release.key.namespace));
        // What the former file said about its end counts no more.
        record.labels.remove(history::ON_REMOVE_LABEL);
        let chosen = leave::label_of(release.on_remove);
        record.labels.extend(chosen.map(|word| (history::ON_REMOVE_LABEL.to_owned(), word.to_owned())));
        record
    };
    let records = history.records().iter().filter(writable).map(marked).collect();
    Own { key: release.key.clone(), records }
}
