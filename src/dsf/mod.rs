//! The desired-state file: what a person wrote, checked and made complete.
//!
//! The way of a file: bytes → one tree for both syntaxes ([`read`](self::read)) → environment variables →
//! canonical keys ([`keys`]) → later files over earlier ones → raw shape → [`DesiredState`](state::DesiredState).
//! Every step adds what it finds to one list, so that a person sees all problems of all files at once.
//!
//! Reads no file and no environment itself: the caller passes texts, variables and a view of the file tree.

mod decode;
mod fields;
mod files;
mod fold;
pub mod keys;
mod merge;
mod names;
mod needs;
mod notes;
mod problems;
mod raw;
mod read;
mod read_toml;
mod read_yaml;
mod reference;
mod report;
mod resolve;
mod rules;
pub mod state;
mod substitute;
mod tree;

pub use files::{Files, PathKind};
pub use notes::{Level, Note, NoteCode};
pub use problems::{Code, Problem, Problems};
pub use reference::reference_page;
pub use state::DesiredState;

use crate::text::{FileId, Sources, Span};
use read::{Found, Parsed, Syntax};
use report::Report;
use resolve::Surroundings;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tree::Table;

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
    /// Unknown and duplicate keys are notes instead of problems, as in Helmsman.
    pub helmsman_compat: bool,
    /// The folder that paths in files may not leave. It and the folders of the sources must be of one kind:
    /// all absolute, or all relative to the same place.
    pub root: Option<PathBuf>,
}

/// Files that are fine.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What they ask for.
    pub state: DesiredState,
    /// What a person should know, in the order in which it was found.
    pub notes: Vec<Note>,
}

/// Reads files, lays later ones over earlier ones and returns the complete state.
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
    let mut sources = Sources::default();
    let mut found = Found::default();
    let mut parsed = Vec::new();
    let mut dirs: HashMap<FileId, &Path> = HashMap::new();
    for input in inputs {
        let lenient = options.helmsman_compat;
        if let Some(file) = read::read(&input.name, &input.bytes, lenient, &mut sources, &mut found) {
            dirs.insert(file.file, &input.dir);
            parsed.push(file);
        }
    }
    // A file that is read in part would miss keys that are there; only what stands in it can be judged.
    let complete = found.problems.is_empty();
    for file in &mut parsed {
        substitute::substitute(&mut file.table, env, &sources, &mut found.problems);
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
            decode::decode(&file.table, &mut fields::Context { report: &mut report, syntax: &syntax });
        }
    }
    let start = parsed.first().map_or_else(Span::default, |file| Span::new(file.file, 0..0));
    let table = merged(parsed, &mut report);
    let raw = decode::decode(&table, &mut fields::Context { report: &mut report, syntax: &syntax });
    let dir = |span: Span| dirs.get(&span.file).copied().unwrap_or(Path::new(""));
    let around = Surroundings { files, dir: &dir, root: options.root.as_deref(), start };
    let mut unheard = Report::new(&sources, Vec::new());
    let state = resolve::resolve(raw, &around, if complete { &mut report } else { &mut unheard });
    let Report { problems, notes, .. } = report;
    match Problems::new(sources, problems) {
        Some(problems) => Err(problems),
        None => Ok(Loaded { state, notes }),
    }
}

fn merged(parsed: Vec<Parsed>, report: &mut Report<'_>) -> Table {
    let mut table = Table::new();
    for file in parsed {
        merge::merge_files(&mut table, file.table, report);
    }
    table
}
