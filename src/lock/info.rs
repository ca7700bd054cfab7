//! Who holds a lock, for people and for `statectl locks`.

use serde::{Deserialize, Serialize};

/// The version of the format. A lock with another one is never taken over: what its holder promised is not known.
pub const LOCK_FORMAT: &str = "statectl.lock/v1";

/// What a holder says about itself. Nothing of it decides anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Info {
    /// [`LOCK_FORMAT`].
    pub format: String,
    /// The random name of the process.
    pub id: String,
    /// `user@host`.
    pub who: String,
    /// The process, on that host.
    pub pid: u32,
    /// The CI job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The number of the run in CI: a higher one was started later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The version of statectl.
    pub version: String,
    /// The context of its file.
    pub context: String,
    /// What it does, such as `apply`.
    pub operation: String,
    /// When it began, by its own clock.
    pub started_at: String,
}

impl Info {
    /// Returns one line that names the holder.
    pub fn line(&self) -> String {
        let job = self.job.as_ref().map(|job| format!(", job {job}")).unwrap_or_default();
        format!(
            "{} (pid {}{job}), statectl {} {}, since {}",
            self.who, self.pid, self.version, self.operation, self.started_at
        )
    }
}
