//! Go's `regexp`: its own syntax, its error texts, and its ways of walking over matches.
//!
//! Patterns are parsed by Go's rules ([`parse`]) and run by `regex-automata`, which guarantees the same
//! leftmost-first answers in linear time. A byte that is not valid UTF-8 is matched as U+FFFD, as in Go.

mod class;
mod parse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use regex_automata::Input;
use regex_automata::meta;
use regex_automata::util::captures::Captures;

pub use parse::{ErrorCode, SyntaxError};

use crate::go::{strconv, unicode, utf8};

/// Compiled size above which a pattern is refused. Go allows 128 MiB of its own instructions.
const SIZE_LIMIT: usize = 64 << 20;
/// How many compiled patterns are kept.
const CACHED: usize = 256;

/// A compiled pattern.
#[derive(Debug)]
pub struct Regexp {
    matcher: meta::Regex,
    /// The name of each capture group, the whole match first.
    names: Vec<Option<String>>,
    empty_pattern: bool,
}

thread_local! {
    // Templates use the same few patterns over and over, in loops.
    static CACHE: RefCell<HashMap<Vec<u8>, Rc<Regexp>>> = RefCell::new(HashMap::new());
}

/// Compiles a pattern, or takes it from the ones compiled before (`regexp.Compile`).
///
/// # Errors
/// The pattern is not valid in Go, or too large.
pub fn compile(pattern: &[u8]) -> Result<Rc<Regexp>, SyntaxError> {
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(pattern).cloned()) {
        return Ok(known);
    }
    let compiled = Rc::new(Regexp::new(pattern)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHED {
            cache.clear();
        }
        cache.insert(pattern.to_owned(), Rc::clone(&compiled));
    });
    Ok(compiled)
}

/// Returns the message with which `regexp.MustCompile` panics on this pattern.
pub fn must_compile_message(pattern: &[u8], error: &SyntaxError) -> String {
    let quoted = if strconv::can_backquote(pattern) {
        format!("`{}`", utf8::to_valid(pattern))
    } else {
        strconv::quote(pattern)
    };
    format!("regexp: Compile({quoted}): {error}")
}

/// Escapes what has a meaning in patterns (`regexp.QuoteMeta`).
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

/// A text made fit for matching: valid UTF-8, with the way back to the original offsets.
struct Haystack<'t> {
    original: &'t [u8],
    text: Cow<'t, [u8]>,
    /// Original offset of each offset in `text`; nothing where they are the same.
    offsets: Option<Vec<usize>>,
}

impl<'t> Haystack<'t> {
    fn new(original: &'t [u8]) -> Self {
        if std::str::from_utf8(original).is_ok() {
            return Haystack { original, text: Cow::Borrowed(original), offsets: None };
        }
        let (mut text, mut offsets) = (Vec::new(), Vec::new());
        for (offset, rune, _) in utf8::runes(original) {
            utf8::append_rune(&mut text, rune);
            offsets.resize(text.len(), offset);
        }
        offsets.push(original.len());
        Haystack { original, text: Cow::Owned(text), offsets: Some(offsets) }
    }

    /// The original bytes of a span of `text`.
    fn slice(&self, span: Range<usize>) -> &'t [u8] {
        self.original
            .get(self.original_offset(span.start)..self.original_offset(span.end))
            .unwrap_or_default()
    }

    fn original_offset(&self, offset: usize) -> usize {
        match &self.offsets {
            None => offset,
            Some(offsets) => offsets.get(offset).copied().unwrap_or(self.original.len()),
        }
    }

    /// Length of the character at `offset`, 0 at the end.
    fn width(&self, offset: usize) -> usize {
        utf8::decode_rune(self.text.get(offset..).unwrap_or_default()).1
    }
}

impl Regexp {
    fn new(pattern: &[u8]) -> Result<Regexp, SyntaxError> {
        let parsed = parse::parse(pattern)?;
        let config = meta::Config::new().nfa_size_limit(Some(SIZE_LIMIT));
        let matcher = meta::Builder::new()
            .configure(config)
            .build_from_hir(&parsed.hir)
            .map_err(|_| SyntaxError::new(ErrorCode::Large, &utf8::to_valid(pattern)))?;
        Ok(Regexp { matcher, names: parsed.names, empty_pattern: pattern.is_empty() })
    }

    /// Tells whether the text holds a match (`MatchString`).
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.matcher.is_match(Input::new(&*Haystack::new(text).text).earliest(true))
    }

    /// Returns the text of the leftmost match (`FindString`, which gives the empty text for none).
    pub fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let haystack = Haystack::new(text);
        let found = self.matcher.find(&*haystack.text)?;
        Some(haystack.slice(found.range()))
    }

    /// Returns the texts of the matches, at most `limit` if it is not negative (`FindAllString`).
    pub fn find_all<'t>(&self, text: &'t [u8], limit: i64) -> Vec<&'t [u8]> {
        let haystack = Haystack::new(text);
        self.spans(&haystack, limit).into_iter().map(|span| haystack.slice(span)).collect()
    }

    /// The matches as `FindAll` gives them: no empty match directly behind another match.
    fn spans(&self, haystack: &Haystack<'_>, limit: i64) -> Vec<Range<usize>> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut spans = Vec::new();
        let (mut position, mut previous_end) = (0, None);
        while spans.len() < limit && position <= haystack.text.len() {
            let input = Input::new(&*haystack.text).range(position..);
            let Some(found) = self.matcher.find(input) else { break };
            let span = found.range();
            let mut accepted = true;
            if span.end == position {
                accepted = previous_end != Some(span.start);
                position += haystack.width(position).max(1);
            } else {
                position = span.end;
            }
            previous_end = Some(span.end);
            if accepted {
                spans.push(span);
            }
        }
        spans
    }

    /// Replaces every match; `$1`, `${name}` and `$$` in the template are expanded (`ReplaceAllString`).
    pub fn replace_all(&self, text: &[u8], template: &[u8]) -> Vec<u8> {
        if !template.contains(&b'$') {
            return self.replace_all_literal(text, template);
        }
        self.replace_with(text, |haystack, captures, out| self.expand(haystack, captures, template, out))
    }

    /// Replaces every match by exactly this text (`ReplaceAllLiteralString`).
    pub fn replace_all_literal(&self, text: &[u8], replacement: &[u8]) -> Vec<u8> {
        self.replace_with(text, |_, _, out| out.extend_from_slice(replacement))
    }

    fn replace_with(
        &self,
        text: &[u8],
        replacement: impl Fn(&Haystack<'_>, &Captures, &mut Vec<u8>),
    ) -> Vec<u8> {
        let haystack = Haystack::new(text);
        let mut captures = self.matcher.create_captures();
        let mut out = Vec::with_capacity(text.len());
        let (mut last_end, mut position) = (0, 0);
        while position <= haystack.text.len() {
            self.matcher.captures(Input::new(&*haystack.text).range(position..), &mut captures);
            let Some(found) = captures.get_match() else { break };
            out.extend_from_slice(haystack.slice(last_end..found.start()));
            // An empty match directly behind another match is left alone.
            if found.end() > last_end || found.start() == 0 {
                replacement(&haystack, &captures, &mut out);
            }
            last_end = found.end();
            // Always go on by at least one character.
            position = found.end().max(position + haystack.width(position).max(1));
        }
        out.extend_from_slice(haystack.slice(last_end..haystack.text.len()));
        out
    }

    /// Writes the template with its references filled in (`Regexp.Expand`).
    fn expand(&self, haystack: &Haystack<'_>, captures: &Captures, template: &[u8], out: &mut Vec<u8>) {
        let mut rest = template;
        while let Some(dollar) = rest.iter().position(|&byte| byte == b'$') {
            out.extend_from_slice(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix(b"$") {
                out.push(b'$');
                rest = after;
                continue;
            }
            let Some((name, after)) = reference(rest) else {
                // Not a reference: the dollar stands for itself.
                out.push(b'$');
                continue;
            };
            rest = after;
            let group = match number(name) {
                Some(number) => captures.get_group(number),
                None => self
                    .names
                    .iter()
                    .enumerate()
                    .filter(|(_, known)| known.as_deref().is_some_and(|known| known.as_bytes() == name))
                    .find_map(|(index, _)| captures.get_group(index)),
            };
            if let Some(span) = group {
                out.extend_from_slice(haystack.slice(span.range()));
            }
        }
        out.extend_from_slice(rest);
    }

    /// Cuts the text at the matches into at most `limit` pieces, if it is not negative (`Split`).
    pub fn split<'t>(&self, text: &'t [u8], limit: i64) -> Vec<&'t [u8]> {
        if limit == 0 {
            return Vec::new();
        }
        if !self.empty_pattern && text.is_empty() {
            return vec![text];
        }
        let haystack = Haystack::new(text);
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for span in self.spans(&haystack, limit) {
            if pieces.len() == most - 1 {
                break;
            }
            end = span.start;
            if span.end != 0 {
                pieces.push(haystack.slice(begin..end));
            }
            begin = span.end;
        }
        if end != haystack.text.len() {
            pieces.push(haystack.slice(begin..haystack.text.len()));
        }
        pieces
    }
}

/// Takes `name` or `{name}` from the start of a template: the name, and what follows.
fn reference(template: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, braced) = match template.strip_prefix(b"{") {
        Some(body) => (body, true),
        None => (template, false),
    };
    let length = utf8::runes(body)
        .find(|&(_, rune, _)| !(unicode::is_letter(rune) || unicode::is_digit(rune) || rune == '_'))
        .map_or(body.len(), |(offset, _, _)| offset);
    let (name, rest) = body.split_at_checked(length)?;
    if name.is_empty() {
        return None;
    }
    Some((name, if braced { rest.strip_prefix(b"}")? } else { rest }))
}

/// The group number that a reference names; anything else is a name, also a number with a leading zero.
fn number(name: &[u8]) -> Option<usize> {
    if name.len() > 1 && name.first() == Some(&b'0') {
        return None;
    }
    let number = std::str::from_utf8(name).ok()?.parse().ok()?;
    (number < 1_000_000_000).then_some(number)
}
