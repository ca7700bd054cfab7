//! Go's types as templates can see them: kinds, type names and what may be passed where.
//!
//! Templates only meet a small part of Go's type system, but they meet it by name: `typeOf`, `%T`,
//! error texts and comparisons all depend on it. Knows nothing of concrete values.

use std::fmt;

/// Go's `reflect.Kind`, restricted to the kinds a template can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The nil interface: no value at all.
    Invalid,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `int8`.
    Int8,
    /// `int16`.
    Int16,
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `uint`.
    Uint,
    /// `uint8`.
    Uint8,
    /// `uint16`.
    Uint16,
    /// `uint32`.
    Uint32,
    /// `uint64`.
    Uint64,
    /// `float32`.
    Float32,
    /// `float64`.
    Float64,
    /// `string`.
    String,
    /// A slice.
    Slice,
    /// A map.
    Map,
    /// A struct.
    Struct,
    /// A pointer.
    Ptr,
    /// An interface.
    Interface,
}

impl Kind {
    /// Returns the name `kindOf` answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Int8 => "int8",
            Kind::Int16 => "int16",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::Uint => "uint",
            Kind::Uint8 => "uint8",
            Kind::Uint16 => "uint16",
            Kind::Uint32 => "uint32",
            Kind::Uint64 => "uint64",
            Kind::Float32 => "float32",
            Kind::Float64 => "float64",
            Kind::String => "string",
            Kind::Slice => "slice",
            Kind::Map => "map",
            Kind::Struct => "struct",
            Kind::Ptr => "ptr",
            Kind::Interface => "interface",
        }
    }

    /// Tells whether this is a signed integer kind.
    pub fn is_int(self) -> bool {
        matches!(self, Kind::Int | Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64)
    }

    /// Tells whether this is an unsigned integer kind.
    pub fn is_uint(self) -> bool {
        matches!(self, Kind::Uint | Kind::Uint8 | Kind::Uint16 | Kind::Uint32 | Kind::Uint64)
    }

    /// Tells whether this is a floating-point kind.
    pub fn is_float(self) -> bool {
        matches!(self, Kind::Float32 | Kind::Float64)
    }
}

/// A Go type: of a value, of the elements of a container, or of a function's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `interface {}`.
    Any,
    /// A parameter of type `reflect.Value`: takes whatever is there, untouched. Only built-ins use it.
    Value,
    /// A basic type: `bool`, `string` or a number.
    Basic(Kind),
    /// `[]T`.
    List(&'static Type),
    /// `map[string]T`.
    Map(&'static Type),
    /// A named type, with its kind, as Go prints it (`time.Time`, `*semver.Version`).
    Named(&'static str, Kind),
}

impl Type {
    /// `bool`.
    pub const BOOL: Type = Type::Basic(Kind::Bool);
    /// `int`.
    pub const INT: Type = Type::Basic(Kind::Int);
    /// `int64`.
    pub const INT64: Type = Type::Basic(Kind::Int64);
    /// `uint8`, the element of `[]byte`.
    pub const UINT8: Type = Type::Basic(Kind::Uint8);
    /// `float64`.
    pub const FLOAT64: Type = Type::Basic(Kind::Float64);
    /// `string`.
    pub const STRING: Type = Type::Basic(Kind::String);
    /// `[]interface {}`.
    pub const ANY_LIST: Type = Type::List(&Type::Any);
    /// `[]string`.
    pub const STRING_LIST: Type = Type::List(&Type::STRING);
    /// `map[string]interface {}`.
    pub const ANY_MAP: Type = Type::Map(&Type::Any);
    /// `map[string]string`.
    pub const STRING_MAP: Type = Type::Map(&Type::STRING);

    /// Returns the kind of the type.
    pub fn kind(self) -> Kind {
        match self {
            Type::Any => Kind::Interface,
            Type::Value => Kind::Struct,
            Type::Basic(kind) | Type::Named(_, kind) => kind,
            Type::List(_) => Kind::Slice,
            Type::Map(_) => Kind::Map,
        }
    }

    /// Tells whether a nil without a type may be passed as this type.
    pub fn can_be_nil(self) -> bool {
        matches!(self, Type::Value)
            || matches!(self.kind(), Kind::Interface | Kind::Map | Kind::Slice | Kind::Ptr)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => out.write_str("interface {}"),
            Type::Value => out.write_str("reflect.Value"),
            Type::Basic(kind) => out.write_str(kind.name()),
            Type::List(element) => write!(out, "[]{element}"),
            Type::Map(element) => write!(out, "map[string]{element}"),
            Type::Named(name, _) => out.write_str(name),
        }
    }
}
