//! `statectl status`: what the records say.

use super::output::Outputs;
use super::{Console, Ending, Session};
use crate::failure::Failure;
use crate::history::History;
use crate::model::ReleaseKey;
use crate::observe;
use crate::report::{self, StatusRow};
use crate::text;

/// Shows the newest record of each release of the file.
pub async fn run(session: &Session, _console: Console, outputs: &Outputs) -> Result<Ending, Failure> {
    session.until_stopped(show(session, outputs)).await
}

async fn show(session: &Session, outputs: &Outputs) -> Result<Ending, Failure> {
    let loaded = session.load()?;
    let cluster = session.open(&loaded.state).await?;
    let namespaces: std::collections::BTreeSet<String> =
        loaded.selected.iter().map(|key| key.namespace.clone()).collect();
    let mut histories = observe::histories(&cluster.reader, namespaces).await;
    let mut failed = false;
    let mut rows = Vec::new();
    for key in &loaded.selected {
        let history = histories.take(key);
        failed |= history.is_err();
        rows.push(match history {
            Ok(history) => row(key, &history),
            Err(message) => StatusRow { description: message, ..empty(key, "unreadable") },
        });
    }
    let context = &loaded.state.context;
    outputs.write(|_| table(&rows), || report::status_json(&cluster.identity, context, &rows))?;
    Ok(Ending { failed, ..Ending::default() })
}

fn empty(key: &ReleaseKey, status: &str) -> StatusRow {
    StatusRow {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        status: status.to_owned(),
        revision: None,
        chart: None,
        updated: None,
        description: String::new(),
        context: None,
    }
}

fn row(key: &ReleaseKey, history: &History) -> StatusRow {
    let Some(latest) = history.latest() else { return empty(key, "not-installed") };
    let release = &latest.release;
    StatusRow {
        status: release.info.status.to_string(),
        revision: Some(release.version),
        chart: release.chart.as_ref().map(|chart| format!("{}-{}", chart.name(), chart.version())),
        updated: release.info.last_deployed.as_ref().map(ToString::to_string),
        description: release.info.description.clone(),
        context: latest.context().map(str::to_owned),
        ..empty(key, "")
    }
}

fn table(rows: &[StatusRow]) -> String {
    let head =
        ["RELEASE", "STATUS", "REVISION", "CHART", "UPDATED", "DESCRIPTION"].map(str::to_owned).to_vec();
    let dash = || "-".to_owned();
    let cells = rows.iter().map(|row| {
        vec![
            format!("{}/{}", row.namespace, row.name),
            row.status.clone(),
            row.revision.map_or_else(dash, |revision| revision.to_string()),
            row.chart.clone().unwrap_or_else(dash),
            row.updated.as_ref().map_or_else(dash, |time| time.chars().take(19).collect()),
            row.description.lines().next().unwrap_or_default().to_owned(),
        ]
    });
    let all: Vec<Vec<String>> = std::iter::once(head).chain(cells).collect();
    text::table(&all)
}
