//! The record of the operation under way: written over and over, so that a crash leaves what was going on.
//!
//! Every write of it replaces exactly the version that this operation wrote before. Somebody else's write in between,
//! `helm rollback` for one, makes the next one fail, and with it the operation.

use super::{Context, StepError, records};
use crate::history::{INTERRUPTED_ANNOTATION, OPERATION_ANNOTATION, Record, Release, Status};

/// The record of the operation under way, as it was stored last; nothing before the first write.
pub(super) type Current = tokio::sync::Mutex<Option<Record>>;

/// Makes a stored record the one of the operation under way.
pub(super) async fn begin(context: &Context<'_>, record: &Record) {
    *context.current.lock().await = Some(record.clone());
}

/// Stores how far the hooks of the operation are.
pub(super) async fn progress(context: &Context<'_>, release: &Release) -> Result<(), StepError> {
    let mut current = context.current.lock().await;
    let Some(own) = current.as_ref().filter(|own| own.release.version == release.version) else {
        return Ok(());
    };
    let next = Record { release: release.clone(), ..own.clone() };
    *current = Some(records::replace(context, &next).await?);
    Ok(())
}

/// Stores what is done next, where an interruption would leave no other trace of it.
pub(super) async fn note(context: &Context<'_>, step: String) -> Result<(), StepError> {
    let mut current = context.current.lock().await;
    let Some(own) = current.as_ref() else { return Ok(()) };
    let Some(operation) = own.operation() else { return Ok(()) };
    let mut next = own.clone();
    let operation = operation.at(Some(step));
    next.annotations.insert(OPERATION_ANNOTATION.to_owned(), operation.to_text());
    *current = Some(records::replace(context, &next).await?);
    Ok(())
}

/// Returns a record as it has to be sent: over the version that was stored last, if it is the operation's own.
pub(super) fn over(current: Option<&Record>, record: &Record) -> Record {
    let mut next = record.clone();
    if let Some(own) = current.filter(|own| own.uid == record.uid) {
        next.resource_version.clone_from(&own.resource_version);
        if let Some(operation) = own.operation() {
            let done = operation.at(None);
            next.annotations.insert(OPERATION_ANNOTATION.to_owned(), done.to_text());
        }
    }
    next
}

/// Marks the record of an interrupted operation failed, if it is still as it was.
pub(super) async fn mark_interrupted(context: &Context<'_>, record: &Record) -> Result<(), StepError> {
    let mut record = record.clone();
    let info = &mut record.release.info;
    let status = info.status.to_string();
    info.description = format!("statectl: recovered from {status:?} (was: {})", info.description);
    info.status = Status::Failed;
    record.annotations.insert(INTERRUPTED_ANNOTATION.to_owned(), status);
    records::replace(context, &record).await.map(drop)
}
