//! Gives a release to this file: the labels of its records, and nothing else.

use super::event::{Event, Outcome, Phase};
use super::{Context, StepError, records};
use crate::plan::Own;

/// Writes the marks of the owner on the records, the newest one last: a run that ends between two of them leaves the
/// release with the owner that it had.
pub(super) async fn own(context: &Context<'_>, work: &Own) -> Result<Outcome, StepError> {
    for record in &work.records {
        let revision = record.release.version;
        context.emit(Event::Entered { key: work.key.clone(), phase: Phase::Recording { revision } });
        let written = records::update(context, record).await;
        written.inspect_err(|error| context.note_overtaken(error))?;
    }
    Ok(Outcome::Adopted)
}
