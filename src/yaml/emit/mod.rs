//! Writing YAML byte for byte as go-yaml writes it.
//!
//! Two generations matter to charts: version 2 behind `toYaml` and version 3 behind `toYamlPretty`. The layout
//! rules (`emitterc.go`, `encode.go`, `sorter.go`) are nearly the same in both; [`Schema`] tells them apart.

mod scalar;
mod sort;
mod text;

use thiserror::Error;

use super::resolve::{Resolved, Schema, old_bool, resolve};
use super::scan::too_deep;
use crate::value::json::{self, Escape, JsonError, append_string};
use crate::value::{MAX_DEPTH, Map, Value, number};
use scalar::{Analysis, Style};
use text::Output;

/// The longest key, in bytes, that is written without `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// The longest key, in characters of its JSON form, that go-yaml can read back from JSON.
const MAX_JSON_KEY: usize = 1024;

/// Why a value has no YAML form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmitError {
    /// A number without a JSON form, which the way to YAML leads through.
    #[error("error marshaling into JSON: {0}")]
    Json(JsonError),
    /// A text that go-yaml does not take back from JSON, in its words.
    #[error("{0}")]
    Yaml(String),
}

/// Returns the value as `sigs.k8s.io/yaml.Marshal` writes it: through JSON, then go-yaml v2. Ends in a line
/// break.
///
/// # Errors
/// NaN and infinities; texts with control characters that JSON keeps and YAML forbids (DEL, most of
/// U+0080–U+009F, U+FFFE, U+FFFF); keys longer than go-yaml reads.
pub fn to_yaml(value: &Value) -> Result<String, EmitError> {
    emit(value, Schema::V2).map_err(|error| exact_error(value, error))
}

/// Returns the value as go-yaml v3 writes it with an indentation of two, which is Helm's `toYamlPretty`. Ends
/// in a line break.
///
/// # Errors
/// Only nesting beyond the bound.
pub fn to_yaml_pretty(value: &Value) -> Result<String, EmitError> {
    emit(value, Schema::V3)
}

fn emit(value: &Value, schema: Schema) -> Result<String, EmitError> {
    let mut emitter = Emitter { out: Output::new(schema), schema, depth: 0 };
    emitter.node(value, Context::Root)?;
    Ok(emitter.out.finish())
}

/// go-yaml meets its faults in the JSON text, line numbers included: only reading that text finds the first.
fn exact_error(value: &Value, error: EmitError) -> EmitError {
    let EmitError::Yaml(_) = error else { return error };
    match json::to_string(value, Escape::Html).map(|text| super::read_typed(text.as_bytes())) {
        Err(refused) => EmitError::Json(refused),
        Ok(Err(refused)) => EmitError::Yaml(refused.go_yaml()),
        Ok(Ok(_)) => error,
    }
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    /// The value of a pair, or a key behind `?`.
    Pair,
    /// A key without `?`.
    SimpleKey,
}

struct Emitter {
    out: Output,
    schema: Schema,
    depth: usize,
}

impl Emitter {
    fn node(&mut self, value: &Value, context: Context) -> Result<(), EmitError> {
        match value {
            Value::Null => self.plain("null"),
            Value::Bool(true) => self.plain("true"),
            Value::Bool(false) => self.plain("false"),
            Value::Int(number) => self.plain(&number.to_string()),
            Value::Uint(number) => self.plain(&number.to_string()),
            Value::Float(float) => {
                let text = self.float(*float)?;
                self.plain(&text);
            }
            Value::Str(text) => self.text(text, context)?,
            Value::List(list) if list.is_empty() => self.empty("[", "]"),
            Value::Map(map) if map.is_empty() => self.empty("{", "}"),
            Value::List(list) => self.list(list, context)?,
            Value::Map(map) => self.map(map)?,
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), EmitError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(EmitError::Yaml(format!("yaml: {}", too_deep()))) } else { Ok(()) }
    }

    fn list(&mut self, list: &[Value], context: Context) -> Result<(), EmitError> {
        self.enter()?;
        // Version 2 puts the dashes of a pair's value under the key; version 3 indents them.
        let flush = self.schema == Schema::V2 && context == Context::Pair && !self.out.indention;
        let outer = self.out.indent(flush);
        for item in list {
            self.out.new_line();
            self.out.indicator("-", true, false, true);
            self.node(item, Context::Item)?;
        }
        self.out.dedent(outer);
        self.depth -= 1;
        Ok(())
    }

    fn map(&mut self, map: &Map) -> Result<(), EmitError> {
        self.enter()?;
        let outer = self.out.indent(false);
        for (key, value) in sort::sorted(map, self.schema) {
            self.out.new_line();
            let read_back = self.key_as_read(key)?;
            let key = read_back.as_deref().unwrap_or(key);
            let analysis = Analysis::of(key, self.schema);
            if !analysis.multiline && key.len() <= MAX_SIMPLE_KEY {
                self.scalar(key, &analysis, Context::SimpleKey);
                self.out.indicator(":", false, false, false);
            } else {
                self.out.indicator("?", true, false, true);
                self.scalar(key, &analysis, Context::Pair);
                self.out.new_line();
                self.out.indicator(":", true, false, true);
            }
            self.node(value, Context::Pair)?;
        }
        self.out.dedent(outer);
        self.depth -= 1;
        Ok(())
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.out.indicator(open, true, true, false);
        self.out.indicator(close, false, false, false);
    }

    fn plain(&mut self, text: &str) {
        self.out.plain(text, false);
    }

    fn text(&mut self, text: &str, context: Context) -> Result<(), EmitError> {
        let read_back = if self.schema == Schema::V2 { as_read_from_json(text)? } else { None };
        let text = read_back.as_deref().unwrap_or(text);
        let analysis = Analysis::of(text, self.schema);
        self.scalar(text, &analysis, context);
        Ok(())
    }

    fn scalar(&mut self, text: &str, analysis: &Analysis, context: Context) {
        let simple_key = context == Context::SimpleKey;
        let wanted = if text.contains('\n') {
            Style::Literal
        } else if reads_as_text(text, self.schema) {
            Style::Plain
        } else {
            Style::Double
        };
        let outer = self.out.indent_scalar();
        match analysis.style(wanted, text, simple_key) {
            Style::Plain => self.out.plain(text, !simple_key),
            Style::Single => self.out.single_quoted(text, !simple_key),
            Style::Double => self.out.double_quoted(text, !simple_key),
            Style::Literal => self.out.literal(text),
        }
        self.out.dedent(outer);
    }

    /// Version 2 sees the number as JSON spells it; version 3 sees the `float64`.
    fn float(&self, float: f64) -> Result<String, EmitError> {
        if self.schema == Schema::V3 {
            return Ok(match number::format_g(float).as_str() {
                "+Inf" => ".inf".to_owned(),
                "-Inf" => "-.inf".to_owned(),
                "NaN" => ".nan".to_owned(),
                text => text.to_owned(),
            });
        }
        let Some(json) = number::format_json(float) else {
            let name = if float.is_nan() {
                "NaN"
            } else if float > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(EmitError::Json(JsonError::Unsupported(name)));
        };
        Ok(match resolve(&json, Schema::V2, false) {
            Resolved::Int(number) => number.to_string(),
            Resolved::Uint(number) => number.to_string(),
            _ => number::format_g(float),
        })
    }

    /// Refuses keys that do not survive the way through JSON.
    fn key_as_read(&self, key: &str) -> Result<Option<String>, EmitError> {
        if self.schema == Schema::V3 {
            return Ok(None);
        }
        let read_back = as_read_from_json(key)?;
        let mut long = false;
        if key.len() * 6 + 2 > MAX_JSON_KEY {
            let mut json = String::new();
            append_string(&mut json, key, Escape::Html);
            long = json.chars().count() > MAX_JSON_KEY;
        }
        // A key that is too long, or spread over two lines by a NEL character, is not taken for a key.
        if long || key.contains('\u{85}') {
            return Err(EmitError::Yaml("yaml: did not find expected ',' or '}'".to_owned()));
        }
        Ok(read_back)
    }
}

/// Whether the text is still text when it is read without quotes.
fn reads_as_text(text: &str, schema: Schema) -> bool {
    resolve(text, schema, true) == Resolved::Text
        && !is_base60(text)
        && (schema == Schema::V2 || old_bool(text).is_none())
}

/// `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`: a sexagesimal number of YAML 1.1.
fn is_base60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let digit_or_underscore = |c: char| c.is_ascii_digit() || c == '_';
    let mut count = 0;
    let sixty = parts.all(|part| {
        count += 1;
        matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    sixty && count > 0 && first.chars().all(digit_or_underscore) && fraction.chars().all(digit_or_underscore)
}

/// What go-yaml v2 reads for a text that Go wrote as JSON, if that is not the text itself.
fn as_read_from_json(text: &str) -> Result<Option<String>, EmitError> {
    if text.bytes().all(|byte| byte < 0x7f) {
        return Ok(None);
    }
    // JSON escapes the other control characters.
    if text.chars().any(|c| c >= '\u{7f}' && !super::input::allowed(c)) {
        return Err(EmitError::Yaml("yaml: control characters are not allowed".to_owned()));
    }
    if !text.contains('\u{85}') {
        return Ok(None);
    }
    // NEL is a line break to YAML: it is folded like any other.
    let mut json = String::new();
    append_string(&mut json, text, Escape::Html);
    match super::read_typed(json.as_bytes()) {
        Ok(Value::Str(text)) => Ok(Some(text)),
        Ok(_) => Ok(None),
        Err(error) => Err(EmitError::Yaml(error.go_yaml())),
    }
}
