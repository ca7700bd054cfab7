//! `statectl lock`: writes down which versions the charts of a file have now, with their digests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::load::{self, Files, Look};
use super::lock_file::{Entry, LockFile};
use super::remote_secrets;
use super::secrets::Secrets;
use super::sources::Sources;
use super::{Console, Ending};
use crate::dsf::state::ChartSource;
use crate::failure::{Failure, FailureClass};
use crate::fetch;
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
    let secrets = Secrets::new(read.environment, state.settings.eyaml.clone(), files.allow_exec);
    let known = state.repositories.values();
    let secrets = remote_secrets::of_repositories(&secrets, environment, None, known).await;
    let sources = Sources::new(environment, &state.repositories, secrets, None, &files.fetching)
        .map_err(|why| Failure::new(FailureClass::Failed, "charts cannot be fetched").cause(why))?;
    let found = sources.fetch(state.releases.iter()).await;
    let local: BTreeSet<&PathBuf> = state
        .releases
        .iter()
        .filter_map(|release| match &release.chart.source {
            ChartSource::Local(path) => Some(path),
            _ => None,
        })
        .collect();
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
    for path in local {
        // What is wrong with a chart is told by `validate` and `plan`.
        let Ok(chart) = fetch::dir::load_within(path, read.roots.as_deref()) else { continue };
        match sources.dependencies(path, &chart, read.roots.as_deref()).await {
            Ok(found) => entries.extend(found.into_iter().filter_map(|(_, entry)| entry)),
            Err(why) => {
                let all = failure
                    .unwrap_or_else(|| Failure::new(FailureClass::Failed, "the lock file is not written"));
                failure = Some(all.cause(format!("the chart {} cannot be completed: {why}", path.display())));
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
