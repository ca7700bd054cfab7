//! Go's pattern syntax (package `regexp/syntax` with its Perl flags), turned into `regex-syntax` expressions.

use std::fmt;

use regex_syntax::hir::{Capture, Class, ClassUnicode, Hir, Look, Repetition};

use super::class;
use crate::go::utf8;

/// Groups within groups. Go allows an expression tree 1000 levels high; the engine used here recurses.
const MAX_DEPTH: usize = 200;
/// The most that counted repetitions may multiply to.
const MAX_REPEAT: u64 = 1000;

/// Why a pattern is refused. Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {code}: `{expression}`")]
pub struct SyntaxError {
    /// What is wrong.
    pub code: ErrorCode,
    /// The offending part of the pattern.
    pub expression: String,
}

impl SyntaxError {
    pub(super) fn new(code: ErrorCode, expression: &str) -> Self {
        SyntaxError { code, expression: expression.to_owned() }
    }
}

/// The kinds of syntax errors; Display is Go's name of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what Go's texts say")]
pub enum ErrorCode {
    InvalidCharRange,
    InvalidEscape,
    InvalidNamedCapture,
    InvalidPerlOp,
    InvalidRepeatOp,
    InvalidRepeatSize,
    InvalidUtf8,
    MissingBracket,
    MissingParen,
    MissingRepeatArgument,
    TrailingBackslash,
    UnexpectedParen,
    NestingDepth,
    Large,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            ErrorCode::InvalidCharRange => "invalid character class range",
            ErrorCode::InvalidEscape => "invalid escape sequence",
            ErrorCode::InvalidNamedCapture => "invalid named capture",
            ErrorCode::InvalidPerlOp => "invalid or unsupported Perl syntax",
            ErrorCode::InvalidRepeatOp => "invalid nested repetition operator",
            ErrorCode::InvalidRepeatSize => "invalid repeat count",
            ErrorCode::InvalidUtf8 => "invalid UTF-8",
            ErrorCode::MissingBracket => "missing closing ]",
            ErrorCode::MissingParen => "missing closing )",
            ErrorCode::MissingRepeatArgument => "missing argument to repetition operator",
            ErrorCode::TrailingBackslash => "trailing backslash at end of expression",
            ErrorCode::UnexpectedParen => "unexpected )",
            ErrorCode::NestingDepth => "expression nests too deeply",
            ErrorCode::Large => "expression too large",
        })
    }
}

/// A pattern ready to be compiled.
pub(super) struct Parsed {
    pub(super) hir: Hir,
    /// The name of each group, the whole match first.
    pub(super) names: Vec<Option<String>>,
}

/// What `(?ims-U)` switches.
#[derive(Clone, Copy, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_newline: bool,
    swap_greed: bool,
}

/// A finished part of a pattern.
struct Atom {
    hir: Hir,
    /// The product of the counts of nested counted repetitions.
    repeats: u64,
}

impl Atom {
    fn new(hir: Hir) -> Self {
        Atom { hir, repeats: 1 }
    }
}

/// A group that is still open; the pattern as a whole is the outermost.
#[derive(Default)]
struct Group {
    /// Number of the capture, nothing for `(?:`.
    capture: Option<u32>,
    /// Flags to go back to when the group ends.
    outer_flags: Flags,
    alternatives: Vec<Atom>,
    sequence: Vec<Atom>,
}

impl Group {
    fn end_alternative(&mut self) {
        let (parts, repeats) = join(std::mem::take(&mut self.sequence));
        self.alternatives.push(Atom { hir: Hir::concat(parts), repeats });
    }

    fn finish(mut self) -> Atom {
        self.end_alternative();
        let (parts, repeats) = join(self.alternatives);
        let hir = Hir::alternation(parts);
        let hir = match self.capture {
            Some(index) => {
                // Names are kept in `Parsed`: the engine refuses two of the same, Go does not.
                Hir::capture(Capture { index, name: None, sub: Box::new(hir) })
            }
            None => hir,
        };
        Atom { hir, repeats }
    }
}

fn join(atoms: Vec<Atom>) -> (Vec<Hir>, u64) {
    let repeats = atoms.iter().map(|atom| atom.repeats).max().unwrap_or(1);
    (atoms.into_iter().map(|atom| atom.hir).collect(), repeats)
}

struct Parser<'p> {
    pattern: &'p str,
    flags: Flags,
    open: Vec<Group>,
    current: Group,
    names: Vec<Option<String>>,
}

/// Parses a pattern.
pub(super) fn parse(pattern: &[u8]) -> Result<Parsed, SyntaxError> {
    let text = std::str::from_utf8(pattern).map_err(|error| {
        let rest = pattern.get(error.valid_up_to()..).unwrap_or_default();
        SyntaxError::new(ErrorCode::InvalidUtf8, &utf8::to_valid(rest))
    })?;
    let mut parser = Parser {
        pattern: text,
        flags: Flags::default(),
        open: Vec::new(),
        current: Group::default(),
        names: vec![None],
    };
    parser.run()?;
    if !parser.open.is_empty() {
        return Err(SyntaxError::new(ErrorCode::MissingParen, text));
    }
    Ok(Parsed { hir: parser.current.finish().hir, names: parser.names })
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Result<(), SyntaxError> {
        let mut rest = self.pattern;
        // The text from the repetition operator that came directly before, if one did.
        let mut last_repeat = None;
        while let Some(first) = rest.chars().next() {
            let before = rest;
            let after = &rest[first.len_utf8()..];
            let mut repeat = None;
            rest = match first {
                '(' if after.starts_with('?') => self.group_or_flags(before)?,
                '(' => {
                    self.open_capture(None)?;
                    after
                }
                '|' => {
                    self.current.end_alternative();
                    after
                }
                ')' => {
                    self.close()?;
                    after
                }
                '^' => self.look(if self.flags.multi_line { Look::StartLF } else { Look::Start }, after),
                '$' => self.look(if self.flags.multi_line { Look::EndLF } else { Look::End }, after),
                '.' => {
                    let all: &[(u32, u32)] =
                        if self.flags.dot_newline { &[(0, 0x10_FFFF)] } else { &[(0, 9), (11, 0x10_FFFF)] };
                    self.push_class(class::of_ranges(all));
                    after
                }
                '[' => self.bracket(before)?,
                '*' | '+' | '?' => {
                    let (min, max) = match first {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    repeat = Some(before);
                    self.repeat(min, max, before, after, last_repeat)?
                }
                '{' => match counts(before) {
                    None => {
                        self.push_literal('{');
                        after
                    }
                    Some((min, max, tail)) => {
                        let operator = &before[..before.len() - tail.len()];
                        let (Some(min), Some(max)) = (min, max) else {
                            return Err(SyntaxError::new(ErrorCode::InvalidRepeatSize, operator));
                        };
                        repeat = Some(before);
                        self.repeat(min, max, before, tail, last_repeat)?
                    }
                },
                '\\' => self.backslash(before)?,
                _ => {
                    self.push_literal(first);
                    after
                }
            };
            last_repeat = repeat;
        }
        Ok(())
    }

    fn look(&mut self, look: Look, after: &'p str) -> &'p str {
        self.current.sequence.push(Atom::new(Hir::look(look)));
        after
    }

    fn push_class(&mut self, class: ClassUnicode) {
        self.current.sequence.push(Atom::new(Hir::class(Class::Unicode(class))));
    }

    fn push_literal(&mut self, rune: char) {
        if self.flags.fold_case {
            let mut class = class::of_ranges(&[(rune.into(), rune.into())]);
            class::fold(&mut class);
            self.push_class(class);
        } else {
            let hir = Hir::literal(rune.encode_utf8(&mut [0; 4]).as_bytes());
            self.current.sequence.push(Atom::new(hir));
        }
    }

    /// A code point that may be a surrogate, which matches nothing.
    fn push_code_point(&mut self, code_point: u32) {
        match char::from_u32(code_point) {
            Some(rune) => self.push_literal(rune),
            None => self.push_class(ClassUnicode::empty()),
        }
    }

    fn open_group(&mut self, capture: Option<u32>) -> Result<(), SyntaxError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError::new(ErrorCode::NestingDepth, self.pattern));
        }
        let group = Group { capture, outer_flags: self.flags, ..Group::default() };
        self.open.push(std::mem::replace(&mut self.current, group));
        Ok(())
    }

    fn open_capture(&mut self, name: Option<&str>) -> Result<(), SyntaxError> {
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.map(str::to_owned));
        self.open_group(Some(index))
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(outer) = self.open.pop() else {
            return Err(SyntaxError::new(ErrorCode::UnexpectedParen, self.pattern));
        };
        let group = std::mem::replace(&mut self.current, outer);
        self.flags = group.outer_flags;
        self.current.sequence.push(group.finish());
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`.
    fn group_or_flags(&mut self, from: &'p str) -> Result<&'p str, SyntaxError> {
        let named = if from.len() > 4 { from.strip_prefix("(?P<") } else { None }
            .or_else(|| if from.len() > 3 { from.strip_prefix("(?<") } else { None });
        if let Some(body) = named {
            let invalid = |part: &str| SyntaxError::new(ErrorCode::InvalidNamedCapture, part);
            let (name, rest) = body.split_once('>').ok_or_else(|| invalid(from))?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(invalid(&from[..from.len() - rest.len()]));
            }
            self.open_capture(Some(name))?;
            return Ok(rest);
        }
        let mut flags = self.flags;
        let (mut on, mut saw_flag) = (true, false);
        let mut rest = &from[2..];
        let mut runes = rest.chars();
        while let Some(rune) = runes.next() {
            rest = runes.as_str();
            match rune {
                'i' => flags.fold_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_newline = on,
                'U' => flags.swap_greed = on,
                '-' if on => {
                    (on, saw_flag) = (false, false);
                    continue;
                }
                ':' | ')' if on || saw_flag => {
                    if rune == ':' {
                        self.open_group(None)?;
                    }
                    self.flags = flags;
                    return Ok(rest);
                }
                _ => break,
            }
            saw_flag = true;
        }
        Err(SyntaxError::new(ErrorCode::InvalidPerlOp, &from[..from.len() - rest.len()]))
    }

    fn repeat(
        &mut self,
        min: u32,
        max: Option<u32>,
        before: &'p str,
        mut after: &'p str,
        last_repeat: Option<&str>,
    ) -> Result<&'p str, SyntaxError> {
        let mut greedy = !self.flags.swap_greed;
        if let Some(tail) = after.strip_prefix('?') {
            greedy = !greedy;
            after = tail;
        }
        if let Some(last) = last_repeat {
            return Err(SyntaxError::new(ErrorCode::InvalidRepeatOp, &last[..last.len() - after.len()]));
        }
        let operator = &before[..before.len() - after.len()];
        let Some(atom) = self.current.sequence.pop() else {
            return Err(SyntaxError::new(ErrorCode::MissingRepeatArgument, operator));
        };
        let mut repeats = atom.repeats;
        if operator.starts_with('{') {
            // What is repeated zero times costs nothing, whatever is in it.
            let count = u64::from(max.unwrap_or(min));
            repeats = if max == Some(0) { 1 } else { repeats * count.max(1) };
            if (min >= 2 || max.is_some_and(|max| max >= 2)) && repeats > MAX_REPEAT {
                return Err(SyntaxError::new(ErrorCode::InvalidRepeatSize, operator));
            }
        }
        let hir = Hir::repetition(Repetition { min, max, greedy, sub: Box::new(atom.hir) });
        self.current.sequence.push(Atom { hir, repeats });
        Ok(after)
    }

    fn backslash(&mut self, from: &'p str) -> Result<&'p str, SyntaxError> {
        let after = from.get(2..).unwrap_or_default();
        match from.as_bytes().get(1).copied() {
            Some(b'A') => return Ok(self.look(Look::Start, after)),
            Some(b'z') => return Ok(self.look(Look::End, after)),
            Some(b'b') => return Ok(self.look(Look::WordAscii, after)),
            Some(b'B') => return Ok(self.look(Look::WordAsciiNegate, after)),
            Some(b'C') => return Err(SyntaxError::new(ErrorCode::InvalidEscape, r"\C")),
            Some(b'Q') => {
                let (literal, rest) = after.split_once(r"\E").unwrap_or((after, ""));
                literal.chars().for_each(|rune| self.push_literal(rune));
                return Ok(rest);
            }
            _ => {}
        }
        if let Some((class, rest)) = self.escaped_class(from)? {
            self.push_class(class);
            return Ok(rest);
        }
        let (code_point, rest) = escape(from)?;
        self.push_code_point(code_point);
        Ok(rest)
    }

    /// `\pN`, `\p{Name}`, `\d` and their kin at the start of `from`.
    fn escaped_class(&self, from: &'p str) -> Result<Option<(ClassUnicode, &'p str)>, SyntaxError> {
        let Some(letter) = from.strip_prefix('\\').and_then(|tail| tail.bytes().next()) else {
            return Ok(None);
        };
        let negated = letter.is_ascii_uppercase();
        if let Some(class) = class::perl(letter) {
            return Ok(Some((self.finished(class, negated), from.get(2..).unwrap_or_default())));
        }
        if letter != b'p' && letter != b'P' {
            return Ok(None);
        }
        let body = from.get(2..).unwrap_or_default();
        let (name, rest) = match body.chars().next() {
            None => return Err(SyntaxError::new(ErrorCode::InvalidCharRange, from)),
            Some('{') => body[1..]
                .split_once('}')
                .ok_or_else(|| SyntaxError::new(ErrorCode::InvalidCharRange, from))?,
            Some(rune) => body.split_at(rune.len_utf8()),
        };
        let (name, flipped) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let class = class::unicode(name)
            .ok_or_else(|| SyntaxError::new(ErrorCode::InvalidCharRange, &from[..from.len() - rest.len()]))?;
        Ok(Some((self.finished(class, negated != flipped), rest)))
    }

    /// Case is folded before a class is turned round.
    fn finished(&self, mut class: ClassUnicode, negated: bool) -> ClassUnicode {
        if self.flags.fold_case {
            class::fold(&mut class);
        }
        if negated {
            class.negate();
        }
        class
    }

    /// A class in brackets.
    fn bracket(&mut self, from: &'p str) -> Result<&'p str, SyntaxError> {
        let (mut rest, negated) = match from[1..].strip_prefix('^') {
            Some(rest) => (rest, true),
            None => (&from[1..], false),
        };
        let mut class = ClassUnicode::empty();
        let mut first = true;
        loop {
            if !first && let Some(after) = rest.strip_prefix(']') {
                rest = after;
                break;
            }
            first = false;
            if let Some(end) = rest.strip_prefix("[:").and_then(|body| body.find(":]")) {
                let (whole, after) = rest.split_at(end + 4);
                class.union(&self.posix_class(whole)?);
                rest = after;
                continue;
            }
            if let Some((part, after)) = self.escaped_class(rest)? {
                class.union(&part);
                rest = after;
                continue;
            }
            let start = rest;
            let (low, after) = class_member(rest, from)?;
            let (high, after) = match after.strip_prefix('-') {
                // A dash before the bracket stands for itself.
                Some(bound) if !bound.is_empty() && !bound.starts_with(']') => class_member(bound, from)?,
                _ => (low, after),
            };
            if high < low {
                let range = &start[..start.len() - after.len()];
                return Err(SyntaxError::new(ErrorCode::InvalidCharRange, range));
            }
            class.union(&self.finished(class::of_ranges(&[(low, high)]), false));
            rest = after;
        }
        if negated {
            class.negate();
        }
        self.push_class(class);
        Ok(rest)
    }

    fn posix_class(&self, whole: &str) -> Result<ClassUnicode, SyntaxError> {
        let name = whole.get(2..whole.len() - 2).unwrap_or_default();
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let class = class::posix(name).ok_or_else(|| SyntaxError::new(ErrorCode::InvalidCharRange, whole))?;
        Ok(self.finished(class, negated))
    }
}

/// One member of a class in brackets, or an end of a range.
fn class_member<'p>(from: &'p str, whole: &str) -> Result<(u32, &'p str), SyntaxError> {
    match from.chars().next() {
        None => Err(SyntaxError::new(ErrorCode::MissingBracket, whole)),
        Some('\\') => escape(from),
        Some(rune) => Ok((rune.into(), &from[rune.len_utf8()..])),
    }
}

/// An escape that stands for one code point.
fn escape(from: &str) -> Result<(u32, &str), SyntaxError> {
    let body = from.get(1..).unwrap_or_default();
    let Some(rune) = body.chars().next() else {
        return Err(SyntaxError::new(ErrorCode::TrailingBackslash, ""));
    };
    let rest = &body[rune.len_utf8()..];
    let invalid = |rest: &str| SyntaxError::new(ErrorCode::InvalidEscape, &from[..from.len() - rest.len()]);
    let octal_follows = rest.starts_with(|next: char| next.is_digit(8));
    let code_point = match rune {
        '0'..='7' if rune == '0' || octal_follows => {
            // A single digit from 1 to 7 would be a back-reference, which does not exist.
            let length = body.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let (digits, rest) = body.split_at(length);
            return Ok((u32::from_str_radix(digits, 8).map_err(|_| invalid(rest))?, rest));
        }
        'x' => return hexadecimal(rest).map_err(invalid),
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        _ if rune.is_ascii() && !rune.is_ascii_alphanumeric() => rune.into(),
        _ => return Err(invalid(rest)),
    };
    Ok((code_point, rest))
}

/// The digits of `\xHH` or `\x{H…}`. Fails with what follows the first character that does not fit.
fn hexadecimal(from: &str) -> Result<(u32, &str), &str> {
    let skip = |text: &'_ str| text.chars().next().map_or(0, char::len_utf8);
    let Some(braced) = from.strip_prefix('{') else {
        let first = skip(from);
        let length = first + skip(&from[first..]);
        let (digits, rest) = from.split_at(length);
        let good = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u32::from_str_radix(digits, 16).ok().filter(|_| good).map(|value| (value, rest)).ok_or(rest);
    };
    let mut value = 0_u32;
    for (offset, rune) in braced.char_indices() {
        let rest = &braced[offset + rune.len_utf8()..];
        match rune.to_digit(16) {
            Some(digit) => {
                value = value << 4 | digit;
                if value > 0x10_FFFF {
                    return Err(rest);
                }
            }
            None if rune == '}' && offset > 0 => return Ok((value, rest)),
            None => return Err(rest),
        }
    }
    Err("")
}

/// Counts of a repetition: each is nothing when it is out of bounds, the upper one doubly optional.
type Counts<'p> = (Option<u32>, Option<Option<u32>>, &'p str);

/// Reads `{n}`, `{n,}` or `{n,m}`; anything else makes the brace a literal.
fn counts(from: &str) -> Option<Counts<'_>> {
    let (min, rest) = count(from.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (max, rest) = count(rest)?;
            (Some(max), rest)
        }
    };
    let rest = rest.strip_prefix('}')?;
    let bounded = |count: u64| u32::try_from(count).ok().filter(|&count| u64::from(count) <= MAX_REPEAT);
    let max = match max {
        None => Some(None),
        Some(max) if max < min => None,
        Some(max) => bounded(max).map(Some),
    };
    Some((bounded(min), max, rest))
}

/// A decimal number without leading zeros; a huge one comes out as huge.
fn count(from: &str) -> Option<(u64, &str)> {
    let length = from.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = from.split_at(length);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u64::MAX), rest))
}
