//! Text functions. Source: sprig `strings.go` and `functions.go`, with goutils and xstrings beneath.

use crate::go::crypto::{random_below, random_text};
use crate::go::strconv::{NumErrorKind, atoi, quote};
use crate::go::{strings, utf8};
use crate::template::call::{Context, Func, FuncError, FuncResult, any, int, text};
use crate::template::convert::TooDeep;
use crate::template::fmt::strval;
use crate::template::text::Str;
use crate::template::types::Type;
use crate::template::value::{Entries, Map, Val};

const ANY: Type = Type::Any;
const INT: Type = Type::INT;
const TEXT: Type = Type::STRING;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("hello", &[], |_, _| Ok(Val::str("Hello!"))),
    Func::fixed("trim", &[TEXT], |_, args| Ok(Val::str(strings::trim_space(text(args, 0)?)))),
    Func::fixed("trimAll", &[TEXT, TEXT], trim_all),
    Func::fixed("trimall", &[TEXT, TEXT], trim_all),
    Func::fixed("trimSuffix", &[TEXT, TEXT], |_, args| {
        let (suffix, whole) = (text(args, 0)?, text(args, 1)?);
        Ok(whole.strip_suffix(suffix.as_bytes()).map_or_else(|| Val::Str(whole.clone()), Val::str))
    }),
    Func::fixed("trimPrefix", &[TEXT, TEXT], |_, args| {
        let (prefix, whole) = (text(args, 0)?, text(args, 1)?);
        Ok(whole.strip_prefix(prefix.as_bytes()).map_or_else(|| Val::Str(whole.clone()), Val::str))
    }),
    Func::fixed("upper", &[TEXT], |_, args| Ok(Val::str(strings::to_upper(text(args, 0)?)))),
    Func::fixed("lower", &[TEXT], |_, args| Ok(Val::str(strings::to_lower(text(args, 0)?)))),
    Func::fixed("title", &[TEXT], |_, args| Ok(Val::str(strings::title(text(args, 0)?)))),
    Func::fixed("untitle", &[TEXT], |_, args| Ok(Val::str(strings::untitle(text(args, 0)?)))),
    Func::fixed("swapcase", &[TEXT], |_, args| Ok(Val::str(strings::swap_case(text(args, 0)?)))),
    Func::fixed("snakecase", &[TEXT], |_, args| Ok(Val::str(strings::snake_case(text(args, 0)?)))),
    Func::fixed("kebabcase", &[TEXT], |_, args| Ok(Val::str(strings::kebab_case(text(args, 0)?)))),
    Func::fixed("camelcase", &[TEXT], |_, args| Ok(Val::str(strings::pascal_case(text(args, 0)?)))),
    Func::fixed("nospace", &[TEXT], |_, args| Ok(Val::str(strings::delete_space(text(args, 0)?)))),
    Func::fixed("initials", &[TEXT], |_, args| Ok(Val::str(strings::initials(text(args, 0)?)))),
    Func::fixed("trunc", &[INT, TEXT], |_, args| Ok(Val::str(strings::trunc(int(args, 0)?, text(args, 1)?)))),
    Func::fixed("abbrev", &[INT, TEXT], |_, args| {
        Ok(Val::str(strings::abbreviate(int(args, 0)?, text(args, 1)?)))
    }),
    Func::fixed("abbrevboth", &[INT, INT, TEXT], |_, args| {
        Ok(Val::str(strings::abbreviate_both(int(args, 0)?, int(args, 1)?, text(args, 2)?)))
    }),
    Func::fixed("substr", &[INT, INT, TEXT], |_, args| {
        let part = strings::substring(int(args, 0)?, int(args, 1)?, text(args, 2)?);
        part.map(Val::str).map_err(FuncError::new)
    }),
    Func::fixed("repeat", &[INT, TEXT], |context, args| {
        Ok(Val::str(repeated(context, text(args, 1)?, int(args, 0)?)?))
    }),
    Func::fixed("wrap", &[INT, TEXT], |context, args| wrap(context, args, b"\n", false)),
    Func::fixed("wrapWith", &[INT, TEXT, TEXT], |context, args| {
        let line_break = text(args, 1)?.clone();
        let args = [any(args, 0).clone(), any(args, 2).clone()];
        wrap(context, &args, &line_break, true)
    }),
    Func::fixed("contains", &[TEXT, TEXT], |_, args| {
        Ok(Val::Bool(strings::index(text(args, 1)?, text(args, 0)?).is_some()))
    }),
    Func::fixed("hasPrefix", &[TEXT, TEXT], |_, args| {
        Ok(Val::Bool(text(args, 1)?.starts_with(text(args, 0)?)))
    }),
    Func::fixed("hasSuffix", &[TEXT, TEXT], |_, args| {
        Ok(Val::Bool(text(args, 1)?.ends_with(text(args, 0)?)))
    }),
    Func::variadic("quote", &[ANY], |_, args| joined(args, |value| Ok(quote(&strval(value)?).into_bytes()))),
    Func::variadic("squote", &[ANY], |_, args| {
        joined(args, |value| Ok([b"'", shown(value)?.as_bytes(), b"'"].concat()))
    }),
    Func::variadic("cat", &[ANY], |_, args| joined(args, |value| Ok(shown(value)?.to_vec()))),
    Func::fixed("indent", &[INT, TEXT], |context, args| {
        Ok(Val::str(indented(context, int(args, 0)?, text(args, 1)?, b"")?))
    }),
    Func::fixed("nindent", &[INT, TEXT], |context, args| {
        Ok(Val::str(indented(context, int(args, 0)?, text(args, 1)?, b"\n")?))
    }),
    Func::fixed("replace", &[TEXT, TEXT, TEXT], |context, args| {
        let (old, new, whole) = (text(args, 0)?, text(args, 1)?, text(args, 2)?);
        context.charge(strings::count(whole, old).saturating_mul(new.len()))?;
        Ok(Val::str(strings::replace(whole, old, new)))
    }),
    Func::fixed("plural", &[TEXT, TEXT, INT], |_, args| {
        Ok(any(args, usize::from(int(args, 2)? != 1)).clone())
    }),
    Func::fixed("toString", &[ANY], |_, args| Ok(Val::Str(strval(any(args, 0))?))),
    Func::fixed("toStrings", &[ANY], |_, args| Ok(Val::strings(string_list(any(args, 0))?))),
    Func::fixed("join", &[TEXT, ANY], |context, args| {
        let (separator, parts) = (text(args, 0)?, string_list(any(args, 1))?);
        context.charge(parts.len().saturating_mul(separator.len()))?;
        Ok(Val::str(parts.join(separator.as_bytes())))
    }),
    Func::fixed("sortAlpha", &[ANY], sort_alpha),
    Func::fixed("split", &[TEXT, TEXT], |_, args| numbered(&strings::split(text(args, 1)?, text(args, 0)?))),
    Func::fixed("splitn", &[TEXT, INT, TEXT], |_, args| {
        numbered(&strings::split_n(text(args, 2)?, text(args, 0)?, int(args, 1)?))
    }),
    Func::fixed("splitList", &[TEXT, TEXT], |_, args| {
        Ok(Val::strings(strings::split(text(args, 1)?, text(args, 0)?)))
    }),
    Func::fixed("atoi", &[TEXT], |_, args| Ok(Val::Int(clamped(text(args, 0)?)))),
    Func::fixed("shuffle", &[TEXT], shuffle),
    Func::fixed("randAlphaNum", &[INT], |context, args| random(context, args, &[b"09", b"AZ", b"az"])),
    Func::fixed("randAlpha", &[INT], |context, args| random(context, args, &[b"AZ", b"az"])),
    Func::fixed("randNumeric", &[INT], |context, args| random(context, args, &[b"09"])),
    Func::fixed("randAscii", &[INT], |context, args| random(context, args, &[b" ~"])),
];

fn trim_all(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    Ok(Val::str(strings::trim(text(args, 1)?, text(args, 0)?)))
}

/// Reads an integer as `strconv.Atoi` does when its error is ignored: 0 for what is none, the nearest one for
/// what is too large.
pub(super) fn clamped(text: &[u8]) -> i64 {
    let Ok(text) = std::str::from_utf8(text) else { return 0 };
    atoi(text).unwrap_or_else(|error| match error.kind {
        NumErrorKind::Syntax => 0,
        NumErrorKind::Range if text.starts_with('-') => i64::MIN,
        NumErrorKind::Range => i64::MAX,
    })
}

fn repeated(context: &mut Context<'_>, text: &[u8], count: i64) -> Result<Vec<u8>, FuncError> {
    let count = usize::try_from(count).map_err(|_| FuncError::new("strings: negative Repeat count"))?;
    context.charge(text.len().saturating_mul(count))?;
    Ok(text.repeat(count))
}

/// `%v` of a value, also of bytes.
fn shown(value: &Val) -> Result<Str, TooDeep> {
    let mut out = Vec::new();
    crate::template::fmt::print_value(&mut out, value)?;
    Ok(Str::from(out))
}

/// Joins what is made of each value that is not nil by one blank.
fn joined(args: &[Val], part: impl Fn(&Val) -> Result<Vec<u8>, TooDeep>) -> FuncResult {
    let parts = args.iter().filter(|value| !value.is_nil()).map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Val::str(parts.join(&b' ')))
}

/// The text with blanks in front of every line, also of empty ones.
fn indented(
    context: &mut Context<'_>,
    spaces: i64,
    text: &[u8],
    before: &[u8],
) -> Result<Vec<u8>, FuncError> {
    let lines = strings::count(text, b"\n") + 1;
    context.charge(lines.saturating_mul(usize::try_from(spaces).unwrap_or(0)).saturating_add(text.len()))?;
    let padding = repeated(context, b" ", spaces)?;
    let with_break = [b"\n", padding.as_slice()].concat();
    Ok([before, &padding, &strings::replace(text, b"\n", &with_break)].concat())
}

fn wrap(context: &mut Context<'_>, args: &[Val], line_break: &[u8], break_words: bool) -> FuncResult {
    let (width, text) = (int(args, 0)?, text(args, 1)?);
    let lines = text.len() / usize::try_from(width.max(1)).unwrap_or(usize::MAX) + 1;
    context.charge(lines.saturating_mul(line_break.len()).saturating_add(text.len()))?;
    Ok(Val::str(strings::wrap(text, width, line_break, break_words)))
}

/// The elements of a list as texts, without nil ones; any other value is a list of itself (sprig `strslice`).
pub(super) fn string_list(value: &Val) -> Result<Vec<Str>, TooDeep> {
    match value.to_list() {
        Some(list) => list.iter().filter(|item| !item.is_nil()).map(strval).collect(),
        None if value.is_nil() => Ok(Vec::new()),
        None => Ok(vec![strval(value)?]),
    }
}

fn sort_alpha(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let value = any(args, 0);
    if value.to_list().is_none() {
        return Ok(Val::strings([strval(value)?]));
    }
    let mut items = string_list(value)?;
    items.sort();
    Ok(Val::strings(items))
}

/// A map with the keys `_0`, `_1`, …
fn numbered(parts: &[&[u8]]) -> FuncResult {
    let entries: Entries = parts
        .iter()
        .enumerate()
        .map(|(index, part)| (Str::from(format!("_{index}")), Val::str(*part)))
        .collect();
    Ok(Val::Map(Map::of(Type::STRING, entries)))
}

fn shuffle(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let mut runes: Vec<char> = utf8::runes(text(args, 0)?).map(|(_, rune, _)| rune).collect();
    for last in (1..runes.len()).rev() {
        let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
        let other = random_below(bound, &mut |buffer: &mut [u8]| context.host.fill_random(buffer));
        runes.swap(last, usize::try_from(other).unwrap_or(last));
    }
    Ok(Val::from(runes.into_iter().collect::<String>()))
}

/// A random text over ranges of characters, each given by its ends.
fn random(context: &mut Context<'_>, args: &[Val], ranges: &[&[u8; 2]]) -> FuncResult {
    // A negative count is an error there, which sprig swallows.
    let count = usize::try_from(int(args, 0)?).unwrap_or(0);
    context.charge(count)?;
    let alphabet: Vec<u8> = ranges.iter().flat_map(|&&[first, last]| first..=last).collect();
    Ok(Val::str(random_text(&alphabet, count, &mut |buffer: &mut [u8]| context.host.fill_random(buffer))))
}
