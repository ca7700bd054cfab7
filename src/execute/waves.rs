//! Applies and removes the objects of a release in order: each after what it waits for.
//!
//! The order and the edges were decided in the plan. Between two waves only what an edge names is waited for.

use std::collections::BTreeSet;
use std::time::Duration;

use super::event::{Event, Phase};
use super::{Context, StepError, objects, wait};
use crate::cluster::ApiError;
use crate::dsf::state::ReadyRule;
use crate::model::{ObjectKey, ReleaseKey};
use crate::plan::{Apply, ApplyMode, Delete, Edges};

/// The release that objects belong to.
pub(super) struct Of<'a> {
    pub(super) key: &'a ReleaseKey,
    /// When its objects are ready.
    pub(super) rules: &'a [ReadyRule],
    /// The longest time for each wait.
    pub(super) timeout: Duration,
}

/// Applies objects. Definitions of custom resources are served before anything else is applied.
pub(super) async fn apply(
    context: &Context<'_>,
    of: &Of<'_>,
    applies: &[Apply],
    after: &Edges,
) -> Result<(), StepError> {
    let total = applies.len();
    let mut ready: BTreeSet<&ObjectKey> = BTreeSet::new();
    let mut definitions: Vec<&Apply> = Vec::new();
    for (index, step) in applies.iter().enumerate() {
        context.check_stop()?;
        let is_definition = step.key.gvk.kind == "CustomResourceDefinition";
        if !is_definition {
            established(context, of, &mut definitions).await?;
        }
        let before = after.get(&step.key).into_iter().flatten().filter(|key| !ready.contains(key));
        let before: Vec<&ObjectKey> = before.collect();
        if !before.is_empty() {
            wait::ready(context, of.key, of.rules, before.iter().copied(), of.timeout).await?;
            ready.extend(before);
        }
        let changes = !matches!(step.mode, ApplyMode::Unchanged);
        if changes {
            let phase = Phase::Applying { object: step.key.to_string(), number: index + 1, total };
            context.emit(Event::Entered { key: of.key.clone(), phase });
        }
        objects::apply(context, of.key, step, of.timeout).await?;
        if is_definition && changes {
            definitions.push(step);
        }
    }
    established(context, of, &mut definitions).await
}

/// Applies the definitions of a chart's `crds` folder, and waits until their kinds are served.
pub(super) async fn apply_definitions(
    context: &Context<'_>,
    of: &Of<'_>,
    applies: &[Apply],
) -> Result<(), StepError> {
    for step in applies {
        objects::apply(context, of.key, step, of.timeout).await?;
    }
    established(context, of, &mut applies.iter().collect()).await
}

/// Waits until definitions are established and the server's discovery has their kinds.
async fn established(
    context: &Context<'_>,
    of: &Of<'_>,
    definitions: &mut Vec<&Apply>,
) -> Result<(), StepError> {
    if definitions.is_empty() {
        return Ok(());
    }
    let keys = definitions.iter().map(|step| &step.key);
    wait::ready(context, of.key, of.rules, keys, of.timeout).await?;
    let bodies: Vec<_> = definitions.iter().map(|step| &step.body).collect();
    context.rediscover(&bodies, of.timeout).await?;
    definitions.clear();
    Ok(())
}

/// Removes objects. With `all_gone`, waits in the end until each of them is.
pub(super) async fn remove<'d>(
    context: &Context<'_>,
    release: &ReleaseKey,
    deletes: impl Iterator<Item = &'d Delete>,
    gone_before: &Edges,
    timeout: Duration,
    all_gone: bool,
) -> Result<(), StepError> {
    let deletes: Vec<&Delete> = deletes.collect();
    for step in &deletes {
        context.check_stop()?;
        let before = gone_before.get(&step.key).into_iter().flatten();
        for key in before {
            if let Some(other) = deletes.iter().find(|other| other.key == *key) {
                gone(context, release, other, timeout).await?;
            }
        }
        objects::prune(context, release, step).await?;
    }
    if all_gone {
        for step in deletes {
            gone(context, release, step, timeout).await?;
        }
    }
    Ok(())
}

/// Waits until an object is gone. One whose kind went away is gone with it.
async fn gone(
    context: &Context<'_>,
    release: &ReleaseKey,
    step: &Delete,
    timeout: Duration,
) -> Result<(), StepError> {
    let resource = match context.resource(&step.key.gvk).await {
        Ok(resource) => resource,
        Err(StepError::Api(ApiError::UnknownKind { .. })) => return Ok(()),
        Err(error) => return Err(error),
    };
    let phase = Phase::Removing { object: step.key.to_string() };
    context.emit(Event::Entered { key: release.clone(), phase });
    let how = objects::Interruptible::Yes;
    objects::wait_gone(context, &resource, &step.key, &step.uid, timeout, how).await
}
