//! The raw shape to the desired state: fills in every default and checks what must fit together.

mod access;
mod charts;
mod flags;
mod graph;
mod hooks;

use super::files::Files;
use super::hooks::RawHooks;
use super::keys;
use super::names;
use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::raw::{
    At, Given, RawApp, RawCertificates, RawFile, RawNamespaces, RawRepository, RawSettings, TextMap,
};
use super::report::Report;
use super::state::{
    Adopt, Crds, DesiredState, ExpectCluster, ForceKind, Lock, LockQueue, MaxPrune, Namespace, OnError,
    OnFailure, OnInterrupted, OnRemove, Patience, Recover, Release, Repository, Sequencing, SetEntry,
    SetFile, Settings, Values, WaitFor,
};
use super::substitute::refused;
use super::tree::{Text, join};
use crate::model::{DEFAULT_CONTEXT, ReleaseKey};
use crate::text::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Helm's own default: `helm upgrade --timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// Helm's own default: `helm upgrade --history-max`.
const DEFAULT_MAX_HISTORY: usize = 10;
const DEFAULT_PARALLEL: usize = 4;
const DEFAULT_RUN_HISTORY: usize = 20;
const DEFAULT_LOCK_WAIT: Duration = Duration::from_secs(300);
const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(30);
const DEFAULT_FOREIGN_PENDING_AFTER: Duration = Duration::from_secs(2 * 3600);
const DEFAULT_MAX_PRUNE: MaxPrune = MaxPrune::Percent(30);
/// Every cluster has it, and Helmsman lets apps use it without declaring it.
const SYSTEM_NAMESPACE: &str = "kube-system";

/// What resolving works with besides the raw shape.
pub(super) struct Surroundings<'a> {
    pub(super) files: &'a dyn Files,
    /// The folder against which paths in the file of a span are relative.
    pub(super) dir: &'a dyn Fn(Span) -> &'a Path,
    /// The folders that paths may not leave.
    pub(super) roots: Option<&'a [PathBuf]>,
    /// Whether charts are not looked for.
    pub(super) skip_charts: bool,
    /// Where to point for what is missing from the file as a whole.
    pub(super) start: Span,
}

/// Makes the complete state. It is only meaningful when no problem was reported.
pub(super) fn resolve(raw: RawFile, around: &Surroundings<'_>, report: &mut Report<'_>) -> DesiredState {
    let mut resolver = Resolver { around, report };
    let context_is_set = raw.context.as_ref().is_some_and(|raw| !raw.value.value.is_empty());
    let context = resolver.context(raw.context);
    let defaults = Defaults::of(&raw.settings);
    let settings = resolver.settings(raw.settings, raw.certificates);
    let declared = matches!(&raw.namespaces, RawNamespaces::Declared(names) if !names.is_empty());
    let mut namespaces = resolver.namespaces(raw.namespaces);
    let repositories = resolver.repositories(&raw.repositories, &raw.preconfigured);
    let mut releases = Vec::with_capacity(raw.apps.len());
    let mut needs = Vec::with_capacity(raw.apps.len());
    for (app, mut raw) in raw.apps {
        needs.push(std::mem::take(&mut raw.needs));
        let path = join("apps", app.value.shown());
        let space = if declared { Some(&mut namespaces) } else { None };
        releases.push(resolver.release(&path, app, raw, space, &repositories, &defaults));
    }
    let main = settings.kube_context.as_deref();
    resolver.identities(&releases, main);
    resolver.needs(&mut releases, needs, main);
    let moved = resolver.moved(&releases, raw.moved);
    let releases = releases.into_iter().map(|draft| draft.release).collect();
    let metadata = plain(raw.metadata);
    DesiredState { context, context_is_set, metadata, settings, namespaces, repositories, releases, moved }
}

fn plain(map: TextMap) -> BTreeMap<String, String> {
    map.into_iter().map(|(key, value)| (key.value.value, value.value.value)).collect()
}

/// Defaults of apps that settings give.
struct Defaults {
    timeout: Duration,
    max_history: usize,
    on_failure: OnFailure,
    hooks: RawHooks,
}

impl Defaults {
    fn of(raw: &RawSettings) -> Self {
        let timeout = raw.timeout.as_ref().map(|at| at.value).filter(|timeout| !timeout.is_zero());
        let history = raw.global_max_history.as_ref().and_then(|at| usize::try_from(at.value).ok());
        Defaults {
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT),
            max_history: history.filter(|history| *history > 0).unwrap_or(DEFAULT_MAX_HISTORY),
            on_failure: raw.on_failure.as_ref().map_or(OnFailure::Keep, |at| at.value),
            hooks: raw.hooks.clone(),
        }
    }
}

/// A release while it is checked against the others.
struct Draft {
    release: Release,
    path: String,
    /// What to mark for its identity.
    span: Span,
    /// Whether the identity is usable: otherwise it takes no part in further checks.
    named: bool,
}

struct Resolver<'a, 'b, 'c, 'd> {
    around: &'a Surroundings<'d>,
    report: &'b mut Report<'c>,
}

impl Resolver<'_, '_, '_, '_> {
    fn problem(&mut self, code: Code, path: impl Into<String>, message: impl Into<String>, span: Span) {
        self.report.problem(Problem::new(code, path, message, span));
    }

    fn context(&mut self, raw: Given<Text>) -> String {
        let Some(raw) = raw.filter(|raw| !raw.value.value.is_empty()) else {
            return DEFAULT_CONTEXT.to_owned();
        };
        // It is stored as a label of each release record.
        if let Err(why) = names::label_value(&raw.value.value) {
            self.problem(Code::BadName, "context", format!("it is stored as a label: {why}"), raw.span);
        }
        raw.value.value
    }

    fn settings(&mut self, raw: RawSettings, certificates: RawCertificates) -> Settings {
        let cluster = self.cluster_access(&raw, certificates);
        let eyaml = self.eyaml(&raw);
        let parallel = raw.parallel.as_ref().map(|at| (usize::try_from(at.value).unwrap_or(0), at.span));
        if let Some((0, span)) = parallel {
            self.problem(Code::BadValue, "settings.parallel", "at least one release must run at once", span);
        }
        let run_history = raw.run_history.as_ref().map(|at| (usize::try_from(at.value), at.span));
        if let Some((Err(_), span)) = run_history {
            self.problem(Code::BadValue, "settings.runHistory", "it cannot be negative", span);
        }
        if let Some(at) = raw.global_max_history.as_ref().filter(|at| at.value < 0) {
            self.problem(Code::BadValue, "settings.globalMaxHistory", "it cannot be negative", at.span);
        }
        if let Some(at) = raw.lease_duration.as_ref().filter(|at| at.value < Duration::from_secs(1)) {
            self.problem(
                Code::BadDuration,
                "settings.leaseDuration",
                "it must be at least one second",
                at.span,
            );
        }
        if let Some(at) = raw.foreign_pending_after.as_ref()
            && at.value == Patience::For(Duration::ZERO)
        {
            let path = "settings.foreignPendingAfter";
            self.problem(Code::BadDuration, path, "no operation would ever have time to finish", at.span);
        }
        if let Some(at) = raw.storage_backend.as_ref().filter(|at| !at.value.value.is_empty()) {
            let form = match at.value.value.as_str() {
                "secret" => None,
                "configmap" => Some(&keys::STORAGE_CONFIGMAP),
                _ => Some(&keys::STORAGE_OTHER),
            };
            let problem = form.and_then(|form| refused(form, "settings.storageBackend", at.span));
            self.report.problems.extend(problem);
        }
        let or = |given: &Given<bool>, default| given.as_ref().map_or(default, |at| at.value);
        Settings {
            kube_context: non_empty(raw.kube_context),
            expect_cluster: ExpectCluster {
                server: non_empty(raw.expect_server),
                uid: non_empty(raw.expect_uid),
                context: non_empty(raw.expect_context),
            },
            parallel: parallel.map_or(DEFAULT_PARALLEL, |(count, _)| count),
            run_history: run_history.and_then(|(count, _)| count.ok()).unwrap_or(DEFAULT_RUN_HISTORY),
            lock: value_or(raw.lock, Lock::Lease),
            lock_wait: value_or(raw.lock_wait, DEFAULT_LOCK_WAIT),
            lock_queue: value_or(raw.lock_queue, LockQueue::All),
            recover: value_or(raw.recover, Recover::Auto),
            lease_duration: value_or(raw.lease_duration, DEFAULT_LEASE_DURATION),
            foreign_pending_after: value_or(
                raw.foreign_pending_after,
                Patience::For(DEFAULT_FOREIGN_PENDING_AFTER),
            ),
            on_interrupted: value_or(raw.on_interrupted, OnInterrupted::RollForward),
            fence_taken_over: or(&raw.fence_taken_over, false),
            on_error: value_or(raw.on_error, OnError::Continue),
            max_prune: value_or(raw.max_prune, DEFAULT_MAX_PRUNE),
            reverse_delete: or(&raw.reverse_delete, true),
            labels_authoritative: or(&raw.labels_authoritative, false),
            windows: raw.windows,
            webhooks: raw.webhooks,
            skip_pending: or(&raw.skip_pending, false),
            cluster,
            eyaml,
        }
    }

    fn namespaces(&mut self, raw: RawNamespaces) -> BTreeMap<String, Namespace> {
        let mut out = BTreeMap::new();
        let missing = match raw {
            RawNamespaces::Missing => Some("`namespaces` is missing"),
            RawNamespaces::Declared(ref names) if names.is_empty() => Some("`namespaces` is empty"),
            RawNamespaces::Declared(_) | RawNamespaces::Unreadable => None,
        };
        if let Some(message) = missing {
            let problem = Problem::new(Code::MissingKey, "", message, self.around.start);
            let hint = "name every namespace that an app uses; an empty entry is enough";
            self.report.problem(problem.hint(hint));
        }
        let RawNamespaces::Declared(raw) = raw else { return out };
        for (name, raw) in raw {
            let path = join("namespaces", name.value.shown());
            if let Err(why) = names::namespace(&name.value.value) {
                self.problem(Code::BadName, path.as_str(), why, name.span);
            }
            self.label_map(&raw.labels, &format!("{path}.labels"), true);
            self.label_map(&raw.annotations, &format!("{path}.annotations"), false);
            let namespace = Namespace {
                protected: raw.protected.is_some_and(|at| at.value),
                labels: plain(raw.labels),
                annotations: plain(raw.annotations),
                limits: raw.limits,
                quotas: raw.quotas,
                origin: Some(self.report.sources.location(name.span)),
            };
            out.insert(name.value.value, namespace);
        }
        out
    }

    fn label_map(&mut self, map: &TextMap, path: &str, values_too: bool) {
        for (key, value) in map {
            let path = join(path, key.value.shown());
            if let Err(why) = names::label_key(&key.value.value) {
                self.problem(Code::BadName, path.as_str(), why, key.span);
            }
            if values_too && let Err(why) = names::label_value(&value.value.value) {
                self.problem(Code::BadName, path.as_str(), why, value.span);
            }
        }
    }

    fn repositories(
        &mut self,
        raw: &[RawRepository],
        preconfigured: &[At<Text>],
    ) -> BTreeMap<String, Repository> {
        let sources = self.report.sources;
        let known = preconfigured.iter().map(|name| {
            let origin = sources.location(name.span);
            (name.value.value.clone(), Repository::known_to_helm(origin))
        });
        let mut out: BTreeMap<String, Repository> = known.collect();
        for raw in raw {
            let path = join(raw.section, raw.name.value.shown());
            self.repository_url(&path, raw.name.span, &raw.url);
            let ca_file = raw.ca_file.as_ref().and_then(|file| self.file(&path, "caFile", file, true));
            let mut part = |key: &str, file: &Given<Text>| self.file(&path, key, file.as_ref()?, true);
            let identity = part("certFile", &raw.identity.0).zip(part("keyFile", &raw.identity.1));
            let text = |given: &Given<Text>| given.as_ref().map(|text| text.value.value.clone());
            let repository = Repository {
                url: raw.url.value.value.clone(),
                ca_file,
                identity,
                username_from: text(&raw.username_from),
                password_from: text(&raw.password_from),
                origin: sources.location(raw.name.span),
            };
            out.insert(raw.name.value.value.clone(), repository);
        }
        out
    }

    /// Looks at the URL of a repository, which may hold a password.
    fn repository_url(&mut self, path: &str, at: Span, url: &At<Text>) {
        let (message, hint) = match url.value.value.split_once("://").map(|(scheme, _)| scheme) {
            Some("http" | "https" | "file") => return,
            Some("s3" | "gs" | "az") => {
                self.report
                    .problems
                    .extend(refused(&keys::BUCKET_FILE, path, at).map(|problem| problem.conceal(true)));
                return;
            }
            Some("oci") => ("a registry is no repository", "write the whole `oci://…` under `chart`"),
            _ => ("not the URL of a repository", "it starts with https://"),
        };
        self.report.problem(Problem::new(Code::BadValue, path, message, at).conceal(true).hint(hint));
    }

    fn release(
        &mut self,
        path: &str,
        app: At<Text>,
        raw: RawApp,
        namespaces: Option<&mut BTreeMap<String, Namespace>>,
        repositories: &BTreeMap<String, Repository>,
        defaults: &Defaults,
    ) -> Draft {
        let sources = self.report.sources;
        // A value that could not be read is a problem of its own; it should not hide others.
        let unreadable = raw.enabled.is_none() && raw.origins.iter().any(|(key, _)| *key == "enabled");
        let enabled = raw.enabled.as_ref().map_or(unreadable, |at| at.value);
        if raw.enabled.is_none() && !unreadable {
            let message = "`enabled` is not given, so the release should not exist".to_owned();
            self.report.note(NoteCode::NotEnabled, path, message, app.span);
        }
        let (name, span) = self.release_name(path, &app, raw.name);
        let namespace = self.release_namespace(path, app.span, raw.namespace, namespaces);
        let named = name.is_some() && namespace.is_some();
        let values_files: Vec<At<Text>> = raw
            .values_file
            .into_iter()
            .filter(|file| !file.value.value.is_empty())
            .chain(raw.values_files)
            .collect();
        let flags = self.helm_flags(path, app.value.shown(), raw.helm_flags, enabled);
        // Of two versions on its command line Helm takes the last one, and Helmsman writes the flags last.
        let version = flags.version.or(raw.version);
        let chart = self.chart(path, app.span, raw.chart, version, enabled, repositories);
        let verify = self.verify(path, raw.verify, enabled);
        let secrets = raw.secrets_files.into_iter().filter(|file| !file.value.value.is_empty());
        let secrets =
            secrets.filter_map(|file| self.file(path, "secretsFiles", &file, enabled)).collect::<Vec<_>>();
        let own_files = values_files
            .into_iter()
            .filter_map(|file| self.values_file(path, &file, enabled))
            .collect::<Vec<_>>();
        let values = Values {
            files: own_files.into_iter().chain(flags.values_files).collect(),
            secrets,
            inline: raw.values,
            set: self.set(path, "set", raw.set),
            set_string: self.set(path, "setString", raw.set_string),
            set_file: self.set_file(path, raw.set_file, enabled),
            flags: flags.set,
        };
        self.label_map(&raw.labels, &format!("{path}.labels"), true);
        let max_history = raw.max_history.map_or(0, |at| {
            usize::try_from(at.value).unwrap_or_else(|_| {
                self.problem(Code::BadValue, format!("{path}.maxHistory"), "it cannot be negative", at.span);
                0
            })
        });
        let timeout = raw.timeout.map(|at| at.value).filter(|timeout| !timeout.is_zero());
        let timeout = timeout.or(flags.timeout).unwrap_or(defaults.timeout);
        let hooks = self.hooks(raw.hooks, &defaults.hooks, timeout, enabled);
        let max_failures = raw.max_failures.and_then(|at| {
            let count = usize::try_from(at.value).ok().filter(|count| *count > 0);
            if count.is_none() {
                self.problem(
                    Code::BadValue,
                    format!("{path}.maxFailures"),
                    "it has to be 1 or more",
                    at.span,
                );
            }
            count
        });
        let post_renderer = raw.post_renderer.and_then(|raw| self.post_renderer(path, raw, enabled));
        let origins = raw.origins.into_iter().map(|(key, span)| (key.to_owned(), sources.location(span)));
        let own_namespace = namespace.clone().unwrap_or_default();
        let release = Release {
            key: ReleaseKey::new(namespace.unwrap_or_default(), name.unwrap_or_default()),
            origin: sources.location(app.span),
            origins: origins.collect(),
            app: app.value.value,
            enabled,
            description: raw.description.map(|at| at.value.value).unwrap_or_default(),
            group: non_empty(raw.group),
            kube_context: non_empty(raw.kube_context),
            labels: plain(raw.labels),
            chart,
            verify,
            values,
            reuse_values: flags.reuse_values,
            sub_notes: flags.sub_notes,
            skip_schema: flags.skip_schema,
            priority: value_or(raw.priority, 0),
            needs: Vec::new(),
            wait_for: raw
                .wait_for
                .into_iter()
                .map(|object| WaitFor {
                    kind: object.kind,
                    name: object.name,
                    namespace: object.namespace.unwrap_or_else(|| own_namespace.clone()),
                })
                .collect(),
            ready: raw.ready,
            wait: value_or(raw.wait, flags.wait),
            timeout,
            max_failures,
            hooks,
            post_renderer,
            max_history: [max_history, flags.max_history.unwrap_or(0), defaults.max_history]
                .into_iter()
                .find(|max| *max > 0)
                .unwrap_or(DEFAULT_MAX_HISTORY),
            no_hooks: value_or(raw.no_hooks, flags.no_hooks),
            test: value_or(raw.test, false),
            crds: value_or(raw.crds, if flags.skip_crds { Crds::Skip } else { Crds::Create }),
            sequencing: value_or(raw.sequencing, Sequencing::None),
            on_failure: value_or(
                raw.on_failure,
                if flags.rolls_back { OnFailure::Rollback } else { defaults.on_failure },
            ),
            protected: value_or(raw.protected, false),
            force: match raw.force {
                Some(at) => at.value.into_iter().collect(),
                None if flags.force => ForceKind::ALL.into(),
                None => BTreeSet::new(),
            },
            allow_data_loss: raw.allow_data_loss,
            on_remove: value_or(raw.on_remove, OnRemove::Uninstall),
            adopt: value_or(raw.adopt, if flags.takes_over { Adopt::Any } else { Adopt::Never }),
            create_only: raw.create_only,
            field_conflicts: raw.field_conflicts,
            ignore: raw.ignore,
            restart_on_config: value_or(raw.restart_on_config, false),
            unstick: value_or(raw.unstick, false),
        };
        Draft { release, path: path.to_owned(), span, named }
    }

    fn release_name(&mut self, path: &str, app: &At<Text>, raw: Given<Text>) -> (Option<String>, Span) {
        let given = raw.filter(|raw| !raw.value.value.is_empty());
        let (name, path) = match &given {
            Some(given) => (given, format!("{path}.name")),
            None => (app, path.to_owned()),
        };
        match names::release(&name.value.value) {
            Ok(()) => (Some(name.value.value.clone()), name.span),
            Err(why) => {
                let problem = Problem::new(Code::BadName, path, why, name.span);
                let hint = given.is_none().then(|| "or give the release another name with `name`".to_owned());
                self.report.problem(problem.maybe_hint(hint));
                (None, name.span)
            }
        }
    }

    /// The namespace of a release, which must be one of `namespaces` unless there are none at all.
    fn release_namespace(
        &mut self,
        path: &str,
        app: Span,
        raw: Given<Text>,
        namespaces: Option<&mut BTreeMap<String, Namespace>>,
    ) -> Option<String> {
        let Some(raw) = raw.filter(|raw| !raw.value.value.is_empty()) else {
            self.problem(Code::MissingKey, path, "`namespace` is missing", app);
            return None;
        };
        let name = raw.value.value.clone();
        let path = format!("{path}.namespace");
        if let Err(why) = names::namespace(&name) {
            self.problem(Code::BadName, path, why, raw.span);
            return None;
        }
        let Some(namespaces) = namespaces else { return Some(name) };
        if name == SYSTEM_NAMESPACE {
            namespaces.entry(name.clone()).or_default();
        } else if !namespaces.contains_key(&name) {
            let message = format!("namespace `{}` is not declared", raw.value.shown());
            let near = self.report.did_you_mean(&name, namespaces.keys().map(String::as_str));
            let hint = near.unwrap_or_else(|| "add it under `namespaces`".to_owned());
            self.report.problem(Problem::new(Code::UnknownNamespace, path, message, raw.span).hint(hint));
        }
        Some(name)
    }

    fn set(&mut self, path: &str, key: &str, map: TextMap) -> Vec<SetEntry> {
        self.set_paths(path, key, &map);
        let entries = map.into_iter();
        entries.map(|(path, text)| SetEntry { path: path.value.value, text: text.value.value }).collect()
    }

    fn set_file(&mut self, path: &str, map: TextMap, enabled: bool) -> Vec<SetFile> {
        self.set_paths(path, "setFile", &map);
        let mut out = Vec::new();
        for (at, file) in map {
            let key = join("setFile", at.value.shown());
            let from_cwd = self.beside_or_in_working_folder(&format!("{path}.{key}"), &file);
            let found = from_cwd.or_else(|| self.file(path, &key, &file, enabled));
            if let Some(file) = found {
                out.push(SetFile { path: at.value.value, file });
            }
        }
        out
    }

    fn set_paths(&mut self, path: &str, key: &str, map: &TextMap) {
        for (at, _) in map {
            if at.value.value.is_empty() {
                self.problem(Code::BadValue, format!("{path}.{key}"), "a path of a value is empty", at.span);
            }
        }
    }
}

fn value_or<T>(given: Given<T>, default: T) -> T {
    given.map_or(default, |at| at.value)
}

fn non_empty(given: Given<Text>) -> Option<String> {
    given.map(|at| at.value.value).filter(|text| !text.is_empty())
}
