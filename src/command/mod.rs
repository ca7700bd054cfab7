//! The verbs, one file each: resolve, observe, plan, show, execute, report.

pub mod affected;
mod app_hooks;
pub mod apply;
mod arrivals;
mod charts;
mod checkout;
mod ci;
mod cluster;
mod clusters;
pub mod config;
mod content;
pub mod convert;
pub mod diff;
pub mod doctor;
pub mod drift;
mod errors;
pub mod explain;
pub mod fmt;
mod given;
pub mod graph;
pub mod history;
pub mod import;
mod load;
pub mod lock;
mod lock_file;
mod locking;
pub mod locks;
mod moves;
mod notify;
mod observer;
mod output;
pub mod plan;
mod preflight;
mod prepare;
mod programs;
pub mod rbac;
pub mod reconcile;
pub mod recover;
mod recovery;
mod remote_secrets;
mod remote_values;
mod removals;
pub mod rollback;
pub mod runs;
mod saved;
pub mod schema;
mod secrets;
mod select;
mod sources;
pub mod status;
pub mod template;
pub mod test;
pub mod timings;
pub mod unlock;
pub mod validate;

pub use ci::ended as ci_ended;
pub use clusters::each;
pub use load::Files;
pub use output::{CHANGES, CHECKS, Format, Forms, MOST_BYTES, Outputs, RUNS, TESTS};
pub use prepare::{Chosen, Session};
pub use select::Selection;
pub use sources::Fetching;

use crate::ui::Style;

/// What every verb needs to know about the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// For stdout.
    pub out: Style,
    /// For stderr.
    pub err: Style,
    /// Whether progress on stderr may move the cursor.
    pub live: bool,
}

/// How a verb ended when nothing went wrong on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Changes are pending.
    pub changes: bool,
    /// A guard refuses at least one release.
    pub blocked: bool,
    /// Something that was tried did not work.
    pub failed: bool,
    /// Another run holds the lock of at least one release.
    pub locked: bool,
    /// Something is held back: outside of its window, or after too many failures.
    pub held: bool,
    /// The signal that ended the run.
    pub signal: Option<crate::host::signals::Signal>,
}

impl Ending {
    /// Returns how two parts of one run ended together.
    fn and(self, other: Self) -> Self {
        Self {
            changes: self.changes || other.changes,
            blocked: self.blocked || other.blocked,
            failed: self.failed || other.failed,
            locked: self.locked || other.locked,
            held: self.held || other.held,
            signal: self.signal.or(other.signal),
        }
    }
}
