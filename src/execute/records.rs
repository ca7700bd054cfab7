//! Writing release records. Every write is conditional: a new revision is created, never overwritten, and an
//! existing record is replaced only in the version that was read.

use super::{Context, StepError};
use crate::cluster::{Propagation, Resource};
use crate::history::{self, Record, Storage, Time};
use crate::host::clock;

/// Creates the record of a new revision and returns it as stored.
///
/// # Errors
/// Stale when the revision exists: somebody else was faster.
pub(super) async fn create(
    context: &Context<'_>,
    release: &history::Release,
    labels: &std::collections::BTreeMap<String, String>,
) -> Result<Record, StepError> {
    let object = history::new_object(Storage::Secret, release, labels, clock::now())?;
    let created = context.writer.create(&Resource::secrets(), Some(&release.namespace), &object).await;
    let answer = created.map_err(|error| {
        if error.is_status(409) {
            let what =
                format!("revision {} of {} was written by somebody else", release.version, release.name);
            return StepError::Stale { what };
        }
        StepError::object(format!("record of revision {}", release.version), error)
    })?;
    decoded(&answer.body)
}

/// Replaces a record and returns it as stored.
///
/// # Errors
/// Stale when it changed since it was read.
pub(super) async fn update(context: &Context<'_>, record: &Record) -> Result<Record, StepError> {
    let object = history::updated_object(record, clock::now())?;
    let resource = resource_of(record);
    let replaced = context.writer.replace(&resource, Some(&record.namespace), &record.object, &object).await;
    let answer = replaced.map_err(|error| {
        if error.is_status(409) || error.is_status(404) {
            return StepError::Stale {
                what: format!("record {} was changed by somebody else", record.object),
            };
        }
        StepError::object(format!("record {}", record.object), error)
    })?;
    decoded(&answer.body)
}

/// Removes a record.
pub(super) async fn delete(context: &Context<'_>, record: &Record) -> Result<(), StepError> {
    let resource = resource_of(record);
    let namespace = Some(record.namespace.as_str());
    let deleted = context
        .writer
        .delete(&resource, namespace, &record.object, &record.uid, Propagation::Background)
        .await;
    deleted.map_err(|error| StepError::object(format!("record {}", record.object), error))
}

/// Returns the time now as records spell it.
pub(super) fn now() -> Time {
    Time::from(clock::now())
}

fn resource_of(record: &Record) -> Resource {
    match record.storage {
        Storage::Secret => Resource::secrets(),
        Storage::ConfigMap => Resource::config_maps(),
    }
}

/// Reads back what the server stored, for the next conditional write.
fn decoded(body: &serde_json::Value) -> Result<Record, StepError> {
    let unreadable =
        || StepError::Stale { what: "the record read back from the server is not the one sent".to_owned() };
    history::decode(Storage::Secret, body).and_then(Result::ok).ok_or_else(unreadable)
}
