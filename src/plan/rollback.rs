//! What is done when a revision fails and the app says `onFailure = "rollback"`: the last good one is restored.
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
use crate::history::{self, History, Info, Status, Time};
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
        let replaced =
            deploy.applies.iter().any(|step| step.key == *key && matches!(step.mode, ApplyMode::Replace(_)));
        if replaced {
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
    let stays = deploy
        .applies
        .iter()
        .filter(|step| matches!(step.mode, ApplyMode::Create | ApplyMode::Either))
        .filter(|step| !applies.iter().any(|other| other.key == step.key))
        .map(|step| step.key.clone())
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
        version: deploy.record.version + 1,
        namespace: release.namespace.clone(),
        apply_method: "ssa".to_owned(),
        ..history::Release::default()
    };
    Some(Rollback {
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
    })
}

/// Returns the object of the cluster that an object of a stored manifest means.
fn find<'a>(known: &[Known<'a>], object: &Json) -> Option<Known<'a>> {
    let id = ManifestId::of_object(object)?;
    known.iter().find(|(key, _)| ManifestId::of_key(key).matches(&id)).copied()
}
