//! Work on a release behind its lock.

use std::sync::Arc;

use super::event::{Event, Phase};
use super::lease::{Patience, Waiting};
use super::{Context, StepError};
use crate::cluster::ApiError;
use crate::lock::Name;
use crate::model::ReleaseKey;

/// Takes the lock of a release, does the work, and gives the lock back. When the lock is lost the work ends where it
/// is: nothing that it would still write may be written, so there is nothing to clean up either.
///
/// # Errors
/// The lock is not had, or lost, or the work failed.
pub(super) async fn locked<T>(
    context: &Context<'_>,
    key: &ReleaseKey,
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
    let mut held = locks.acquire(&name, &[], Patience::Wait, &told).await?;
    let own = Context { writer: context.writer.behind(held.gate()), shared: Arc::clone(&context.shared) };
    let result = tokio::select! {
        biased;
        result = work(&own) => result,
        why = held.ended() => Err(StepError::Api(ApiError::Closed { why })),
    };
    held.release().await;
    result
}
