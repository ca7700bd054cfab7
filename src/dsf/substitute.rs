//! Variables in the scalars of a tree: `$NAME`, `${NAME}`, `${NAME:-default}` of the environment, `${vars.NAME}` of
//! the files, and `$$` for `$`.
//!
//! Works on scalars that are already parsed, so a value can never change the structure of the file. Text that
//! was replaced keeps its written form for messages: values of the environment are never shown.

use super::keys::{self, Form, Status};
use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::tree::{Kind, Node, Table, Text, join};
use super::vars::Vars;
use crate::text::{Sources, Span, closest};
use std::collections::BTreeMap;

/// The longest text that one variable may grow to when the variables in it are replaced.
const MAX_EXPANDED: usize = 1 << 20;

/// One pass over a tree.
pub(super) struct Substitution<'a> {
    /// Nothing: only variables of the files are replaced.
    env: Option<&'a BTreeMap<String, String>>,
    vars: Option<&'a Vars>,
    /// Whether variables in the values of variables are replaced too, as in Helmsman.
    recursive: bool,
    sources: &'a Sources,
    problems: &'a mut Vec<Problem>,
    /// What a person should know, besides problems.
    pub(super) notes: Vec<(NoteCode, String, Span)>,
}

impl<'a> Substitution<'a> {
    /// A pass that replaces variables of the environment, and those of the files where `vars` has them.
    pub(super) fn new(
        env: &'a BTreeMap<String, String>,
        vars: Option<&'a Vars>,
        sources: &'a Sources,
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        Substitution { env: Some(env), vars, recursive: false, sources, problems, notes: Vec::new() }
    }

    /// Replaces variables in the values of variables too, if they exist.
    pub(super) fn recursive(mut self, recursive: bool) -> Self {
        self.recursive = recursive;
        self
    }

    /// Leaves the environment alone.
    pub(super) fn without_environment(mut self, without: bool) -> Self {
        self.env = self.env.filter(|_| !without);
        self
    }

    /// Replaces variables in every key and every text below `table`, the top level of a file. Unset variables are
    /// all reported.
    pub(super) fn run(&mut self, table: &mut Table) {
        self.table(table, "");
    }

    fn table(&mut self, table: &mut Table, path: &str) {
        for entry in table {
            let path = join(path, entry.key.shown());
            // Variables of the files cannot use each other, so their order never matters.
            let vars = self.vars;
            if is_vars(&path) {
                self.vars = None;
            }
            self.text(&mut entry.key, entry.key_span, &path);
            self.node(&mut entry.value, &path);
            self.vars = vars;
        }
    }

    /// Replaces variables below a node.
    pub(super) fn node(&mut self, node: &mut Node, path: &str) {
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
        if text.value.contains("{{ssm:") || text.value.contains("{{ssm :") || text.value.contains("{{ ssm:") {
            self.refuse(&keys::SSM_REFERENCE, span, path);
        }
        if !text.value.contains('$') {
            return;
        }
        let mut out = String::with_capacity(text.value.len());
        let (mut replaced, mut private) = (false, false);
        let original = std::mem::take(&mut text.value);
        let mut rest = original.as_str();
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let (part, after) = parse(&rest[at..]);
            let written = &rest[at..rest.len() - after.len()];
            match part {
                Part::Vars(name) => {
                    replaced = true;
                    private |= self.file_variable(name, &mut out, written, span, path);
                }
                _ if self.env.is_none() => out.push_str(written),
                Part::Plain(plain) => out.push_str(plain),
                Part::Bad(why) => self.report(Code::BadVariable, why.to_owned(), None, written, span, path),
                Part::Variable { name, default } => {
                    replaced = true;
                    private = true;
                    self.variable(name, default, &mut out, written, span, path);
                }
            }
            rest = after;
        }
        out.push_str(rest);
        text.value = out;
        if replaced {
            text.written = Some(original);
            text.private = private;
        }
    }

    /// Adds the value of a variable of the files, and tells whether it holds something of the environment.
    fn file_variable(&mut self, name: &str, out: &mut String, written: &str, span: Span, path: &str) -> bool {
        let Some(vars) = self.vars else {
            let why = "variables of the files cannot use each other".to_owned();
            self.report(Code::BadVariable, why, None, written, span, path);
            return false;
        };
        if let Some(variable) = vars.get(name) {
            out.push_str(&variable.value);
            return variable.private;
        }
        let near = closest(name, vars.names());
        let hint = match near {
            Some(near) => format!("did you mean `${{vars.{near}}}`?"),
            None => "declare it under `vars`".to_owned(),
        };
        let message = format!("no variable `{name}` in `vars`");
        self.report(Code::UnsetVariable, message, Some(hint), written, span, path);
        false
    }

    fn variable(
        &mut self,
        name: &str,
        default: Option<&str>,
        out: &mut String,
        written: &str,
        span: Span,
        path: &str,
    ) {
        let env = self.env.and_then(|env| env.get(name));
        // As in a shell, `:-` also stands in for a variable that is set to nothing.
        match (env.filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(_), _) if self.recursive => match self.expanded(name, &mut Vec::new()) {
                Ok(value) => out.push_str(&value),
                Err(why) => self.report(Code::BadVariable, why, None, written, span, path),
            },
            (Some(value), _) => {
                if self.names_others(value) {
                    let message = format!(
                        "the value of `{name}` is taken as it is; Helmsman would replace the variables in it, and so \
                         does `--helmsman-compat`"
                    );
                    self.notes.push((NoteCode::NotExpanded, message, span));
                }
                out.push_str(value);
            }
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                let message = format!("environment variable `{name}` is not set");
                let hint = format!("set it, write `${{{name}:-default}}`, or `$$` for a plain `$`");
                self.report(Code::UnsetVariable, message, Some(hint), written, span, path);
            }
        }
    }

    /// Tells whether a value names variables that exist.
    fn names_others(&self, value: &str) -> bool {
        let mut rest = value;
        while let Some(at) = rest.find('$') {
            let (part, after) = parse(&rest[at..]);
            if let Part::Variable { name, .. } = part
                && self.env.is_some_and(|env| env.contains_key(name))
            {
                return true;
            }
            rest = after;
        }
        false
    }

    /// The value of a variable with the variables in it replaced, as Helmsman does it. What names no variable stays
    /// as it is: a password may hold a `$`.
    fn expanded(&self, name: &str, open: &mut Vec<String>) -> Result<String, String> {
        if open.iter().any(|other| other == name) {
            let circle = open.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(" → ");
            return Err(format!("environment variables refer to each other: {circle}"));
        }
        let value = self.env.and_then(|env| env.get(name)).map(String::as_str).unwrap_or_default();
        open.push(name.to_owned());
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let (part, after) = parse(&rest[at..]);
            let written = &rest[at..rest.len() - after.len()];
            match part {
                Part::Variable { name, .. } if self.env.is_some_and(|env| env.contains_key(name)) => {
                    out.push_str(&self.expanded(name, open)?);
                }
                _ => out.push_str(written),
            }
            if out.len() > MAX_EXPANDED {
                return Err(format!("the value of `{name}` grows beyond {MAX_EXPANDED} bytes"));
            }
            rest = after;
        }
        open.pop();
        out.push_str(rest);
        Ok(out)
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

/// Tells whether a path is that of a table of variables.
fn is_vars(path: &str) -> bool {
    path == "vars"
        || path.strip_prefix("environments.").is_some_and(|rest| {
            rest.ends_with(".vars") && (rest.matches('.').count() == 1 || rest.starts_with('"'))
        })
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
    Vars(&'a str),
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
            name if name.starts_with("vars.") && default.is_none() => Part::Vars(&name["vars.".len()..]),
            name if name.starts_with("vars.") => Part::Bad("a variable of the files takes no default"),
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
        let mut vars = Vars::default();
        vars.add("n", "3", false);
        Substitution::new(&env, Some(&vars), &sources, &mut problems).run(&mut table);
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
        check("a${vars.n}b$FOO", Ok("a3bfoo"));
        check("$${vars.n}", Ok("${vars.n}"));
    }

    #[test]
    fn a_value_is_never_expanded_or_parsed_again() {
        check("$TRICKY", Ok("a $FOO \"\nb: c"));
    }

    fn expand(pairs: &[(&str, &str)], expected: Result<&str, &str>) {
        let env: BTreeMap<String, String> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (sources, mut problems) = (Sources::default(), Vec::new());
        let pass = Substitution::new(&env, None, &sources, &mut problems).recursive(true);
        let found = pass.expanded("A", &mut Vec::new());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{pairs:?}");
    }

    #[test]
    fn values_are_expanded_as_in_helmsman_only_into_names_that_exist() {
        expand(&[("A", "p$ecret")], Ok("p$ecret"));
        expand(&[("A", "x-$B-${C}"), ("B", "1"), ("C", "$B")], Ok("x-1-1"));
        expand(&[("A", "$$B"), ("B", "1")], Ok("$$B"));
        expand(&[("A", "$A")], Err("environment variables refer to each other: A → A"));
        expand(&[("A", "$B"), ("B", "${A}")], Err("environment variables refer to each other: A → B → A"));
        let many: Vec<(String, String)> = (0..30)
            .map(|n| {
                (
                    if n == 0 { "A".to_owned() } else { format!("A{n}") },
                    format!("xxxxxxxx$A{m}$A{m}", m = n + 1),
                )
            })
            .collect();
        let many: Vec<(&str, &str)> =
            many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let env: BTreeMap<String, String> =
            many.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (sources, mut problems) = (Sources::default(), Vec::new());
        let pass = Substitution::new(&env, None, &sources, &mut problems);
        assert!(pass.expanded("A", &mut Vec::new()).unwrap_err().contains("grows beyond"));
    }

    #[test]
    fn tables_of_variables_are_known_by_their_path() {
        for (path, expected) in [
            ("vars", true),
            ("environments.a.vars", true),
            ("environments.\"a.b\".vars", true),
            ("environments.a.apps.x.vars", false),
            ("apps.vars", false),
        ] {
            assert_eq!(is_vars(path), expected, "{path}");
        }
    }

    #[test]
    fn every_unset_or_unreadable_variable_is_reported_at_its_place() {
        check("$NOPE and ${NADA}", Err(&["$NOPE", "${NADA}"]));
        check("x${", Err(&["${"]));
        check("${}", Err(&["${}"]));
        check("${a b}", Err(&["${a b}"]));
        check("${A:-${B}}", Err(&["${A:-${B}"]));
        check("${vars.x}", Err(&["${vars.x}"]));
        check("${vars.n:-1}", Err(&["${vars.n:-1}"]));
        check("a {{ssm: /x~true}}", Err(&["a {{ssm: /x~true}}"]));
    }
}
