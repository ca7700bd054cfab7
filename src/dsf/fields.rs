//! Typed access to the entries of a table. A wrong type is a problem, and then the key counts as not given.

use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::raw::{At, Given, TextMap};
use super::read::Syntax;
use super::report::Report;
use super::tree::{Entry, Kind, Node, Table, Text, join};
use crate::text::{Span, list_of};
use crate::value::number::format_g;
use std::time::Duration;

/// What decoding works with besides the tree.
pub(super) struct Context<'a, 'b> {
    pub(super) report: &'a mut Report<'b>,
    /// What each file is written in, by its number.
    pub(super) syntax: &'a dyn Fn(Span) -> Syntax,
    /// Whether the tree is that of all files: a single one may rely on what stands in another.
    pub(super) whole: bool,
}

/// The entries of one table.
pub(super) struct Fields<'t> {
    table: &'t Table,
    pub(super) path: String,
}

impl<'t> Fields<'t> {
    pub(super) fn new(table: &'t Table, path: impl Into<String>) -> Self {
        Fields { table, path: path.into() }
    }

    /// The entry of a key; `null` counts as not given.
    pub(super) fn get(&self, key: &str) -> Option<(&'t Entry, String)> {
        let entry = self.table.iter().find(|entry| entry.key.value == key)?;
        (!matches!(entry.value.kind, Kind::Null)).then(|| (entry, join(&self.path, key)))
    }

    /// The entries of a nested table in the order of the file, and its path.
    pub(super) fn table(&self, key: &str, cx: &mut Context<'_, '_>) -> Option<(&'t Table, String)> {
        let (entry, path) = self.get(key)?;
        match &entry.value.kind {
            Kind::Map(table) => Some((table, path)),
            _ => wrong_type(&entry.value, &path, "a table", cx),
        }
    }

    pub(super) fn text(&self, key: &str, cx: &mut Context<'_, '_>) -> Given<Text> {
        let (entry, path) = self.get(key)?;
        text(&entry.value, &path, cx)
    }

    /// Text that must not be written as a number, because `1.10` would become `1.1`.
    pub(super) fn version(&self, key: &str, cx: &mut Context<'_, '_>) -> Given<Text> {
        let (entry, path) = self.get(key)?;
        let node = &entry.value;
        if let Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) = node.kind {
            let written = cx.report.sources.slice(node.span).trim().to_owned();
            let problem =
                Problem::new(Code::WrongType, path, "a version without quotes is a number", node.span);
            cx.report.problem(problem.hint(format!("write \"{written}\" in quotes")));
            return None;
        }
        text(node, &path, cx)
    }

    pub(super) fn boolean(&self, key: &str, cx: &mut Context<'_, '_>) -> Given<bool> {
        let (entry, path) = self.get(key)?;
        let node = &entry.value;
        let value = match &node.kind {
            Kind::Bool(flag) => Some(*flag),
            // Helmsman takes booleans in quotes in TOML only. A variable has no type of its own.
            Kind::Str(text) if text.written.is_some() || (cx.syntax)(node.span) == Syntax::Toml => {
                match text.value.as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                }
            }
            _ => None,
        };
        match value {
            Some(value) => Some(At { value, span: node.span }),
            None => wrong_type(node, &path, "true or false", cx),
        }
    }

    pub(super) fn integer(&self, key: &str, cx: &mut Context<'_, '_>) -> Given<i64> {
        let (entry, path) = self.get(key)?;
        let node = &entry.value;
        let value = match &node.kind {
            Kind::Int(number) => Some(*number),
            Kind::Str(text) if text.written.is_some() => text.value.trim().parse().ok(),
            _ => None,
        };
        match value {
            Some(value) => Some(At { value, span: node.span }),
            None => wrong_type(node, &path, "a whole number", cx),
        }
    }

    /// Seconds, as in Helmsman, or a text such as `5m`.
    pub(super) fn duration(&self, key: &str, cx: &mut Context<'_, '_>) -> Given<Duration> {
        let (entry, path) = self.get(key)?;
        let node = &entry.value;
        let value = match &node.kind {
            Kind::Int(seconds) => {
                u64::try_from(*seconds).ok().filter(|s| *s <= MAX_SECONDS).map(Duration::from_secs)
            }
            Kind::Str(text) => parse_duration(text.value.trim()),
            _ => return wrong_type(node, &path, "seconds or a duration such as \"5m\"", cx),
        };
        if value.is_none() {
            let problem = Problem::new(Code::BadDuration, path, "not a duration", node.span);
            cx.report
                .problem(problem.hint("write seconds, or numbers with units: \"90s\", \"5m\", \"1h30m\""));
        }
        value.map(|value| At { value, span: node.span })
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
        cx: &mut Context<'_, '_>,
    ) -> Given<T> {
        let (entry, path) = self.get(key)?;
        choice(&entry.value, &path, words, cx)
    }

    /// A list of text. Empty texts are left out, as Helmsman's examples write them for "none".
    pub(super) fn texts(&self, key: &str, cx: &mut Context<'_, '_>) -> Vec<At<Text>> {
        let Some((items, path)) = self.list(key, cx) else { return Vec::new() };
        let items = items.iter().enumerate();
        let texts = items.filter_map(|(at, item)| text(item, &format!("{path}[{at}]"), cx));
        texts.filter(|text| !text.value.value.is_empty()).collect()
    }

    /// The items of a list, and its path.
    pub(super) fn list(&self, key: &str, cx: &mut Context<'_, '_>) -> Option<(&'t [Node], String)> {
        let (entry, path) = self.get(key)?;
        match &entry.value.kind {
            Kind::List(items) => Some((items, path)),
            _ => wrong_type(&entry.value, &path, "a list", cx),
        }
    }

    /// Scalars by free names. With `nested`, tables below are the parts of a dotted path.
    pub(super) fn text_map(&self, key: &str, nested: bool, cx: &mut Context<'_, '_>) -> TextMap {
        let mut out = TextMap::new();
        if let Some((table, path)) = self.table(key, cx) {
            text_map(table, &path, None, nested, &mut out, cx);
        }
        out
    }
}

fn text_map(
    table: &Table,
    path: &str,
    prefix: Option<&Text>,
    nested: bool,
    out: &mut TextMap,
    cx: &mut Context<'_, '_>,
) {
    for entry in table {
        let path = join(path, entry.key.shown());
        let key = match prefix {
            None => entry.key.clone(),
            Some(prefix) => Text {
                value: format!("{}.{}", prefix.value, entry.key.value),
                written: (prefix.written.is_some() || entry.key.written.is_some())
                    .then(|| format!("{}.{}", prefix.shown(), entry.key.shown())),
                private: prefix.private || entry.key.private,
            },
        };
        match &entry.value.kind {
            Kind::Map(below) if nested => text_map(below, &path, Some(&key), nested, out, cx),
            Kind::List(_) | Kind::Map(_) | Kind::Date => {
                let message =
                    format!("expected text, a number or a boolean, found {}", entry.value.type_name());
                let problem = Problem::new(Code::WrongType, path, message, entry.key_span).conceal(true);
                let hint = nested.then(|| "lists and typed values belong in `values`".to_owned());
                cx.report.problem(problem.maybe_hint(hint));
            }
            _ => {
                if let Some(value) = scalar_text(&entry.value, &path, cx) {
                    out.push((At { value: key, span: entry.key_span }, value));
                }
            }
        }
    }
}

/// Text, or a scalar that YAML reads as something else.
pub(super) fn text(node: &Node, path: &str, cx: &mut Context<'_, '_>) -> Given<Text> {
    match &node.kind {
        Kind::Str(text) => Some(At { value: text.clone(), span: node.span }),
        // Helmsman refuses it in TOML, where quotes are never optional.
        Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_)
            if (cx.syntax)(node.span) == Syntax::Yaml =>
        {
            scalar_text(node, path, cx)
        }
        _ => wrong_type(node, path, "text", cx),
    }
}

/// Any scalar as text, as `sigs.k8s.io/yaml` converts it for Helmsman; `null` is the empty text.
pub(super) fn scalar_text(node: &Node, path: &str, cx: &mut Context<'_, '_>) -> Given<Text> {
    let value = match &node.kind {
        Kind::Str(text) => return Some(At { value: text.clone(), span: node.span }),
        Kind::Null => String::new(),
        Kind::Bool(flag) => flag.to_string(),
        Kind::Int(number) => number.to_string(),
        Kind::Uint(number) => number.to_string(),
        Kind::Float(number) => format_g(*number),
        Kind::List(_) | Kind::Map(_) | Kind::Date => return wrong_type(node, path, "text", cx),
    };
    let written = cx.report.sources.slice(node.span).trim();
    if !value.is_empty() && !written.is_empty() && written != value {
        let message = format!("without quotes this is {}, which reads differently as text", node.type_name());
        cx.report.note(NoteCode::ReadAsText, path, message, node.span);
    }
    Some(At { value: Text::plain(value), span: node.span })
}

/// One of a few words.
pub(super) fn choice<T: Copy>(
    node: &Node,
    path: &str,
    words: &[(&str, T)],
    cx: &mut Context<'_, '_>,
) -> Given<T> {
    let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    let Kind::Str(text) = &node.kind else {
        return wrong_type(node, path, &list_of(&names, "or"), cx);
    };
    let found = words.iter().find(|(word, _)| *word == text.value);
    let Some((_, value)) = found else {
        let message = format!("`{}` is not one of {}", text.shown(), list_of(&names, "and"));
        let hint = cx.report.did_you_mean(&text.value, words.iter().map(|(word, _)| *word));
        cx.report.problem(Problem::new(Code::BadValue, path, message, node.span).maybe_hint(hint));
        return None;
    };
    Some(At { value: *value, span: node.span })
}

/// Reports a wrong type.
pub(super) fn wrong_type<T>(node: &Node, path: &str, wanted: &str, cx: &mut Context<'_, '_>) -> Option<T> {
    let message = format!("expected {wanted}, found {}", node.type_name());
    let hint = match &node.kind {
        Kind::Str(text) if text.written.is_some() => {
            Some("the text comes from a variable, and is never read as YAML or TOML".to_owned())
        }
        Kind::Str(text) if matches!(text.value.as_str(), "true" | "false") && wanted.starts_with("true") => {
            Some("write it without quotes".to_owned())
        }
        Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) if wanted == "text" => {
            Some("write it in quotes".to_owned())
        }
        _ => None,
    };
    cx.report.problem(Problem::new(Code::WrongType, path, message, node.span).maybe_hint(hint));
    None
}

/// Ten years: longer waits are mistakes, and no sum of a few of them overflows.
const MAX_SECONDS: u64 = 10 * 366 * 24 * 3600;

/// Reads seconds without a unit, or numbers with the units `ms`, `s`, `m`, `h` and `d`, largest first or not.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().filter(|s| *s <= MAX_SECONDS).map(Duration::from_secs);
    }
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let factor = match &rest[..unit] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 3600 * 1000,
            "d" => 24 * 3600 * 1000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(factor)?)?;
        rest = &rest[unit..];
    }
    (!text.is_empty() && total <= MAX_SECONDS * 1000).then(|| Duration::from_millis(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_or_have_units() {
        for (text, millis) in [
            ("5m", Some(300_000)),
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("500ms", Some(500)),
            ("2d", Some(172_800_000)),
            ("300", Some(300_000)),
            ("0", Some(0)),
            ("", None),
            ("5", Some(5000)),
            ("m", None),
            ("5 m", None),
            ("-5m", None),
            ("5y", None),
            ("5m3", None),
            ("1.5h", None),
            ("99999999999999999999h", None),
            ("9999999999d", None),
        ] {
            assert_eq!(parse_duration(text).map(|d| d.as_millis()), millis, "{text}");
        }
    }
}
