//! Ends an operation of which only the last write is missing.

use super::event::{Event, Outcome, Phase};
use super::{Context, StepError, records, wait};
use crate::dsf::state::ReadyRule;
use crate::history::{Record, Status};
use crate::model::ReleaseKey;
use crate::plan::Seal;

/// Marks the record deployed, once what has to be ready is.
pub(super) async fn seal(
    context: &Context<'_>,
    key: &ReleaseKey,
    rules: &[ReadyRule],
    work: &Seal,
) -> Result<Outcome, StepError> {
    wait::ready(context, key, rules, work.ready.iter(), work.timeout).await?;
    context.emit(Event::Entered { key: key.clone(), phase: Phase::Finishing });
    let revision = work.record.release.version;
    if work.record.release.info.status != Status::Deployed {
        let written = records::update(context, &complete(&work.record)).await;
        written.inspect_err(|error| context.note_overtaken(error))?;
    }
    for old in &work.superseded {
        let mut old = old.clone();
        old.release.info.status = Status::Superseded;
        records::update(context, &old).await?;
    }
    Ok(Outcome::Deployed { revision })
}

/// Returns the record of an operation that came to its end, with the texts of Helm, which a rollback has from the start.
pub(super) fn complete(record: &Record) -> Record {
    let mut record = record.clone();
    let info = &mut record.release.info;
    match info.status {
        Status::PendingInstall => "Install complete".clone_into(&mut info.description),
        Status::PendingUpgrade => "Upgrade complete".clone_into(&mut info.description),
        _ => {}
    }
    info.status = Status::Deployed;
    record
}
