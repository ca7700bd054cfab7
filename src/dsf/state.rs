//! The desired state after every rule of the file was applied.
//!
//! Every default is filled in: an `Option` here means "there is none", never "use the default". Knows nothing
//! of file syntax; positions are kept only to be shown.

pub use super::access::{ClusterAccess, ClusterCredential};
pub use super::hooks::{AppHook, CommandLine, HookWork, ManifestSource, Moment};
pub use super::limits::Limit;
pub use super::objects::{ConflictAction, ConflictRule, IgnoreRule, ObjectName, ReadyRule, WaitFor};
pub use super::places::{Chart, ChartSource, ChartVersion, Cosign, Repository, Verify};
pub use super::settings::{
    ExpectCluster, Eyaml, Lock, LockQueue, MaxPrune, OnError, OnInterrupted, Patience, Recover, Settings,
};
pub use super::webhooks::{Webhook, WebhookKind};
pub use super::windows::Window;
use crate::model::ReleaseKey;
use crate::text::Location;
use crate::value::Map;
use crate::values::ReuseValues;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// Everything that the desired-state files of one run ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredState {
    /// The owner of these releases, stored with each of them as Helmsman stores it.
    pub context: String,
    /// Whether the files name the context. Without one the default context stands in, and nothing is removed
    /// because it left the files: others may use the same default.
    pub context_is_set: bool,
    /// Free text for people.
    pub metadata: BTreeMap<String, String>,
    /// How a run behaves.
    pub settings: Settings,
    /// The declared namespaces by name. `kube-system` is added when a release lives there, as in Helmsman.
    pub namespaces: BTreeMap<String, Namespace>,
    /// The chart repositories by name.
    pub repositories: BTreeMap<String, Repository>,
    /// The releases in the order of the files. Their keys are unique.
    pub releases: Vec<Release>,
    /// Releases that got another name. The new one is among `releases`, the old one is not, and each is named once.
    pub moved: Vec<Moved>,
}

/// A release that got another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// What it was called.
    pub from: ReleaseKey,
    /// What it is called now.
    pub to: ReleaseKey,
}

impl DesiredState {
    /// Returns the release with this identity.
    pub fn release(&self, key: &ReleaseKey) -> Option<&Release> {
        self.releases.iter().find(|release| release.key == *key)
    }

    /// Tells whether no operation at all is allowed on a release: because of itself or its namespace.
    pub fn is_protected(&self, release: &Release) -> bool {
        release.protected || self.namespaces.get(&release.key.namespace).is_some_and(|space| space.protected)
    }

    /// Returns the edges between releases in the order of the file. Both ends exist, and there is no cycle.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.releases.iter().flat_map(|release| {
            release.needs.iter().map(|need| Edge {
                dependant: &release.key,
                needed: &need.release,
                when: need.when,
            })
        })
    }
}

/// `dependant` starts after `needed` is in the state `when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'a> {
    /// The release that waits.
    pub dependant: &'a ReleaseKey,
    /// The release that is waited for.
    pub needed: &'a ReleaseKey,
    /// What is waited for.
    pub when: NeedWhen,
}

/// A declared namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Namespace {
    /// Whether no operation is allowed on the releases in it.
    pub protected: bool,
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
    /// The items of its LimitRange.
    pub limits: Vec<Limit>,
    /// The amounts of its ResourceQuota, by resource.
    pub quotas: BTreeMap<String, String>,
    /// Where it is declared; none for `kube-system` when it is only used.
    pub origin: Option<Location>,
}

/// One wanted release.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its identity.
    pub key: ReleaseKey,
    /// The key of its entry below `apps`.
    pub app: String,
    /// Where that entry starts.
    pub origin: Location,
    /// Where each key of the entry was given, for messages. Keys that nobody gave are missing.
    pub origins: BTreeMap<String, Location>,
    /// Whether the release should exist.
    pub enabled: bool,
    /// Free text for people.
    pub description: String,
    /// The group for `--group`.
    pub group: Option<String>,
    /// The kubeconfig context of its cluster; none: that of the settings.
    pub kube_context: Option<String>,
    /// Labels for `-l` selectors.
    pub labels: BTreeMap<String, String>,
    /// The chart.
    pub chart: Chart,
    /// Who has to have made the chart.
    pub verify: Verify,
    /// What the chart is rendered with.
    pub values: Values,
    /// What becomes of the values that the last revision was given.
    pub reuse_values: ReuseValues,
    /// Whether the notes of the charts inside are shown too.
    pub sub_notes: bool,
    /// Whether the values are not checked against the schemas of the charts.
    pub skip_schema: bool,
    /// The batch: lower ones run first.
    pub priority: i64,
    /// Releases that must be there first.
    pub needs: Vec<Need>,
    /// Objects that must be there first.
    pub wait_for: Vec<WaitFor>,
    /// When objects of some kinds are ready.
    pub ready: Vec<ReadyRule>,
    /// Whether readiness gates the batch.
    pub wait: bool,
    /// The longest time for one operation on the release.
    pub timeout: Duration,
    /// Revisions that are kept, at least 1.
    pub max_history: usize,
    /// Whether chart hooks are left out.
    pub no_hooks: bool,
    /// After how many failures of the same input scheduled runs hold it back; never, where there is none.
    pub max_failures: Option<usize>,
    /// The hooks of the file, by their moment; at most one for each.
    pub hooks: Vec<AppHook>,
    /// The program that changes the rendered manifests.
    pub post_renderer: Option<CommandLine>,
    /// Whether the chart's tests run after an install or upgrade.
    pub test: bool,
    /// What happens to the custom resource definitions in the chart's `crds` folder.
    pub crds: Crds,
    /// What happens to a release whose install or upgrade failed.
    pub on_failure: OnFailure,
    /// What orders the objects of the release besides Helm's order of kinds.
    pub sequencing: Sequencing,
    /// Whether no operation at all is allowed.
    pub protected: bool,
    /// Guards that a decision about this release may pass.
    pub force: BTreeSet<ForceKind>,
    /// Objects that may lose their data.
    pub allow_data_loss: Vec<ObjectName>,
    /// What happens when this entry leaves the file.
    pub on_remove: OnRemove,
    /// Whether existing objects or releases that are not ours may be taken over.
    pub adopt: Adopt,
    /// Objects that are made once and then left alone.
    pub create_only: Vec<ObjectName>,
    /// What happens to fields that another manager owns with another value; the first that fits counts.
    pub field_conflicts: Vec<ConflictRule>,
    /// Fields that count neither as drift nor as a change.
    pub ignore: Vec<IgnoreRule>,
    /// Whether pods that read a changed ConfigMap or Secret are restarted.
    pub restart_on_config: bool,
    /// Whether a rollback deletes broken pods of the failed revision that StatefulSets wait for.
    pub unstick: bool,
}

/// What a chart is rendered with; later fields win over earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Values files, later ones win.
    pub files: Vec<PathBuf>,
    /// Encrypted values files, over the others.
    pub secrets: Vec<PathBuf>,
    /// Values in the desired-state file itself.
    pub inline: Map,
    /// `--set` entries: the text decides the type.
    pub set: Vec<SetEntry>,
    /// `--set-string` entries.
    pub set_string: Vec<SetEntry>,
    /// `--set-file` entries.
    pub set_file: Vec<SetFile>,
    /// Arguments of the `--set` family in `helmFlags`; over everything else.
    pub flags: SetFlags,
}

/// Arguments of Helm's `--set` flags, as they are written after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the flag of the same name")]
pub struct SetFlags {
    pub set_json: Vec<String>,
    pub set: Vec<String>,
    pub set_string: Vec<String>,
    pub set_file: Vec<String>,
    pub set_literal: Vec<String>,
}

/// One value at a path of the `--set` language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetEntry {
    /// The path, with dots between its parts.
    pub path: String,
    /// The value as text. Commas in it are plain characters, as in Helmsman.
    pub text: String,
}

/// One value that is the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFile {
    /// The path, with dots between its parts.
    pub path: String,
    /// The file.
    pub file: PathBuf,
}

/// A release that must be there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The needed release.
    pub release: ReleaseKey,
    /// What is waited for.
    pub when: NeedWhen,
    /// Where the need is stated.
    pub origin: Location,
}

/// The state of a needed release that lets the dependant start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeedWhen {
    /// Its objects are ready.
    Ready,
    /// Its objects are applied.
    Applied,
    /// It has a record.
    Exists,
}

impl NeedWhen {
    /// Returns the state as the file spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            NeedWhen::Ready => "ready",
            NeedWhen::Applied => "applied",
            NeedWhen::Exists => "exists",
        }
    }
}

/// What happens to custom resource definitions in the chart's `crds` folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// Missing ones are created, as Helm does.
    Create,
    /// They are created and updated.
    Upgrade,
    /// They are left alone.
    Skip,
}

/// What happens to a release whose install or upgrade failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It stays as it is.
    Keep,
    /// The last good revision is restored.
    Rollback,
}

/// What orders the objects of a release besides Helm's order of kinds and `statectl.io/depends-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequencing {
    /// Nothing.
    None,
    /// Helm's annotations for ordered waits.
    Annotations,
}

/// A guard that a decision may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForceKind {
    /// An object is deleted and created again.
    Replace,
    /// The release is uninstalled and installed again.
    Reinstall,
    /// The release goes to another namespace.
    Move,
    /// An uninstall that was interrupted is finished.
    FinishUninstall,
    /// A rollback deletes objects that the newer revision made.
    RollbackDelete,
    /// Objects with data are removed because the chart no longer has them.
    PruneStateful,
}

impl ForceKind {
    /// Every kind, which is what `force = true` means.
    pub const ALL: [ForceKind; 6] = [
        ForceKind::Replace,
        ForceKind::Reinstall,
        ForceKind::Move,
        ForceKind::FinishUninstall,
        ForceKind::RollbackDelete,
        ForceKind::PruneStateful,
    ];
}

/// What happens when the entry of a release leaves the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRemove {
    /// The release is uninstalled.
    Uninstall,
    /// The release stays and belongs to nobody.
    Orphan,
    /// A person decides.
    Ask,
}

/// Whether existing objects or releases that are not ours may be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// Never.
    Never,
    /// Those that belong to nobody.
    Unowned,
    /// Those of another owner too.
    Any,
}
