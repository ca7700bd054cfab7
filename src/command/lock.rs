//! `statectl lock`: writes down which versions the charts of a file have now, with their digests.

use std::collections::BTreeMap;

use super::load::{self, Files, Look};
use super::lock_file::{Entry, LockFile};
use super::sources::Sources;
use super::{Console, Ending};
use crate::failure::{Failure, FailureClass};
use crate::ui;

/// Runs the verb.
///
/// # Errors
/// A chart cannot be had, or the file cannot be written.
pub async fn run(
    files: &Files,
    environment: &BTreeMap<String, String>,
    console: Console,
) -> Result<Ending, Failure> {
    let read = files.read(environment, Look { check_only: true, skip_charts: true })?;
    let loaded = read.loaded.map_err(|problems| load::refused(&problems))?;
    let state = &loaded.state;
    // What is locked already does not matter: each chart is asked for anew.
    let sources = Sources::new(environment, &state.repositories, None, &files.fetching)
        .map_err(|why| Failure::new(FailureClass::Failed, "charts cannot be fetched").cause(why))?;
    let found = sources.fetch(state.releases.iter()).await;
    let mut entries = Vec::new();
    let mut failure: Option<Failure> = None;
    for (asked, found) in &found {
        match (found, sources.entry(asked)) {
            (Ok(found), Some((chart, wanted))) => entries.push(Entry {
                chart,
                wanted,
                version: found.chart.metadata.version.clone(),
                sha256: found.sha256.clone(),
            }),
            (Ok(_), None) => {}
            (Err(why), _) => {
                let all = failure
                    .unwrap_or_else(|| Failure::new(FailureClass::Failed, "the lock file is not written"));
                failure = Some(all.cause(why.clone()));
            }
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let lock = LockFile::of(entries);
    let (path, changes) = lock.write(&files.states)?;
    let mut text: String = changes.iter().map(|line| format!("{line}\n")).collect();
    let what = if changes.is_empty() { "nothing changed" } else { "written" };
    text.push_str(&console.out.bold(&format!("{}: {what}", path.display())));
    text.push('\n');
    ui::result(&text);
    Ok(Ending { changes: !changes.is_empty(), ..Ending::default() })
}
