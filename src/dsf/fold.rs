//! Holds a tree against the key table: canonical spelling, unknown keys, duplicates, status of each key.
//!
//! Afterwards every key is spelled as in the table and stands once. Types of values are none of its business.

use super::config::looks_secret;
use super::keys::{self, Key, Section, Shape, Status};
use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::report::Report;
use super::tree::{Entry, Kind, Node, Table, Text, join};
use crate::text::Span;

/// Folds the top-level table of one file.
///
/// With `lenient`, unknown and duplicate keys are notes, as in Helmsman: unknown ones are left out, of
/// duplicates the last one counts.
pub(super) fn fold(table: &mut Table, lenient: bool, report: &mut Report<'_>) {
    Fold { lenient, report, told: false }.section(table, Section::File, "");
}

struct Fold<'a, 'b> {
    lenient: bool,
    report: &'a mut Report<'b>,
    /// Whether the table is below a key that is not supported, which is told once.
    told: bool,
}

impl Fold<'_, '_> {
    fn section(&mut self, table: &mut Table, section: Section, path: &str) {
        table.retain_mut(|entry| self.entry(entry, section, path));
        self.duplicates(table, path);
    }

    /// Tells whether the entry stays.
    fn entry(&mut self, entry: &mut Entry, section: Section, path: &str) -> bool {
        let shown = join(path, entry.key.shown());
        let Some(key) = keys::find(section, &entry.key.value) else {
            self.unknown(entry, section, &shown, path);
            return false;
        };
        if entry.key.value != key.name {
            let message = format!("the key is spelled `{}`", key.name);
            self.report.note(NoteCode::KeySpelling, &shown, message, entry.key_span);
            entry.key = Text::plain(key.name);
        }
        match key.status {
            Status::Supported => {}
            Status::NoEffect(why) => {
                self.report.note(NoteCode::NoEffect, &shown, why.to_owned(), entry.key_span);
                return false;
            }
            Status::NotYet | Status::Rejected(_) if !self.told && asks_for_nothing(&entry.value, key) => {
                return false;
            }
            Status::NotYet if self.told => {}
            Status::NotYet => {
                let message = format!("not supported yet: `{}`", key.name);
                let problem = Problem::new(Code::NotSupportedYet, shown.as_str(), message, entry.key_span);
                self.report.problem(problem.conceal(key.secret));
                self.told = true;
                self.below(&mut entry.value, key.shape, &shown);
                self.told = false;
                return true;
            }
            Status::Rejected(why) => {
                let problem = Problem::new(Code::NotSupported, shown, why, entry.key_span);
                self.report.problem(problem.conceal(key.secret));
                return true;
            }
        }
        self.below(&mut entry.value, key.shape, &shown);
        true
    }

    fn below(&mut self, node: &mut Node, shape: Shape, path: &str) {
        match (shape, &mut node.kind) {
            (Shape::Table(section), Kind::Map(table)) => self.section(table, section, path),
            (Shape::TableOf(section), Kind::Map(table)) => {
                self.duplicates(table, path);
                for entry in table {
                    let path = join(path, entry.key.shown());
                    self.below(&mut entry.value, Shape::Table(section), &path);
                }
            }
            (Shape::ListOf(section), Kind::List(items)) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.below(item, Shape::Table(section), &format!("{path}[{at}]"));
                }
            }
            (Shape::Anything, _) => self.anything(node, path),
            // A wrong type is reported where the value is read.
            (Shape::Leaf | Shape::Table(_) | Shape::TableOf(_) | Shape::ListOf(_), _) => {}
        }
    }

    fn anything(&mut self, node: &mut Node, path: &str) {
        match &mut node.kind {
            Kind::Map(table) => {
                self.duplicates(table, path);
                for entry in table {
                    let path = join(path, entry.key.shown());
                    self.anything(&mut entry.value, &path);
                }
            }
            Kind::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.anything(item, &format!("{path}[{at}]"));
                }
            }
            Kind::Null
            | Kind::Bool(_)
            | Kind::Int(_)
            | Kind::Uint(_)
            | Kind::Float(_)
            | Kind::Str(_)
            | Kind::Date => {}
        }
    }

    fn unknown(&mut self, entry: &Entry, section: Section, shown: &str, path: &str) {
        if self.lenient {
            let message = "unknown key, ignored".to_owned();
            self.report.note(NoteCode::UnknownKey, shown, message, entry.key_span);
            return;
        }
        let names = keys::taken_by(section).filter(|key| !matches!(key.status, Status::Rejected(_)));
        let hint = unquoted(&entry.key.value, section);
        let hint = hint.or_else(|| self.report.did_you_mean(&entry.key.value, names.map(|key| key.name)));
        let hint = hint.or_else(|| elsewhere(&entry.key.value, section, path));
        // A misspelt key may hold a secret all the same.
        let near_secrets =
            matches!(section, Section::Settings | Section::RepositoryForm | Section::Certificates);
        let conceal = near_secrets || looks_secret(&entry.key.value);
        let problem = Problem::new(Code::UnknownKey, shown, "unknown key", entry.key_span);
        self.report.problem(problem.maybe_hint(hint).conceal(conceal));
    }

    /// Leaves the last of equal keys in the place of the first.
    fn duplicates(&mut self, table: &mut Table, path: &str) {
        let mut first_at: std::collections::HashMap<String, (usize, Span)> = std::collections::HashMap::new();
        let mut kept: Table = Vec::with_capacity(table.len());
        for entry in table.drain(..) {
            let Some(&(at, first)) = first_at.get(&entry.key.value) else {
                first_at.insert(entry.key.value.clone(), (kept.len(), entry.key_span));
                kept.push(entry);
                continue;
            };
            let shown = join(path, entry.key.shown());
            let place = self.report.sources.location(first);
            if self.lenient {
                let message = format!("given twice, replaces the one at {place}");
                self.report.note(NoteCode::DuplicateKey, &shown, message, entry.key_span);
            } else {
                let message = format!("the key is given twice, first at {place}");
                self.report.problem(Problem::new(Code::DuplicateKey, shown, message, entry.key_span));
            }
            kept[at] = entry;
        }
        *table = kept;
    }
}

/// Tells whether a value is the same as none: then nothing is ignored when its key does nothing.
fn asks_for_nothing(node: &Node, key: &Key) -> bool {
    match &node.kind {
        Kind::Null => true,
        Kind::Bool(flag) => !flag && key.kind == keys::BOOL,
        Kind::Str(text) => text.value.is_empty(),
        Kind::List(items) => items.is_empty(),
        Kind::Map(table) => table.is_empty(),
        Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) | Kind::Date => false,
    }
}

/// What a key is that lacks its quotes.
fn unquoted(name: &str, here: Section) -> Option<String> {
    let is_unquoted = here == Section::Quotas && matches!(name, "limits" | "requests");
    is_unquoted.then(|| "write the key in quotes: \"limits.cpu\", \"requests.memory\"".to_owned())
}

/// Where a key that is unknown here would be known.
fn elsewhere(name: &str, here: Section, path: &str) -> Option<String> {
    // Helmfile and Argo CD call it so.
    let foreign = [
        ("dependsOn", "needs"),
        ("depends_on", "needs"),
        ("installed", "enabled"),
        ("repositories", "helmRepos"),
        ("atomic", "onFailure"),
        ("releaseName", "name"),
    ];
    if let Some((_, ours)) = foreign.iter().find(|(other, _)| *other == name)
        && keys::find(here, ours).is_some()
    {
        return Some(format!("did you mean `{ours}`?"));
    }
    let sections = [Section::File, Section::Settings, Section::Namespace, Section::App];
    let found = sections
        .into_iter()
        .filter(|section| *section != here)
        .find_map(|section| keys::keys_of(section).find(|key| key.name == name).map(|_| section))?;
    Some(match (found, path) {
        (Section::File, _) => format!("`{name}` belongs to the top level of the file"),
        _ => format!("`{name}` belongs to `{}`", found.place()),
    })
}
