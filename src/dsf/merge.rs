//! Lays one tree over another: tables merge, lists append, scalars replace, `null` removes.
//!
//! What counts is whether a key is present: an explicit `false`, `0` or `""` replaces like any other value.
//! Every node keeps its own position, so the merged tree still knows where each value comes from.

use super::notes::NoteCode;
use super::report::Report;
use super::tree::{Entry, Kind, Node, Table, join};
use std::collections::{HashMap, HashSet};

/// Lays the tables of a later file over those of earlier ones, and notes what is replaced.
pub(super) fn merge_files(base: &mut Table, over: Table, report: &mut Report<'_>) {
    Merge { report: Some(report) }.tables(base, over, Place::File, "");
}

/// Lays the keys of an app over those it starts from.
pub(super) fn layer_app(base: &mut Table, over: Table) {
    Merge { report: None }.tables(base, over, Place::App, "");
}

/// Where in a file a table stands, as far as merging differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    /// `apps` or `appsTemplates`.
    Apps,
    /// `namespaces`.
    Namespaces,
    /// An app, or what apps start from.
    App,
    /// Helm values, where `null` is a value that removes a default of the chart.
    Values,
    Other,
}

impl Place {
    fn below(self, key: &str) -> Place {
        match (self, key) {
            (Place::File, "apps" | "appsTemplates") => Place::Apps,
            (Place::File, "namespaces") => Place::Namespaces,
            (Place::File, "defaults") | (Place::Apps, _) => Place::App,
            (Place::App, "values") | (Place::Values, _) => Place::Values,
            _ => Place::Other,
        }
    }
}

struct Merge<'a, 'b> {
    report: Option<&'a mut Report<'b>>,
}

impl Merge<'_, '_> {
    fn tables(&mut self, base: &mut Table, mut over: Table, place: Place, path: &str) {
        if place == Place::App {
            self.single_values_file(base, &mut over, path);
        }
        let mut index: HashMap<String, usize> =
            base.iter().enumerate().map(|(at, entry)| (entry.key.value.clone(), at)).collect();
        let mut removed = HashSet::new();
        for entry in over {
            let Some(&at) = index.get(&entry.key.value) else {
                index.insert(entry.key.value.clone(), base.len());
                base.push(entry);
                continue;
            };
            let path = join(path, entry.key.shown());
            if self.entry(&mut base[at], entry, place, &path) == Kept::No {
                removed.insert(at);
            }
        }
        let mut at = 0;
        base.retain(|_| {
            at += 1;
            !removed.contains(&(at - 1))
        });
    }

    /// Moves a `valuesFile` of the upper layer behind the `valuesFiles` of the lower one: within one layer it
    /// comes first, but values of a lower layer never win over it.
    fn single_values_file(&mut self, base: &mut Table, over: &mut Table, path: &str) {
        let is_file =
            |entry: &Entry| entry.key.value == "valuesFile" && matches!(entry.value.kind, Kind::Str(_));
        let Some(at) = over.iter().position(is_file) else { return };
        let Some(files) = base.iter().position(|entry| entry.key.value == "valuesFiles") else { return };
        if !matches!(base[files].value.kind, Kind::List(_)) {
            return;
        }
        let single = over.remove(at);
        if let Some(entry) = base.iter().find(|entry| is_file(entry)) {
            self.note(entry, &single.value.span, "replaces the value", &join(path, "valuesFile"));
        }
        if let Kind::List(files) = &mut base[files].value.kind {
            files.push(single.value);
        }
        base.retain(|entry| !is_file(entry));
    }

    fn entry(&mut self, base: &mut Entry, over: Entry, place: Place, path: &str) -> Kept {
        let below = place.below(&over.key.value);
        let key = over.key.value.as_str();
        match (&mut base.value.kind, over.value.kind) {
            (Kind::Map(base), Kind::Map(over)) => {
                self.tables(base, over, below, path);
                Kept::Yes
            }
            (Kind::List(base), Kind::List(mut over)) if place != Place::Values => {
                // Of these rules the first that fits counts, so the upper layer's come first.
                if place == Place::App && key == "fieldConflicts" {
                    std::mem::swap(base, &mut over);
                }
                base.append(&mut over);
                Kept::Yes
            }
            // An empty section or namespace adds nothing; it does not take away what is there.
            (Kind::Map(_), Kind::Null) if matches!(place, Place::File | Place::Namespaces) => Kept::Yes,
            // An empty app is an error of the later file.
            (_, Kind::Null) if !matches!(place, Place::Apps | Place::Values) => {
                self.note(base, &over.value.span, "removes the value", path);
                Kept::No
            }
            (_, kind) => {
                let value = Node { kind, span: over.value.span };
                self.replaced(base, &value, &over.key.value, place, path);
                base.value = value;
                base.key_span = over.key_span;
                Kept::Yes
            }
        }
    }

    fn replaced(&mut self, base: &Entry, over: &Node, key: &str, place: Place, path: &str) {
        let unprotects = key == "protected"
            && matches!(base.value.kind, Kind::Bool(true))
            && matches!(over.kind, Kind::Bool(false));
        if unprotects && let Some(report) = self.report.as_mut() {
            // Helmsman lets a later file do so to an app, but not to a namespace.
            let differs = if place == Place::App { "" } else { ", which Helmsman would keep" };
            let first = report.sources.location(base.value.span);
            let message = format!("takes away the protection of {first}{differs}");
            report.note(NoteCode::Unprotected, path, message, over.span);
        } else {
            self.note(base, &over.span, "replaces the value", path);
        }
    }

    fn note(&mut self, base: &Entry, over: &crate::text::Span, what: &str, path: &str) {
        if let Some(report) = self.report.as_mut() {
            let place = report.sources.location(base.value.span);
            report.note(NoteCode::Override, path, format!("{what} of {place}"), *over);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}
