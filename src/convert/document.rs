//! A desired-state file as it is written: TOML or YAML, with the keys in the order of the reference.
//!
//! Texts stand in it as the file has them: a `$` that is meant is doubled before.

use crate::value::number::format_g;
use crate::value::{Map, Value};
use crate::yaml;

/// Columns up to which a table below an app stands in one line in TOML.
const INLINE: usize = 80;
/// Floats below this are whole numbers of which none is lost.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A node, with the members of tables in the order in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A scalar.
    Leaf(Value),
    /// A list.
    List(Vec<Tree>),
    /// A table.
    Table(Table),
}

/// The members of a table.
pub type Table = Vec<(String, Tree)>;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// A value that TOML has no form for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} is null, which TOML cannot say")]
pub struct NoNull {
    /// Where it is.
    pub path: String,
}

impl Tree {
    /// Returns a text.
    pub fn text(text: impl Into<String>) -> Self {
        Tree::Leaf(Value::Str(text.into()))
    }

    /// Returns a list of texts.
    pub fn texts<S: Into<String>>(texts: impl IntoIterator<Item = S>) -> Self {
        Tree::List(texts.into_iter().map(Tree::text).collect())
    }

    /// Returns a value of the cluster or of a values file as a desired-state file says it: `$` is doubled.
    pub fn escaped(value: &Value) -> Self {
        match value {
            Value::Str(text) => Tree::text(text.replace('$', "$$")),
            Value::List(items) => Tree::List(items.iter().map(Tree::escaped).collect()),
            Value::Map(map) => Tree::Table(Tree::escaped_members(map)),
            #[expect(clippy::cast_possible_truncation, reason = "it is a whole number within the bound")]
            Value::Float(number) if number.fract() == 0.0 && number.abs() < EXACT => {
                Tree::Leaf(Value::Int(*number as i64))
            }
            other => Tree::Leaf(other.clone()),
        }
    }

    /// Returns the members of a mapping, see [`Tree::escaped`].
    pub fn escaped_members(map: &Map) -> Table {
        map.iter().map(|(key, value)| (key.replace('$', "$$"), Tree::escaped(value))).collect()
    }

    /// Returns the table, if this is one.
    pub fn as_table(&self) -> Option<&Table> {
        if let Tree::Table(table) = self { Some(table) } else { None }
    }

    fn is_table(&self) -> bool {
        matches!(self, Tree::Table(_))
    }
}

/// Returns the file: comment lines, then the table.
///
/// # Errors
/// A null, in TOML.
pub fn write(comment: &[String], table: &Table, syntax: Syntax) -> Result<String, NoNull> {
    let mut out = String::new();
    for line in comment.iter().flat_map(|text| text.lines()) {
        out.push_str(if line.is_empty() { "#" } else { "# " });
        out.push_str(line);
        out.push('\n');
    }
    if !out.is_empty() {
        out.push('\n');
    }
    match syntax {
        Syntax::Toml => {
            let mut body = String::new();
            toml_table(&mut body, &mut Vec::new(), table)?;
            out.push_str(body.trim_start());
        }
        Syntax::Yaml => yaml_table(&mut out, table, 0),
    }
    Ok(out)
}

fn toml_table(out: &mut String, path: &mut Vec<String>, table: &Table) -> Result<(), NoNull> {
    let mut below = Vec::new();
    let mut lines = String::new();
    for (key, value) in table {
        path.push(toml_key(key));
        let line = toml_inline(value, path)?;
        let short = path.len() > 2 && !value.as_table().is_some_and(has_tables);
        if value.is_table() && !(short && key.len() + line.len() < INLINE && line != "{}") {
            below.push((key, value));
        } else {
            lines.extend([toml_key(key).as_str(), " = ", &line, "\n"]);
        }
        path.pop();
    }
    if !path.is_empty() && (!lines.is_empty() || below.is_empty()) {
        out.extend(["\n[", &path.join("."), "]\n"]);
    }
    out.push_str(&lines);
    for (key, value) in below {
        path.push(toml_key(key));
        if let Tree::Table(table) = value {
            toml_table(out, path, table)?;
        }
        path.pop();
    }
    Ok(())
}

fn has_tables(table: &Table) -> bool {
    table.iter().any(|(_, value)| value.is_table())
}

fn toml_inline(tree: &Tree, path: &[String]) -> Result<String, NoNull> {
    let null = || NoNull { path: path.join(".") };
    Ok(match tree {
        Tree::Leaf(Value::Str(text)) => toml_text(text),
        Tree::Leaf(value) => scalar(value).ok_or_else(null)?,
        Tree::List(items) => {
            let items: Vec<String> =
                items.iter().map(|item| toml_inline(item, path)).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Tree::Table(table) if table.is_empty() => "{}".to_owned(),
        Tree::Table(table) => {
            let members: Vec<String> = table
                .iter()
                .map(|(key, value)| {
                    let below: Vec<String> = path.iter().cloned().chain([toml_key(key)]).collect();
                    Ok(format!("{} = {}", toml_key(key), toml_inline(value, &below)?))
                })
                .collect::<Result<_, NoNull>>()?;
            format!("{{ {} }}", members.join(", "))
        }
    })
}

/// Returns a number or a truth value, which both syntaxes write alike; nothing for null.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Uint(number) => Some(number.to_string()),
        Value::Float(number) => {
            let text = format_g(*number);
            // A float without a point or an exponent would be a whole number.
            Some(if text.contains(['.', 'e', 'E']) { text } else { format!("{text}.0") })
        }
        Value::Null | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    }
}

fn toml_key(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { toml_text(key) }
}

/// Returns a basic string of TOML; one of several lines stands on several lines.
fn toml_text(text: &str) -> String {
    let several = text.contains('\n') && !text.contains('\r');
    let mut out = String::from(if several { "\"\"\"\n" } else { "\"" });
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' if several => out.push('\n'),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let code = format!("\\u{:04X}", control as u32);
                out.push_str(&code);
            }
            other => out.push(other),
        }
    }
    out.push_str(if several { "\"\"\"" } else { "\"" });
    out
}

fn yaml_table(out: &mut String, table: &Table, depth: usize) {
    for (key, value) in table {
        out.push_str(&"  ".repeat(depth));
        out.push_str(&yaml_text(key));
        out.push(':');
        yaml_value(out, value, depth);
    }
}

/// Writes a value behind a key or a dash, up to the end of its line or lines.
fn yaml_value(out: &mut String, value: &Tree, depth: usize) {
    match value {
        Tree::Table(table) if table.is_empty() => out.push_str(" {}\n"),
        Tree::List(items) if items.is_empty() => out.push_str(" []\n"),
        Tree::Table(table) => {
            out.push('\n');
            yaml_table(out, table, depth + 1);
        }
        Tree::List(items) => {
            out.push('\n');
            for item in items {
                yaml_item(out, item, depth + 1);
            }
        }
        Tree::Leaf(Value::Str(text)) if is_block(text) => {
            let ending = if text.ends_with('\n') { "" } else { "-" };
            out.extend([" |", ending, "\n"]);
            for line in text.trim_end_matches('\n').split('\n') {
                if !line.is_empty() {
                    out.push_str(&"  ".repeat(depth + 1));
                    out.push_str(line);
                }
                out.push('\n');
            }
        }
        Tree::Leaf(Value::Str(text)) => out.extend([" ", yaml_text(text).as_str(), "\n"]),
        Tree::Leaf(value) => {
            let text = scalar(value).unwrap_or_else(|| "null".to_owned());
            out.extend([" ", text.as_str(), "\n"]);
        }
    }
}

fn yaml_item(out: &mut String, item: &Tree, depth: usize) {
    let indent = "  ".repeat(depth);
    match item {
        Tree::Table(table) if !table.is_empty() => {
            // The first member stands behind the dash.
            let mut members = String::new();
            yaml_table(&mut members, table, depth + 1);
            let first = members.get((depth + 1) * 2..).unwrap_or_default();
            out.extend([indent.as_str(), "- ", first]);
        }
        other => {
            out.push_str(&indent);
            out.push('-');
            yaml_value(out, other, depth);
        }
    }
}

/// Tells whether a text can stand as a literal block: its lines say what they are, and it ends in at most one break.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let fits = |line: &str| !line.chars().any(|c| c.is_control() || c == '\u{feff}' || c == '\u{85}');
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && body.split('\n').all(fits)
}

/// Returns a text on one line, in quotes where YAML 1.1 would read something else.
fn yaml_text(text: &str) -> String {
    let written = yaml::to_yaml(&Value::from(text)).ok();
    let plain = written.as_deref().map(|written| written.trim_end_matches('\n'));
    match plain.filter(|written| !written.contains('\n') && !text.contains('\n')) {
        Some(written) => written.to_owned(),
        // A JSON text in double quotes is one of YAML too.
        None => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let map = |entries: &[(&str, Value)]| -> Map {
            entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
        };
        let values = map(&[
            ("a.b", Value::from("x: y")),
            ("certificate", Value::from("-----BEGIN\nab\\c\n-----END\n")),
            ("empty", Value::Map(Map::new())),
            ("half", Value::Float(0.5)),
            (
                "items",
                Value::List(vec![Value::Map(map(&[("n", Value::from("yes")), ("v", Value::Float(3.0))]))]),
            ),
            ("nested", Value::Map(map(&[("deep", Value::Map(map(&[("t", Value::Bool(true))])))]))),
            ("odd", Value::from("tab\there \"q\" $HOME\r\n\u{1}")),
            ("text", Value::from("10")),
            ("trailing", Value::from(" two\nlines")),
        ]);
        vec![
            ("context".to_owned(), Tree::text("shop")),
            ("namespaces".to_owned(), Tree::Table(vec![("shop".to_owned(), Tree::Table(Vec::new()))])),
            (
                "apps".to_owned(),
                Tree::Table(vec![(
                    "web".to_owned(),
                    Tree::Table(vec![
                        ("enabled".to_owned(), Tree::Leaf(Value::Bool(true))),
                        ("valuesFiles".to_owned(), Tree::texts(["a.yaml", "b.yaml"])),
                        ("labels".to_owned(), Tree::Table(vec![("tier".to_owned(), Tree::text("web"))])),
                        ("values".to_owned(), Tree::Table(Tree::escaped_members(&values))),
                    ]),
                )]),
            ),
        ]
    }

    /// What a reader of the syntax makes of it.
    fn plain(tree: &Tree) -> serde_json::Value {
        match tree {
            Tree::Leaf(Value::Str(text)) => text.as_str().into(),
            Tree::Leaf(Value::Bool(flag)) => (*flag).into(),
            Tree::Leaf(Value::Int(number)) => (*number).into(),
            Tree::Leaf(Value::Float(number)) => (*number).into(),
            Tree::Leaf(_) => serde_json::Value::Null,
            Tree::List(items) => items.iter().map(plain).collect(),
            Tree::Table(table) => table.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        }
    }

    #[test]
    fn what_is_written_reads_as_it_was() {
        let table = sample();
        let expected = plain(&Tree::Table(table.clone()));
        let toml = write(&["one".to_owned(), String::new()], &table, Syntax::Toml).unwrap();
        let read: serde_json::Value = toml::from_str(&toml).unwrap_or_else(|error| panic!("{error}: {toml}"));
        assert_eq!(read, expected, "{toml}");
        let text = write(&[], &table, Syntax::Yaml).unwrap();
        let own = yaml::read_typed(text.as_bytes()).unwrap();
        let json = crate::value::json::to_string(&own, crate::value::json::Escape::Raw).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected, "{text}");
        assert_eq!(
            own.at(&["apps", "web", "values", "odd"]),
            Some(&Value::from("tab\there \"q\" $$HOME\r\n\u{1}"))
        );
        assert!(
            toml.starts_with("# one\n\ncontext = \"shop\"\n\n[namespaces.shop]\n\n[apps.web]\n"),
            "{toml}"
        );
        assert!(toml.contains("labels = { tier = \"web\" }\n"), "{toml}");
    }

    #[test]
    fn toml_has_no_null() {
        let null = Tree::Table(vec![("a".to_owned(), Tree::Leaf(Value::Null))]);
        let table = vec![("values".to_owned(), null)];
        assert_eq!(write(&[], &table, Syntax::Toml), Err(NoNull { path: "values.a".to_owned() }));
        assert_eq!(write(&[], &table, Syntax::Yaml).unwrap(), "values:\n  a: null\n");
    }
}
