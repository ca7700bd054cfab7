//! What Helmsman's files say, in our spelling: for `convert`. Nothing is replaced and nothing is resolved.

use super::files::Files;
use super::gather::{Gathered, gather};
use super::keys::{self, Section, Shape};
use super::notes::NoteCode;
use super::problems::{Code, Problems};
use super::report::Report;
use super::tree::{Entry, Kind, Node, Table, Text};
use super::{Options, Source, fold, merged};
use crate::text::{Sources, Span};
use crate::value::Value;
use std::collections::BTreeMap;

/// A node in the order of the reference.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// A scalar; texts are as they are written.
    Scalar(Value),
    /// A list.
    List(Vec<Plain>),
    /// A table.
    Table(Vec<(String, Plain)>),
}

/// Files in our spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    /// What they say together.
    pub table: Vec<(String, Plain)>,
    /// What is not in it, or will not be done: `FILE:LINE:COLUMN: PATH: WHY`.
    pub findings: Vec<String>,
}

/// Reads files as leniently as Helmsman, lays later ones over earlier ones, and returns what they say.
///
/// # Errors
/// What is wrong with their syntax.
pub fn canonical(inputs: &[Source], files: &dyn Files) -> Result<Canonical, Problems> {
    let options = Options { helmsman_compat: true, no_substitution: true, ..Options::default() };
    let env = BTreeMap::new();
    let Gathered { sources, found, mut parsed, .. } = gather(inputs, &env, files, &options);
    if let Some(problems) = Problems::new(sources.clone(), found.problems) {
        return Err(problems);
    }
    let mut report = Report::new(&sources, Vec::new());
    for file in &mut parsed {
        fold::fold(&mut file.table, true, &mut report);
    }
    let mut table = merged(parsed, &mut report);
    let refused: Vec<Span> = report
        .problems
        .iter()
        .filter(|problem| problem.code == Code::NotSupported)
        .map(|problem| problem.span)
        .collect();
    remove(&mut table, &refused);
    // Its content stands in the apps: YAML has put it there, and Helmsman reads no other way.
    table.retain(|entry| entry.key.value != "appsTemplates");
    enable(&mut table);
    let told = report.problems.iter().map(|problem| {
        let place = sources.location(problem.span);
        let kept = if problem.code == Code::NotSupported { "left out" } else { "kept" };
        format!("{place}: {}: {} ({kept})", problem.path, problem.message)
    });
    let lost = [NoteCode::UnknownKey, NoteCode::NoEffect, NoteCode::DuplicateKey];
    let noted = report.notes.iter().filter(|note| lost.contains(&note.code));
    let noted = noted.map(|note| format!("{}: {}: {} (left out)", note.location, note.path, note.message));
    let mut findings: Vec<String> = told.chain(noted).collect();
    findings.sort();
    let whole = Reading { sources: &sources };
    Ok(Canonical { table: whole.section(&table, Section::File), findings })
}

/// Takes refused keys out, by their places.
fn remove(table: &mut Table, refused: &[Span]) {
    table.retain(|entry| !refused.contains(&entry.key_span));
    for entry in table {
        if let Kind::Map(below) = &mut entry.value.kind {
            remove(below, refused);
        }
    }
}

/// Says of each app whether it should exist: Helmsman takes `false` where nothing is said.
fn enable(table: &mut Table) {
    let Some(apps) = table.iter_mut().find(|entry| entry.key.value == "apps") else { return };
    let Kind::Map(apps) = &mut apps.value.kind else { return };
    for app in apps {
        let span = app.key_span;
        let Kind::Map(entries) = &mut app.value.kind else { continue };
        if !entries.iter().any(|entry| entry.key.value == "enabled") {
            let value = Node { kind: Kind::Bool(false), span };
            entries.push(Entry { key: Text::plain("enabled"), key_span: span, value });
        }
    }
}

struct Reading<'a> {
    sources: &'a Sources,
}

impl Reading<'_> {
    fn section(&self, table: &Table, section: Section) -> Vec<(String, Plain)> {
        let place =
            |name: &str| keys::taken_by(section).position(|key| key.name == name).unwrap_or(usize::MAX);
        let mut entries: Vec<&Entry> = table.iter().collect();
        entries.sort_by_key(|entry| place(&entry.key.value));
        let shape =
            |entry: &Entry| keys::find(section, &entry.key.value).map_or(Shape::Anything, |key| key.shape);
        entries
            .into_iter()
            .map(|entry| {
                let plain = match &entry.value.kind {
                    // A version such as 1.10 is meant as it is written.
                    Kind::Float(_) | Kind::Int(_) if entry.key.value == "version" => {
                        Plain::Scalar(Value::from(self.sources.slice(entry.value.span)))
                    }
                    _ => self.node(&entry.value, shape(entry)),
                };
                (entry.key.shown().to_owned(), plain)
            })
            .collect()
    }

    fn node(&self, node: &Node, shape: Shape) -> Plain {
        match &node.kind {
            Kind::Map(table) => Plain::Table(match shape {
                Shape::Table(section) | Shape::ListOf(section) => self.section(table, section),
                Shape::TableOf(section) => {
                    table.iter().map(|entry| self.named(entry, Shape::Table(section))).collect()
                }
                Shape::Leaf | Shape::Anything => {
                    table.iter().map(|entry| self.named(entry, Shape::Anything)).collect()
                }
            }),
            Kind::List(items) => Plain::List(items.iter().map(|item| self.node(item, shape)).collect()),
            Kind::Str(text) => Plain::Scalar(Value::from(text.shown())),
            Kind::Null if matches!(shape, Shape::Table(_)) => Plain::Table(Vec::new()),
            Kind::Null | Kind::Date => Plain::Scalar(Value::Null),
            Kind::Bool(flag) => Plain::Scalar(Value::Bool(*flag)),
            Kind::Int(number) => Plain::Scalar(Value::Int(*number)),
            Kind::Uint(number) => Plain::Scalar(Value::Uint(*number)),
            Kind::Float(number) => Plain::Scalar(Value::Float(*number)),
        }
    }

    fn named(&self, entry: &Entry, shape: Shape) -> (String, Plain) {
        (entry.key.shown().to_owned(), self.node(&entry.value, shape))
    }
}
