//! The files of a run in the order in which they are laid over each other: spec files name state files, and state
//! files import others, which come before them.
//!
//! A file that is reached on several ways is taken once, at its first place: lists append, so a second time would
//! double them. An import that cannot be read is a problem, never an empty file.

use super::compose::{Override, SET_APP};
use super::files::{self, Files, PathKind};
use super::keys;
use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::read::{self, Found, Parsed};
use super::substitute::{Substitution, refused};
use super::tree::{Kind, Node, Table, join};
use super::{Options, Source};
use crate::model::glob;
use crate::text::{FileId, Sources, Span};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The longest chain of imports.
const MAX_DEPTH: usize = 32;
/// The most files of one run.
const MAX_FILES: usize = 2_000;

/// What was gathered.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) sources: Sources,
    pub(super) found: Found,
    /// Lower layers first.
    pub(super) parsed: Vec<Parsed>,
    /// The folder against which the paths of a file are relative.
    pub(super) dirs: HashMap<FileId, PathBuf>,
    /// What the command line says about single apps.
    pub(super) overrides: Vec<Override>,
}

/// Reads the given files and everything that they import.
pub(super) fn gather(
    inputs: &[Source],
    env: &BTreeMap<String, String>,
    files: &dyn Files,
    options: &Options,
) -> Gathered {
    let mut gather = Gather {
        out: Gathered::default(),
        env,
        files,
        options,
        taken: HashSet::new(),
        open: Vec::new(),
        too_many: false,
    };
    for spec in &options.specs {
        gather.spec(spec);
    }
    for input in inputs {
        gather.state(&input.name, &input.bytes, &input.dir);
    }
    gather.overrides();
    gather.out
}

/// Tells what a file is that is no desired-state file.
fn another_format(table: &Table) -> Option<Problem> {
    let find = |name: &str| table.iter().find(|entry| entry.key.value == name);
    let is_state = ["apps", "namespaces", "settings"].into_iter().any(|key| find(key).is_some());
    let (entry, what, hint) = match (find("apiVersion"), find("kind"), find("stateFiles"), find("releases")) {
        _ if is_state => return None,
        (Some(entry), Some(_), _, _) => (entry, "a Kubernetes manifest", "charts and hooks hold manifests"),
        (_, _, Some(entry), _) => (entry, "a spec file", "pass it with `--spec`"),
        (_, _, _, Some(entry)) if matches!(entry.value.kind, Kind::List(_)) => {
            (entry, "a helmfile", "releases stand below `apps`, by name")
        }
        _ => return None,
    };
    let message = format!("this is {what}, not a desired-state file");
    Some(Problem::new(Code::UnknownFormat, "", message, entry.key_span).hint(hint))
}

struct Gather<'a> {
    out: Gathered,
    env: &'a BTreeMap<String, String>,
    files: &'a dyn Files,
    options: &'a Options,
    /// Imported files, by their real path.
    taken: HashSet<PathBuf>,
    /// The files that import each other at this moment, the outermost first: real path and name.
    open: Vec<(PathBuf, String)>,
    too_many: bool,
}

impl Gather<'_> {
    fn identity(&self, path: &Path) -> PathBuf {
        self.files.real(path).unwrap_or_else(|| path.to_owned())
    }

    fn problem(&mut self, problem: Problem) {
        self.out.found.problems.push(problem);
    }

    /// Makes a text of what the command line says, a line for each, without the values: so that it has positions.
    fn overrides(&mut self) {
        if self.options.set_app.is_empty() {
            return;
        }
        let divided: Vec<(&str, Option<&str>)> = self
            .options
            .set_app
            .iter()
            .map(|given| {
                given.split_once('=').map_or((given.as_str(), None), |(target, value)| (target, Some(value)))
            })
            .collect();
        let lines: Vec<String> = divided
            .iter()
            .map(|(target, value)| target.replace('\n', " ") + if value.is_some() { "=…" } else { "" })
            .collect();
        let file = self.out.sources.add(SET_APP, &lines.join("\n"));
        let mut start = 0;
        for ((target, value), line) in divided.into_iter().zip(&lines) {
            let span = Span::new(file, start..start + target.len());
            start += line.len() + 1;
            match value {
                Some(value) => {
                    let (target, value) = (target.to_owned(), value.to_owned());
                    self.out.overrides.push(Override { target, value, span });
                }
                None => {
                    let problem = Problem::new(Code::BadValue, "", "there is no `=`", span);
                    self.problem(problem.hint("write APP.KEY=VALUE, such as web.version=1.2.3"));
                }
            }
        }
    }

    /// Reads one state file after its imports.
    fn state(&mut self, name: &str, bytes: &[u8], dir: &Path) {
        let lenient = self.options.helmsman_compat;
        let parsed = read::read(name, bytes, lenient, &mut self.out.sources, &mut self.out.found);
        let Some(mut parsed) = parsed else { return };
        self.out.dirs.insert(parsed.file, dir.to_owned());
        if let Some(problem) = another_format(&parsed.table) {
            self.problem(problem);
            // Nothing that stands in it means anything here.
            parsed.table.clear();
            self.out.parsed.push(parsed);
            return;
        }
        let identity = self.identity(Path::new(name));
        self.taken.insert(identity.clone());
        self.open.push((identity, name.to_owned()));
        for (path, span, at) in self.wanted(&parsed.table, parsed.file) {
            self.import(&path, span, &at, dir);
        }
        self.open.pop();
        self.out.parsed.push(parsed);
    }

    /// The imports of a file, with variables of the environment replaced: those of `vars` are not known yet.
    fn wanted(&mut self, table: &Table, file: FileId) -> Vec<(super::tree::Text, Span, String)> {
        let Some(entry) = table.iter().rev().find(|entry| entry.key.value == "imports") else {
            return Vec::new();
        };
        let mut imports = vec![super::tree::Entry { value: entry.value.clone(), ..entry.clone() }];
        if !self.options.no_substitution {
            let mut problems = Vec::new();
            Substitution::new(self.env, None, &self.out.sources, &mut problems).run(&mut imports);
            self.out.found.problems.append(&mut problems);
        }
        let wrong = |node: &Node, path: &str| {
            let message = format!("expected a path, found {}", node.type_name());
            Problem::new(Code::WrongType, path, message, node.span)
        };
        let mut out = Vec::new();
        match imports.remove(0).value {
            Node { kind: Kind::List(items), .. } => {
                for (at, item) in items.into_iter().enumerate() {
                    let path = format!("imports[{at}]");
                    match item.kind {
                        Kind::Str(text) => out.push((text, item.span, path)),
                        _ => self.problem(wrong(&item, &path)),
                    }
                }
            }
            Node { kind: Kind::Null, .. } => {}
            Node { kind: Kind::Str(text), span } => {
                let hint = "imports are a list: write [\"FILE\"]";
                let problem = Problem::new(Code::WrongType, "imports", "expected a list, found text", span);
                self.problem(problem.hint(hint));
                out.push((text, span, "imports".to_owned()));
            }
            node => self.problem(Problem::new(
                Code::WrongType,
                "imports",
                format!("expected a list of paths, found {}", node.type_name()),
                if node.span == Span::default() { Span::new(file, 0..0) } else { node.span },
            )),
        }
        out
    }

    fn import(&mut self, text: &super::tree::Text, span: Span, at: &str, dir: &Path) {
        let shown = text.shown().to_owned();
        if text.value.contains("://") {
            self.problem(refused(&keys::REMOTE_IMPORT, at, span).unwrap_or_else(|| {
                Problem::new(Code::NotSupported, at, "only files on this machine can be imported", span)
            }));
            return;
        }
        if text.value.is_empty() || text.value.contains('\0') {
            self.problem(Problem::new(Code::BadValue, at, "not a path", span));
            return;
        }
        let path = files::join(dir, &text.value);
        if !text.value.contains('*') {
            self.import_file(&path, &shown, span, at);
            return;
        }
        match self.expand(&path) {
            Ok(found) if found.is_empty() => {
                let message = format!("no file matches `{shown}`");
                let hint = "a pattern that matches nothing would read as a file without apps; remove it";
                self.problem(Problem::new(Code::MissingFile, at, message, span).hint(hint));
            }
            Ok(found) => {
                for path in found {
                    let shown =
                        if text.written.is_some() { shown.clone() } else { path.display().to_string() };
                    self.import_file(&path, &shown, span, at);
                }
            }
            Err(why) => {
                let message = format!("`{shown}` cannot be read: {why}");
                self.problem(Problem::new(Code::MissingFile, at, message, span));
            }
        }
    }

    /// The files that a pattern means, sorted. `*` stands for any text inside one part of the path, but not for a
    /// leading dot.
    fn expand(&self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let mut found = vec![PathBuf::new()];
        for part in pattern.components() {
            let text = part.as_os_str().to_str().unwrap_or_default();
            if !text.contains('*') {
                found.iter_mut().for_each(|path| path.push(part));
                continue;
            }
            if text.contains("**") {
                return Err("`**` is not known; `*` stands for any text between two `/`".to_owned());
            }
            let mut next = Vec::new();
            for folder in found {
                let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder.as_path() };
                if !files::is_allowed(self.files, self.options.roots.as_deref(), place) {
                    return Err("it is outside the repository".to_owned());
                }
                let mut names = self.files.names(place)?;
                names.retain(|name| glob(text, name) && (!name.starts_with('.') || text.starts_with('.')));
                names.sort();
                next.extend(names.into_iter().map(|name| folder.join(name)));
                if next.len() > MAX_FILES {
                    return Err(format!("it matches more than {MAX_FILES} files"));
                }
            }
            found = next;
        }
        let own = self.open.last().map(|(path, _)| path);
        found.retain(|path| self.files.kind(path) != PathKind::Folder && Some(&self.identity(path)) != own);
        Ok(found)
    }

    fn import_file(&mut self, path: &Path, shown: &str, span: Span, at: &str) {
        if !files::is_allowed(self.files, self.options.roots.as_deref(), path) {
            let message = format!("`{shown}` is outside the repository");
            let problem = Problem::new(Code::OutsidePath, at, message, span);
            self.problem(problem.hint("`--allow-outside-paths` permits it"));
            return;
        }
        let identity = self.identity(path);
        if let Some(from) = self.open.iter().position(|(open, _)| *open == identity) {
            let mut names: Vec<&str> = self.open[from..].iter().map(|(_, name)| name.as_str()).collect();
            names.push(shown);
            let message = format!("files import each other: {}", names.join(" → "));
            self.problem(Problem::new(Code::ImportCycle, at, message, span));
            return;
        }
        if !self.taken.insert(identity) {
            return;
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("imports nest deeper than {MAX_DEPTH} files");
            self.problem(Problem::new(Code::TooLarge, at, message, span));
            return;
        }
        if self.taken.len() > MAX_FILES {
            if !std::mem::replace(&mut self.too_many, true) {
                let message = format!("more than {MAX_FILES} files");
                self.problem(Problem::new(Code::TooLarge, at, message, span));
            }
            return;
        }
        if let Some(bytes) = self.content(path, shown, span, at) {
            let dir = path.parent().map(Path::to_owned).unwrap_or_default();
            self.state(&path.display().to_string(), &bytes, &dir);
        }
    }

    fn content(&mut self, path: &Path, shown: &str, span: Span, at: &str) -> Option<Vec<u8>> {
        let message = match self.files.kind(path) {
            PathKind::File => match self.files.read(path) {
                Ok(bytes) => return Some(bytes),
                Err(why) => format!("`{shown}` cannot be read: {why}"),
            },
            PathKind::Folder => format!("`{shown}` is a folder"),
            PathKind::Missing => format!("no file `{shown}`"),
            PathKind::Unreadable(why) => format!("`{shown}` cannot be read: {why}"),
        };
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty() && shown != path.to_string_lossy());
        let hint = dir.map(|dir| format!("looked for in {}", dir.display()));
        self.problem(Problem::new(Code::MissingFile, at, message, span).maybe_hint(hint));
        None
    }

    /// Reads Helmsman's list of state files: `stateFiles: [{ path: FILE }]`.
    fn spec(&mut self, spec: &Source) {
        let lenient = self.options.helmsman_compat;
        let parsed = read::read(&spec.name, &spec.bytes, lenient, &mut self.out.sources, &mut self.out.found);
        let Some(parsed) = parsed else { return };
        let start = Span::new(parsed.file, 0..0);
        let mut listed = false;
        for entry in &parsed.table {
            if !entry.key.value.eq_ignore_ascii_case("stateFiles") {
                let path = join("", entry.key.shown());
                let problem =
                    Problem::new(Code::UnknownKey, path, "unknown key of a spec file", entry.key_span);
                self.problem(
                    problem.hint("a spec file holds `stateFiles` only; others are passed with `-f`"),
                );
                continue;
            }
            listed = true;
            let Kind::List(items) = &entry.value.kind else {
                let message = format!("expected a list, found {}", entry.value.type_name());
                let problem = Problem::new(Code::WrongType, "stateFiles", message, entry.key_span);
                self.problem(problem.hint("write `- path: FILE` for each file"));
                continue;
            };
            for (at, item) in items.iter().enumerate() {
                self.spec_entry(item, &format!("stateFiles[{at}]"), &spec.dir);
            }
        }
        if !listed && !parsed.table.is_empty() {
            self.problem(Problem::new(Code::MissingKey, "", "`stateFiles` is missing", start));
        }
    }

    fn spec_entry(&mut self, item: &Node, at: &str, dir: &Path) {
        let path = match &item.kind {
            Kind::Map(table) => table.iter().find(|entry| entry.key.value.eq_ignore_ascii_case("path")),
            _ => None,
        };
        let Some((text, span)) = path.and_then(|entry| match &entry.value.kind {
            Kind::Str(text) => Some((text, entry.value.span)),
            _ => None,
        }) else {
            let problem = Problem::new(Code::WrongType, at, "expected a table with `path`", item.span);
            self.problem(problem);
            return;
        };
        let at = format!("{at}.path");
        let beside = files::join(dir, &text.value);
        let below_cwd = PathBuf::from(&text.value);
        // Helmsman starts at the working folder, whatever its message says.
        let path = if self.files.kind(&beside) == PathKind::Missing
            && beside != below_cwd
            && self.files.kind(&below_cwd) == PathKind::File
        {
            let message = "found in the working folder, not beside the spec file".to_owned();
            self.out.found.notes.push((NoteCode::FromWorkingFolder, message, span));
            below_cwd
        } else {
            beside
        };
        self.import_file(&path, text.shown(), span, &at);
    }
}
