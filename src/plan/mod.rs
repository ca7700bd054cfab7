//! Decides what happens to each release, and why.
//!
//! A total function from data to data: [`plan`] sees only its [`PlanInput`], knows no clock, no network and no
//! printing, and has an answer for every release: one that cannot be planned is [`Action::Blocked`] and hides
//! none of the others. The same input gives the same plan, byte for byte.
//!
//! Reading order: `input` (what may be known), `decide` (a release), `judge` (an object), `refused` (one that the
//! server refuses), `leftover` (fields that nobody sends any more), `guard` and `loss` (what may lose data), `order`
//! (batches), `schedule` (who waits for whom), `steps` (what execution does), `check` (is the plan sound?).

mod adoption;
pub mod app_hooks;
pub mod body;
pub mod check;
mod compare;
mod config;
mod decide;
pub mod definition;
mod drift;
mod flap;
mod graph;
mod guard;
mod hooking;
mod input;
mod judge;
mod leave;
mod leftover;
mod live;
pub mod loss;
mod moves;
pub mod order;
mod ownership;
mod place;
mod policy;
mod quota;
mod reason;
mod records;
pub mod recover;
mod recovery;
mod refused;
pub mod rights;
mod rollback;
mod schedule;
mod sequence;
mod shared;
mod spaces;
mod steps;
mod take_over;
mod unproven;

use std::fmt;
use std::num::NonZeroUsize;

use serde::Serialize;

pub use adoption::{Adoption, adoption};
pub use config::add_digests;
pub use decide::plan;
pub use drift::{Addition, ChangedField, Drift, ObjectDrift, ReleaseDrift, Standing, drift_of};
pub use graph::{GraphNeed, GraphRelease, ReleaseGraph, release_graph};
pub use guard::Permit;
pub use input::{
    Around, Checkout, Content, Growth, MovedFrom, ObservedNamespace, ObservedObject, ObservedSpaceObject,
    Operation, OwnerBefore, Place, PlanInput, Probe, RecoveryInput, Remnant, SeenLock, ServerAnswer,
    SetClaim, SpaceKind, Stray, Wanted,
};
pub use live::Live;
pub use loss::Lost;
pub use ownership::{Contested, FieldRules, LeftTo, Settled, scale_target, settle};
pub use policy::Policy;
pub use quota::{Fit, Quota, fits_instead};
pub use reason::{DataAtRisk, KnownReason, Reason, RefusalKind, known_reasons};
pub use records::{changed_values, hooks_differ};
pub use schedule::{Schedule, Turn};
pub use sequence::Edges;
pub use spaces::{LabelsRemoved, NamespacePlan, SPACE_MARK, SpaceChange, SpaceObjectPlan, space_object};
pub use steps::{
    Apply, ApplyMode, Delete, Dependents, Deploy, DeployKind, Disown, Fold, GoBack, Grow, Own, Replace,
    Rollback, Seal, SettledAs, Uninstall, Work,
};

use crate::diff::ObjectDiff;
use crate::dsf::state::{ReadyRule, WaitFor};
use crate::model::{ClusterIdentity, ObjectKey, ReleaseKey};

/// The decision about every release of a run, and the order to carry it out in.
#[derive(Debug)]
pub struct Plan {
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// The owner of the releases.
    pub context: String,
    /// Namespaces that are created or labelled first, by name.
    pub namespaces: Vec<NamespacePlan>,
    /// Every release, sorted by namespace and name.
    pub releases: Vec<ReleasePlan>,
    /// Releases with something to do, in layers: each release is in the first batch after all that it waits for.
    pub batches: Vec<Vec<ReleaseKey>>,
    /// The same releases in the same order, with what each of them waits for: it starts when that has ended.
    pub turns: Vec<Turn>,
    /// What was noticed and changes no decision.
    pub notes: Vec<String>,
    /// The namespace in which the lock of this context was kept last.
    pub lock_place: Option<String>,
}

/// What is done with a release.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// A first revision.
    Install,
    /// A new revision, in place.
    Upgrade,
    /// A new revision for which objects are deleted and created again: as many as there are permits in its work.
    Reinstall(Permits),
    /// What an interrupted run left is finished.
    Recover,
    /// A release that nobody owned is taken over.
    Adopt,
    /// It is removed.
    Uninstall,
    /// It stays, and belongs to nobody from now on.
    Orphan,
    /// Nothing, although something would have to be done.
    Blocked,
}

/// Proof that a release may be reinstalled: one permit for each object that is replaced was made. The permits
/// themselves are where they are used, in the steps.
#[derive(Debug, PartialEq, Eq)]
pub struct Permits {
    count: NonZeroUsize,
}

impl Permits {
    /// Returns how many objects are replaced.
    pub fn count(&self) -> usize {
        self.count.get()
    }

    /// Counts permits; nothing if there are none.
    fn of<'a>(permits: impl Iterator<Item = &'a Permit>) -> Option<Self> {
        NonZeroUsize::new(permits.count()).map(|count| Self { count })
    }
}

impl Action {
    /// Returns the name that reports use.
    pub fn name(&self) -> &'static str {
        match self {
            Action::None => "none",
            Action::Install => "install",
            Action::Upgrade => "upgrade",
            Action::Reinstall(_) => "reinstall",
            Action::Recover => "recover",
            Action::Adopt => "adopt",
            Action::Uninstall => "uninstall",
            Action::Orphan => "orphan",
            Action::Blocked => "blocked",
        }
    }

    /// Tells whether carrying the plan out does something for the release.
    pub fn is_change(&self) -> bool {
        !matches!(self, Action::None | Action::Blocked)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectAction {
    /// Nothing would be allowed.
    Blocked,
    /// It is deleted and created again.
    Replace,
    /// It is removed.
    Delete,
    /// It is created.
    Create,
    /// It exists without an owner and is taken over.
    Adopt,
    /// Fields change.
    Update,
    /// It is left where it is, although the release no longer has it.
    Keep,
    /// Nothing.
    None,
}

impl ObjectAction {
    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            ObjectAction::Blocked => "blocked",
            ObjectAction::Replace => "replace",
            ObjectAction::Delete => "delete",
            ObjectAction::Create => "create",
            ObjectAction::Adopt => "adopt",
            ObjectAction::Update => "update",
            ObjectAction::Keep => "keep",
            ObjectAction::None => "none",
        }
    }
}

/// The decision about an object.
#[derive(Debug)]
pub struct ObjectPlan {
    /// The object.
    pub key: ObjectKey,
    /// What is done with it.
    pub action: ObjectAction,
    /// Why; never empty.
    pub reasons: Vec<Reason>,
    /// What changes, masked; nothing where nothing changes or the server could not be asked.
    pub diff: Option<ObjectDiff>,
    /// What it was like, if it exists and something is done with it.
    pub live: Option<Live>,
    /// Warnings that the server gave for it in the dry run.
    pub warnings: Vec<String>,
    /// What has to be ready before it is applied, or gone before it is removed.
    pub after: Vec<ObjectKey>,
}

impl ObjectPlan {
    /// Tells whether carrying the plan out writes the object.
    pub fn is_applied(&self) -> bool {
        matches!(
            self.action,
            ObjectAction::Create | ObjectAction::Update | ObjectAction::Adopt | ObjectAction::Replace
        )
    }

    /// Returns the server's warnings with the object that each is about.
    pub fn told_warnings(&self) -> impl Iterator<Item = String> {
        self.warnings.iter().map(|text| format!("{}: {text}", self.key))
    }
}

/// What the server's dry run says about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simulation {
    /// The server would take it, or took the same before.
    Verified,
    /// The server would refuse it; the code of the first reason says how.
    Refused,
    /// Something of it is known only when it is applied.
    Unverified,
    /// The server would take the change and not make it.
    NoEffect,
}

impl ObjectPlan {
    /// Returns what the server says about the object; nothing where it was not asked.
    pub fn simulation(&self) -> Option<Simulation> {
        let has = |codes: &[&str]| self.reasons.iter().any(|reason| codes.contains(&reason.code()));
        let refused = self
            .reasons
            .iter()
            .any(|reason| matches!(reason, Reason::Immutable { .. } | Reason::RefusedByServer { .. }));
        match self.action {
            ObjectAction::Blocked => refused.then_some(Simulation::Refused),
            ObjectAction::Keep | ObjectAction::Delete => None,
            _ if has(&["unverified", "known-after-apply"]) => Some(Simulation::Unverified),
            _ if has(&["no-effect"]) => Some(Simulation::NoEffect),
            _ if has(&["already-gone", "ended-and-gone"]) => None,
            _ => Some(Simulation::Verified),
        }
    }
}

/// A chart's name and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartId {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

impl fmt::Display for ChartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// A hook that runs. Of a hook of the file, `kind` is `Command` or `Manifest`, and `name` what the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlan {
    /// When, such as `pre-upgrade`.
    pub event: String,
    /// The kind of its object.
    pub kind: String,
    /// The name of its object.
    pub name: String,
    /// What else is to be told of a hook of the file; nothing for one of the chart.
    pub file: Option<app_hooks::FileHook>,
}

/// The decision about a release.
#[derive(Debug)]
pub struct ReleasePlan {
    /// The release.
    pub key: ReleaseKey,
    /// Its entry in the file; nothing for a release that left the file.
    pub app: Option<String>,
    /// What is done.
    pub action: Action,
    /// Why, most important first; never empty.
    pub reasons: Vec<Reason>,
    /// The chart of the current revision.
    pub chart_from: Option<ChartId>,
    /// The chart of the next revision.
    pub chart_to: Option<ChartId>,
    /// The newest recorded revision.
    pub revision: Option<u64>,
    /// Releases that have to succeed before.
    pub needs: Vec<ReleaseKey>,
    /// Those of them that have to be ready, not only applied.
    pub waits_for: Vec<ReleaseKey>,
    /// Objects that have to be there, and ready, before it starts.
    pub wait_for: Vec<WaitFor>,
    /// When objects of some kinds are ready.
    pub ready: Vec<ReadyRule>,
    /// The hooks that run, in the order in which they are stored.
    pub hooks: Vec<HookPlan>,
    /// Its objects, in the order in which they are applied, then those that go or stay behind.
    pub objects: Vec<ObjectPlan>,
    /// Warnings that the server gave for its objects.
    pub warnings: Vec<String>,
    /// What was noticed about it and changes no decision.
    pub notes: Vec<String>,
    /// What execution does.
    pub work: Work,
}

impl ReleasePlan {
    /// Tells whether it is held back by a policy, a failure budget or somebody's rollback.
    pub fn is_held(&self) -> bool {
        self.action == Action::Blocked
            && matches!(
                self.reasons.first(),
                Some(
                    Reason::Held { .. }
                        | Reason::RolledBack { held: true, .. }
                        | Reason::BackingOff { .. }
                        | Reason::BeyondPolicy { .. }
                )
            )
    }

    /// Tells whether a rollback deletes broken pods of the failed revision.
    pub fn unsticks(&self) -> bool {
        matches!(&self.work, Work::Deploy(deploy) if deploy.rollback.as_ref().is_some_and(|back| back.unstick))
    }

    /// Returns the revision that is restored if the new one fails; nothing if it then stays as it is.
    pub fn rollback_to(&self) -> Option<u64> {
        match &self.work {
            Work::Deploy(deploy) => deploy.rollback.as_ref().map(|rollback| rollback.to),
            Work::Nothing
            | Work::Seal(_)
            | Work::GoBack(_)
            | Work::Uninstall(_)
            | Work::Disown(_)
            | Work::Own(_) => None,
        }
    }
}

impl Plan {
    /// Returns the decision about a release.
    pub fn release(&self, key: &ReleaseKey) -> Option<&ReleasePlan> {
        self.releases.iter().find(|release| release.key == *key)
    }

    /// Tells whether carrying the plan out changes anything.
    pub fn has_changes(&self) -> bool {
        !self.namespaces.is_empty() || self.releases.iter().any(|release| release.action.is_change())
    }

    /// Tells whether a release is held back, until its input changes or somebody says `--retry`.
    pub fn has_held(&self) -> bool {
        self.releases.iter().any(ReleasePlan::is_held)
    }

    /// Tells whether a guard refuses a release.
    pub fn has_blocked(&self) -> bool {
        self.releases.iter().any(|release| release.action == Action::Blocked && !release.is_held())
            || self.namespaces.iter().any(|namespace| namespace.refused.is_some())
    }
}

#[cfg(test)]
mod tests;
