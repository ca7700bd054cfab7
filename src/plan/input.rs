//! Everything that a decision may rest on, gathered before and handed over as data.
//!
//! The observed part may be old by the time it is used: whatever is decided here carries preconditions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::reason::Reason;
use crate::diff::{Proof, Verdict};
use crate::dsf::state::Release;
use crate::history::{self, History};
use crate::model::{ClusterIdentity, ObjectKey, ReleaseKey};
use crate::value::Map;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bring the cluster to the desired state.
    Reconcile,
    /// Uninstall every release of the file.
    Destroy,
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
    /// Why releases that left the file are not removed in this run; nothing if they are.
    pub removal_withheld: Option<String>,
    /// How many releases that left the file may be removed in this run; nothing if it does not matter.
    pub most_removals: Option<usize>,
    /// Whether a release that comes is another one than one that goes, however alike they look.
    pub really_new: bool,
    /// Whether removals go in reverse order of what was needed first.
    pub reverse_removals: bool,
    /// The time that new records carry.
    pub now: Timestamp,
    /// Makes the markers of secret values of this run unlike those of any other.
    pub salt: [u8; 16],
    /// The namespaces of the wanted releases and of the file.
    pub namespaces: Vec<ObservedNamespace>,
    /// The releases of the file.
    pub wanted: Vec<Wanted>,
    /// Releases of this context that the file does not have.
    pub strays: Vec<Stray>,
    /// What was noticed while observing.
    pub notes: Vec<String>,
}

/// A namespace.
#[derive(Clone, Debug)]
pub struct ObservedNamespace {
    /// Its name.
    pub name: String,
    /// Whether it exists.
    pub exists: bool,
    /// Whether it carries the labels and annotations that the file asks for.
    pub is_marked: bool,
    /// Labels that the file asks for.
    pub labels: BTreeMap<String, String>,
    /// Annotations that the file asks for.
    pub annotations: BTreeMap<String, String>,
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
    /// What is applied: the rendered object with Helm's ownership marks.
    pub body: Json,
    /// What is there.
    pub live: Option<Json>,
    /// What the server would make of it.
    pub answer: ServerAnswer,
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
}
