//! What stands before each write: somebody who knows whether it may still be started.

use std::time::Duration;

use futures::future::BoxFuture;

/// How long one write may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// After this time the server gives up. It counts from the arrival of the request, and does not undo what the
    /// database already has: a write without an answer may have happened all the same.
    pub server: Duration,
    /// After this time its answer is not waited for any more, and the connection is closed.
    pub answer: Duration,
}

impl Deadline {
    /// Of a write that nobody else waits for: the server's own limit for admission webhooks.
    pub const UNHURRIED: Deadline =
        Deadline { server: Duration::from_secs(30), answer: Duration::from_secs(32) };
}

/// Why nothing may be written any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Closed(pub String);

/// Tells whether a write may be started.
pub trait Gate: Send + Sync {
    /// Returns how long a write that is started now may take.
    ///
    /// # Errors
    /// None may be started any more.
    fn pass(&self) -> Result<Deadline, Closed>;

    /// Makes sure of it where it is kept, before something is destroyed: clocks may have stood still.
    fn renew(&self) -> BoxFuture<'_, Result<(), Closed>>;

    /// A write of something ended without a word of what became of it.
    fn doubt(&self, what: &str);

    /// A later write of the same had an answer: whatever became of the earlier one, it is over.
    fn settle(&self, what: &str);
}
