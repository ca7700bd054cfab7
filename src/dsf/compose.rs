//! What is laid over the merged files: the chosen environment, then what the command line says about single apps.

use super::merge::{layer_app, merge_files};
use super::problems::{Code, Problem};
use super::report::Report;
use super::tree::{Entry, Kind, Node, Table, Text, UNWRITTEN, join};
use super::{find_last, fold, keys};
use crate::text::Span;
use crate::value::Value;
use crate::yaml;
use std::collections::HashSet;

/// The name under which positions in `--set-app` are shown.
pub(super) const SET_APP: &str = "--set-app";

/// One `--set-app APP.KEY=VALUE`.
#[derive(Clone, Debug)]
pub(super) struct Override {
    pub(super) target: String,
    pub(super) value: String,
    pub(super) span: Span,
}

/// Takes the environments out of the table.
pub(super) fn take_environments(table: &mut Table, report: &mut Report<'_>) -> Table {
    let Some(at) = table.iter().position(|entry| entry.key.value == "environments") else {
        return Table::new();
    };
    let mut wrong = |node: &Node, path: &str| {
        let message = format!("expected a table, found {}", node.type_name());
        report.problem(Problem::new(Code::WrongType, path, message, node.span));
    };
    let node = table.remove(at).value;
    let Kind::Map(environments) = node.kind else {
        if !matches!(node.kind, Kind::Null) {
            wrong(&node, "environments");
        }
        return Table::new();
    };
    for entry in &environments {
        if !matches!(entry.value.kind, Kind::Map(_) | Kind::Null) {
            wrong(&entry.value, &join("environments", entry.key.shown()));
        }
    }
    environments
}

/// Lays an environment over the table.
pub(super) fn environment(
    table: &mut Table,
    environments: &Table,
    name: &str,
    start: Span,
    report: &mut Report<'_>,
) {
    let Some(chosen) = find_last(environments, name) else {
        let names: Vec<&str> = environments.iter().map(|entry| entry.key.value.as_str()).collect();
        let hint = match report.did_you_mean(name, names.iter().copied()) {
            Some(hint) => hint,
            None if names.is_empty() => "the files declare no `environments`".to_owned(),
            None => format!("the files have {}", names.join(", ")),
        };
        let message = format!("there is no environment `{name}`");
        report.problem(Problem::new(Code::UnknownEnvironment, "environments", message, start).hint(hint));
        return;
    };
    let Kind::Map(keys) = &chosen.value.kind else { return };
    let mut layer: Table = Table::new();
    let mut files = None;
    for entry in keys {
        match entry.key.value.as_str() {
            "valuesFiles" if !matches!(entry.value.kind, Kind::List(_)) => {
                let message = format!("expected a list, found {}", entry.value.type_name());
                let path = format!("{}.valuesFiles", join("environments", name));
                report.problem(Problem::new(Code::WrongType, path, message, entry.value.span));
            }
            // Its variables are known since the files were gone through.
            "vars" => {}
            "valuesFiles" => files = Some(entry),
            "kubeContext" => layer.push(Entry {
                key: Text::plain("settings"),
                key_span: entry.key_span,
                value: Node { kind: Kind::Map(vec![entry.clone()]), span: entry.value.span },
            }),
            _ => layer.push(entry.clone()),
        }
    }
    // `settings` may stand there twice now; laying them over one after the other joins them.
    let known: HashSet<String> = apps_of(table).map(|(key, _)| key.value.clone()).collect();
    if let Some(files) = files {
        for (_, app) in apps_of(table) {
            add_files(app, files, false);
        }
    }
    for entry in layer {
        merge_files(table, vec![entry], report);
    }
    if let Some(files) = files {
        for (_, app) in apps_of(table).filter(|(key, _)| !known.contains(&key.value)) {
            add_files(app, files, true);
        }
    }
}

fn apps_of(table: &mut Table) -> impl Iterator<Item = (&Text, &mut Table)> {
    let apps = table.iter_mut().filter(|entry| entry.key.value == "apps");
    let apps = apps.filter_map(|entry| match &mut entry.value.kind {
        Kind::Map(apps) => Some(apps),
        _ => None,
    });
    apps.flatten().filter_map(|entry| match &mut entry.value.kind {
        Kind::Map(app) => Some((&entry.key, app)),
        _ => None,
    })
}

/// Adds values files to an app: behind its own, or before them where its own are more special.
fn add_files(app: &mut Table, files: &Entry, first: bool) {
    let Kind::List(added) = &files.value.kind else { return };
    match app.iter_mut().find(|entry| entry.key.value == "valuesFiles") {
        Some(Entry { value: Node { kind: Kind::List(own), .. }, .. }) => {
            let at = if first { 0 } else { own.len() };
            own.splice(at..at, added.iter().cloned());
        }
        Some(_) => {}
        None => app.push(files.clone()),
    }
}

/// Lays what the command line says over the table.
pub(super) fn overrides(table: &mut Table, overrides: &[Override], lenient: bool, report: &mut Report<'_>) {
    for given in overrides {
        let names: Vec<String> = apps_of(table).map(|(key, _)| key.value.clone()).collect();
        let is_named = |name: &&String| {
            given
                .target
                .strip_prefix(name.as_str())
                .is_some_and(|rest| rest.starts_with('.') && rest.len() > 1)
        };
        let Some(app) = names.iter().filter(is_named).max_by_key(|name| name.len()) else {
            let first = given.target.split('.').next().unwrap_or_default();
            let hint = report.did_you_mean(first, names.iter().map(String::as_str));
            let problem = if names.contains(&given.target) {
                let problem = Problem::new(Code::BadValue, "", "which key is meant?", given.span);
                problem.hint("write APP.KEY=VALUE, such as web.version=1.2.3")
            } else {
                let message = format!("no app `{first}` in the files");
                Problem::new(Code::UnknownApp, join("apps", first), message, given.span).maybe_hint(hint)
            };
            report.problem(problem);
            continue;
        };
        let key = &given.target[app.len() + 1..];
        let layer = entry("apps", given.span, vec![entry(app, given.span, vec![key_entry(key, given)])]);
        let mut layer = vec![layer];
        fold::fold(&mut layer, lenient, report);
        merge_files(table, layer, report);
    }
}

fn entry(key: &str, span: Span, below: Table) -> Entry {
    Entry { key: Text::plain(key), key_span: span, value: Node { kind: Kind::Map(below), span } }
}

/// The entry of one key of an app. What stands behind the key's dot is one name for tables of free names, and parts
/// of a path for values and tables with keys of their own.
fn key_entry(target: &str, given: &Override) -> Entry {
    let (first, rest) = match target.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (target, None),
    };
    let key = keys::find(keys::Section::App, first);
    let name = key.map_or(first, |key| key.name);
    let typed = name == "values";
    let value = value_node(given, typed);
    let leaf = |name: &str, value: Node| Entry { key: Text::plain(name), key_span: given.span, value };
    let Some(rest) = rest else { return leaf(first, value) };
    if matches!(name, "set" | "setString" | "setFile" | "labels") {
        return entry(first, given.span, vec![leaf(rest, value)]);
    }
    let mut parts = divided(rest);
    let mut inner = leaf(&parts.pop().unwrap_or_default(), value);
    while let Some(part) = parts.pop() {
        inner = entry(&part, given.span, vec![inner]);
    }
    entry(first, given.span, vec![inner])
}

/// The parts of a path: dots divide, but not behind a `\`.
fn divided(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = path.chars();
    while let Some(c) = rest.next() {
        let last = parts.len() - 1;
        match c {
            '.' => parts.push(String::new()),
            '\\' => parts[last].extend(rest.next()),
            c => parts[last].push(c),
        }
    }
    parts
}

/// The value: chart values and lists are read as YAML, everything else is text that fits any type.
fn value_node(given: &Override, typed: bool) -> Node {
    let text = given.value.as_str();
    let is_collection = text.starts_with('[') || text.starts_with('{');
    let read = if typed || is_collection || text == "null" {
        yaml::read_spanned(text.as_bytes()).ok().map(|node| node.to_value())
    } else {
        None
    };
    match read {
        Some(value) => node_of(&value, given.span),
        // Nobody's log should show it.
        None => {
            let written = Some(UNWRITTEN.to_owned());
            let text = Text { value: text.to_owned(), written, private: true };
            Node { kind: Kind::Str(text), span: given.span }
        }
    }
}

/// A value without places; the parser bounds its depth.
fn node_of(value: &Value, span: Span) -> Node {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(flag) => Kind::Bool(*flag),
        Value::Int(number) => Kind::Int(*number),
        Value::Uint(number) => Kind::Uint(*number),
        Value::Float(number) => Kind::Float(*number),
        Value::Str(text) => {
            Kind::Str(Text { value: text.clone(), written: Some(UNWRITTEN.to_owned()), private: true })
        }
        Value::List(items) => Kind::List(items.iter().map(|item| node_of(item, span)).collect()),
        Value::Map(map) => Kind::Map(
            map.iter()
                .map(|(key, value)| Entry {
                    key: Text::plain(key.as_str()),
                    key_span: span,
                    value: node_of(value, span),
                })
                .collect(),
        ),
    };
    Node { kind, span }
}

/// Returns the table with every app complete: what it starts from is under its own keys, and what only served to
/// compose it is gone.
pub(super) fn layered(table: &Table) -> Table {
    let table_at = |key: &str| match find_last(table, key).map(|entry| &entry.value.kind) {
        Some(Kind::Map(table)) => table.clone(),
        _ => Table::new(),
    };
    let (defaults, templates) = (table_at("defaults"), table_at("appsTemplates"));
    let mut out = table.clone();
    out.retain(|entry| {
        !matches!(entry.key.value.as_str(), "defaults" | "appsTemplates" | "imports" | "environments")
    });
    for (_, app) in apps_of(&mut out) {
        let own = std::mem::take(app);
        let mut layered = defaults.clone();
        let extends = find_last(&own, "extends").map(|entry| &entry.value.kind);
        let names: Vec<&Text> = match extends {
            Some(Kind::Str(text)) => vec![text],
            Some(Kind::List(items)) => items
                .iter()
                .filter_map(|item| if let Kind::Str(text) = &item.kind { Some(text) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        for name in names {
            if let Some(Kind::Map(keys)) = find_last(&templates, &name.value).map(|entry| &entry.value.kind) {
                layer_app(&mut layered, keys.clone());
            }
        }
        layer_app(&mut layered, own);
        layered.retain(|entry| entry.key.value != "extends");
        *app = layered;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_divided_at_dots() {
        for (path, expected) in
            [("a", &["a"][..]), ("a.b", &["a", "b"]), (r"a\.b.c", &["a.b", "c"]), ("", &[""])]
        {
            assert_eq!(divided(path), expected);
        }
    }
}
