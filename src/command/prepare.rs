//! From the command line to a plan: load, connect, read, render, observe, decide. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::arrivals::Arrivals;
use super::charts::ChartCache;
use super::cluster::{Cluster, described};
use super::clusters::{self, LeftOut, Part};
use super::content::{self, Rendered};
use super::given::ValueContext;
use super::load::{self, Files, Look};
use super::lock_file::LockFile;
use super::observer::{Kept, Observer, quota_namespaces, recorded_objects, remnants};
use super::programs::Programs;
use super::reconcile::Metrics;
use super::secrets::Secrets;
use super::select::Selection;
use super::sources::{self, Sources};
use super::timings::{self, Step};
use super::{app_hooks, checkout, moves, recovery, remote_secrets, remote_values, removals, rollback};
use crate::cluster::{self, ApiError, ConnectError, ConnectOptions};
use crate::dsf::state::{ChartSource, DesiredState, ExpectCluster, Moved, OnError, Release};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::{Signal, Stop};
use crate::host::{clock, random};
use crate::model::ReleaseKey;
use crate::observe::{self, Histories, NamespaceMarks, Scalers, Verify};
use crate::plan::app_hooks::HookInput;
use crate::plan::{self, Operation, OwnerBefore, Plan, PlanInput, Reason, SpaceKind, Stray};
use crate::text::plural;

/// What a verb was asked to work on.
#[derive(Clone)]
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
    /// Whose releases are adopted; nothing with every other operation.
    pub adopts_from: Option<OwnerBefore>,
    /// Whether the plan is what it would be if the releases of the file belonged to it already.
    pub as_if_owned: bool,
    /// The revision of the one selected release that is gone back to; nothing with every other operation.
    pub back_to: Option<u64>,
    /// Where the metrics of the run go, if anybody asked for them.
    pub metrics: Option<Arc<Metrics>>,
    /// The digest of what somebody agreed to; nothing else is carried out.
    pub approved: Option<String>,
    /// Asks for the end.
    pub stop: Stop,
    /// The cluster it is about, where the files name several.
    pub part: Chosen,
}

/// The cluster that a session is about: none until the files were read.
#[derive(Clone, Default)]
pub struct Chosen {
    part: Option<Part>,
    /// What was read to find it out; whoever is first uses it, and who comes later reads anew.
    read: Arc<Mutex<Option<load::Read>>>,
}

impl Chosen {
    /// Returns one for what was read already.
    pub(super) fn of(read: load::Read) -> Self {
        Self { part: None, read: Arc::new(Mutex::new(Some(read))) }
    }
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
    /// What belongs to other clusters; `state` is without it.
    left_out: LeftOut,
}

impl Session {
    /// Reads the files.
    pub(super) fn load(&self) -> Result<Loaded, Failure> {
        let _watch = timings::watch(Step::Load);
        let kept = self.part.read.lock().unwrap_or_else(PoisonError::into_inner).take();
        let read = match kept {
            Some(read) => read,
            None => self.files.read(&self.environment, Look::default())?,
        };
        let mut loaded = read.loaded.map_err(|problems| load::refused(&problems))?;
        let flag = self.connect.context.as_deref();
        let parts = clusters::parts(&loaded.state, flag);
        let ((Some(part), _) | (None, [part])) = (&self.part.part, parts.as_slice()) else {
            return Err(one_cluster());
        };
        let left_out = clusters::restrict(&mut loaded.state, part, flag);
        clusters::each_once(&loaded.state)?;
        let selected = self.selection.choose(&loaded.state.releases)?;
        let notes = loaded.notes.iter().map(ToString::to_string);
        let mut notes: Vec<String> = notes.chain(read.notes).collect();
        if let Some(flag) = flag.filter(|_| !left_out.releases.is_empty()) {
            let count = plural(left_out.releases.len(), "release");
            notes.push(format!(
                "{count} of other clusters left out: `--kube-context {flag}` means one cluster"
            ));
        }
        let eyaml = loaded.state.settings.eyaml.clone();
        let values = ValueContext {
            environment: self.files.subst_env_values.then(|| read.environment.clone()),
            secrets: Arc::new(Secrets::new(read.environment, eyaml, self.files.allow_exec)),
            recursive: self.files.helmsman_compat,
            remote: BTreeMap::new(),
            roots: read.roots.clone(),
        };
        let (state, values, roots) = (loaded.state, Arc::new(values), read.roots);
        Ok(Loaded { state, notes, values, roots, selected, left_out })
    }

    /// Returns the clusters that have something selected, and whether a failure on one keeps the run from the next.
    ///
    /// # Errors
    /// The files cannot be read, or the selection matches nothing on any cluster.
    pub(super) fn parts(&self) -> Result<(Vec<Part>, bool), Failure> {
        let read = self.files.read(&self.environment, Look::default())?;
        let state = match &read.loaded {
            Ok(loaded) => &loaded.state,
            Err(problems) => return Err(load::refused(problems)),
        };
        let flag = self.connect.context.as_deref();
        let mut parts = clusters::parts(state, flag);
        let stops = state.settings.on_error == OnError::Stop;
        if parts.len() > 1 && !self.selection.is_everything() {
            self.selection.choose(&state.releases)?;
            parts.retain(|part| {
                let mut state = state.clone();
                clusters::restrict(&mut state, part, flag);
                self.selection.choose(&state.releases).is_ok()
            });
        }
        *self.part.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok((parts, stops))
    }

    /// Returns a session that is about one of several clusters.
    pub(super) fn of_part(&self, part: &Part) -> Self {
        let part = Chosen { part: Some(part.clone()), read: Arc::clone(&self.part.read) };
        Self { part, ..self.clone() }
    }

    /// Connects to the cluster that the command line or the file names, and makes sure that it is the expected
    /// one before anything of it is read.
    pub(super) async fn open(&self, state: &DesiredState) -> Result<Cluster, Failure> {
        let _watch = timings::watch(Step::Connect);
        let mut options = self.connect.clone();
        let own = self.part.part.as_ref().and_then(|part| part.context.clone());
        // Releases that name their context say with it which cluster they expect.
        let nothing = ExpectCluster::default();
        let expected = if own.is_some() { &nothing } else { &state.settings.expect_cluster };
        options.described = described(state, &options, own.is_some());
        if options.context.is_none() {
            options.context = own.or_else(|| state.settings.kube_context.clone());
        }
        let connection = cluster::connect(&options).await.map_err(connect_failure)?;
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
        let mut input = self.gather(loaded, cluster, operation).await?;
        let watch = timings::watch(Step::Plan);
        let plan = plan::plan(&input);
        drop(watch);
        // Only hooks that run cost a look at their manifests.
        match app_hooks::look(self, loaded, cluster, &mut input, &plan).await {
            true => Ok(plan::plan(&input)),
            false => Ok(plan),
        }
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
            .filter(|name| !loaded.left_out.namespaces.contains(name))
            .collect();
        let reader = &cluster.reader;
        let failed = |error: ApiError| api_failure("the cluster cannot be read", &error);
        let marks: BTreeMap<String, NamespaceMarks> =
            namespaces.iter().map(|name| (name.clone(), marks_of(state, name))).collect();
        let watch = timings::watch(Step::Observe);
        let (mut histories, observed_namespaces) = futures::future::join(
            observe::histories(reader, namespaces.iter().cloned()),
            observe::namespaces(reader, &marks),
        )
        .await;
        drop(watch);
        let observed_namespaces = observed_namespaces.map_err(failed)?;
        if self.as_if_owned {
            histories.claim(releases.iter().map(|release| &release.key), &state.context);
        }
        let missing: BTreeSet<String> = observed_namespaces
            .iter()
            .filter(|namespace| !namespace.exists)
            .map(|namespace| namespace.name.clone())
            .collect();

        let mut rendered = match (operation, self.back_to) {
            (Operation::Destroy | Operation::Adopt, _) => BTreeMap::new(),
            (Operation::Reconcile, Some(revision)) => {
                rollback::recorded(&loaded.selected, &histories, revision)
            }
            (Operation::Reconcile, None) => self.render_all(&releases, loaded, cluster, &histories).await,
        };
        let _watch = timings::watch(Step::Observe);
        let incomplete = rendered.values().any(Result::is_err);
        let removal_withheld = removals::withheld(state, operation, incomplete, self.allow_prune);
        let moves = moves::of_run(state, &loaded.selected);
        moves::read_histories(cluster, &moves, &mut histories).await;
        let strays = self.strays(loaded, cluster, &mut histories, operation, &mut notes, &moves).await?;
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
        let (checkout, untold) = checkout::look(self, &state.context, operation, &wanted, &strays).await;
        notes.extend(untold);
        Ok(PlanInput {
            cluster: cluster.identity.clone(),
            context: state.context.clone(),
            operation,
            removal_withheld,
            most_removals: removals::most(state, self.allow_prune, wanted.len() + strays.len()),
            adopts_from: self.adopts_from.clone(),
            really_new: self.really_new,
            partial: !self.selection.is_everything(),
            reverse_removals: state.settings.reverse_delete,
            now: clock::now(),
            salt: random::bytes(),
            recovery,
            skip_pending: self.files.skip_pending || state.settings.skip_pending,
            scheduled: self.files.scheduled,
            policy: self.files.policy,
            checkout,
            hooks: HookInput { allow_exec: self.files.allow_exec, ..HookInput::default() },
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
        cluster: Option<&Cluster>,
        releases: impl Iterator<Item = &'r Release> + Clone,
    ) -> ChartCache {
        let mut cache = ChartCache::within(loaded.roots.clone());
        let is_remote = |release: &&Release| !matches!(release.chart.source, ChartSource::Local(_));
        let remote = releases.clone().filter(is_remote);
        let local = releases.clone().filter_map(|release| match &release.chart.source {
            ChartSource::Local(path) => Some(path),
            _ => None,
        });
        let incomplete = cache.incomplete(local);
        let nothing_verified = !releases.clone().any(sources::is_verified);
        if remote.clone().next().is_none() && incomplete.is_empty() && nothing_verified {
            return cache;
        }
        let lock = LockFile::beside(&self.files.states).map_err(|failure| failure.to_string());
        let known = &loaded.state.repositories;
        let (secrets, environment) = (&loaded.values.secrets, &self.environment);
        let secrets = remote_secrets::of_repositories(secrets, environment, cluster, known.values()).await;
        let sources =
            lock.and_then(|lock| Sources::new(environment, known, secrets, lock, &self.files.fetching));
        match sources {
            Ok(sources) => {
                cache.add(sources.fetch(remote).await);
                cache.complete(&sources, incomplete.iter()).await;
                cache.verify(&sources, releases).await;
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
        let past = |release: &Release| {
            let history = histories.get(&release.key);
            history.map(|history| content::Past::of(history, context)).unwrap_or_default()
        };
        let jobs = self.jobs(releases, loaded, Some(cluster), past).await;
        let _watch = timings::watch(Step::Render);
        content::render_all(cluster, jobs).await
    }

    /// Returns what is rendered of the enabled releases; `past` is what a chart may know of earlier revisions.
    pub(super) async fn jobs(
        &self,
        releases: &[&Release],
        loaded: &Loaded,
        cluster: Option<&Cluster>,
        past: impl Fn(&Release) -> content::Past,
    ) -> Vec<content::Job> {
        let _watch = timings::watch(Step::Fetch);
        let enabled = releases.iter().filter(|release| release.enabled).copied();
        let mut cache = self.charts(loaded, cluster, enabled.clone()).await;
        let (values, environment) = (&loaded.values, &self.environment);
        let mut values = remote_secrets::gathered(values, environment, cluster, enabled.clone()).await;
        let remote = remote_values::fetch(enabled.clone(), self.files.fetching.offline).await;
        if !remote.is_empty() {
            Arc::make_mut(&mut values).remote = remote;
        }
        let job = |release: &Release| content::Job {
            release: release.clone(),
            chart: cache.chart(release),
            past: past(release),
            context: Arc::clone(&values),
            programs: self.files.allow_exec.then(|| Programs::new(&self.stop)),
        };
        enabled.map(job).collect()
    }

    /// Finds releases of this context that the file does not have. A selection finds none.
    async fn strays(
        &self,
        loaded: &Loaded,
        cluster: &Cluster,
        histories: &mut Histories,
        operation: Operation,
        notes: &mut Vec<String>,
        moves: &[Moved],
    ) -> Result<Vec<Stray>, Failure> {
        let state = &loaded.state;
        if operation == Operation::Destroy {
            // Releases of the file that still have their old names: they go with the others.
            let old_names = moves.iter().map(|moved| moved.from.clone());
            return strays_of(state, cluster, histories, old_names).await;
        }
        let looks = operation == Operation::Reconcile && self.selection.is_everything();
        if !looks || !state.context_is_set || self.files.keep_untracked {
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
        // Two contexts may well lead to one cluster: what is in the files is never taken for something that left them.
        for key in found.iter().filter(|key| loaded.left_out.releases.contains(key)) {
            notes.push(format!(
                "{key} is on this cluster, and the files have it on another one: it is left alone; to remove it here, \
                 uninstall it by hand"
            ));
        }
        found.retain(|key| !loaded.left_out.releases.contains(key));
        // Nor is the old name of one that moves there: that run has it move.
        let moves_there = |key: &ReleaseKey| {
            let mut moved = state.moved.iter().filter(|moved| moved.from == *key);
            moved.any(|moved| loaded.left_out.releases.contains(&moved.to))
        };
        found.retain(|key| !moves_there(key));
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

fn one_cluster() -> Failure {
    let failure =
        Failure::new(FailureClass::Usage, "the files name several clusters, and one is needed here");
    failure.hint("name it with `--kube-context`")
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
