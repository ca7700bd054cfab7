//! Runs the tests of deployed releases: the hooks of the event `test`, as `helm test` does.
//!
//! Source: Helm `pkg/action/release_testing.go`. The record learns when each test ran and how it ended; its status stays
//! what it is.

use std::time::Duration;

use futures::StreamExt as _;

use super::{Context, Run, StepError, guarded, hooks, records};
use crate::history::{HookRun, Phase, Record};
use crate::model::ReleaseKey;

/// The event of test hooks.
const TEST: &str = "test";

/// A deployed release.
#[derive(Debug)]
pub struct Testable {
    /// Its newest record.
    pub record: Record,
    /// The longest time for each test.
    pub timeout: Duration,
}

/// How the tests of a release ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The release.
    pub key: ReleaseKey,
    /// Its tests in the order in which they are stored, with Helm's word for how each ended.
    pub tests: Vec<(String, String)>,
    /// Why the tests count as failed; nothing if all passed, or there are none.
    pub failure: Option<String>,
}

/// Tests releases, as many side by side as the run allows.
pub async fn run_tests(releases: Vec<Testable>, run: Run<'_>) -> Vec<Tested> {
    let parallel = run.parallel.max(1);
    let context = Context::new(run);
    let work = releases.into_iter().map(|release| test_one(&context, release));
    futures::stream::iter(work).buffered(parallel).collect().await
}

async fn test_one(context: &Context<'_>, release: Testable) -> Tested {
    let Testable { mut record, timeout } = release;
    let key = record.key();
    let work = async |own: &Context<'_>| test(own, &key, &mut record, timeout).await;
    let result = guarded::locked(context, &key, None, work).await;
    let hooks = record.release.hooks.iter().filter(|hook| hook.events.iter().any(|event| event == TEST));
    let tests = hooks.map(|hook| (hook.name.clone(), word(&hook.last_run.phase).to_owned())).collect();
    Tested { key, tests, failure: result.err().map(|error| error.text()) }
}

/// Runs the test hooks of a record and stores how they ended.
///
/// # Errors
/// The first test that failed, or a record that could not be written.
pub(super) async fn test(
    context: &Context<'_>,
    key: &ReleaseKey,
    record: &mut Record,
    timeout: Duration,
) -> Result<(), StepError> {
    if !record.release.hooks.iter().any(|hook| hook.events.iter().any(|event| event == TEST)) {
        return Ok(());
    }
    context.learn(key, &record.release);
    // What an earlier run said would stay with tests that this one does not come to.
    for hook in &mut record.release.hooks {
        if hook.events.iter().any(|event| event == TEST) {
            hook.last_run = HookRun::default();
        }
    }
    let result = hooks::run(context, key, &mut record.release, TEST, timeout).await;
    let stored = records::update(context, record).await;
    result?;
    *record = stored?;
    Ok(())
}

fn word(phase: &Phase) -> &str {
    match phase {
        Phase::Succeeded => "passed",
        Phase::Failed => "failed",
        Phase::Running => "running",
        Phase::Unknown | Phase::Never => "not run",
        Phase::Other(text) => text,
    }
}
