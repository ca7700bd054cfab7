//! From the command line to a plan: load, connect, read, render, observe, decide. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::arrivals::Arrivals;
use super::charts::ChartCache;
use super::cluster::Cluster;
use super::content::{self, Rendered};
use super::given::ValueContext;
use super::load::{self, Files, Look};
use super::lock_file::LockFile;
use super::moves;
use super::observer::{Kept, Observer, recorded_objects, remnants};
use super::recovery;
use super::select::Selection;
use super::sources::Sources;
use crate::cluster::{self, ApiError, ConnectError, ConnectOptions};
use crate::dsf::state::{ChartSource, DesiredState, ExpectCluster, MaxPrune, Moved, Release};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::{Signal, Stop};
use crate::host::{clock, random};
use crate::model::ReleaseKey;
use crate::observe::{self, Histories, NamespaceMarks, Scalers, Verify};
use crate::plan::{
    self, ObservedObject, Operation, Plan, PlanInput, Reason, ServerAnswer, SpaceKind, Stray, Wanted,
};

/// What a verb was asked to work on.
pub struct Session {
    /// The files.
    pub files: Files,
    /// The cluster, as far as the command line names it.
    pub connect: ConnectOptions,
    /// The releases.
    pub selection: Selection,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// Whether any number of releases that left the file may be removed.
    pub allow_prune: bool,
    /// Whether releases that look renamed are different ones.
    pub really_new: bool,
    /// What the server is asked about.
    pub verify: Verify,
    /// Whether an interrupted operation is taken up however often it was.
    pub retry: bool,
    /// Asks for the end.
    pub stop: Stop,
}

/// A desired state that was read without a problem.
pub(super) struct Loaded {
    pub(super) state: DesiredState,
    pub(super) notes: Vec<String>,
    /// What the values of releases are read with.
    pub(super) values: Arc<ValueContext>,
    /// The folders that charts' links may not leave.
    roots: Option<Vec<PathBuf>>,
    /// The selected releases.
    pub(super) selected: BTreeSet<ReleaseKey>,
}

impl Session {
    /// Reads the files.
    pub(super) fn load(&self) -> Result<Loaded, Failure> {
        let read = self.files.read(&self.environment, Look::default())?;
        let loaded = read.loaded.map_err(|problems| load::refused(&problems))?;
        let selected = self.selection.choose(&loaded.state.releases)?;
        let notes = loaded.notes.iter().map(ToString::to_string);
        let notes = notes.chain(read.notes).collect();
        let values = ValueContext {
            environment: self.files.subst_env_values.then(|| read.environment.clone()),
            variables: read.environment,
            recursive: self.files.helmsman_compat,
        };
        Ok(Loaded { state: loaded.state, notes, values: Arc::new(values), roots: read.roots, selected })
    }

    /// Connects to the cluster that the command line or the file names, and makes sure that it is the expected
    /// one before anything of it is read.
    pub(super) async fn open(&self, state: &DesiredState) -> Result<Cluster, Failure> {
        let mut options = self.connect.clone();
        if options.context.is_none() {
            options.context = state.settings.kube_context.clone();
        }
        let connection = cluster::connect(&options).await.map_err(connect_failure)?;
        let expected = &state.settings.expect_cluster;
        check_expected(expected, &connection.server, connection.context.as_deref(), Uid::NotAsked)?;
        let unreachable = |error: ApiError| {
            api_failure(format!("the cluster {} cannot be used", connection.server), &error)
        };
        let discovery = connection.reader.discover().await.map_err(unreachable)?;
        let identity = observe::identity(&connection, &discovery).await.map_err(unreachable)?;
        check_expected(
            expected,
            &identity.server,
            identity.context.as_deref(),
            Uid::Is(identity.uid.as_deref()),
        )?;
        Ok(Cluster { reader: connection.reader, discovery, identity })
    }

    /// Reads, connects and plans. A signal ends it at once: nothing was written.
    pub(super) async fn planned(&self, operation: Operation) -> Result<(Loaded, Cluster, Plan), Failure> {
        let (loaded, cluster) = self.connected().await?;
        let plan = self.planned_on(&loaded, &cluster, operation).await?;
        Ok((loaded, cluster, plan))
    }

    /// Reads and connects.
    pub(super) async fn connected(&self) -> Result<(Loaded, Cluster), Failure> {
        let work = async {
            let loaded = self.load()?;
            let cluster = self.open(&loaded.state).await?;
            Ok((loaded, cluster))
        };
        self.until_stopped(work).await
    }

    /// Plans what was read.
    pub(super) async fn planned_on(
        &self,
        loaded: &Loaded,
        cluster: &Cluster,
        operation: Operation,
    ) -> Result<Plan, Failure> {
        self.until_stopped(self.plan(loaded, cluster, operation)).await
    }

    /// Does something that may be given up at any moment, until a signal asks for the end.
    pub(super) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            result = work => result,
            signal = self.stop.wait() => {
                let class = match signal {
                    Signal::Hangup => FailureClass::HungUp,
                    Signal::Interrupt => FailureClass::Interrupted,
                    Signal::Terminate => FailureClass::Terminated,
                };
                Err(Failure::new(class, format!("ended by {}; nothing was written", signal.name())))
            }
        }
    }

    /// Makes the plan.
    async fn plan(&self, loaded: &Loaded, cluster: &Cluster, operation: Operation) -> Result<Plan, Failure> {
        let input = self.gather(loaded, cluster, operation).await?;
        Ok(plan::plan(&input))
    }

    async fn gather(
        &self,
        loaded: &Loaded,
        cluster: &Cluster,
        operation: Operation,
    ) -> Result<PlanInput, Failure> {
        let state = &loaded.state;
        let releases: Vec<&Release> =
            state.releases.iter().filter(|release| loaded.selected.contains(&release.key)).collect();
        let mut notes = loaded.notes.clone();
        let namespaces: BTreeSet<String> = releases
            .iter()
            .map(|release| release.key.namespace.clone())
            .chain(state.namespaces.keys().filter(|_| self.selection.is_everything()).cloned())
            .collect();
        let reader = &cluster.reader;
        let failed = |error: ApiError| api_failure("the cluster cannot be read", &error);
        let marks: BTreeMap<String, NamespaceMarks> =
            namespaces.iter().map(|name| (name.clone(), marks_of(state, name))).collect();
        let (mut histories, observed_namespaces) = futures::future::join(
            observe::histories(reader, namespaces.iter().cloned()),
            observe::namespaces(reader, &marks),
        )
        .await;
        let observed_namespaces = observed_namespaces.map_err(failed)?;
        let missing: BTreeSet<String> = observed_namespaces
            .iter()
            .filter(|namespace| !namespace.exists)
            .map(|namespace| namespace.name.clone())
            .collect();

        let mut rendered = match operation {
            Operation::Destroy => BTreeMap::new(),
            Operation::Reconcile => self.render_all(&releases, loaded, cluster, &histories).await,
        };
        let incomplete = rendered.values().any(Result::is_err);
        let removal_withheld = removal_withheld(state, operation, incomplete, self.allow_prune);
        let moves = moves::of_run(state, &loaded.selected);
        moves::read_histories(cluster, &moves, &mut histories).await;
        let strays = self.strays(state, cluster, &mut histories, operation, &mut notes, &moves).await?;
        let arrivals = Arrivals::of(rendered.values().filter_map(|rendered| rendered.as_ref().ok()));

        let scalers = Scalers::new(&cluster.discovery);
        let observer = Observer {
            cluster,
            missing: &missing,
            arrivals: &arrivals,
            verify: self.verify,
            scalers: &scalers,
        };
        let mut wanted = observer.wanted(state, &releases, &mut histories, &mut rendered).await;
        if operation == Operation::Reconcile {
            moves::look(cluster, &moves, &mut wanted, &mut histories).await;
        }
        let coming = quota_namespaces(&wanted, &missing);
        let (quotas, unread) = observe::quotas(reader, coming).await;
        notes.extend(unread.into_iter().chain(scalers.notes().await));
        let recovery = recovery::look(self, cluster, state, &wanted, &strays).await;
        Ok(PlanInput {
            cluster: cluster.identity.clone(),
            context: state.context.clone(),
            operation,
            removal_withheld,
            most_removals: most_removals(state, self.allow_prune, wanted.len() + strays.len()),
            really_new: self.really_new,
            partial: !self.selection.is_everything(),
            reverse_removals: state.settings.reverse_delete,
            now: clock::now(),
            salt: random::bytes(),
            recovery,
            namespaces: observed_namespaces,
            quotas,
            wanted,
            strays,
            notes,
        })
    }

    /// Returns the charts of `releases`: those that are not on this machine, and dependencies that are missing in
    /// folders, are fetched.
    async fn charts<'r>(
        &self,
        loaded: &Loaded,
        releases: impl Iterator<Item = &'r Release> + Clone,
    ) -> ChartCache {
        let mut cache = ChartCache::within(loaded.roots.clone());
        let is_remote = |release: &&Release| !matches!(release.chart.source, ChartSource::Local(_));
        let remote = releases.clone().filter(is_remote);
        let local = releases.filter_map(|release| match &release.chart.source {
            ChartSource::Local(path) => Some(path),
            _ => None,
        });
        let incomplete = cache.incomplete(local);
        if remote.clone().next().is_none() && incomplete.is_empty() {
            return cache;
        }
        let lock = LockFile::beside(&self.files.states).map_err(|failure| failure.to_string());
        let sources = lock.and_then(|lock| {
            Sources::new(&self.environment, &loaded.state.repositories, lock, &self.files.fetching)
        });
        match sources {
            Ok(sources) => {
                cache.add(sources.fetch(remote).await);
                cache.complete(&sources, incomplete.iter()).await;
            }
            Err(why) => {
                let asked = |release: &Release| (release.chart.source.clone(), release.chart.version.clone());
                cache.add(remote.map(|release| (asked(release), Err(why.clone()))).collect());
            }
        }
        cache
    }

    /// Renders every enabled release, a few at a time.
    async fn render_all(
        &self,
        releases: &[&Release],
        loaded: &Loaded,
        cluster: &Cluster,
        histories: &Histories,
    ) -> BTreeMap<ReleaseKey, Result<Rendered, Reason>> {
        let context = &loaded.state.context;
        let enabled = releases.iter().filter(|release| release.enabled);
        let mut cache = self.charts(loaded, enabled.clone().copied()).await;
        let jobs: Vec<content::Job> = enabled
            .map(|release| content::Job {
                release: (*release).clone(),
                chart: cache.chart(release),
                past: histories
                    .get(&release.key)
                    .map(|history| content::Past::of(history, context))
                    .unwrap_or_default(),
                context: Arc::clone(&loaded.values),
            })
            .collect();
        content::render_all(cluster, jobs).await
    }

    /// Finds releases of this context that the file does not have. A selection finds none.
    async fn strays(
        &self,
        state: &DesiredState,
        cluster: &Cluster,
        histories: &mut Histories,
        operation: Operation,
        notes: &mut Vec<String>,
        moves: &[Moved],
    ) -> Result<Vec<Stray>, Failure> {
        if operation == Operation::Destroy {
            // Releases of the file that still have their old names: they go with the others.
            let old_names = moves.iter().map(|moved| moved.from.clone());
            return strays_of(state, cluster, histories, old_names).await;
        }
        if !self.selection.is_everything() || !state.context_is_set || self.files.keep_untracked {
            return Ok(Vec::new());
        }
        let failed = |error: ApiError| api_failure("the releases of this context cannot be listed", &error);
        let everywhere = observe::context_releases(&cluster.reader, &state.context).await.map_err(failed)?;
        if everywhere.is_none() {
            notes.push(
                "Secrets cannot be listed in the whole cluster: releases that left the file are looked for in its \
                 namespaces only"
                    .to_owned(),
            );
        }
        let mut found = everywhere.unwrap_or_default();
        found.extend(histories.of_context(&state.context));
        found.retain(|key| state.release(key).is_none() && !moves.iter().any(|moved| moved.from == *key));
        let unread: BTreeSet<String> = found
            .iter()
            .map(|key| key.namespace.clone())
            .filter(|namespace| !histories.has(namespace))
            .collect();
        histories.extend(observe::histories(&cluster.reader, unread).await);
        strays_of(state, cluster, histories, found).await
    }
}

/// Looks at releases that are not in the file, without those that belong to somebody else.
async fn strays_of(
    state: &DesiredState,
    cluster: &Cluster,
    histories: &mut Histories,
    keys: impl IntoIterator<Item = ReleaseKey>,
) -> Result<Vec<Stray>, Failure> {
    let mut strays = Vec::new();
    let mut recorded = Vec::new();
    for key in keys {
        let history = histories.take(&key).map_err(|message| {
            Failure::new(FailureClass::Failed, format!("release {key}: its records cannot be read"))
                .cause(message)
        })?;
        // The label of an old revision says nothing once a newer one belongs to somebody else.
        if history.latest().and_then(|latest| latest.context()) != Some(state.context.as_str()) {
            continue;
        }
        recorded.push(recorded_objects(cluster, &key, &history, &Kept::default()));
        let space = state.namespaces.get(&key.namespace).is_some_and(|namespace| namespace.protected);
        let protected_by = space.then(|| format!("namespace `{}`", key.namespace));
        strays.push(Stray { key, protected_by, history, remnants: Ok(Vec::new()) });
    }
    for (stray, remnants) in strays.iter_mut().zip(remnants(cluster, recorded).await) {
        stray.remnants = remnants;
    }
    Ok(strays)
}

/// Returns the existing namespaces in which something comes that a quota may count.
fn quota_namespaces(wanted: &[Wanted], missing: &BTreeSet<String>) -> BTreeSet<String> {
    let contents = wanted.iter().filter_map(|wanted| wanted.content.as_ref()?.as_ref().ok());
    let comes = |object: &&ObservedObject| match &object.answer {
        ServerAnswer::Accepted { .. } | ServerAnswer::Later { .. } => {
            object.live.is_none()
                || matches!(object.key.gvk.kind.as_str(), "PersistentVolumeClaim" | "Service" | "Pod")
        }
        ServerAnswer::Unasked { .. } | ServerAnswer::Refused { .. } | ServerAnswer::Unknown { .. } => false,
    };
    let namespaces = contents.flat_map(|content| content.objects.iter().filter(comes));
    let namespaces = namespaces.filter_map(|object| object.key.namespace.clone());
    namespaces.filter(|namespace| !missing.contains(namespace)).collect()
}

fn marks_of(state: &DesiredState, name: &str) -> NamespaceMarks {
    let namespace = state.namespaces.get(name).cloned().unwrap_or_default();
    let mut specs = BTreeMap::new();
    if !namespace.limits.is_empty() {
        specs.insert(SpaceKind::LimitRange, observe::limit_range_spec(&namespace.limits));
    }
    if !namespace.quotas.is_empty() {
        specs.insert(SpaceKind::ResourceQuota, serde_json::json!({ "hard": namespace.quotas }));
    }
    NamespaceMarks {
        labels: namespace.labels,
        annotations: namespace.annotations,
        // A namespace that the file only uses, as kube-system, keeps its labels.
        authoritative: state.settings.labels_authoritative && namespace.origin.is_some(),
        specs,
    }
}

/// Nothing is removed where it is not certain that the file is all there is.
fn removal_withheld(
    state: &DesiredState,
    operation: Operation,
    incomplete: bool,
    allowed: bool,
) -> Option<String> {
    if operation == Operation::Destroy {
        return None;
    }
    if state.releases.is_empty() && !allowed {
        return Some("the file has no app left; if all are meant to go, add `--allow-prune`".to_owned());
    }
    if incomplete {
        return Some("not every release of the file could be rendered".to_owned());
    }
    None
}

/// Returns how many releases that left the file one run may remove; three always pass.
fn most_removals(state: &DesiredState, allowed: bool, total: usize) -> Option<usize> {
    const ALWAYS: usize = 3;
    match state.settings.max_prune {
        _ if allowed => None,
        MaxPrune::Count(count) => Some(count),
        MaxPrune::Percent(percent) => Some((total * usize::from(percent) / 100).max(ALWAYS)),
    }
}

/// What is known of the cluster's uid.
#[derive(Clone, Copy)]
enum Uid<'a> {
    NotAsked,
    /// Nothing where it may not be read: then it is not the expected one either.
    Is(Option<&'a str>),
}

fn check_expected(
    expected: &ExpectCluster,
    server: &str,
    context: Option<&str>,
    uid: Uid<'_>,
) -> Result<(), Failure> {
    let trim = |text: &str| text.trim_end_matches('/').to_owned();
    let differs = |wanted: &Option<String>, found: Option<&str>| {
        wanted.as_ref().filter(|wanted| found.is_none_or(|found| trim(wanted) != trim(found))).cloned()
    };
    let server_differs =
        differs(&expected.server, Some(server)).map(|wanted| ("server", wanted, server.to_owned()));
    let context_differs = differs(&expected.context, context)
        .map(|wanted| ("context", wanted, context.unwrap_or("none").to_owned()));
    let uid_differs = match uid {
        // Known only after the first answer.
        Uid::NotAsked => None,
        Uid::Is(uid) => differs(&expected.uid, uid).map(|wanted| {
            ("uid", wanted, uid.map_or_else(|| "not readable for this user".to_owned(), str::to_owned))
        }),
    };
    match server_differs.or(context_differs).or(uid_differs) {
        None => Ok(()),
        Some((what, wanted, found)) => {
            let message = format!("this is not the expected cluster: its {what} is {found}, not {wanted}");
            let failure = Failure::new(FailureClass::Refused, message);
            Err(failure.hint("use the right context, or correct `settings.expectCluster`"))
        }
    }
}

pub(super) fn connect_failure(error: ConnectError) -> Failure {
    let hint = error.hint();
    Failure::of(error.to_string(), &error).hint(hint)
}

/// Returns the failure for a request, with the hint that fits it.
pub(super) fn api_failure(message: impl Into<String>, error: &ApiError) -> Failure {
    let failure = Failure::of(message, error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
