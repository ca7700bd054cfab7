//! JSON as a release record holds it: read as Go reads structs, written as Go writes them.
//!
//! Go's `encoding/json` matches the keys of structs without regard to case, takes `null` for every type's zero
//! value, and writes members in declared order. Knows nothing of releases.

use crate::value::json::{Escape, JsonError, append_string, to_string};
use crate::value::{Map, Value};

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
    map: Map,
}

impl Fields {
    /// Starts on `json`, which must be an object or null (Go leaves the zero value for null).
    pub(super) fn new(path: &str, json: Value) -> Result<Option<Self>, FieldError> {
        match json {
            Value::Null => Ok(None),
            Value::Map(map) => Ok(Some(Self { path: path.to_owned(), map })),
            _ => Err(FieldError { path: path.to_owned(), expected: "an object" }),
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
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
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

    pub(super) fn map(&mut self, key: &str) -> Result<Option<Map>, FieldError> {
        Ok(self.object(key)?.map(|fields| fields.map))
    }

    /// Takes a list and reads each element with `read`, which gets the element's path.
    pub(super) fn list<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str, Value) -> Result<T, FieldError>,
    ) -> Result<Option<Vec<T>>, FieldError> {
        let path = self.path_of(key);
        match self.take(key) {
            None => Ok(None),
            Some(Value::List(items)) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| read(&format!("{path}[{index}]"), item))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(self.error(key, "a list")),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, FieldError> {
        let read = |path: &str, item: Value| match item {
            Value::Str(text) => Ok(text),
            Value::Null => Ok(String::new()),
            _ => Err(FieldError { path: path.to_owned(), expected: "text" }),
        };
        Ok(self.list(key, read)?.unwrap_or_default())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<String, FieldError> {
        match self.take(key) {
            None => Ok(String::new()),
            Some(Value::Str(text)) => Ok(text),
            Some(_) => Err(self.error(key, "text")),
        }
    }

    pub(super) fn integer(&mut self, key: &str) -> Result<i64, FieldError> {
        match self.take(key) {
            None => Ok(0),
            Some(Value::Int(number)) => Ok(number),
            Some(_) => Err(self.error(key, "an integer")),
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
            Some(Value::Str(text)) => {
                super::payload::decode_base64(&text).map(Some).map_err(|_| self.error(key, "base64"))
            }
            Some(_) => Err(self.error(key, "base64")),
        }
    }

    /// Returns the members nobody asked for.
    pub(super) fn rest(self) -> Map {
        self.map
    }
}

/// Returns values as Helm sees them: every number is a float, as in Go's `map[string]any`.
pub(super) fn with_floats(map: Map) -> Map {
    map.into_iter().map(|(key, value)| (key, float(value))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "Go rounds large integers in the same way")]
fn float(value: Value) -> Value {
    match value {
        Value::Int(number) => Value::Float(number as f64),
        Value::Uint(number) => Value::Float(number as f64),
        Value::List(items) => Value::List(items.into_iter().map(float).collect()),
        Value::Map(map) => Value::Map(with_floats(map)),
        other => other,
    }
}

/// A JSON tree whose objects keep the order in which members were put in.
pub(super) enum Node {
    Value(Value),
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
            self.put(key, Value::List(texts.iter().map(|text| text.as_str().into()).collect()));
        }
    }

    /// A time, left out when there is none (Helm 4).
    pub(super) fn put_time(&mut self, key: &str, time: Option<&super::Time>) {
        if let Some(time) = time {
            self.put(key, time.text());
        }
    }

    /// Appends the members that were unknown when the object was read.
    pub(super) fn put_unknown(&mut self, unknown: &Map) {
        for (key, value) in unknown {
            self.put(key, value.clone());
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Node::Value(value)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Node::Value(text.into())
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
    pub(super) fn order(&self, map: &Map) -> Node {
        let known = self.keys.iter().filter_map(|key| map.get_key_value(*key));
        let unknown = map.iter().filter(|(key, _)| !self.keys.contains(&key.as_str()));
        let mut object = Object::default();
        for (key, value) in known.chain(unknown) {
            let shape = self.nested.iter().find(|(name, _)| name == key).map(|(_, shape)| *shape);
            object.put(key, shape.map_or_else(|| Node::Value(value.clone()), |shape| shape.order_any(value)));
        }
        Node::Object(object)
    }

    fn order_any(&self, value: &Value) -> Node {
        match value {
            Value::Map(map) => self.order(map),
            Value::List(items) => Node::List(items.iter().map(|item| self.order_any(item)).collect()),
            other => Node::Value(other.clone()),
        }
    }
}

/// Returns the compact JSON that Go's `json.Marshal` writes.
///
/// # Errors
/// NaN, infinities and bottomless nesting have no JSON form.
pub(super) fn write(node: &Node) -> Result<String, JsonError> {
    let mut out = String::new();
    append(&mut out, node)?;
    Ok(out)
}

fn append(out: &mut String, node: &Node) -> Result<(), JsonError> {
    match node {
        Node::Value(Value::Str(text)) => append_string(out, text, Escape::Html),
        Node::Value(value) => out.push_str(&to_string(value, Escape::Html)?),
        Node::List(items) => {
            let mut mark = '[';
            for item in items {
                out.push(mark);
                append(out, item)?;
                mark = ',';
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Node::Object(Object(members)) => {
            let mut mark = '{';
            for (key, value) in members {
                out.push(mark);
                append_string(out, key, Escape::Html);
                out.push(':');
                append(out, value)?;
                mark = ',';
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json::{Numbers, from_slice};

    fn read(text: &str) -> Value {
        from_slice(text.as_bytes(), Numbers::Typed).unwrap()
    }

    #[test]
    fn members_keep_their_order_and_go_escapes_apply() {
        let mut inner = Object::default();
        inner.put("z", read(r#"{"b":[1,null],"a":1000000.0}"#));
        inner.put_text("empty", "");
        inner.put("a<b", "x&y");
        let mut object = Object::default();
        object.put("list", Node::List(vec![inner.into(), Object::default().into()]));
        object.put("none", Node::List(Vec::new()));
        object.put_unknown(&Map::from([("u".to_owned(), Value::Int(9_007_199_254_740_993))]));
        assert_eq!(
            write(&object.into()).unwrap(),
            r#"{"list":[{"z":{"a":1000000,"b":[1,null]},"a\u003cb":"x\u0026y"},{}],"none":[],"u":9007199254740993}"#
        );
        assert!(write(&Value::Float(f64::NAN).into()).is_err());
    }

    #[test]
    fn keys_match_in_any_case_and_the_rest_is_kept() {
        let json = read(r#"{"Name":"a","STATUS":"b","status":"c","x":1}"#);
        let mut fields = Fields::new("", json).unwrap().unwrap();
        assert_eq!(fields.text("name").unwrap(), "a");
        assert_eq!(fields.text("status").unwrap(), "c");
        assert_eq!(Value::Map(fields.rest()), read(r#"{"x":1}"#));
    }

    #[test]
    fn a_wrong_type_names_the_path() {
        let mut fields = Fields::new("info", read(r#"{"status":1,"at":"noon","n":1.5}"#)).unwrap().unwrap();
        assert_eq!(fields.text("status").unwrap_err().to_string(), "`info.status` is not text");
        assert_eq!(fields.time("at").unwrap_err().to_string(), "`info.at` is not a time");
        assert_eq!(fields.integer("n").unwrap_err().to_string(), "`info.n` is not an integer");
    }
}
