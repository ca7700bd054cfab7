//! The times of a lock, all derived from one.

use std::time::Duration;

/// How long each thing may take, for one lease duration.
///
/// `renew_within + write + margin` is never more than `lease`: a write that was started at the last permitted moment
/// is over, on the server's clock, before anybody may take the lock over. The margin is for clocks that run at
/// different rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Silence after which the holder counts as dead.
    pub lease: Duration,
    /// How long after a renewal was sent the holder may still start a write.
    pub renew_within: Duration,
    /// Between two renewals, and between two looks at a lock that somebody else holds.
    pub retry: Duration,
    /// The deadline that the server gets with each write.
    pub write: Duration,
    /// What is left.
    pub margin: Duration,
}

impl Times {
    /// Returns the times of a lease of this duration. For the usual 30 s: 18, 4, 10 and 2 s.
    pub fn of(lease: Duration) -> Self {
        let part = |thirtieths: u32| lease * thirtieths / 30;
        let (renew_within, write) = (part(18), part(10));
        Self {
            lease,
            renew_within,
            retry: part(4),
            write,
            margin: lease.saturating_sub(renew_within).saturating_sub(write),
        }
    }

    /// Returns the lease in whole seconds, as lock objects state it: never less than it is.
    pub fn lease_seconds(&self) -> u32 {
        let whole = self.lease.as_secs() + u64::from(self.lease.subsec_nanos() > 0);
        u32::try_from(whole.max(1)).unwrap_or(u32::MAX)
    }

    /// Returns how long an answer is waited for: the server has given up before.
    pub fn answer(&self) -> Duration {
        self.write + self.margin / 2
    }
}
