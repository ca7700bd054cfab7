//! What is done when a revision fails and the app says `onFailure = "rollback"`, or one was interrupted and the file says
//! `onInterrupted = "rollback"`: the last good one is restored.
//!
//! Decided before anything is touched, like everything else. A rollback applies the recorded objects again and
//! nothing more: it replaces nothing and deletes nothing, so what the failed revision made besides stays until a
//! person, or the next good revision, removes it.

use serde_json::Value as Json;

use super::body;
use super::input::{Content, PlanInput, Wanted};
use super::records::ManifestId;
use super::sequence;
use super::steps::{Apply, ApplyMode, Deploy, DeployKind, Rollback};
use crate::dsf::state::OnFailure;
use crate::history::{self, History, Info, Record, Status, Time};
use crate::model::ObjectKey;

/// An object that the release has or had, with its uid if it exists.
type Known<'a> = (&'a ObjectKey, Option<&'a Json>);

/// Returns the way back from a new revision; nothing where the app does not want it, or there is no good revision.
///
/// Source of the record's content: Helm `pkg/action/rollback.go`, `prepareRollback`.
pub(super) fn plan(
    input: &PlanInput,
    wanted: &Wanted,
    history: &History,
    content: &Content,
    deploy: &Deploy,
) -> Option<Rollback> {
    if wanted.release.on_failure != OnFailure::Rollback || deploy.kind != DeployKind::Upgrade {
        return None;
    }
    let target = history.deployed()?;
    let made = deploy.applies.iter().filter(|step| {
        matches!(step.mode, ApplyMode::Create | ApplyMode::Either | ApplyMode::AfterGone { .. })
    });
    let replaced = deploy.applies.iter().filter(|step| matches!(step.mode, ApplyMode::Replace(_)));
    let around = Around {
        replaced: replaced.map(|step| &step.key).collect(),
        made: made.map(|step| &step.key).collect(),
        revision: deploy.record.version + 1,
    };
    Some(to(input, wanted, target, content, deploy, &around))
}

/// Returns the way back from a revision that was interrupted; nothing where there is no good one.
///
/// Source of the record's content: as [`plan`].
pub(super) fn back(
    input: &PlanInput,
    wanted: &Wanted,
    history: &History,
    content: &Content,
    deploy: &Deploy,
) -> Option<Rollback> {
    let target = history.deployed()?;
    let there = content.objects.iter().filter(|object| object.live.is_some()).map(|object| &object.key);
    let left = wanted.remnants.iter().flatten().filter(|remnant| remnant.live.is_some());
    let around = Around {
        replaced: Vec::new(),
        made: there.chain(left.map(|remnant| &remnant.key)).collect(),
        revision: deploy.record.version,
    };
    Some(to(input, wanted, target, content, deploy, &around))
}

/// What a way back starts from.
struct Around<'a> {
    /// Objects that changing back would replace once more.
    replaced: Vec<&'a ObjectKey>,
    /// Objects that there may be besides.
    made: Vec<&'a ObjectKey>,
    /// The number of the new record.
    revision: u64,
}

fn to(
    input: &PlanInput,
    wanted: &Wanted,
    target: &Record,
    content: &Content,
    deploy: &Deploy,
    around: &Around<'_>,
) -> Rollback {
    let known: Vec<Known<'_>> = content
        .objects
        .iter()
        .map(|object| (&object.key, object.live.as_ref()))
        .chain(wanted.remnants.iter().flatten().map(|remnant| (&remnant.key, remnant.live.as_ref())))
        .collect();
    let mut applies = Vec::new();
    let mut left_out = Vec::new();
    for object in body::stored_objects(&target.release.manifest) {
        let Some((key, live)) = find(&known, &object) else { continue };
        if around.replaced.contains(&key) {
            left_out.push(key.clone());
            continue;
        }
        let uid = live.and_then(|live| live["metadata"]["uid"].as_str());
        let mode = match uid {
            Some(uid) => ApplyMode::Update { uid: uid.to_owned(), fold: None },
            // It was not there when the revision started, and may be by now.
            None => ApplyMode::Either,
        };
        applies.push(Apply { key: key.clone(), body: body::stamped(object, &wanted.release.key), mode });
    }
    let keys: Vec<&ObjectKey> = applies.iter().map(|step: &Apply| &step.key).collect();
    let order = sequence::recorded(target, &keys);
    let after = order.among(&keys.into_iter().collect());
    applies.sort_by_key(|step| order.wave(&step.key));
    let stays = around
        .made
        .iter()
        .filter(|key| !applies.iter().any(|other| other.key == ***key))
        .map(|key| (*key).clone())
        .collect();
    let release = &target.release;
    let now = Time::from(input.now);
    let record = history::Release {
        name: release.name.clone(),
        info: Info {
            first_deployed: release.info.first_deployed.clone(),
            last_deployed: Some(now),
            description: format!("Rollback to {}", release.version),
            status: Status::PendingRollback,
            notes: release.info.notes.clone(),
            ..Info::default()
        },
        chart: release.chart.clone(),
        config: release.config.clone(),
        manifest: release.manifest.clone(),
        hooks: release.hooks.clone(),
        version: around.revision,
        namespace: release.namespace.clone(),
        apply_method: "ssa".to_owned(),
        ..history::Release::default()
    };
    Rollback {
        to: release.version,
        record,
        labels: deploy.labels.clone(),
        superseded: deploy.superseded.clone(),
        applies,
        after,
        left_out,
        stays,
        run_hooks: deploy.run_hooks,
        wait: deploy.wait,
        unstick: wanted.release.unstick,
        timeout: deploy.timeout,
    }
}

/// Returns the object of the cluster that an object of a stored manifest means.
fn find<'a>(known: &[Known<'a>], object: &Json) -> Option<Known<'a>> {
    let id = ManifestId::of_object(object)?;
    known.iter().find(|(key, _)| ManifestId::of_key(key).matches(&id)).copied()
}
