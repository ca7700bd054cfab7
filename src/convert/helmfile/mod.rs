//! A helmfile as a desired-state file.
//!
//! Read once for each environment that it declares; what all have in common is the file, and what differs stands below
//! `environments`. Templates without code are evaluated; everything else is listed with its place.
//!
//! Source: helmfile `docs/`, `pkg/state/state.go`.

mod combine;
mod release;
mod source;
mod state;
mod template;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use super::document::{Table, Tree};
use crate::dsf::Files;
use crate::value::{Map, Value};
use release::{App, Context};
use source::{At, Entries, take};
use state::{Group, Reader};
use text::said;

/// A file, and what is not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// The file.
    pub file: Table,
    /// What was not converted, or means something else here: the place, and what stands there.
    pub findings: Vec<String>,
    /// The environments of the file; none where it is complete without one.
    pub environments: Vec<String>,
}

impl Converted {
    /// Tells whether there is no release in it, in no environment.
    pub fn is_empty(&self) -> bool {
        let has = |table: &Table| {
            let apps = table.iter().find(|(key, _)| key == "apps").and_then(|(_, apps)| apps.as_table());
            apps.is_some_and(|apps| !apps.is_empty())
        };
        let environments = self.file.iter().find(|(key, _)| key == "environments");
        let inside = environments.and_then(|(_, tree)| tree.as_table()).into_iter().flatten();
        !has(&self.file) && !inside.filter_map(|(_, tree)| tree.as_table()).any(has)
    }
}

/// What is found, once, in the order in which it is met.
#[derive(Debug, Default)]
struct Findings {
    list: Vec<String>,
}

impl Findings {
    fn at(&mut self, place: String, what: String) {
        let line = format!("{place}: {what}");
        if !self.list.contains(&line) {
            self.list.push(line);
        }
    }

    fn add(&mut self, at: &At, what: String) {
        self.at(at.place(), what);
    }
}

/// The environment that helmfile takes where none is named.
const DEFAULT: &str = "default";

/// Converts a helmfile. `out` is the folder of the file that is written, and starts where `path` does.
///
/// # Errors
/// A file that cannot be read or is no YAML.
pub fn helmfile(
    files: &dyn Files,
    path: &Path,
    out: &Path,
    context: &str,
    only: Option<&str>,
) -> Result<Converted, String> {
    let paths = state::files_of(files, path);
    let read = |findings: &mut Findings, environment: &str| -> Result<(Vec<Group>, Vec<String>), String> {
        let mut reader = Reader::new(files, findings, environment);
        let mut groups = Vec::new();
        for path in &paths {
            groups.extend(reader.read(path, &Map::new())?);
        }
        Ok((groups, reader.declared))
    };
    let (_, mut environments) = read(&mut Findings::default(), DEFAULT)?;
    if let Some(only) = only {
        if !environments.iter().any(|name| name == only) && only != DEFAULT {
            return Err(format!("{}: there is no environment `{only}`", path.display()));
        }
        environments = vec![only.to_owned()];
    }
    let mut findings = Findings::default();
    let mut tables = Vec::new();
    let names = if environments.is_empty() { vec![DEFAULT.to_owned()] } else { environments.clone() };
    for name in &names {
        let (groups, _) = read(&mut findings, name)?;
        tables.push((name.clone(), of_environment(files, groups, out, context, &mut findings)));
    }
    let single = only.is_some() || names.len() == 1;
    let file = if single {
        tables.pop().map(|(_, table)| table).unwrap_or_default()
    } else {
        combine::combined(tables)
    };
    Ok(Converted { file, findings: findings.list, environments: if single { Vec::new() } else { names } })
}

/// Returns the whole file for one environment.
fn of_environment(
    files: &dyn Files,
    groups: Vec<Group>,
    out: &Path,
    context: &str,
    findings: &mut Findings,
) -> Table {
    let several = groups.len() > 1;
    let count = i64::try_from(groups.len()).unwrap_or(i64::MAX);
    let (mut defaults, mut settings) = (Table::new(), Table::new());
    let (mut repos, mut long_repos) = (Table::new(), Table::new());
    let mut apps: Vec<App> = Vec::new();
    for (at, group) in groups.into_iter().enumerate() {
        let Group { dir, mut entries, scope } = group;
        let kube_context = scope.kube_context.clone();
        let own = defaults_of(&mut entries, &mut settings, findings);
        if let Some(name) =
            kube_context.or_else(|| take(&mut entries, "kubeContext").and_then(|value| value.text()))
        {
            put(&mut settings, "kubeContext", Tree::text(said(&name)));
        }
        let registries = repositories(&mut entries, &mut repos, &mut long_repos, findings);
        let common: Vec<(String, At)> =
            take(&mut entries, "commonLabels").map(|labels| labels.entries().to_vec()).unwrap_or_default();
        let templates = take(&mut entries, "templates").map(|map| map.entries().to_vec()).unwrap_or_default();
        let must = take(&mut entries, "missingFileHandler").and_then(|handler| handler.text());
        let namespace = take(&mut entries, "namespace");
        let releases = take(&mut entries, "releases");
        let reading = Context {
            files,
            dir: &dir,
            out,
            scope: &scope,
            registries: &registries,
            templates: &templates,
            must: must.is_none_or(|handler| handler == "Error"),
        };
        for release in releases.iter().flat_map(At::items) {
            let mut release = release.clone();
            if let source::Src::Map(entries) = &mut release.node {
                if let Some(namespace) = &namespace {
                    take(entries, "namespace");
                    entries.push(("namespace".to_owned(), namespace.clone()));
                }
                let mut labels: Entries = common.clone();
                if let Some(own) = take(entries, "labels") {
                    source::merge(&mut labels, own.entries().to_vec());
                }
                if let Some((_, first)) = labels.first() {
                    let (file, line) = (first.file.clone(), first.line);
                    entries.push(("labels".to_owned(), At { file, line, node: source::Src::Map(labels) }));
                }
            }
            let Some(mut app) = release::app(&release, &reading, findings) else { continue };
            if several {
                for (key, value) in &own {
                    if !app.entry.iter().any(|(name, _)| name == key) {
                        app.entry.push((key.clone(), value.clone()));
                    }
                }
                let priority = i64::try_from(at).unwrap_or(i64::MAX) - (count - 1);
                if priority != 0 {
                    app.entry.push(("priority".to_owned(), Tree::Leaf(Value::Int(priority))));
                }
            }
            apps.push(app);
        }
        if !several {
            defaults = own;
        }
        for (key, value) in &entries {
            release::rest(key, value, &mut |at, what| findings.add(at, what.to_owned()));
        }
    }
    let mut file: Table = vec![("context".to_owned(), Tree::text(said(context)))];
    let sections =
        [("settings", settings), ("defaults", defaults), ("helmRepos", repos), ("repositories", long_repos)];
    for (key, table) in sections {
        if !table.is_empty() {
            file.push((key.to_owned(), Tree::Table(table)));
        }
    }
    let spaces: BTreeSet<&str> = apps.iter().map(|app| app.namespace.as_str()).collect();
    let spaces = spaces.into_iter().map(|name| (name.to_owned(), Tree::Table(Vec::new()))).collect();
    file.push(("namespaces".to_owned(), Tree::Table(spaces)));
    file.push(("apps".to_owned(), Tree::Table(entries_of(apps, findings))));
    file
}

/// Names the apps, and keeps those needs that name one of them.
fn entries_of(apps: Vec<App>, findings: &mut Findings) -> Table {
    let known: Vec<(String, String)> =
        apps.iter().map(|app| (app.namespace.clone(), app.name.clone())).collect();
    let no = Tree::Leaf(Value::Bool(false));
    let off = |app: &&App| app.entry.iter().any(|(key, value)| key == "enabled" && *value == no);
    let disabled: Vec<String> =
        apps.iter().filter(off).map(|app| format!("{}/{}", app.namespace, app.name)).collect();
    let mut table = Table::new();
    for app in apps {
        let App { namespace, name, mut entry, needs } = app;
        let alone = known.iter().filter(|(_, other)| *other == name).count() == 1;
        let key = if alone { name.clone() } else { format!("{namespace}-{name}") };
        if !alone {
            entry.insert(0, ("name".to_owned(), Tree::text(said(&name))));
        }
        let mut kept = Vec::new();
        for (need, at) in needs {
            if disabled.contains(&need) {
                let what = "which is not installed: the need is left out";
                findings.add(&at, format!("release {name}: it needs {need}, {what}"));
            } else if known.iter().any(|(namespace, name)| need == format!("{namespace}/{name}")) {
                kept.push(Tree::text(said(&need)));
            } else {
                findings
                    .add(&at, format!("release {name}: it needs {need}, which is no release of the file"));
            }
        }
        if !kept.is_empty() {
            entry.push(("needs".to_owned(), Tree::List(kept)));
        }
        if table.iter().any(|(other, _)| *other == key) {
            findings.list.push(format!("{namespace}/{name}: named twice; the first one is written"));
            continue;
        }
        table.push((said(&key), Tree::Table(entry)));
    }
    table
}

/// Reads `helmDefaults`.
fn defaults_of(entries: &mut Entries, settings: &mut Table, findings: &mut Findings) -> Table {
    let Some(map) = take(entries, "helmDefaults") else { return Table::new() };
    let mut below = map.entries().to_vec();
    let (mut table, mut flags) = (Table::new(), Vec::new());
    let mut find = |at: &At, what: &str| findings.add(at, format!("helmDefaults: {what}"));
    release::shared(&mut below, &mut table, &mut flags, &mut find);
    if let Some(name) = take(&mut below, "kubeContext").and_then(|name| name.text()) {
        put(settings, "kubeContext", Tree::text(said(&name)));
    }
    for (key, value) in &below {
        release::rest(key, value, &mut find);
    }
    if !flags.is_empty() {
        table.push(("helmFlags".to_owned(), Tree::texts(flags)));
    }
    table
}

/// Reads `repositories`; returns the registries by their names.
/// Returns an address without user and password, if they stand in it in clear.
fn without_user(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@')?;
    let path = &rest[authority.len()..];
    (!user.contains(template::VARIABLE)).then(|| format!("{scheme}://{host}{path}"))
}

fn repositories(
    entries: &mut Entries,
    short: &mut Table,
    long: &mut Table,
    findings: &mut Findings,
) -> Vec<(String, String)> {
    let mut registries = Vec::new();
    for item in take(entries, "repositories").iter().flat_map(At::items) {
        let mut below = item.entries().to_vec();
        let text = |below: &mut Entries, key: &str| take(below, key).and_then(|value| value.text());
        let (Some(name), Some(url)) = (text(&mut below, "name"), text(&mut below, "url")) else {
            findings.add(item, "a repository without name or url".to_owned());
            continue;
        };
        let url = match without_user(&url) {
            None => url,
            Some(plain) => {
                let what = format!(
                    "the user and password in the address of repository {name}, which are not copied"
                );
                findings.add(item, format!("{what}: write `usernameFrom` and `passwordFrom`"));
                plain
            }
        };
        let oci = take(&mut below, "oci").and_then(|oci| oci.flag()) == Some(true);
        let mut form: Table = vec![("url".to_owned(), Tree::text(said(&url)))];
        for (key, ours) in [("username", "usernameFrom"), ("password", "passwordFrom")] {
            let Some(at) = take(&mut below, key) else { continue };
            let value = at.text().unwrap_or_default();
            let variable =
                value.strip_prefix(template::VARIABLE).and_then(|rest| rest.strip_suffix(template::END));
            match variable.and_then(|name| name.split(template::DEFAULT).next()) {
                Some(_) if oci => {
                    findings.add(&at, format!("{key} of registry {name}: log in with `helm registry login`"))
                }
                Some(variable) => form.push((ours.to_owned(), Tree::text(format!("ref+env://{variable}")))),
                None => findings
                    .add(&at, format!("{key} of repository {name}, which is not copied: write `{ours}`")),
            }
        }
        if let Some(file) = text(&mut below, "caFile") {
            form.push(("caFile".to_owned(), Tree::text(said(&file))));
        }
        for (key, value) in &below {
            release::rest(key, value, &mut |at, what| findings.add(at, format!("repository {name}: {what}")));
        }
        if oci {
            registries.push((name, url));
        } else if form.len() == 1 {
            put(short, &said(&name), Tree::text(said(&url)));
        } else {
            put(long, &said(&name), Tree::Table(form));
        }
    }
    registries
}

fn put(table: &mut Table, key: &str, value: Tree) {
    match table.iter_mut().find(|(name, _)| name == key) {
        Some((_, there)) => *there = value,
        None => table.push((key.to_owned(), value)),
    }
}
