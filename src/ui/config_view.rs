//! What the files of a run say together, as YAML with the origin of each value beside it.

use crate::dsf::Config;
use crate::dsf::config::Content;
use crate::value::Value;
use crate::value::number::format_g;
use crate::yaml;

/// Origins stand behind the values, but not further right than this.
const COLUMN: usize = 60;

/// Returns the text.
pub fn render(config: &Config) -> String {
    let mut lines = Vec::new();
    if let Content::Map(entries) = &config.content {
        map(entries, 0, &mut lines);
    }
    let width = |line: &Line| console::measure_text_width(&line.text);
    let column =
        lines.iter().filter(|line| line.origin.is_some()).map(width).filter(|width| *width <= COLUMN);
    let column = column.max().unwrap_or(0);
    let mut out = String::new();
    for line in &lines {
        out.push_str(&line.text);
        if let Some(origin) = &line.origin {
            out.push_str(&" ".repeat(column.saturating_sub(width(line))));
            out.push_str("  # ");
            out.push_str(origin);
        }
        out.push('\n');
    }
    out
}

struct Line {
    text: String,
    origin: Option<String>,
}

fn map(entries: &[(String, Config)], indent: usize, lines: &mut Vec<Line>) {
    for (key, entry) in entries {
        let key = format!("{}{}:", " ".repeat(indent), scalar(&Value::Str(key.clone())));
        below(key, entry, indent + 2, lines);
    }
}

/// Writes a value behind its key or dash, or in the lines below it.
fn below(head: String, entry: &Config, indent: usize, lines: &mut Vec<Line>) {
    let origin = entry.origin.as_ref().map(ToString::to_string);
    let inline = match &entry.content {
        Content::Scalar(value) => scalar(value),
        Content::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Content::List(items) if items.is_empty() => "[]".to_owned(),
        Content::Map(entries) => {
            lines.push(Line { text: head, origin: None });
            map(entries, indent, lines);
            return;
        }
        Content::List(items) => {
            lines.push(Line { text: head, origin: None });
            for item in items {
                below(format!("{}-", " ".repeat(indent)), item, indent + 2, lines);
            }
            return;
        }
    };
    lines.push(Line { text: format!("{head} {inline}"), origin });
}

/// A scalar as YAML reads it back: in quotes where it would be something else without them.
fn scalar(value: &Value) -> String {
    match value {
        Value::Str(text) => {
            let plain = !text.is_empty()
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-+@$~^<>=()".contains(c))
                && !text.starts_with(['-', '@', '>', '='])
                && yaml::read_typed(text.as_bytes()).is_ok_and(|read| read == *value);
            if plain { text.clone() } else { serde_json::Value::from(text.as_str()).to_string() }
        }
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => format_g(*number),
        Value::Null | Value::List(_) | Value::Map(_) => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_read_back_as_what_they_are() {
        for (text, expected) in [
            ("web", "web"),
            ("1.10", "\"1.10\""),
            ("yes", "\"yes\""),
            ("~1.2", "~1.2"),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
            ("- a", "\"- a\""),
            ("oci://x", "\"oci://x\""),
            ("$HOME", "$HOME"),
        ] {
            assert_eq!(scalar(&Value::Str(text.to_owned())), expected);
            let read = yaml::read_typed(scalar(&Value::Str(text.to_owned())).as_bytes()).unwrap();
            assert_eq!(read, Value::Str(text.to_owned()));
        }
    }
}
