//! The functions that Go's `text/template` itself offers, except `slice`, which sprig replaces.

use crate::go::html::{html_escape, js_escape};
use crate::go::url::query_escape;
use crate::template::call::{Action, Context, Func, FuncError, FuncResult, any};
use crate::template::exec::zero_value;
use crate::template::fmt::{sprint, sprintf, sprintln, to_text};
use crate::template::text::Str;
use crate::template::types::{Kind, Type};
use crate::template::value::{Map, Number, Val};

const VALUE: Type = Type::Value;

pub(super) static TABLE: &[Func] = &[
    Func { name: "and", params: &[VALUE, VALUE], variadic: true, action: Action::And },
    Func { name: "or", params: &[VALUE, VALUE], variadic: true, action: Action::Or },
    Func { name: "len", params: &[VALUE], variadic: false, action: Action::Len },
    Func::fixed("not", &[VALUE], |_, args| Ok(Val::Bool(!any(args, 0).is_true()))),
    Func::variadic("eq", &[VALUE, VALUE], |_, args| equal(args).map(Val::Bool)),
    Func::fixed("ne", &[VALUE, VALUE], |_, args| Ok(Val::Bool(!equal(args)?))),
    Func::fixed("lt", &[VALUE, VALUE], |_, args| less(any(args, 0), any(args, 1)).map(Val::Bool)),
    Func::fixed("le", &[VALUE, VALUE], |_, args| less_or_equal(args).map(Val::Bool)),
    Func::fixed("gt", &[VALUE, VALUE], |_, args| Ok(Val::Bool(!less_or_equal(args)?))),
    Func::fixed("ge", &[VALUE, VALUE], |_, args| Ok(Val::Bool(!less(any(args, 0), any(args, 1))?))),
    Func::variadic("index", &[VALUE, VALUE], index),
    Func::variadic("call", &[VALUE, VALUE], call),
    Func::variadic("print", &[Type::Any], |_, args| Ok(Val::str(sprint(args)?))),
    Func::variadic("println", &[Type::Any], |_, args| Ok(Val::str(sprintln(args)?))),
    Func::variadic("printf", &[Type::STRING, Type::Any], printf),
    Func::variadic("html", &[Type::Any], |_, args| Ok(Val::str(html_escape(&joined(args)?)))),
    Func::variadic("js", &[Type::Any], |_, args| Ok(Val::str(js_escape(&joined(args)?)))),
    Func::variadic("urlquery", &[Type::Any], |_, args| Ok(Val::str(query_escape(&joined(args)?)))),
];

fn printf(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let Some((Val::Str(format), args)) = args.split_first() else {
        return Err(FuncError::new("printf needs a format"));
    };
    Ok(Val::str(sprintf(format, args)?))
}

/// The classes within which values can be compared.
#[derive(PartialEq)]
enum Basic<'v> {
    Bool(bool),
    Number(Number),
    Str(&'v Str),
    None,
}

fn basic(value: &Val) -> Basic<'_> {
    match value {
        Val::Bool(flag) => Basic::Bool(*flag),
        Val::Str(text) => Basic::Str(text),
        other => other.number().map_or(Basic::None, Basic::Number),
    }
}

fn incompatible(first: &Val, second: &Val) -> FuncError {
    let (first, second) = (first.type_name(), second.type_name());
    FuncError::Message(format!("incompatible types for comparison: {first} and {second}"))
}

/// Tells whether the first argument equals any of the others.
fn equal(args: &[Val]) -> Result<bool, FuncError> {
    let first = any(args, 0);
    if args.len() < 2 {
        return Err(FuncError::new("missing argument for comparison"));
    }
    for second in &args[1..] {
        if equal_pair(first, second)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal_pair(first: &Val, second: &Val) -> Result<bool, FuncError> {
    match (basic(first), basic(second)) {
        (Basic::Bool(first), Basic::Bool(second)) => Ok(first == second),
        (Basic::Str(first), Basic::Str(second)) => Ok(first == second),
        (Basic::Number(Number::Int(int)), Basic::Number(Number::Uint(uint)))
        | (Basic::Number(Number::Uint(uint)), Basic::Number(Number::Int(int))) => {
            Ok(u64::try_from(int) == Ok(uint))
        }
        (Basic::Number(Number::Float(first)), Basic::Number(Number::Float(second))) => Ok(first == second),
        (Basic::Number(Number::Int(first)), Basic::Number(Number::Int(second))) => Ok(first == second),
        (Basic::Number(Number::Uint(first)), Basic::Number(Number::Uint(second))) => Ok(first == second),
        (Basic::None, Basic::None) => equal_others(first, second),
        _ if first.is_nil() || second.is_nil() => Ok(false),
        _ => Err(incompatible(first, second)),
    }
}

/// Compares values that are no booleans, numbers or strings.
fn equal_others(first: &Val, second: &Val) -> Result<bool, FuncError> {
    let (first_kind, second_kind) = (first.kind(), second.kind());
    if first_kind != second_kind && first_kind != Kind::Invalid && second_kind != Kind::Invalid {
        return Err(FuncError::Message(format!(
            "non-comparable types {}: {}, {}: {}",
            with_verb_s(first),
            first.type_name(),
            second.type_name(),
            to_text(second)
        )));
    }
    if is_nil(first) || is_nil(second) {
        return Ok(is_nil(first) == is_nil(second));
    }
    match (first, second) {
        (Val::Object(first), Val::Object(object)) if !matches!(object.kind(), Kind::Map | Kind::Slice) => {
            Ok(first.equals(object.as_ref()))
        }
        _ => Err(FuncError::Message(format!(
            "non-comparable type {}: {}",
            with_verb_s(second),
            second.type_name()
        ))),
    }
}

fn with_verb_s(value: &Val) -> String {
    sprintf(b"%s", std::slice::from_ref(value))
        .map_or_else(|error| error.to_string(), |text| crate::template::text::lossy(&text).into_owned())
}

/// Go's nil of any type: also nil maps and slices.
fn is_nil(value: &Val) -> bool {
    match value {
        Val::Nil => true,
        Val::Map(map) => map.is_nil(),
        Val::List(list) => list.is_nil(),
        _ => false,
    }
}

fn less(first: &Val, second: &Val) -> Result<bool, FuncError> {
    let invalid = || FuncError::new("invalid type for comparison");
    match (basic(first), basic(second)) {
        (Basic::None, _) | (_, Basic::None) => Err(invalid()),
        (Basic::Bool(_), Basic::Bool(_)) => Err(invalid()),
        (Basic::Str(first), Basic::Str(second)) => Ok(first < second),
        (Basic::Number(first_number), Basic::Number(second_number)) => match (first_number, second_number) {
            (Number::Int(first), Number::Int(second)) => Ok(first < second),
            (Number::Uint(first), Number::Uint(second)) => Ok(first < second),
            (Number::Float(first), Number::Float(second)) => Ok(first < second),
            (Number::Int(int), Number::Uint(uint)) => Ok(i128::from(int) < i128::from(uint)),
            (Number::Uint(uint), Number::Int(int)) => Ok(i128::from(uint) < i128::from(int)),
            _ => Err(incompatible(first, second)),
        },
        _ => Err(incompatible(first, second)),
    }
}

fn less_or_equal(args: &[Val]) -> Result<bool, FuncError> {
    Ok(less(any(args, 0), any(args, 1))? || equal_pair(any(args, 0), any(args, 1))?)
}

fn index(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let mut item = any(args, 0).clone();
    if item.is_nil() {
        return Err(FuncError::new("index of untyped nil"));
    }
    for key in args.get(1..).unwrap_or_default() {
        item = match &item.plain() {
            Val::Nil => return Err(FuncError::new("index of nil pointer")),
            Val::List(list) => {
                let at = index_arg(key, list.len())?;
                list.get(at).cloned().ok_or_else(|| FuncError::new("reflect: slice index out of range"))?
            }
            Val::Str(text) => byte_at(text, key, "string")?,
            Val::Bytes(text) => byte_at(text, key, "slice")?,
            Val::Map(map) => map_entry(map, key)?,
            _ => {
                // Go looks through a pointer before it names the type.
                let name = item.type_name();
                let name = name.strip_prefix('*').unwrap_or(&name);
                return Err(FuncError::Message(format!("can't index item of type {name}")));
            }
        };
    }
    Ok(item)
}

fn byte_at(text: &Str, key: &Val, what: &str) -> FuncResult {
    let at = index_arg(key, text.len())?;
    match text.get(at) {
        Some(byte) => Ok(Val::Uint(Kind::Uint8, u64::from(*byte))),
        None => Err(FuncError::Message(format!("reflect: {what} index out of range"))),
    }
}

fn map_entry(map: &Map, key: &Val) -> FuncResult {
    match key {
        Val::Str(key) => Ok(map.get(key).unwrap_or_else(|| zero_value(map.element()))),
        Val::Nil => Err(FuncError::new("value is nil; should be of type string")),
        other => Err(FuncError::Message(format!("value has type {}; should be string", other.type_name()))),
    }
}

/// Returns an index into a slice. One past the end passes here, as in Go, and fails later.
fn index_arg(key: &Val, length: usize) -> Result<usize, FuncError> {
    let number = match key.number() {
        Some(Number::Int(number)) => i128::from(number),
        Some(Number::Uint(number)) => i128::from(number),
        _ if key.is_nil() => return Err(FuncError::new("cannot index slice/array with nil")),
        _ => {
            return Err(FuncError::Message(format!(
                "cannot index slice/array with type {}",
                key.type_name()
            )));
        }
    };
    match usize::try_from(number) {
        Ok(at) if at <= length => Ok(at),
        _ => Err(FuncError::Message(format!("index out of range: {number}"))),
    }
}

/// No value that a chart can reach is a function, so there is never anything to call.
fn call(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let value = any(args, 0);
    if value.is_nil() {
        return Err(FuncError::new("call of nil"));
    }
    Err(FuncError::Message(format!("non-function of type {}", value.type_name())))
}

/// The arguments as one text: a lone string as it is, anything else printed.
fn joined(args: &[Val]) -> Result<Vec<u8>, FuncError> {
    if let [Val::Str(text)] = args {
        return Ok(text.to_vec());
    }
    let printable: Vec<Val> = args
        .iter()
        .map(|arg| match arg {
            Val::Nil => Val::str("<no value>"),
            Val::Object(object) => object.printed().map_or_else(|| arg.clone(), Val::from),
            other => other.clone(),
        })
        .collect();
    Ok(sprint(&printable)?)
}
