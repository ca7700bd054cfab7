//! Versions and constraints. Source: sprig `semver.go` over Masterminds/semver.

use std::cmp::Ordering;

use crate::semver::{Constraint, Version, VersionError};
use crate::template::call::{Func, FuncError, FuncResult, any, text};
use crate::template::types::{Kind, Type};
use crate::template::value::{Method, Object, Val, receiver};
use crate::value::Value;

const TEXT: Type = Type::STRING;
const POINTER: &str = "*semver.Version";
const VERSION: Type = Type::Named(POINTER, Kind::Ptr);

pub(super) static TABLE: &[Func] = &[
    Func::fixed("semver", &[TEXT], |_, args| {
        let version = Version::parse(&text(args, 0)?.to_text()).map_err(failure)?;
        Ok(Val::object(VersionObject { version, is_pointer: true }))
    }),
    Func::fixed("semverCompare", &[TEXT, TEXT], |_, args| {
        let constraint = Constraint::parse(&text(args, 0)?.to_text()).map_err(failure)?;
        let version = Version::parse(&text(args, 1)?.to_text()).map_err(failure)?;
        Ok(Val::Bool(constraint.check(&version)))
    }),
];

fn failure(error: impl ToString) -> FuncError {
    FuncError::new(error.to_string())
}

/// A version in a template: what `semver` returns is a pointer, what its methods return is not.
#[derive(Debug)]
struct VersionObject {
    version: Version,
    is_pointer: bool,
}

/// Describes methods by code that sees the version itself.
macro_rules! methods {
    ($($name:literal, $params:expr, |$version:ident, $args:ident| $code:expr;)*) => {
        &[$(Method {
            name: $name,
            params: $params,
            variadic: false,
            call: |_, object, $args| {
                let $version = &receiver::<VersionObject>(object)?.version;
                $code
            },
        }),*]
    };
}

/// Methods of the value.
static METHODS: &[Method] = methods! {
    "Major", &[], |version, _args| Ok(Val::Uint(Kind::Uint64, version.major));
    "Minor", &[], |version, _args| Ok(Val::Uint(Kind::Uint64, version.minor));
    "Patch", &[], |version, _args| Ok(Val::Uint(Kind::Uint64, version.patch));
    "Prerelease", &[], |version, _args| Ok(Val::str(version.prerelease.as_str()));
    "Metadata", &[], |version, _args| Ok(Val::str(version.metadata.as_str()));
    "String", &[], |version, _args| Ok(Val::from(version.to_string()));
    "IncMajor", &[], |version, _args| stepped(version.next_major(), "major");
    "IncMinor", &[], |version, _args| stepped(version.next_minor(), "minor");
    "IncPatch", &[], |version, _args| stepped(version.next_patch(), "patch");
    "SetPrerelease", &[TEXT], |version, args| changed(version.with_prerelease(&text(args, 0)?.to_text()));
    "SetMetadata", &[TEXT], |version, args| changed(version.with_metadata(&text(args, 0)?.to_text()));
};

/// Methods that only the pointer has.
static POINTER_METHODS: &[Method] = methods! {
    "Original", &[], |version, _args| Ok(Val::str(version.original()));
    "Compare", &[VERSION], |version, args| Ok(Val::Int(match compared(version, args)? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }));
    "Equal", &[VERSION], |version, args| Ok(Val::Bool(compared(version, args)?.is_eq()));
    "LessThan", &[VERSION], |version, args| Ok(Val::Bool(compared(version, args)?.is_lt()));
    "LessThanEqual", &[VERSION], |version, args| Ok(Val::Bool(compared(version, args)?.is_le()));
    "GreaterThan", &[VERSION], |version, args| Ok(Val::Bool(compared(version, args)?.is_gt()));
    "GreaterThanEqual", &[VERSION], |version, args| Ok(Val::Bool(compared(version, args)?.is_ge()));
};

fn changed(version: Result<Version, VersionError>) -> FuncResult {
    Ok(Val::object(VersionObject { version: version.map_err(failure)?, is_pointer: false }))
}

fn stepped(version: Option<Version>, part: &str) -> FuncResult {
    let version =
        version.ok_or_else(|| FuncError::new(format!("{part} version increment would overflow uint64")))?;
    Ok(Val::object(VersionObject { version, is_pointer: false }))
}

fn compared(version: &Version, args: &[Val]) -> Result<Ordering, FuncError> {
    let Val::Object(other) = any(args, 0) else {
        return Err(FuncError::new("runtime error: invalid memory address or nil pointer dereference"));
    };
    Ok(version.cmp(&receiver::<VersionObject>(other.as_ref())?.version))
}

impl Object for VersionObject {
    fn type_name(&self) -> &'static str {
        if self.is_pointer { POINTER } else { "semver.Version" }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer { Kind::Ptr } else { Kind::Struct }
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        let of_pointer = if self.is_pointer { POINTER_METHODS } else { &[] };
        METHODS.iter().chain(of_pointer).find(|method| method.name == name)
    }

    fn formatted(&self) -> Option<String> {
        Some(self.version.to_string())
    }

    fn to_value(&self) -> Value {
        Value::Str(self.version.to_string())
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<VersionObject>(other).is_ok_and(|other| {
            self.is_pointer == other.is_pointer
                && self.version.to_string() == other.version.to_string()
                && self.version.original() == other.version.original()
        })
    }
}
