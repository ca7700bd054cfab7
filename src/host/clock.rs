//! The clock.
#![expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]

use jiff::{Timestamp, Zoned};

/// Returns the time now.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns the time now, in the zone of this machine.
pub fn now_local() -> Zoned {
    Zoned::now()
}
