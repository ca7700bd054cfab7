//! The digest of what a plan would do: the same for every plan with the same effect, whenever and wherever it is made.
//!
//! It stands for operations and what they write, not for the state that they were planned with, so an approval that names
//! it holds as long as the effect is the same. Values of Secrets are not part of it: a digest could be tried out.

use sha2::{Digest as _, Sha256};

use serde_json::Value as Json;

use crate::go::encoding::hex_encode;
use crate::history::Hook;
use crate::model::ObjectKey;
use crate::plan::app_hooks::{self, HookStep, HookStepWork};
use crate::plan::{Apply, ApplyMode, ObjectAction, Plan, ReleasePlan, SpaceChange, Work};

/// Returns the digest, as `sha256:…`.
pub fn effect(plan: &Plan) -> String {
    let mut digest = Sha256::new();
    let mut add = |parts: &[&str]| {
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
    };
    for namespace in &plan.namespaces {
        let body = namespace.body.as_ref().map(Json::to_string).unwrap_or_default();
        add(&["namespace", &namespace.name, &body]);
        for key in namespace.labels_removed.iter().flat_map(|removed| &removed.keys) {
            add(&["label goes", key]);
        }
        for object in &namespace.objects {
            let (verb, spec) = match &object.change {
                SpaceChange::Create(body) => ("create", body["spec"].to_string()),
                SpaceChange::Replace(body) => ("replace", body["spec"].to_string()),
                SpaceChange::Delete { .. } => ("delete", String::new()),
            };
            add(&["namespace object", object.kind.name(), verb, &spec]);
        }
    }
    for release in plan.releases.iter().filter(|release| release.action.is_change()) {
        add(&["release", &release.key.to_string(), release.action.name()]);
        for object in release.objects.iter().filter(|object| object.action != ObjectAction::None) {
            add(&["object", &object.key.to_string(), object.action.name()]);
        }
        for (key, content) in written(release) {
            add(&["write", &key, &content]);
        }
        for step in app_hooks::steps_of(release) {
            for (key, content) in file_hook(step) {
                add(&["hook", &key, &content]);
            }
        }
    }
    format!("sha256:{}", hex_encode(&digest.finalize()))
}

/// Returns what a release writes, without the values of Secrets.
fn written(release: &ReleasePlan) -> Vec<(String, String)> {
    let deploy = match &release.work {
        Work::Deploy(deploy) => deploy,
        Work::GoBack(back) => return back.rollback.applies.iter().map(content).collect(),
        Work::Nothing | Work::Seal(_) | Work::Uninstall(_) | Work::Disown(_) | Work::Own(_) => {
            return Vec::new();
        }
    };
    let applies = deploy.crds.iter().chain(&deploy.applies);
    let applied = applies.filter(|step| !matches!(step.mode, ApplyMode::Unchanged)).map(content);
    let hooks = deploy.record.hooks.iter().filter(|_| deploy.run_hooks).map(hook);
    applied.chain(hooks).collect()
}

/// Returns what a hook of the file does, without what may be secret: a command counts as it is written.
fn file_hook(step: &HookStep) -> Vec<(String, String)> {
    let moment = step.moment.key();
    match &step.work {
        HookStepWork::Command(command) => vec![(moment.to_owned(), command.shown.clone())],
        HookStepWork::Manifest(manifest) => {
            let ends = format!("{:?} {}", manifest.condition, manifest.delete);
            let objects = manifest.objects.iter().flatten();
            let bodies = objects.map(|object| body_text(&object.key, &object.body));
            std::iter::once((moment.to_owned(), ends)).chain(bodies).collect()
        }
    }
}

fn content(step: &Apply) -> (String, String) {
    body_text(&step.key, &step.body)
}

fn body_text(key: &ObjectKey, body: &Json) -> (String, String) {
    let mut body = body.clone();
    if key.gvk.kind == "Secret" {
        for member in ["data", "stringData"] {
            let values = body.get_mut(member).and_then(Json::as_object_mut);
            values.into_iter().flat_map(|values| values.values_mut()).for_each(|value| *value = Json::Null);
        }
    }
    // Members of an object are sorted, so the same object has the same text.
    (key.to_string(), body.to_string())
}

fn hook(hook: &Hook) -> (String, String) {
    let text = if hook.kind == "Secret" { String::new() } else { hook.manifest.clone() };
    (format!("hook {} {} {}", hook.kind, hook.name, hook.events.join(",")), text)
}
