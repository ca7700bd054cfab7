//! The grammar of `--set`, `--set-string`, `--set-json`, `--set-file` and `--set-literal`.
//!
//! Source: Helm `pkg/strvals`. Values are written into the tree in place. An argument that ends too early is
//! often no error there: what was read up to then counts.

use thiserror::Error;

use crate::go::strconv;
use crate::go::unicode::is_space;
use crate::value::json::{self, JsonError, Numbers, text_from_bytes};
use crate::value::{MAX_DEPTH, Map, Value};

/// The largest index of a list.
const MAX_INDEX: i64 = 65_536;

/// How many elements one argument may add to lists. Each index may be large, and an argument holds many.
const MAX_ADDED: usize = 1 << 20;

/// How many dots a key may hold.
const MAX_DOTS: usize = 30;

/// Why an argument cannot be used. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// The argument ends before `=`.
    #[error("key {0} has no value")]
    NoValue(String),
    /// A comma follows the key.
    #[error("key {0} has no value (cannot end with ,)")]
    Comma(String),
    /// Nothing was set below the key.
    #[error("key map {0} has no value")]
    EmptyMap(String),
    /// The text between brackets is no number.
    #[error("error parsing index: {0}")]
    Index(String),
    /// An index below zero.
    #[error("negative {0} index not allowed")]
    NegativeIndex(i64),
    /// An index that would make a huge list.
    #[error("index of {0} is greater than maximum supported index of {MAX_INDEX}")]
    LargeIndex(i64),
    /// Many large indexes.
    #[error("the indexes make more than {MAX_ADDED} list elements")]
    TooManyElements,
    /// Something stands between `]` and `=`, `.` or `[`.
    #[error("unexpected data at end of array index: {0}")]
    AfterIndex(String),
    /// A list in braces is not closed.
    #[error("list must terminate with '}}'")]
    OpenList,
    /// Too many dots.
    #[error("value name nested level is greater than maximum supported nested level of {MAX_DOTS}")]
    TooManyDots,
    /// More lists in lists than any reader follows.
    #[error("exceeded max depth of {MAX_DEPTH}")]
    TooDeep,
    /// A path leads through a value that is no list or mapping.
    #[error("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")]
    NotACollection {
        /// The Go type of the value there.
        found: &'static str,
        /// The Go type that the path asks for.
        wanted: &'static str,
    },
    /// The value of `--set-json` is no JSON.
    #[error(transparent)]
    Json(JsonError),
    /// The file that `--set-file` names could not be read.
    #[error("{0}")]
    File(String),
}

/// Writes `key=value,…` into the tree; values that look like null, truth values or integers become such.
///
/// # Errors
/// Helm's errors; the tree may have been changed up to the fault.
pub fn set(values: &mut Map, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Mode::Typed)
}

/// Writes `key=value,…` into the tree; every value is text.
///
/// # Errors
/// As [`set`].
pub fn set_string(values: &mut Map, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Mode::Text)
}

/// Writes `key=name,…` into the tree; every value is the content of the named file.
///
/// # Errors
/// As [`set`]; also what `read` says about a file.
pub fn set_file(
    values: &mut Map,
    argument: &str,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<(), SetError> {
    parse(values, argument, Mode::File(read))
}

/// Writes `key=JSON,…` into the tree; an empty value is null.
///
/// # Errors
/// As [`set`]; also JSON's errors.
pub fn set_json(values: &mut Map, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Mode::Json)
}

/// Writes one `key=text` into the tree; the text goes up to the end, no character of it is special.
///
/// # Errors
/// As [`set`].
pub fn set_literal(values: &mut Map, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Mode::Literal)
}

/// What the values of an argument are.
enum Mode<'f> {
    Typed,
    Text,
    File(&'f mut dyn FnMut(&str) -> Result<Vec<u8>, String>),
    Json,
    Literal,
}

/// Why the parser leaves a level.
enum Stop {
    /// The argument is used up: no fault in itself.
    End,
    Fault(SetError),
}

impl From<SetError> for Stop {
    fn from(error: SetError) -> Self {
        Stop::Fault(error)
    }
}

fn parse(values: &mut Map, argument: &str, mode: Mode<'_>) -> Result<(), SetError> {
    let mut parser = Parser { rest: argument, mode, room: MAX_ADDED };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Fault(error)) => return Err(error),
        }
    }
}

struct Parser<'a, 'f> {
    rest: &'a str,
    mode: Mode<'f>,
    /// How many list elements may still be added.
    room: usize,
}

impl Parser<'_, '_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    /// Takes characters up to one of `stops` and that one too; no stop means that the argument ended.
    /// A backslash makes the next character an ordinary one, except in literals.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            if stops.contains(&c) {
                return (text, Some(c));
            }
            if c == '\\' && !matches!(self.mode, Mode::Literal) {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => break,
                }
            } else {
                text.push(c);
            }
        }
        (text, None)
    }

    fn key(&mut self, map: &mut Map, dots: usize) -> Result<(), Stop> {
        let literal = matches!(self.mode, Mode::Literal);
        let stops = if literal { &['=', '[', '.'][..] } else { &['=', '[', '.', ','] };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => Err(SetError::NoValue(quote(&key)).into()),
            Some('[') => self.list(map, key, dots),
            Some('.') => self.nested(map, key, dots + 1),
            Some('=') => self.assign(map, key),
            Some(_) => {
                put(map, key.clone(), Value::from(""));
                Err(SetError::Comma(quote(&key)).into())
            }
        }
    }

    fn nested(&mut self, map: &mut Map, key: String, dots: usize) -> Result<(), Stop> {
        if dots > MAX_DOTS {
            return Err(SetError::TooManyDots.into());
        }
        if let Some(value) = map.get_mut(&key) {
            let inner = as_map(value)?;
            self.key(inner, dots)?;
            return if inner.is_empty() { Err(SetError::EmptyMap(quote(&key)).into()) } else { Ok(()) };
        }
        let mut inner = Map::new();
        let result = self.key(&mut inner, dots);
        if !inner.is_empty() {
            put(map, key, Value::Map(inner));
        } else if result.is_ok() {
            return Err(SetError::EmptyMap(quote(&key)).into());
        }
        result
    }

    fn assign(&mut self, map: &mut Map, key: String) -> Result<(), Stop> {
        match self.value()? {
            Read::Value(value) => {
                put(map, key, value);
                Ok(())
            }
            Read::Missing => {
                put(map, key, Value::from(""));
                Err(Stop::End)
            }
        }
    }

    fn list(&mut self, map: &mut Map, key: String, dots: usize) -> Result<(), Stop> {
        let index = self.index()?;
        let mut list = match map.get_mut(&key) {
            Some(value) => std::mem::take(as_list(value)?),
            None => Vec::new(),
        };
        let result = self.item(&mut list, index, dots, 0);
        put(map, key, Value::List(list));
        result
    }

    /// Takes the number up to `]`.
    fn index(&mut self) -> Result<i64, Stop> {
        let (text, stop) = self.until(&[']']);
        if stop.is_none() {
            return Err(Stop::End);
        }
        Ok(strconv::atoi(&text).map_err(|error| SetError::Index(error.to_string()))?)
    }

    /// Takes what follows an index and writes it to the list; `depth` counts lists in lists.
    fn item(&mut self, list: &mut Vec<Value>, index: i64, dots: usize, depth: usize) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            return Err(SetError::TooDeep.into());
        }
        let Ok(at) = usize::try_from(index) else {
            return Err(SetError::NegativeIndex(index).into());
        };
        let (extra, stop) = self.until(&['[', '.', '=']);
        if !extra.is_empty() {
            return Err(SetError::AfterIndex(quote_runes(&extra)).into());
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let value = match self.value()? {
                    Read::Value(value) => value,
                    Read::Missing => Value::from(""),
                };
                self.set_index(list, index, value)
            }
            Some('[') => {
                let inner_index = self.index()?;
                let mut inner = match list.get_mut(at) {
                    None | Some(Value::Null) => Vec::new(),
                    Some(value) => std::mem::take(as_list(value)?),
                };
                let result = self.item(&mut inner, inner_index, dots, depth + 1);
                if result.is_err() {
                    // What was there stays there, with the changes so far: Helm writes to lists in place.
                    if let Some(Value::List(place)) = list.get_mut(at) {
                        *place = inner;
                    }
                    return result;
                }
                self.set_index(list, index, Value::List(inner))
            }
            Some(_) => match list.get_mut(at) {
                Some(value) => {
                    if !matches!(value, Value::Map(_)) {
                        *value = Value::Map(Map::new());
                    }
                    self.key(as_map(value)?, dots)
                }
                None => {
                    let mut inner = Map::new();
                    self.key(&mut inner, dots)?;
                    self.set_index(list, index, Value::Map(inner))
                }
            },
        }
    }

    fn set_index(&mut self, list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
        if index > MAX_INDEX {
            return Err(SetError::LargeIndex(index).into());
        }
        let Ok(at) = usize::try_from(index) else {
            return Err(SetError::NegativeIndex(index).into());
        };
        if list.len() <= at {
            let added = at + 1 - list.len();
            self.room = self.room.checked_sub(added).ok_or(SetError::TooManyElements)?;
            list.resize(at + 1, Value::Null);
        }
        list[at] = value;
        Ok(())
    }

    /// Takes a value.
    fn value(&mut self) -> Result<Read, Stop> {
        match self.mode {
            Mode::Json => return self.json(),
            Mode::Literal => {
                let text = std::mem::take(&mut self.rest);
                return Ok(Read::Value(Value::from(text)));
            }
            Mode::Typed | Mode::Text | Mode::File(_) => {}
        }
        if self.rest.is_empty() {
            return Ok(Read::Missing);
        }
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            return self.braces();
        }
        let (text, _) = self.until(&[',']);
        Ok(Read::Value(self.convert(&text)?))
    }

    /// Takes the elements of a list up to the closing brace, and a comma behind it.
    fn braces(&mut self) -> Result<Read, Stop> {
        let mut list = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            match stop {
                None => return Err(SetError::OpenList.into()),
                Some('}') => {
                    self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
                    list.push(self.convert(&text)?);
                    return Ok(Read::Value(Value::List(list)));
                }
                Some(_) => list.push(self.convert(&text)?),
            }
        }
    }

    fn convert(&mut self, text: &str) -> Result<Value, SetError> {
        match &mut self.mode {
            Mode::Typed => Ok(typed(text)),
            Mode::File(read) => {
                let content = read(text).map_err(SetError::File)?;
                Ok(Value::Str(text_from_bytes(&content)))
            }
            Mode::Text | Mode::Json | Mode::Literal => Ok(Value::from(text)),
        }
    }

    fn json(&mut self) -> Result<Read, Stop> {
        if self.empty_json() {
            return Ok(Read::Value(Value::Null));
        }
        let (value, used) =
            json::from_prefix(self.rest.as_bytes(), Numbers::Float).map_err(SetError::Json)?;
        self.rest = self.rest.get(used..).unwrap_or_default();
        self.empty_json();
        Ok(Read::Value(value))
    }

    /// Takes blanks and a comma behind them. Tells whether no value is left before the comma or the end.
    fn empty_json(&mut self) -> bool {
        loop {
            let before = self.rest;
            match self.next() {
                None | Some(',') => return true,
                Some(c) if is_space(c) => {}
                Some(_) => {
                    self.rest = before;
                    return false;
                }
            }
        }
    }
}

/// What was found behind `=`.
enum Read {
    Value(Value),
    /// Nothing: the argument has ended.
    Missing,
}

/// Writes a value; Helm drops what has an empty key.
fn put(map: &mut Map, key: String, value: Value) {
    if !key.is_empty() {
        map.insert(key, value);
    }
}

/// Types a value as `--set` does: floats, octal numbers and YAML's other words stay text.
fn typed(text: &str) -> Value {
    // Go compares by Unicode's simple case folding, under which the long s is an s.
    let is = |word: &str| text.replace('ſ', "s").eq_ignore_ascii_case(word);
    if is("true") {
        return Value::Bool(true);
    }
    if is("false") {
        return Value::Bool(false);
    }
    if is("null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::Int(0);
    }
    if text.is_empty() || text.starts_with('0') {
        return Value::from(text);
    }
    text.parse().map_or_else(|_| Value::from(text), Value::Int)
}

fn as_map(value: &mut Value) -> Result<&mut Map, SetError> {
    match value {
        Value::Map(map) => Ok(map),
        other => Err(SetError::NotACollection { found: go_type(other), wanted: "map[string]interface {}" }),
    }
}

fn as_list(value: &mut Value) -> Result<&mut Vec<Value>, SetError> {
    match value {
        Value::List(list) => Ok(list),
        other => Err(SetError::NotACollection { found: go_type(other), wanted: "[]interface {}" }),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

/// Go's `%q` of a string.
fn quote(text: &str) -> String {
    strconv::quote(text.as_bytes())
}

/// Go's `%q` of a slice of runes.
fn quote_runes(text: &str) -> String {
    let quoted: Vec<_> = text.chars().map(|c| strconv::quote_rune(u32::from(c))).collect();
    format!("[{}]", quoted.join(" "))
}
