//! The record of the operation under way: written over and over, so that a crash leaves what was going on.
//!
//! Every write of it replaces exactly the version that this operation wrote before. Somebody else's write in between,
//! `helm rollback` for one, makes the next one fail, and with it the operation.

use super::{Context, StepError, records, seal};
use crate::cluster::Resource;
use crate::history::{self, INTERRUPTED_ANNOTATION, OPERATION_ANNOTATION, Record, Release, Status, Storage};
use crate::plan::SettledAs;

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

/// Makes sure, before something that cannot be undone, that nobody has made a newer revision: `helm rollback` does not
/// care that one is pending. What it wrote is neither overwritten nor undone.
///
/// # Errors
/// Stale when somebody has.
pub(super) async fn still_newest(context: &Context<'_>) -> Result<(), StepError> {
    let Some(own) = context.current.lock().await.clone() else { return Ok(()) };
    let (name, next) = (&own.release.name, own.release.version.saturating_add(1));
    let resource = match own.storage {
        Storage::Secret => Resource::secrets(),
        Storage::ConfigMap => Resource::config_maps(),
    };
    let object = history::object_name(name, next);
    match context.writer.reader().get(&resource, Some(&own.namespace), &object).await? {
        None => Ok(()),
        Some(_) => {
            Err(StepError::Stale { what: format!("revision {next} of {name} was made by somebody else") })
        }
    }
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

/// Settles the record of an interrupted operation, if it is still as it was, and returns it as stored.
pub(super) async fn settle(
    context: &Context<'_>,
    record: &Record,
    settled_as: SettledAs,
) -> Result<Record, StepError> {
    if settled_as == SettledAs::Deployed {
        return records::replace(context, &seal::complete(record)).await;
    }
    let mut record = record.clone();
    let info = &mut record.release.info;
    let status = info.status.to_string();
    info.description = format!("statectl: recovered from {status:?} (was: {})", info.description);
    info.status = Status::Failed;
    record.annotations.insert(INTERRUPTED_ANNOTATION.to_owned(), status);
    match settled_as {
        SettledAs::Fenced => records::freeze(context, &record).await,
        SettledAs::Failed | SettledAs::Deployed => records::replace(context, &record).await,
    }
}
