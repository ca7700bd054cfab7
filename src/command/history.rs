//! `statectl history`: the revisions of one release, as its records tell them. Needs no file.

use super::Ending;
use super::output::Outputs;
use super::prepare::{api_failure, connect_failure};
use crate::cluster::{self, ConnectOptions};
use crate::failure::{Failure, FailureClass};
use crate::history::{History, Record};
use crate::host::signals::{Signal, Stop};
use crate::model::ReleaseKey;
use crate::observe;
use crate::report::{self, RevisionRow};
use crate::text;

/// What is asked for.
pub struct Request {
    /// The release.
    pub release: ReleaseKey,
    /// How many of the newest revisions are shown.
    pub max: Option<usize>,
    /// The cluster.
    pub connect: ConnectOptions,
    /// Asks for the end.
    pub stop: Stop,
}

/// Shows the revisions, oldest first.
///
/// # Errors
/// The cluster or the records cannot be read, or there are none.
pub async fn run(request: &Request, outputs: &Outputs) -> Result<Ending, Failure> {
    tokio::select! {
        shown = show(request, outputs) => shown,
        signal = request.stop.wait() => {
            let signal: Signal = signal;
            Ok(Ending { signal: Some(signal), ..Ending::default() })
        }
    }
}

async fn show(request: &Request, outputs: &Outputs) -> Result<Ending, Failure> {
    let key = &request.release;
    let connection = cluster::connect(&request.connect).await.map_err(connect_failure)?;
    let unreachable =
        |error| api_failure(format!("the cluster {} cannot be used", connection.server), &error);
    let discovery = connection.reader.discover().await.map_err(unreachable)?;
    let identity = observe::identity(&connection, &discovery).await.map_err(unreachable)?;
    let mut histories = observe::histories(&connection.reader, [key.namespace.clone()]).await;
    let history = histories.take(key).map_err(|message| {
        Failure::new(FailureClass::Failed, format!("the records of {key} cannot be read")).cause(message)
    })?;
    let rows = rows(&history, request.max);
    if rows.is_empty() {
        let failure = Failure::new(FailureClass::Failed, format!("{key} has no record"));
        return Err(failure.hint("`statectl status FILE` shows what is installed"));
    }
    outputs.write(|_| table(&rows), || report::history_json(&identity, key, &rows))?;
    Ok(Ending::default())
}

fn rows(history: &History, max: Option<usize>) -> Vec<RevisionRow> {
    let decoded = history.records().iter().map(|record| row(history, record));
    let undecodable = history.undecodable().iter().map(|record| RevisionRow {
        revision: record.revision,
        status: "unreadable".to_owned(),
        description: record.why.to_string(),
        ..RevisionRow::default()
    });
    let mut rows: Vec<RevisionRow> = decoded.chain(undecodable).collect();
    rows.sort_by_key(|row| row.revision);
    let first = max.map_or(0, |max| rows.len().saturating_sub(max));
    rows.split_off(first)
}

fn row(history: &History, record: &Record) -> RevisionRow {
    let release = &record.release;
    let chart = release.chart.as_ref();
    let deployed = history.deployed().map(|record| record.release.version);
    RevisionRow {
        revision: release.version,
        status: release.info.status.to_string(),
        current: deployed == Some(release.version),
        chart: chart.map(|chart| format!("{}-{}", chart.name(), chart.version())),
        app_version: chart.map(|chart| chart.app_version().to_owned()).filter(|version| !version.is_empty()),
        updated: release.info.last_deployed.as_ref().map(ToString::to_string),
        description: release.info.description.clone(),
        context: record.context().map(str::to_owned),
        interrupted: record.was_interrupted(),
    }
}

fn table(rows: &[RevisionRow]) -> String {
    let head = ["REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION"];
    let dash = || "-".to_owned();
    let cells = rows.iter().map(|row| {
        let interrupted = if row.interrupted { " (was interrupted)" } else { "" };
        vec![
            row.revision.to_string(),
            row.updated.as_ref().map_or_else(dash, |time| time.chars().take(19).collect()),
            row.status.clone(),
            row.chart.clone().unwrap_or_else(dash),
            row.app_version.clone().unwrap_or_else(dash),
            format!("{}{interrupted}", row.description.lines().next().unwrap_or_default()),
        ]
    });
    let all: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).to_vec()).chain(cells).collect();
    text::table(&all)
}
