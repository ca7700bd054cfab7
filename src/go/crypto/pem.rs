//! PEM blocks as Go's `encoding/pem` reads and writes them, and the little DER that keys need.

use crate::go::{encoding, strings};

/// A block without its headers.
#[derive(Debug)]
pub(super) struct Block {
    /// What stands behind `BEGIN`.
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Writes a block, 64 characters a line.
pub(super) fn encode(kind: &str, bytes: &[u8]) -> String {
    let body = encoding::base64_encode(bytes);
    let lines = body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok());
    let body: String = lines.flat_map(|line| [line, "\n"]).collect();
    format!("-----BEGIN {kind}-----\n{body}-----END {kind}-----\n")
}

/// Returns the first well-formed block of a text.
pub(super) fn decode(text: &[u8]) -> Option<Block> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        // The first end line, and the last beginning before it.
        let end = strings::index(rest, END)?;
        let begin = rest.get(..end)?.windows(BEGIN.len()).rposition(|window| window == BEGIN);
        from += end + END.len();
        let Some(begin) = begin else { continue };
        if (begin > 0 && rest.get(begin - 1) != Some(&b'\n')) || rest.get(end - 1) != Some(&b'\n') {
            continue;
        }
        if let Some(block) =
            rest.get(begin + BEGIN.len()..end).and_then(|inner| block(inner, rest.get(end + END.len()..)?))
        {
            return Some(block);
        }
    }
}

/// Reads the inside of a block: the rest of its first line, headers, base64; and checks the end line.
fn block(inner: &[u8], trailer: &[u8]) -> Option<Block> {
    let (first, mut body) = line(inner);
    let kind = first.strip_suffix(DASHES)?;
    loop {
        let (header, rest) = line(body);
        if !header.contains(&b':') {
            break;
        }
        body = rest;
    }
    let (last, _) = line(trailer);
    if last.strip_suffix(DASHES)? != kind {
        return None;
    }
    let data: Vec<u8> = body.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    let bytes = encoding::base64_decode(&data).ok()?;
    Some(Block { kind: String::from_utf8_lossy(kind).into_owned(), bytes })
}

/// The first line without blanks at its end, and what follows.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| byte == b'\n');
    let (line, rest) = match end {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &b""[..]),
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let length = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    (&line[..length], rest)
}

/// Writes a DER element.
pub(super) fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant: Vec<u8> = bytes.iter().copied().skip_while(|&byte| byte == 0).collect();
            out.push(0x80 | u8::try_from(significant.len()).unwrap_or(0));
            out.extend(significant);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Writes a DER sequence.
pub(super) fn der_sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    der(0x30, &parts.concat())
}

/// Writes a positive DER integer from its big-endian bytes.
pub(super) fn der_integer(bytes: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = bytes.iter().copied().skip_while(|&byte| byte == 0).collect();
    // A set first bit would read as a sign.
    let zero = digits.first().is_none_or(|&byte| byte >= 0x80);
    der(0x02, &[if zero { &[0][..] } else { &[] }, &digits].concat())
}

/// Reads one DER element: its tag, its content, and what follows.
pub(crate) fn read_der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7F);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
        (digits.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
