//! Writing JSON: compact with or without HTML escapes, and indented by two spaces.

use super::super::{MAX_DEPTH, Value, number};
use super::JsonError;

/// Which characters are escaped besides those that JSON demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// `<`, `>` and `&` become `\u003c`, `\u003e`, `\u0026` (Go's default).
    Html,
    /// They stay as they are (Go's `SetEscapeHTML(false)`).
    Raw,
}

/// Returns the compact form, keys in byte order (`json.Marshal`).
///
/// # Errors
/// NaN and infinities, and nesting beyond the bound, have no JSON form.
pub fn to_string(value: &Value, escape: Escape) -> Result<String, JsonError> {
    let mut out = String::new();
    write(&mut out, value, escape, None, 0)?;
    Ok(out)
}

/// Returns the form indented by two spaces, with HTML escapes (`json.MarshalIndent(v, "", "  ")`).
///
/// # Errors
/// As [`to_string`].
pub fn to_string_pretty(value: &Value) -> Result<String, JsonError> {
    let mut out = String::new();
    write(&mut out, value, Escape::Html, Some("  "), 0)?;
    Ok(out)
}

fn write(
    out: &mut String,
    value: &Value,
    escape: Escape,
    indent: Option<&str>,
    depth: usize,
) -> Result<(), JsonError> {
    if depth > MAX_DEPTH {
        return Err(JsonError::Depth);
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Uint(number) => out.push_str(&number.to_string()),
        Value::Float(float) => match number::format_json(*float) {
            Some(text) => out.push_str(&text),
            None => return Err(JsonError::Unsupported(special(*float))),
        },
        Value::Str(text) => append_string(out, text, escape),
        Value::List(list) if list.is_empty() => out.push_str("[]"),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                separate(out, at, indent, depth + 1);
                write(out, item, escape, indent, depth + 1)?;
            }
            new_line(out, indent, depth);
            out.push(']');
        }
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::Map(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                separate(out, at, indent, depth + 1);
                append_string(out, key, escape);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write(out, item, escape, indent, depth + 1)?;
            }
            new_line(out, indent, depth);
            out.push('}');
        }
    }
    Ok(())
}

fn special(float: f64) -> &'static str {
    match float {
        f if f.is_nan() => "NaN",
        f if f > 0.0 => "+Inf",
        _ => "-Inf",
    }
}

fn separate(out: &mut String, at: usize, indent: Option<&str>, depth: usize) {
    if at > 0 {
        out.push(',');
    }
    new_line(out, indent, depth);
}

fn new_line(out: &mut String, indent: Option<&str>, depth: usize) {
    if let Some(unit) = indent {
        out.push('\n');
        for _ in 0..depth {
            out.push_str(unit);
        }
    }
}

/// Appends `text` as a JSON string with its quotes.
///
/// Source: Go `encoding/json`, `appendString`. U+2028 and U+2029 are always escaped; DEL is not.
pub fn append_string(out: &mut String, text: &str, escape: Escape) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + 2);
    out.push('"');
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let (replacement, length) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0x08 => ("\\b", 1),
            0x0c => ("\\f", 1),
            b'<' if escape == Escape::Html => ("\\u003c", 1),
            b'>' if escape == Escape::Html => ("\\u003e", 1),
            b'&' if escape == Escape::Html => ("\\u0026", 1),
            0x00..=0x1f => ("", 1),
            0xe2 if bytes[at..].starts_with("\u{2028}".as_bytes()) => ("\\u2028", 3),
            0xe2 if bytes[at..].starts_with("\u{2029}".as_bytes()) => ("\\u2029", 3),
            _ => continue,
        };
        out.push_str(&text[copied..at]);
        if replacement.is_empty() {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push_str(replacement);
        }
        copied = at + length;
    }
    out.push_str(&text[copied..]);
    out.push('"');
}
