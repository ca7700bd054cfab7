//! From the records, the lock and the decisions about objects to a row of the decision table, and what follows from it.

use std::time::Duration;

use super::input::{Content, PlanInput, Remnant};
use super::reason::Reason;
use super::records;
use super::recover::{
    self, Act, Facts, Interrupted, Latest, LockSight, Objects, Records, Row, Verdict, Wanted,
};
use super::steps::{Deploy, Seal, Work};
use super::{ObjectAction, ObjectPlan, ReleasePlan};
use crate::history::{self, History, Phase, Record, Status};
use crate::model::{ObjectKey, ReleaseKey};

/// What another controller leaves on objects and records that it manages.
const CONTROLLER_LABEL: &str = "helm.toolkit.fluxcd.io/name";
/// Field managers of controllers that write Helm's records.
const CONTROLLERS: [&str; 1] = ["helm-controller"];

/// An operation that was interrupted, and that may be recovered from.
pub(super) struct Recovery<'a> {
    key: &'a ReleaseKey,
    latest: &'a Record,
    facts: Facts,
    holder: Option<String>,
}

/// What is done about it.
pub(super) struct Settled {
    /// Why.
    pub(super) reason: Reason,
    /// Whether the record is all that is missing.
    pub(super) seals: bool,
    /// The record that is marked.
    pub(super) record: Record,
}

/// Looks at the records before anything else of the release counts.
///
/// # Errors
/// Why nothing may be done with the release.
pub(super) fn begin<'a>(
    input: &PlanInput,
    key: &'a ReleaseKey,
    history: &'a History,
    remnants: &Result<Vec<Remnant>, Reason>,
    content: Option<&Content>,
) -> Result<Option<Recovery<'a>>, Reason> {
    if let Some(reason) = super::decide::unreadable_newest(history) {
        return Err(reason);
    }
    let Some(latest) = history.latest() else { return Ok(None) };
    let lock = input.recovery.locks.get(key);
    let facts = Facts {
        lock: match lock.and_then(|lock| lock.unreadable.clone()) {
            Some(why) => LockSight::Unreadable { why },
            None => LockSight::NotAsked,
        },
        records: records_of(input, history, latest, remnants, content),
        objects: Objects::Some,
        wanted: match content {
            Some(_) => Wanted::Present { as_desired: false, same_input: false, hooks_done: false },
            None => Wanted::Absent,
        },
        settings: input.recovery.settings,
    };
    let recovery = Recovery { key, latest, facts, holder: lock.and_then(|lock| lock.holder.clone()) };
    let verdict = recover::decide(&recovery.facts);
    match verdict {
        Verdict { row: Some(row), act: Act::Wait | Act::Refuse } => Err(recovery.reason(row, verdict.act)),
        Verdict { act: Act::Plan, .. } => Ok(None),
        _ => Ok(Some(recovery)),
    }
}

fn records_of(
    input: &PlanInput,
    history: &History,
    latest: &Record,
    remnants: &Result<Vec<Remnant>, Reason>,
    content: Option<&Content>,
) -> Records {
    let status = |record: &Record| record.release.info.status.clone();
    let older = || history.records().iter().rev().skip(1);
    let age = input
        .recovery
        .server_now
        .zip(latest.written_at)
        .map(|(now, written)| Duration::try_from(now.duration_since(written)).unwrap_or_default());
    let live =
        remnants.iter().flatten().filter_map(|remnant| remnant.live.as_ref()).chain(
            content.iter().flat_map(|content| &content.objects).filter_map(|object| object.live.as_ref()),
        );
    let managed = live.filter_map(|live| live["metadata"]["labels"][CONTROLLER_LABEL].as_str()).next();
    let controller = match managed.or(latest.labels.get(CONTROLLER_LABEL).map(String::as_str)) {
        Some(name) => Some(format!("HelmRelease {name}")),
        None => CONTROLLERS.contains(&latest.manager.as_str()).then(|| latest.manager.clone()),
    };
    let same = |record: &&Record| {
        content.is_some_and(|content| same_input(&record.release, content)) && record.was_interrupted()
    };
    Records {
        latest: Some(Latest {
            revision: latest.release.version,
            status: status(latest),
            ours: latest.operation().is_some(),
            age,
            controller,
        }),
        readable: true,
        deployed: history.records().iter().filter(|record| status(record) == Status::Deployed).count(),
        previous_superseded: older().next().is_some_and(|record| {
            status(record) == Status::Superseded && !record.release.info.description.contains(" failed: ")
        }),
        older_pending: older().any(|record| status(record).is_pending()),
        interrupted: older().take_while(same).count() + usize::from(status(latest).is_pending()),
    }
}

/// Tells whether a revision was made from the same chart and values.
fn same_input(release: &history::Release, content: &Content) -> bool {
    release.chart.as_ref().is_some_and(|chart| chart.has_same_content(&content.chart))
        && records::changed_values(&release.config, &content.config).is_empty()
        && !records::hooks_differ(&release.hooks, &content.hooks)
}

/// Tells whether each hook of the operation that a record tells of is recorded as done.
fn hooks_done(record: &Record) -> bool {
    let events = match record.release.info.status {
        Status::PendingInstall => ["pre-install", "post-install"],
        Status::PendingRollback => ["pre-rollback", "post-rollback"],
        _ => ["pre-upgrade", "post-upgrade"],
    };
    let runs = |hook: &&history::Hook| hook.events.iter().any(|event| events.contains(&event.as_str()));
    record.release.hooks.iter().filter(runs).all(|hook| hook.last_run.phase == Phase::Succeeded)
}

/// Adds to a removal that it goes on with one that was interrupted.
pub(super) fn resumed(mut plan: ReleasePlan, recovery: Option<Recovery<'_>>) -> ReleasePlan {
    plan.reasons.extend(recovery.map(|recovery| recovery.resumes()));
    plan
}

/// Adds to refusals what they keep from being finished.
pub(super) fn with(
    recovery: Option<Recovery<'_>>,
    mut refusals: Vec<Reason>,
    content: &Content,
    plans: &[ObjectPlan],
) -> Vec<Reason> {
    let settled = recovery.map(|recovery| recovery.settle(content, plans, true));
    refusals.extend(settled.map(|settled| match settled {
        Ok(settled) => settled.reason,
        Err(reason) => reason,
    }));
    refusals
}

/// Returns what is left to do where the record is all that is missing.
pub(super) fn seal<'a>(work: Deploy, objects: impl Iterator<Item = &'a ObjectKey>) -> Work {
    let Some(record) = work.interrupted else { return Work::Nothing };
    let ready = if work.wait { objects.cloned().collect() } else { Vec::new() };
    Work::Seal(Box::new(Seal { record, superseded: work.superseded, ready, timeout: work.timeout }))
}

impl Recovery<'_> {
    /// Returns what is done, now that the objects are decided about.
    ///
    /// # Errors
    /// Why nothing is done.
    pub(super) fn settle(
        mut self,
        content: &Content,
        plans: &[ObjectPlan],
        run_hooks: bool,
    ) -> Result<Settled, Reason> {
        let as_desired =
            plans.iter().all(|plan| matches!(plan.action, ObjectAction::None | ObjectAction::Keep));
        let there = plans.iter().any(|plan| plan.action != ObjectAction::Create);
        let has =
            |code: &str| plans.iter().flat_map(|plan| &plan.reasons).any(|reason| reason.code() == code);
        self.facts.objects = match (has("not-ours"), there) {
            (true, _) => Objects::NotOurs,
            (false, true) => Objects::Some,
            (false, false) => Objects::None,
        };
        self.facts.wanted = Wanted::Present {
            as_desired,
            same_input: same_input(&self.latest.release, content),
            hooks_done: !run_hooks || hooks_done(self.latest),
        };
        let verdict = recover::decide(&self.facts);
        let row = verdict.row.unwrap_or(Row::R9);
        let reason = self.reason(row, verdict.act);
        match verdict.act {
            Act::Wait | Act::Refuse => Err(reason),
            Act::Plan | Act::Install | Act::RollForward | Act::RollBack | Act::Seal | Act::Resume => {
                Ok(Settled { reason, seals: verdict.act == Act::Seal, record: self.latest.clone() })
            }
        }
    }

    /// Returns the reason for going on with an uninstall.
    pub(super) fn resumes(&self) -> Reason {
        self.reason(Row::R13, Act::Resume)
    }

    fn reason(&self, row: Row, act: Act) -> Reason {
        let info = &self.latest.release.info;
        let since = info.last_deployed.as_ref().or(info.deleted.as_ref());
        let operation = self.latest.operation();
        Reason::Interrupted(Box::new(Interrupted {
            row,
            act,
            release: self.key.clone(),
            revision: self.latest.release.version,
            status: info.status.to_string(),
            since: since.map_or_else(|| "an unknown time".to_owned(), ToString::to_string),
            by: operation
                .as_ref()
                .map_or_else(|| self.latest.manager.clone(), |operation| operation.who.clone()),
            step: operation.and_then(|operation| operation.step),
            controller: self.facts.records.latest.as_ref().and_then(|latest| latest.controller.clone()),
            holder: self.holder.clone(),
        }))
    }
}
