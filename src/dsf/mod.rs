//! The desired-state file: what a person wrote, checked and made complete.
//!
//! The way of a file: bytes → one tree for both syntaxes ([`read`](self::read)) → environment variables →
//! canonical keys ([`keys`]) → later files over earlier ones → raw shape → [`DesiredState`](state::DesiredState).
//! Every step adds what it finds to one list, so that a person sees all problems of all files at once.
//!
//! Reads no file and no environment itself: the caller passes texts, variables and a view of the file tree.

mod access;
mod canonical;
mod checked;
mod compose;
pub mod config;
mod decode;
mod fields;
mod files;
mod fold;
mod gather;
mod git;
mod hooks;
pub mod keys;
mod layout;
mod limits;
mod merge;
mod names;
mod needs;
mod notes;
mod objects;
mod places;
mod problems;
mod raw;
mod read;
mod read_toml;
mod read_yaml;
mod reference;
mod references;
mod report;
mod resolve;
mod rules;
mod schema;
mod settings;
pub mod state;
mod substitute;
mod tree;
mod values_file;
mod vars;
mod webhooks;
mod windows;

pub use canonical::{Canonical, Plain, canonical};
pub use config::Config;
pub(crate) use config::looks_secret;
pub use fields::parse_duration;
pub use files::{Files, PathKind, is_address};
pub use git::GitChart;
pub use layout::laid_out;
pub use notes::{Level, Note, NoteCode};
pub use problems::{Code, Problem, Problems};
pub use reference::reference_page;
pub use references::{ObjectValue, Reference, VaultValue};
pub use schema::json_schema;
pub use state::DesiredState;
pub use values_file::substituted_values;

use crate::text::{FileId, Location, Sources, Span};
use gather::{Gathered, gather};
use read::{Parsed, Syntax};
use report::Report;
use resolve::Surroundings;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use substitute::Substitution;
use tree::{Entry, Table};

/// One desired-state file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in messages, usually its path. The ending tells the syntax: .toml, .tml, .yaml or .yml.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The folder against which its paths are relative.
    pub dir: PathBuf,
}

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Unknown and duplicate keys are notes instead of problems, and variables in the values of variables are
    /// replaced, as in Helmsman.
    pub helmsman_compat: bool,
    /// Nothing is done with the state: what has no behaviour yet is a note, and every environment is looked at.
    pub check_only: bool,
    /// Charts are not looked for.
    pub skip_charts: bool,
    /// Variables of the process environment are left as they are written.
    pub no_substitution: bool,
    /// The environment that is laid over the files.
    pub environment: Option<String>,
    /// `APP.KEY=VALUE`, laid over everything else.
    pub set_app: Vec<String>,
    /// Helmsman's spec files, which name state files; these come before the others.
    pub specs: Vec<Source>,
    /// The folders that paths in files may not leave; none: they may lead anywhere. They and the folders of the
    /// sources must be of one kind: all absolute, or all relative to the same place.
    pub roots: Option<Vec<PathBuf>>,
    /// Whether programs may run that the files name.
    pub allow_exec: bool,
}

/// Files that are fine.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What they ask for.
    pub state: DesiredState,
    /// What a person should know, in the order in which it was found.
    pub notes: Vec<Note>,
    table: Table,
    sources: Sources,
}

impl Loaded {
    /// Returns what the files say together, with the origin of each key.
    pub fn config(&self) -> Config {
        config::of(&compose::layered(&self.table), &self.sources)
    }

    /// Makes problems of what was found wrong with what the files name.
    pub fn complain(&self, complaints: Vec<Complaint>) -> Option<Problems> {
        let list = complaints.into_iter().map(|complaint| {
            let span = self.sources.word_at(&complaint.place);
            Problem::new(complaint.code, complaint.path, complaint.message, span)
        });
        Problems::new(self.sources.clone(), list.collect())
    }

    /// Returns the names of the files that were read, lower layers first where they are files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.sources.names()
    }
}

/// Something that is wrong with what a key names.
#[derive(Clone, Debug)]
pub struct Complaint {
    /// What kind of problem.
    pub code: Code,
    /// The path of the key.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// Where the key is.
    pub place: Location,
}

/// Reads files and what they import, lays later ones over earlier ones and returns the complete state.
///
/// `env` replaces variables in texts and keys; its values never appear in messages. `files` tells which paths
/// exist.
///
/// # Errors
///
/// Everything that is wrong with all of the files, each with its position.
pub fn load(
    inputs: &[Source],
    env: &BTreeMap<String, String>,
    files: &dyn Files,
    options: &Options,
) -> Result<Loaded, Problems> {
    let Gathered { sources, mut found, mut parsed, dirs, overrides } = gather(inputs, env, files, options);
    // A file that is read in part would miss keys that are there; only what stands in it can be judged.
    let complete = found.problems.is_empty();
    let vars = vars::collect(&parsed, env, &sources, options);
    for file in &mut parsed {
        let pass = Substitution::new(env, Some(&vars), &sources, &mut found.problems);
        let pass = pass.recursive(options.helmsman_compat);
        let mut pass = pass.without_environment(options.no_substitution);
        pass.run(&mut file.table);
        found.notes.append(&mut pass.notes);
        let dir = dirs.get(&file.file).map_or(Path::new(""), PathBuf::as_path);
        let rights = references::Rights { roots: options.roots.as_deref(), exec: options.allow_exec };
        references::anchor(&mut file.table, dir, files, &rights, &mut found.problems);
    }
    let syntaxes: HashMap<FileId, Syntax> = parsed.iter().map(|file| (file.file, file.syntax)).collect();
    let syntax = |span: Span| syntaxes.get(&span.file).copied().unwrap_or(Syntax::Toml);
    let mut report = Report::new(&sources, found.problems);
    for (code, message, span) in found.notes {
        report.note(code, "", message, span);
    }
    for file in &mut parsed {
        fold::fold(&mut file.table, options.helmsman_compat, &mut report);
    }
    let several = parsed.len() > 1;
    if several {
        // On its own first: what a later file replaces must be right as well.
        for file in &parsed {
            decode::decode(
                &file.table,
                &mut fields::Context { report: &mut report, syntax: &syntax, whole: false },
            );
        }
    }
    let start = parsed.iter().map(|file| Span::new(file.file, 0..0)).min().unwrap_or_default();
    let mut table = merged(parsed, &mut report);
    let environments = compose::take_environments(&mut table, &mut report);
    if options.check_only {
        for entry in &environments {
            let mut layered = table.clone();
            let mut quiet = Report::new(&sources, Vec::new());
            compose::environment(&mut layered, &environments, &entry.key.value, start, &mut quiet);
            report.problems.append(&mut quiet.problems);
            decode::decode(
                &layered,
                &mut fields::Context { report: &mut report, syntax: &syntax, whole: true },
            );
        }
    }
    if let Some(name) = &options.environment {
        compose::environment(&mut table, &environments, name, start, &mut report);
    }
    compose::overrides(&mut table, &overrides, options.helmsman_compat, &mut report);
    let raw =
        decode::decode(&table, &mut fields::Context { report: &mut report, syntax: &syntax, whole: true });
    let dir = |span: Span| dirs.get(&span.file).map_or(Path::new(""), PathBuf::as_path);
    let around = Surroundings {
        files,
        dir: &dir,
        roots: options.roots.as_deref(),
        start,
        skip_charts: options.skip_charts,
    };
    let mut unheard = Report::new(&sources, Vec::new());
    let state = resolve::resolve(raw, &around, if complete { &mut report } else { &mut unheard });
    if options.check_only {
        report.downgrade(Code::NotSupportedYet);
        report.downgrade(Code::ExecNotAllowed);
    }
    let Report { problems, notes, .. } = report;
    match Problems::new(sources.clone(), problems) {
        Some(problems) => Err(problems),
        None => Ok(Loaded { state, notes, table, sources }),
    }
}

/// The last entry of a key: of equal ones it counts.
fn find_last<'t>(table: &'t Table, key: &str) -> Option<&'t Entry> {
    table.iter().rev().find(|entry| entry.key.value == key)
}

fn merged(parsed: Vec<Parsed>, report: &mut Report<'_>) -> Table {
    let mut table = Table::new();
    for file in parsed {
        merge::merge_files(&mut table, file.table, report);
    }
    table
}
