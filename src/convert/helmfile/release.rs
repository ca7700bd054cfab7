//! A release of a helmfile as an app.
//!
//! Source: helmfile `docs/releases.md`, `pkg/state/state.go` (`ReleaseSpec`, `HelmSpec`).

use std::path::{Component, Path, PathBuf};

use super::Findings;
use super::source::{At, Entries, Src, merge, take};
use super::template::{LOST, Scope, render};
use super::text::{said, said_value};
use crate::convert::document::{Table, Tree};
use crate::dsf::{Files, PathKind};
use crate::value::{Map, Value};
use crate::values::merge_maps;
use crate::yaml;

/// Keys that say how helmfile or helm go about it, and change nothing of what is deployed.
const WAYS: [&str; 24] = [
    "cleanupOnFail",
    "recreatePods",
    "skipDeps",
    "skipRefresh",
    "suppressDiff",
    "suppressOutputLineRegex",
    "trackMode",
    "trackTimeout",
    "trackLogs",
    "trackFailedLogs",
    "trackKinds",
    "skipKinds",
    "trackResources",
    "kubedogQPS",
    "kubedogBurst",
    "trackFailOnError",
    "helmStuckGrace",
    "waitRetries",
    "disableAutoDetectedKubeVersionForDiff",
    "disableValidation",
    "disableOpenAPIValidation",
    "disableValidationOnInstall",
    "resolveOCIVersions",
    "syncReleaseLabels",
];

/// What a release is read with.
pub(super) struct Context<'a> {
    pub(super) files: &'a dyn Files,
    /// The folder that its paths start at.
    pub(super) dir: &'a Path,
    /// The folder of the file that is written.
    pub(super) out: &'a Path,
    pub(super) scope: &'a Scope,
    /// Registries that stand behind names of repositories.
    pub(super) registries: &'a [(String, String)],
    pub(super) templates: &'a [(String, At)],
    /// Whether a values file has to be there, unless the release says otherwise.
    pub(super) must: bool,
}

/// An app.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) entry: Table,
    /// The releases that it needs, `NAMESPACE/NAME`, and where it says so.
    pub(super) needs: Vec<(String, At)>,
}

/// Returns the app; nothing for an entry that is none, which is told.
pub(super) fn app(at: &At, context: &Context<'_>, findings: &mut Findings) -> Option<App> {
    let mut entries = at.entries().to_vec();
    inherit(&mut entries, context, findings);
    let Some(name) =
        take(&mut entries, "name").and_then(|name| name.text()).filter(|name| !name.contains(LOST))
    else {
        findings.add(at, "a release whose name is not known".to_owned());
        return None;
    };
    let mut scope = context.scope.clone();
    let text = |key: &str| entries.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.text());
    let namespace = text("namespace").unwrap_or_default();
    let labels = entries.iter().find(|(key, _)| key == "labels").map(|(_, labels)| labels.to_value());
    scope.release = [
        ("Name".to_owned(), Value::from(name.as_str())),
        ("Namespace".to_owned(), Value::from(namespace.as_str())),
        ("Chart".to_owned(), Value::from(text("chart").unwrap_or_default())),
        ("Labels".to_owned(), labels.unwrap_or_default()),
    ]
    .into();
    for (_, value) in &mut entries {
        fill(value, &scope, findings);
    }
    let mut draft =
        Draft { name, at, context, scope: &scope, findings, entry: Table::new(), flags: Vec::new() };
    let needs = draft.all(&mut entries)?;
    let (name, entry) = (draft.name, draft.entry);
    let namespace = entry.iter().find(|(key, _)| key == "namespace").and_then(|(_, value)| match value {
        Tree::Leaf(Value::Str(text)) => Some(text.clone()),
        _ => None,
    })?;
    Some(App { namespace, name, entry, needs })
}

/// Lays a release over the templates that it names.
fn inherit(entries: &mut Entries, context: &Context<'_>, findings: &mut Findings) {
    let Some(list) = take(entries, "inherit") else { return };
    let mut base = Entries::new();
    let one = matches!(list.node, Src::Map(_)).then(|| vec![list.clone()]);
    for item in one.as_deref().unwrap_or(list.items()) {
        let mut item_entries = item.entries().to_vec();
        let name = take(&mut item_entries, "template").and_then(|name| name.text()).unwrap_or_default();
        let except: Vec<String> =
            take(&mut item_entries, "except").iter().flat_map(At::items).filter_map(At::text).collect();
        match context.templates.iter().find(|(known, _)| *known == name) {
            Some((_, template)) => {
                let kept =
                    template.entries().iter().filter(|(key, _)| !except.contains(key)).cloned().collect();
                merge(&mut base, kept);
            }
            None => findings.add(item, format!("the template `{name}`, which is not there")),
        }
    }
    merge(&mut base, std::mem::take(entries));
    *entries = base;
}

/// Puts what is known of the release into its texts.
fn fill(at: &mut At, scope: &Scope, findings: &mut Findings) {
    match &mut at.node {
        Src::Scalar(Value::Str(text), _) if text.contains("{{") => {
            let rendered = render(text, scope);
            *text = rendered.text;
            let place = at.place();
            for (_, what) in rendered.lost {
                findings.at(place.clone(), what);
            }
        }
        Src::Scalar(..) => {}
        Src::List(items) => items.iter_mut().for_each(|item| fill(item, scope, findings)),
        Src::Map(entries) => entries.iter_mut().for_each(|(_, value)| fill(value, scope, findings)),
    }
}

struct Draft<'a> {
    name: String,
    at: &'a At,
    context: &'a Context<'a>,
    scope: &'a Scope,
    findings: &'a mut Findings,
    entry: Table,
    /// Flags of Helm.
    flags: Vec<String>,
}

impl Draft<'_> {
    fn put(&mut self, key: &str, value: Tree) {
        self.entry.push((key.to_owned(), value));
    }

    fn find(&mut self, at: &At, what: &str) {
        self.findings.add(at, format!("release {}: {what}", self.name));
    }

    fn all(&mut self, entries: &mut Entries) -> Option<Vec<(String, At)>> {
        let at = self.at;
        let namespace =
            take(entries, "namespace").and_then(|value| value.text()).filter(|text| !text.is_empty());
        let namespace = namespace.unwrap_or_else(|| {
            self.find(at, "it names no namespace, so that of the kubeconfig counts; `default` is written");
            "default".to_owned()
        });
        self.put("namespace", Tree::text(said(&namespace)));
        let enabled = self.enabled(entries);
        self.put("enabled", Tree::Leaf(Value::Bool(enabled)));
        let version = take(entries, "version");
        let Some(chart) =
            take(entries, "chart").and_then(|chart| chart.text()).filter(|chart| !chart.contains(LOST))
        else {
            self.find(at, "its chart is not known, so it is left out");
            return None;
        };
        self.chart(&chart, version.as_ref());
        if let Some(text) = take(entries, "description").and_then(|value| value.text()) {
            self.put("description", Tree::text(said(&text)));
        }
        self.labels(take(entries, "labels").as_ref());
        self.values(entries);
        self.sets(entries);
        let needs = self.needs(take(entries, "needs").as_ref(), &namespace);
        if let Some(context) = take(entries, "kubeContext").and_then(|value| value.text()) {
            self.put("kubeContext", Tree::text(said(&context)));
        }
        shared(entries, &mut self.entry, &mut self.flags, &mut |at, what| {
            self.findings.add(at, format!("release {}: {what}", self.name));
        });
        for (key, value) in std::mem::take(entries) {
            rest(&key, &value, &mut |at, what| {
                self.findings.add(at, format!("release {}: {what}", self.name))
            });
        }
        if !self.flags.is_empty() {
            let flags = Tree::texts(std::mem::take(&mut self.flags));
            self.put("helmFlags", flags);
        }
        Some(needs)
    }

    fn enabled(&mut self, entries: &mut Entries) -> bool {
        let installed = take(entries, "installed");
        let wanted = installed.as_ref().is_none_or(|installed| {
            installed.flag().unwrap_or_else(|| {
                self.find(installed, "`installed` is not known: it stands as true");
                true
            })
        });
        let Some(condition) = take(entries, "condition") else { return wanted };
        let text = condition.text().unwrap_or_default();
        let mut value = Some(&Value::Null).filter(|_| false);
        for (at, key) in text.split('.').enumerate() {
            value = if at == 0 { self.scope.values.get(key) } else { value.and_then(|value| value.get(key)) };
        }
        let holds = match text.as_str() {
            "true" => true,
            "false" => false,
            _ => value.and_then(Value::as_bool).unwrap_or(false),
        };
        if !holds {
            self.find(
                &condition,
                &format!("`condition: {text}` does not hold: helmfile leaves the release alone; here `enabled = false` uninstalls it if it belongs to the context"),
            );
        }
        wanted && holds
    }

    fn chart(&mut self, chart: &str, version: Option<&At>) {
        let (first, rest) = chart.split_once('/').unwrap_or((chart, ""));
        let registry =
            self.context.registries.iter().find(|(name, _)| name == first).map(|(_, url)| url.clone());
        let depth = chart.split('/').count();
        let local = chart.starts_with("./")
            || chart.starts_with("../")
            || chart.starts_with('/')
            || (!chart.contains("://") && !(2..=3).contains(&depth))
            || (registry.is_none()
                && self.context.files.kind(&self.context.dir.join(chart)) == PathKind::Folder);
        let text = if let Some(registry) = registry {
            format!("oci://{}/{rest}", registry.trim_start_matches("oci://").trim_end_matches('/'))
        } else if local {
            self.path(chart)
        } else {
            chart.to_owned()
        };
        if text.starts_with("git::") || text.contains("git@") {
            let at = self.at.clone();
            self.find(&at, &format!("its chart is in a git repository: {text}"));
        }
        self.put("chart", Tree::text(said(&text)));
        match version.and_then(At::text).filter(|version| !version.contains(LOST)) {
            Some(version) => self.put("version", Tree::text(said(&version))),
            None if !local && !text.rsplit('/').next().unwrap_or_default().contains([':', '@']) => {
                self.put("version", Tree::text("latest"));
            }
            None => {}
        }
    }

    /// Returns a path of the helmfile as the written file says it.
    fn path(&self, path: &str) -> String {
        let full = self.context.dir.join(path);
        let inside = full.strip_prefix(self.context.out).map(Path::to_owned);
        let kept = inside.unwrap_or(full);
        let mut parts = PathBuf::new();
        for part in kept.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir
                    if matches!(parts.components().next_back(), Some(Component::Normal(_))) =>
                {
                    parts.pop();
                }
                other => parts.push(other),
            }
        }
        let text = parts.display().to_string();
        let bare = !text.starts_with("../") && !text.starts_with('/');
        if bare { format!("./{text}") } else { text }
    }

    fn labels(&mut self, labels: Option<&At>) {
        let mut table = Table::new();
        for (key, value) in labels.iter().flat_map(|labels| labels.entries()) {
            let Some(text) = value.text() else { continue };
            if key == "group" {
                self.put("group", Tree::text(said(&text)));
            }
            table.push((said(key), Tree::text(said(&text))));
        }
        if !table.is_empty() {
            self.put("labels", Tree::Table(table));
        }
    }

    /// Values files as long as nothing else came before, then one table: a later one wins over an earlier one, and in our
    /// files tables win over files.
    fn values(&mut self, entries: &mut Entries) {
        let must = take(entries, "missingFileHandler").and_then(|handler| handler.text());
        let must = must.map_or(self.context.must, |handler| handler == "Error");
        let prefix = take(entries, "valuesPathPrefix").and_then(|prefix| prefix.text()).unwrap_or_default();
        let lists = [take(entries, "values"), take(entries, "valuesTemplate")];
        let (mut files, mut inline) = (Vec::new(), Map::new());
        for item in lists.iter().flatten().flat_map(At::items) {
            if let Src::Map(_) = item.node {
                if let Value::Map(map) = item.to_value() {
                    merge_maps(&mut inline, map);
                }
                continue;
            }
            let Some(path) = item.text() else { continue };
            if path.contains(LOST) {
                continue;
            }
            let is_plain = path.starts_with("https://") || path.starts_with("http://");
            if is_plain && inline.is_empty() && !path.contains('?') {
                files.push(Tree::text(said(&path)));
                continue;
            }
            if path.contains("://") || path.contains("git::") {
                self.find(item, &format!("the values file {path}, which is not on this machine"));
                continue;
            }
            let path = format!("{prefix}{path}");
            let full = self.context.dir.join(&path);
            if !must && self.context.files.kind(&full) == PathKind::Missing {
                self.find(
                    item,
                    &format!("the values file {path} is not there, and need not be: it is left out"),
                );
                continue;
            }
            if !path.ends_with(".gotmpl") && inline.is_empty() && !self.refers(&full) {
                files.push(Tree::text(said(&self.path(&path))));
                continue;
            }
            if let Some(map) = self.content(item, &path, &full) {
                merge_maps(&mut inline, map);
            }
        }
        if !files.is_empty() {
            self.put("valuesFiles", Tree::List(files));
        }
        let mut secrets = Vec::new();
        for item in take(entries, "secrets").iter().flat_map(At::items) {
            match item.text().filter(|path| !path.contains("://") && !path.contains(LOST)) {
                Some(path) => secrets.push(Tree::text(said(&self.path(&path)))),
                None => self.find(item, "a secrets file that is not on this machine"),
            }
        }
        if !secrets.is_empty() {
            if !inline.is_empty() {
                let at = self.at.clone();
                self.find(&at, "secrets files win over values here only where these stand in `valuesFiles`, not in `values`");
            }
            self.put("secretsFiles", Tree::List(secrets));
        }
        if !inline.is_empty() {
            let tree = said_value(&Value::Map(inline));
            self.put("values", tree);
        }
    }

    /// Tells whether a values file has references, which helmfile resolves there and we only in our own file.
    fn refers(&self, path: &Path) -> bool {
        self.context.files.read(path).is_ok_and(|bytes| memchr::memmem::find(&bytes, b"ref+").is_some())
    }

    /// Returns the content of a values file that has to stand in ours.
    fn content(&mut self, at: &At, path: &str, full: &Path) -> Option<Map> {
        let text = self.context.files.read(full).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text else {
            self.find(at, &format!("the values file {path} cannot be read"));
            return None;
        };
        let mut text = text;
        if path.ends_with(".gotmpl") {
            let rendered = render(&text, self.scope);
            if !rendered.lost.is_empty() {
                for (line, what) in rendered.lost {
                    let what = format!("release {}: {what}", self.name);
                    self.findings.at(format!("{}:{line}", full.display()), what);
                }
                self.find(
                    at,
                    &format!("the values file {path} is a template with code: none of it is taken"),
                );
                return None;
            }
            text = rendered.text;
        }
        match yaml::read_typed(text.as_bytes()) {
            Ok(Value::Map(map)) => Some(map),
            Ok(_) => None,
            Err(error) => {
                self.find(at, &format!("the values file {path}: {error}"));
                None
            }
        }
    }

    fn sets(&mut self, entries: &mut Entries) {
        let (mut set, mut set_string, mut set_file) = (Table::new(), Table::new(), Table::new());
        for (key, text) in [("set", false), ("setTemplate", false), ("setString", true)] {
            for item in take(entries, key).iter().flat_map(At::items) {
                let mut parts = item.entries().to_vec();
                let Some(name) = take(&mut parts, "name").and_then(|name| name.text()) else { continue };
                let value = take(&mut parts, "value")
                    .and_then(|value| value.text())
                    .filter(|value| !value.is_empty());
                let file = take(&mut parts, "file").and_then(|file| file.text());
                let list = take(&mut parts, "values");
                let into = if text { &mut set_string } else { &mut set };
                if let Some(value) = value {
                    into.push((said(&name), Tree::text(said(&value))));
                } else if let Some(file) = file {
                    set_file.push((said(&name), Tree::text(said(&self.path(&file)))));
                } else if let Some(list) = list {
                    let items: Vec<String> = list
                        .items()
                        .iter()
                        .filter_map(At::text)
                        .map(|item| said(&item.replace(',', "\\,")))
                        .collect();
                    let flag = if text { "--set-string" } else { "--set" };
                    self.flags.push(format!("{flag}={}={{{}}}", said(&name), items.join(",")));
                }
                for (key, value) in &parts {
                    self.find(value, &format!("`{key}` of a `set` entry"));
                }
            }
        }
        for (key, table) in [("set", set), ("setString", set_string), ("setFile", set_file)] {
            if !table.is_empty() {
                self.put(key, Tree::Table(table));
            }
        }
    }

    /// `needs` names releases with or without a namespace and a cluster.
    fn needs(&mut self, list: Option<&At>, namespace: &str) -> Vec<(String, At)> {
        let mut needs = Vec::new();
        for item in list.iter().flat_map(|list| list.items()) {
            let Some(text) = item.text().filter(|text| !text.contains(LOST)) else { continue };
            let parts: Vec<&str> = text.split('/').collect();
            match parts.as_slice() {
                [name] => needs.push((format!("{namespace}/{name}"), item.clone())),
                ["", name] => needs.push((format!("default/{name}"), item.clone())),
                [space, name] => needs.push((format!("{space}/{name}"), item.clone())),
                _ => self.find(item, &format!("`needs: {text}`, a release of another cluster")),
            }
        }
        needs
    }
}

/// Reads the keys that releases and `helmDefaults` share.
pub(super) fn shared(
    entries: &mut Entries,
    into: &mut Table,
    flags: &mut Vec<String>,
    find: &mut dyn FnMut(&At, &str),
) {
    let mut put = |key: &str, value: Tree| match into.iter_mut().find(|(name, _)| name == key) {
        Some((_, there)) => *there = value,
        None => into.push((key.to_owned(), value)),
    };
    let yes = || Tree::Leaf(Value::Bool(true));
    for key in [
        "wait",
        "waitForJobs",
        "atomic",
        "rollbackOnFailure",
        "force",
        "takeOwnership",
        "skipCRDs",
        "reuseValues",
        "skipSchemaValidation",
        "devel",
        "verify",
        "enableDNS",
        "insecureSkipTLSVerify",
        "plainHttp",
        "forceConflicts",
        "deleteWait",
    ] {
        let Some(at) = take(entries, key) else { continue };
        let Some(flag) = at.flag() else {
            find(&at, &format!("`{key}` is neither true nor false"));
            continue;
        };
        match (key, flag) {
            ("wait", flag) => put("wait", Tree::Leaf(Value::Bool(flag))),
            (_, false) => {}
            ("waitForJobs", true) => flags.push("--wait-for-jobs".to_owned()),
            ("atomic" | "rollbackOnFailure", true) => {
                put("wait", yes());
                put("onFailure", Tree::text("rollback"));
            }
            ("force", true) => {
                find(
                    &at,
                    "`force: true` lets this release re-create objects that cannot change: `force = [\"replace\"]`",
                );
                put("force", Tree::texts(["replace"]));
            }
            ("takeOwnership", true) => put("adopt", Tree::text("any")),
            ("skipCRDs", true) => put("crds", Tree::text("skip")),
            ("reuseValues", true) => flags.push("--reuse-values".to_owned()),
            ("skipSchemaValidation", true) => flags.push("--skip-schema-validation".to_owned()),
            (_, true) => find(&at, &format!("`{key}: true`")),
        }
    }
    if let Some(at) = take(entries, "timeout") {
        match at.number() {
            Some(seconds) => put("timeout", Tree::Leaf(Value::Int(seconds))),
            None => find(&at, "`timeout` is no number"),
        }
    }
    if let Some(at) = take(entries, "historyMax") {
        match at.number() {
            Some(count) => put("maxHistory", Tree::Leaf(Value::Int(count))),
            None => find(&at, "`historyMax` is no number"),
        }
    }
    if let Some(at) = take(entries, "createNamespace").filter(|at| at.flag() == Some(false)) {
        find(&at, "`createNamespace: false`: the namespaces of the file are made here");
    }
    entries.retain(|(key, value)| {
        let told = !WAYS.contains(&key.as_str()) || is_empty(value);
        if !told {
            find(value, &format!("`{key}` has no counterpart, and changes nothing of what is deployed"));
        }
        !WAYS.contains(&key.as_str())
    });
}

fn is_empty(at: &At) -> bool {
    at.is_null() || at.flag() == Some(false) || (at.items().is_empty() && matches!(at.node, Src::List(_)))
}

/// Tells what nothing was made of.
pub(super) fn rest(key: &str, value: &At, find: &mut dyn FnMut(&At, &str)) {
    if is_empty(value) {
        return;
    }
    if key != "hooks" {
        find(value, &format!("`{key}`"));
        return;
    }
    for hook in value.items() {
        let text = |key: &str| hook.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value);
        let events: Vec<String> =
            text("events").iter().flat_map(|events| events.items()).filter_map(At::text).collect();
        let command = text("command").and_then(At::text).unwrap_or_default();
        find(hook, &format!("the hook `{command}` at {}", events.join(", ")));
    }
}
