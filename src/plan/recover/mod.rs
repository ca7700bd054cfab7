//! What is done about an operation that did not come to its end: the decision table.
//!
//! [`TABLE`] is the table as data, [`decide`] the one function from what is known to a row of it. Pure and total: there
//! is a row for everything that can be known. Two rules stand above all rows: no record is deleted, and nothing is
//! uninstalled because something was interrupted.
//!
//! Source of the states that an interrupted Helm leaves: Helm `pkg/action/{install,upgrade,rollback,uninstall}.go`, and
//! what both Helms were seen to leave when they were killed at each of their writes.

mod table;
mod told;

pub use table::{Entry, Row, TABLE, entry};
pub use told::Interrupted;

use std::time::Duration;

use crate::dsf::state::{OnInterrupted, Patience, Recover};
use crate::history::Status;

/// What a lock says about the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockSight {
    /// It was not looked at: whoever carries the plan out has to hold it first.
    NotAsked,
    /// Nobody holds it, we do, or its holder was silent for as long as it promised not to be.
    Ours,
    /// Somebody holds it, and renewed it while it was watched.
    Live {
        /// The holder.
        holder: String,
    },
    /// It cannot be read or written.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// The newest record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Its revision.
    pub revision: u64,
    /// Its state.
    pub status: Status,
    /// Whether it still carries the marks of an operation of statectl: no other tool has written it since.
    pub ours: bool,
    /// How long ago it was written, by the server's clock; nothing where that is not known.
    pub age: Option<Duration>,
    /// Which controller writes the records of this release, if one does.
    pub controller: Option<String>,
}

/// What the records say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The newest one; nothing if there is none.
    pub latest: Option<Latest>,
    /// Whether it can be decoded, and its namespace stays.
    pub readable: bool,
    /// How many say deployed.
    pub deployed: usize,
    /// Whether the one before the newest was replaced, and not by a failure.
    pub previous_superseded: bool,
    /// Whether older ones say pending.
    pub older_pending: bool,
    /// How many of the newest ones were interrupted with the same desired state, one after the other.
    pub interrupted: usize,
}

impl Default for Records {
    /// None.
    fn default() -> Self {
        Self {
            latest: None,
            readable: true,
            deployed: 0,
            previous_superseded: false,
            older_pending: false,
            interrupted: 0,
        }
    }
}

/// What the cluster holds of the interrupted revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// None of its objects.
    None,
    /// Some or all of them.
    Some,
    /// At least one of them belongs to something else.
    NotOurs,
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The release should exist.
    Present {
        /// Every object is as desired, and nothing is left to remove.
        as_desired: bool,
        /// The interrupted revision was made from the same chart and values.
        same_input: bool,
        /// Each hook of its operation is recorded as done.
        hooks_done: bool,
        /// Every object of the interrupted revision is as that one says.
        was_complete: bool,
    },
    /// It should go.
    Absent,
}

/// What the file says about interrupted operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether they are recovered from.
    pub recover: Recover,
    /// After which time a pending record of another tool counts as left behind.
    pub foreign_pending_after: Patience,
    /// What is done where it cannot be proven that everything was done.
    pub on_interrupted: OnInterrupted,
    /// Whether the number of attempts does not matter.
    pub retry: bool,
    /// Whether a record that is taken over from another tool is made immutable.
    pub fence_taken_over: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            recover: Recover::Auto,
            foreign_pending_after: Patience::Forever,
            on_interrupted: OnInterrupted::RollForward,
            retry: false,
            fence_taken_over: false,
        }
    }
}

/// Everything that a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The lock of the release.
    pub lock: LockSight,
    /// Its records.
    pub records: Records,
    /// Its objects.
    pub objects: Objects,
    /// What is wanted.
    pub wanted: Wanted,
    /// What the file says.
    pub settings: Settings,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing is to be recovered from: the ordinary plan.
    Plan,
    /// Nothing yet: somebody may be at work.
    Wait,
    /// Nothing, until a person has looked.
    Refuse,
    /// The record is marked failed, and a new revision is installed.
    Install,
    /// The record is marked failed, and the ordinary plan is carried out from what is there.
    RollForward,
    /// The record is marked failed, and the last good revision is restored.
    RollBack,
    /// The record is marked deployed: only that was missing.
    Seal,
    /// The record is marked deployed, and the ordinary plan is carried out after it.
    SealFirst,
    /// The uninstall goes on.
    Resume,
}

/// The row that fits, and what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The row; nothing where nothing was interrupted and nothing is odd.
    pub row: Option<Row>,
    /// What is done.
    pub act: Act,
}

/// After how many interrupted attempts with the same desired state a person has to look.
pub const MOST_ATTEMPTS: usize = 3;

/// Returns the row of the table that fits.
///
/// The order matters: what comes earlier makes everything below it untrustworthy.
pub fn decide(facts: &Facts) -> Verdict {
    let verdict = |row, act| Verdict { row: Some(row), act };
    let Facts { records, settings, .. } = facts;
    if !records.readable {
        return verdict(Row::R19, Act::Refuse);
    }
    let Some(latest) = &records.latest else {
        return match facts.objects {
            Objects::Some => verdict(Row::R18, Act::Plan),
            Objects::None | Objects::NotOurs => Verdict { row: None, act: Act::Plan },
        };
    };
    if matches!(latest.status, Status::Unknown | Status::Other(_)) {
        return verdict(Row::R19, Act::Refuse);
    }
    match &facts.lock {
        LockSight::Unreadable { .. } => return verdict(Row::R1, Act::Refuse),
        LockSight::Live { .. } => return verdict(Row::R0, Act::Wait),
        LockSight::NotAsked | LockSight::Ours => {}
    }
    let under_way = latest.status.is_pending() || latest.status == Status::Uninstalling;
    if !under_way {
        return settled(facts, latest);
    }
    if latest.controller.is_some() {
        return verdict(Row::R3, Act::Refuse);
    }
    if !latest.ours && !is_over(latest.age, settings.foreign_pending_after) {
        return verdict(Row::R2, Act::Wait);
    }
    let row = interrupted(facts, latest);
    if settings.recover != Recover::Auto {
        return Verdict { act: Act::Refuse, ..row };
    }
    if records.interrupted >= MOST_ATTEMPTS
        && !settings.retry
        && !matches!(row.act, Act::Seal | Act::SealFirst | Act::Resume)
    {
        return verdict(Row::R21, Act::Refuse);
    }
    row
}

/// Tells whether a pending record of another tool counts as left behind. One whose age is not known does not.
fn is_over(age: Option<Duration>, patience: Patience) -> bool {
    match patience {
        Patience::Forever => false,
        Patience::For(time) => age.is_some_and(|age| age >= time),
    }
}

/// Nothing was interrupted; the records may be odd all the same.
fn settled(facts: &Facts, latest: &Latest) -> Verdict {
    let Facts { records, .. } = facts;
    let row = match &latest.status {
        _ if records.deployed > 1 => Some(Row::R17),
        Status::Failed if records.deployed == 1 => Some(Row::R14),
        Status::Failed => Some(Row::R15),
        Status::Superseded if records.deployed == 0 => Some(Row::R16),
        _ if records.older_pending => Some(Row::R20),
        _ => None,
    };
    Verdict { row, act: Act::Plan }
}

/// An operation was interrupted, and nobody is at work on it any more.
fn interrupted(facts: &Facts, latest: &Latest) -> Verdict {
    let verdict = |row, act| Verdict { row: Some(row), act };
    let Facts { records, settings, .. } = facts;
    let Wanted::Present { as_desired, same_input, hooks_done, was_complete } = facts.wanted else {
        return verdict(Row::R13, Act::Resume);
    };
    if facts.objects == Objects::NotOurs {
        return verdict(Row::R6, Act::Refuse);
    }
    if latest.status == Status::Uninstalling {
        return verdict(Row::R12, Act::RollForward);
    }
    let complete = as_desired && same_input;
    if latest.status == Status::PendingInstall && records.deployed == 0 {
        return match facts.objects {
            _ if complete && hooks_done => verdict(Row::R7, Act::Seal),
            Objects::None => verdict(Row::R4, Act::Install),
            Objects::Some | Objects::NotOurs => verdict(Row::R5, Act::Install),
        };
    }
    // The old revision is marked superseded after the last hook, and only then: by Helm before the new one is marked
    // deployed, and a failed rollback leaves a deployed one.
    let superseded = records.deployed == 0 && records.previous_superseded;
    if complete && (hooks_done || superseded) {
        return verdict(Row::R10, Act::Seal);
    }
    // Whatever the file says by now: that revision came to its end.
    if superseded && was_complete {
        return verdict(Row::R10, Act::SealFirst);
    }
    let is_upgrade = latest.status == Status::PendingUpgrade;
    if settings.on_interrupted == OnInterrupted::Rollback && records.deployed > 0 && is_upgrade {
        return verdict(Row::R9b, Act::RollBack);
    }
    if latest.status == Status::PendingRollback {
        return verdict(Row::R11, Act::RollForward);
    }
    match facts.objects {
        Objects::None => verdict(Row::R8, Act::RollForward),
        Objects::Some | Objects::NotOurs => verdict(Row::R9, Act::RollForward),
    }
}

#[cfg(test)]
mod tests;
