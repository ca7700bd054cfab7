//! Why a release ended before its last step.

use super::LockError;
use crate::cluster::ApiError;
use crate::diff::sanitize_message;
use crate::execute::Outcome;
use crate::failure;
use crate::history::EncodeError;
use crate::host::signals::Signal;

/// A step that did not work.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A request failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A request about one object failed.
    #[error("{object}: {source}")]
    Object {
        /// The object.
        object: String,
        /// What the server said.
        source: ApiError,
    },
    /// The lock of the release is not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] EncodeError),
    /// The cluster is not as it was when the plan was made.
    #[error("{what}, so the plan no longer fits: plan again")]
    Stale {
        /// What moved.
        what: String,
    },
    /// An object, or a hook, ended in failure.
    #[error("{what}: {why}")]
    NotReady {
        /// The object.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something was not ready in time.
    #[error("{what} after {seconds} s: {why}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// How it stood at the end.
        why: String,
    },
    /// The run was asked to stop.
    #[error("interrupted by {}", signal.name())]
    Interrupted {
        /// The signal.
        signal: Signal,
    },
    /// The revision is deployed, and a test of it failed.
    #[error("revision {revision} is deployed, and its tests failed: {cause}")]
    TestFailed {
        /// The revision.
        revision: u64,
        /// Which test failed, and why.
        cause: Box<StepError>,
    },
    /// A failure, after which the last good revision was restored.
    #[error("{cause}; rolled back to revision {to}, which is revision {revision} now{rest}")]
    RolledBack {
        /// What failed.
        cause: Box<StepError>,
        /// The revision that was restored.
        to: u64,
        /// The revision that it is now.
        revision: u64,
        /// What stays of the failed revision.
        rest: String,
    },
    /// A failure, and the last good revision could not be restored either.
    #[error("{cause}; rolling back to revision {to} failed too: {second}")]
    RollbackFailed {
        /// What failed first.
        cause: Box<StepError>,
        /// The revision that was to be restored.
        to: u64,
        /// What failed then.
        second: Box<StepError>,
    },
    /// A failure, and the record could not be settled either.
    #[error("{first}; the record could not be marked failed either: {second}")]
    Twice {
        /// What went wrong first.
        first: Box<StepError>,
        /// Why the record still says pending.
        second: Box<StepError>,
    },
}

impl StepError {
    /// Returns an error about one object.
    pub(super) fn object(object: impl ToString, source: ApiError) -> Self {
        StepError::Object { object: object.to_string(), source }
    }

    /// Returns the text for records and reports, with its causes and without secret values.
    pub fn text(&self) -> String {
        let mut text = self.to_string();
        for cause in failure::chain(&text, std::error::Error::source(self)) {
            text = format!("{text}: {cause}");
        }
        sanitize_message(self.kind(), &text)
    }

    /// Tells whether restoring the last good revision may help: not when somebody else is at work, when the run was asked
    /// to stop, or when not even the record could be written.
    pub(super) fn can_be_rolled_back(&self) -> bool {
        match self {
            _ if self.is_lock_lost() => false,
            StepError::Api(_)
            | StepError::Object { .. }
            | StepError::NotReady { .. }
            | StepError::TimedOut { .. } => true,
            StepError::Record(_)
            | StepError::Lock(_)
            | StepError::TestFailed { .. }
            | StepError::Stale { .. }
            | StepError::Interrupted { .. }
            | StepError::RolledBack { .. }
            | StepError::RollbackFailed { .. }
            | StepError::Twice { .. } => false,
        }
    }

    /// Returns the kind that the text is about: of a Secret nothing is quoted.
    fn kind(&self) -> &str {
        match self {
            StepError::Object { object, .. } => object.split(' ').next().unwrap_or_default(),
            StepError::Twice { first, .. } => first.kind(),
            StepError::RolledBack { cause, .. }
            | StepError::RollbackFailed { cause, .. }
            | StepError::TestFailed { cause, .. } => cause.kind(),
            StepError::Api(_)
            | StepError::Lock(_)
            | StepError::Record(_)
            | StepError::Stale { .. }
            | StepError::NotReady { .. }
            | StepError::TimedOut { .. }
            | StepError::Interrupted { .. } => "",
        }
    }

    /// Tells whether the lock was lost: then not even the record may be touched.
    pub(super) fn is_lock_lost(&self) -> bool {
        match self {
            StepError::Api(source) | StepError::Object { source, .. } => {
                matches!(source, ApiError::Closed { .. })
            }
            StepError::Twice { first, second } => first.is_lock_lost() || second.is_lock_lost(),
            StepError::TestFailed { cause, .. } => cause.is_lock_lost(),
            StepError::RollbackFailed { second, .. } => second.is_lock_lost(),
            _ => false,
        }
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let message = self.text();
        match self {
            _ if self.is_lock_lost() => Outcome::LockLost { message },
            StepError::Lock(LockError::Held { .. } | LockError::Superseded { .. }) => {
                Outcome::Locked { message }
            }
            StepError::Lock(LockError::Interrupted { .. }) => Outcome::Interrupted { message },
            StepError::Lock(ref error) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                Outcome::Failed { message: format!("{message}{hint}") }
            }
            StepError::Stale { .. } => Outcome::Stale { message },
            StepError::Interrupted { .. } => Outcome::Interrupted { message },
            StepError::RolledBack { revision, .. } => Outcome::RolledBack { message, revision },
            StepError::Api(_)
            | StepError::Object { .. }
            | StepError::Record(_)
            | StepError::NotReady { .. }
            | StepError::TimedOut { .. }
            | StepError::TestFailed { .. }
            | StepError::RollbackFailed { .. }
            | StepError::Twice { .. } => Outcome::Failed { message },
        }
    }
}
