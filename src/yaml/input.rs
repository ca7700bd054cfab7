//! From bytes to characters: byte order marks, UTF-16, and characters that YAML forbids.
//!
//! go-yaml decodes its input in blocks, so a fault of the grammar in an earlier block is reported before a
//! forbidden character in a later one. The text is therefore cut at the start of the block that holds the
//! first forbidden character, and the fault is kept for the case that reading gets that far.

use std::borrow::Cow;

use super::error::{Mark, YamlError};

/// The size of the blocks in which go-yaml decodes its input.
const BLOCK: usize = 512;

/// A text that holds allowed characters only, up to its first fault.
pub(super) struct Input<'a> {
    pub(super) text: Cow<'a, str>,
    /// How many bytes of the file come before the text.
    pub(super) skipped: usize,
    fault: Option<YamlError>,
}

impl<'a> Input<'a> {
    /// Decodes `bytes` as far as they can be read.
    ///
    /// # Errors
    /// Only a text too long for the position counters (4 GiB) is refused as a whole.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, YamlError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(YamlError::plain(Mark::default(), "the text is too large"));
        }
        Ok(match bytes {
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest, 3),
            _ => utf8(bytes, 0),
        })
    }

    /// Returns the fault that hides behind the end of the text, unless `error` was found well before it.
    pub(super) fn settle<T>(&self, result: Result<T, YamlError>, reached_end: bool) -> Result<T, YamlError> {
        match &self.fault {
            Some(fault) if reached_end => Err(fault.clone()),
            _ => result,
        }
    }
}

fn utf8(bytes: &[u8], skipped: usize) -> Input<'_> {
    let (text, broken) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            (std::str::from_utf8(valid).unwrap_or_default(), Some(utf8_problem(rest)))
        }
    };
    let (at, problem) = match first_forbidden(text) {
        Some(at) => (at, "control characters are not allowed"),
        None => match broken {
            Some(problem) => (text.len(), problem),
            None => return Input { text: Cow::Borrowed(text), skipped, fault: None },
        },
    };
    let fault = YamlError::plain(mark_at(text, at), problem);
    // Whether a sequence is incomplete shows at the end of the stream only.
    let complete = problem != "incomplete UTF-8 octet sequence";
    let cut = if complete { block_start(text, at, skipped) } else { at };
    Input { text: Cow::Borrowed(&text[..cut]), skipped, fault: Some(fault) }
}

/// Where the block that holds the byte `at` starts: a character that a block cuts in two goes into the next.
fn block_start(text: &str, at: usize, skipped: usize) -> usize {
    let mut start = 0;
    let mut end = BLOCK - skipped;
    loop {
        let mut next = end.min(text.len());
        while !text.is_char_boundary(next) {
            next -= 1;
        }
        if next > at || next >= text.len() || next == start {
            return start;
        }
        start = next;
        end = start + BLOCK;
    }
}

/// Source: go-yaml `readerc.go`; `rest` starts at the broken sequence.
fn utf8_problem(rest: &[u8]) -> &'static str {
    let width = match rest.first() {
        Some(0x00..=0x7f) => 1,
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let Some(sequence) = rest.get(..width) else { return "incomplete UTF-8 octet sequence" };
    if sequence[1..].iter().any(|octet| octet & 0xc0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let value = sequence[1..].iter().fold(u32::from(sequence[0]) & (0x7f >> width), |value, octet| {
        (value << 6) | u32::from(octet & 0x3f)
    });
    match (width, value) {
        (2, 0..0x80) | (3, 0..0x800) | (4, 0..0x10000) => "invalid length of a UTF-8 sequence",
        _ => "invalid Unicode character",
    }
}

/// The offset of the first character outside of YAML's printable set.
fn first_forbidden(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let suspicious = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') || byte >= 0x7f;
    // One pass without branches: nearly every file is plain ASCII.
    if !bytes.iter().fold(false, |seen, &byte| seen | suspicious(byte)) {
        return None;
    }
    text.char_indices().find(|&(_, c)| !allowed(c)).map(|(at, _)| at)
}

/// Whether YAML allows the character unescaped in a text.
pub(super) fn allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        || c >= '\u{10000}'
}

fn mark_at(text: &str, offset: usize) -> Mark {
    let before = &text[..offset];
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count());
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Mark { offset: narrow(offset), line: narrow(line), column: narrow(column) }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Input<'static> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut problem = None;
    for decoded in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        match decoded {
            Ok(c) if allowed(c) => text.push(c),
            Ok(_) => problem = Some("control characters are not allowed"),
            Err(error) if error.unpaired_surrogate() >= 0xdc00 => {
                problem = Some("unexpected low surrogate area");
            }
            Err(_) => problem = Some("expected low surrogate area"),
        }
        if problem.is_some() {
            break;
        }
    }
    if problem.is_none() && !rest.is_empty() {
        problem = Some("incomplete UTF-16 character");
    }
    let fault = problem.map(|problem| YamlError::plain(mark_at(&text, text.len()), problem));
    Input { text: Cow::Owned(text), skipped: 2, fault }
}
