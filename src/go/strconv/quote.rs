//! Go string and rune literals: writing them (`%q`) and reading them (template sources).

use crate::go::{unicode, utf8};

/// The text is not a Go literal (`strconv.ErrSyntax`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid syntax")]
pub struct SyntaxError;

/// Returns `bytes` as a double-quoted Go literal (`strconv.Quote`): what is not printable is escaped.
pub fn quote(bytes: &[u8]) -> String {
    quote_with(bytes, false)
}

/// Returns `bytes` as a double-quoted Go literal in ASCII only (`strconv.QuoteToASCII`, `%+q`).
pub fn quote_to_ascii(bytes: &[u8]) -> String {
    quote_with(bytes, true)
}

/// Returns a single-quoted Go literal for a code point (`strconv.QuoteRune`, `%q` of an integer).
///
/// What is not a character, surrogates included, comes out as U+FFFD.
pub fn quote_rune(code_point: u32) -> String {
    quote_rune_with(code_point, false)
}

/// As [`quote_rune`], in ASCII only (`strconv.QuoteRuneToASCII`).
pub fn quote_rune_to_ascii(code_point: u32) -> String {
    quote_rune_with(code_point, true)
}

/// Tells whether `bytes` can stand unchanged between back-quotes (`strconv.CanBackquote`, `%#q`).
pub fn can_backquote(bytes: &[u8]) -> bool {
    utf8::runes(bytes).all(|(_, rune, width)| match rune {
        '\u{FEFF}' | '`' | '\x7F' => false,
        utf8::RUNE_ERROR if width == 1 => false,
        '\t' => true,
        rune => rune >= ' ',
    })
}

fn quote_with(bytes: &[u8], ascii: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for (offset, rune, width) in utf8::runes(bytes) {
        if width == 1 && rune == utf8::RUNE_ERROR {
            push_hex(&mut out, 'x', 2, bytes.get(offset).copied().unwrap_or_default().into());
        } else {
            push_escaped(&mut out, rune, '"', ascii);
        }
    }
    out.push('"');
    out
}

fn quote_rune_with(code_point: u32, ascii: bool) -> String {
    let rune = char::from_u32(code_point).unwrap_or(utf8::RUNE_ERROR);
    let mut out = String::from("'");
    push_escaped(&mut out, rune, '\'', ascii);
    out.push('\'');
    out
}

fn push_escaped(out: &mut String, rune: char, delimiter: char, ascii: bool) {
    if rune == delimiter || rune == '\\' {
        out.extend(['\\', rune]);
        return;
    }
    // Nearly every character is plain ASCII, which needs no look at the tables.
    if (' '..='~').contains(&rune) || (!ascii && unicode::is_print(rune)) {
        out.push(rune);
        return;
    }
    let short = match rune {
        '\x07' => r"\a",
        '\x08' => r"\b",
        '\x0C' => r"\f",
        '\n' => r"\n",
        '\r' => r"\r",
        '\t' => r"\t",
        '\x0B' => r"\v",
        _ => {
            let code = u32::from(rune);
            match code {
                0..0x20 | 0x7F => push_hex(out, 'x', 2, code),
                0..0x10000 => push_hex(out, 'u', 4, code),
                _ => push_hex(out, 'U', 8, code),
            }
            return;
        }
    };
    out.push_str(short);
}

fn push_hex(out: &mut String, kind: char, width: u32, code: u32) {
    out.extend(['\\', kind]);
    out.extend((0..width).rev().filter_map(|place| char::from_digit(code >> (4 * place) & 15, 16)));
}

/// Reads a whole Go literal in double quotes, single quotes (at most one character, as Go takes `''`) or
/// back-quotes (`strconv.Unquote`). Escapes such as `\xff` may give bytes that are not UTF-8.
///
/// # Errors
/// The text is not one literal.
pub fn unquote(literal: &[u8]) -> Result<Vec<u8>, SyntaxError> {
    let (&delimiter, rest) = literal.split_first().ok_or(SyntaxError)?;
    let (&last, body) = rest.split_last().ok_or(SyntaxError)?;
    if last != delimiter {
        return Err(SyntaxError);
    }
    match delimiter {
        b'`' if body.contains(&b'`') => Err(SyntaxError),
        b'`' => Ok(body.iter().copied().filter(|&byte| byte != b'\r').collect()),
        b'"' | b'\'' => unquote_body(body, delimiter),
        _ => Err(SyntaxError),
    }
}

fn unquote_body(mut body: &[u8], delimiter: u8) -> Result<Vec<u8>, SyntaxError> {
    let mut out = Vec::with_capacity(body.len());
    let mut count = 0_usize;
    while !body.is_empty() {
        if body.first() == Some(&b'\n') {
            return Err(SyntaxError);
        }
        let (value, rest) = unquote_char(body, delimiter)?;
        match value {
            Unquoted::Byte(byte) => out.push(byte),
            Unquoted::Rune(rune) => utf8::append_rune(&mut out, rune),
        }
        body = rest;
        count += 1;
    }
    if delimiter == b'\'' && count > 1 { Err(SyntaxError) } else { Ok(out) }
}

/// One unit read from the inside of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    /// A raw byte, from `\xHH` or an octal escape.
    Byte(u8),
    /// A character.
    Rune(char),
}

impl Unquoted {
    /// The value as a code point, as Go's `rune` result of `UnquoteChar`.
    pub fn code(self) -> u32 {
        match self {
            Unquoted::Byte(byte) => u32::from(byte),
            Unquoted::Rune(rune) => u32::from(rune),
        }
    }
}

/// Reads the first character or escape of the inside of a literal (`strconv.UnquoteChar`) and returns it
/// with what follows. `delimiter` is the quote in use: it may not stand unescaped, and the other one may
/// not be escaped.
///
/// # Errors
/// There is no valid character or escape.
pub fn unquote_char(body: &[u8], delimiter: u8) -> Result<(Unquoted, &[u8]), SyntaxError> {
    let (&first, rest) = body.split_first().ok_or(SyntaxError)?;
    if first == delimiter && (delimiter == b'"' || delimiter == b'\'') {
        return Err(SyntaxError);
    }
    if first >= 0x80 {
        let (rune, width) = utf8::decode_rune(body);
        return Ok((Unquoted::Rune(rune), body.get(width..).unwrap_or_default()));
    }
    if first != b'\\' {
        return Ok((Unquoted::Rune(char::from(first)), rest));
    }
    let (&escape, rest) = rest.split_first().ok_or(SyntaxError)?;
    let simple = |rune| Ok((Unquoted::Rune(rune), rest));
    match escape {
        b'a' => simple('\x07'),
        b'b' => simple('\x08'),
        b'f' => simple('\x0C'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'v' => simple('\x0B'),
        b'\\' => simple('\\'),
        b'\'' | b'"' if escape == delimiter => simple(char::from(escape)),
        b'x' => {
            let (code, rest) = digits(rest, 2, 16)?;
            Ok((Unquoted::Byte(u8::try_from(code).map_err(|_| SyntaxError)?), rest))
        }
        b'u' | b'U' => {
            let (code, rest) = digits(rest, if escape == b'u' { 4 } else { 8 }, 16)?;
            Ok((Unquoted::Rune(char::from_u32(code).ok_or(SyntaxError)?), rest))
        }
        b'0'..=b'7' => {
            let (code, rest) = digits(body.get(1..).unwrap_or_default(), 3, 8)?;
            Ok((Unquoted::Byte(u8::try_from(code).map_err(|_| SyntaxError)?), rest))
        }
        _ => Err(SyntaxError),
    }
}

fn digits(text: &[u8], count: usize, radix: u32) -> Result<(u32, &[u8]), SyntaxError> {
    let (head, rest) = text.split_at_checked(count).ok_or(SyntaxError)?;
    let code = head.iter().try_fold(0_u32, |code, &byte| {
        let digit = char::from(byte).to_digit(radix).ok_or(SyntaxError)?;
        code.checked_mul(radix).and_then(|code| code.checked_add(digit)).ok_or(SyntaxError)
    })?;
    Ok((code, rest))
}
