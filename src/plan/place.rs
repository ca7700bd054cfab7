//! Where in a template, or in what it renders to, a field is that the server complains about.

use std::fmt::Write as _;

use super::input::Place;
use crate::diff::{FieldPath, Step};
use crate::yaml::{self, Node};

/// Returns the place of a field as a server names it, in brackets and with a blank before it.
pub(super) fn of_field(place: &Place, field: &str) -> String {
    describe(place, &FieldPath::parse(field))
}

/// Returns the place that a refusal of the typed merge is about. Its text names a path after a blank and a dot, and for
/// entries that are there twice their keys.
pub(super) fn of_message(place: &Place, message: &str) -> String {
    let starts = message.match_indices('.').map(|(at, _)| at);
    let start = starts.into_iter().find(|at| message[..*at].ends_with([' ', '\n', '\t']));
    let Some(start) = start else { return format!(" ({})", place.file) };
    let rest = &message[start..];
    let end = rest.find(": ").unwrap_or(rest.len());
    let mut path = FieldPath::parse(&rest[..end]);
    if let Some((_, keys)) = rest.split_once("duplicate entries for key ") {
        path.0.extend(FieldPath::parse(keys).0);
    }
    describe(place, &path)
}

fn describe(place: &Place, path: &FieldPath) -> String {
    let Some(line) = line_of(&place.text, path) else { return format!(" ({})", place.file) };
    let mut text = format!(" ({}", place.file);
    // A line that stands in the template as it was rendered, and only once, is the one that is meant.
    let rendered = place.text.lines().nth(line - 1).unwrap_or_default().trim();
    let mut same = place.template.lines().enumerate().filter(|(_, other)| other.trim() == rendered);
    if let (Some((at, _)), None, false) = (same.next(), same.next(), rendered.is_empty()) {
        let _ = write!(text, ":{}", at + 1);
    }
    let _ = write!(text, ", line {line} of the rendered document)");
    text
}

/// Returns the line, from one, on which a field stands, or what encloses it where it does not stand there.
fn line_of(text: &str, path: &FieldPath) -> Option<usize> {
    let root = yaml::read_spanned(text.as_bytes()).ok()?;
    // The items of a list are objects of their own, with paths of their own.
    if root.get("items").is_some_and(|items| items.items().is_some()) {
        return None;
    }
    let mut node = &root;
    let mut line = usize::try_from(root.span.position.line).ok()?;
    for step in &path.0 {
        let Some((next, at)) = step_into(node, step) else { break };
        (node, line) = (next, at);
    }
    Some(line)
}

fn step_into<'n>(node: &'n Node, step: &Step) -> Option<(&'n Node, usize)> {
    let line = |node: &Node| usize::try_from(node.span.position.line).ok();
    match step {
        Step::Key(name) => {
            let entry = node.entries()?.iter().rev().find(|entry| entry.name == *name)?;
            Some((&entry.value, line(&entry.key)?))
        }
        Step::Index(index) => node.items()?.get(*index).and_then(|item| Some((item, line(item)?))),
        Step::Match(keys) => {
            let fits = |item: &&Node| {
                keys.iter().all(|(key, wanted)| {
                    let mut found = Some(*item);
                    for part in key.split('.') {
                        found = found.and_then(|node| node.get(part));
                    }
                    found.is_some_and(|node| scalar(node) == Some(wanted.as_str()))
                })
            };
            // Of two with the same keys the second is the one too many.
            let item = node.items()?.iter().rev().find(fits)?;
            Some((item, line(item)?))
        }
        Step::Value(json) => {
            let wanted = json.trim_matches('"');
            let item = node.items()?.iter().find(|item| scalar(item) == Some(wanted))?;
            Some((item, line(item)?))
        }
    }
}

fn scalar(node: &Node) -> Option<&str> {
    if let yaml::Content::Scalar { text, .. } = &node.content { Some(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Source: web/templates/a.yaml\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  foo: 1\n  template:\n    spec:\n      containers:\n        - name: c\n          env:\n            - name: A\n              value: x\n            - name: A\n              value: y\n";

    #[track_caller]
    fn check(message: &str, expected: &str) {
        let template = TEXT
            .replace("value: x", "value: {{ .Values.x }}")
            .replace("# Source: web/templates/a.yaml\n", "");
        let place =
            Place { file: "web/templates/a.yaml".to_owned(), text: TEXT.into(), template: template.into() };
        assert_eq!(of_message(&place, message), format!(" (web/templates/a.yaml{expected}"), "{message}");
    }

    #[test]
    fn a_refusal_of_the_typed_merge_is_placed() {
        let patch = "failed to create typed patch object (ns/a; apps/v1, Kind=Deployment): ";
        check(
            &format!("{patch}.spec.foo: field not declared in schema"),
            ":5, line 6 of the rendered document)",
        );
        // The line stands twice in the template too.
        check(
            &format!(
                "{patch}.spec.template.spec.containers[name=\"c\"].env: duplicate entries for key [name=\"A\"]"
            ),
            ", line 14 of the rendered document)",
        );
        check(&format!("{patch}.spec.absent.x: no"), ", line 5 of the rendered document)");
        check("something else", ")");
    }

    #[test]
    fn a_field_is_placed_by_its_path() {
        let place = Place { file: "t".to_owned(), text: TEXT.into(), template: "".into() };
        assert_eq!(
            of_field(&place, "spec.template.spec.containers[0].env[1].value"),
            " (t, line 15 of the rendered document)"
        );
        let list = Place { text: "kind: List\nitems:\n  - kind: X\n".into(), ..place };
        assert_eq!(of_field(&list, "spec.x"), " (t)");
    }
}
