//! Everything that a decision may rest on, gathered before and handed over as data.
//!
//! The observed part may be old by the time it is used: whatever is decided here carries preconditions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::app_hooks::HookInput;
use super::loss::Lost;
use super::ownership::Settled;
use super::policy::Policy;
use super::quota::Quota;
use super::reason::Reason;
use super::recover::Settings;
use crate::diff::{Proof, Verdict};
use crate::dsf::state::Release;
use crate::history::{self, History};
use crate::lock::Kind;
use crate::model::{ClusterIdentity, ObjectKey, ReleaseKey};
use crate::value::Map;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bring the cluster to the desired state.
    Reconcile,
    /// Uninstall every release of the file.
    Destroy,
    /// Mark releases of another owner as this file's. Nothing else of them changes.
    Adopt,
}

/// Whose releases a file adopts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerBefore {
    /// Those without the label of a context.
    Nobody,
    /// Those of this context.
    Context(String),
}

/// All that the planner sees.
#[derive(Debug)]
pub struct PlanInput {
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// The owner of the releases.
    pub context: String,
    /// What was asked for.
    pub operation: Operation,
    /// Whose releases are adopted; nothing with every other operation.
    pub adopts_from: Option<OwnerBefore>,
    /// Why releases that left the file are not removed in this run; nothing if they are.
    pub removal_withheld: Option<String>,
    /// How many releases that left the file may be removed in this run; nothing if it does not matter.
    pub most_removals: Option<usize>,
    /// Whether only some releases of the file were asked for.
    pub partial: bool,
    /// Whether a release that comes is another one than one that goes, however alike they look.
    pub really_new: bool,
    /// Whether removals go in reverse order of what was needed first.
    pub reverse_removals: bool,
    /// The time that new records carry.
    pub now: Timestamp,
    /// Makes the markers of secret values of this run unlike those of any other.
    pub salt: [u8; 16],
    /// Whether releases with a pending operation are left alone.
    pub skip_pending: bool,
    /// Whether a schedule started the run, so that failure budgets count.
    pub scheduled: bool,
    /// What `reconcile` may do; nothing with every other verb.
    pub policy: Option<Policy>,
    /// Where the files come from; nothing where it does not matter.
    pub checkout: Option<Checkout>,
    /// What is known of the hooks of the file.
    pub hooks: HookInput,
    /// What interrupted operations are judged by.
    pub recovery: RecoveryInput,
    /// The namespaces of the wanted releases and of the file.
    pub namespaces: Vec<ObservedNamespace>,
    /// The releases of the file.
    pub wanted: Vec<Wanted>,
    /// Releases of this context that the file does not have.
    pub strays: Vec<Stray>,
    /// The quotas of namespaces in which something comes.
    pub quotas: Vec<Quota>,
    /// What was noticed while observing.
    pub notes: Vec<String>,
}

/// The commit that the files are checked out at, among those that records name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The commit.
    pub commit: String,
    /// Commits of records that come after it: it is an ancestor of each.
    pub newer: BTreeSet<String>,
}

/// What interrupted operations are judged by.
#[derive(Clone, Debug, Default)]
pub struct RecoveryInput {
    /// What the file says about them.
    pub settings: Settings,
    /// The time of the server's last answer, by its own clock.
    pub server_now: Option<Timestamp>,
    /// The locks of releases with an operation that did not come to its end, and of those that were locked in another way
    /// before.
    pub locks: BTreeMap<ReleaseKey, SeenLock>,
    /// What the locks of this run are made of; nothing where it takes none.
    pub lock: Option<Kind>,
}

/// A lock that was looked at, once.
#[derive(Clone, Debug, Default)]
pub struct SeenLock {
    /// Who holds it, as it says itself; nothing if it is free.
    pub holder: Option<String>,
    /// Why it cannot be read.
    pub unreadable: Option<String>,
    /// Whether it is of another kind than the locks of this run: then the two do not exclude each other.
    pub is_other_kind: bool,
}

/// A namespace.
#[derive(Clone, Debug)]
pub struct ObservedNamespace {
    /// Its name.
    pub name: String,
    /// Whether it exists.
    pub exists: bool,
    /// Its uid; nothing where it does not exist or may not be read.
    pub uid: Option<String>,
    /// Labels that the file asks for.
    pub labels: BTreeMap<String, String>,
    /// Annotations that the file asks for.
    pub annotations: BTreeMap<String, String>,
    /// The labels that it has.
    pub live_labels: BTreeMap<String, String>,
    /// The annotations that it has.
    pub live_annotations: BTreeMap<String, String>,
    /// What an earlier run set, each as `labels/KEY` or `annotations/KEY`.
    pub owned: Vec<String>,
    /// Whether labels that the file does not name go.
    pub authoritative: bool,
    /// Its objects that the file asks for, or once asked for.
    pub objects: Vec<ObservedSpaceObject>,
}

/// An object of a namespace that the file may ask for.
#[derive(Clone, Debug)]
pub struct ObservedSpaceObject {
    /// What it is.
    pub kind: SpaceKind,
    /// The spec that the file asks for, if it does.
    pub spec: Option<serde_json::Value>,
    /// The live object.
    pub live: Option<serde_json::Value>,
    /// The spec that the server would make of it, or why it would not; nothing where it was not asked.
    pub answer: Option<Result<serde_json::Value, String>>,
}

/// A kind of object that the file keeps for a namespace, under the name that Helmsman gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceKind {
    /// `limits`.
    LimitRange,
    /// `quotas`.
    ResourceQuota,
}

impl SpaceKind {
    /// Returns the name of the object.
    pub fn name(self) -> &'static str {
        match self {
            SpaceKind::LimitRange => "limit-range",
            SpaceKind::ResourceQuota => "resource-quota",
        }
    }

    /// Returns its kind.
    pub fn kind(self) -> &'static str {
        match self {
            SpaceKind::LimitRange => "LimitRange",
            SpaceKind::ResourceQuota => "ResourceQuota",
        }
    }
}

/// A release of the file, and what the cluster holds of it.
#[derive(Debug)]
pub struct Wanted {
    /// The entry.
    pub release: Release,
    /// What protects it, such as ``namespace `data` ``.
    pub protected_by: Option<String>,
    /// Its records.
    pub history: Result<History, Reason>,
    /// What the chart renders to; a reason where it does not, nothing for a release that should not exist.
    pub content: Option<Result<Content, Reason>>,
    /// What is left of older revisions: everything for a release that goes, else what the chart no longer has.
    pub remnants: Result<Vec<Remnant>, Reason>,
    /// The name that it had before, if there is still a release of that name.
    pub moved_from: Option<MovedFrom>,
}

/// A release under its old name.
#[derive(Debug)]
pub struct MovedFrom {
    /// The old name.
    pub key: ReleaseKey,
    /// Its records.
    pub history: Result<History, Reason>,
    /// Its objects that the new name does not have.
    pub remnants: Result<Vec<Remnant>, Reason>,
}

/// A release of this context that the file does not have.
#[derive(Debug)]
pub struct Stray {
    /// The release.
    pub key: ReleaseKey,
    /// What protects it.
    pub protected_by: Option<String>,
    /// Its records.
    pub history: History,
    /// Its objects.
    pub remnants: Result<Vec<Remnant>, Reason>,
}

/// What a chart renders to, and what the server says to it.
#[derive(Debug)]
pub struct Content {
    /// The revision whose record it is taken from, to go back to it; nothing where the chart was rendered.
    pub back_to: Option<u64>,
    /// The chart as a record stores it.
    pub chart: history::Chart,
    /// The values that the file gives.
    pub config: Map,
    /// The manifest as a record stores it.
    pub manifest: String,
    /// The notes.
    pub notes: String,
    /// The hooks, none of them run.
    pub hooks: Vec<history::Hook>,
    /// The custom resource definitions of the `crds` folders that have to be created.
    pub crds: Vec<ObservedObject>,
    /// The objects in Helm's install order.
    pub objects: Vec<ObservedObject>,
}

/// A desired object, the live one, and the server's answer to a dry run.
#[derive(Debug)]
pub struct ObservedObject {
    /// The object.
    pub key: ObjectKey,
    /// What is applied: the rendered object with Helm's ownership marks, without what is left to others.
    pub body: Json,
    /// What is there.
    pub live: Option<Json>,
    /// What the server would make of it.
    pub answer: ServerAnswer,
    /// What was looked at besides.
    pub around: Around,
    /// Whose field is whose.
    pub settled: Settled,
}

/// What was looked at besides the object itself, because the server refuses it or because something may go with it.
#[derive(Clone, Debug)]
pub struct Around {
    /// What the server says to the creation of the same object under a fresh name.
    pub probe: Option<Probe>,
    /// What would go with the object, besides what it tells itself; the reason where that could not be read.
    pub lost: Result<Vec<Lost>, String>,
    /// The claims that a StatefulSet made.
    pub claims: Vec<SetClaim>,
    /// The object as it would be stored if it were replaced by a PUT of the desired one.
    pub replaced: Option<Json>,
    /// Fields that the manifest no longer sets and that keep their value, because they cannot change.
    pub kept: Vec<String>,
    /// Where the object was rendered.
    pub place: Option<Place>,
}

impl Default for Around {
    fn default() -> Self {
        let (probe, replaced, place) = (None, None, None);
        Self { probe, lost: Ok(Vec::new()), claims: Vec::new(), replaced, kept: Vec::new(), place }
    }
}

/// The server's answer to a dry run that creates an object under a fresh name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It would be created.
    Accepted,
    /// The server cannot be asked.
    Untold {
        /// Why.
        why: String,
    },
    /// It would be refused.
    Refused {
        /// The server's words.
        message: String,
    },
}

/// A claim that a StatefulSet made from one of its templates.
#[derive(Clone, Debug)]
pub struct SetClaim {
    /// The claim.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// The size that it asks for.
    pub size: String,
    /// How it would grow; nothing if it need not.
    pub growth: Option<Growth>,
}

/// The growth of a claim.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The size that the template asks for.
    pub to: String,
    /// Why the server would refuse it.
    pub refused: Option<String>,
}

/// Where an object was rendered.
#[derive(Clone, Debug)]
pub struct Place {
    /// The template, such as `web/templates/service.yaml`.
    pub file: String,
    /// The rendered document.
    pub text: Arc<str>,
    /// The template itself; empty where it is not known.
    pub template: Arc<str>,
}

/// The server's answer to a dry run of a server-side apply.
#[derive(Clone, Debug)]
pub enum ServerAnswer {
    /// It was not asked: the live object itself proves that nothing would change.
    Unasked {
        /// The proof.
        proof: Proof,
    },
    /// It would be stored like this.
    Accepted {
        /// The object as it would be stored.
        result: Json,
        /// The server's warnings.
        warnings: Vec<String>,
    },
    /// It would be refused.
    Refused {
        /// What the refusal means.
        verdict: Verdict,
    },
    /// It cannot be asked yet: something that arrives in this run comes first.
    Later {
        /// What arrives.
        arrives: String,
    },
    /// It could not be asked.
    Unknown {
        /// Why.
        message: String,
    },
}

/// An object of an older revision.
#[derive(Debug)]
pub struct Remnant {
    /// The object.
    pub key: ObjectKey,
    /// What is there.
    pub live: Option<Json>,
    /// Whether the recorded manifest says that it stays.
    pub keep_in_manifest: bool,
    /// What would go with it, besides what it tells itself; the reason where that could not be read.
    pub lost: Result<Vec<Lost>, String>,
}
