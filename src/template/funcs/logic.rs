//! Defaults, truth, types and flow: `default`, `empty`, `coalesce`, `ternary`, `typeOf`, …
//! Source: sprig `defaults.go`, `reflect.go`.

use crate::template::call::{Context, Func, FuncResult, any, flag, text};
use crate::template::equal::deep_equal;
use crate::template::types::{Kind, Type};
use crate::template::value::Val;

pub(super) static TABLE: &[Func] = &[
    Func::variadic("default", &[Type::Any, Type::Any], default),
    Func::fixed("empty", &[Type::Any], |_, args| Ok(Val::Bool(is_empty(any(args, 0))))),
    Func::variadic("coalesce", &[Type::Any], |_, args| {
        Ok(args.iter().find(|value| !is_empty(value)).cloned().unwrap_or_default())
    }),
    Func::variadic("all", &[Type::Any], |_, args| Ok(Val::Bool(!args.iter().any(is_empty)))),
    Func::variadic("any", &[Type::Any], |_, args| Ok(Val::Bool(!args.iter().all(is_empty)))),
    Func::fixed("ternary", &[Type::Any, Type::Any, Type::BOOL], |_, args| {
        Ok(any(args, usize::from(!flag(args, 2)?)).clone())
    }),
    Func::fixed("typeOf", &[Type::Any], |_, args| Ok(Val::from(any(args, 0).type_name()))),
    Func::fixed("typeIs", &[Type::STRING, Type::Any], type_is),
    Func::fixed("typeIsLike", &[Type::STRING, Type::Any], type_is_like),
    Func::fixed("kindOf", &[Type::Any], |_, args| Ok(Val::from(any(args, 0).kind().name()))),
    Func::fixed("kindIs", &[Type::STRING, Type::Any], kind_is),
    Func::fixed("deepEqual", &[Type::Any, Type::Any], |_, args| {
        Ok(Val::Bool(deep_equal(any(args, 0), any(args, 1))?))
    }),
];

/// Tells whether sprig takes the value as empty: Go's falsehood.
pub(super) fn is_empty(value: &Val) -> bool {
    !value.is_true()
}

fn default(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(match args.get(1) {
        Some(given) if !is_empty(given) => given.clone(),
        _ => any(args, 0).clone(),
    })
}

fn type_is(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(Val::Bool(text(args, 0)?.as_bytes() == any(args, 1).type_name().as_bytes()))
}

fn type_is_like(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let (wanted, name) = (text(args, 0)?, any(args, 1).type_name());
    let pointed_to = name.strip_prefix('*').unwrap_or(&name);
    Ok(Val::Bool(wanted.as_bytes() == name.as_bytes() || wanted.as_bytes() == pointed_to.as_bytes()))
}

fn kind_is(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let kind: Kind = any(args, 1).kind();
    Ok(Val::Bool(text(args, 0)?.as_bytes() == kind.name().as_bytes()))
}
