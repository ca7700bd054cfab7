//! `statectl.saved-plan/v1`: a plan in a file, to be carried out later exactly as it is, or not at all.
//!
//! The file holds what a plan decided and what it rested on, never how to do it: whoever applies it plans again, from
//! the same files, and compares. So no permission is ever read from a file, and no secret is in it: what is rendered
//! is there as a slow, salted digest, Secrets as their uid and resource version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::effect::effect;
use super::plan_json::pretty;
use crate::go::encoding::hex_encode;
use crate::history;
use crate::model::{ClusterIdentity, ObjectKey};
use crate::plan::app_hooks::{self, HookStep, HookStepWork};
use crate::plan::{NamespacePlan, ObjectAction, ObjectPlan, Plan, ReleasePlan, Work};

/// The tag of the format.
pub const FORMAT: &str = "statectl.saved-plan/v1";
/// Cost of the digest of rendered content: 2^12 blocks of 1 KiB. A value of a Secret must not be found by trying.
const COST: u8 = 12;
/// Stands for a digest that could not be made: it equals none.
const UNKNOWN: &str = "unknown";

/// A plan as a file holds it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SavedPlan {
    format: String,
    /// The version of statectl that made it.
    pub made_by: String,
    /// When it was made, for people.
    pub made_at: String,
    /// The commit that the first desired-state file is checked out at, for people and for pipelines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of what it does, as in the report of a plan.
    #[serde(default)]
    pub effect: String,
    /// What was asked for.
    pub asked: Asked,
    cluster: SavedCluster,
    context: String,
    salt: String,
    namespaces: Vec<String>,
    releases: Vec<SavedRelease>,
    batches: Vec<Vec<String>>,
}

/// What the plan was asked to be about: applying it asks for the same.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Asked {
    /// Whether everything is to be uninstalled.
    pub destroy: bool,
    /// The desired-state files, as they were named, with the digest of each.
    pub files: Vec<SavedFile>,
    /// The files of environment variables.
    pub env_files: Vec<String>,
    /// Helmsman's lists of state files.
    pub specs: Vec<String>,
    /// `--environment`.
    pub environment: Option<String>,
    /// `--helmsman-compat`.
    pub helmsman_compat: bool,
    /// `--allow-outside-paths`.
    pub allow_outside_paths: bool,
    /// `--no-env-subst`.
    pub no_env_subst: bool,
    /// `--subst-env-values`.
    pub subst_env_values: bool,
    /// `--keep-untracked-releases`.
    pub keep_untracked: bool,
    /// `--skip-pending`.
    #[serde(default)]
    pub skip_pending: bool,
    /// `--allow-older`.
    #[serde(default)]
    pub allow_older: bool,
    /// The kubeconfig context, if the command line named one.
    pub kube_context: Option<String>,
    /// `--target`.
    pub targets: Vec<String>,
    /// `--exclude-target`.
    pub exclude_targets: Vec<String>,
    /// `--group`.
    pub groups: Vec<String>,
    /// `--exclude-group`.
    pub exclude_groups: Vec<String>,
    /// `-l`.
    pub labels: Option<String>,
    /// `--with-needs`.
    pub with_needs: bool,
    /// `--allow-prune`.
    pub allow_prune: bool,
    /// `--really-new`.
    pub really_new: bool,
}

/// When and from what a plan was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The time.
    pub at: String,
    /// The commit, if the files are in a repository.
    pub commit: Option<String>,
}

/// A file that a plan was made from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SavedFile {
    /// As it was named on the command line.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

impl SavedFile {
    /// Returns the entry of a file.
    pub fn of(path: String, bytes: &[u8]) -> Self {
        Self { path, sha256: hex_encode(&Sha256::digest(bytes)) }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
struct SavedCluster {
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedRelease {
    namespace: String,
    name: String,
    action: String,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chart: Option<String>,
    /// The digest of the chart's files.
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_digest: Option<String>,
    /// The digest of values, hooks and rendered objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    objects: Vec<SavedObject>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedObject {
    object: String,
    action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    /// What it was like when the plan was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

/// Why a file cannot be applied as a saved plan.
#[derive(Debug, thiserror::Error)]
pub enum SavedPlanError {
    /// It is JSON, and no saved plan of this version.
    #[error("not a saved plan that this version of statectl can read")]
    Unreadable {
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// Its tag is another one.
    #[error("its format is {found}, and this version of statectl reads {FORMAT}")]
    OtherFormat {
        /// The tag.
        found: String,
    },
}

/// Tells whether a file is meant to be a saved plan: JSON with the tag of any version.
pub fn is_saved_plan(bytes: &[u8]) -> bool {
    tag_of(bytes).is_some_and(|tag| tag.starts_with("statectl.saved-plan/"))
}

fn tag_of(bytes: &[u8]) -> Option<String> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    json["format"].as_str().map(str::to_owned)
}

/// What is done with namespaces; nothing of it is secret.
fn namespaces_text(plan: &Plan) -> Vec<String> {
    let text = |namespace: &NamespacePlan| {
        let parts: Vec<&str> = std::iter::once(namespace.name.as_str())
            .chain(namespace.changes.iter().map(String::as_str))
            .collect();
        parts.join("; ")
    };
    plan.namespaces.iter().map(text).collect()
}

impl SavedPlan {
    /// Returns a plan in the form in which it is saved. `salt` has to be new for each file.
    pub fn of(plan: &Plan, asked: Asked, made: Made, salt: [u8; 16]) -> Self {
        Self {
            format: FORMAT.to_owned(),
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: made.at,
            commit: made.commit,
            effect: effect(plan),
            asked,
            cluster: cluster(&plan.cluster),
            context: plan.context.clone(),
            salt: hex_encode(&salt),
            namespaces: namespaces_text(plan),
            releases: plan.releases.iter().map(|release| saved_release(release, &salt)).collect(),
            batches: plan
                .batches
                .iter()
                .map(|batch| batch.iter().map(ToString::to_string).collect())
                .collect(),
        }
    }

    /// Reads a saved plan.
    ///
    /// # Errors
    /// It is none, or of a version that is not known.
    pub fn read(bytes: &[u8]) -> Result<Self, SavedPlanError> {
        match tag_of(bytes) {
            Some(found) if found != FORMAT => Err(SavedPlanError::OtherFormat { found }),
            _ => serde_json::from_slice(bytes).map_err(|source| SavedPlanError::Unreadable { source }),
        }
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        pretty(self)
    }

    /// Returns the cluster that the plan is for, as far as a message names it.
    pub fn server(&self) -> &str {
        &self.cluster.server
    }

    /// Returns what moved since the plan was saved, when `plan` is what is planned now from the same files; nothing if
    /// carrying `plan` out is carrying out the saved one.
    pub fn moved(&self, plan: &Plan) -> Vec<String> {
        let salt = unhex(&self.salt).unwrap_or_default();
        let now = cluster(&plan.cluster);
        let same_cluster = match (&self.cluster.uid, &now.uid) {
            (Some(then), Some(now)) => then == now,
            _ => self.cluster.server == now.server,
        };
        if !same_cluster {
            return vec![format!(
                "the plan is for the cluster {}, this is {}",
                self.cluster.server, now.server
            )];
        }
        let mut moved = Vec::new();
        if self.context != plan.context {
            moved.push(format!("the context was `{}` and is `{}`", self.context, plan.context));
        }
        let current: Vec<SavedRelease> =
            plan.releases.iter().map(|release| saved_release(release, &salt)).collect();
        let by_key = |releases: &[SavedRelease]| -> BTreeMap<(String, String), SavedRelease> {
            releases
                .iter()
                .map(|release| ((release.namespace.clone(), release.name.clone()), release.clone()))
                .collect()
        };
        let (then, now) = (by_key(&self.releases), by_key(&current));
        for (key, was) in &then {
            let name = format!("{}/{}", key.0, key.1);
            match now.get(key) {
                None => moved.push(format!("{name} is not planned any more")),
                Some(is) => {
                    moved.extend(was.differences(is).into_iter().map(|what| format!("{name}: {what}")));
                }
            }
        }
        let new = now.keys().filter(|key| !then.contains_key(*key));
        moved.extend(new.map(|key| format!("{}/{} was not planned", key.0, key.1)));
        let namespaces = namespaces_text(plan);
        if self.namespaces != namespaces {
            moved.push("other namespaces have to be made or labelled".to_owned());
        }
        let batches: Vec<Vec<String>> =
            plan.batches.iter().map(|batch| batch.iter().map(ToString::to_string).collect()).collect();
        if moved.is_empty() && self.batches != batches {
            moved.push("the order of the releases is another one".to_owned());
        }
        moved
    }
}

impl SavedRelease {
    fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.revision != now.revision {
            let shown = |revision: Option<u64>| {
                revision.map_or_else(|| "none".to_owned(), |number| number.to_string())
            };
            found.push(format!(
                "its newest revision was {} and is {}",
                shown(self.revision),
                shown(now.revision)
            ));
        }
        if self.chart != now.chart || differ(&self.chart_digest, &now.chart_digest) {
            let shown = |chart: &Option<String>| chart.clone().unwrap_or_else(|| "no chart".to_owned());
            found.push(match self.chart == now.chart {
                true => format!("the files of the chart {} are not the same", shown(&self.chart)),
                false => format!("its chart was {} and is {}", shown(&self.chart), shown(&now.chart)),
            });
        } else if differ(&self.content, &now.content) {
            found.push(
                "its values, or what they render to, are not the same (charts that make random values or show \
                 the time never render the same twice)"
                    .to_owned(),
            );
        }
        let objects = |release: &Self| -> BTreeMap<String, SavedObject> {
            release.objects.iter().map(|object| (object.object.clone(), object.clone())).collect()
        };
        let (then, is) = (objects(self), objects(now));
        for (name, was) in &then {
            match is.get(name) {
                None => found.push(format!("{name} is not part of it any more")),
                Some(is) if both_differ(&was.uid, &is.uid) => {
                    found.push(format!("{name} is another object than when the plan was made"));
                }
                Some(is) if both_differ(&was.state, &is.state) => {
                    found.push(format!("{name} was changed in the cluster since the plan was made"));
                }
                Some(is) if was.action != is.action => {
                    found.push(format!("{name}: {} was planned, now it would be {}", was.action, is.action));
                }
                Some(_) => {}
            }
        }
        found.extend(is.keys().filter(|name| !then.contains_key(*name)).map(|name| format!("{name} is new")));
        if found.is_empty() && self.action != now.action {
            found.push(format!("{} was planned, now it would be {}", self.action, now.action));
        }
        if found.is_empty() && self.reasons != now.reasons {
            found.push("it is planned for other reasons".to_owned());
        }
        found
    }
}

/// Tells whether two digests differ, or may. Where one side does nothing there is none, and nothing to say about it.
fn differ(then: &Option<String>, now: &Option<String>) -> bool {
    both_differ(then, now) || now.as_deref() == Some(UNKNOWN)
}

fn both_differ(then: &Option<String>, now: &Option<String>) -> bool {
    then.is_some() && now.is_some() && then != now
}

fn cluster(identity: &ClusterIdentity) -> SavedCluster {
    SavedCluster { server: identity.server.clone(), uid: identity.uid.clone() }
}

fn saved_release(plan: &ReleasePlan, salt: &[u8]) -> SavedRelease {
    let (chart_digest, content) = match &plan.work {
        Work::Deploy(deploy) => {
            let chart =
                history::Release { chart: deploy.record.chart.clone(), ..history::Release::default() };
            let rendered = history::Release {
                config: deploy.record.config.clone(),
                manifest: deploy.record.manifest.clone(),
                hooks: deploy.record.hooks.clone(),
                ..history::Release::default()
            };
            let applied = deploy.crds.iter().chain(&deploy.applies).map(|step| step.body.to_string());
            let bodies: String = applied.chain(app_hooks::steps_of(plan).flat_map(hook_texts)).collect();
            let unknown = || UNKNOWN.to_owned();
            let chart = history::encode_release(&chart);
            let chart = chart.map_or_else(|_| unknown(), |text| hex_encode(&Sha256::digest(text)));
            let rendered = history::encode_release(&rendered);
            let rendered =
                rendered.map_or_else(|_| unknown(), |rendered| slow_digest(&(rendered + &bodies), salt));
            (Some(chart), Some(rendered))
        }
        Work::GoBack(back) => {
            let bodies: String = back.rollback.applies.iter().map(|step| step.body.to_string()).collect();
            (None, Some(slow_digest(&bodies, salt)))
        }
        Work::Nothing | Work::Seal(_) | Work::Uninstall(_) | Work::Disown(_) | Work::Own(_) => (None, None),
    };
    SavedRelease {
        namespace: plan.key.namespace.clone(),
        name: plan.key.name.clone(),
        action: plan.action.name().to_owned(),
        reasons: plan.reasons.iter().map(|reason| reason.code().to_owned()).collect(),
        revision: plan.revision,
        chart: plan.chart_to.as_ref().map(ToString::to_string),
        chart_digest,
        content,
        objects: plan.objects.iter().map(saved_object).collect(),
    }
}

/// Returns everything that a hook of the file does, secrets included.
fn hook_texts(step: &HookStep) -> Vec<String> {
    match &step.work {
        HookStepWork::Command(command) => {
            std::iter::once(command.program.clone()).chain(command.arguments.clone()).collect()
        }
        HookStepWork::Manifest(manifest) => {
            manifest.objects.iter().flatten().map(|object| object.body.to_string()).collect()
        }
    }
}

fn saved_object(plan: &ObjectPlan) -> SavedObject {
    // What an unchanged object is like besides does not matter: if it did, it would not be unchanged.
    let live = plan.live.as_ref().filter(|_| plan.action != ObjectAction::None);
    SavedObject {
        object: shown(&plan.key),
        action: plan.action.name().to_owned(),
        uid: live.map(|live| live.uid.clone()),
        state: live.map(|live| live.state.clone()),
    }
}

fn shown(key: &ObjectKey) -> String {
    match key.gvk.group.as_str() {
        "" => key.to_string(),
        group => format!("{key} ({group})"),
    }
}

/// Returns the digest of something that may hold secrets.
fn slow_digest(text: &str, salt: &[u8]) -> String {
    let fast = Sha256::digest(text);
    let mut out = [0; 32];
    let derived = scrypt::Params::new(COST, 8, 1)
        .map_err(drop)
        .and_then(|cost| scrypt::scrypt(&fast, salt, &cost, &mut out).map_err(drop));
    // Neither the cost nor the length can be wrong.
    if derived.is_ok() { hex_encode(&out) } else { UNKNOWN.to_owned() }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}
