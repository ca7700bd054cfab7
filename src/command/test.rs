//! `statectl test`: runs the tests of deployed releases.

use std::collections::BTreeSet;

use super::locking::Locking;
use super::output::Outputs;
use super::{Console, Ending, Session};
use crate::cluster::Writer;
use crate::execute::{self, Event, Testable, Tested};
use crate::failure::Failure;
use crate::history::Status;
use crate::observe;
use crate::report;
use crate::text;
use crate::ui::{self, progress::Progress};

/// Runs the tests of the selected releases and shows how they ended.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    parallel: Option<usize>,
    logs: bool,
) -> Result<Ending, Failure> {
    let work = async {
        let loaded = session.load()?;
        let cluster = session.open(&loaded.state).await?;
        let namespaces: BTreeSet<String> = loaded.selected.iter().map(|key| key.namespace.clone()).collect();
        let histories = observe::histories(&cluster.reader, namespaces).await;
        Ok((loaded, cluster, histories))
    };
    let (loaded, cluster, mut histories) = session.until_stopped(work).await?;
    let mut testable = Vec::new();
    let mut unfit = Vec::new();
    for release in loaded.state.releases.iter().filter(|release| loaded.selected.contains(&release.key)) {
        let why = match histories.take(&release.key) {
            Err(message) => format!("its records cannot be read: {message}"),
            Ok(history) => match history.latest() {
                Some(latest) if latest.context() != Some(loaded.state.context.as_str()) => {
                    format!("it does not belong to context `{}`", loaded.state.context)
                }
                Some(latest) if latest.release.info.status == Status::Deployed => {
                    testable.push(Testable { record: latest.clone(), timeout: release.timeout });
                    continue;
                }
                Some(latest) => format!("it is {}, not deployed", latest.release.info.status),
                None if release.enabled => "it is not installed".to_owned(),
                None => continue,
            },
        };
        unfit.push(Tested { key: release.key.clone(), tests: Vec::new(), failure: Some(why) });
    }
    let writer = Writer::new(cluster.reader.clone());
    let locking = Locking::of(session, &loaded, &writer, "test", None);
    let progress = Progress::new(console.err, console.live);
    let show = |event: Event| {
        outputs.event(&event);
        progress.show(&event);
    };
    let run = execute::Run {
        writer: &writer,
        locks: locking.locks(),
        discovery: cluster.discovery,
        parallel: parallel.unwrap_or(loaded.state.settings.parallel),
        stop_on_error: false,
        hook_logs: logs,
        environment: std::collections::BTreeMap::new(),
        stop: &session.stop,
        events: &show,
    };
    let mut tested = execute::run_tests(testable, run).await;
    tested.extend(unfit);
    tested.sort_by(|a, b| a.key.cmp(&b.key));
    for release in &tested {
        if let Some(failure) = &release.failure {
            ui::message(&format!("{}: {failure}", release.key));
        }
    }
    let context = &loaded.state.context;
    outputs.write(|_| table(&tested), || report::test_json(&cluster.identity, context, &tested))?;
    let failed = tested.iter().any(|release| release.failure.is_some());
    Ok(Ending { failed, signal: session.stop.asked(), ..Ending::default() })
}

fn table(tested: &[Tested]) -> String {
    let mut rows = vec![["RELEASE", "TEST", "RESULT"].map(str::to_owned).to_vec()];
    for release in tested {
        let key = release.key.to_string();
        if release.tests.is_empty() {
            let result = if release.failure.is_some() { "failed" } else { "no tests" };
            rows.push(vec![key, "-".to_owned(), result.to_owned()]);
            continue;
        }
        rows.extend(
            release.tests.iter().map(|(name, result)| vec![key.clone(), name.clone(), result.clone()]),
        );
    }
    text::table(&rows)
}
