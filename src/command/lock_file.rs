//! `statectl.lock`: which version of each chart a file means, and the digest that its archive has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::given::error_text;
use crate::failure::{Failure, FailureClass};
use crate::host::files;

const FORMAT: &str = "statectl.lock/v1";
const NAME: &str = "statectl.lock";
const HEAD: &str =
    "# Written by `statectl lock`. Each chart has this version and this digest, until it is written again.\n";

/// A lock file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockFile {
    format: String,
    #[serde(default, rename = "charts")]
    entries: Vec<Entry>,
}

/// A chart of a lock file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Where it comes from.
    pub(super) chart: String,
    /// The version or constraint of the desired-state file; empty for the newest.
    pub(super) wanted: String,
    /// The version that it means.
    pub(super) version: String,
    /// The SHA-256 of the archive.
    pub(super) sha256: String,
}

impl LockFile {
    /// Returns a lock file of these charts.
    pub(super) fn of(mut entries: Vec<Entry>) -> Self {
        entries.sort();
        entries.dedup();
        Self { format: FORMAT.to_owned(), entries }
    }

    /// Returns what is locked for a chart and what is asked of it.
    pub(super) fn entry(&self, chart: &str, wanted: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.chart == chart && entry.wanted == wanted)
    }

    /// Reads the lock file beside the first desired-state file, if it is there.
    ///
    /// # Errors
    /// It is there and is none.
    pub(super) fn beside(states: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let Some(path) = path_beside(states) else { return Ok(None) };
        if files::kind(&path) == files::PathKind::Missing {
            return Ok(None);
        }
        let bad = |why: String| {
            let message = format!("{}: the lock file cannot be read", path.display());
            Failure::new(FailureClass::Usage, message).cause(why).hint("write it anew: `statectl lock FILE`")
        };
        let text = files::read_text(&path).map_err(|error| bad(error_text(&error)))?;
        let lock: Self = toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))?;
        if lock.format != FORMAT {
            return Err(bad(format!("its format is `{}`, and this version reads {FORMAT}", lock.format)));
        }
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match lock.entries.iter().find(|entry| !is_digest(&entry.sha256)) {
            Some(entry) => Err(bad(format!("{}: `sha256` is no SHA-256", entry.chart))),
            None => Ok(Some(lock)),
        }
    }

    /// Writes the lock file; returns its path, and what changed in it: lines for people.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self, states: &[PathBuf]) -> Result<(PathBuf, Vec<String>), Failure> {
        let path = path_beside(states).ok_or_else(|| {
            Failure::new(FailureClass::Usage, "a lock file stands beside a desired-state file")
        })?;
        let before = Self::beside(states).ok().flatten().unwrap_or_default();
        let text = toml::to_string(self).map_err(|error| {
            Failure::new(FailureClass::Failed, format!("the lock file cannot be written: {error}"))
        })?;
        files::write_atomic(&path, format!("{HEAD}{text}").as_bytes())
            .map_err(|error| Failure::of("the lock file cannot be written", &error))?;
        Ok((path, self.changes(&before)))
    }

    fn changes(&self, before: &Self) -> Vec<String> {
        let by_key = |lock: &Self| -> BTreeMap<(String, String), Entry> {
            lock.entries
                .iter()
                .map(|entry| ((entry.chart.clone(), entry.wanted.clone()), entry.clone()))
                .collect()
        };
        let (was, is) = (by_key(before), by_key(self));
        let mut lines = Vec::new();
        for (key, entry) in &is {
            match was.get(key) {
                None => lines.push(format!("+ {} {}", entry.chart, entry.version)),
                Some(old) if old.version != entry.version => {
                    lines.push(format!("~ {} {} → {}", entry.chart, old.version, entry.version));
                }
                Some(old) if old.sha256 != entry.sha256 => {
                    lines.push(format!(
                        "~ {} {}: another digest under the same version",
                        entry.chart, entry.version
                    ));
                }
                Some(_) => {}
            }
        }
        lines.extend(
            was.iter()
                .filter(|(key, _)| !is.contains_key(*key))
                .map(|(_, old)| format!("- {} {}", old.chart, old.version)),
        );
        lines
    }
}

fn path_beside(states: &[PathBuf]) -> Option<PathBuf> {
    let first = states.first().filter(|path| path.as_os_str() != "-")?;
    Some(first.parent().unwrap_or(Path::new("")).join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_told() {
        let entry = |chart: &str, version: &str, digest: char| Entry {
            chart: chart.to_owned(),
            wanted: "^1".to_owned(),
            version: version.to_owned(),
            sha256: digest.to_string().repeat(64),
        };
        let before =
            LockFile::of(vec![entry("a", "1.0.0", 'a'), entry("b", "1.0.0", 'b'), entry("c", "1.0.0", 'c')]);
        let now =
            LockFile::of(vec![entry("a", "1.1.0", 'd'), entry("b", "1.0.0", 'e'), entry("n", "1.0.0", 'f')]);
        let expected = [
            "~ a 1.0.0 → 1.1.0",
            "~ b 1.0.0: another digest under the same version",
            "+ n 1.0.0",
            "- c 1.0.0",
        ];
        assert_eq!(now.changes(&before), expected);
        let folder = tempfile::tempdir().unwrap();
        let states = [folder.path().join("state.toml")];
        assert_eq!(LockFile::beside(&states).unwrap(), None);
        now.write(&states).unwrap();
        assert_eq!(LockFile::beside(&states).unwrap(), Some(now));
    }
}
