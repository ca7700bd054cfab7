//! Ends the operation of somebody who is gone: the record is marked failed, and nothing else is touched.

use super::lease::Patience;
use super::{Context, Run, StepError, guarded, journal};
use crate::history::Record;
use crate::plan::SettledAs;

/// Takes the lock of a release, from whoever holds it, waits until that one can no longer write, and marks the record
/// failed if it is still as it was.
///
/// # Errors
/// The lock is not had, or the record changed meanwhile.
pub async fn unlock(record: &Record, run: Run<'_>) -> Result<(), StepError> {
    let context = Context::new(run);
    let work = async |own: &Context<'_>| journal::settle(own, record, SettledAs::Failed).await.map(drop);
    guarded::locked_by(&context, &record.key(), Some(record), Patience::Evict, work).await
}
