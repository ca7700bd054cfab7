//! Lists: `list`, `first`, `append`, `without`, … Every function returns a new list. Source: sprig `list.go`.

use crate::template::call::{Context, Func, FuncError, FuncResult, any, int};
use crate::template::convert::TooDeep;
use crate::template::equal::deep_equal;
use crate::template::funcs::logic::is_empty;
use crate::template::funcs::numbers::to_int;
use crate::template::types::{Kind, Type};
use crate::template::value::{List, Val};

const ANY: Type = Type::Any;

pub(super) static TABLE: &[Func] = &[
    Func::variadic("list", &[ANY], |_, args| Ok(Val::list(args.to_vec()))),
    Func::variadic("tuple", &[ANY], |_, args| Ok(Val::list(args.to_vec()))),
    Func::fixed("append", &[ANY, ANY], append),
    Func::fixed("mustAppend", &[ANY, ANY], append),
    Func::fixed("push", &[ANY, ANY], append),
    Func::fixed("mustPush", &[ANY, ANY], append),
    Func::fixed("prepend", &[ANY, ANY], prepend),
    Func::fixed("mustPrepend", &[ANY, ANY], prepend),
    Func::fixed("first", &[ANY], first),
    Func::fixed("mustFirst", &[ANY], first),
    Func::fixed("last", &[ANY], last),
    Func::fixed("mustLast", &[ANY], last),
    Func::fixed("rest", &[ANY], rest),
    Func::fixed("mustRest", &[ANY], rest),
    Func::fixed("initial", &[ANY], initial),
    Func::fixed("mustInitial", &[ANY], initial),
    Func::fixed("reverse", &[ANY], reverse),
    Func::fixed("mustReverse", &[ANY], reverse),
    Func::fixed("compact", &[ANY], compact),
    Func::fixed("mustCompact", &[ANY], compact),
    Func::fixed("uniq", &[ANY], uniq),
    Func::fixed("mustUniq", &[ANY], uniq),
    Func::variadic("without", &[ANY, ANY], without),
    Func::variadic("mustWithout", &[ANY, ANY], without),
    Func::fixed("has", &[ANY, ANY], has),
    Func::fixed("mustHas", &[ANY, ANY], has),
    Func::variadic("slice", &[ANY, ANY], slice),
    Func::variadic("mustSlice", &[ANY, ANY], slice),
    Func::variadic("concat", &[ANY], concat),
    Func::fixed("chunk", &[Type::INT, ANY], chunk),
    Func::fixed("mustChunk", &[Type::INT, ANY], chunk),
];

/// What Go answers when a function asks for the type of nil.
const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

/// Returns the list, or the error that begins with `complaint`.
fn items(value: &Val, complaint: &str) -> Result<List, FuncError> {
    match value.kind() {
        Kind::Invalid => Err(FuncError::new(NIL)),
        kind => match value.to_list().filter(|_| kind == Kind::Slice) {
            Some(list) => Ok(list),
            None => Err(FuncError::Message(format!("{complaint} type {}", kind.name()))),
        },
    }
}

fn append(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot push on")?;
    let mut longer = Vec::with_capacity(list.len() + 1);
    longer.extend_from_slice(&list);
    longer.push(any(args, 1).clone());
    Ok(Val::list(longer))
}

fn prepend(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot prepend on")?;
    let mut longer = Vec::with_capacity(list.len() + 1);
    longer.push(any(args, 1).clone());
    longer.extend_from_slice(&list);
    Ok(Val::list(longer))
}

fn first(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(items(any(args, 0), "Cannot find first on")?.first().cloned().unwrap_or_default())
}

fn last(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(items(any(args, 0), "Cannot find last on")?.last().cloned().unwrap_or_default())
}

fn rest(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot find rest on")?;
    Ok(match list.split_first() {
        Some((_, rest)) => Val::list(rest.to_vec()),
        None => Val::List(List::nil(ANY)),
    })
}

fn initial(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot find initial on")?;
    Ok(match list.split_last() {
        Some((_, initial)) => Val::list(initial.to_vec()),
        None => Val::List(List::nil(ANY)),
    })
}

fn reverse(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot find reverse on")?;
    Ok(Val::list(list.iter().rev().cloned().collect()))
}

fn compact(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot compact on")?;
    Ok(Val::list(list.iter().filter(|item| !is_empty(item)).cloned().collect()))
}

fn contains(list: &[Val], wanted: &Val) -> Result<bool, TooDeep> {
    for item in list {
        if deep_equal(wanted, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot find uniq on")?;
    let mut unique = Vec::new();
    for item in list.iter() {
        if !contains(&unique, item)? {
            unique.push(item.clone());
        }
    }
    Ok(Val::list(unique))
}

fn without(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 0), "Cannot find without on")?;
    let omitted = args.get(1..).unwrap_or_default();
    let mut kept = Vec::with_capacity(list.len());
    for item in list.iter() {
        if !contains(omitted, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Val::list(kept))
}

fn has(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    if any(args, 1).is_nil() {
        return Ok(Val::Bool(false));
    }
    let list = items(any(args, 1), "Cannot find has on")?;
    Ok(Val::Bool(contains(&list, any(args, 0))?))
}

fn slice(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list =
        items(any(args, 0), "list should be type of slice or array but").map_err(|error| match error {
            // This one message has no "type" before the kind.
            FuncError::Message(text) => FuncError::Message(text.replace("but type ", "but ")),
            other => other,
        })?;
    if list.is_empty() {
        return Ok(Val::Nil);
    }
    let start = args.get(1).map_or(0, to_int);
    let end = args.get(2).map_or(i64::try_from(list.len()).unwrap_or(i64::MAX), to_int);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match range.and_then(|(start, end)| list.get(start..end)) {
        Some(part) => Ok(Val::List(List::of(list.element(), part.to_vec()))),
        None => Err(FuncError::new("reflect.Value.Slice: slice index out of bounds")),
    }
}

fn concat(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let mut all = Vec::new();
    for list in args {
        let kind = list.kind();
        match list.to_list().filter(|_| kind == Kind::Slice) {
            Some(list) => all.extend_from_slice(&list),
            None if list.is_nil() => return Err(FuncError::new(NIL)),
            None => return Err(FuncError::Message(format!("Cannot concat type {} as list", kind.name()))),
        }
    }
    Ok(Val::List(if all.is_empty() { List::nil(ANY) } else { List::new(all) }))
}

fn chunk(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let list = items(any(args, 1), "Cannot chunk")?;
    let given = int(args, 0)?;
    // sprig counts the chunks before it makes them, so that some senseless sizes give an answer.
    let size = match usize::try_from(given) {
        Ok(size) if size > 0 => size,
        _ if list.len() == 1 && given < -1 => 1,
        _ if given < 0
            && list.len() >= 2
            && list.len().saturating_sub(1) <= usize::try_from(given.unsigned_abs()).unwrap_or(0) =>
        {
            return Ok(Val::List(List::of(Type::ANY_LIST, Vec::new())));
        }
        _ => return Err(FuncError::new("runtime error: makeslice: len out of range")),
    };
    let chunks = list.chunks(size).map(|chunk| Val::list(chunk.to_vec())).collect();
    Ok(Val::List(List::of(Type::ANY_LIST, chunks)))
}
