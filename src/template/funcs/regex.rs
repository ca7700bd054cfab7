//! Regular expressions in Go's syntax. Source: sprig `regex.go`.

use std::rc::Rc;

use crate::go::regexp::{self, Regexp, must_compile_message};
use crate::template::call::{Context, Func, FuncError, FuncResult, int, text};
use crate::template::types::Type;
use crate::template::value::{List, Val};

const INT: Type = Type::INT;
const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    // The one function that takes a bad pattern for "no match".
    Func::fixed("regexMatch", &[TEXT, TEXT], |_, args| {
        let matcher = regexp::compile(text(args, 0)?);
        let text = text(args, 1)?;
        Ok(Val::Bool(matcher.is_ok_and(|matcher| matcher.is_match(text))))
    }),
    Func::fixed("mustRegexMatch", &[TEXT, TEXT], |_, args| {
        Ok(Val::Bool(checked(args)?.is_match(text(args, 1)?)))
    }),
    Func::fixed("regexFind", &[TEXT, TEXT], |_, args| find(&*pattern(args)?, args)),
    Func::fixed("mustRegexFind", &[TEXT, TEXT], |_, args| find(&*checked(args)?, args)),
    Func::fixed("regexFindAll", &[TEXT, TEXT, INT], |_, args| find_all(&*pattern(args)?, args)),
    Func::fixed("mustRegexFindAll", &[TEXT, TEXT, INT], |_, args| find_all(&*checked(args)?, args)),
    Func::fixed("regexReplaceAll", &[TEXT, TEXT, TEXT], |context, args| {
        replace(context, &*pattern(args)?, args, Regexp::replace_all)
    }),
    Func::fixed("mustRegexReplaceAll", &[TEXT, TEXT, TEXT], |context, args| {
        replace(context, &*checked(args)?, args, Regexp::replace_all)
    }),
    Func::fixed("regexReplaceAllLiteral", &[TEXT, TEXT, TEXT], |context, args| {
        replace(context, &*pattern(args)?, args, Regexp::replace_all_literal)
    }),
    Func::fixed("mustRegexReplaceAllLiteral", &[TEXT, TEXT, TEXT], |context, args| {
        replace(context, &*checked(args)?, args, Regexp::replace_all_literal)
    }),
    Func::fixed("regexSplit", &[TEXT, TEXT, INT], |_, args| split(&*pattern(args)?, args)),
    Func::fixed("mustRegexSplit", &[TEXT, TEXT, INT], |_, args| split(&*checked(args)?, args)),
    Func::fixed("regexQuoteMeta", &[TEXT], |_, args| Ok(Val::str(regexp::quote_meta(text(args, 0)?)))),
];

/// The pattern in the first argument, for functions that panic on a bad one.
fn pattern(args: &[Val]) -> Result<Rc<Regexp>, FuncError> {
    let pattern = text(args, 0)?;
    regexp::compile(pattern).map_err(|error| FuncError::new(must_compile_message(pattern, &error)))
}

/// The pattern in the first argument, for functions that return the error.
fn checked(args: &[Val]) -> Result<Rc<Regexp>, FuncError> {
    regexp::compile(text(args, 0)?).map_err(|error| FuncError::new(error.to_string()))
}

fn find(pattern: &Regexp, args: &[Val]) -> FuncResult {
    Ok(Val::str(pattern.find(text(args, 1)?).unwrap_or_default()))
}

fn find_all(pattern: &Regexp, args: &[Val]) -> FuncResult {
    let found = pattern.find_all(text(args, 1)?, int(args, 2)?);
    // Nothing found is a nil slice in Go.
    Ok(if found.is_empty() { Val::List(List::nil(Type::STRING)) } else { Val::strings(found) })
}

fn replace(
    context: &mut Context<'_>,
    pattern: &Regexp,
    args: &[Val],
    operation: fn(&Regexp, &[u8], &[u8]) -> Vec<u8>,
) -> FuncResult {
    let (text, replacement) = (text(args, 1)?, text(args, 2)?);
    // At most one replacement for each character and the end; a reference may stand for the whole text.
    let references = replacement.iter().filter(|byte| **byte == b'$').count();
    let each = replacement.len().saturating_add(references.saturating_mul(text.len()));
    if each > 0 && text.len().saturating_mul(each) > 1 << 16 {
        let matches = pattern.find_all(text, -1).len();
        context.charge(matches.saturating_mul(replacement.len()).saturating_add(text.len()))?;
        context.charge(references.saturating_mul(text.len()))?;
    }
    Ok(Val::str(operation(pattern, text, replacement)))
}

fn split(pattern: &Regexp, args: &[Val]) -> FuncResult {
    let limit = int(args, 2)?;
    if limit == 0 {
        return Ok(Val::List(List::nil(Type::STRING)));
    }
    Ok(Val::strings(pattern.split(text(args, 1)?, limit)))
}
