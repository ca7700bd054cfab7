//! `statectl runs`: what earlier runs did, as they left it in the cluster; and what leaves it there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::output::Outputs;
use super::prepare::{Loaded, api_failure};
use super::{Ending, Session};
use super::{checkout, locking};
use crate::cluster::Writer;
use crate::execute::{self, Outcomes};
use crate::failure::{Failure, FailureClass};
use crate::go::encoding::hex_encode;
use crate::history;
use crate::host::{clock, env, files};
use crate::lock;
use crate::observe::{self, Histories};
use crate::plan::Plan;
use crate::report::{self, Facts, RunChange, RunRecord, RunRelease, RunRow};
use crate::text;
use crate::ui;

/// How long keeping a run may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    List,
    /// One of them; the newest one if none is named.
    Show(Option<u64>),
    /// What differs between two of them; between the newest ones if none are named.
    Diff(Option<u64>, Option<u64>),
}

/// Shows the runs of a file, newest first.
///
/// # Errors
/// The cluster cannot be read, or there is no such run.
pub async fn run(session: &Session, outputs: &Outputs, wanted: Wanted) -> Result<Ending, Failure> {
    session.until_stopped(show(session, outputs, wanted)).await
}

/// The runs of a file, newest first, and those that cannot be read.
struct Runs {
    rows: Vec<RunRow>,
    unreadable: BTreeMap<u64, String>,
}

impl Runs {
    fn get(&self, number: u64) -> Result<&RunRow, Failure> {
        if let Some(why) = self.unreadable.get(&number) {
            let failure = Failure::new(FailureClass::Failed, format!("run {number} cannot be read"));
            return Err(failure.cause(why));
        }
        self.rows.iter().find(|row| row.run == number).ok_or_else(|| {
            let failure = Failure::new(FailureClass::Failed, format!("there is no run {number}"));
            failure.hint("`statectl runs FILE` lists those that are kept")
        })
    }

    /// The newest one before another, or of all.
    fn newest(&self, before: Option<u64>) -> Result<&RunRow, Failure> {
        let found = self.rows.iter().find(|row| before.is_none_or(|before| row.run < before));
        found.ok_or_else(|| {
            let earlier = if before.is_some() { "earlier run" } else { "run" };
            let failure = Failure::new(FailureClass::Failed, format!("no {earlier} is kept"));
            failure.hint("an `apply` that does something leaves one, unless `settings.runHistory` is 0")
        })
    }
}

async fn show(session: &Session, outputs: &Outputs, wanted: Wanted) -> Result<Ending, Failure> {
    let loaded = session.load()?;
    let cluster = session.open(&loaded.state).await?;
    let context = &loaded.state.context;
    // They are where the lock of the file was when they ended: today's place first.
    let mut namespaces: Vec<String> =
        locking::namespace(&loaded.state).map(str::to_owned).into_iter().collect();
    let known = loaded.state.releases.iter().map(|release| release.key.namespace.clone());
    let histories = observe::histories(&cluster.reader, known).await;
    namespaces.extend(place(&histories, context).filter(|place| !namespaces.contains(place)));
    let mut runs = Runs { rows: Vec::new(), unreadable: BTreeMap::new() };
    for namespace in &namespaces {
        let stored = observe::stored_runs(&cluster.reader, namespace, context)
            .await
            .map_err(|error| api_failure(format!("the runs kept in {namespace} cannot be read"), &error))?;
        for run in stored {
            match RunRecord::read(run.packed.as_deref().unwrap_or_default()) {
                Ok(record) => runs.rows.push(RunRow { run: run.number, record }),
                Err(error) => drop(runs.unreadable.insert(run.number, error.to_string())),
            }
        }
    }
    runs.rows.sort_by_key(|row| std::cmp::Reverse(row.run));
    match wanted {
        Wanted::List => {
            let json = || report::runs_json(&cluster.identity, context, &runs.rows, &runs.unreadable);
            outputs.write(|_| table(&runs), json)?;
        }
        Wanted::Show(number) => {
            let row = number.map_or_else(|| runs.newest(None), |number| runs.get(number))?;
            outputs.write(|_| one(row), || report::run_record_json(row))?;
        }
        Wanted::Diff(from, to) => {
            let after = to.map_or_else(|| runs.newest(None), |number| runs.get(number))?;
            let before = from.map_or_else(|| runs.newest(Some(after.run)), |number| runs.get(number))?;
            let changes = report::differences(&before.record, &after.record);
            outputs.write(
                |_| difference(before, after, &changes),
                || report::runs_diff_json(before, after, &changes),
            )?;
        }
    }
    Ok(Ending::default())
}

/// Returns the namespace in which the lock of the context was kept last.
fn place(histories: &Histories, context: &str) -> Option<String> {
    let keys = histories.of_context(context);
    history::lock_place(keys.iter().filter_map(|key| histories.get(key)), context)
}

fn short(commit: Option<&String>) -> String {
    commit.map_or_else(|| "-".to_owned(), |commit| commit.chars().take(10).collect())
}

fn table(runs: &Runs) -> String {
    if runs.rows.is_empty() && runs.unreadable.is_empty() {
        return "no run is kept\n".to_owned();
    }
    let head = ["RUN", "ENDED", "VERB", "RESULT", "RELEASES", "COMMIT", "WHO"].map(str::to_owned).to_vec();
    let rows = runs.rows.iter().map(|RunRow { run, record }| {
        vec![
            run.to_string(),
            record.ended.chars().take(19).collect(),
            record.verb.clone(),
            record.result.clone(),
            record.counts(),
            short(record.commit.as_ref()),
            record.who.clone(),
        ]
    });
    let mut out = text::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    for (run, why) in &runs.unreadable {
        out.extend([format!("run {run} cannot be read: {why}\n")]);
    }
    out
}

fn one(row: &RunRow) -> String {
    let RunRow { run, record } = row;
    let mut lines = vec![
        format!("run {run} of {}: {} {}", record.context, record.verb, record.result),
        format!("  by {}, statectl {}", record.who, record.version),
        format!("  from {} to {}", record.started, record.ended),
    ];
    lines.extend(record.job.as_ref().map(|job| format!("  job {job}")));
    lines.extend(record.commit.as_ref().map(|commit| format!("  commit {commit}")));
    lines.extend(record.digest.as_ref().map(|digest| format!("  files {digest}")));
    lines.push(format!("  effect {}", record.effect));
    for release in &record.releases {
        lines.push(format!("{}/{}  {}", release.namespace, release.name, did(release)));
        for object in &release.objects {
            lines.push(format!("  {} {} ({})", object.action, object.object, object.reasons.join(", ")));
            lines.extend(object.fields.iter().map(|field| format!("      {field}")));
        }
    }
    lines.extend(record.failed_namespaces.iter().map(|name| format!("namespace {name}  failed")));
    if record.unchanged > 0 {
        lines.push(format!("{} unchanged", text::plural(record.unchanged, "release")));
    }
    for (left, what) in [(record.left_out_releases, "release"), (record.left_out_objects, "object")] {
        if left > 0 {
            lines.push(format!("{} left out, to keep the record small", text::plural(left, what)));
        }
    }
    lines.join("\n") + "\n"
}

fn did(release: &RunRelease) -> String {
    let revision = release.revision.map(|revision| format!(", revision {revision}")).unwrap_or_default();
    let chart = release.chart.as_ref().map(|chart| format!(", {chart}")).unwrap_or_default();
    format!("{} ({}): {}{revision}{chart}", release.action, release.reasons.join(", "), release.state)
}

fn difference(before: &RunRow, after: &RunRow, changes: &[RunChange]) -> String {
    let head = format!(
        "run {} ({}) and run {} ({})\n",
        before.run,
        short(before.record.commit.as_ref()),
        after.run,
        short(after.record.commit.as_ref())
    );
    if changes.is_empty() {
        return head + "they did the same\n";
    }
    let side = |sign: &str, release: Option<&RunRelease>| {
        let said = release.map_or_else(|| "nothing to do".to_owned(), did);
        let objects = release.map(|release| release.objects.as_slice()).unwrap_or_default();
        let objects =
            objects.iter().map(|object| format!("  {sign}   {} {}\n", object.action, object.object));
        format!("  {sign} {said}\n{}", objects.collect::<String>())
    };
    let text = changes.iter().map(|change| {
        let (before, after) = (side("-", change.before.as_ref()), side("+", change.after.as_ref()));
        format!("{}\n{before}{after}", change.release)
    });
    head + &text.collect::<String>()
}

/// Returns what is known of a run before it has done anything.
pub(super) fn facts(session: &Session, verb: &str) -> Facts {
    Facts {
        verb: verb.to_owned(),
        who: env::who().0,
        job: lock::job_url(&session.environment),
        commit: checkout::commit(session),
        digest: digest(&session.files.states),
        started: now(),
        ..Facts::default()
    }
}

/// Returns the time for a record.
fn now() -> String {
    format!("{:.0}", clock::now())
}

/// Returns the digest of desired-state files; nothing if one cannot be read twice, such as the standard input.
fn digest(paths: &[PathBuf]) -> Option<String> {
    let mut digest = Sha256::new();
    for path in paths {
        let bytes =
            Some(path).filter(|path| path.as_os_str() != "-").and_then(|path| files::read(path).ok())?;
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    }
    (!paths.is_empty()).then(|| format!("sha256:{}", hex_encode(&digest.finalize())))
}

/// A run that is to be kept: what it did, and where.
pub(super) struct Keep {
    record: RunRecord,
    namespace: String,
    most: usize,
}

impl Keep {
    /// Returns what is kept of a run that tried something; nothing where nothing is to be kept.
    pub(super) fn of(
        facts: &Facts,
        loaded: &Loaded,
        plan: &Plan,
        outcomes: &Outcomes,
        result: &str,
    ) -> Option<Self> {
        let state = &loaded.state;
        let most = state.settings.run_history;
        let usual = locking::namespace(state)?;
        let namespace = plan.lock_place.as_deref().unwrap_or(usual).to_owned();
        let facts = Facts { ended: now(), result: result.to_owned(), ..facts.clone() };
        let record = RunRecord::of(plan, outcomes, &facts);
        (most > 0).then_some(Self { record, namespace, most })
    }

    /// Leaves the record in the cluster. What keeps it from there is said, and changes nothing.
    pub(super) async fn leave(&self, writer: &Writer) {
        let Self { record, namespace, most } = self;
        let context = record.context.as_str();
        let kept = async {
            let stored = observe::stored_runs(writer.reader(), namespace, context).await?;
            execute::keep_run(writer, (namespace, context), &stored, &record.packed(), *most).await
        };
        let why = match tokio::time::timeout(PATIENCE, kept).await {
            // The namespace went with the last release.
            Ok(Err(error)) if error.is_status(404) => return,
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("the server did not answer within {} s", PATIENCE.as_secs()),
        };
        ui::message(&format!(
            "warning: what this run did is not kept in {namespace}: {why}\n  hint: `statectl rbac` prints the rights that \
             this takes; `settings.runHistory = 0` keeps no runs"
        ));
    }
}
