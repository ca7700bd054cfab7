//! A lock that is held: until when, and what ends it.

use std::fmt;
use std::time::Duration;

use super::object::{Sight, Version};
use super::{Moment, Times};

/// Why a lock is no longer held. It never comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It could not be renewed in time: the process stood still, or the server was out of reach.
    TooLate,
    /// Somebody else has it; who, if they say.
    TakenBy(String),
    /// It is not there any more, or another one is in its place.
    Gone,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::TooLate => f.write_str("it could not be renewed in time"),
            Loss::TakenBy(who) if who.is_empty() => f.write_str("somebody else has it"),
            Loss::TakenBy(who) => write!(f, "{who} has it"),
            Loss::Gone => f.write_str("it was removed"),
        }
    }
}

/// The state of a held lock.
#[derive(Clone, Debug)]
pub struct Hold {
    times: Times,
    holder: String,
    version: Version,
    seq: u64,
    until: Moment,
    /// When the renewal under way was sent first: as long as its outcome is not known, it may have been carried out
    /// then, and its time counts from there.
    sent: Option<Moment>,
    lost: Option<Loss>,
}

impl Hold {
    /// A lock that was acquired by a request that was sent at `sent` and stored as `version`.
    pub fn new(times: Times, holder: &str, sent: Moment, version: Version, seq: u64) -> Self {
        let until = sent.plus(times.renew_within);
        Self { times, holder: holder.to_owned(), version, seq, until, sent: None, lost: None }
    }

    /// Returns the version to renew or release.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Begins a renewal: returns the version to replace, and the number that the renewal carries. It is another number
    /// each time, so that a renewal changes the object even where every clock stands still.
    ///
    /// # Errors
    /// The lock is lost.
    pub fn begin(&mut self, now: Moment) -> Result<(Version, u64), Loss> {
        self.may_write(now)?;
        self.sent.get_or_insert(now);
        Ok((self.version.clone(), self.seq + 1))
    }

    /// Returns why the lock is lost, if it is.
    pub fn lost(&self) -> Option<&Loss> {
        self.lost.as_ref()
    }

    /// Returns the deadline for the server if a write may be started now.
    ///
    /// # Errors
    /// The lock is lost. Being too late once is for ever: meanwhile somebody else may have had it.
    pub fn may_write(&mut self, now: Moment) -> Result<Duration, Loss> {
        if self.lost.is_none() && now >= self.until {
            self.lost = Some(Loss::TooLate);
        }
        match &self.lost {
            Some(loss) => Err(loss.clone()),
            None => Ok(self.times.write),
        }
    }

    /// The renewal was stored as `version` by a request that was sent at `sent`.
    pub fn renewed(&mut self, sent: Moment, version: Version) {
        if self.lost.is_none() && version.uid == self.version.uid {
            self.version = version;
            self.seq += 1;
            self.until = self.until.max(sent.plus(self.times.renew_within));
            self.sent = None;
        }
    }

    /// What the lock says after a renewal whose outcome is not known, or which was refused because the lock has
    /// changed. A renewal of our own whose answer was lost is recognised by its number.
    pub fn found(&mut self, found: Option<&Sight>) {
        if self.lost.is_some() {
            return;
        }
        match found {
            Some(sight) if sight.version.uid == self.version.uid && sight.holder == self.holder => {
                match self.sent {
                    Some(sent) if sight.seq == self.seq + 1 => self.renewed(sent, sight.version.clone()),
                    _ if sight.seq == self.seq => {}
                    _ => self.lost = Some(Loss::TakenBy(String::new())),
                }
            }
            Some(sight) if sight.version.uid == self.version.uid || !sight.holder.is_empty() => {
                self.lost = Some(Loss::TakenBy(sight.who()));
            }
            Some(_) | None => self.lost = Some(Loss::Gone),
        }
    }
}
