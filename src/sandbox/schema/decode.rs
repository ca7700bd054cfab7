//! What becomes of an object on its way through the server's types: the only place that knows how Go reads JSON.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::quantity::canonical;
use super::types::{Scalar, Shape, Type};
use super::{Types, group_version};

impl Types {
    /// Makes of an object what decoding it into the server's type makes: unknown members go, empty ones too where the
    /// type leaves them out, and structs that are always there appear. Of a custom object only the metadata is read so.
    ///
    /// # Errors
    ///
    /// Returns what the server says of a value of a wrong type: the text after `cannot be handled as a Deployment: `.
    pub fn round_trip(&self, object: &mut Value) -> Result<(), String> {
        let Some(kind) = self.of(object) else { return Ok(()) };
        let place = Place { owner: kind.name(), path: Vec::new() };
        if !self.is_custom(object) {
            *object = decode(kind, object, &place)?;
        } else if let (Some(metadata), Some(of)) = (object.get_mut("metadata"), kind.field("metadata")) {
            *metadata = decode(of, metadata, &place)?;
        }
        Ok(())
    }

    /// Returns the paths of members that no schema knows, such as `spec.foo`, in the order of the object.
    #[must_use]
    pub fn unknown_fields(&self, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(kind) = self.of(object) {
            unknown(kind, object, "", &mut found);
        }
        found
    }
}

fn unknown(kind: Type<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) if kind.shape(Some(value)) == Shape::Map => {
            for (key, member) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match kind.member(key) {
                    Some(kind) => unknown(kind, member, &path, found),
                    None => found.push(path),
                }
            }
        }
        Value::Array(elements) if kind.shape(Some(value)) == Shape::List => {
            for (at, element) in elements.iter().enumerate() {
                unknown(kind.item(), element, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}

/// Where a value stands, for messages.
struct Place<'a> {
    /// The definition that declares the field.
    owner: &'a str,
    path: Vec<&'a str>,
}

impl Place<'_> {
    fn wrong(&self, what: &str, wanted: &str) -> String {
        let owner = self.owner.rsplit('.').next().unwrap_or_default();
        if self.path.is_empty() {
            return format!("json: cannot unmarshal {what} into Go value of type {wanted}");
        }
        let path = self.path.join(".");
        format!("json: cannot unmarshal {what} into Go struct field {owner}.{path} of type {wanted}")
    }
}

/// The name of a type in Go, as far as messages of the decoder name it.
fn go_name(kind: Type<'_>) -> String {
    if !kind.name().is_empty() {
        let mut parts = kind.name().rsplit('.');
        let name = parts.next().unwrap_or_default();
        return format!("{}.{name}", parts.next().unwrap_or_default());
    }
    match (kind.shape(None), kind.schema()["format"].as_str(), kind.schema()["type"].as_str()) {
        (Shape::List, ..) => format!("[]{}", go_name(kind.item())),
        (Shape::Map, ..) => {
            format!("map[string]{}", kind.member("").map_or_else(|| "interface {}".to_owned(), go_name))
        }
        (_, Some(format @ ("int32" | "int64")), _) => format.to_owned(),
        (_, Some("byte"), _) => "[]uint8".to_owned(),
        (_, _, Some("boolean")) => "bool".to_owned(),
        (_, _, Some("number")) => "float64".to_owned(),
        (_, _, Some("integer")) => "int64".to_owned(),
        _ => "string".to_owned(),
    }
}

fn json_name(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

fn decode<'a>(kind: Type<'a>, value: &'a Value, place: &Place<'a>) -> Result<Value, String> {
    if kind.is_open() || is_raw(kind) {
        return Ok(value.clone());
    }
    match (kind.shape(Some(value)), value) {
        (_, Value::Null) => Ok(zero(kind)),
        (Shape::Map, Value::Object(members)) if kind.fields().next().is_some() => {
            decode_struct(kind, members, place)
        }
        (Shape::Map, Value::Object(members)) => {
            let mut read = Map::new();
            for (key, member) in members {
                if let Some(of) = kind.member(key) {
                    read.insert(key.clone(), decode(of, member, &place.below(key))?);
                }
            }
            Ok(Value::Object(read))
        }
        (Shape::List, Value::Array(elements)) => {
            let read = elements.iter().map(|element| decode(kind.item(), element, place));
            Ok(Value::Array(read.collect::<Result<_, _>>()?))
        }
        (Shape::Scalar(scalar), value) => decode_scalar(kind, scalar, value, place),
        (Shape::Map | Shape::List, value) => Err(place.wrong(&json_name(value), &go_name(kind))),
    }
}

impl<'a> Place<'a> {
    fn below(&self, key: &'a str) -> Self {
        Self { owner: self.owner, path: [self.path.as_slice(), &[key]].concat() }
    }
}

fn decode_struct<'a>(
    kind: Type<'a>,
    members: &'a Map<String, Value>,
    place: &Place<'a>,
) -> Result<Value, String> {
    let mut read = Map::new();
    for key in kind.fields() {
        let Some(of) = kind.field(key) else { continue };
        let flag = of.says("x-go").as_str();
        let given = members.get_key_value(key).filter(|(_, value)| !value.is_null());
        let value = match given {
            Some((key, value)) => {
                let place = Place { owner: kind.name(), ..place.below(key) };
                decode(of, value, &place)?
            }
            None => match flag {
                None | Some("d") => continue,
                Some("{}") => decode(of, &EMPTY, place)?,
                Some(text) => serde_json::from_str(text).unwrap_or_default(),
            },
        };
        if flag == Some("d") && is_zero(&value) {
            continue;
        }
        read.insert(key.to_owned(), value);
    }
    Ok(Value::Object(read))
}

static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));

/// Tells whether a type keeps JSON as it is.
fn is_raw(kind: Type<'_>) -> bool {
    matches!(kind.name().rsplit('.').next(), Some("JSON" | "FieldsV1" | "RawExtension"))
}

fn zero(kind: Type<'_>) -> Value {
    match kind.shape(None) {
        Shape::Scalar(Scalar::String) => "".into(),
        Shape::Scalar(Scalar::Numeric) => 0.into(),
        Shape::Scalar(Scalar::Boolean) => false.into(),
        Shape::Scalar(Scalar::Untyped) if kind.name().ends_with(".Quantity") => "0".into(),
        Shape::Map | Shape::List | Shape::Scalar(Scalar::Untyped) => Value::Null,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

fn decode_scalar(kind: Type<'_>, scalar: Scalar, value: &Value, place: &Place<'_>) -> Result<Value, String> {
    let name = kind.name().rsplit('.').next().unwrap_or_default();
    let wrong = || place.wrong(&json_name(value), &go_name(kind));
    match (name, value) {
        ("Quantity", Value::String(_) | Value::Number(_)) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return canonical(&text).map(Value::from).ok_or_else(|| {
                "quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                    .to_owned()
            });
        }
        ("IntOrString", Value::String(_) | Value::Number(_)) => return Ok(value.clone()),
        ("IntOrString", _) => return Err(place.wrong(&json_name(value), "int32")),
        ("Time" | "MicroTime", Value::String(text)) => {
            return match text.parse::<jiff::Timestamp>() {
                Ok(_) => Ok(value.clone()),
                Err(_) => Err(format!(
                    "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
                )),
            };
        }
        _ => {}
    }
    match (scalar, value) {
        (Scalar::Numeric, Value::Number(number)) if kind.schema()["type"] == "integer" => {
            match (number.as_i64(), number.as_f64()) {
                (Some(_), _) => Ok(value.clone()),
                #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is in range")]
                (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9e15 => {
                    Ok((float as i64).into())
                }
                _ => Err(place.wrong(&format!("number {number}"), &go_name(kind))),
            }
        }
        (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_)) => Ok(value.clone()),
        (Scalar::Untyped, Value::String(_) | Value::Number(_) | Value::Bool(_)) => Ok(value.clone()),
        _ => Err(wrong()),
    }
}

/// Returns the words with which the server refuses a body that it cannot decode.
#[must_use]
pub fn undecodable(object: &Value, why: &str) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let (_, version) = group_version(object["apiVersion"].as_str().unwrap_or_default());
    format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}")
}
