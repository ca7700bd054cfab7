//! From the records, the lock and the decisions about objects to a row of the decision table, and what follows from it.

use std::time::Duration;

use serde_json::Value as Json;

use super::body;
use super::input::{Content, PlanInput, Remnant, SeenLock};
use super::policy;
use super::reason::Reason;
use super::records::{self, ManifestId};
use super::recover::{
    self, Act, Facts, Interrupted, Latest, LockSight, Objects, Records, Row, Verdict, Wanted,
};
use super::steps::{ApplyMode, Deploy, GoBack, Rollback, Seal, SettledAs, Work};
use super::{ObjectAction, ObjectPlan, ReleasePlan};
use crate::dsf::state::{Moment, Recover};
use crate::history::{self, History, Phase, Record, Status, Time};
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
    /// What is done.
    pub(super) act: Act,
    /// How the record is settled.
    pub(super) settled_as: SettledAs,
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
        lock: match lock {
            Some(SeenLock { unreadable: Some(why), .. }) => LockSight::Unreadable { why: why.clone() },
            Some(SeenLock { is_other_kind: true, holder: Some(holder), .. }) => {
                LockSight::Live { holder: holder.clone() }
            }
            _ => LockSight::NotAsked,
        },
        records: records_of(input, history, latest, remnants, content),
        objects: Objects::Some,
        wanted: match content {
            Some(_) => Wanted::Present {
                as_desired: false,
                same_input: false,
                hooks_done: false,
                was_complete: false,
            },
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

/// Returns the namespace in which the lock of this context was kept last.
pub(super) fn lock_place(input: &PlanInput) -> Option<String> {
    let wanted = input.wanted.iter().filter_map(|wanted| wanted.history.as_ref().ok());
    let histories = wanted.chain(input.strays.iter().map(|stray| &stray.history));
    history::lock_place(histories, &input.context)
}

/// Returns what is odd about the records of a release, where nothing is done about it and no reason says so.
pub(super) fn noted(input: &PlanInput, wanted: &super::Wanted) -> Option<String> {
    let (Ok(history), Some(Ok(content))) = (&wanted.history, &wanted.content) else { return None };
    let key = &wanted.release.key;
    let (records, objects) = match history.latest() {
        Some(latest) => {
            let records = records_of(input, history, latest, &wanted.remnants, Some(content));
            (records, Objects::Some)
        }
        None => {
            let live = content.objects.iter().filter_map(|object| object.live.as_ref());
            let marked = live.filter_map(super::judge::owner_of).any(|owner| owner == *key);
            (Records::default(), if marked { Objects::Some } else { Objects::None })
        }
    };
    let facts = Facts {
        lock: LockSight::NotAsked,
        records,
        objects,
        wanted: Wanted::Absent,
        settings: input.recovery.settings,
    };
    let row = match recover::decide(&facts) {
        Verdict { row: Some(row), act: Act::Plan } if row != Row::R14 => recover::entry(row),
        _ => return None,
    };
    Some(format!("{}: {} ({})", row.when, row.does, row.id))
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

/// Returns how often the same input failed since it, or another attempt with it, succeeded last. Revisions with another
/// input in between, such as those of rollbacks, do not count.
fn failures(history: &History, content: &Content) -> usize {
    let same = history.records().iter().rev().filter(|record| same_input(&record.release, content));
    same.take_while(|record| !matches!(record.release.info.status, Status::Deployed | Status::Superseded))
        .filter(|record| record.release.info.status == Status::Failed)
        .count()
}

/// Tells whether a run takes a release on although the last word on this very input was not good: it was rolled back, which
/// is said, or it failed. A schedule leaves both, until the input changes or a person says so.
///
/// # Errors
/// Why the release is held.
pub(super) fn waits_for_input(
    input: &PlanInput,
    wanted: &super::input::Wanted,
    history: &History,
    content: &Content,
) -> Result<Option<Reason>, Reason> {
    if content.back_to.is_some() {
        return Ok(None);
    }
    let holds = input.scheduled && !input.recovery.settings.retry;
    let app = || wanted.release.app.clone();
    if let Some((left, to)) = rolled_back(history, content) {
        let reason = Reason::RolledBack { left, to, held: holds, app: app() };
        return if holds { Err(reason) } else { Ok(Some(reason)) };
    }
    let failures = if holds { failures(history, content) } else { 0 };
    if wanted.release.max_failures.is_some_and(|most| failures > 0 && failures >= most) {
        return Err(Reason::Held { failures, app: app() });
    }
    if input.policy.is_some() && failures > 0 {
        let last =
            history.latest().and_then(|record| record.release.info.last_deployed.as_ref()).map(Time::at);
        // A time that is still to come was written by a clock that is not ours: it holds nobody up.
        let until = last.filter(|last| *last <= input.now).map(|last| last + policy::wait_after(failures));
        if let Some(until) = until.filter(|until| *until > input.now) {
            return Err(Reason::BackingOff { failures, until: until.to_string() });
        }
    }
    Ok(None)
}

/// Returns the revision that somebody left by a rollback, and the one that it went back to, if the newest revision is
/// that rollback and the file still says what the one that was left says.
fn rolled_back(history: &History, content: &Content) -> Option<(u64, u64)> {
    let latest = &history.latest()?.release;
    let to = records::rolled_back_to(latest).filter(|_| latest.info.status == Status::Deployed)?;
    if same_input(latest, content) {
        return None;
    }
    let between = history.records().iter().rev().map(|record| &record.release);
    let mut between = between.filter(|release| release.version > to && release.version < latest.version);
    between.find(|release| same_input(release, content)).map(|left| (left.version, to))
}

/// Tells whether a revision was made from the same chart and values.
fn same_input(release: &history::Release, content: &Content) -> bool {
    release.chart.as_ref().is_some_and(|chart| chart.has_same_content(&content.chart))
        && records::changed_values(&release.config, &content.config).is_empty()
        && !records::hooks_differ(&release.hooks, &content.hooks)
}

/// Tells whether every object that a record names is there, and has what the record says. A value that the server stores
/// in another form counts as another: then more is done than needed, never less.
fn holds(record: &Record, content: &Content, remnants: &[Remnant]) -> bool {
    let there = content.objects.iter().map(|object| (&object.key, object.live.as_ref()));
    let there = there.chain(remnants.iter().map(|remnant| (&remnant.key, remnant.live.as_ref())));
    let there: Vec<(ManifestId, Option<&Json>)> =
        there.map(|(key, live)| (ManifestId::of_key(key), live)).collect();
    body::stored_objects(&record.release.manifest).into_iter().all(|object| {
        let Some(id) = ManifestId::of_object(&object) else { return false };
        let live = there.iter().find(|(other, _)| other.matches(&id)).and_then(|(_, live)| *live);
        live.is_some_and(|live| {
            live["metadata"]["deletionTimestamp"].is_null() && contains(live, &body::applicable(object))
        })
    })
}

/// Tells whether `live` has everything that `wanted` says.
fn contains(live: &Json, wanted: &Json) -> bool {
    match (live, wanted) {
        (_, Json::Null) => true,
        (Json::Object(live), Json::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| value.is_null() || live.get(key).is_some_and(|found| contains(found, value))),
        (Json::Array(live), Json::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| contains(live, wanted))
        }
        (live, wanted) => live == wanted,
    }
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

/// Tells whether the hook of the file that ends the operation is recorded as done, in the annotation of Helmsman.
/// A rollback has none.
fn file_hook_done(record: &Record) -> bool {
    let moment = match record.release.info.status {
        Status::PendingInstall => Moment::PostInstall,
        Status::PendingUpgrade => Moment::PostUpgrade,
        _ => return true,
    };
    record.annotations.get(&history::hook_annotation(moment.key())).is_some_and(|word| word == "ok")
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
    let settled = recovery.map(|recovery| recovery.settle(content, &[], plans, true, false));
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

/// Returns why, and how, records are settled of which several say deployed, although the newest is as desired: the last
/// writes of an operation were lost, or somebody else's. Helm reads the highest, and so does everything here.
pub(super) fn several_deployed(
    input: &PlanInput,
    key: &ReleaseKey,
    history: &History,
    timeout: Duration,
) -> Option<(Reason, Work)> {
    let latest = history.latest()?;
    let is_deployed = |record: &&Record| record.release.info.status == Status::Deployed;
    let older = history.records().iter().filter(is_deployed);
    let superseded: Vec<Record> = older.filter(|record| record.uid != latest.uid).cloned().collect();
    if superseded.is_empty() || !is_deployed(&latest) || input.recovery.settings.recover != Recover::Auto {
        return None;
    }
    let reason = Reason::Interrupted(Box::new(told(key, latest, Row::R17, Act::Seal)));
    let record = latest.clone();
    Some((reason, Work::Seal(Box::new(Seal { record, superseded, ready: Vec::new(), timeout }))))
}

/// Returns what a record tells of the operation that wrote it.
fn told(key: &ReleaseKey, latest: &Record, row: Row, act: Act) -> Interrupted {
    let info = &latest.release.info;
    let since = info.last_deployed.as_ref().or(info.deleted.as_ref());
    let operation = latest.operation();
    Interrupted {
        row,
        act,
        release: key.clone(),
        revision: latest.release.version,
        status: info.status.to_string(),
        since: since.map_or_else(|| "an unknown time".to_owned(), ToString::to_string),
        by: operation.as_ref().map_or_else(|| latest.manager.clone(), |operation| operation.who.clone()),
        step: operation.and_then(|operation| operation.step),
        controller: None,
        holder: None,
    }
}

/// Returns what restores the last good revision.
pub(super) fn go_back(work: Deploy, rollback: Rollback) -> Work {
    match work.interrupted {
        Some(record) => Work::GoBack(Box::new(GoBack { record, settled_as: work.interrupted_as, rollback })),
        None => Work::Nothing,
    }
}

/// Returns the objects that a way back touches, and those that it leaves.
pub(super) fn restored(rollback: &Rollback) -> Vec<ObjectPlan> {
    let plan = |key: &ObjectKey, action: ObjectAction, after: Vec<ObjectKey>| ObjectPlan {
        key: key.clone(),
        action,
        reasons: vec![Reason::Restored { revision: rollback.to }],
        diff: None,
        live: None,
        warnings: Vec::new(),
        after,
    };
    let applied = rollback.applies.iter().map(|step| {
        let action = match step.mode {
            ApplyMode::Update { .. } => ObjectAction::Update,
            _ => ObjectAction::Create,
        };
        plan(&step.key, action, rollback.after.get(&step.key).cloned().unwrap_or_default())
    });
    let stays = rollback.stays.iter().map(|key| ObjectPlan {
        reasons: vec![Reason::LeftManifest],
        ..plan(key, ObjectAction::Keep, Vec::new())
    });
    applied.chain(stays).collect()
}

impl Recovery<'_> {
    /// Returns what is done, now that the objects are decided about. `has_after`: the file has a hook that ends the
    /// operation.
    ///
    /// # Errors
    /// Why nothing is done.
    pub(super) fn settle(
        mut self,
        content: &Content,
        remnants: &[Remnant],
        plans: &[ObjectPlan],
        run_hooks: bool,
        has_after: bool,
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
            hooks_done: (!run_hooks || hooks_done(self.latest))
                && (!has_after || file_hook_done(self.latest)),
            was_complete: holds(self.latest, content, remnants),
        };
        let verdict = recover::decide(&self.facts);
        let row = verdict.row.unwrap_or(Row::R9);
        let reason = self.reason(row, verdict.act);
        match verdict.act {
            Act::Wait | Act::Refuse => Err(reason),
            Act::Plan
            | Act::Install
            | Act::RollForward
            | Act::RollBack
            | Act::Seal
            | Act::SealFirst
            | Act::Resume => {
                let is_foreign = self.facts.records.latest.as_ref().is_some_and(|latest| !latest.ours);
                let settled_as = match verdict.act {
                    Act::SealFirst => SettledAs::Deployed,
                    _ if is_foreign && self.facts.settings.fence_taken_over => SettledAs::Fenced,
                    _ => SettledAs::Failed,
                };
                Ok(Settled { reason, act: verdict.act, settled_as, record: self.latest.clone() })
            }
        }
    }

    /// Tells whether an uninstall was interrupted: what it deleted may still be on its way out.
    pub(super) fn was_uninstall(&self) -> bool {
        self.latest.release.info.status == Status::Uninstalling
    }

    /// Returns the reason for going on with an uninstall.
    pub(super) fn resumes(&self) -> Reason {
        self.reason(Row::R13, Act::Resume)
    }

    fn reason(&self, row: Row, act: Act) -> Reason {
        let controller = self.facts.records.latest.as_ref().and_then(|latest| latest.controller.clone());
        let told = told(self.key, self.latest, row, act);
        Reason::Interrupted(Box::new(Interrupted { controller, holder: self.holder.clone(), ..told }))
    }
}
