//! Renders the releases of a run and makes them into what is planned with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::cluster::Cluster;
use super::given::{ValueContext, error_text, user_values};
use super::programs::Programs;
use super::secrets;
use crate::chart::Chart;
use crate::chart::coalesce::Merger;
use crate::chart::reuse::{LastValues, reuse_values};
use crate::cluster::{ApiError, ListOptions};
use crate::dsf::state::Release;
use crate::failure;
use crate::history::{self, History, Status};
use crate::host::{clock, random};
use crate::manifest::{self, Document, SplitRule};
use crate::model::{GroupVersionKind, ReleaseKey};
use crate::plan::{self, Place, Reason};
use crate::render::capabilities::{Capabilities, KubeVersion};
use crate::render::lookup::{LookupKey, Lookups};
use crate::render::{self, ReleaseInfo, RenderedHook, RenderedRelease, Request};
use crate::value::json::{Numbers, from_slice};
use crate::value::{Map, Value};
use crate::values::ReuseValues;

/// How often a chart is rendered again because its `lookup`s asked for something new. Charts that look up what
/// other lookups told need two or three rounds.
const LOOKUP_ROUNDS: usize = 8;
/// Releases that one thread renders with the same parsed templates.
const CHUNK: usize = 16;

/// A release to be rendered.
pub(super) struct Job {
    pub(super) release: Release,
    pub(super) chart: Result<Arc<Chart>, Reason>,
    pub(super) past: Past,
    pub(super) context: Arc<ValueContext>,
    /// What runs a post-renderer; nothing where programs are not allowed.
    pub(super) programs: Option<Programs>,
}

/// What a chart may know of earlier revisions.
#[derive(Clone, Debug)]
pub(super) struct Past {
    next: Turn,
    /// The deployed revision, if the newest one is.
    current: Option<Current>,
    /// What the revision that an upgrade starts from was given.
    given: Given,
}

/// Which revision a chart is rendered for.
#[derive(Clone, Copy, Debug)]
struct Turn {
    revision: i64,
    is_install: bool,
}

/// The deployed revision as it was rendered.
#[derive(Clone, Debug)]
struct Current {
    turn: Turn,
    manifest: String,
    hooks: Vec<history::Hook>,
    config: Map,
    chart: (String, String),
}

/// What the revision that an upgrade starts from was given.
#[derive(Clone, Debug, Default)]
struct Given {
    defaults: Option<Map>,
    config: Map,
}

impl Default for Past {
    fn default() -> Self {
        Self { next: Turn { revision: 1, is_install: true }, current: None, given: Given::default() }
    }
}

impl Past {
    /// Returns what the records say. A release that has to be taken over gets a new revision in any case, so it is
    /// not compared with the one there is.
    pub(super) fn of(history: &History, context: &str) -> Self {
        let latest = history.latest().filter(|latest| latest.release.info.status != Status::Uninstalled);
        let number = |revision: u64| i64::try_from(revision).unwrap_or(i64::MAX);
        // An install always renders as revision 1, also where older records count on (Helm `pkg/action/install.go`).
        let turn = |revision: u64, is_install: bool| Turn {
            revision: if is_install { 1 } else { number(revision) },
            is_install,
        };
        let next = turn(history.next_revision(), latest.is_none() || history.baseline().is_none());
        let deployed = latest.filter(|latest| {
            latest.release.info.status == Status::Deployed && latest.context() == Some(context)
        });
        let current = deployed.map(|record| {
            let release = &record.release;
            let chart = release.chart.as_ref();
            let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
            Current {
                turn: turn(release.version, release.info.first_deployed == release.info.last_deployed),
                manifest: release.manifest.clone(),
                hooks: release.hooks.clone(),
                config: release.config.clone(),
                chart: (text(chart.map(history::Chart::name)), text(chart.map(history::Chart::version))),
            }
        });
        // Helm asks the revision that it upgrades from (`pkg/action/upgrade.go`, `prepareUpgrade`).
        let given = history.baseline().map(|record| Given {
            defaults: record.release.chart.as_ref().and_then(|chart| chart.values.clone()),
            config: record.release.config.clone(),
        });
        Self { next, current, given: given.unwrap_or_default() }
    }

    /// The values of earlier revisions.
    fn configs(&self) -> impl Iterator<Item = &Map> {
        self.current.iter().map(|current| &current.config).chain([&self.given.config])
    }
}

impl Current {
    /// Tells whether the same chart with the same values is asked for, and it rendered to this.
    fn equals(&self, chart: &Chart, config: &Map, rendered: &RenderedRelease) -> bool {
        self.chart == (chart.metadata.name.clone(), chart.metadata.version.clone())
            && plan::changed_values(&self.config, config).is_empty()
            && (self.manifest == rendered.manifest
                || plan::body::stored_objects(&self.manifest)
                    == plan::body::stored_objects(&rendered.manifest))
            && !plan::hooks_differ(
                &self.hooks,
                &rendered.hooks.iter().map(stored_hook).collect::<Vec<history::Hook>>(),
            )
    }
}

/// What a release renders to.
pub(super) struct Rendered {
    /// The revision that it is taken from, where nothing was rendered.
    pub(super) back_to: Option<u64>,
    pub(super) chart: history::Chart,
    pub(super) config: Map,
    pub(super) manifest: String,
    pub(super) notes: String,
    pub(super) hooks: Vec<history::Hook>,
    /// In install order.
    pub(super) objects: Vec<Json>,
    /// The template of each of them, and the document that it stands in.
    documents: Vec<(String, Arc<str>)>,
    pub(super) crds: Vec<Json>,
    /// Whether the chart's templates ask which APIs the server has.
    pub(super) asks_for_apis: bool,
}

impl Rendered {
    /// Returns what a record holds, to be applied again; nothing if it has no chart. Source: Helm
    /// `pkg/action/rollback.go`, `prepareRollback`.
    pub(super) fn recorded(record: &history::Record) -> Option<Self> {
        let release = &record.release;
        let (mut objects, mut documents) = (Vec::new(), Vec::new());
        for text in manifest::split(&release.manifest, SplitRule::default()) {
            let document = Document::parse(text).ok()?;
            if !document.object.is_object() {
                continue;
            }
            let source = text.lines().find_map(|line| line.strip_prefix("# Source: "));
            let shared: Arc<str> = Arc::from(text);
            for object in manifest::flatten(document.object) {
                objects.push(object);
                documents.push((source.unwrap_or_default().to_owned(), Arc::clone(&shared)));
            }
        }
        let again =
            |hook: &history::Hook| history::Hook { last_run: history::HookRun::default(), ..hook.clone() };
        Some(Self {
            back_to: Some(release.version),
            chart: release.chart.clone()?,
            config: release.config.clone(),
            manifest: release.manifest.clone(),
            notes: release.info.notes.clone(),
            hooks: release.hooks.iter().map(again).collect(),
            objects,
            documents,
            crds: Vec::new(),
            asks_for_apis: false,
        })
    }

    /// Returns where an object was rendered, by its place in the install order.
    pub(super) fn place(&self, at: usize) -> Option<Place> {
        let (file, text) = self.documents.get(at)?;
        // Records hold the templates of the chart itself, not those of charts inside.
        let below = file.strip_prefix(self.chart.name()).and_then(|rest| rest.strip_prefix('/'));
        let template = self.chart.templates.iter().find(|file| Some(file.name.as_str()) == below);
        let template = template.and_then(|file| std::str::from_utf8(&file.data).ok()).unwrap_or_default();
        Some(Place { file: file.clone(), text: Arc::clone(text), template: Arc::from(template) })
    }
}

/// Renders every job, several side by side.
pub(super) async fn render_all(
    cluster: &Cluster,
    jobs: Vec<Job>,
) -> BTreeMap<ReleaseKey, Result<Rendered, Reason>> {
    let capabilities = Arc::new(capabilities(cluster));
    let mut open: Vec<Attempt> = jobs.into_iter().map(Attempt::new).collect();
    let mut done = BTreeMap::new();
    for _ in 0..LOOKUP_ROUNDS {
        let mut chunks = Vec::new();
        while !open.is_empty() {
            let rest = open.split_off(open.len().min(CHUNK));
            let chunk = std::mem::replace(&mut open, rest);
            let capabilities = Arc::clone(&capabilities);
            chunks.push(tokio::task::spawn_blocking(move || render_chunk(chunk, &capabilities)));
        }
        let mut again = Vec::new();
        for chunk in futures::future::join_all(chunks).await {
            let Ok(attempts) = chunk else { continue };
            for attempt in attempts {
                match attempt {
                    Tried::Done(key, result) => drop(done.insert(key, *result)),
                    Tried::Asks(attempt) => again.push(*attempt),
                }
            }
        }
        if again.is_empty() {
            return done;
        }
        for attempt in &mut again {
            attempt.answer(cluster).await;
        }
        open = again;
    }
    for attempt in open {
        let message = format!("its `lookup`s still asked for something new after {LOOKUP_ROUNDS} rounds");
        done.insert(attempt.job.release.key.clone(), Err(Reason::NotRendered { message }));
    }
    done
}

/// Renders every job without a cluster: every object that a chart looks up is absent.
pub(super) fn render_offline(
    jobs: Vec<Job>,
    seed: [u8; 32],
) -> BTreeMap<ReleaseKey, Result<Rendered, Reason>> {
    let capabilities = Capabilities::offline();
    let offline = |job: Job| Attempt { lookups: Lookups::offline(), seed, ..Attempt::new(job) };
    let tried = render_chunk(jobs.into_iter().map(offline).collect(), &capabilities);
    let done = tried.into_iter().filter_map(|tried| match tried {
        Tried::Done(key, result) => Some((key, *result)),
        // Nothing is missing where nobody can be asked.
        Tried::Asks(_) => None,
    });
    done.collect()
}

/// A job with the answers that its lookups have so far.
struct Attempt {
    job: Job,
    lookups: Lookups,
    seed: [u8; 32],
    /// The values that the file gives: read once, however often the chart is rendered.
    given: Option<Result<Map, String>>,
}

enum Tried {
    Done(ReleaseKey, Box<Result<Rendered, Reason>>),
    Asks(Box<Attempt>),
}

impl Attempt {
    fn new(job: Job) -> Self {
        // The same random numbers in each round: only the answers may differ.
        Self { job, lookups: Lookups::live(), seed: random::bytes(), given: None }
    }

    /// Fetches what the last round asked for.
    async fn answer(&mut self, cluster: &Cluster) {
        let questions: Vec<LookupKey> = self.lookups.missing().cloned().collect();
        for question in questions {
            let answer = look_up(cluster, &question).await;
            self.lookups.answer(question, answer);
        }
    }
}

fn render_chunk(chunk: Vec<Attempt>, capabilities: &Capabilities) -> Vec<Tried> {
    let keys: Vec<ReleaseKey> = chunk.iter().map(|attempt| attempt.job.release.key.clone()).collect();
    let work = |renderer: &mut render::Renderer| -> Vec<Tried> {
        chunk.into_iter().map(|attempt| render_one(renderer, attempt, capabilities)).collect()
    };
    render::with_renderer(work).unwrap_or_else(|error| {
        let reason = Reason::NotRendered { message: error.to_string() };
        keys.into_iter().map(|key| Tried::Done(key, Box::new(Err(reason.clone())))).collect()
    })
}

fn render_one(renderer: &mut render::Renderer, mut attempt: Attempt, capabilities: &Capabilities) -> Tried {
    let release = &attempt.job.release;
    let key = release.key.clone();
    let chart = match &attempt.job.chart {
        Ok(chart) => Arc::clone(chart),
        Err(reason) => return Tried::Done(key, Box::new(Err(reason.clone()))),
    };
    let context = &attempt.job.context;
    let given = attempt.given.get_or_insert_with(|| user_values(&release.values, context)).clone();
    let given =
        given.and_then(|config| with_last_values(release.reuse_values, chart, &attempt.job.past, config));
    let (chart, config) = match given {
        Ok(given) => given,
        Err(message) => return Tried::Done(key, Box::new(Err(Reason::NotRendered { message }))),
    };
    for former in attempt.job.past.configs() {
        secrets::learn_former(&config, former);
    }
    let post_render = match (&release.post_renderer, &attempt.job.programs) {
        (None, _) => None,
        (Some(command), Some(programs)) => {
            Some(programs.post_render(release, command, context.secrets.variables()))
        }
        (Some(command), None) => {
            let what = format!("the post-renderer of app {}", release.app);
            let reason = Reason::ExecNotAllowed { what, command: command.shown.clone() };
            return Tried::Done(key, Box::new(Err(reason)));
        }
    };
    let options = render::Options {
        post_render,
        skip_schema: release.skip_schema,
        sub_notes: release.sub_notes,
        ..render::Options::default()
    };
    let seed = attempt.seed;
    let mut render = |turn: Turn| {
        let request = Request {
            chart: &chart,
            values: &config,
            release: ReleaseInfo {
                name: key.name.clone(),
                namespace: key.namespace.clone(),
                revision: turn.revision,
                is_install: turn.is_install,
                is_upgrade: !turn.is_install,
            },
            capabilities,
            options: options.clone(),
            now: clock::now_local(),
            seed,
        };
        renderer.release(&request, &mut attempt.lookups)
    };
    let mut result = render(attempt.job.past.next);
    // A chart that shows the number of its revision differs at each one. It is as desired if it is what it would be
    // as the revision that is deployed.
    if let (Ok(rendered), Some(current)) = (&result, &attempt.job.past.current)
        && !current.equals(&chart, &config, rendered)
        && let Ok(again) = render(current.turn)
        && current.equals(&chart, &config, &again)
    {
        result = Ok(again);
    }
    if attempt.lookups.missing().next().is_some() {
        return Tried::Asks(Box::new(attempt));
    }
    let rendered = result
        .map_err(|error| {
            let text = error.to_string();
            let causes = failure::chain(&text, std::error::Error::source(&error));
            std::iter::once(text).chain(causes).collect::<Vec<_>>().join(": ")
        })
        .and_then(|rendered| finish(rendered, config))
        .map_err(|message| Reason::NotRendered { message });
    Tried::Done(key, Box::new(rendered))
}

/// Returns the chart and the values to render with, after what the last revision was given had its say.
fn with_last_values(
    mode: ReuseValues,
    chart: Arc<Chart>,
    past: &Past,
    config: Map,
) -> Result<(Arc<Chart>, Map), String> {
    if mode == ReuseValues::Reset || past.next.is_install {
        return Ok((chart, config));
    }
    let mut own = Chart::clone(&chart);
    let last = LastValues { defaults: past.given.defaults.as_ref(), config: &past.given.config };
    let values = reuse_values(mode, &mut own, last, &config, &mut Merger::default())
        .map_err(|error| error_text(&error))?;
    Ok((Arc::new(own), values))
}

fn finish(rendered: RenderedRelease, config: Map) -> Result<Rendered, String> {
    let mut objects = Vec::new();
    let mut documents = Vec::new();
    for manifest in rendered.manifests.iter().filter(|manifest| manifest.document.object.is_object()) {
        let text: Arc<str> = Arc::from(manifest.document.text.as_str());
        for object in manifest::flatten(manifest.document.object.clone()) {
            objects.push(object);
            documents.push((manifest.path.clone(), Arc::clone(&text)));
        }
    }
    let mut crds = Vec::new();
    for (path, text) in &rendered.crds {
        for text in manifest::split(text, SplitRule::default()) {
            let document =
                Document::parse(text).map_err(|error| format!("{path}: {}", error_text(&error)))?;
            crds.extend(Some(document.object).filter(Json::is_object));
        }
    }
    Ok(Rendered {
        back_to: None,
        asks_for_apis: asks_for_apis(&rendered.chart),
        chart: history::stored_chart(&rendered.chart),
        config,
        notes: rendered.notes,
        hooks: rendered.hooks.iter().map(stored_hook).collect(),
        objects,
        documents,
        crds,
        manifest: rendered.manifest,
    })
}

/// Tells whether what a chart renders to can depend on the APIs that the server has.
fn asks_for_apis(chart: &Chart) -> bool {
    let asks = |file: &crate::chart::File| memchr::memmem::find(&file.data, b"APIVersions").is_some();
    chart.templates.iter().any(asks) || chart.dependencies.iter().any(asks_for_apis)
}

/// Returns a hook as a record stores it before it has run.
fn stored_hook(hook: &RenderedHook) -> history::Hook {
    history::Hook {
        name: hook.document.head.name.clone(),
        kind: hook.document.head.kind.clone(),
        path: hook.path.clone(),
        manifest: hook.document.text.clone(),
        events: hook.hook.events.iter().map(|event| event.as_str().to_owned()).collect(),
        weight: hook.hook.weight,
        delete_policies: hook.hook.delete_policies.iter().map(|policy| policy.as_str().to_owned()).collect(),
        output_log_policies: hook
            .hook
            .output_log_policies
            .iter()
            .map(|policy| policy.as_str().to_owned())
            .collect(),
        ..history::Hook::default()
    }
}

fn capabilities(cluster: &Cluster) -> Capabilities {
    let discovery = &cluster.discovery;
    let (major, minor) = discovery.major_minor();
    Capabilities {
        kube_version: KubeVersion::live(discovery.git_version(), major, minor),
        api_versions: discovery.api_versions(),
        ..Capabilities::offline()
    }
}

/// Answers a `lookup`: the object, a list for an empty name, and an empty mapping for what is not there
/// (Helm `pkg/engine/lookup_func.go`).
async fn look_up(cluster: &Cluster, question: &LookupKey) -> Result<Value, String> {
    let gvk = GroupVersionKind::new(&question.api_version, &question.kind);
    let failed = |error: ApiError| error_text(&error);
    let resource = cluster.discovery.resource(&gvk).map_err(failed)?;
    let namespace = Some(question.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let answer = if question.name.is_empty() {
        let items =
            cluster.reader.list(resource, namespace, &ListOptions::default()).await.map_err(failed)?;
        serde_json::json!({
            "apiVersion": question.api_version,
            "kind": format!("{}List", question.kind),
            "metadata": {},
            "items": items,
        })
    } else {
        let found = cluster.reader.get(resource, namespace, &question.name).await.map_err(failed)?;
        found.unwrap_or_else(|| serde_json::json!({}))
    };
    from_slice(answer.to_string().as_bytes(), Numbers::Typed).map_err(|error| error.to_string())
}

/// Tells whether a manifest's own text keeps the object when its release goes.
pub(super) fn says_keep(object: &Json) -> bool {
    let policy = object["metadata"]["annotations"][crate::model::RESOURCE_POLICY_ANNOTATION].as_str();
    policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}
