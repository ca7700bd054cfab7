//! Environment variables in the scalars of a tree: `$NAME`, `${NAME}`, `${NAME:-default}`, and `$$` for `$`.
//!
//! Works on scalars that are already parsed, so a value can never change the structure of the file. Text that
//! was replaced keeps its written form for messages: values of variables are never shown.

use super::keys::{self, Form, Status};
use super::problems::{Code, Problem};
use super::tree::{Kind, Node, Table, Text, join};
use crate::text::{Sources, Span};
use std::collections::BTreeMap;

/// Replaces variables in every key and every text below `table`. Unset variables are all reported.
pub(super) fn substitute(
    table: &mut Table,
    env: &BTreeMap<String, String>,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    Substitution { env, sources, problems }.table(table, "");
}

struct Substitution<'a> {
    env: &'a BTreeMap<String, String>,
    sources: &'a Sources,
    problems: &'a mut Vec<Problem>,
}

impl Substitution<'_> {
    fn table(&mut self, table: &mut Table, path: &str) {
        for entry in table {
            let path = join(path, entry.key.shown());
            self.text(&mut entry.key, entry.key_span, &path);
            self.node(&mut entry.value, &path);
        }
    }

    fn node(&mut self, node: &mut Node, path: &str) {
        match &mut node.kind {
            Kind::Str(text) => self.text(text, node.span, path),
            Kind::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.node(item, &format!("{path}[{at}]"));
                }
            }
            Kind::Map(table) => self.table(table, path),
            Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) | Kind::Date => {}
        }
    }

    fn text(&mut self, text: &mut Text, span: Span, path: &str) {
        if text.value.starts_with("ref+") && text.value.contains("://") {
            self.refuse(&keys::SECRET_REFERENCE, span, path);
        }
        if text.value.contains("{{ssm:") || text.value.contains("{{ssm :") || text.value.contains("{{ ssm:") {
            self.refuse(&keys::SSM_REFERENCE, span, path);
        }
        if !text.value.contains('$') {
            return;
        }
        let mut out = String::with_capacity(text.value.len());
        let mut replaced = false;
        let mut rest = text.value.as_str();
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let (part, after) = parse(&rest[at..]);
            let written = &rest[at..rest.len() - after.len()];
            match part {
                Part::Plain(plain) => out.push_str(plain),
                Part::Bad(why) => self.report(Code::BadVariable, why.to_owned(), None, written, span, path),
                Part::Vars => self.refuse(&keys::VARS_REFERENCE, span, path),
                Part::Variable { name, default } => {
                    replaced = true;
                    // As in a shell, `:-` also stands in for a variable that is set to nothing.
                    let value = self.env.get(name).filter(|value| default.is_none() || !value.is_empty());
                    match (value, default) {
                        (Some(value), _) => out.push_str(value),
                        (None, Some(default)) => out.push_str(default),
                        (None, None) => {
                            let message = format!("environment variable `{name}` is not set");
                            let hint =
                                format!("set it, write `${{{name}:-default}}`, or `$$` for a plain `$`");
                            self.report(Code::UnsetVariable, message, Some(hint), written, span, path);
                        }
                    }
                }
            }
            rest = after;
        }
        out.push_str(rest);
        let written = std::mem::replace(&mut text.value, out);
        if replaced {
            text.written = Some(written);
        }
    }

    fn refuse(&mut self, form: &Form, span: Span, path: &str) {
        if let Some(problem) = refused(form, path, span) {
            self.problems.push(problem);
        }
    }

    fn report(
        &mut self,
        code: Code,
        message: String,
        hint: Option<String>,
        written: &str,
        span: Span,
        path: &str,
    ) {
        // Only the variable is marked where the file holds the text as it is, without escapes.
        let inside = self.sources.slice(span).find(written).map(|at| span.start as usize + at);
        let span = inside.map_or(span, |at| Span::new(span.file, at..at + written.len()));
        self.problems.push(Problem::new(code, path, message, span).maybe_hint(hint));
    }
}

/// The problem of a value form that is not supported, or nothing when it is.
pub(super) fn refused(form: &Form, path: &str, span: Span) -> Option<Problem> {
    match form.status {
        Status::Supported | Status::NoEffect(_) => None,
        Status::NotYet => {
            let message = format!("not supported yet: `{}`", form.place);
            Some(Problem::new(Code::NotSupportedYet, path, message, span))
        }
        Status::Rejected(why) => Some(Problem::new(Code::NotSupported, path, why, span)),
    }
}

enum Part<'a> {
    Plain(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// `${vars.NAME}`.
    Vars,
    Bad(&'static str),
}

/// Reads what a text that starts with `$` starts with, and returns what follows it.
fn parse(text: &str) -> (Part<'_>, &str) {
    let after = &text[1..];
    if let Some(rest) = after.strip_prefix('$') {
        return (Part::Plain("$"), rest);
    }
    if let Some(braced) = after.strip_prefix('{') {
        let Some(end) = braced.find('}') else {
            return (Part::Bad("`${` without `}`"), "");
        };
        let (inner, rest) = (&braced[..end], &braced[end + 1..]);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let part = match name {
            _ if default.is_some_and(|text| text.contains("${")) => Part::Bad("a default cannot hold `${`"),
            name if name.starts_with("vars.") => Part::Vars,
            name if name_length(name) == name.len() && !name.is_empty() => Part::Variable { name, default },
            _ => Part::Bad("not the name of a variable"),
        };
        return (part, rest);
    }
    match name_length(after) {
        // `$5` and a `$` before punctuation are plain text.
        0 => (Part::Plain("$"), after),
        length => (Part::Variable { name: &after[..length], default: None }, &after[length..]),
    }
}

/// The length of the variable name at the start of a text: letters, digits and `_`, no digit first.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: Result<&str, &[&str]>) {
        let env: BTreeMap<String, String> = [("FOO", "foo"), ("EMPTY", ""), ("TRICKY", "a $FOO \"\nb: c")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        let mut sources = Sources::default();
        let file = sources.add("a.toml", written);
        let span = Span::new(file, 0..written.len());
        let mut table = vec![super::super::tree::Entry {
            key: Text::plain("k"),
            key_span: span,
            value: Node { kind: Kind::Str(Text::plain(written)), span },
        }];
        let mut problems = Vec::new();
        substitute(&mut table, &env, &sources, &mut problems);
        let places: Vec<&str> = problems.iter().map(|problem| sources.slice(problem.span)).collect();
        let Kind::Str(text) = &table[0].value.kind else { panic!("text stays text") };
        match expected {
            Ok(expected) => assert_eq!((text.value.as_str(), places.len()), (expected, 0), "{written}"),
            Err(expected) => assert_eq!(places, expected, "{written}"),
        }
    }

    #[test]
    fn variables_are_replaced_and_plain_dollars_stay() {
        check("a", Ok("a"));
        check("$FOO", Ok("foo"));
        check("x-${FOO}-y", Ok("x-foo-y"));
        check("$FOO-bar", Ok("foo-bar"));
        check("$FOO$FOO", Ok("foofoo"));
        check("$$FOO $$$FOO", Ok("$FOO $foo"));
        check("${NOPE:-d e}", Ok("d e"));
        check("${EMPTY:-d}${EMPTY}", Ok("d"));
        check("${NOPE:-}", Ok(""));
        check("5$ $5 $. $", Ok("5$ $5 $. $"));
        check("ä$FOO日", Ok("äfoo日"));
    }

    #[test]
    fn a_value_is_never_expanded_or_parsed_again() {
        check("$TRICKY", Ok("a $FOO \"\nb: c"));
    }

    #[test]
    fn every_unset_or_unreadable_variable_is_reported_at_its_place() {
        check("$NOPE and ${NADA}", Err(&["$NOPE", "${NADA}"]));
        check("x${", Err(&["${"]));
        check("${}", Err(&["${}"]));
        check("${a b}", Err(&["${a b}"]));
        check("${A:-${B}}", Err(&["${A:-${B}"]));
        check("${vars.x}", Err(&["${vars.x}"]));
        check("ref+env://X", Err(&["ref+env://X"]));
        check("a {{ssm: /x~true}}", Err(&["a {{ssm: /x~true}}"]));
    }
}
