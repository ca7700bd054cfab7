//! Paths with slashes. Source: Go `path`; the `os` variants are the same on Linux.

use crate::go::path::{base, clean, dir, ext, is_abs};
use crate::template::call::{Func, text};
use crate::template::types::Type;
use crate::template::value::Val;

const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("base", &[TEXT], |_, args| Ok(Val::str(base(text(args, 0)?)))),
    Func::fixed("dir", &[TEXT], |_, args| Ok(Val::str(dir(text(args, 0)?)))),
    Func::fixed("clean", &[TEXT], |_, args| Ok(Val::str(clean(text(args, 0)?)))),
    Func::fixed("ext", &[TEXT], |_, args| Ok(Val::str(ext(text(args, 0)?)))),
    Func::fixed("isAbs", &[TEXT], |_, args| Ok(Val::Bool(is_abs(text(args, 0)?)))),
    Func::fixed("osBase", &[TEXT], |_, args| Ok(Val::str(base(text(args, 0)?)))),
    Func::fixed("osDir", &[TEXT], |_, args| Ok(Val::str(dir(text(args, 0)?)))),
    Func::fixed("osClean", &[TEXT], |_, args| Ok(Val::str(clean(text(args, 0)?)))),
    Func::fixed("osExt", &[TEXT], |_, args| Ok(Val::str(ext(text(args, 0)?)))),
    Func::fixed("osIsAbs", &[TEXT], |_, args| Ok(Val::Bool(is_abs(text(args, 0)?)))),
];
