//! Ends what ties a release to its desired state. Removes one release: marks the record, deletes the objects, waits until they are gone, forgets the records.
//!
//! Source of the sequence: Helm `pkg/action/uninstall.go`. The newest record goes last, so that a run that is
//! killed leaves a release that says what was going on.

use super::event::{Event, Outcome, Phase};
use super::{Context, StepError, app_hooks, hooks, journal, records, waves};
use crate::history::{self, Status};
use crate::plan::{Disown, Uninstall};

/// Helm's description of a release that is being removed.
const UNDER_WAY: &str = "Deletion in progress (or silently failed)";

/// Takes the marks of the owner off the newest record. Nothing else of the release changes.
pub(super) async fn disown(context: &Context<'_>, work: &Disown) -> Result<Outcome, StepError> {
    let mut record = work.latest.clone();
    let revision = record.release.version;
    context.emit(Event::Entered { key: work.key.clone(), phase: Phase::Recording { revision } });
    record.labels = history::without_owner(&record.labels);
    records::update(context, &record).await?;
    Ok(Outcome::Orphaned)
}

/// Carries out a removal.
pub(super) async fn uninstall(context: &Context<'_>, work: &Uninstall) -> Result<Outcome, StepError> {
    let key = &work.key;
    let mut latest = work.latest.clone();
    context.learn(key, &latest.release);
    app_hooks::run(context, key, work.file_hooks.before.as_ref()).await?;
    latest.release.info.status = Status::Uninstalling;
    latest.release.info.deleted = Some(records::now());
    latest.release.info.description = UNDER_WAY.to_owned();
    context.emit(Event::Entered {
        key: key.clone(),
        phase: Phase::Recording { revision: latest.release.version },
    });
    // A record that nobody can change any more goes like any other.
    if latest.frozen.is_none() {
        let written = records::take(context, &latest).await;
        latest = written.inspect_err(|error| context.note_overtaken(error))?;
    }
    if work.run_hooks {
        hooks::run(context, key, &mut latest.release, "pre-delete", work.timeout).await?;
    }
    journal::still_newest(context).await?;
    waves::remove(context, key, work.deletes.iter(), &work.after, work.timeout, true).await?;
    if work.run_hooks {
        hooks::run(context, key, &mut latest.release, "post-delete", work.timeout).await?;
    }
    // The record stays until the hook of the file has run: a run that is killed here is finished by the next.
    app_hooks::run(context, key, work.file_hooks.after.as_ref()).await?;
    journal::still_newest(context).await?;
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Finishing });
    for record in work.records.iter().filter(|record| record.uid != latest.uid) {
        records::delete(context, record).await?;
    }
    records::delete(context, &latest).await?;
    Ok(Outcome::Uninstalled)
}
