//! TOML as BurntSushi/toml 1.6 writes it.
//!
//! Direct values come before tables, both sorted; each level of tables is indented; tables within arrays of
//! mixed values are written inline.

use crate::value::number::format_g;
use crate::value::{Map, Value};

/// Why a value cannot be written. Display is the library's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TomlError {
    /// A list of tables without a key to put it under.
    #[error("toml: top-level values must be Go maps or structs")]
    NoKey,
    /// A list with a null in it.
    #[error("toml: cannot encode array with nil element")]
    NilElement,
}

/// Writes a value. Nulls in tables are left out; a value that is no table is written by itself.
///
/// # Errors
/// There is no TOML for the value.
pub fn to_toml(value: &Value) -> Result<String, TomlError> {
    let mut writer = Writer { out: String::new() };
    writer.encode(&mut Vec::new(), value)?;
    Ok(writer.out)
}

struct Writer {
    out: String,
}

/// A path of keys.
type Path<'v> = Vec<&'v str>;

impl Writer {
    /// An empty line between things, but not at the start.
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn indent(&mut self, path: &Path<'_>) {
        self.out.extend(std::iter::repeat_n("  ", path.len().saturating_sub(1)));
    }

    fn encode<'v>(&mut self, path: &mut Path<'v>, value: &'v Value) -> Result<(), TomlError> {
        match value {
            Value::Map(map) => {
                if path.len() == 1 {
                    self.newline();
                }
                self.header(path, "[", "]");
                self.table(path, map)
            }
            Value::List(items) if is_table_array(items)? => {
                if path.is_empty() {
                    return Err(TomlError::NoKey);
                }
                for table in items.iter().filter_map(Value::as_map) {
                    self.newline();
                    self.header(path, "[[", "]]");
                    self.table(path, table)?;
                }
                Ok(())
            }
            _ => {
                if let Some(key) = path.last() {
                    self.indent(path);
                    self.out.extend([&quoted_key(key), " = "]);
                }
                self.element(value)?;
                if !path.is_empty() {
                    self.newline();
                }
                Ok(())
            }
        }
    }

    fn header(&mut self, path: &Path<'_>, open: &str, close: &str) {
        if path.is_empty() {
            return;
        }
        self.indent(path);
        let keys: Vec<String> = path.iter().map(|key| quoted_key(key)).collect();
        self.out.extend([open, &keys.join("."), close, "\n"]);
    }

    fn table<'v>(&mut self, path: &mut Path<'v>, map: &'v Map) -> Result<(), TomlError> {
        let (direct, tables) = parted(map)?;
        for (key, value) in direct.into_iter().chain(tables) {
            if !value.is_null() {
                path.push(key);
                self.encode(path, value)?;
                path.pop();
            }
        }
        Ok(())
    }

    /// A value behind an equals sign or within an array.
    fn element(&mut self, value: &Value) -> Result<(), TomlError> {
        match value {
            Value::Null => {}
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(number) => self.out.push_str(&number.to_string()),
            Value::Uint(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::Str(text) => self.out.push_str(&quoted(text)),
            Value::List(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    self.element(item)?;
                }
                self.out.push(']');
            }
            Value::Map(map) => self.inline_table(map)?,
        }
        Ok(())
    }

    fn inline_table(&mut self, map: &Map) -> Result<(), TomlError> {
        let (direct, tables) = parted(map)?;
        self.out.push('{');
        // The commas are counted with the nulls that are left out, as the library does.
        for (part, comma_at_end) in [(&direct, !tables.is_empty()), (&tables, false)] {
            for (index, (key, value)) in part.iter().enumerate() {
                if value.is_null() {
                    continue;
                }
                self.out.extend([&quoted_key(key), " = "]);
                self.element(value)?;
                self.out.push_str(if comma_at_end || index + 1 < part.len() { ", " } else { "" });
            }
        }
        self.out.push('}');
        Ok(())
    }
}

type Members<'v> = Vec<(&'v str, &'v Value)>;

/// The members that are written as values, and those that are tables or lists of tables.
fn parted(map: &Map) -> Result<(Members<'_>, Members<'_>), TomlError> {
    let (mut direct, mut tables) = (Vec::new(), Vec::new());
    for (key, value) in map {
        let is_table = match value {
            Value::Map(_) => true,
            Value::List(items) => is_table_array(items)?,
            _ => false,
        };
        if is_table { &mut tables } else { &mut direct }.push((key.as_str(), value));
    }
    Ok((direct, tables))
}

fn is_table_array(items: &[Value]) -> Result<bool, TomlError> {
    for item in items {
        match item {
            Value::Null => return Err(TomlError::NilElement),
            Value::List(inner) => drop(is_table_array(inner)?),
            _ => {}
        }
    }
    Ok(!items.is_empty() && items.iter().all(|item| matches!(item, Value::Map(_))))
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let text = format_g(number);
    if text.contains(['e', '.']) { text } else { text + ".0" }
}

fn quoted_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for rune in text.chars() {
        match rune {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str(r"\\"),
            '\x08' => out.push_str(r"\b"),
            '\t' => out.push_str(r"\t"),
            '\n' => out.push_str(r"\n"),
            '\x0C' => out.push_str(r"\f"),
            '\r' => out.push_str(r"\r"),
            '\0'..=' ' | '\x7F' if rune != ' ' => out.extend(format!(r"\u{:04x}", u32::from(rune)).chars()),
            _ => out.push(rune),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let value =
            crate::value::json::from_slice(json.as_bytes(), crate::value::json::Numbers::Float).unwrap();
        let written = to_toml(&value).unwrap_or_else(|error| format!("error: {error}"));
        assert_eq!(written, expected, "{json}");
    }

    #[test]
    fn values_are_written_as_burntsushi_writes_them() {
        check("{}", "");
        check(
            r#"{"b": 1, "a": 1.5, "n": null, "t": true, "s": "x\"\\\n\u0001"}"#,
            "a = 1.5\nb = 1.0\ns = \"x\\\"\\\\\\n\\u0001\"\nt = true\n",
        );
        check(
            r#"{"big": 12345678, "list": [1, "a", [true]]}"#,
            "big = 1.2345678e+07\nlist = [1.0, \"a\", [true]]\n",
        );
        check(
            r#"{"z": 1, "a": {"x": 1, "b": {"c": 2}}, "k y": {}}"#,
            "z = 1.0\n\n[a]\n  x = 1.0\n  [a.b]\n    c = 2.0\n\n[\"k y\"]\n",
        );
        check(
            r#"{"a": [{"x": 1}, {"y": {"z": 2}}], "e": []}"#,
            "e = []\n\n[[a]]\n  x = 1.0\n\n[[a]]\n  [a.y]\n    z = 2.0\n",
        );
        check(r#"{"m": [1, {"a": 1, "b": {"c": 2}}]}"#, "m = [1.0, {a = 1.0, b = {c = 2.0}}]\n");
        check(r#""text""#, "\"text\"");
        check("[1, 2]", "[1.0, 2.0]");
        check(r#"[{"a": 1}]"#, "error: toml: top-level values must be Go maps or structs");
        check(r#"{"a": [[null]]}"#, "error: toml: cannot encode array with nil element");
    }

    #[test]
    fn numbers_keep_their_kind() {
        let map =
            [("f", Value::Float(f64::NEG_INFINITY)), ("i", Value::Int(-3)), ("u", Value::Uint(u64::MAX))];
        let value = Value::Map(map.map(|(key, value)| (key.to_owned(), value)).into());
        assert_eq!(to_toml(&value).unwrap(), "f = -inf\ni = -3\nu = 18446744073709551615\n");
    }
}
