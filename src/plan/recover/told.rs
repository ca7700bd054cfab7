//! What is told about an interrupted operation.

use std::fmt;

use super::{Act, Row, entry};
use crate::model::ReleaseKey;

/// An operation that did not come to its end, and the row of the table that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The row.
    pub row: Row,
    /// What is done.
    pub act: Act,
    /// The release.
    pub release: ReleaseKey,
    /// The revision that it left.
    pub revision: u64,
    /// The state of that revision.
    pub status: String,
    /// Since when, as the record says.
    pub since: String,
    /// Who did it.
    pub by: String,
    /// What it was about to do.
    pub step: Option<String>,
    /// The controller that manages the release.
    pub controller: Option<String>,
    /// Who holds the lock of the release, as it says.
    pub holder: Option<String>,
}

impl Interrupted {
    /// Returns what gets past it, where nothing is done by itself.
    pub(crate) fn remedy(&self) -> Option<String> {
        let unlock = format!("`statectl unlock {} --revision {}`", self.release, self.revision);
        match (self.row, self.act) {
            (Row::R0, _) => Some(
                "every run of a file has to have the same `settings.lock`; wait until that run ends, or remove its lock if \
                 its process is gone"
                    .to_owned(),
            ),
            (Row::R2, _) => Some(format!(
                "wait until it ends, or until `settings.foreignPendingAfter` has passed; if its process is gone, {unlock}"
            )),
            (Row::R3, _) => Some("change the release where that controller takes it from".to_owned()),
            (Row::R21, _) => Some("find out what interrupts it; then add `--retry`".to_owned()),
            (_, Act::Refuse) => Some(format!("write `settings.recover = \"auto\"`, or settle it: {unlock}")),
            _ => None,
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = entry(self.row);
        let Self { revision, status, since, .. } = self;
        write!(f, "revision {revision} is {status} since {since}: {}", entry.when)?;
        if !self.by.is_empty() {
            write!(f, " (written by {})", self.by)?;
        }
        if let Some(step) = &self.step {
            write!(f, "; it was about to {step}")?;
        }
        if let Some(controller) = &self.controller {
            write!(f, "; managed by {controller}")?;
        }
        if let Some(holder) = &self.holder {
            write!(f, "; its lock says: {holder}")?;
        }
        match self.act {
            Act::Wait | Act::Refuse => Ok(()),
            _ => write!(f, "; {} ({})", entry.does, entry.id),
        }
    }
}
