//! Hooks of the desired-state file: which ones run around an operation, in which order, and whether their objects can be
//! had.
//!
//! A hook of the file belongs to the file, not to the chart: its objects are no part of the release, carry a mark of
//! their own, and are never removed but where the file says so. What exists without that mark stays somebody else's:
//! it is changed in place, as `kubectl apply` in Helmsman would, and never deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;

use super::guard;
use super::input::{PlanInput, Wanted};
use super::loss;
use super::reason::Reason;
use super::steps::{DeployKind, Work};
use super::{HookPlan, Plan, ReleasePlan};
use crate::dsf::state::{AppHook, CommandLine, HookWork, Moment};
use crate::model::{ObjectKey, RELEASE_NAME_ANNOTATION, ReleaseKey};

/// The annotation of an object that a hook of the file made; its value is the release.
pub const HOOK_MARK: &str = "statectl.io/hook";

/// What is known of hooks besides what the file says.
#[derive(Clone, Debug, Default)]
pub struct HookInput {
    /// Whether programs that the file names may run.
    pub allow_exec: bool,
    /// The manifests of hooks that were looked at; a reason where one cannot be read.
    pub manifests: BTreeMap<(ReleaseKey, Moment), Result<Vec<SeenObject>, Reason>>,
}

/// An object of a hook's manifest, and what the server says to it.
#[derive(Clone, Debug)]
pub struct SeenObject {
    /// The object.
    pub key: ObjectKey,
    /// What would be applied, without the mark.
    pub body: Json,
    /// What is there.
    pub live: Option<Json>,
    /// What the server would do.
    pub answer: HookAnswer,
    /// Whether its kind has a status, which a condition could be in.
    pub has_status: bool,
}

/// The server's answer to a dry run of a hook's object. One that is made anew is tried under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// It would take it.
    Accepted,
    /// It cannot be asked yet: something that arrives in this run comes first.
    Later,
    /// It would refuse it.
    Refused {
        /// Its words.
        message: String,
    },
    /// It could not be asked.
    Unknown {
        /// Why.
        message: String,
    },
}

/// A hook of the file, ready to be run.
#[derive(Clone, Debug)]
pub struct HookStep {
    /// When.
    pub moment: Moment,
    /// Its place in the file.
    pub key: String,
    /// What is done.
    pub work: HookStepWork,
    /// The longest time.
    pub timeout: Duration,
    /// What a program is told about the release.
    pub variables: BTreeMap<String, String>,
}

/// What a hook of the file does.
#[derive(Clone, Debug)]
pub enum HookStepWork {
    /// It runs a program.
    Command(CommandLine),
    /// It applies objects.
    Manifest(ManifestStep),
}

/// The objects of a hook.
#[derive(Clone, Debug)]
pub struct ManifestStep {
    /// How messages name the manifest.
    pub shown: String,
    /// The objects in the order of the manifest; nothing as long as it was not looked at.
    pub objects: Option<Vec<HookObject>>,
    /// The condition that they are waited for.
    pub condition: Option<String>,
    /// Whether they are removed once the condition holds.
    pub delete: bool,
}

/// An object of a hook.
#[derive(Clone, Debug)]
pub struct HookObject {
    /// The object.
    pub key: ObjectKey,
    /// What is applied.
    pub body: Json,
    /// The uid of what is there.
    pub found: Option<String>,
    /// Whether what is there, if anything, was made by a hook of the file for the same release.
    pub is_ours: bool,
    /// Whether it is made anew each time, since it runs once.
    pub renews: bool,
    /// Whether the condition of the hook is waited for.
    pub is_waited_for: bool,
}

/// The hooks around an operation.
#[derive(Clone, Debug, Default)]
pub struct FileHooks {
    /// Before anything else.
    pub before: Option<HookStep>,
    /// At the end, before the record is settled.
    pub after: Option<HookStep>,
}

impl FileHooks {
    /// Returns both, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &HookStep> {
        self.before.iter().chain(&self.after)
    }
}

/// What a plan shows of a hook of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHook {
    /// Its place in the file.
    pub key: String,
    /// The longest time.
    pub timeout: Duration,
    /// Its objects, and what is done with each.
    pub objects: Vec<(ObjectKey, &'static str)>,
    /// What they are waited for.
    pub condition: Option<String>,
    /// Whether they are removed then.
    pub removes: bool,
}

/// Tells whether an object is made anew each time: what runs once would not run again.
pub fn is_run_once(key: &ObjectKey) -> bool {
    matches!((key.gvk.group.as_str(), key.gvk.kind.as_str()), ("batch", "Job") | ("", "Pod"))
}

/// Tells whether an object was made by a hook of the file for a release.
pub fn is_of_hook(live: &Json, release: &ReleaseKey) -> bool {
    live["metadata"]["annotations"][HOOK_MARK] == release.to_string().as_str()
}

/// Returns the moments around an operation that makes a revision;
/// the file has none for one that goes back.
pub(super) fn moments(kind: DeployKind) -> Option<[Moment; 2]> {
    match kind {
        DeployKind::Install => Some([Moment::PreInstall, Moment::PostInstall]),
        DeployKind::Upgrade => Some([Moment::PreUpgrade, Moment::PostUpgrade]),
        DeployKind::Rollback => None,
    }
}

/// Tells whether the file has a hook at a moment.
pub(super) fn has(wanted: &Wanted, moment: Moment) -> bool {
    wanted.release.hooks.iter().any(|hook| hook.moment == moment)
}

/// What is told to programs about the operation.
pub(super) struct Told<'a> {
    /// Name and version of the chart.
    pub(super) chart: (&'a str, &'a str),
    /// The revision that is made, or that goes.
    pub(super) revision: u64,
}

/// Returns the hooks of the file at two moments, or the reasons why they cannot run.
pub(super) fn around(
    input: &PlanInput,
    wanted: &Wanted,
    [before, after]: [Moment; 2],
    told: &Told<'_>,
) -> Result<FileHooks, Vec<Reason>> {
    let mut refusals = Vec::new();
    let mut step = |moment: Moment| {
        let hook = wanted.release.hooks.iter().find(|hook| hook.moment == moment)?;
        match step(input, wanted, hook, told) {
            Ok(step) => Some(step),
            Err(reasons) => {
                refusals.extend(reasons);
                None
            }
        }
    };
    let hooks = FileHooks { before: step(before), after: step(after) };
    if refusals.is_empty() { Ok(hooks) } else { Err(refusals) }
}

fn step(
    input: &PlanInput,
    wanted: &Wanted,
    hook: &AppHook,
    told: &Told<'_>,
) -> Result<HookStep, Vec<Reason>> {
    let release = &wanted.release.key;
    let work = match &hook.work {
        HookWork::Command(command) => {
            if !input.hooks.allow_exec {
                let what = format!("the hook {}", hook.key);
                return Err(vec![Reason::ExecNotAllowed { what, command: command.shown.clone() }]);
            }
            HookStepWork::Command(command.clone())
        }
        HookWork::Manifest { shown, condition, delete, .. } => {
            let seen = input.hooks.manifests.get(&(release.clone(), hook.moment));
            let objects = match seen {
                None => None,
                Some(Err(reason)) => return Err(vec![reason.clone()]),
                Some(Ok(seen)) => Some(judged(wanted, hook, *delete, condition.is_some(), seen)?),
            };
            let (shown, condition) = (shown.clone(), condition.clone());
            HookStepWork::Manifest(ManifestStep { shown, objects, condition, delete: *delete })
        }
    };
    let variables = variables(input, wanted, hook.moment, told);
    Ok(HookStep { moment: hook.moment, key: hook.key.clone(), work, timeout: hook.timeout, variables })
}

/// What programs are told, under the names that the reference page lists.
fn variables(
    input: &PlanInput,
    wanted: &Wanted,
    moment: Moment,
    told: &Told<'_>,
) -> BTreeMap<String, String> {
    let key = &wanted.release.key;
    let revision = told.revision.to_string();
    let context = input.cluster.context.as_deref().unwrap_or_default();
    [
        ("STATECTL_HOOK", moment.key()),
        ("STATECTL_APP", &wanted.release.app),
        ("STATECTL_RELEASE", &key.name),
        ("STATECTL_NAMESPACE", &key.namespace),
        ("STATECTL_REVISION", &revision),
        ("STATECTL_CHART", told.chart.0),
        ("STATECTL_CHART_VERSION", told.chart.1),
        ("STATECTL_CONTEXT", &input.context),
        ("STATECTL_KUBE_CONTEXT", context),
        ("STATECTL_SERVER", &input.cluster.server),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

fn judged(
    wanted: &Wanted,
    hook: &AppHook,
    deletes: bool,
    waits: bool,
    seen: &[SeenObject],
) -> Result<Vec<HookObject>, Vec<Reason>> {
    let content = wanted.content.as_ref().and_then(|content| content.as_ref().ok());
    let of_chart: BTreeSet<&ObjectKey> = content
        .iter()
        .flat_map(|content| content.objects.iter().chain(&content.crds))
        .map(|o| &o.key)
        .collect();
    let mut objects = Vec::new();
    let mut refusals = Vec::new();
    for object in seen {
        let belongs = of_chart.iter().any(|key| key.same_object(&object.key));
        match judge(&wanted.release.key, belongs, deletes, waits, object) {
            Ok(object) => objects.push(object),
            Err(message) => refusals.push(Reason::HookRefused {
                hook: hook.key.clone(),
                object: object.key.clone(),
                message,
            }),
        }
    }
    if waits && refusals.is_empty() && !objects.iter().any(|object| object.is_waited_for) {
        let message = "none of its objects can have the condition that is waited for".to_owned();
        let object = seen.first().map(|object| object.key.clone());
        refusals.extend(object.map(|object| Reason::HookRefused { hook: hook.key.clone(), object, message }));
    }
    if refusals.is_empty() { Ok(objects) } else { Err(refusals) }
}

/// Decides about one object of a hook.
///
/// # Errors
/// Why the hook cannot have it.
fn judge(
    release: &ReleaseKey,
    is_of_chart: bool,
    deletes: bool,
    waits: bool,
    seen: &SeenObject,
) -> Result<HookObject, String> {
    let key = &seen.key;
    let is_ours = seen.live.as_ref().is_none_or(|live| is_of_hook(live, release));
    let renews = is_run_once(key) && is_ours;
    if is_of_chart {
        return Err("the chart has an object of that name".to_owned());
    }
    if let Some(live) = &seen.live {
        let metadata = &live["metadata"];
        if let Some(owner) = metadata["annotations"][RELEASE_NAME_ANNOTATION].as_str() {
            return Err(format!("an object of that name belongs to release {owner}"));
        }
        if metadata["deletionTimestamp"].is_string() && !renews {
            return Err("it is being deleted: nothing applied to it would last".to_owned());
        }
    }
    if deletes && (guard::holds_data(key) || loss::takes_its_claims(&seen.body)) {
        return Err("what is in it would go with it: it cannot be removed by `deleteOnSuccess`".to_owned());
    }
    if deletes && !is_ours {
        return Err(
            "it exists and no hook of this release made it, so `deleteOnSuccess` may not remove it; \
                    remove it by hand, or give the hook's object another name"
                .to_owned(),
        );
    }
    match &seen.answer {
        HookAnswer::Accepted | HookAnswer::Later => {}
        HookAnswer::Refused { message } => return Err(format!("the server would refuse it: {message}")),
        HookAnswer::Unknown { message } => return Err(format!("the server cannot be asked: {message}")),
    }
    let found = seen.live.as_ref().and_then(|live| live["metadata"]["uid"].as_str()).map(str::to_owned);
    let mut body = seen.body.clone();
    // What others made stays theirs.
    if is_ours {
        body["metadata"]["annotations"][HOOK_MARK] = Json::from(release.to_string());
    }
    Ok(HookObject { key: key.clone(), body, found, is_ours, renews, is_waited_for: waits && seen.has_status })
}

/// Returns what a plan shows of a hook.
fn shown(step: &HookStep) -> HookPlan {
    let mut file = FileHook {
        key: step.key.clone(),
        timeout: step.timeout,
        objects: Vec::new(),
        condition: None,
        removes: false,
    };
    let (kind, name) = match &step.work {
        HookStepWork::Command(command) => ("Command", command.shown.clone()),
        HookStepWork::Manifest(manifest) => {
            let verb = |object: &HookObject| match (&object.found, object.renews) {
                (None, _) => "create",
                (Some(_), true) => "re-create",
                (Some(_), false) => "update",
            };
            file.objects = manifest.objects.iter().flatten().map(|o| (o.key.clone(), verb(o))).collect();
            file.condition.clone_from(&manifest.condition);
            file.removes = manifest.delete;
            ("Manifest", manifest.shown.clone())
        }
    };
    HookPlan { event: step.moment.key().to_owned(), kind: kind.to_owned(), name, file: Some(file) }
}

/// Puts the hooks of the file around those of the chart, as they run.
pub(super) fn show(plans: &mut Vec<HookPlan>, hooks: &FileHooks) {
    plans.splice(0..0, hooks.before.as_ref().map(shown));
    plans.extend(hooks.after.as_ref().map(shown));
}

/// Returns the hooks of the file that a release runs.
pub fn steps_of(release: &ReleasePlan) -> impl Iterator<Item = &HookStep> {
    let hooks = match &release.work {
        Work::Deploy(deploy) => Some(&deploy.file_hooks),
        Work::Uninstall(uninstall) => Some(&uninstall.file_hooks),
        Work::Nothing | Work::Seal(_) | Work::GoBack(_) | Work::Disown(_) | Work::Own(_) => None,
    };
    hooks.into_iter().flat_map(FileHooks::iter)
}

/// Returns the hooks whose manifests have to be looked at before the plan may be carried out.
pub fn unseen<'i>(input: &'i PlanInput, plan: &Plan) -> Vec<(&'i Wanted, &'i AppHook)> {
    let mut due = Vec::new();
    for release in &plan.releases {
        let Some(wanted) = input.wanted.iter().find(|wanted| wanted.release.key == release.key) else {
            continue;
        };
        for step in steps_of(release) {
            let is_unseen =
                matches!(&step.work, HookStepWork::Manifest(manifest) if manifest.objects.is_none());
            let hook = wanted.release.hooks.iter().find(|hook| is_unseen && hook.moment == step.moment);
            due.extend(hook.map(|hook| (wanted, hook)));
        }
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GroupVersionKind;
    use serde_json::json;

    fn seen(kind: &str, live: Option<Json>, answer: HookAnswer) -> SeenObject {
        let api = if kind == "Job" { "batch/v1" } else { "v1" };
        let key = ObjectKey {
            gvk: GroupVersionKind::new(api, kind),
            namespace: Some("shop".to_owned()),
            name: "a".to_owned(),
        };
        SeenObject {
            key,
            body: json!({"kind": kind, "metadata": {"name": "a"}}),
            live,
            answer,
            has_status: true,
        }
    }

    /// What a live object is, and what becomes of it: uid found, made anew, marked.
    #[test]
    fn only_what_the_hook_made_is_made_anew_or_removed() {
        let release = ReleaseKey::new("shop", "web");
        let live = |annotations: Json| Some(json!({"metadata": {"uid": "u", "annotations": annotations}}));
        let ours = || live(json!({HOOK_MARK: "shop/web"}));
        let going = Some(json!({"metadata": {"uid": "u", "deletionTimestamp": "x"}}));
        let ok = HookAnswer::Accepted;
        for (kind, live, deletes, expected) in [
            ("Job", None, true, Ok((None, true, true))),
            ("Job", ours(), true, Ok((Some("u"), true, true))),
            ("ConfigMap", ours(), true, Ok((Some("u"), false, true))),
            ("Job", live(json!({})), false, Ok((Some("u"), false, false))),
            ("Job", live(json!({HOOK_MARK: "shop/other"})), false, Ok((Some("u"), false, false))),
            ("Job", live(json!({})), true, Err("it exists and no hook of this release made it")),
            ("Job", live(json!({RELEASE_NAME_ANNOTATION: "r"})), false, Err("belongs to release r")),
            ("ConfigMap", going, false, Err("it is being deleted")),
            ("PersistentVolumeClaim", None, true, Err("what is in it would go with it")),
            ("PersistentVolumeClaim", None, false, Ok((None, false, true))),
        ] {
            let object = seen(kind, live.clone(), ok.clone());
            let found = judge(&release, false, deletes, true, &object);
            match (found, expected) {
                (Ok(object), Ok((uid, renews, marked))) => {
                    let is_marked = !object.body["metadata"]["annotations"][HOOK_MARK].is_null();
                    let found = (object.found.as_deref(), object.renews, is_marked);
                    assert_eq!(found, (uid, renews, marked), "{kind} {live:?}");
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, expected) => panic!("{kind} {live:?}: {found:?}, expected {expected:?}"),
            }
        }
        assert!(judge(&release, true, false, false, &seen("Job", None, ok)).is_err(), "of the chart");
        let refused = HookAnswer::Refused { message: "no".to_owned() };
        let why = judge(&release, false, false, false, &seen("Job", None, refused)).unwrap_err();
        assert_eq!(why, "the server would refuse it: no");
    }
}
