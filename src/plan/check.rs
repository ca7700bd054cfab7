//! Is the plan sound? An independent look before anything is carried out, and in every test.
//!
//! Shares no code with the planner on purpose: what both got wrong the same way would go unseen.

use std::collections::BTreeSet;

use super::app_hooks::{self, FileHooks, HookStepWork};
use super::guard::Permit;
use super::input::Probe;
use super::sequence::Edges;
use super::steps::{
    Apply, ApplyMode, Delete, Dependents, Deploy, DeployKind, GoBack, Replace, Rollback, Seal, SettledAs,
    Uninstall, Work,
};
use super::{Action, ObjectAction, Plan, ReleasePlan, SpaceChange};
use crate::history::{Record, Status};
use crate::model::{ObjectKey, ReleaseKey};

/// Kinds whose removal takes data or other objects along. Listed here anew, see above.
const PRECIOUS: [&str; 4] =
    ["PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"];

/// Returns what is wrong with a plan; nothing if it may be carried out.
pub fn check(plan: &Plan) -> Vec<String> {
    let mut findings = Vec::new();
    each_release_once(plan, &mut findings);
    namespaces_lose_nothing_else(plan, &mut findings);
    each_object_has_one_release(plan, &mut findings);
    batches_hold_the_changes(plan, &mut findings);
    batches_keep_the_order(plan, &mut findings);
    turns_keep_the_order(plan, &mut findings);
    for release in &plan.releases {
        let mut found = Vec::new();
        reasons_are_given(release, &mut found);
        work_fits_the_action(release, &mut found);
        match &release.work {
            Work::Nothing => {}
            Work::Deploy(deploy) => check_deploy(release, deploy, &mut found),
            Work::Uninstall(uninstall) => check_uninstall(release, uninstall, &mut found),
            Work::Seal(seal) => {
                check_seal(release, seal, &mut found);
                if release.objects.iter().any(|object| object.is_applied()) {
                    found.push("it is sealed, although objects would change".to_owned());
                }
            }
            Work::Own(own) => {
                if own.records.is_empty() || own.records.iter().any(|record| record.key() != release.key) {
                    found.push("the records of another release get an owner".to_owned());
                }
                if own.records.iter().any(|record| record.context() != Some(plan.context.as_str())) {
                    found.push("it gets another owner than this file".to_owned());
                }
                if release.app.is_none() {
                    found.push("a release that the file does not have gets an owner".to_owned());
                }
                if !release.reasons.iter().any(|reason| reason.code() == "changes-owner") {
                    found.push("its owner changes, and the plan does not show it".to_owned());
                }
            }
            Work::GoBack(back) => check_way_back(release, back, &mut found),
            Work::Disown(disown) => {
                if disown.key != release.key || disown.latest.key() != release.key {
                    found.push("the record of another release loses its owner".to_owned());
                }
                if release.app.is_some() {
                    found.push("a release of the file loses its owner".to_owned());
                }
            }
        }
        check_file_hooks(plan, release, &mut found);
        findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", release.key)));
    }
    findings
}

/// Hooks of the file run around the operation that they are for, and remove only what they made.
fn check_file_hooks(plan: &Plan, release: &ReleasePlan, findings: &mut Vec<String>) {
    let (hooks, moments): (&FileHooks, [&str; 2]) = match &release.work {
        Work::Deploy(deploy) if deploy.kind == DeployKind::Install => {
            (&deploy.file_hooks, ["preInstall", "postInstall"])
        }
        Work::Deploy(deploy) if deploy.kind == DeployKind::Rollback => (&deploy.file_hooks, ["none", "none"]),
        Work::Deploy(deploy) => (&deploy.file_hooks, ["preUpgrade", "postUpgrade"]),
        Work::Uninstall(uninstall) => (&uninstall.file_hooks, ["preDelete", "postDelete"]),
        Work::Nothing | Work::Seal(_) | Work::GoBack(_) | Work::Disown(_) | Work::Own(_) => return,
    };
    for (step, moment) in [(&hooks.before, moments[0]), (&hooks.after, moments[1])] {
        if step.as_ref().is_some_and(|step| step.moment.key() != moment) {
            findings.push(format!("another hook of the file runs instead of {moment}"));
        }
    }
    let applied = |key: &ObjectKey| {
        plan.releases.iter().any(|release| match &release.work {
            Work::Deploy(deploy) => deploy.applies.iter().any(|step| step.key.same_object(key)),
            _ => false,
        })
    };
    for step in hooks.iter() {
        let moment = step.moment.key();
        if !release.hooks.iter().any(|hook| hook.file.is_some() && hook.event == moment) {
            findings.push(format!("the hook {moment} of the file runs, and the plan does not show it"));
        }
        let HookStepWork::Manifest(manifest) = &step.work else { continue };
        let Some(objects) = &manifest.objects else {
            findings.push(format!("the manifest of the hook {moment} was not looked at"));
            continue;
        };
        for object in objects {
            let key = &object.key;
            if let Some(uid) = &object.found {
                has_uid(key, uid, findings);
            }
            if applied(key) {
                findings.push(format!("{key} is an object of a release and of the hook {moment}"));
            }
            if object.renews && !(object.is_ours && matches!(key.gvk.kind.as_str(), "Job" | "Pod")) {
                findings.push(format!("{key} is made anew by the hook {moment}, which did not make it"));
            }
            let marked = object.body["metadata"]["annotations"][app_hooks::HOOK_MARK]
                == release.key.to_string().as_str();
            if marked != object.is_ours {
                findings.push(format!("{key} changes hands with the hook {moment}"));
            }
            if manifest.delete && (!object.is_ours || is_precious(key)) {
                findings.push(format!("{key} is removed by the hook {moment}, which may not have made it"));
            }
        }
    }
}

/// What is sealed was interrupted, or is the newest of several that say deployed.
fn check_seal(release: &ReleasePlan, seal: &Seal, found: &mut Vec<String>) {
    let newest = seal.record.release.version;
    let status = &seal.record.release.info.status;
    let is_settled = *status == Status::Deployed && !seal.superseded.is_empty();
    if seal.record.key() != release.key || !(status.is_pending() || is_settled) {
        found.push("the record that is sealed is not one that was interrupted".to_owned());
    }
    let older = |record: &Record| record.key() == release.key && record.release.version < newest;
    if !seal.superseded.iter().all(older) {
        found.push("a record is marked superseded that is not older than the one that is sealed".to_owned());
    }
}

fn each_release_once(plan: &Plan, findings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for release in &plan.releases {
        if !seen.insert(&release.key) {
            findings.push(format!("{} is planned twice", release.key));
        }
    }
}

/// Of a namespace only labels, a LimitRange and a ResourceQuota go, each of a known uid.
fn namespaces_lose_nothing_else(plan: &Plan, findings: &mut Vec<String>) {
    for namespace in &plan.namespaces {
        let mut found = Vec::new();
        if let Some(removed) = &namespace.labels_removed {
            if removed.uid.is_empty() || removed.keys.is_empty() {
                found.push("labels go from a namespace of unknown uid".to_owned());
            }
            found.extend(
                removed
                    .keys
                    .iter()
                    .filter(|key| *key == "kubernetes.io/metadata.name")
                    .map(|_| "it loses its name".to_owned()),
            );
        }
        for object in &namespace.objects {
            let name = object.kind.name();
            let (body, verb) = match &object.change {
                SpaceChange::Delete { uid } if uid.is_empty() => {
                    found.push(format!("{name} is removed without a uid"));
                    continue;
                }
                SpaceChange::Delete { .. } => continue,
                SpaceChange::Create(body) => (body, "made"),
                SpaceChange::Replace(body) => (body, "replaced"),
            };
            let metadata = &body["metadata"];
            if metadata["name"] != name || body["kind"] != object.kind.kind() {
                found.push(format!("another object than {name} is {verb}"));
            }
            if verb == "replaced" && !metadata["resourceVersion"].is_string() {
                found.push(format!("{name} is replaced, whatever it has become"));
            }
        }
        if namespace.is_new && (namespace.labels_removed.is_some() || namespace.body.is_none()) {
            found.push("it is new and is not made".to_owned());
        }
        findings.extend(found.into_iter().map(|finding| format!("namespace {}: {finding}", namespace.name)));
    }
}

fn each_object_has_one_release(plan: &Plan, findings: &mut Vec<String>) {
    let mut seen: BTreeSet<&ObjectKey> = BTreeSet::new();
    for release in &plan.releases {
        let Work::Deploy(deploy) = &release.work else { continue };
        let own: BTreeSet<&ObjectKey> = deploy.applies.iter().map(|step| &step.key).collect();
        for key in own {
            if !seen.insert(key) {
                findings.push(format!("{key} is applied by two releases"));
            }
        }
    }
    for release in &plan.releases {
        let removed: Vec<&ObjectKey> = match &release.work {
            Work::Nothing | Work::Seal(_) | Work::GoBack(_) | Work::Disown(_) | Work::Own(_) => Vec::new(),
            Work::Deploy(deploy) => {
                deploy.prunes.iter().chain(&deploy.handed).map(|step| &step.key).collect()
            }
            Work::Uninstall(uninstall) => uninstall.deletes.iter().map(|step| &step.key).collect(),
        };
        for key in removed {
            if seen.contains(key) {
                findings.push(format!("{key} is removed by one release and applied by another"));
            }
        }
    }
}

fn batches_hold_the_changes(plan: &Plan, findings: &mut Vec<String>) {
    let mut seen: BTreeSet<&ReleaseKey> = BTreeSet::new();
    for key in plan.batches.iter().flatten() {
        if !seen.insert(key) {
            findings.push(format!("{key} is in two batches"));
        }
        if !plan.releases.iter().any(|release| release.key == *key && changes(release)) {
            findings.push(format!("{key} is in a batch and has nothing to do"));
        }
    }
    for release in plan.releases.iter().filter(|release| changes(release)) {
        if !seen.contains(&release.key) {
            findings.push(format!("{} has something to do and is in no batch", release.key));
        }
    }
}

fn changes(release: &ReleasePlan) -> bool {
    match release.action {
        Action::None | Action::Blocked => false,
        Action::Install
        | Action::Upgrade
        | Action::Reinstall(_)
        | Action::Recover
        | Action::Adopt
        | Action::Orphan
        | Action::Uninstall => true,
    }
}

/// A release comes after what it needs; a removal after everything that is not one, and before what it needed.
fn batches_keep_the_order(plan: &Plan, findings: &mut Vec<String>) {
    let place = |key: &ReleaseKey| plan.batches.iter().position(|batch| batch.contains(key));
    let removal =
        |key: &ReleaseKey| plan.release(key).is_some_and(|release| release.action == Action::Uninstall);
    for release in &plan.releases {
        let Some(own) = place(&release.key) else { continue };
        for need in &release.needs {
            let Some(needed) = place(need) else { continue };
            let fits = match (removal(&release.key), removal(need)) {
                (false, false) => needed < own,
                (true, true) => own < needed,
                _ => true,
            };
            if !fits {
                findings.push(format!("{} and {need}, which it needs, are in the wrong order", release.key));
            }
        }
    }
    let from_first = plan.batches.iter().skip_while(|batch| !batch.iter().any(removal));
    if from_first.flatten().any(|key| !removal(key)) {
        findings.push("a removal comes before something that is not one".to_owned());
    }
}

/// The turns hold what the batches hold, in that order, and each waits for what its release waits for.
fn turns_keep_the_order(plan: &Plan, findings: &mut Vec<String>) {
    let turns: Vec<&ReleaseKey> = plan.turns.iter().map(|turn| &turn.release).collect();
    if turns != plan.batches.iter().flatten().collect::<Vec<_>>() {
        findings.push("the turns are not those of the batches".to_owned());
        return;
    }
    let removal =
        |key: &ReleaseKey| plan.release(key).is_some_and(|release| release.action == Action::Uninstall);
    let others = turns.iter().filter(|key| !removal(key)).count();
    for (at, turn) in plan.turns.iter().enumerate() {
        if turn.gate > at || turn.after.iter().any(|before| *before >= at) {
            findings.push(format!("{} waits for something after it", turn.release));
        }
        if removal(&turn.release) && turn.gate < others {
            findings.push(format!("{} is removed before everything else is done", turn.release));
        }
        let needs = plan.release(&turn.release).map(|release| release.needs.as_slice()).unwrap_or_default();
        for need in needs.iter().filter(|need| !removal(&turn.release) && !removal(need)) {
            let Some(place) = turns.iter().position(|key| *key == need) else { continue };
            if place >= turn.gate && !turn.after.contains(&place) {
                findings.push(format!("{} does not wait for {need}, which it needs", turn.release));
            }
        }
    }
}

fn reasons_are_given(release: &ReleasePlan, findings: &mut Vec<String>) {
    if release.reasons.is_empty() {
        findings.push("no reason is given".to_owned());
    }
    let stopped = release.reasons.iter().any(|reason| reason.code() == "flapping");
    if stopped && release.action != Action::Blocked {
        findings.push("a correction that does not last is made once more".to_owned());
    }
    for object in release.objects.iter().filter(|object| object.reasons.is_empty()) {
        findings.push(format!("no reason is given for {}", object.key));
    }
}

fn work_fits_the_action(release: &ReleasePlan, findings: &mut Vec<String>) {
    let fits = match (&release.action, &release.work) {
        (Action::None | Action::Blocked, Work::Nothing) | (Action::Uninstall, Work::Uninstall(_)) => true,
        (Action::Orphan, Work::Disown(_)) | (Action::Recover, Work::Seal(_) | Work::GoBack(_)) => true,
        (Action::Adopt, Work::Own(_)) => true,
        (
            Action::Install | Action::Upgrade | Action::Reinstall(_) | Action::Recover | Action::Adopt,
            Work::Deploy(_),
        ) => true,
        (
            _,
            Work::Nothing
            | Work::Deploy(_)
            | Work::Seal(_)
            | Work::GoBack(_)
            | Work::Uninstall(_)
            | Work::Disown(_)
            | Work::Own(_),
        ) => false,
    };
    if !fits {
        findings.push(format!("its work is not that of the action {}", release.action));
    }
}

fn check_deploy(release: &ReleasePlan, deploy: &Deploy, findings: &mut Vec<String>) {
    if deploy.record.name != release.key.name || deploy.record.namespace != release.key.namespace {
        findings.push("its record is that of another release".to_owned());
    }
    if release.revision.is_some_and(|revision| deploy.record.version <= revision) {
        findings.push("its record does not come after the newest one".to_owned());
    }
    if !deploy.record.info.status.is_pending() {
        findings.push("its record does not start as pending".to_owned());
    }
    if let Some(record) = &deploy.interrupted {
        let status = &record.release.info.status;
        if record.key() != release.key || Some(record.release.version) != release.revision {
            findings.push("the record that is marked failed is not the newest of the release".to_owned());
        }
        if !status.is_pending() && *status != crate::history::Status::Uninstalling {
            findings.push("a record is marked failed that was not interrupted".to_owned());
        }
    } else if release.action == Action::Recover {
        findings.push("it recovers from nothing".to_owned());
    }
    let mut applied: BTreeSet<&ObjectKey> = BTreeSet::new();
    let mut permits = 0;
    for step in deploy.crds.iter().chain(&deploy.applies) {
        if !applied.insert(&step.key) {
            findings.push(format!("{} is applied twice", step.key));
        }
        if step.body["metadata"]["name"].as_str() != Some(step.key.name.as_str()) {
            findings.push(format!("{}: the body is that of another object", step.key));
        }
        let plan = release.objects.iter().find(|object| object.key == step.key);
        let shown = plan.map(|object| object.action);
        let says =
            |code: &str| plan.is_some_and(|object| object.reasons.iter().any(|reason| reason.code() == code));
        if says("field-conflict") {
            findings.push(format!("{}: another manager must not lose a field, and it is applied", step.key));
        }
        if matches!(step.mode, ApplyMode::Update { fold: Some(_), .. })
            && !says("ownership-folded")
            && !says("leftovers-go")
        {
            findings.push(format!("{}: its owners change, and the plan does not show it", step.key));
        }
        match &step.mode {
            ApplyMode::Create | ApplyMode::Either | ApplyMode::Unchanged => {}
            ApplyMode::Update { uid, .. } => has_uid(&step.key, uid, findings),
            ApplyMode::AfterGone { uid } => {
                has_uid(&step.key, uid, findings);
                if !says("created-after-gone") {
                    findings.push(format!("{} is waited for, and the plan does not say so", step.key));
                }
            }
            ApplyMode::Replace(replace) => {
                permits += 1;
                if shown != Some(ObjectAction::Replace) {
                    findings.push(format!("{} is replaced, and the plan does not show it", step.key));
                }
                check_replace(release, &step.key, replace, findings);
            }
        }
    }
    let counted = if let Action::Reinstall(permits) = &release.action { permits.count() } else { 0 };
    if counted != permits {
        findings.push(format!("{permits} objects are replaced, and {counted} are counted"));
    }
    if let Some(back) = &deploy.rollback {
        check_rollback(release, back, deploy.record.version + 1, findings);
    }
    edges_hold(release, deploy.applies.iter().map(|step| &step.key), &deploy.after, findings);
    edges_hold(release, deploy.prunes.iter().rev().map(|step| &step.key), &deploy.gone, findings);
    let moves = release.reasons.iter().any(|reason| reason.code() == "moved-from");
    for record in &deploy.retired {
        if !moves || record.key() == release.key {
            findings.push(format!("the record {} of another release is removed", record.object));
        }
    }
    for step in &deploy.handed {
        if !release.hooks.iter().any(|hook| hook.kind == step.key.gvk.kind && hook.name == step.key.name) {
            findings.push(format!("{} is handed to a hook that does not run", step.key));
        }
    }
    for step in deploy.prunes.iter().chain(&deploy.handed) {
        if applied.contains(&step.key) {
            findings.push(format!("{} is applied and removed", step.key));
        }
        check_delete(release, step, findings);
    }
}

/// What is deleted to be created again: permitted, taken back by the server, its dependents treated as their kind bears.
fn check_replace(release: &ReleasePlan, key: &ObjectKey, replace: &Replace, findings: &mut Vec<String>) {
    has_uid(key, &replace.uid, findings);
    let permit = &replace.permit;
    if permit.release() != &release.key || permit.object() != key {
        findings.push(format!("{key} is replaced with the permit of another object"));
    }
    let custom = key.gvk.group.contains('.') && !key.gvk.group.ends_with(".k8s.io");
    if (is_precious(key) || custom || !replace.lost.is_empty()) && !permit.covers_data() {
        findings.push(format!("{key} is replaced, although data would go with it"));
    }
    if !replace.lost.is_empty() && !says(release, key, "data-goes") {
        findings.push(format!("data goes with {key}, and the plan does not say so"));
    }
    match &replace.probe {
        Probe::Accepted => {}
        Probe::Refused { .. } => findings.push(format!("{key} is replaced, and could not be created again")),
        Probe::Untold { .. } if is_precious(key) || !says(release, key, "unverified") => {
            findings.push(format!("{key} is replaced, and nobody knows whether it could be created again"));
        }
        Probe::Untold { .. } => {}
    }
    let orphans = replace.dependents == Dependents::Orphan;
    if orphans && key.gvk.kind != "StatefulSet" {
        findings.push(format!("{key} is replaced and leaves what it made behind"));
    }
    if replace.replace_pods && !orphans {
        findings.push(format!("pods of {key} are replaced, although they go with it"));
    }
    for grow in &replace.grow {
        has_uid(&grow.claim, &grow.uid, findings);
        if grow.claim.gvk.kind != "PersistentVolumeClaim" || grow.from == grow.to {
            findings.push(format!("{} is grown, and is no claim that grows", grow.claim));
        }
        if !says(release, key, "claims-grow") {
            findings.push(format!("{} is grown, and the plan does not say so", grow.claim));
        }
    }
}

/// A rollback replaces nothing, and touches what the plan shows.
fn check_rollback(release: &ReleasePlan, back: &Rollback, version: u64, findings: &mut Vec<String>) {
    if back.record.version != version || back.record.name != release.key.name {
        findings.push("the record of its rollback does not follow its own".to_owned());
    }
    let safe = |step: &&Apply| matches!(step.mode, ApplyMode::Update { .. } | ApplyMode::Either);
    if back.applies.iter().any(|step| !safe(&step)) {
        findings.push("its rollback replaces an object".to_owned());
    }
    let known = |key: &ObjectKey| release.objects.iter().any(|object| object.key.same_object(key));
    for step in back.applies.iter().filter(|step| !known(&step.key)) {
        findings.push(format!("its rollback applies {}, which the plan does not show", step.key));
    }
}

fn check_way_back(release: &ReleasePlan, back: &GoBack, findings: &mut Vec<String>) {
    let left = &back.record;
    if left.key() != release.key || Some(left.release.version) != release.revision {
        findings.push("the record that is marked failed is not the newest of the release".to_owned());
    }
    if !left.release.info.status.is_pending() || back.settled_as == SettledAs::Deployed {
        findings.push("it goes back from a record that was not interrupted".to_owned());
    }
    if back.rollback.to >= left.release.version {
        findings.push("it goes back to a revision that is not older".to_owned());
    }
    check_rollback(release, &back.rollback, left.release.version + 1, findings);
}

fn check_delete(release: &ReleasePlan, step: &Delete, findings: &mut Vec<String>) {
    let key = &step.key;
    has_uid(key, &step.uid, findings);
    let shown =
        release.objects.iter().any(|object| object.key == *key && object.action == ObjectAction::Delete);
    if !shown {
        findings.push(format!("{key} is removed, and the plan does not show it"));
    }
    if step.dependents != Dependents::Background {
        findings.push(format!("{key} is removed and leaves what it made behind"));
    }
    let permit = step.permit.as_ref();
    if permit.is_some_and(|permit| permit.release() != &release.key || permit.object() != key) {
        findings.push(format!("{key} is removed with the permit of another object"));
    }
    if (is_precious(key) || !step.lost.is_empty()) && !permit.is_some_and(Permit::covers_data) {
        findings.push(format!("{key} is removed, although data would go with it"));
    }
    if !step.lost.is_empty() && !says(release, key, "data-goes") {
        findings.push(format!("data goes with {key}, and the plan does not say so"));
    }
}

/// Tells whether the plan gives a reason with this code for an object.
fn says(release: &ReleasePlan, key: &ObjectKey, code: &str) -> bool {
    let object = release.objects.iter().find(|object| object.key == *key);
    object.is_some_and(|object| object.reasons.iter().any(|reason| reason.code() == code))
}

fn is_precious(key: &ObjectKey) -> bool {
    PRECIOUS.contains(&key.gvk.kind.as_str()) && is_core(key)
}

/// Each object comes after what it waits for, and the plan shows the edge.
fn edges_hold<'a>(
    release: &ReleasePlan,
    order: impl Iterator<Item = &'a ObjectKey>,
    edges: &Edges,
    findings: &mut Vec<String>,
) {
    let order: Vec<&ObjectKey> = order.collect();
    for (key, after) in edges {
        let place = order.iter().position(|other| *other == key);
        for before in after {
            let earlier = order.iter().position(|other| *other == before);
            if place.is_none() || earlier.is_none() || earlier >= place {
                findings.push(format!("{key} does not come after {before}, which it waits for"));
            }
            let shown = release.objects.iter().find(|object| object.key == *key);
            if shown.is_some_and(|object| !object.after.contains(before)) {
                findings.push(format!("{key} waits for {before}, and the plan does not show it"));
            }
        }
    }
}

fn check_uninstall(release: &ReleasePlan, uninstall: &Uninstall, findings: &mut Vec<String>) {
    if uninstall.key != release.key {
        findings.push("the removal is that of another release".to_owned());
    }
    edges_hold(release, uninstall.deletes.iter().map(|step| &step.key), &uninstall.after, findings);
    for step in &uninstall.deletes {
        check_delete(release, step, findings);
    }
    let foreign = uninstall.records.iter().find(|record| record.key() != release.key);
    if let Some(record) = foreign {
        findings.push(format!("the record {} of another release is removed", record.object));
    }
}

/// A custom kind may have the name of a built-in one.
fn is_core(key: &ObjectKey) -> bool {
    key.gvk.group.is_empty() || key.gvk.group == "apiextensions.k8s.io"
}

fn has_uid(key: &ObjectKey, uid: &str, findings: &mut Vec<String>) {
    if uid.is_empty() {
        findings.push(format!("{key} has no uid as a precondition"));
    }
}
