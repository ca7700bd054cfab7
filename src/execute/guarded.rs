//! Work on a release behind its lock.

use std::sync::Arc;
use std::time::Duration;

use super::event::{Event, Phase};
use super::journal::Current;
use super::lease::{Held, Past};
use super::lease::{Patience, Waiting};
use super::{Context, StepError};
use crate::cluster::ApiError;
use crate::history::{Operation, Record};
use crate::lock::Name;
use crate::model::ReleaseKey;
use crate::plan::{ReleasePlan, Work};

/// Takes the lock of a release, does the work, and gives the lock back. When the lock is lost the work ends where it
/// is: nothing that it would still write may be written, so there is nothing to clean up either.
///
/// # Errors
/// The lock is not had, or lost, or the work failed.
pub(super) async fn locked<T>(
    context: &Context<'_>,
    key: &ReleaseKey,
    left: Option<&Record>,
    work: impl AsyncFnOnce(&Context<'_>) -> Result<T, StepError>,
) -> Result<T, StepError> {
    locked_by(context, key, left, Patience::Wait, work).await
}

/// As [`locked`]; a release that has a new name is locked under its old one as well, since its records and objects go.
///
/// # Errors
/// As there.
pub(super) async fn locked_names<T>(
    context: &Context<'_>,
    release: &ReleasePlan,
    left: Option<&Record>,
    work: impl AsyncFnOnce(&Context<'_>) -> Result<T, StepError>,
) -> Result<T, StepError> {
    let old = match &release.work {
        Work::Deploy(deploy) => deploy.retired.first().map(Record::key),
        _ => None,
    };
    match old.filter(|old| *old != release.key) {
        None => locked(context, &release.key, left, work).await,
        // The new name's lock is the inner one: its records say so.
        Some(old) => {
            locked(context, &old, None, async |outer| locked(outer, &release.key, left, work).await).await
        }
    }
}

/// As [`locked`], from whoever holds it.
///
/// # Errors
/// As there.
pub(super) async fn locked_by<T>(
    context: &Context<'_>,
    key: &ReleaseKey,
    left: Option<&Record>,
    patience: Patience,
    work: impl AsyncFnOnce(&Context<'_>) -> Result<T, StepError>,
) -> Result<T, StepError> {
    let Some(locks) = &context.locks else { return work(context).await };
    // The run itself may have lost its own lock meanwhile.
    context.writer.check()?;
    let name = Name::release(&key.namespace, &key.name);
    let told = |waiting: Waiting<'_>| {
        let phase = Phase::Locked { holder: waiting.holder.to_owned() };
        context.emit(Event::Entered { key: key.clone(), phase });
    };
    let mut held = locks.acquire(&name, &[], patience, &told).await?;
    let own = Context {
        writer: context.writer.behind(held.gate()),
        shared: Arc::clone(&context.shared),
        operation: Some(locks.operation(held.fence())),
        current: Current::default(),
    };
    let rest = match held.past() {
        // Its holder stops at its next renewal, and may be writing until then.
        Past::Evicted(seconds) => Some(Duration::from_secs(seconds.into())),
        _ => left.and_then(Record::operation).and_then(|left| still_alive(&left, &held)),
    };
    let result = tokio::select! {
        biased;
        result = async {
            if let Some(rest) = rest {
                wait_out(context, key, rest).await?;
            }
            work(&own).await
        } => result,
        why = held.ended() => Err(StepError::Api(ApiError::Closed { why })),
    };
    held.release().await;
    result
}

/// Returns the record of an operation that is not over, which the work takes up.
pub(super) fn left_by(work: &Work) -> Option<&Record> {
    let record = match work {
        Work::Deploy(deploy) => deploy.interrupted.as_ref(),
        Work::Seal(seal) => Some(&seal.record),
        Work::GoBack(back) => Some(&back.record),
        Work::Uninstall(uninstall) => Some(&uninstall.latest),
        Work::Nothing | Work::Disown(_) | Work::Own(_) => None,
    };
    let under_way = |record: &&Record| {
        let status = &record.release.info.status;
        status.is_pending() || *status == crate::history::Status::Uninstalling
    };
    record.filter(under_way)
}

/// Returns how long whoever left an operation may still be alive, as far as can be told. A lock that was seen silent, or
/// given back, says that nobody is; one that is not there says nothing: somebody may have removed it.
fn still_alive(left: &Operation, held: &Held) -> Option<Duration> {
    let (uid, _) = held.fence();
    let proven = uid == left.lock && matches!(held.past(), Past::Silent | Past::Free);
    (!proven).then(|| Duration::from_secs(left.seconds.into()))
}

async fn wait_out(context: &Context<'_>, key: &ReleaseKey, time: Duration) -> Result<(), StepError> {
    let holder = "a run whose lock is gone, until it can no longer write".to_owned();
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Locked { holder } });
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        signal = context.stop.wait() => Err(StepError::Interrupted { signal }),
    }
}
