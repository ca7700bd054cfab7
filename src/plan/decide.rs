//! Decides what a release needs, and why.
//!
//! Pure: sees only [`PlanInput`]. Knows nothing of how steps are carried out, how Helm stores releases or how
//! anything is printed.

use super::adoption::{self, adoption};
use super::app_hooks::{self, FileHooks, Told};
use super::compare::{self, Manifests};
use super::config;
use super::definition;
use super::flap::Corrections;
use super::guard::{self, Keys};
use super::hooking::{self, Hooking};
use super::input::{Content, Operation, PlanInput, Wanted};
use super::judge::{self, Judged};
use super::leave;
use super::live;
use super::moves;
use super::ownership::FieldRules;
use super::policy;
use super::quota;
use super::reason::Reason;
use super::records;
use super::recover::Act;
use super::recovery::{self, Recovery};
use super::rollback;
use super::schedule::{mark_dependants_of_blocked, schedule};
use super::sequence::{self, sequence};
use super::shared;
use super::spaces;
use super::steps::{Delete, Deploy, DeployKind, SettledAs, Uninstall, Work};
use super::take_over;
use super::{Action, ChartId, ObjectAction, ObjectPlan, Permits, Plan, ReleasePlan};
use crate::diff::Masker;
use crate::dsf::state::{Crds, Moment, NeedWhen, Sequencing};
use crate::history::{History, Status};
use crate::manifest::{self, KindOrder};
use crate::model::{ObjectKey, ReleaseKey};

/// Decides about every release of `input`.
pub fn plan(input: &PlanInput) -> Plan {
    let mut releases: Vec<ReleasePlan> = input
        .wanted
        .iter()
        .map(|wanted| {
            let mut plan = decide(input, wanted);
            let is_settled = plan.reasons.iter().any(|reason| reason.code() == "several-deployed");
            plan.notes.extend(recovery::noted(input, wanted).filter(|_| !is_settled));
            plan
        })
        .chain(input.strays.iter().map(|stray| leave::decide_stray(input, stray)))
        .collect();
    releases.sort_by(|a, b| a.key.cmp(&b.key));
    shared::block_shared_objects(input, &mut releases);
    leave::block_mass_removal(input, &mut releases);
    moves::block_lookalikes(input, &mut releases);
    policy::hold(input, &mut releases);
    leave::block_containers(input, &mut releases);
    mark_dependants_of_blocked(&mut releases);
    quota::mark(input, &mut releases);
    live::pin(input, &mut releases);
    let order = schedule(input, &releases);
    let told = |plan: &ReleasePlan| -> Vec<String> {
        plan.notes.iter().map(|note| format!("{}: {note}", plan.key)).collect()
    };
    let told: Vec<String> = releases.iter().flat_map(told).collect();
    let notes =
        order.notes.into_iter().chain(told).chain(input.wanted.iter().flat_map(guard::unmatched_entries));
    Plan {
        lock_place: recovery::lock_place(input),
        cluster: input.cluster.clone(),
        context: input.context.clone(),
        namespaces: spaces::namespaces(input, &releases),
        releases,
        batches: order.batches,
        turns: order.turns,
        notes: input.notes.iter().cloned().chain(adoption::spent(input)).chain(notes).collect(),
    }
}

/// Returns the action for a release of the file, with at least one reason.
///
/// The order of the checks matters: what comes earlier makes everything below it untrustworthy.
/// 1. The records cannot be read, or the newest one not decoded: nothing is known.
/// 2. Another operation is under way: nothing read here would stay true.
/// 3. The release belongs to somebody else: nothing of it is ours to judge.
/// 4. It should go: what the chart renders to does not matter.
/// 5. The chart cannot be rendered: there is nothing to compare with.
/// 6. Objects: refused, to be replaced, or to be changed.
/// 7. Protection: withholds what 4 to 6 decided.
fn decide(input: &PlanInput, wanted: &Wanted) -> ReleasePlan {
    let draft = Draft::new(input, wanted);
    let history = match &wanted.history {
        Ok(history) => history,
        Err(reason) => return draft.blocked(vec![reason.clone()]),
    };
    let draft = draft.with_history(history);
    if input.operation == Operation::Adopt {
        return take_over::decide(draft, input, wanted, history);
    }
    if input.skip_pending
        && input.operation == Operation::Reconcile
        && wanted.release.enabled
        && let Some(Reason::Pending { revision, status, since }) = operation_under_way(history)
    {
        return draft.nothing(Reason::PendingSkipped { revision, status, since });
    }
    let content = wanted.content.as_ref().and_then(|content| content.as_ref().ok());
    let content = content.filter(|_| input.operation == Operation::Reconcile);
    let recovery = match recovery::begin(input, &wanted.release.key, history, &wanted.remnants, content) {
        Ok(recovery) => recovery,
        Err(reason) => return draft.blocked(vec![reason]),
    };
    let current = history.latest().filter(|record| record.release.info.status != Status::Uninstalled);
    let adopted = match ownership(input, wanted, history) {
        Ok(adopted) => adopted,
        Err(reason) => return draft.blocked(vec![reason]),
    };
    let removal = if input.operation == Operation::Destroy {
        Some(Reason::DestroyAsked)
    } else if wanted.release.enabled {
        None
    } else {
        Some(Reason::DisabledInFile)
    };
    let plan = match (removal, current) {
        (Some(_), None) => draft.nothing(Reason::Disabled),
        (Some(reason), Some(_)) => {
            recovery::resumed(draft.uninstall(history, &wanted.remnants, reason), recovery)
        }
        (None, _) => match &wanted.content {
            Some(Ok(content)) => draft.deploy(history, content, adopted, recovery),
            Some(Err(reason)) => draft.blocked(vec![reason.clone()]),
            None => draft.nothing(Reason::Disabled),
        },
    };
    withhold_if_protected(plan, wanted.protected_by.as_deref(), current.is_some())
}

/// The parts of a decision that do not depend on its outcome.
pub(super) struct Draft<'a> {
    pub(super) input: &'a PlanInput,
    pub(super) key: ReleaseKey,
    pub(super) app: Option<String>,
    pub(super) wanted: Option<&'a Wanted>,
    pub(super) chart_from: Option<ChartId>,
    pub(super) revision: Option<u64>,
}

impl<'a> Draft<'a> {
    fn new(input: &'a PlanInput, wanted: &'a Wanted) -> Self {
        Self {
            input,
            key: wanted.release.key.clone(),
            app: Some(wanted.release.app.clone()),
            wanted: Some(wanted),
            chart_from: None,
            revision: None,
        }
    }

    pub(super) fn with_history(mut self, history: &History) -> Self {
        if let Some(latest) = history.latest() {
            self.revision = Some(latest.release.version);
            self.chart_from = latest
                .release
                .chart
                .as_ref()
                .map(|chart| ChartId { name: chart.name().to_owned(), version: chart.version().to_owned() });
        }
        self
    }

    pub(super) fn finish(self, action: Action, reasons: Vec<Reason>) -> ReleasePlan {
        let chart_to = match self.wanted.and_then(|wanted| wanted.content.as_ref()) {
            Some(Ok(content)) if action != Action::Uninstall => Some(ChartId {
                name: content.chart.name().to_owned(),
                version: content.chart.version().to_owned(),
            }),
            _ => None,
        };
        let needs =
            self.wanted.map(|wanted| wanted.release.needs.iter().map(|need| need.release.clone()).collect());
        let waits_for = self.wanted.map(|wanted| {
            let ready = wanted.release.needs.iter().filter(|need| need.when == NeedWhen::Ready);
            ready.map(|need| need.release.clone()).collect()
        });
        ReleasePlan {
            key: self.key,
            app: self.app,
            action,
            reasons,
            chart_from: self.chart_from,
            chart_to,
            revision: self.revision,
            needs: needs.unwrap_or_default(),
            waits_for: waits_for.unwrap_or_default(),
            wait_for: self.wanted.map(|wanted| wanted.release.wait_for.clone()).unwrap_or_default(),
            ready: self.wanted.map(|wanted| wanted.release.ready.clone()).unwrap_or_default(),
            hooks: Vec::new(),
            objects: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            work: Work::Nothing,
        }
    }

    pub(super) fn blocked(self, reasons: Vec<Reason>) -> ReleasePlan {
        self.finish(Action::Blocked, reasons)
    }

    pub(super) fn nothing(self, reason: Reason) -> ReleasePlan {
        self.finish(Action::None, vec![reason])
    }

    /// A new revision, or the reasons why there is none.
    fn deploy(
        self,
        history: &History,
        content: &Content,
        adopted: bool,
        recovery: Option<Recovery<'_>>,
    ) -> ReleasePlan {
        let input = self.input;
        let Some(wanted) = self.wanted else { return self.nothing(Reason::Disabled) };
        let adoption = adoption(&input.context, &wanted.release, history);
        let owner = judge::Owner {
            release: self.key.clone(),
            app: wanted.release.app.clone(),
            keys: Keys::of(&wanted.release),
            adopt: adoption.allowed,
            adoption_spent: adoption.spent,
            moved_from: wanted.moved_from.as_ref().map(|moved| moved.key.clone()),
        };
        let baseline = history.baseline();
        let previous = history.latest().filter(|record| record.release.info.status != Status::Uninstalled);
        let keys: Vec<&ObjectKey> = content.objects.iter().map(|object| &object.key).collect();
        let grouped = wanted.release.sequencing == Sequencing::Annotations;
        let sequence = match sequence(&content.manifest, Some(&content.chart), grouped, &keys) {
            Ok(sequence) => sequence,
            Err(message) => return self.blocked(vec![Reason::NoOrder { message }]),
        };
        let kind = match (previous, baseline) {
            (Some(_), Some(_)) if content.back_to.is_some() => DeployKind::Rollback,
            (Some(_), Some(_)) => DeployKind::Upgrade,
            _ => DeployKind::Install,
        };
        // Definitions of the `crds` folder belong to installs, as in Helm, unless the file says more or less.
        let with_crds = match wanted.release.crds {
            Crds::Create => kind == DeployKind::Install,
            Crds::Upgrade => true,
            Crds::Skip => false,
        };
        let rules = FieldRules::new(&wanted.release, adoption.allowed, adoption.takes_over);
        let manifests = Manifests::new(baseline, previous, content, &rules);
        let crds: Vec<Judged> = content
            .crds
            .iter()
            .filter(|_| with_crds)
            .map(|object| match wanted.release.crds {
                Crds::Upgrade => {
                    let judged = judge::upgraded_definition(object, &owner, Masker::new(&input.salt));
                    definition::guard(judged, object, &owner.keys, true)
                }
                Crds::Create | Crds::Skip => judge::created_definition(object),
            })
            .collect();
        let was_uninstall = recovery.as_ref().is_some_and(Recovery::was_uninstall);
        let mut objects: Vec<Judged> = content
            .objects
            .iter()
            .map(|object| {
                let recorded = manifests.last_applied(&object.key);
                let masker = Masker::new(&input.salt);
                if was_uninstall && let Some(judged) = judge::after_uninstall(object, &owner) {
                    return judged;
                }
                let judged = judge::object(object, &owner, recorded, masker);
                let judged = definition::guard(judged, object, &owner.keys, false);
                let gone = object.live.is_none() && manifests.ended_and_gone(&object.key, &object.body);
                if gone { judge::ended_and_gone(object) } else { judged }
            })
            .collect();
        let remnants = match &wanted.remnants {
            Ok(remnants) => remnants
                .iter()
                .map(|remnant| adoption::remnant(input, remnant, &owner.keys))
                .collect::<Vec<_>>(),
            Err(reason) => return self.blocked(vec![reason.clone()]),
        };
        let left_behind = match moves::left_behind(input, wanted) {
            Ok(judged) => judged,
            Err(reasons) => return self.blocked(reasons),
        };
        let remnants: Vec<Judged> = remnants.into_iter().chain(left_behind).collect();
        let permits = Permits::of(crds.iter().chain(&objects).filter_map(judge::permit_of));
        let judged = || crds.iter().chain(&objects).chain(&remnants);
        let mut refusals: Vec<Reason> = judged().flat_map(|judged| judged.refusals.iter().cloned()).collect();
        let hooking = Hooking::new(&content.hooks, kind, !wanted.release.no_hooks, &self.key);
        refusals.extend(hooking.refusals(&content.objects));
        let warnings: Vec<String> = judged().flat_map(|judged| judged.plan.told_warnings()).collect();
        let mut reasons = if adopted { vec![Reason::Adopted] } else { Vec::new() };
        if let Some(moved) = &wanted.moved_from {
            reasons.push(Reason::MovedFrom { from: moved.key.clone() });
        }
        reasons.extend(compare::release_reasons(history, previous, content, wanted.release.on_remove));
        if previous.is_some() && crds.iter().any(|judged| judged.plan.action != ObjectAction::None) {
            reasons.push(Reason::CrdsChange);
        }
        reasons.extend(compare::object_reasons(&objects, &remnants, &manifests));
        let app = &wanted.release.app;
        let corrections = Corrections::of(previous, &reasons, &content.objects, &rules, app);
        reasons.extend(config::mark_stale(app, &content.objects, &mut objects, &manifests));
        let mut plans: Vec<ObjectPlan> = Vec::new();
        let mut crd_steps = Vec::new();
        let mut applies = Vec::new();
        let (mut prunes, mut handed) = (Vec::new(), Vec::new());
        for judged in crds {
            plans.push(judged.plan);
            crd_steps.extend(judged.apply);
        }
        objects.sort_by_key(|judged| sequence.wave(&judged.plan.key));
        for judged in objects {
            let judged = if reasons.is_empty() { judged } else { judged.in_a_changing_release() };
            plans.push(judged.plan);
            applies.extend(judged.apply);
        }
        for (judged, to_hook) in remnants.into_iter().map(|judged| hooking.hand_over(judged)) {
            plans.push(judged.plan);
            prunes.extend(judged.delete);
            handed.extend(to_hook);
        }
        let after = sequence.among(&applies.iter().map(|step| &step.key).collect());
        // What is pruned goes in reverse, so the list is turned for the order and turned back.
        prunes.reverse();
        let gone = sequence::removal(previous, &mut prunes, |step: &Delete| &step.key);
        prunes.reverse();
        for plan in &mut plans {
            plan.after = after.get(&plan.key).or_else(|| gone.get(&plan.key)).cloned().unwrap_or_default();
        }
        let refusals: Vec<Reason> = refusals.into_iter().chain(corrections.refusals.clone()).collect();
        let refusals = if refusals.is_empty() { shared::doubled(&applies) } else { refusals };
        if !refusals.is_empty() {
            let mut plan = self.blocked(recovery::with(recovery, refusals, content, &plans));
            plan.objects = plans;
            plan.warnings = warnings;
            return plan;
        }
        let moments = app_hooks::moments(kind);
        let has_after = moments.is_some_and(|[_, after]| app_hooks::has(wanted, after));
        let run_hooks = !wanted.release.no_hooks;
        let left = wanted.remnants.as_deref().unwrap_or_default();
        let settle = |recovery: Recovery<'_>| recovery.settle(content, left, &plans, run_hooks, has_after);
        let settled = match recovery.map(settle).transpose() {
            Ok(settled) => settled,
            Err(reason) => return self.blocked(vec![reason]),
        };
        reasons.splice(0..0, settled.iter().map(|settled| settled.reason.clone()));
        if reasons.is_empty() {
            let several = recovery::several_deployed(input, &self.key, history, wanted.release.timeout);
            let mut plan = match several {
                Some((reason, work)) => {
                    let mut plan = self.finish(Action::Recover, vec![reason]);
                    plan.work = work;
                    plan
                }
                None => self.nothing(Reason::Unchanged { objects: plans.len() }),
            };
            plan.objects = plans;
            plan.notes = sequence.notes;
            return plan;
        }
        if let Some(revision) = content.back_to {
            reasons.insert(0, Reason::RollbackAsked { revision });
        }
        match recovery::waits_for_input(input, wanted, history, content) {
            Ok(reason) => reasons.extend(reason),
            Err(held) => {
                let mut plan = self.blocked(vec![held]);
                plan.reasons.extend(reasons);
                plan.objects = plans;
                return plan;
            }
        }
        let action = if let Some(permits) = permits {
            Action::Reinstall(permits)
        } else if adopted {
            Action::Adopt
        } else if settled.is_some() {
            Action::Recover
        } else if kind == DeployKind::Install {
            Action::Install
        } else {
            Action::Upgrade
        };
        let act = settled.as_ref().map(|settled| settled.act);
        let seals = act == Some(Act::Seal) && action == Action::Recover;
        let told = Told {
            chart: (content.chart.name(), content.chart.version()),
            revision: history.next_revision(),
        };
        let around = moments.map_or_else(
            || Ok(FileHooks::default()),
            |moments| app_hooks::around(input, wanted, moments, &told),
        );
        let file_hooks = match around {
            Ok(hooks) => hooks,
            // Where only the record is settled, no hook runs.
            Err(_) if seals => FileHooks::default(),
            Err(refusals) => {
                let mut plan = self.blocked(refusals);
                plan.objects = plans;
                plan.warnings = warnings;
                return plan;
            }
        };
        let mut work = Deploy {
            kind,
            record: records::next(input, &wanted.release, history, content, kind),
            labels: records::labels(input, &wanted.release, previous),
            annotations: corrections.annotations(),
            retired: moves::retired(wanted),
            interrupted: settled.as_ref().map(|settled| settled.record.clone()),
            interrupted_as: settled.as_ref().map_or(SettledAs::Failed, |settled| settled.settled_as),
            superseded: records::superseded(history),
            forgotten: history.prune_candidates(wanted.release.max_history, 1).into_iter().cloned().collect(),
            crds: crd_steps,
            applies,
            after,
            prunes,
            gone,
            handed,
            run_hooks,
            file_hooks,
            test: wanted.release.test,
            // A test of something that is not ready would say nothing.
            wait: wanted.release.wait || wanted.release.test || is_waited_for(input, &self.key),
            timeout: wanted.release.timeout,
            rollback: None,
        };
        work.rollback = rollback::plan(input, wanted, history, content, &work);
        if act == Some(Act::RollBack)
            && let Some(rollback) = rollback::back(input, wanted, history, content, &work)
        {
            let mut plan = self.finish(Action::Recover, vec![reasons.remove(0)]);
            plan.chart_to = plan.chart_from.clone();
            plan.objects = recovery::restored(&rollback);
            plan.work = recovery::go_back(work, rollback);
            return plan;
        }
        if seals {
            let mut plan = self.finish(action, reasons);
            plan.work = recovery::seal(work, plans.iter().map(|plan| &plan.key));
            plan.objects = plans;
            return plan;
        }
        let mut plan = self.finish(action, reasons);
        plan.objects = plans;
        plan.warnings = warnings;
        plan.notes = sequence.notes;
        plan.hooks = if work.run_hooks { hooking::shown(&content.hooks, &kind.events()) } else { Vec::new() };
        app_hooks::show(&mut plan.hooks, &work.file_hooks);
        if work.test {
            plan.hooks.extend(hooking::shown(&content.hooks, &["test"]));
        }
        plan.work = Work::Deploy(Box::new(work));
        plan
    }

    pub(super) fn uninstall(
        self,
        history: &History,
        remnants: &Result<Vec<super::Remnant>, Reason>,
        reason: Reason,
    ) -> ReleasePlan {
        let remnants = match remnants {
            Ok(remnants) => remnants,
            Err(unreadable) => return self.blocked(vec![unreadable.clone()]),
        };
        let Some(latest) = history.latest() else { return self.nothing(Reason::Disabled) };
        let input = self.input;
        let keys = self.wanted.map_or_else(|| Keys::none(&self.key), |wanted| Keys::of(&wanted.release));
        let judge = |remnant| adoption::remnant(input, remnant, &keys).with_its_release();
        let mut judged: Vec<Judged> = remnants.iter().map(judge).collect();
        let refusals: Vec<Reason> =
            judged.iter().flat_map(|judged| judged.refusals.iter().cloned()).collect();
        if !refusals.is_empty() {
            let mut plan = self.blocked(refusals);
            plan.objects = judged.into_iter().map(|judged| judged.plan).collect();
            return plan;
        }
        let mut deletes: Vec<Delete> = judged.iter_mut().filter_map(|judged| judged.delete.take()).collect();
        manifest::sort_by_kind(&mut deletes, KindOrder::Uninstall, |step| &step.key.gvk.kind);
        let after = sequence::removal(Some(latest), &mut deletes, |step| &step.key);
        for judged in &mut judged {
            judged.plan.after = after.get(&judged.plan.key).cloned().unwrap_or_default();
        }
        let chart = latest.release.chart.as_ref();
        let told = Told {
            chart: chart.map_or(("", ""), |chart| (chart.name(), chart.version())),
            revision: latest.release.version,
        };
        let moments = [Moment::PreDelete, Moment::PostDelete];
        let file_hooks = self.wanted.map(|wanted| app_hooks::around(input, wanted, moments, &told));
        let file_hooks = match file_hooks.transpose() {
            Ok(hooks) => hooks.unwrap_or_default(),
            Err(refusals) => {
                let mut plan = self.blocked(refusals);
                plan.objects = judged.into_iter().map(|judged| judged.plan).collect();
                return plan;
            }
        };
        let work = Uninstall {
            key: self.key.clone(),
            latest: latest.clone(),
            records: history.records().to_vec(),
            deletes,
            after,
            run_hooks: self.wanted.is_none_or(|wanted| !wanted.release.no_hooks),
            file_hooks,
            timeout: self.wanted.map_or(records::DEFAULT_TIMEOUT, |wanted| wanted.release.timeout),
        };
        let mut plan = self.finish(Action::Uninstall, vec![reason]);
        if work.run_hooks {
            plan.hooks = hooking::shown(&work.latest.release.hooks, &["pre-delete", "post-delete"]);
        }
        app_hooks::show(&mut plan.hooks, &work.file_hooks);
        plan.objects = judged.into_iter().map(|judged| judged.plan).collect();
        plan.work = Work::Uninstall(Box::new(work));
        plan
    }
}

/// 1. A newest record that cannot be decoded hides what is installed.
pub(super) fn unreadable_newest(history: &History) -> Option<Reason> {
    let newest = history.undecodable().iter().max_by_key(|object| object.revision)?;
    let readable = history.latest().map_or(0, |record| record.release.version);
    (newest.revision > readable).then(|| Reason::RecordUnreadable {
        record: format!("{}/{}", newest.key.namespace, newest.object),
        message: newest.why.to_string(),
    })
}

/// 2. Somebody else is writing, or was killed while writing.
pub(super) fn operation_under_way(history: &History) -> Option<Reason> {
    let latest = history.latest()?;
    let status = &latest.release.info.status;
    if !status.is_pending() && *status != Status::Uninstalling {
        return None;
    }
    let since = latest.release.info.last_deployed.as_ref().or(latest.release.info.deleted.as_ref());
    Some(Reason::Pending {
        revision: latest.release.version,
        status: status.to_string(),
        since: since.map_or_else(|| "an unknown time".to_owned(), ToString::to_string),
    })
}

/// 3. Returns whether the release has to be taken over first, or why it is not ours to touch.
fn ownership(input: &PlanInput, wanted: &Wanted, history: &History) -> Result<bool, Reason> {
    let Some(latest) = history.latest() else { return Ok(false) };
    // Nothing of an uninstalled release is left to own.
    if latest.release.info.status == Status::Uninstalled {
        return Ok(false);
    }
    let takes_over = adoption(&input.context, &wanted.release, history).takes_over;
    match latest.context() {
        Some(owner) if owner == input.context => Ok(false),
        _ if takes_over => Ok(true),
        Some(owner) => Err(Reason::OtherContext { owner: owner.to_owned(), context: input.context.clone() }),
        None => {
            Err(Reason::NobodysRelease { context: input.context.clone(), app: wanted.release.app.clone() })
        }
    }
}

/// 7. Protection withholds every operation on a release that exists; what was decided stays visible.
pub(super) fn withhold_if_protected(
    plan: ReleasePlan,
    protected_by: Option<&str>,
    exists: bool,
) -> ReleasePlan {
    let Some(by) = protected_by.filter(|_| exists) else { return plan };
    // A guard's refusal would be withheld as well; what could not be judged stays an error.
    let is_guard =
        |reason: &Reason| reason.object().is_some() || matches!(reason, Reason::ExecNotAllowed { .. });
    let guarded = plan.action == Action::Blocked && plan.reasons.iter().all(is_guard);
    if !plan.action.is_change() && !guarded {
        return plan;
    }
    let why = plan.reasons.first().map(Reason::to_string).unwrap_or_default();
    let withheld = format!("{} ({why})", plan.action);
    let reasons = vec![Reason::Protected { by: by.to_owned(), withheld }];
    ReleasePlan { action: Action::None, reasons, work: Work::Nothing, ..plan }
}

fn is_waited_for(input: &PlanInput, key: &ReleaseKey) -> bool {
    let needs = input.wanted.iter().flat_map(|wanted| &wanted.release.needs);
    needs.into_iter().any(|need| need.release == *key && need.when == NeedWhen::Ready)
}
