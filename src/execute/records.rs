//! Writing release records. Every write is conditional: a new revision is created, never overwritten, and an
//! existing record is replaced only in the version that was read.

use std::time::Duration;

use serde_json::Value as Json;

use super::{Context, StepError, journal};
use crate::cluster::{Answer, ApiError, Propagation, Resource};
use crate::history::{self, Record, Storage, Time};
use crate::host::clock;

/// How often a record is sent whose answer is lost.
const ATTEMPTS: u32 = 4;
/// The wait before it is sent again; it grows each time.
const PAUSE: Duration = Duration::from_millis(250);

/// How a record is written. Both ways are conditional, so that sending one twice writes it once.
#[derive(Clone, Copy)]
enum Write {
    Create,
    Replace,
}

/// Creates the record of a new revision and returns it as stored.
///
/// # Errors
/// Stale when the revision exists: somebody else was faster.
pub(super) async fn create(
    context: &Context<'_>,
    release: &history::Release,
    labels: &std::collections::BTreeMap<String, String>,
    annotations: &std::collections::BTreeMap<String, String>,
) -> Result<Record, StepError> {
    let mut object = history::new_object(Storage::Secret, release, labels, clock::now())?;
    let mut annotations = annotations.clone();
    annotations.extend(
        context.operation.as_ref().map(|own| (history::OPERATION_ANNOTATION.to_owned(), own.to_text())),
    );
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = serde_json::json!(annotations);
    }
    let created = write(context, &Resource::secrets(), &object, Write::Create).await;
    let answer = created.map_err(|error| {
        if error.is_status(409) {
            let what =
                format!("revision {} of {} was written by somebody else", release.version, release.name);
            return StepError::Stale { what };
        }
        StepError::object(format!("record of revision {}", release.version), error)
    })?;
    let record = decoded(&answer.body)?;
    journal::begin(context, &record).await;
    Ok(record)
}

/// Makes sure that the revision of a record is still the next one.
///
/// # Errors
/// Stale when the revision exists: somebody else was faster.
pub(super) async fn is_next(context: &Context<'_>, release: &history::Release) -> Result<(), StepError> {
    let name = history::object_name(&release.name, release.version);
    let reader = context.writer.reader();
    match reader.get(&Resource::secrets(), Some(&release.namespace), &name).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => {
            let what =
                format!("revision {} of {} was written by somebody else", release.version, release.name);
            Err(StepError::Stale { what })
        }
        Err(error) => Err(StepError::object(format!("record of revision {}", release.version), error)),
    }
}

/// Replaces a record and returns it as stored. That of the operation under way is replaced in the version that the
/// operation stored last.
///
/// # Errors
/// Stale when it changed since it was read.
pub(super) async fn update(context: &Context<'_>, record: &Record) -> Result<Record, StepError> {
    let mut current = context.current.lock().await;
    let is_own = current.as_ref().is_some_and(|own| own.uid == record.uid);
    let stored = replace(context, &journal::over(current.as_ref(), record)).await?;
    if is_own {
        *current = Some(stored.clone());
    }
    Ok(stored)
}

/// Replaces the first record of an operation that has no revision of its own, and marks it as its own.
///
/// # Errors
/// Stale when it changed since it was read.
pub(super) async fn take(context: &Context<'_>, record: &Record) -> Result<Record, StepError> {
    let mut record = record.clone();
    if let Some(own) = &context.operation {
        record.annotations.insert(history::OPERATION_ANNOTATION.to_owned(), own.to_text());
    }
    let stored = replace(context, &record).await?;
    journal::begin(context, &stored).await;
    Ok(stored)
}

/// Replaces exactly this version of a record.
pub(super) async fn replace(context: &Context<'_>, record: &Record) -> Result<Record, StepError> {
    put(context, record, history::updated_object(record, clock::now())?).await
}

/// As [`replace`], for the last time: whoever wrote it before cannot write it any more.
///
/// Source: Kubernetes, "Immutable Secrets"; the data may change in the same request that makes a Secret immutable.
pub(super) async fn freeze(context: &Context<'_>, record: &Record) -> Result<Record, StepError> {
    let mut object = history::updated_object(record, clock::now())?;
    object["immutable"] = true.into();
    put(context, record, object).await
}

async fn put(context: &Context<'_>, record: &Record, object: Json) -> Result<Record, StepError> {
    let resource = resource_of(record);
    let replaced = write(context, &resource, &object, Write::Replace).await;
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

/// Writes a record until it is known what became of it. A lost answer must not leave a release pending that is not, or
/// a revision failed that is there: what is stored is read back, and compared with what was sent.
async fn write(
    context: &Context<'_>,
    resource: &Resource,
    object: &Json,
    way: Write,
) -> Result<Answer, ApiError> {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    let (namespace, name) = (Some(text("namespace")), text("name"));
    let mut lost = 0;
    loop {
        let sent = match way {
            Write::Create => context.writer.create(resource, namespace, object).await,
            Write::Replace => context.writer.replace(resource, namespace, name, object).await,
        };
        let error = match sent {
            Err(error) if error.leaves_open() || (lost > 0 && error.is_status(409)) => error,
            known => return known,
        };
        // If this cannot be read either, it stays open, and the next plan tells.
        let Ok(stored) = context.writer.reader().get(resource, namespace, name).await else {
            return Err(error);
        };
        let same = |stored: &Json| {
            stored["data"] == object["data"]
                && ["labels", "annotations"]
                    .iter()
                    .all(|key| stored["metadata"][key] == object["metadata"][key])
        };
        if let Some(stored) = stored.filter(same) {
            return Ok(Answer { status: 200, body: stored, warnings: Vec::new() });
        }
        lost += 1;
        if lost == ATTEMPTS || error.is_status(409) {
            return Err(error);
        }
        tokio::time::sleep(PAUSE * lost).await;
    }
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
