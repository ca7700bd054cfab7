//! Templates without code: the few actions that stand for a value of the environment, of the process, or for a text.
//!
//! Works on the text before it is YAML, as helmfile does, and keeps its lines: what is found is told with its line. A
//! variable of the process is not read: a marker stands for it until the file is written, where it becomes `${NAME}`.
//!
//! Source: helmfile `docs/templating.md`, `docs/builtin-objects.md`.

use crate::value::{Map, Value};

/// Begins a variable of the process; its default stands behind [`DEFAULT`], and [`END`] ends it.
pub(super) const VARIABLE: char = '\u{e000}';
pub(super) const DEFAULT: char = '\u{e001}';
pub(super) const END: char = '\u{e002}';
/// Stands for what could not be evaluated.
pub(super) const LOST: char = '\u{e003}';

/// What actions may speak of.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// `.Environment.Name`.
    pub(super) environment: String,
    /// `.Environment.KubeContext`.
    pub(super) kube_context: Option<String>,
    /// `.Values`, `.StateValues` and `.Environment.Values`.
    pub(super) values: Map,
    /// `.Release.Name` and its relatives; empty outside of a release, where such actions stay as they are.
    pub(super) release: Map,
}

/// A text whose actions were evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rendered {
    /// The text; it has the lines of the template.
    pub(super) text: String,
    /// What could not be evaluated: the line, from 1, and what stands there.
    pub(super) lost: Vec<(usize, String)>,
}

/// Evaluates the actions of a text.
pub(super) fn render(text: &str, scope: &Scope) -> Rendered {
    let mut out = Rendered::default();
    let mut rest = text;
    let line = |rest: &str| text[..text.len() - rest.len()].matches('\n').count() + 1;
    while let Some(at) = rest.find("{{") {
        out.text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(length) = action_length(rest) else {
            out.lost.push((line(rest), "an action that does not end".to_owned()));
            break;
        };
        let (action, after) = rest.split_at(length);
        let code = action.trim_start_matches("{{").trim_end_matches("}}");
        let (left, right) = (code.starts_with("- "), code.ends_with(" -"));
        let code = code.strip_prefix('-').unwrap_or(code);
        let code = code.strip_suffix('-').filter(|_| right).unwrap_or(code).trim();
        if left {
            trim_line(&mut out.text);
        }
        let mut next = after;
        if let Some(keyword) = keyword(code) {
            let first = line(rest);
            if matches!(keyword, "if" | "range" | "with" | "define" | "block") {
                next = end_of_block(after).unwrap_or("");
            }
            // What was left out still has its lines.
            let skipped = &rest[..rest.len() - next.len()];
            let lines = skipped.matches('\n').count();
            out.text.extend(std::iter::repeat_n('\n', lines));
            let last = first + lines;
            let place = if last == first { String::new() } else { format!(" up to line {last}") };
            out.lost.push((first, format!("template code: {{{{ {code} }}}}{place}")));
            rest = next;
            continue;
        }
        if !code.starts_with("/*") {
            match evaluate(code, scope) {
                Some(value) => out.text.push_str(&value),
                None => {
                    out.lost.push((line(rest), format!("template code: {{{{ {code} }}}}")));
                    out.text.push(LOST);
                }
            }
        }
        if right {
            let spaces = next.len() - next.trim_start_matches([' ', '\t']).len();
            next = &next[spaces..];
        }
        rest = next;
    }
    out.text.push_str(rest);
    out
}

/// A dash takes the white space before an action away; its lines stay, so that lines can be told.
fn trim_line(text: &mut String) {
    text.truncate(text.trim_end_matches([' ', '\t']).len());
}

/// Returns the length of the action that a text begins with; braces in quotes do not end it.
fn action_length(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut characters = text.char_indices().skip(2);
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('"'), '\\') => drop(characters.next()),
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => quote = Some(character),
            (None, '}') if text[at..].starts_with("}}") => return Some(at + 2),
            (None, _) => {}
        }
    }
    None
}

fn keyword(code: &str) -> Option<&'static str> {
    let first = code.split([' ', '\t', '\n', '(']).next().unwrap_or_default();
    let known = ["if", "else", "end", "range", "with", "define", "block", "template", "break", "continue"];
    known.into_iter().find(|word| *word == first).or_else(|| code.starts_with('$').then_some("variable"))
}

/// Returns what follows the `end` of a block that has just begun.
fn end_of_block(mut rest: &str) -> Option<&str> {
    let mut depth = 1;
    while let Some(at) = rest.find("{{") {
        let length = action_length(&rest[at..])?;
        let code = rest[at + 2..at + length - 2].trim_start_matches('-').trim();
        match keyword(code) {
            Some("if" | "range" | "with" | "define" | "block") => depth += 1,
            Some("end") => depth -= 1,
            _ => {}
        }
        rest = &rest[at + length..];
        if depth == 0 {
            return Some(rest);
        }
    }
    None
}

/// A value on its way through a pipeline.
enum Val {
    Plain(Value),
    Variable { name: String, default: Option<String> },
}

fn evaluate(code: &str, scope: &Scope) -> Option<String> {
    let mut parts = split(code, '|').into_iter();
    let first = split(parts.next()?.trim(), ' ');
    let words: Vec<&str> = first.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
    if words.first().is_some_and(|word| word.starts_with(".Release.")) && scope.release.is_empty() {
        // It is evaluated later, for each release.
        return Some(format!("{{{{ {code} }}}}"));
    }
    let mut value = match words.as_slice() {
        ["requiredEnv" | "env", name] => {
            let default = (words[0] == "env").then(String::new);
            Val::Variable { name: literal(name)?.as_str()?.to_owned(), default }
        }
        ["default", default, operand] => with_default(operand_of(operand, scope)?, &literal(default)?),
        ["quote", operand] => quoted(operand_of(operand, scope)?)?,
        [operand] => operand_of(operand, scope)?,
        _ => return None,
    };
    for part in parts {
        let words = split(part.trim(), ' ');
        let words: Vec<&str> = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
        value = match words.as_slice() {
            ["default", default] => with_default(value, &literal(default)?),
            ["quote"] => quoted(value)?,
            ["toString"] => value,
            _ => return None,
        };
    }
    match value {
        Val::Plain(value) => value.scalar_text(),
        Val::Variable { name, default } => Some(marker(&name, default.as_deref())),
    }
}

fn marker(name: &str, default: Option<&str>) -> String {
    let default = default.map(|text| format!("{DEFAULT}{text}")).unwrap_or_default();
    format!("{VARIABLE}{name}{default}{END}")
}

fn operand_of(word: &str, scope: &Scope) -> Option<Val> {
    if let Some(path) = word.strip_prefix('.') {
        let keys: Vec<&str> = path.split('.').collect();
        let values = |keys: &[&str]| {
            let mut at = scope.values.get(*keys.first()?)?;
            for key in &keys[1..] {
                at = at.get(key)?;
            }
            Some(Val::Plain(at.clone()))
        };
        return match keys.as_slice() {
            ["Environment", "Name"] => Some(Val::Plain(Value::from(scope.environment.as_str()))),
            ["Environment", "KubeContext"] => {
                scope.kube_context.as_deref().map(|name| Val::Plain(Value::from(name)))
            }
            ["Values" | "StateValues", below @ ..] | ["Environment", "Values", below @ ..] => values(below),
            ["Release", name] => scope.release.get(*name).cloned().map(Val::Plain),
            ["Release", "Labels", name] => scope.release.get("Labels")?.get(name).cloned().map(Val::Plain),
            _ => None,
        };
    }
    literal(word).map(Val::Plain)
}

/// Source: sprig's `default` and `empty`.
fn with_default(value: Val, default: &Value) -> Val {
    let empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Str(text) => text.is_empty(),
        Value::Int(0) => true,
        Value::Float(number) => *number == 0.0,
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    };
    match value {
        Val::Plain(value) if empty(&value) => Val::Plain(default.clone()),
        Val::Variable { name, .. } => Val::Variable { name, default: default.scalar_text() },
        other => other,
    }
}

fn quoted(value: Val) -> Option<Val> {
    let text = match value {
        Val::Plain(value) => value.scalar_text()?,
        Val::Variable { name, default } => marker(&name, default.as_deref()),
    };
    Some(Val::Plain(Value::from(serde_json::Value::from(text).to_string())))
}

/// Returns a literal: text in double quotes or backticks, a number, or a truth value.
fn literal(word: &str) -> Option<Value> {
    if let Some(text) = word.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
        return Some(Value::from(text));
    }
    if word.starts_with('"') {
        return serde_json::from_str::<String>(word).ok().map(Value::from);
    }
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => word.parse::<i64>().ok().map(Value::Int),
    }
}

/// Splits a text at a character outside of quotes.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (index, character) in text.char_indices() {
        match quote {
            Some(open) if character == open => quote = None,
            None if matches!(character, '"' | '`') => quote = Some(character),
            None if character == at => {
                parts.push(&text[start..index]);
                start = index + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, lost: &[(usize, &str)]) {
        let values = "domain: example.org\nreplicas: 3\non: true\nempty: ''\nnested: { tag: '1.0' }\n";
        let scope = Scope {
            environment: "prod".to_owned(),
            kube_context: None,
            values: crate::yaml::read_map(values.as_bytes()).unwrap(),
            release: Map::new(),
        };
        let rendered = render(text, &scope);
        let shown =
            rendered.text.replace(VARIABLE, "<").replace(DEFAULT, ":").replace(END, ">").replace(LOST, "?");
        assert_eq!(shown, expected);
        let found: Vec<(usize, &str)> =
            rendered.lost.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(found, lost, "{text}");
    }

    #[test]
    fn values_names_and_variables_are_put_in() {
        check("a: {{ .Environment.Name }}", "a: prod", &[]);
        check("a: {{.Values.nested.tag}}-{{ .StateValues.replicas }}", "a: 1.0-3", &[]);
        check("a: {{ .Environment.Values.domain | quote }}", "a: \"example.org\"", &[]);
        check("a: {{ requiredEnv \"X\" }} {{ env `Y` }}", "a: <X> <Y:>", &[]);
        check("a: {{ env \"Y\" | default \"z\" | quote }}", "a: \"<Y:z>\"", &[]);
        check(
            "a: {{ .Values.empty | default 5 }} {{ default \"d\" .Values.domain }}",
            "a: 5 example.org",
            &[],
        );
        check(
            "a: {{`{{ .Release.Name }}`}} {{ .Release.Name }}",
            "a: {{ .Release.Name }} {{ .Release.Name }}",
            &[],
        );
        check("{{/* no */}}a: b", "a: b", &[]);
        check("a: b  {{- /* x */ -}}  \nc: d", "a: b\nc: d", &[]);
    }

    #[test]
    fn code_is_told_with_its_lines_and_takes_its_block_along() {
        check("a: {{ exec \"x\" (list) }}", "a: ?", &[(1, "template code: {{ exec \"x\" (list) }}")]);
        check("a: {{ .Values.none }}\n", "a: ?\n", &[(1, "template code: {{ .Values.none }}")]);
        check(
            "a: 1\n{{ if .Values.on }}\nb: 2\n{{ if true }}x{{ end }}\n{{- else }}\nc: 3\n{{ end }}\nd: 4\n",
            "a: 1\n\n\n\n\n\n\nd: 4\n",
            &[(2, "template code: {{ if .Values.on }} up to line 7")],
        );
        check(
            "{{ $x := 1 }}\na: {{ $x }}",
            "\na: ",
            &[(1, "template code: {{ $x := 1 }}"), (2, "template code: {{ $x }}")],
        );
        check("a: {{ \"}}\" }} {{ x", "a: }} {{ x", &[(1, "an action that does not end")]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_rendered(text in "(\\{\\{-?|-?\\}\\}|if |end|range |\"|`|\\.Values\\.a|\\||env|[a-z: \n#ä]){0,24}") {
            let rendered = render(&text, &Scope::default());
            for (line, _) in rendered.lost {
                proptest::prop_assert!(line >= 1 && line <= text.matches('\n').count() + 1);
            }
        }
    }
}
