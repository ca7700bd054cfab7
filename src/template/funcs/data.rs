//! To and from JSON, YAML and TOML. Source: Helm `pkg/engine/funcs.go`, sprig `defaults.go`.
//!
//! The plain forms never fail: what cannot be written is empty text, what cannot be read is a map with the
//! message under `Error`. The `must` forms fail.

use std::borrow::Cow;

use super::json_write::to_json;
use super::times::TimeObject;
use crate::go::time::{Zone, parse_in};
use crate::go::toml::to_toml as write_toml;
use crate::template::call::{Context, Func, FuncError, FuncResult, any, text};
use crate::template::convert::{TooDeep, from_value, to_value, to_yaml_value};
use crate::template::text::lossy;
use crate::template::types::Type;
use crate::template::value::{List, Map, Val};
use crate::value::Value;
use crate::value::json::{self, Escape, Numbers};
use crate::yaml;

const ANY: Type = Type::Any;
const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("toJson", &[ANY], |_, args| Ok(text_or_empty(to_json(any(args, 0), Escape::Html)))),
    Func::fixed("mustToJson", &[ANY], |_, args| to_json(any(args, 0), Escape::Html).map(Val::from)),
    Func::fixed("toRawJson", &[ANY], |_, args| to_json(any(args, 0), Escape::Raw).map(Val::from)),
    Func::fixed("mustToRawJson", &[ANY], |_, args| to_json(any(args, 0), Escape::Raw).map(Val::from)),
    Func::fixed("toPrettyJson", &[ANY], |_, args| Ok(text_or_empty(pretty(any(args, 0))))),
    Func::fixed("mustToPrettyJson", &[ANY], |_, args| pretty(any(args, 0)).map(Val::from)),
    Func::fixed("fromJson", &[TEXT], from_json),
    Func::fixed("mustFromJson", &[TEXT], must_from_json),
    Func::fixed("fromJsonArray", &[TEXT], from_json_array),
    Func::fixed("toYaml", &[ANY], |_, args| {
        Ok(text_or_empty(to_yaml(to_value(any(args, 0)), yaml::to_yaml)))
    }),
    Func::fixed("mustToYaml", &[ANY], |_, args| {
        to_yaml(to_value(any(args, 0)), yaml::to_yaml).map(Val::from)
    }),
    Func::fixed("toYamlPretty", &[ANY], |_, args| {
        Ok(text_or_empty(to_yaml(to_yaml_value(any(args, 0)), yaml::to_yaml_pretty)))
    }),
    Func::fixed("fromYaml", &[TEXT], from_yaml),
    Func::fixed("fromYamlArray", &[TEXT], from_yaml_array),
    Func::fixed("toToml", &[ANY], to_toml),
    Func::fixed("mustToToml", &[ANY], |_, args| toml(any(args, 0)).map(Val::from)),
    Func::fixed("fromToml", &[TEXT], from_toml),
];

fn message(error: impl ToString) -> FuncError {
    FuncError::Message(error.to_string())
}

fn text_or_empty(result: Result<String, FuncError>) -> Val {
    Val::from(result.unwrap_or_default())
}

fn pretty(value: &Val) -> Result<String, FuncError> {
    json::to_string_pretty(&to_value(value)?).map_err(message)
}

fn to_yaml<E: ToString>(
    value: Result<Value, TooDeep>,
    write: fn(&Value) -> Result<String, E>,
) -> Result<String, FuncError> {
    let mut text = write(&value?).map_err(message)?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// A map, a nil one for null; any failure becomes the entry `Error`.
fn map_or_error<E: ToString>(read: Result<Value, E>, target: impl FnOnce(&Value) -> String) -> Val {
    let error = match read {
        Ok(Value::Null) => return Val::Map(Map::nil(ANY)),
        Ok(value @ Value::Map(_)) => return from_value(&value),
        Ok(value) => target(&value),
        Err(error) => error.to_string(),
    };
    Val::Map(Map::from_iter([("Error".into(), Val::from(error))]))
}

/// A list, a nil one for null; any failure becomes its only element.
fn list_or_error<E: ToString>(read: Result<Value, E>, target: impl FnOnce(&Value) -> String) -> Val {
    let error = match read {
        Ok(Value::Null) => return Val::List(List::nil(ANY)),
        Ok(value @ Value::List(_)) => return from_value(&value),
        Ok(value) => target(&value),
        Err(error) => error.to_string(),
    };
    Val::list(vec![Val::from(error)])
}

/// Go's text for a JSON value of the wrong kind.
fn not_a(value: &Value, target: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go value of type {target}")
}

const GO_MAP: &str = "map[string]interface {}";
const GO_LIST: &str = "[]interface {}";

fn from_json(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let read = json::from_slice(text(args, 0)?, Numbers::Float);
    Ok(map_or_error(read, |value| not_a(value, GO_MAP)))
}

fn from_json_array(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let read = json::from_slice(text(args, 0)?, Numbers::Float);
    Ok(list_or_error(read, |value| not_a(value, GO_LIST)))
}

fn must_from_json(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    json::from_slice(text(args, 0)?, Numbers::Float).map(|value| from_value(&value)).map_err(message)
}

/// The YAML library leaves the empty map and list of its caller as they are when it reads null.
fn from_yaml(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let read = yaml::read(text(args, 0)?);
    if let Ok(Value::Null) = read {
        return Ok(Val::Map(Map::new()));
    }
    Ok(map_or_error(read, |value| in_json(not_a(value, GO_MAP))))
}

fn from_yaml_array(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let read = yaml::read(text(args, 0)?);
    if let Ok(Value::Null) = read {
        return Ok(Val::list(Vec::new()));
    }
    Ok(list_or_error(read, |value| in_json(not_a(value, GO_LIST))))
}

/// YAML is read through JSON, and says so.
fn in_json(error: String) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {error}")
}

fn toml(value: &Val) -> Result<String, FuncError> {
    if value.is_nil() {
        return Err(FuncError::new("reflect: call of reflect.Value.Type on zero Value"));
    }
    write_toml(&to_value(value)?).map_err(message)
}

/// An error is the text itself here; only nil, on which the Go library panics, fails.
fn to_toml(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let value = any(args, 0);
    match toml(value) {
        Err(error) if !value.is_nil() => Ok(Val::from(error.to_string())),
        result => result.map(Val::from),
    }
}

fn from_toml(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let text = text(args, 0)?;
    let text: Cow<'_, str> = lossy(text);
    Ok(Val::Map(match text.parse::<toml::Table>() {
        Ok(table) => toml_map(&table),
        Err(error) => Map::from_iter([("Error".into(), Val::from(error.message()))]),
    }))
}

fn toml_map(table: &toml::Table) -> Map {
    table.iter().map(|(key, value)| (key.as_str().into(), toml_value(value))).collect()
}

fn toml_value(value: &toml::Value) -> Val {
    match value {
        toml::Value::String(text) => Val::str(text.as_str()),
        toml::Value::Integer(number) => Val::Int64(*number),
        toml::Value::Float(number) => Val::Float(*number),
        toml::Value::Boolean(flag) => Val::Bool(*flag),
        toml::Value::Datetime(time) => toml_time(time),
        toml::Value::Array(items) => {
            let only_tables = !items.is_empty() && items.iter().all(toml::Value::is_table);
            let element = if only_tables { Type::ANY_MAP } else { ANY };
            Val::List(List::of(element, items.iter().map(toml_value).collect()))
        }
        toml::Value::Table(table) => Val::Map(toml_map(table)),
    }
}

/// TOML's four kinds of dates and times are all a `time.Time` in Go; the ones without an offset are told apart
/// by the name of their zone.
fn toml_time(time: &toml::value::Datetime) -> Val {
    let local = |name: &str| Zone::Fixed { name: name.to_owned(), offset: 0 };
    let (layout, zone) = match (time.date.is_some(), time.time.is_some(), time.offset.is_some()) {
        (_, _, true) => ("2006-01-02T15:04:05.999999999Z07:00", Zone::Utc),
        (true, true, _) => ("2006-01-02T15:04:05.999999999", local("datetime-local")),
        (true, false, _) => ("2006-01-02", local("date-local")),
        (false, _, _) => ("15:04:05.999999999", local("time-local")),
    };
    let text = time.to_string();
    match parse_in(layout.as_bytes(), text.as_bytes(), &zone) {
        Ok(time) => Val::object(TimeObject(time)),
        Err(_) => Val::from(text),
    }
}
