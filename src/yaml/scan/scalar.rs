//! Scalars: plain, quoted and block.

use std::borrow::Cow;

use super::super::error::YamlError;
use super::{Kind, Scanner, Style, Token};

/// Bytes that a plain scalar cannot simply run over.
const PLAIN_STOP: [bool; 256] = stops(b" \t\r\n:,?[]{}\xc2\xe2");
/// Bytes that a double-quoted scalar cannot simply run over.
const DOUBLE_STOP: [bool; 256] = stops(b" \t\r\n\"\\\xc2\xe2");
/// Bytes that a single-quoted scalar cannot simply run over.
const SINGLE_STOP: [bool; 256] = stops(b" \t\r\n'\xc2\xe2");

const fn stops(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

/// Text collected from the source: a slice of it while that suffices.
struct Collected<'a> {
    source: &'a str,
    start: usize,
    end: usize,
    owned: Option<String>,
}

impl<'a> Collected<'a> {
    fn new(source: &'a str, start: usize) -> Self {
        Collected { source, start, end: start, owned: None }
    }

    /// Adds `source[from..to]`.
    fn add(&mut self, from: usize, to: usize) {
        let source = self.source;
        match &mut self.owned {
            Some(text) => text.push_str(&source[from..to]),
            None if self.end == from => self.end = to,
            None if self.start == self.end => (self.start, self.end) = (from, to),
            None => self.own().push_str(&source[from..to]),
        }
    }

    fn own(&mut self) -> &mut String {
        let slice = &self.source[self.start..self.end];
        self.owned.get_or_insert_with(|| slice.to_owned())
    }

    fn finish(self) -> Cow<'a, str> {
        match self.owned {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(&self.source[self.start..self.end]),
        }
    }
}

/// The line breaks between two parts of a flow scalar.
#[derive(Default)]
struct Breaks {
    /// Whether a break was seen since the last part.
    any: bool,
    first: &'static str,
    further: String,
}

impl Breaks {
    fn add(&mut self, text: &'static str) {
        if self.any {
            self.further.push_str(text);
        } else {
            self.any = true;
            self.first = text;
        }
    }

    /// Appends what the breaks stand for: one alone is a space, of several the first vanishes. Unicode's own
    /// separators are never folded.
    fn fold_into(&mut self, out: &mut String) {
        if self.first != "\n" {
            out.push_str(self.first);
            out.push_str(&self.further);
        } else if self.further.is_empty() {
            out.push(' ');
        } else {
            out.push_str(&self.further);
        }
        self.any = false;
        self.first = "";
        self.further.clear();
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_plain(&mut self) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        let mut end = start;
        let indent = self.indent + 1;
        let flow = self.flow();
        let mut value = Collected::new(self.cursor.text, self.cursor.pos);
        let mut breaks = Breaks::default();
        let mut blanks = self.cursor.pos;
        loop {
            if self.cursor.at_document_indicator() || self.cursor.peek(0) == b'#' {
                break;
            }
            let length = self.plain_run(flow);
            if length > 0 {
                let from = self.cursor.pos;
                if breaks.any {
                    breaks.fold_into(value.own());
                } else if blanks < from {
                    value.add(blanks, from);
                }
                value.add(from, from + length);
                self.cursor.advance_text(length);
                end = self.cursor.mark();
            }
            if self.cursor.at_end() || !self.cursor.is_blank_or_end(0) {
                break;
            }
            blanks = self.cursor.pos;
            self.plain_gap(indent, &mut breaks)?;
            if !flow && self.cursor.column() < indent {
                break;
            }
        }
        if breaks.any {
            self.key_allowed = true;
        }
        Ok(Token { kind: Kind::Scalar(value.finish(), Style::Plain), start, end })
    }

    /// The number of bytes up to the next blank, line end or indicator that ends a plain scalar.
    fn plain_run(&self, flow: bool) -> usize {
        let rest = self.cursor.rest();
        let mut length = 0;
        loop {
            match rest[length..].iter().position(|&byte| PLAIN_STOP[usize::from(byte)]) {
                Some(run) => length += run,
                None => return rest.len(),
            }
            let stop = match rest[length] {
                b' ' | b'\t' | b'\r' | b'\n' => true,
                b':' => self.cursor.is_blank_or_end(length + 1),
                0xc2 | 0xe2 => self.cursor.break_len(length) > 0,
                _ => flow,
            };
            if stop {
                return length;
            }
            length += 1;
        }
    }

    /// Steps over the blanks and breaks after a part of a plain scalar.
    fn plain_gap(&mut self, indent: i32, breaks: &mut Breaks) -> Result<(), YamlError> {
        loop {
            if self.cursor.is_blank(0) {
                let tab = self.cursor.peek(0) == b'\t';
                if tab && breaks.any && self.cursor.column() < indent {
                    return Err(self.cursor.error("found a tab character that violates indentation"));
                }
                self.cursor.advance(1);
            } else {
                let text = self.cursor.take_break();
                if text.is_empty() {
                    return Ok(());
                }
                breaks.add(text);
            }
        }
    }

    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        self.cursor.advance(1);
        let quote = if single { b'\'' } else { b'"' };
        let mut value = Collected::new(self.cursor.text, self.cursor.pos);
        let mut breaks = Breaks::default();
        loop {
            if self.cursor.at_document_indicator() {
                return Err(self.cursor.error("found unexpected document indicator"));
            }
            if self.cursor.at_end() {
                return Err(self.cursor.error("found unexpected end of stream"));
            }
            let joined = self.quoted_run(single, &mut value)?;
            if self.cursor.peek(0) == quote {
                break;
            }
            self.quoted_gap(joined, &mut value, &mut breaks);
        }
        self.cursor.advance(1);
        let end = self.cursor.mark();
        Ok(Token { kind: Kind::Scalar(value.finish(), Style::Quoted), start, end })
    }

    /// Takes characters up to a blank, a line end or the closing quote.
    /// Returns whether an escaped line break was among them, after which blanks do not count.
    fn quoted_run(&mut self, single: bool, value: &mut Collected<'a>) -> Result<bool, YamlError> {
        let stops = if single { &SINGLE_STOP } else { &DOUBLE_STOP };
        loop {
            let from = self.cursor.pos;
            let rest = self.cursor.rest();
            let length = rest.iter().position(|&byte| stops[usize::from(byte)]).unwrap_or(rest.len());
            if length > 0 {
                self.cursor.advance_text(length);
                value.add(from, from + length);
            }
            match self.cursor.peek(0) {
                b'\'' if single && self.cursor.peek(1) == b'\'' => {
                    let at = self.cursor.pos;
                    value.own();
                    value.add(at, at + 1);
                    self.cursor.advance(2);
                }
                b'\\' if self.cursor.break_len(1) > 0 => {
                    value.own();
                    self.cursor.advance(1);
                    self.cursor.take_break();
                    return Ok(true);
                }
                b'\\' => {
                    let c = self.scan_escape()?;
                    value.own().push(c);
                }
                0xc2 | 0xe2 if self.cursor.break_len(0) == 0 => {
                    let (at, lead) = (self.cursor.pos, self.cursor.peek(0));
                    let width = if lead == 0xc2 { 2 } else { 3 };
                    self.cursor.advance_text(width);
                    value.add(at, at + width);
                }
                _ => return Ok(false),
            }
        }
    }

    /// Takes blanks and breaks inside a quoted scalar; `joined` tells that a break was escaped just before.
    fn quoted_gap(&mut self, joined: bool, value: &mut Collected<'a>, breaks: &mut Breaks) {
        let from = self.cursor.pos;
        self.cursor.skip_blanks();
        let mut text = self.cursor.take_break();
        if text.is_empty() {
            if !joined {
                value.add(from, self.cursor.pos);
            }
            return;
        }
        if joined {
            // The escaped break was the first one and stands for nothing.
            breaks.add("");
        }
        while !text.is_empty() {
            breaks.add(text);
            self.cursor.skip_blanks();
            text = self.cursor.take_break();
        }
        breaks.fold_into(value.own());
    }

    fn scan_escape(&mut self) -> Result<char, YamlError> {
        self.need(2);
        let plain = match self.cursor.peek(1) {
            b'0' => '\0',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\u{b}',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'e' => '\u{1b}',
            byte @ (b' ' | b'"' | b'\'' | b'\\') => char::from(byte),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.scan_code(2),
            b'u' => return self.scan_code(4),
            b'U' => return self.scan_code(8),
            _ => return Err(self.cursor.error("found unknown escape character")),
        };
        self.cursor.advance(2);
        Ok(plain)
    }

    fn scan_code(&mut self, digits: usize) -> Result<char, YamlError> {
        self.cursor.advance(2);
        self.need(digits);
        let mut code: u32 = 0;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.peek(ahead)).to_digit(16) else {
                return Err(self.cursor.error("did not find expected hexdecimal number"));
            };
            code = (code << 4) | digit;
        }
        let Some(c) = char::from_u32(code) else {
            return Err(self.cursor.error("found invalid Unicode character escape code"));
        };
        self.cursor.advance(digits);
        Ok(c)
    }

    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        self.cursor.advance(1);
        let (chomp, increment) = self.block_header()?;
        let mut end = self.cursor.mark();
        let mut indent = match increment {
            0 => 0,
            increment if self.indent >= 0 => self.indent + increment,
            increment => increment,
        };
        let mut text = String::new();
        let mut first_break = "";
        let mut further = String::new();
        let mut after_blank = false;
        self.block_gap(&mut indent, &mut further, &mut end)?;
        while self.cursor.column() == indent && !self.cursor.at_end() {
            let blank = self.cursor.is_blank(0);
            // Folding joins two lines unless one of them starts with a blank.
            if !literal && !after_blank && !blank && first_break == "\n" {
                if further.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(first_break);
            }
            text.push_str(&further);
            further.clear();
            after_blank = blank;
            text.push_str(self.cursor.skip_to_line_end());
            first_break = self.cursor.take_break();
            self.block_gap(&mut indent, &mut further, &mut end)?;
        }
        if chomp != Chomp::Strip {
            text.push_str(first_break);
        }
        if chomp == Chomp::Keep {
            text.push_str(&further);
        }
        Ok(Token { kind: Kind::Scalar(Cow::Owned(text), Style::Quoted), start, end })
    }

    /// Takes the rest of the line that starts a block scalar.
    fn block_header(&mut self) -> Result<(Chomp, i32), YamlError> {
        let mut chomp = self.block_chomp();
        let mut increment = 0;
        if let digit @ b'0'..=b'9' = self.cursor.peek(0) {
            if digit == b'0' {
                return Err(self.cursor.error("found an indentation indicator equal to 0"));
            }
            increment = i32::from(digit - b'0');
            self.cursor.advance(1);
            if chomp.is_none() {
                chomp = self.block_chomp();
            }
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_line_end(0) {
            return Err(self.cursor.error("did not find expected comment or line break"));
        }
        self.cursor.take_break();
        Ok((chomp.unwrap_or(Chomp::Clip), increment))
    }

    fn block_chomp(&mut self) -> Option<Chomp> {
        let chomp = match self.cursor.peek(0) {
            b'+' => Chomp::Keep,
            b'-' => Chomp::Strip,
            _ => return None,
        };
        self.cursor.advance(1);
        Some(chomp)
    }

    /// Takes indentation and empty lines; finds the indentation of the scalar if it is not known yet.
    fn block_gap(
        &mut self,
        indent: &mut i32,
        breaks: &mut String,
        end: &mut super::Mark,
    ) -> Result<(), YamlError> {
        *end = self.cursor.mark();
        let mut widest = 0;
        loop {
            while (*indent == 0 || self.cursor.column() < *indent) && self.cursor.peek(0) == b' ' {
                self.cursor.advance(1);
            }
            widest = widest.max(self.cursor.column());
            if (*indent == 0 || self.cursor.column() < *indent) && self.cursor.peek(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.cursor.error(problem));
            }
            let text = self.cursor.take_break();
            if text.is_empty() {
                break;
            }
            breaks.push_str(text);
            *end = self.cursor.mark();
        }
        if *indent == 0 {
            *indent = widest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}

/// What happens to the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}
