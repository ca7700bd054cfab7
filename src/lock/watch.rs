//! A lock that somebody else holds, as it looks from here.

use std::time::Duration;

use super::Moment;
use super::object::{Sight, Version};

/// How a lock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody holds it.
    Free,
    /// Somebody holds it, and was silent for so long, as far as this was watched.
    Held {
        /// The silence that was observed.
        silence: Duration,
    },
    /// Its holder was silent for as long as it promised not to be.
    Silent,
}

/// Watches one lock on a clock of its own. What other machines wrote into the lock about time is never compared with
/// anything: only whether the object changed.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The version that was seen last, and when its first answer was here.
    seen: Option<(Version, Moment)>,
}

impl Watch {
    /// Takes in one look: the request was sent at `sent`, and its answer was here at `received`.
    ///
    /// The silence of a version counts from the arrival of its first answer to the sending of the last request: it was
    /// the current one during all of that time, wherever the answers were meanwhile.
    pub fn look(&mut self, sight: &Sight, sent: Moment, received: Moment) -> Standing {
        if sight.holder.is_empty() {
            self.seen = None;
            return Standing::Free;
        }
        let first = match &self.seen {
            Some((version, first)) if *version == sight.version => *first,
            _ => {
                self.seen = Some((sight.version.clone(), received));
                received
            }
        };
        let silence = sent.since(first);
        if silence >= Duration::from_secs(sight.seconds.into()) {
            Standing::Silent
        } else {
            Standing::Held { silence }
        }
    }

    /// Tells whether a version was seen before.
    pub fn knows(&self, version: &Version) -> bool {
        self.seen.as_ref().is_some_and(|(seen, _)| seen == version)
    }
}
