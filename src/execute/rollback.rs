//! Restores the last good revision after one that failed, as planned before.
//!
//! Source of the sequence and the texts in records: Helm `pkg/action/rollback.go`. Unlike Helm, nothing is replaced or
//! deleted (but pods in the way, where the file says so), and hooks that fail leave a record that says failed, not pending.

use std::fmt::Write as _;

use super::deploy::started;
use super::event::{Event, Outcome, Phase};
use super::waves::{self, Of};
use super::{Context, StepError, hooks, journal, records, unstick, wait};
use crate::dsf::state::ReadyRule;
use crate::history::{Record, Status};
use crate::model::ReleaseKey;
use crate::plan::{GoBack, Rollback};

/// Restores the revision, and returns how the release ended: always an error, since what was wanted is not there.
pub(super) async fn rollback(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    work: &Rollback,
    cause: StepError,
) -> StepError {
    context.emit(Event::Entered { key: key.clone(), phase: Phase::RollingBack { to: work.to } });
    match restore(context, key, rules, work).await {
        Ok(()) => StepError::RolledBack {
            cause: Box::new(cause),
            to: work.to,
            revision: work.record.version,
            rest: rest(work),
        },
        Err(second) => {
            StepError::RollbackFailed { cause: Box::new(cause), to: work.to, second: Box::new(second) }
        }
    }
}

/// Settles the record of an interrupted operation and restores the revision before it. What the file says is not there
/// then, so the release does not end well.
pub(super) async fn go_back(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    work: &GoBack,
) -> Result<Outcome, StepError> {
    let settled = journal::settle(context, &work.record, work.settled_as).await;
    settled.inspect_err(|error| context.note_overtaken(error))?;
    let left = work.record.release.version;
    let what = format!("revision {left} was interrupted");
    let why = "`onInterrupted = \"rollback\"`; the next apply rolls out what the file says".to_owned();
    let cause = StepError::NotReady { what, why };
    Err(rollback(context, key, rules, &work.rollback, cause).await)
}

/// Returns what a rollback leaves as the failed revision made it; empty if there is nothing.
fn rest(work: &Rollback) -> String {
    let mut text = String::new();
    for (what, keys) in [
        ("what it made besides stays", &work.stays),
        ("re-created objects are not changed back", &work.left_out),
    ] {
        let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            let _ = write!(text, "; {what}: {}", names.join(", "));
        }
    }
    text
}

async fn restore(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    work: &Rollback,
) -> Result<(), StepError> {
    context.learn(key, &work.record);
    let mut record =
        records::create(context, &started(&work.record), &work.labels, &std::collections::BTreeMap::new())
            .await?;
    if let Err(error) = steps(context, key, rules, work, &mut record).await {
        if error.is_lock_lost() {
            return Err(error);
        }
        let error = unstick::name_stuck_pods(context, work, error).await;
        record.release.info.description =
            format!("Rollback {:?} failed: {}", record.release.name, error.text());
        record.release.info.status = Status::Failed;
        return Err(match records::update(context, &record).await {
            Ok(_) => error,
            Err(second) => StepError::Twice { first: Box::new(error), second: Box::new(second) },
        });
    }
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Finishing });
    record.release.info.status = Status::Deployed;
    records::update(context, &record).await?;
    for old in &work.superseded {
        let mut old = old.clone();
        old.release.info.status = Status::Superseded;
        records::update(context, &old).await?;
    }
    Ok(())
}

async fn steps(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    work: &Rollback,
    record: &mut Record,
) -> Result<(), StepError> {
    context.check_stop()?;
    if work.run_hooks {
        hooks::run(context, key, &mut record.release, "pre-rollback", work.timeout).await?;
    }
    let of = Of { key, rules, timeout: work.timeout };
    waves::apply(context, &of, &work.applies, &work.after).await?;
    if work.unstick {
        unstick::unstick(context, key, work).await?;
    }
    if work.wait {
        wait::ready(context, key, rules, work.applies.iter().map(|step| &step.key), work.timeout).await?;
    }
    if work.run_hooks {
        hooks::run(context, key, &mut record.release, "post-rollback", work.timeout).await?;
    }
    journal::still_newest(context).await
}
