//! Carries a plan out: each release as soon as what it waits for has ended, as many side by side as allowed, each step
//! as planned.
//!
//! Nothing is decided here. A step whose precondition no longer holds ends its release; no error leads to
//! another action. Every attempted release ends in exactly one [`Outcome`], whatever happens to the others.

mod app_hooks;
mod deploy;
mod error;
mod event;
mod guarded;
mod hooks;
mod journal;
mod lease;
mod logs;
mod look;
mod objects;
mod records;
mod replace;
mod rollback;
mod run_history;
mod seal;
mod secrets;
mod send;
mod spaces;
mod take_over;
mod testing;
mod uninstall;
mod unlock;
mod unstick;
mod wait;
mod waves;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use serde_json::Value as Json;
use tokio::sync::RwLock;
use tokio::time::Instant;

use secrets::Secrets;

pub use error::StepError;
pub use event::{Event, Outcome, Phase, WaitingOn};
pub use lease::{Held, LockError, LockOptions, Locks, Past, Patience, Waiting};
pub use run_history::keep_run;
pub use spaces::make_namespaces;
pub use testing::{Testable, Tested, run_tests};
pub use unlock::unlock;

use crate::cluster::{Discovery, Pace, Resource, Watches, Writer};
use crate::history::{self, Operation};
use crate::host::signals::Stop;
use crate::model::{GroupVersionKind, ReleaseKey};
use crate::plan::{Action, ObjectAction, Plan, ReleasePlan, Schedule, Work};

/// Between two looks at the kinds that the server knows.
const DISCOVERY_POLL: Duration = Duration::from_millis(100);

/// What a run works with.
pub struct Run<'a> {
    /// The way to the cluster.
    pub writer: &'a Writer,
    /// How releases are locked; nothing where the file says that they are not.
    pub locks: Option<Arc<Locks>>,
    /// The kinds that the server knows; renewed when custom resource definitions arrive.
    pub discovery: Discovery,
    /// Releases at once.
    pub parallel: usize,
    /// Whether nothing new is started after a release failed.
    pub stop_on_error: bool,
    /// Whether what hooks and tests say is shown when they end well, too.
    pub hook_logs: bool,
    /// The environment of programs that hooks of the file run.
    pub environment: BTreeMap<String, String>,
    /// Asks for the end.
    pub stop: &'a Stop,
    /// Where events go.
    pub events: &'a (dyn Fn(Event) + Sync),
}

/// What the steps of all releases share.
struct Shared<'a> {
    locks: Option<Arc<Locks>>,
    discovery: RwLock<Discovery>,
    watches: Watches,
    /// Whether it was said that something cannot be watched.
    has_complained: AtomicBool,
    hook_logs: bool,
    environment: BTreeMap<String, String>,
    /// The secret values of the releases that are worked on.
    secrets: Mutex<BTreeMap<ReleaseKey, Secrets>>,
    /// Whether a release was found changed before anything of it was written.
    overtaken: AtomicBool,
    stop: &'a Stop,
    events: &'a (dyn Fn(Event) + Sync),
}

/// What the steps of one release work with.
struct Context<'a> {
    /// The way to write: behind the lock of the release, once it is held.
    writer: Writer,
    shared: Arc<Shared<'a>>,
    /// What the records that it writes say about it; nothing where nothing is locked.
    operation: Option<Operation>,
    current: journal::Current,
}

impl<'a> Context<'a> {
    fn new(run: Run<'a>) -> Self {
        let shared = Shared {
            locks: run.locks,
            watches: Watches::new(run.writer.reader().clone(), Pace::default()),
            has_complained: AtomicBool::new(false),
            hook_logs: run.hook_logs,
            environment: run.environment,
            secrets: Mutex::default(),
            overtaken: AtomicBool::new(false),
            discovery: RwLock::new(run.discovery),
            stop: run.stop,
            events: run.events,
        };
        Context {
            writer: run.writer.clone(),
            shared: Arc::new(shared),
            operation: None,
            current: journal::Current::default(),
        }
    }
}

impl<'a> std::ops::Deref for Context<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Shared<'a> {
        &self.shared
    }
}

impl Context<'_> {
    fn emit(&self, event: Event) {
        (self.events)(event);
    }

    /// Tells whether this is the first time that it is said that something cannot be watched.
    fn says_once(&self) -> bool {
        !self.has_complained.swap(true, std::sync::atomic::Ordering::Relaxed)
    }

    /// Remembers the secret values of a revision that is worked on.
    fn learn(&self, key: &ReleaseKey, release: &history::Release) {
        let found = Secrets::of(release);
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.entry(key.clone()).or_default().join(found);
    }

    /// Returns the secret values of a release; nothing as long as they are not known.
    fn secrets(&self, key: &ReleaseKey) -> Option<Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Notes that the first write of a release came too late, if that is what went wrong.
    fn note_overtaken(&self, error: &StepError) {
        if matches!(error, StepError::Stale { .. }) {
            self.overtaken.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    async fn resource(&self, gvk: &GroupVersionKind) -> Result<Resource, StepError> {
        let discovery = self.discovery.read().await;
        Ok(discovery.resource(gvk)?.clone())
    }

    /// Reads the kinds again until those that the definitions serve are among them: the server's discovery follows a
    /// definition that says Established only a moment later.
    async fn rediscover(&self, definitions: &[&Json], timeout: Duration) -> Result<(), StepError> {
        let deadline = Instant::now() + timeout;
        loop {
            let fresh = self.writer.reader().discover().await?;
            let mut served = definitions.iter().flat_map(|definition| served_kinds(definition));
            let missing = served.find(|gvk| fresh.resource(gvk).is_err());
            *self.discovery.write().await = fresh;
            let Some(gvk) = missing else { return Ok(()) };
            if Instant::now() >= deadline {
                return Err(StepError::TimedOut {
                    what: format!("the kind {gvk} is not served"),
                    seconds: timeout.as_secs(),
                    why: "its definition is established".to_owned(),
                });
            }
            self.check_stop()?;
            tokio::time::sleep(DISCOVERY_POLL).await;
        }
    }

    /// Ends a release that has not passed a point of no return when the run was asked to stop.
    fn check_stop(&self) -> Result<(), StepError> {
        self.stop.asked().map_or(Ok(()), |signal| Err(StepError::Interrupted { signal }))
    }
}

/// How everything of a run ended.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Each release of the plan.
    pub releases: BTreeMap<ReleaseKey, Outcome>,
    /// Namespaces that could not be made or labelled, and why.
    pub namespaces: BTreeMap<String, String>,
    /// Whether somebody had changed a release since the plan, and nothing of it was written.
    pub overtaken: bool,
}

impl Outcomes {
    /// Tells whether another run holds the lock of a release.
    pub fn has_locked(&self) -> bool {
        self.releases.values().any(|outcome| matches!(outcome, Outcome::Locked { .. }))
    }

    /// Tells whether something that was tried did not work, or was waited for in vain.
    pub fn has_failed(&self) -> bool {
        !self.namespaces.is_empty() || self.releases.values().any(Outcome::is_unfinished)
    }
}

/// Returns the kinds that a custom resource definition serves.
fn served_kinds(definition: &Json) -> Vec<GroupVersionKind> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    served
        .filter_map(|version| {
            Some(GroupVersionKind {
                group: spec["group"].as_str()?.to_owned(),
                version: version["name"].as_str()?.to_owned(),
                kind: spec["names"]["kind"].as_str()?.to_owned(),
            })
        })
        .collect()
}

/// Carries out `plan` and returns how each release of it ended.
pub async fn run(plan: &Plan, run: Run<'_>) -> Outcomes {
    let mut outcomes: BTreeMap<ReleaseKey, Outcome> = BTreeMap::new();
    for release in &plan.releases {
        match release.action {
            Action::None => {
                // What needs a release that is left half-way does not start either.
                let pending = release.reasons.iter().find(|reason| reason.code() == "pending-skipped");
                let outcome = pending
                    .map_or(Outcome::Unchanged, |reason| Outcome::Skipped { because: reason.to_string() });
                outcomes.insert(release.key.clone(), outcome);
            }
            Action::Blocked => drop(outcomes.insert(release.key.clone(), Outcome::Blocked)),
            Action::Install
            | Action::Upgrade
            | Action::Reinstall(_)
            | Action::Recover
            | Action::Adopt
            | Action::Orphan
            | Action::Uninstall => {}
        }
    }
    let stop_on_error = run.stop_on_error;
    let parallel = run.parallel.max(1);
    let context = Context::new(run);
    let namespaces = spaces::prepare(&context, plan).await;
    let mut schedule = Schedule::new(&plan.turns);
    let mut running = FuturesUnordered::new();
    let mut told: BTreeSet<usize> = BTreeSet::new();
    loop {
        while running.len() < parallel
            && let Some(at) = schedule.start()
        {
            let turn = &plan.turns[at];
            if told.insert(turn.batch) {
                let releases = plan.batches.get(turn.batch).map_or(0, Vec::len);
                let batches = plan.batches.len();
                context.emit(Event::BatchStarted { index: turn.batch, batches, releases });
            }
            let Some(release) = plan.release(&turn.release) else {
                schedule.end(at);
                continue;
            };
            let state = run_state(&context, &outcomes, stop_on_error);
            if let Some(outcome) = obstacle(release, &outcomes, &namespaces, &state) {
                context.emit(Event::ReleaseEnded { key: release.key.clone(), outcome: outcome.clone() });
                outcomes.insert(release.key.clone(), outcome);
                schedule.end(at);
                continue;
            }
            let work = release_work(&context, plan, release);
            running.push(work.map(move |(key, outcome)| (at, key, outcome)));
        }
        let Some((at, key, outcome)) = running.next().await else { break };
        context.emit(Event::ReleaseEnded { key: key.clone(), outcome: outcome.clone() });
        outcomes.insert(key, outcome);
        schedule.end(at);
    }
    let namespaces = namespaces.into_iter().map(|(name, error)| (name, error.text())).collect();
    let overtaken = context.overtaken.load(std::sync::atomic::Ordering::Relaxed);
    Outcomes { releases: outcomes, namespaces, overtaken }
}

/// Why nothing new is started, if so.
fn run_state(
    context: &Context<'_>,
    outcomes: &BTreeMap<ReleaseKey, Outcome>,
    stop_on_error: bool,
) -> Option<String> {
    if let Some(signal) = context.stop.asked() {
        return Some(format!("the run was ended by {}", signal.name()));
    }
    let failed = outcomes.iter().find(|(_, outcome)| outcome.is_failure()).filter(|_| stop_on_error);
    failed.map(|(key, _)| format!("{key} failed, and `onError = \"stop\"`"))
}

/// Returns the outcome of a release that is not started.
fn obstacle(
    release: &ReleasePlan,
    outcomes: &BTreeMap<ReleaseKey, Outcome>,
    namespaces: &BTreeMap<String, StepError>,
    run_state: &Option<String>,
) -> Option<Outcome> {
    if let Some(because) = run_state {
        return Some(Outcome::Skipped { because: because.clone() });
    }
    if let Some(error) = namespaces.get(&release.key.namespace) {
        return Some(Outcome::Failed { message: format!("namespace {}: {error}", release.key.namespace) });
    }
    let removal = release.action == Action::Uninstall;
    let missing = release.needs.iter().filter(|_| !removal).find_map(|need| {
        let outcome = outcomes.get(need)?;
        (!outcome.is_good()).then(|| format!("it needs {need}, which {}", outcome.predicate()))
    });
    missing.map(|because| Outcome::Skipped { because })
}

async fn release_work(context: &Context<'_>, plan: &Plan, release: &ReleasePlan) -> (ReleaseKey, Outcome) {
    // What has not started when the signal comes is not started any more.
    if let Some(signal) = context.stop.asked() {
        let because = format!("the run was ended by {}", signal.name());
        return (release.key.clone(), Outcome::Skipped { because });
    }
    context.emit(Event::ReleaseStarted { key: release.key.clone(), action: release.action.name() });
    if let Err(outcome) = unchanged_needs(context, plan, release).await {
        return (release.key.clone(), outcome);
    }
    let left = guarded::left_by(&release.work);
    let result = guarded::locked_names(context, release, left, async |own| match &release.work {
        Work::Nothing => Ok(Outcome::Unchanged),
        Work::Deploy(deploy) => deploy::deploy(own, &release.key, &release.ready, deploy).await,
        Work::Seal(work) => seal::seal(own, &release.key, &release.ready, work).await,
        Work::GoBack(work) => rollback::go_back(own, &release.key, &release.ready, work).await,
        Work::Uninstall(uninstall) => uninstall::uninstall(own, uninstall).await,
        Work::Disown(disown) => uninstall::disown(own, disown).await,
        Work::Own(marks) => take_over::own(own, marks).await,
    })
    .await;
    (release.key.clone(), result.unwrap_or_else(StepError::into_outcome))
}

/// Waits for needed releases that this run does not touch: they may not be ready all the same.
///
/// # Errors
/// How the release ends without being started.
async fn unchanged_needs(context: &Context<'_>, plan: &Plan, release: &ReleasePlan) -> Result<(), Outcome> {
    let Work::Deploy(deploy) = &release.work else { return Ok(()) };
    for object in &release.wait_for {
        let there = wait::awaited(context, &release.key, &release.ready, object, deploy.timeout).await;
        there.map_err(|error| match error {
            StepError::TimedOut { .. } => Outcome::Waiting { on: error.text() },
            StepError::Interrupted { .. } => error.into_outcome(),
            other => Outcome::Failed { message: format!("not started: {}", other.text()) },
        })?;
    }
    for need in &release.waits_for {
        let Some(needed) = plan.release(need).filter(|needed| needed.action == Action::None) else {
            continue;
        };
        let there = needed.objects.iter().filter(|object| object.action == ObjectAction::None);
        let ready = wait::ready(
            context,
            &release.key,
            &needed.ready,
            there.map(|object| &object.key),
            deploy.timeout,
        )
        .await;
        ready.map_err(|error| match error {
            StepError::TimedOut { .. } => Outcome::Waiting { on: format!("{need}: {}", error.text()) },
            StepError::Interrupted { .. } => error.into_outcome(),
            other => {
                Outcome::Failed { message: format!("not started, because it needs {need}: {}", other.text()) }
            }
        })?;
    }
    Ok(())
}
