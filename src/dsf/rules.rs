//! The lists of rules of an app: objects that are made once, conflicts of fields, fields that are ignored.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::raw::{At, RawWaitFor};
use super::state::{ConflictAction, ConflictRule, IgnoreRule, ObjectName, ReadyRule};
use super::tree::{Kind, Node, Text, join};
use crate::expression::Expression;
use crate::model::FieldPattern;

const ACTIONS: &[(&str, ConflictAction)] =
    &[("take", ConflictAction::Take), ("keep", ConflictAction::Keep), ("fail", ConflictAction::Fail)];

/// Objects that are made once and then left alone.
pub(super) fn create_only(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<ObjectName> {
    let mut out = Vec::new();
    for (item, path) in tables(fields, "createOnly", "a table with `kind` and `name`", cx) {
        let fields = Fields::new(item.1, path);
        let kind = required(&fields, "kind", item.0, cx);
        let name = required(&fields, "name", item.0, cx);
        if let (Some(kind), Some(name)) = (kind, name) {
            out.push(ObjectName { kind: kind.value.value, name: name.value.value });
        }
    }
    out
}

/// When objects of some kinds are ready.
pub(super) fn ready(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<ReadyRule> {
    let mut out = Vec::new();
    for (item, path) in tables(fields, "ready", "a table with `kind` and `current`", cx) {
        let fields = Fields::new(item.1, path);
        let kind = required(&fields, "kind", item.0, cx);
        let current = required(&fields, "current", item.0, cx);
        let current = current.and_then(|text| expression(&text, &fields, "current", cx));
        let failed = fields.text("failed", cx).map(|text| expression(&text, &fields, "failed", cx));
        // A condition that could not be read must not stand for one that never holds.
        if let (Some(kind), Some(current), None | Some(Some(_))) = (kind, current, &failed) {
            out.push(ReadyRule { kind: kind.value.value, current, failed: failed.flatten() });
        }
    }
    out
}

fn expression(
    text: &At<Text>,
    fields: &Fields<'_>,
    key: &str,
    cx: &mut Context<'_, '_>,
) -> Option<Expression> {
    match Expression::parse(&text.value.value) {
        Ok(expression) => Some(expression),
        Err(error) => {
            let path = join(&fields.path, key);
            // The finding quotes the text, which may come from the environment.
            let why =
                if text.value.written.is_some() { "not an expression".to_owned() } else { error.to_string() };
            let problem = Problem::new(Code::BadValue, path, why, text.span);
            cx.report.problem(problem.hint("such as \"status.phase == 'Healthy'\" (CEL)"));
            None
        }
    }
}

/// Objects that have to be there before the release starts.
pub(super) fn wait_for(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<RawWaitFor> {
    let mut out = Vec::new();
    for (item, path) in tables(fields, "waitFor", "a table with `kind` and `name`", cx) {
        let fields = Fields::new(item.1, path);
        let kind = required(&fields, "kind", item.0, cx);
        let name = required(&fields, "name", item.0, cx);
        let namespace = fields.text("namespace", cx).map(|namespace| namespace.value.value);
        if let (Some(kind), Some(name)) = (kind, name) {
            out.push(RawWaitFor { kind: kind.value.value, name: name.value.value, namespace });
        }
    }
    out
}

/// What happens to fields that another manager owns with another value.
pub(super) fn field_conflicts(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<ConflictRule> {
    let mut out = Vec::new();
    for (item, path) in tables(fields, "fieldConflicts", "a table with `path`, `manager` and `action`", cx) {
        let fields = Fields::new(item.1, path);
        let pattern = fields.get("path").is_some().then(|| pattern(&fields, cx));
        let manager = fields.text("manager", cx);
        if fields.get("action").is_none() {
            missing(&fields, "action", item.0, cx);
        }
        let action = fields.choice("action", ACTIONS, cx);
        if let Some(manager) = manager.as_ref().filter(|manager| manager.value.value.is_empty()) {
            let problem =
                Problem::new(Code::BadValue, fields.path.as_str(), "`manager` is empty", manager.span);
            cx.report.problem(problem.hint("leave it out, or write \"*\", for every manager"));
        }
        // A path that could not be read must not stand for every field.
        let path = match pattern {
            None => None,
            Some(Some(pattern)) => Some(pattern),
            Some(None) => continue,
        };
        let Some(action) = action else { continue };
        let manager = manager.map_or_else(|| "*".to_owned(), |manager| manager.value.value);
        out.push(ConflictRule { path, manager, action: action.value });
    }
    out
}

/// Fields that count neither as drift nor as a change.
pub(super) fn ignore(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<IgnoreRule> {
    let mut out = Vec::new();
    for (item, path) in tables(fields, "ignore", "a table with `kind` and `path`", cx) {
        let fields = Fields::new(item.1, path);
        let kind = required(&fields, "kind", item.0, cx);
        let name = fields.text("name", cx);
        if fields.get("path").is_none() {
            missing(&fields, "path", item.0, cx);
        }
        let path = pattern(&fields, cx);
        if let (Some(kind), Some(path)) = (kind, path) {
            let name = name.map(|name| name.value.value);
            out.push(IgnoreRule { kind: kind.value.value, name, path });
        }
    }
    out
}

/// Returns the tables of a list with their paths; what is no table is a problem.
fn tables<'t>(
    fields: &Fields<'t>,
    key: &str,
    wanted: &str,
    cx: &mut Context<'_, '_>,
) -> Vec<((&'t Node, &'t super::tree::Table), String)> {
    let mut out = Vec::new();
    let Some((items, path)) = fields.list(key, cx) else { return out };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        match &item.kind {
            Kind::Map(table) => out.push(((item, table), path)),
            _ => {
                let _: Option<()> = wrong_type(item, &path, wanted, cx);
            }
        }
    }
    out
}

fn required(fields: &Fields<'_>, key: &str, item: &Node, cx: &mut Context<'_, '_>) -> Option<At<Text>> {
    if fields.get(key).is_none() {
        missing(fields, key, item, cx);
    }
    fields.text(key, cx)
}

fn missing(fields: &Fields<'_>, key: &str, item: &Node, cx: &mut Context<'_, '_>) {
    let message = format!("`{key}` is missing");
    cx.report.problem(Problem::new(Code::MissingKey, fields.path.as_str(), message, item.span));
}

fn pattern(fields: &Fields<'_>, cx: &mut Context<'_, '_>) -> Option<FieldPattern> {
    let text = fields.text("path", cx)?;
    match FieldPattern::parse(&text.value.value) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let message = format!("`{}` is not a path of fields: {error}", text.value.shown());
            let problem = Problem::new(Code::BadValue, format!("{}.path", fields.path), message, text.span);
            cx.report.problem(problem.hint(
                "write it as `spec.template.spec.containers[name=web].image`; `*` stands for any name",
            ));
            None
        }
    }
}
