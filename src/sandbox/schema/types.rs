//! The type of a field: what a merge, a decoder and a validation need to know of its schema.
//!
//! The rules are those by which the API server turns OpenAPI schemas into the types of server-side apply.

use serde_json::Value;

use super::Builtin;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub struct Type<'a> {
    /// The schema where the field is declared: what it says beside a reference counts first.
    outer: &'a Value,
    schema: &'a Value,
    special: Special,
    preserve: bool,
    name: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    No,
    /// Any scalar.
    Scalar,
    /// Anything, as one value.
    Untyped,
    /// Anything; objects are merged by key.
    Deduced,
}

/// What a value is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object.
    Map,
    /// An array.
    List,
    /// Anything else.
    Scalar(Scalar),
}

/// Which scalars a type admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Numbers.
    Numeric,
    /// Text.
    String,
    /// true and false.
    Boolean,
    /// Any of them.
    Untyped,
}

/// How elements of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind<'a> {
    /// Not at all: the list is one value.
    Atomic,
    /// By their value.
    Set,
    /// By these members.
    Map(Vec<&'a str>),
}

static NOTHING: Value = Value::Null;

impl<'a> Type<'a> {
    /// Returns the type of a schema; references lead to definitions that are built in.
    pub(super) fn of(outer: &'a Value, preserve: bool) -> Self {
        let reference = outer["$ref"].as_str().or_else(|| match outer["allOf"].as_array()?.as_slice() {
            [one] => one["$ref"].as_str(),
            _ => None,
        });
        match reference.and_then(|path| path.rsplit('/').next()) {
            Some(name) => Self { outer, ..Self::named(name) },
            None => {
                let preserve = preserve || outer["x-kubernetes-preserve-unknown-fields"] == true;
                Self { outer, schema: outer, special: Special::No, preserve, name: "" }
            }
        }
    }

    /// Returns the type of a definition that is built in.
    pub(super) fn named(name: &str) -> Self {
        let builtin = Builtin::get();
        let special = match name.rsplit('.').next() {
            Some("Quantity") => Special::Scalar,
            Some("RawExtension") => Special::Untyped,
            _ => Special::No,
        };
        let name = builtin.definitions.get_key_value(name).map_or("", |(name, _)| *name);
        let schema = builtin.definition(name).unwrap_or(&NOTHING);
        Self { outer: schema, schema, special, preserve: false, name }
    }

    fn special(special: Special) -> Self {
        Self { outer: &NOTHING, schema: &NOTHING, special, preserve: false, name: "" }
    }

    /// Returns the type of what no schema describes, as one value.
    #[must_use]
    pub fn untyped() -> Self {
        Self::special(Special::Untyped)
    }

    /// Returns the name of its definition, such as `io.k8s.api.core.v1.PodSpec`; empty for none.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.name
    }

    /// Returns its schema; references are followed.
    #[must_use]
    pub fn schema(self) -> &'a Value {
        self.schema
    }

    /// Returns what the place where it is declared says under a key, or else its schema.
    #[must_use]
    pub fn says(self, key: &str) -> &'a Value {
        match &self.outer[key] {
            Value::Null => &self.schema[key],
            said => said,
        }
    }

    /// Tells what a value of this type is taken for: types of several shapes go by the value.
    #[must_use]
    pub fn shape(self, value: Option<&Value>) -> Shape {
        let any = || match value {
            Some(Value::Array(_)) => Shape::List,
            Some(Value::Null | Value::Object(_)) | None => Shape::Map,
            Some(_) => Shape::Scalar(Scalar::Untyped),
        };
        match self.special {
            Special::Scalar => Shape::Scalar(Scalar::Untyped),
            Special::Untyped | Special::Deduced => any(),
            Special::No => match self.schema["type"].as_str() {
                Some("object") => Shape::Map,
                Some("array") => Shape::List,
                Some("integer" | "number") => Shape::Scalar(Scalar::Numeric),
                Some("boolean") => Shape::Scalar(Scalar::Boolean),
                Some("string") => Shape::Scalar(match self.schema["format"].as_str() {
                    None | Some("" | "byte") => Scalar::String,
                    Some(_) => Scalar::Untyped,
                }),
                Some(_) | None => any(),
            },
        }
    }

    /// Returns the type of a member that the schema names.
    #[must_use]
    pub fn field(self, key: &str) -> Option<Self> {
        (self.special == Special::No)
            .then(|| self.schema["properties"].get(key))
            .flatten()
            .map(|schema| Self::of(schema, self.preserve))
    }

    /// Returns the names of the members that the schema names.
    pub fn fields(self) -> impl Iterator<Item = &'a str> {
        self.schema["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str))
    }

    /// Returns the type of a member; nothing where there can be none of that name.
    #[must_use]
    pub fn member(self, key: &str) -> Option<Self> {
        match self.special {
            Special::Untyped | Special::Deduced => return Some(self),
            Special::Scalar => return None,
            Special::No => {}
        }
        if let Some(field) = self.field(key) {
            return Some(field);
        }
        match &self.schema["additionalProperties"] {
            Value::Null => {
                let open =
                    self.preserve || self.schema["properties"].as_object().is_none_or(|all| all.is_empty());
                open.then(|| Self::special(Special::Deduced))
            }
            Value::Bool(open) => open.then(|| Self::special(Special::Deduced)),
            schema => Some(Self::of(schema, self.preserve)),
        }
    }

    /// Returns the type of a list's elements.
    #[must_use]
    pub fn item(self) -> Self {
        match &self.schema["items"] {
            Value::Object(_) if self.special == Special::No => Self::of(&self.schema["items"], self.preserve),
            _ => Self::untyped(),
        }
    }

    /// Tells whether an object is one value.
    #[must_use]
    pub fn is_atomic_map(self) -> bool {
        self.special == Special::Untyped || self.says("x-kubernetes-map-type") == "atomic"
    }

    /// Tells whether anything may stand here: what no schema describes further.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self.special, Special::Untyped | Special::Deduced)
    }

    /// Tells how the elements of a list are told apart.
    #[must_use]
    pub fn list_kind(self) -> ListKind<'a> {
        if self.special != Special::No {
            return ListKind::Atomic;
        }
        match self.says("x-kubernetes-list-type").as_str() {
            Some("set") => ListKind::Set,
            Some("map") => {
                let keys = self.says("x-kubernetes-list-map-keys").as_array();
                ListKind::Map(keys.into_iter().flatten().filter_map(Value::as_str).collect())
            }
            Some(_) | None => ListKind::Atomic,
        }
    }
}
