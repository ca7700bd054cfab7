//! Who may write: locks that end by silence, on instants that are passed in.
//!
//! A lock is an object of the cluster that its holder keeps changing. Whoever sees it unchanged for as long as the
//! holder promised, on a clock of its own, may take it over; no time that another machine wrote is ever compared.
//! The holder stops itself well before that: it starts no write after [`Hold`] says so, and every write carries a
//! deadline for the server. Knows no clock, no client and no printing.
//!
//! Source of the method: client-go `tools/leaderelection`, which says itself that it does not fence. What is different
//! here: versions are compared and not contents, a lock that was lost once stays lost, and the holder is a random name
//! of one process.

mod hold;
mod info;
mod job;
mod object;
mod times;
mod watch;

pub use hold::{Hold, Loss};
pub use info::{Info, LOCK_FORMAT};
pub use job::{job_url, run_number};
pub use object::{
    Kind, LOCK_LABEL, Name, SECRET_TYPE, Sight, Version, acquired_object, created_object, read,
    released_object, renewed_object,
};
pub use times::Times;
pub use watch::{Standing, Watch};

use std::fmt;
use std::time::Duration;

/// A moment on one clock: the time since an origin that only that clock knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Duration);

impl Moment {
    /// Returns the moment that is later by `time`.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// Returns the time since an earlier moment; nothing has passed if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
