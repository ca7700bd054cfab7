//! JSON as a release record holds it: read as Go reads it, written as Go writes it.
//!
//! Go's `encoding/json` matches keys without regard to case, takes `null` for every type's zero value, and
//! writes struct members in declared order with `<`, `>` and `&` escaped. Knows nothing of releases.

use std::io;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value as Json;

use crate::value::{Map, Value, number};

/// The members of a JSON object.
pub type JsonMap = serde_json::Map<String, Json>;

/// A member that is not of the type Helm declares for it; Helm refuses to read such a record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not {expected}")]
pub struct FieldError {
    /// Dotted path of the member.
    pub path: String,
    /// What stands there in a record Helm wrote.
    pub expected: &'static str,
}

/// The members of one JSON object, taken out one by one; what is left is unknown to this program.
pub(super) struct Fields {
    path: String,
    map: JsonMap,
}

impl Fields {
    /// Starts on `json`, which must be an object or null (Go leaves the zero value for null).
    pub(super) fn new(path: &str, json: Json) -> Result<Option<Self>, FieldError> {
        match json {
            Json::Null => Ok(None),
            Json::Object(map) => Ok(Some(Self { path: path.to_owned(), map })),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(FieldError { path: path.to_owned(), expected: "an object" })
            }
        }
    }

    fn error(&self, key: &str, expected: &'static str) -> FieldError {
        FieldError { path: self.path_of(key), expected }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Takes a member out; null counts as missing. A key of the exact spelling wins over other cases, which
    /// are dropped, since Go would read them into the same member.
    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let exact = self.map.remove(key);
        let variants: Vec<String> =
            self.map.keys().filter(|found| found.eq_ignore_ascii_case(key)).cloned().collect();
        let mut taken = exact;
        for variant in variants {
            let value = self.map.remove(&variant);
            taken = taken.or(value);
        }
        taken.filter(|value| !value.is_null())
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Option<Fields>, FieldError> {
        let path = self.path_of(key);
        self.take(key).map_or(Ok(None), |json| Fields::new(&path, json))
    }

    pub(super) fn map(&mut self, key: &str) -> Result<Option<JsonMap>, FieldError> {
        Ok(self.object(key)?.map(|fields| fields.map))
    }

    /// Takes a list and reads each element with `read`, which gets the element's path.
    pub(super) fn list<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str, Json) -> Result<T, FieldError>,
    ) -> Result<Option<Vec<T>>, FieldError> {
        let path = self.path_of(key);
        match self.take(key) {
            None => Ok(None),
            Some(Json::Array(items)) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| read(&format!("{path}[{index}]"), item))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(self.error(key, "a list")),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, FieldError> {
        let read = |path: &str, item: Json| match item {
            Json::String(text) => Ok(text),
            Json::Null => Ok(String::new()),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(FieldError { path: path.to_owned(), expected: "text" })
            }
        };
        Ok(self.list(key, read)?.unwrap_or_default())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<String, FieldError> {
        match self.take(key) {
            None => Ok(String::new()),
            Some(Json::String(text)) => Ok(text),
            Some(_) => Err(self.error(key, "text")),
        }
    }

    pub(super) fn integer(&mut self, key: &str) -> Result<i64, FieldError> {
        match self.take(key) {
            None => Ok(0),
            Some(json) => json.as_i64().ok_or_else(|| self.error(key, "an integer")),
        }
    }

    pub(super) fn revision(&mut self, key: &str) -> Result<u64, FieldError> {
        u64::try_from(self.integer(key)?).map_err(|_| self.error(key, "a revision number"))
    }

    /// Takes a time; `""` and null stand for "never", as in Helm's own reader.
    pub(super) fn time(&mut self, key: &str) -> Result<Option<super::Time>, FieldError> {
        let text = self.text(key)?;
        if text.is_empty() {
            return Ok(None);
        }
        super::Time::parse(&text).map(Some).ok_or_else(|| self.error(key, "a time"))
    }

    /// Takes bytes, which Go's JSON holds as base64.
    pub(super) fn bytes(&mut self, key: &str) -> Result<Option<Vec<u8>>, FieldError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(text)) => {
                super::payload::decode_base64(&text).map(Some).map_err(|_| self.error(key, "base64"))
            }
            Some(_) => Err(self.error(key, "base64")),
        }
    }

    /// Returns the members nobody asked for.
    pub(super) fn rest(self) -> JsonMap {
        self.map
    }
}

/// Reads values as Helm does: every number becomes a float, as in Go's `map[string]any`.
pub(super) fn to_map(json: JsonMap) -> Map {
    json.into_iter().map(|(key, item)| (key, to_value(item))).collect()
}

fn to_value(json: Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        Json::String(text) => Value::Str(text),
        Json::Array(items) => Value::List(items.into_iter().map(to_value).collect()),
        Json::Object(map) => Value::Map(to_map(map)),
    }
}

pub(super) fn from_map(map: &Map) -> JsonMap {
    map.iter().map(|(key, item)| (key.clone(), from_value(item))).collect()
}

fn from_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Uint(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Str(text) => Json::from(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(from_value).collect()),
        Value::Map(map) => Json::Object(from_map(map)),
    }
}

/// A JSON tree whose objects keep the order in which members were put in.
pub(super) enum Node {
    Json(Json),
    List(Vec<Node>),
    Object(Object),
}

/// An object under construction.
#[derive(Default)]
pub(super) struct Object(Vec<(String, Node)>);

impl Object {
    pub(super) fn put(&mut self, key: &str, node: impl Into<Node>) {
        self.0.push((key.to_owned(), node.into()));
    }

    /// Go's `omitempty` for text.
    pub(super) fn put_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, text);
        }
    }

    /// Go's `omitempty` for a list of strings.
    pub(super) fn put_texts(&mut self, key: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.put(key, Json::from(texts.to_vec()));
        }
    }

    /// A time, left out when there is none (Helm 4).
    pub(super) fn put_time(&mut self, key: &str, time: Option<&super::Time>) {
        if let Some(time) = time {
            self.put(key, time.text());
        }
    }

    /// Appends the members that were unknown when the object was read.
    pub(super) fn put_unknown(&mut self, unknown: &JsonMap) {
        for (key, value) in unknown {
            self.put(key, value.clone());
        }
    }
}

impl From<Json> for Node {
    fn from(json: Json) -> Self {
        Node::Json(json)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Node::Json(Json::from(text))
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Node::Object(object)
    }
}

/// The member order of a Go struct that is kept here as plain JSON, and of the structs inside it.
pub(super) struct Shape {
    pub(super) keys: &'static [&'static str],
    pub(super) nested: &'static [(&'static str, &'static Shape)],
}

impl Shape {
    /// Returns `map` with its members in the order of the struct; others follow, sorted.
    pub(super) fn order(&self, map: &JsonMap) -> Node {
        let known = self.keys.iter().filter_map(|key| map.get_key_value(*key));
        let unknown = map.iter().filter(|(key, _)| !self.keys.contains(&key.as_str()));
        let mut object = Object::default();
        for (key, value) in known.chain(unknown) {
            let shape = self.nested.iter().find(|(name, _)| name == key).map(|(_, shape)| *shape);
            object.put(key, shape.map_or_else(|| Node::Json(value.clone()), |shape| shape.order_any(value)));
        }
        Node::Object(object)
    }

    fn order_any(&self, value: &Json) -> Node {
        match value {
            Json::Object(map) => self.order(map),
            Json::Array(items) => Node::List(items.iter().map(|item| self.order_any(item)).collect()),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Node::Json(value.clone()),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Json(json) => json.serialize(serializer),
            Node::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Node::Object(Object(members)) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Returns the compact JSON that Go's `json.Marshal` writes.
pub(super) fn write(node: &Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, GoFormatter);
    // Writing to memory does not fail and every key is text, so there is no error to report.
    let written = node.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "memory writes do not fail");
    bytes
}

/// Go's spelling: HTML characters and the two line separators are escaped; floats lose a zero fraction.
struct GoFormatter;

impl serde_json::ser::Formatter for GoFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number::format_json(value).as_deref().unwrap_or("null").as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut start = 0;
        for (at, character) in fragment.char_indices() {
            if matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
                writer.write_all(&fragment.as_bytes()[start..at])?;
                write!(writer, "\\u{:04x}", u32::from(character))?;
                start = at + character.len_utf8();
            }
        }
        writer.write_all(&fragment.as_bytes()[start..])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_numbers_are_written_as_go_writes_them() {
        // Answers of Go's json.Marshal.
        for (value, expected) in [
            (json!("a<b>&c"), r#""a\u003cb\u003e\u0026c""#),
            (json!("\u{2028}ü\u{1f600}\u{7f}"), "\"\\u2028ü\u{1f600}\u{7f}\""),
            (json!("\n\t\r\"\\/\u{1}\u{1f}"), r#""\n\t\r\"\\/\u0001\u001f""#),
            (json!(1_000_000.0), "1000000"),
            (json!(1e21), "1e+21"),
            (json!(0.5), "0.5"),
            (json!(-3), "-3"),
            (json!({"b": [1, null], "a": {}}), r#"{"a":{},"b":[1,null]}"#),
        ] {
            assert_eq!(String::from_utf8(write(&Node::Json(value))).unwrap(), expected);
        }
    }

    #[test]
    fn keys_match_in_any_case_and_the_rest_is_kept() {
        let mut fields =
            Fields::new("", json!({"Name": "a", "STATUS": "b", "status": "c", "x": 1})).unwrap().unwrap();
        assert_eq!(fields.text("name").unwrap(), "a");
        assert_eq!(fields.text("status").unwrap(), "c");
        assert_eq!(Json::Object(fields.rest()), json!({"x": 1}));
    }

    #[test]
    fn a_wrong_type_names_the_path() {
        let mut fields = Fields::new("info", json!({"status": 1, "at": "noon"})).unwrap().unwrap();
        assert_eq!(fields.text("status").unwrap_err().to_string(), "`info.status` is not text");
        assert_eq!(fields.time("at").unwrap_err().to_string(), "`info.at` is not a time");
    }
}
