//! The clock.
#![expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]

use std::time::Duration;

use jiff::{Timestamp, Zoned};
use rustix::time::{ClockId, clock_gettime};

use crate::lock::Moment;

/// Returns the time now.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns the time now, in the zone of this machine.
pub fn now_local() -> Zoned {
    Zoned::now()
}

/// The clocks by which locks are held and watched. Neither can be set: what people and time servers do to the wall
/// clock does not reach them.
pub trait Clock: Send + Sync {
    /// The clock of a holder. It goes on while the machine sleeps, so that a holder that wakes up knows that its time
    /// is over.
    fn holding(&self) -> Moment;

    /// The clock of whoever watches somebody else's lock. It stands still while the machine sleeps, so that what could
    /// not be watched is not taken for silence.
    fn watching(&self) -> Moment;

    /// The time that people read in a lock. Nothing is decided by it.
    fn wall(&self) -> Timestamp {
        now()
    }
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn holding(&self) -> Moment {
        #[cfg(target_os = "linux")]
        let clock = ClockId::Boottime;
        // Elsewhere the monotonic clock is the one that goes on.
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::Monotonic;
        moment(clock)
    }

    fn watching(&self) -> Moment {
        moment(ClockId::Monotonic)
    }
}

fn moment(clock: ClockId) -> Moment {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Moment(Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_go_on_and_never_back() {
        let clock = SystemClock;
        let (held, watched) = (clock.holding(), clock.watching());
        std::thread::sleep(Duration::from_millis(20));
        for passed in [clock.holding().since(held), clock.watching().since(watched)] {
            assert!(passed >= Duration::from_millis(20) && passed < Duration::from_secs(20), "{passed:?}");
        }
        let watched = clock.watching();
        assert!(clock.holding() >= watched, "the holder's clock counts sleep, the watcher's does not");
    }
}
