//! What happens during a run, told as it happens. The only thing between doing and showing.

use crate::model::ReleaseKey;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the variant says")]
pub enum Event {
    /// A namespace was created or its labels were set.
    NamespaceApplied { name: String },
    /// The first release of a batch starts, maybe while slow ones of earlier batches still run; `index` counts from 0.
    BatchStarted { index: usize, batches: usize, releases: usize },
    /// Work on a release starts.
    ReleaseStarted { key: ReleaseKey, action: &'static str },
    /// A release is in this phase now.
    Entered { key: ReleaseKey, phase: Phase },
    /// The server warned about an object.
    Warned { key: ReleaseKey, text: String },
    /// What a hook, or a test, said last; without secret values.
    HookLog { key: ReleaseKey, hook: String, text: String },
    /// Something of the work on a release is not as usual.
    Noted { key: ReleaseKey, text: String },
    /// A release is done with, one way or the other. Exactly one for each release that has something to do.
    ReleaseEnded { key: ReleaseKey, outcome: Outcome },
}

/// Where a release stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the variant says")]
pub enum Phase {
    /// Somebody else holds the lock of the release.
    Locked { holder: String },
    /// The record of the new revision is written.
    Recording { revision: u64 },
    /// A hook runs.
    Hook { event: String, name: String },
    /// Object `number` of `total` is applied.
    Applying { object: String, number: usize, total: usize },
    /// An object is deleted to be created again.
    Replacing { object: String },
    /// Readiness is waited for; the first objects that are not ready.
    Waiting { ready: usize, total: usize, on: Vec<WaitingOn> },
    /// An object is removed.
    Removing { object: String },
    /// The last good revision is restored.
    RollingBack { to: u64 },
    /// The record is settled.
    Finishing,
}

/// An object that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingOn {
    /// The object.
    pub object: String,
    /// What is missing.
    pub why: String,
    /// For how long that has been so, as far as the run has seen.
    pub seconds: u64,
}

/// How a release ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the variant says")]
pub enum Outcome {
    /// There was nothing to do.
    Unchanged,
    /// A guard refused it at plan time.
    Blocked,
    /// The new revision is deployed.
    Deployed { revision: u64 },
    /// It is gone.
    Uninstalled,
    /// It stays, and belongs to nobody.
    Orphaned,
    /// It stays, and belongs to this file.
    Adopted,
    /// Something did not work.
    Failed { message: String },
    /// Something did not work, and the last good revision was restored.
    RolledBack { message: String, revision: u64 },
    /// What was planned no longer fits; nothing more was done.
    Stale { message: String },
    /// Another run holds its lock, and was waited for long enough. It was not started.
    Locked { message: String },
    /// The lock was lost while it was under way; nothing more was written.
    LockLost { message: String },
    /// It was not started.
    Skipped { because: String },
    /// It was not started: what it waits for outside of this run was not there, or not ready, in time.
    Waiting { on: String },
    /// The run was ended while it was under way.
    Interrupted { message: String },
}

impl Outcome {
    /// Tells whether a release that needs this one may start.
    pub fn is_good(&self) -> bool {
        matches!(self, Outcome::Unchanged | Outcome::Deployed { .. } | Outcome::Adopted)
    }

    /// Tells whether something that was tried did not work.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Outcome::Failed { .. }
                | Outcome::RolledBack { .. }
                | Outcome::Stale { .. }
                | Outcome::LockLost { .. }
                | Outcome::Interrupted { .. }
        )
    }

    /// Tells whether the release is not as desired, for a reason that the plan did not know.
    pub fn is_unfinished(&self) -> bool {
        self.is_failure() || matches!(self, Outcome::Waiting { .. })
    }

    /// Returns the rest of a sentence that begins with the release.
    pub fn predicate(&self) -> &'static str {
        match self {
            Outcome::Unchanged => "is unchanged",
            Outcome::Blocked => "is blocked",
            Outcome::Deployed { .. } => "is deployed",
            Outcome::Uninstalled => "is uninstalled",
            Outcome::Orphaned => "belongs to nobody",
            Outcome::Adopted => "belongs to this file",
            Outcome::Failed { .. } => "failed",
            Outcome::RolledBack { .. } => "failed and was rolled back",
            Outcome::Stale { .. } => "is not as it was planned",
            Outcome::Locked { .. } => "is locked",
            Outcome::LockLost { .. } => "lost its lock",
            Outcome::Skipped { .. } => "was skipped",
            Outcome::Waiting { .. } => "waits",
            Outcome::Interrupted { .. } => "was interrupted",
        }
    }

    /// Returns the closed state as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Unchanged => "unchanged",
            Outcome::Blocked => "blocked",
            Outcome::Deployed { .. } => "deployed",
            Outcome::Uninstalled => "uninstalled",
            Outcome::Orphaned => "orphaned",
            Outcome::Adopted => "adopted",
            Outcome::Failed { .. } => "failed",
            Outcome::RolledBack { .. } => "rolled-back",
            Outcome::Stale { .. } => "stale",
            Outcome::Locked { .. } => "locked",
            Outcome::LockLost { .. } => "lock-lost",
            Outcome::Skipped { .. } => "skipped",
            Outcome::Waiting { .. } => "waiting",
            Outcome::Interrupted { .. } => "interrupted",
        }
    }
}
