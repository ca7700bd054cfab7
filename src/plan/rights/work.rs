//! The rights that carrying out one plan takes: what is written, and what is read on the way.
//!
//! What planning reads and asks is proven by the plan itself. A right that is only used where something goes wrong
//! counts where going without it would lose a word that was said: a record is read back when its answer is lost.

use serde_json::Value as Json;

use super::{About, Kinds, LOCK_VERBS, Locked, Rights, hook_key};
use crate::history::{Record, Release};
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};
use crate::plan::app_hooks::{FileHooks, HookStepWork};
use crate::plan::{
    Action, Apply, ApplyMode, Delete, NamespacePlan, ObjectAction, Plan, Reason, RefusalKind, ReleasePlan,
    SpaceChange, SpaceKind, Work,
};

/// Returns what carrying out `plan` takes. Releases that the server's refusal blocks count as if it had not refused
/// them, so that everything that is missing is known at once.
pub fn of_plan(plan: &Plan, locked: Option<Locked<'_>>, kinds: Kinds<'_>) -> Rights {
    let mut rights = Rights::default();
    for release in &plan.releases {
        let touched = of_release(&mut rights, release, kinds);
        if let Some(locked) = locked.filter(|_| touched) {
            let why = format!("the lock of {}", release.key);
            rights.lock(locked.kind, &release.key.namespace, &why, &LOCK_VERBS);
        }
    }
    for namespace in &plan.namespaces {
        of_namespace(&mut rights, namespace);
    }
    if let Some(Locked { kind, context: Some(namespace) }) = locked
        && !rights.needs.is_empty()
    {
        rights.lock(kind, namespace, "the lock of the run", &LOCK_VERBS);
    }
    rights
}

/// Adds what a release takes; returns whether anything of it is written.
fn of_release(rights: &mut Rights, release: &ReleasePlan, kinds: Kinds<'_>) -> bool {
    let key = &release.key;
    match &release.work {
        Work::Nothing => return of_forbidden(rights, release, kinds),
        Work::Deploy(deploy) => {
            rights.records(key, &["get", "create", "update"]);
            if !deploy.forgotten.is_empty() {
                rights.records(key, &["delete"]);
            }
            retired(rights, &deploy.retired);
            let back = deploy.rollback.iter().flat_map(|back| &back.applies);
            for step in deploy.crds.iter().chain(&deploy.applies).chain(back) {
                of_apply(rights, step, kinds);
            }
            of_deletes(rights, deploy.prunes.iter().chain(&deploy.handed), kinds);
            of_file_hooks(rights, &deploy.file_hooks, kinds);
            if deploy.rollback.as_ref().is_some_and(|back| back.unstick) {
                pods(rights, &key.namespace, "broken pods that `unstick` deletes");
            }
            if deploy.run_hooks {
                let events = ["pre-install", "post-install", "pre-upgrade", "post-upgrade"];
                of_hooks(rights, key, &deploy.record, &events, kinds);
                if let Some(back) = &deploy.rollback {
                    of_hooks(rights, key, &back.record, &["pre-rollback", "post-rollback"], kinds);
                }
            }
            if deploy.test {
                of_hooks(rights, key, &deploy.record, &["test", "test-success"], kinds);
            }
        }
        Work::Seal(_) => rights.records(key, &["get", "update"]),
        Work::GoBack(work) => {
            rights.records(key, &["get", "create", "update"]);
            work.rollback.applies.iter().for_each(|step| of_apply(rights, step, kinds));
            if work.rollback.unstick {
                pods(rights, &key.namespace, "broken pods that `unstick` deletes");
            }
            if work.rollback.run_hooks {
                let events = ["pre-rollback", "post-rollback"];
                of_hooks(rights, key, &work.rollback.record, &events, kinds);
            }
        }
        Work::Disown(_) | Work::Own(_) => rights.records(key, &["get", "update"]),
        Work::Uninstall(work) => {
            rights.records(key, &["get", "update", "delete"]);
            of_deletes(rights, work.deletes.iter(), kinds);
            of_file_hooks(rights, &work.file_hooks, kinds);
            if work.run_hooks {
                of_hooks(rights, key, &work.latest.release, &["pre-delete", "post-delete"], kinds);
            }
        }
    }
    true
}

/// The records of an old name go from its own namespace.
fn retired(rights: &mut Rights, records: &[Record]) {
    for record in records {
        rights.records(&record.key(), &["get", "delete"]);
    }
}

fn of_apply(rights: &mut Rights, step: &Apply, kinds: Kinds<'_>) {
    let verbs: &[&'static str] = match &step.mode {
        ApplyMode::Unchanged => &["get"],
        ApplyMode::Update { .. } => &["get", "patch"],
        // The server asks for both where an apply makes the object.
        ApplyMode::Create | ApplyMode::Either | ApplyMode::AfterGone { .. } => &["get", "create", "patch"],
        ApplyMode::Replace(_) => &["get", "create", "patch", "delete"],
    };
    rights.object(kinds, &step.key, verbs);
    if let ApplyMode::Replace(replace) = &step.mode {
        for grow in &replace.grow {
            rights.object(kinds, &grow.claim, &["get", "patch"]);
        }
        if replace.replace_pods {
            let namespace = step.key.namespace.as_deref().unwrap_or_default();
            pods(rights, namespace, &format!("pods of {}", step.key.short()));
        }
    }
}

fn pods(rights: &mut Rights, namespace: &str, why: &str) {
    let about = About { namespace: Some(namespace), group: "", resource: "pods", name: "", why };
    rights.add(about, &["get", "list", "delete"]);
}

fn of_deletes<'a>(rights: &mut Rights, deletes: impl Iterator<Item = &'a Delete>, kinds: Kinds<'_>) {
    for step in deletes {
        rights.object(kinds, &step.key, &["get", "delete"]);
    }
}

/// Hooks are removed before they are made, unless they hold data.
fn of_hooks(rights: &mut Rights, key: &ReleaseKey, release: &Release, events: &[&str], kinds: Kinds<'_>) {
    let runs = release.hooks.iter().filter(|hook| hook.events.iter().any(|e| events.contains(&e.as_str())));
    for hook in runs {
        let Some(object) = hook_key(kinds, hook, key) else { continue };
        rights.object(kinds, &object, &["get", "create", "patch", "delete"]);
    }
}

/// Of what a program of a hook does nothing is known.
fn of_file_hooks(rights: &mut Rights, hooks: &FileHooks, kinds: Kinds<'_>) {
    for step in hooks.iter() {
        let HookStepWork::Manifest(manifest) = &step.work else { continue };
        for object in manifest.objects.iter().flatten() {
            rights.object(kinds, &object.key, &["get", "create", "patch"]);
            if object.renews || manifest.delete {
                rights.object(kinds, &object.key, &["delete"]);
            }
        }
    }
}

/// A release that is blocked because the server forbids one of its objects.
fn of_forbidden(rights: &mut Rights, release: &ReleasePlan, kinds: Kinds<'_>) -> bool {
    let forbidden = |reason: &Reason| match reason {
        Reason::RefusedByServer { kind: RefusalKind::Denied, message, .. }
        | Reason::Unreadable { message, .. } => message.contains(" cannot "),
        _ => false,
    };
    let objects = release.objects.iter().flat_map(|object| &object.reasons);
    if release.action != Action::Blocked || !release.reasons.iter().chain(objects).any(forbidden) {
        return false;
    }
    rights.records(&release.key, &["get", "list", "create", "update"]);
    for object in &release.objects {
        let verbs: &[&'static str] = match object.action {
            ObjectAction::Keep | ObjectAction::None => continue,
            ObjectAction::Delete => &["get", "delete"],
            ObjectAction::Replace => &["get", "create", "patch", "delete"],
            ObjectAction::Update | ObjectAction::Adopt => &["get", "patch"],
            ObjectAction::Create => &["get", "create", "patch"],
            ObjectAction::Blocked if object.live.is_some() => &["get", "patch"],
            ObjectAction::Blocked => &["get", "create", "patch"],
        };
        rights.object(kinds, &object.key, verbs);
    }
    true
}

fn of_namespace(rights: &mut Rights, plan: &NamespacePlan) {
    if plan.refused.is_some() {
        return;
    }
    let key =
        ObjectKey { gvk: GroupVersionKind::new("v1", "Namespace"), namespace: None, name: plan.name.clone() };
    let why = key.short();
    let about = About { namespace: None, group: "", resource: "namespaces", name: &plan.name, why: &why };
    if plan.is_new {
        rights.add(about, &["create", "patch"]);
    } else if plan.body.is_some() || plan.labels_removed.is_some() {
        rights.add(about, &["patch"]);
    }
    for object in &plan.objects {
        let (resource, verb) = (
            space_resource(object.kind),
            match &object.change {
                SpaceChange::Create(_) => "create",
                SpaceChange::Replace(_) => "update",
                SpaceChange::Delete { .. } => "delete",
            },
        );
        let name = object.kind.name();
        let why = format!("{} {name}", object.kind.kind());
        let about = About { namespace: Some(&plan.name), group: "", resource, name, why: &why };
        rights.add(about, &[verb]);
    }
}

pub(super) fn space_resource(kind: SpaceKind) -> &'static str {
    match kind {
        SpaceKind::LimitRange => "limitranges",
        SpaceKind::ResourceQuota => "resourcequotas",
    }
}

/// Returns the definitions of custom resources that a plan applies.
pub fn definitions(plan: &Plan) -> impl Iterator<Item = &Json> {
    let steps = plan.releases.iter().flat_map(|release| match &release.work {
        Work::Deploy(deploy) => deploy.crds.iter().chain(&deploy.applies).collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    steps.map(|step| &step.body)
}
