//! The files of a helmfile for one environment: parts, bases, values of environments, files inside.
//!
//! Source: helmfile `docs/values-and-merging.md`, `docs/environments.md`, `pkg/state/create.go`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Findings;
use super::source::{At, Entries, Src, merge, take};
use super::template::{Scope, render};
use crate::dsf::{Files, PathKind};
use crate::value::Map;
use crate::values::merge_maps;
use crate::yaml;

/// Files inside files, one below the other, that are followed.
const MAX_DEPTH: usize = 16;

/// One file with its bases, and without the files inside it.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The folder that its paths start at.
    pub(super) dir: PathBuf,
    pub(super) entries: Entries,
    pub(super) scope: Scope,
}

/// Reads files for one environment.
pub(super) struct Reader<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) findings: &'a mut Findings,
    pub(super) environment: &'a str,
    /// The environments that are declared anywhere, in the order in which they are met.
    pub(super) declared: Vec<String>,
    open: Vec<PathBuf>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a dyn Files, findings: &'a mut Findings, environment: &'a str) -> Self {
        Self { files, findings, environment, declared: Vec::new(), open: Vec::new() }
    }

    /// Reads a file and those inside it, in the order in which helmfile works on them: those inside come first.
    ///
    /// # Errors
    /// A file that cannot be read or is no YAML.
    pub(super) fn read(&mut self, path: &Path, given: &Map) -> Result<Vec<Group>, String> {
        if self.open.len() >= MAX_DEPTH || self.open.iter().any(|open| open == path) {
            return Err(format!("{}: files lead to each other without end", path.display()));
        }
        self.open.push(path.to_owned());
        let dir = path.parent().map(Path::to_owned).unwrap_or_default();
        let mut scope = Scope { environment: self.environment.to_owned(), ..Scope::default() };
        let mut entries = self.file(path, &mut scope)?;
        merge_maps(&mut scope.values, given.clone());
        let mut groups = Vec::new();
        for item in take(&mut entries, "helmfiles").iter().flat_map(At::items) {
            groups.extend(self.inside(item, &dir)?);
        }
        self.open.pop();
        groups.push(Group { dir, entries, scope });
        Ok(groups)
    }

    fn inside(&mut self, item: &At, dir: &Path) -> Result<Vec<Group>, String> {
        let mut given = Map::new();
        let path = match &item.node {
            Src::Map(entries) => {
                let mut entries = entries.clone();
                let path = take(&mut entries, "path").and_then(|path| path.text());
                for value in take(&mut entries, "values").iter().flat_map(At::items) {
                    self.values(value, dir, &Scope::default(), &mut given, true);
                }
                for (key, value) in entries
                    .iter()
                    .filter(|(_, value)| !value.items().is_empty() || value.flag() == Some(true))
                {
                    self.findings.add(value, format!("`{key}` of a file inside: which releases run is said on the command line, with `-l`"));
                }
                path
            }
            _ => item.text(),
        };
        let Some(path) = path else {
            self.findings.add(item, "a file inside without a path".to_owned());
            return Ok(Vec::new());
        };
        if path.contains("://") || path.contains('*') {
            self.findings.add(item, format!("the files inside at {path}: name each local file"));
            return Ok(Vec::new());
        }
        let mut full = dir.join(&path);
        if self.files.kind(&full) == PathKind::Folder {
            full = file_in(self.files, &full).unwrap_or(full);
        }
        self.read(&full, &given)
    }

    /// Reads a file with its bases, part by part: each sees the values of those before it.
    fn file(&mut self, path: &Path, scope: &mut Scope) -> Result<Entries, String> {
        let failed = |why: &str| format!("{}: {why}", path.display());
        let bytes = self.files.read(path).map_err(|why| failed(&why))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text"))?;
        let dir = path.parent().map(Path::to_owned).unwrap_or_default();
        let name: Rc<str> = path.display().to_string().into();
        let mut all = Entries::new();
        for part in parts(&text) {
            // What it says of environments is known only once it was rendered, and needed to render it.
            let first = self.part(&part, &name, scope, false)?;
            self.bases(&first, &dir, scope, &mut all)?;
            self.environment(&first, &dir, scope);
            let mut entries = self.part(&part, &name, scope, true)?;
            for known in ["bases", "environments", "values"] {
                take(&mut entries, known);
            }
            merge(&mut all, entries);
        }
        Ok(all)
    }

    fn part(&mut self, text: &str, name: &Rc<str>, scope: &Scope, tells: bool) -> Result<Entries, String> {
        let rendered = render(text, scope);
        if tells {
            for (line, what) in rendered.lost {
                self.findings.at(format!("{name}:{line}"), what);
            }
        }
        let node = yaml::read_spanned(rendered.text.as_bytes())
            .map_err(|error| format!("{name}: without its template code it is no YAML: {error}"))?;
        match At::of(&node, name).node {
            Src::Map(entries) => Ok(entries),
            Src::Scalar(crate::value::Value::Null, _) => Ok(Entries::new()),
            _ => Err(format!("{name}: it is no mapping")),
        }
    }

    fn bases(
        &mut self,
        entries: &Entries,
        dir: &Path,
        scope: &mut Scope,
        all: &mut Entries,
    ) -> Result<(), String> {
        for base in entries.iter().filter(|(key, _)| key == "bases").flat_map(|(_, list)| list.items()) {
            let Some(path) = base.text().filter(|path| !path.contains("://")) else {
                self.findings.add(base, "a base that is no local file".to_owned());
                continue;
            };
            let full = dir.join(&path);
            if self.open.len() >= MAX_DEPTH || self.open.contains(&full) {
                return Err(format!("{}: files lead to each other without end", full.display()));
            }
            self.open.push(full.clone());
            let below = self.file(&full, scope)?;
            self.open.pop();
            merge(all, below);
        }
        Ok(())
    }

    /// Adds the values that a part gives to the environment.
    fn environment(&mut self, entries: &Entries, dir: &Path, scope: &mut Scope) {
        let mut values = Map::new();
        for (_, list) in entries.iter().filter(|(key, _)| key == "values") {
            for item in list.items() {
                self.values(item, dir, &scope.clone(), &mut values, true);
            }
        }
        let mut seen = BTreeSet::new();
        for (name, spec) in
            entries.iter().filter(|(key, _)| key == "environments").flat_map(|(_, map)| map.entries())
        {
            if seen.insert(name.clone()) && !self.declared.contains(name) {
                self.declared.push(name.clone());
            }
            if name != self.environment {
                continue;
            }
            let must = spec.entries().iter().find(|(key, _)| key == "missingFileHandler");
            let must = must.and_then(|(_, handler)| handler.text()).is_none_or(|handler| handler == "Error");
            for (key, value) in spec.entries() {
                match key.as_str() {
                    "values" => {
                        for item in value.items() {
                            self.values(item, dir, &scope.clone(), &mut values, must);
                        }
                    }
                    "kubeContext" => {
                        scope.kube_context = value.text();
                    }
                    "missingFileHandler" => {}
                    other => self.findings.add(value, format!("environments.{name}.{other}")),
                }
            }
        }
        merge_maps(&mut scope.values, values);
    }

    /// Merges a values file, or values that stand in the file, over others.
    fn values(&mut self, item: &At, dir: &Path, scope: &Scope, into: &mut Map, must: bool) {
        if let Src::Map(_) = item.node {
            if let crate::value::Value::Map(map) = item.to_value() {
                merge_maps(into, map);
            }
            return;
        }
        let Some(path) = item.text() else { return };
        let full = dir.join(&path);
        if self.files.kind(&full) == PathKind::Missing && !must {
            return;
        }
        let text = self.files.read(&full).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text else {
            self.findings.add(item, format!("the values of the environment in {path}: no such file here"));
            return;
        };
        let text = if path.ends_with(".gotmpl") {
            let rendered = render(&text, scope);
            for (line, what) in rendered.lost {
                self.findings.at(format!("{}:{line}", full.display()), what);
            }
            rendered.text
        } else {
            text
        };
        let name: Rc<str> = full.display().to_string().into();
        match yaml::read_spanned(text.as_bytes()).map(|node| At::of(&node, &name).to_value()) {
            Ok(crate::value::Value::Map(map)) => merge_maps(into, map),
            Ok(_) => {}
            Err(error) => {
                self.findings.add(item, format!("the values of the environment in {path}: {error}"))
            }
        }
    }
}

/// Returns the helmfile in a folder (helmfile `docs/cli.md`).
pub(super) fn file_in(files: &dyn Files, folder: &Path) -> Option<PathBuf> {
    let names = ["helmfile.yaml", "helmfile.yaml.gotmpl", "helmfile.yml", "helmfile.yml.gotmpl"];
    names.into_iter().map(|name| folder.join(name)).find(|path| files.kind(path) == PathKind::File)
}

/// Returns the files that a path stands for: itself, the helmfile in a folder, or all files of a `helmfile.d`, which
/// helmfile works on one after the other.
pub(super) fn files_of(files: &dyn Files, path: &Path) -> Vec<PathBuf> {
    if let Some(file) = file_in(files, path) {
        return vec![file];
    }
    let inside = path.join("helmfile.d");
    let folder = if files.kind(&inside) == PathKind::Folder { inside } else { path.to_owned() };
    if files.kind(&folder) != PathKind::Folder {
        return vec![path.to_owned()];
    }
    let mut names = files.names(&folder).unwrap_or_default();
    let endings = [".yaml", ".yml", ".yaml.gotmpl", ".yml.gotmpl"];
    names.retain(|name| endings.iter().any(|ending| name.ends_with(ending)));
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Splits a text at `---`; each part has the lines before it as empty ones, so that lines can be told.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        count += 1;
        if line.trim_end() == "---" {
            parts.push("\n".repeat(count));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}
