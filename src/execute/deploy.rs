//! Installs or upgrades one release: record first, then objects, then readiness, then the record again.
//!
//! Source of the sequence and the texts in records: Helm `pkg/action/{install,upgrade}.go`. Two things differ
//! on purpose: removed objects are pruned after the new ones are ready, and the new record says deployed
//! before the old one says superseded, so that at no moment none does.

use super::event::{Event, Outcome, Phase};
use super::rollback::rollback;
use super::waves::{self, Of};
use super::{Context, StepError, app_hooks, hooks, journal, records, testing, wait};
use crate::dsf::state::ReadyRule;
use crate::history::{self, Record, Release, Status};
use crate::host::secrets;
use crate::model::ReleaseKey;
use crate::plan::{Deploy, DeployKind, SettledAs};

/// Carries out a new revision.
pub(super) async fn deploy(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    deploy: &Deploy,
) -> Result<Outcome, StepError> {
    let revision = deploy.record.version;
    context.learn(key, &deploy.record);
    if deploy.file_hooks.before.is_some() {
        // A hook is not run for a plan that no longer fits.
        let absent = records::is_next(context, &deploy.record).await;
        absent.inspect_err(|error| context.note_overtaken(error))?;
        app_hooks::run(context, key, deploy.file_hooks.before.as_ref()).await?;
    }
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Recording { revision } });
    let mut superseded = deploy.superseded.clone();
    if let Some(left) = &deploy.interrupted {
        let settled = journal::settle(context, left, deploy.interrupted_as).await;
        let settled = settled.inspect_err(|error| context.note_overtaken(error))?;
        // One that came to its end is replaced like any other.
        superseded.extend(Some(settled).filter(|_| deploy.interrupted_as == SettledAs::Deployed));
    }
    let written =
        records::create(context, &started(&deploy.record), &deploy.labels, &deploy.annotations).await;
    let mut record = written.inspect_err(|error| context.note_overtaken(error))?;
    let done = steps(context, key, rules, deploy, &mut record).await;
    let done = match done {
        Ok(()) => after(context, key, deploy, &mut record).await,
        failed => failed,
    };
    if let Err(error) = done {
        let error = mark_failed(context, deploy, record, error).await;
        return Err(match &deploy.rollback {
            Some(way_back) if error.can_be_rolled_back() => {
                rollback(context, key, rules, way_back, error).await
            }
            _ => error,
        });
    }
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Finishing });
    record.release.info.status = Status::Deployed;
    if let Some(text) = complete_text(deploy.kind) {
        text.clone_into(&mut record.release.info.description);
    }
    record = records::update(context, &record).await?;
    for mut old in superseded {
        old.release.info.status = Status::Superseded;
        records::update(context, &old).await?;
    }
    for old in &deploy.forgotten {
        records::delete(context, old).await?;
    }
    // The newest goes last: a run that is killed here leaves the old name there to be finished.
    let mut retired: Vec<&Record> = deploy.retired.iter().collect();
    retired.sort_by_key(|record| record.release.version);
    for old in retired {
        records::delete(context, old).await?;
    }
    if deploy.test {
        testing::test(context, key, &mut record, deploy.timeout)
            .await
            .map_err(|error| StepError::TestFailed { revision, cause: Box::new(error) })?;
    }
    Ok(Outcome::Deployed { revision })
}

/// Returns the record with the time at which the work on it starts: a plan may have waited for its turn.
pub(super) fn started(record: &Release) -> Release {
    let mut record = record.clone();
    let now = records::now();
    // Of a first revision both times are the same.
    if record.info.first_deployed == record.info.last_deployed {
        record.info.first_deployed = Some(now.clone());
    }
    record.info.last_deployed = Some(now);
    record
}

async fn steps(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    deploy: &Deploy,
    record: &mut Record,
) -> Result<(), StepError> {
    let [before, after] = deploy.kind.events();
    context.check_stop()?;
    let of = Of { key, rules, timeout: deploy.timeout };
    waves::apply_definitions(context, &of, &deploy.crds).await?;
    if deploy.run_hooks {
        hooks::run_for(context, key, &mut record.release, before, &deploy.handed, deploy.timeout).await?;
    }
    waves::apply(context, &of, &deploy.applies, &deploy.after).await?;
    if deploy.wait {
        wait::ready(context, key, rules, deploy.applies.iter().map(|step| &step.key), deploy.timeout).await?;
    }
    if deploy.run_hooks {
        hooks::run_for(context, key, &mut record.release, after, &deploy.handed, deploy.timeout).await?;
    }
    journal::still_newest(context).await?;
    // In reverse: what was applied last goes first.
    let prunes = deploy.prunes.iter().rev();
    waves::remove(context, key, prunes, &deploy.gone, deploy.timeout, false).await?;
    Ok(())
}

/// Runs the hook of the file that ends the operation. A run that is killed here leaves a record that says pending, so
/// the hook runs again.
async fn after(
    context: &Context<'_>,
    key: &ReleaseKey,
    deploy: &Deploy,
    record: &mut Record,
) -> Result<(), StepError> {
    if let Some(hook) = &deploy.file_hooks.after {
        journal::note(context, format!("run the hook {}", hook.moment.key())).await?;
        app_hooks::run(context, key, Some(hook)).await?;
    }
    let done = deploy.file_hooks.iter().map(|hook| history::hook_annotation(hook.moment.key()));
    record.annotations.extend(done.map(|name| (name, "ok".to_owned())));
    Ok(())
}

/// Marks the new revision failed, with the reason, and returns the error to report.
async fn mark_failed(
    context: &Context<'_>,
    deploy: &Deploy,
    mut record: Record,
    error: StepError,
) -> StepError {
    if error.is_lock_lost() {
        return error;
    }
    // Whoever may read the record need not be the one who may read the secrets.
    let told = error.text();
    let reason = secrets::redact(&told);
    let name = &record.release.name;
    record.release.info.description = match deploy.kind {
        DeployKind::Install => format!("Release {name:?} failed: {reason}"),
        DeployKind::Upgrade => format!("Upgrade {name:?} failed: {reason}"),
        DeployKind::Rollback => format!("Rollback {name:?} failed: {reason}"),
    };
    record.release.info.status = Status::Failed;
    match records::update(context, &record).await {
        Ok(_) => error,
        Err(second) => StepError::Twice { first: Box::new(error), second: Box::new(second) },
    }
}

/// Returns what a record says in the end; that of a rollback says it from its beginning.
fn complete_text(kind: DeployKind) -> Option<&'static str> {
    match kind {
        DeployKind::Install => Some("Install complete"),
        DeployKind::Upgrade => Some("Upgrade complete"),
        DeployKind::Rollback => None,
    }
}
