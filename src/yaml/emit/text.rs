//! The written text: columns, indentation, and the characters of scalars.

use super::Schema;
use super::scalar::{is_break, is_printable};

/// Spaces per level.
const STEP: i32 = 2;

/// A text under construction.
///
/// Source: go-yaml `emitterc.go`; `whitespace` and `indention` have the meaning that they have there.
pub(super) struct Output {
    text: String,
    column: usize,
    /// The indentation of the open collection, -1 outside of any.
    level: i32,
    /// Texts are folded at the first space beyond this column.
    width: usize,
    /// Whether the last thing written allows the next one to follow without a space.
    whitespace: bool,
    /// Whether nothing but indentation and indicators such as `-` has been written on this line.
    pub(super) indention: bool,
}

impl Output {
    pub(super) fn new(schema: Schema) -> Self {
        let width = if schema == Schema::V2 { 80 } else { usize::MAX };
        let text = String::with_capacity(256);
        Output { text, column: 0, level: -1, width, whitespace: true, indention: true }
    }

    pub(super) fn finish(mut self) -> String {
        self.level = -1;
        self.new_line();
        self.text
    }

    /// Goes one level deeper, unless `flush`, and returns the level to come back to.
    pub(super) fn indent(&mut self, flush: bool) -> i32 {
        let outer = self.level;
        if outer < 0 {
            self.level = 0;
        } else if !flush {
            self.level += STEP;
        }
        outer
    }

    /// As [`Output::indent`], for the continued lines of a scalar.
    pub(super) fn indent_scalar(&mut self) -> i32 {
        let outer = self.level;
        self.level = if outer < 0 { STEP } else { outer + STEP };
        outer
    }

    pub(super) fn dedent(&mut self, outer: i32) {
        self.level = outer;
    }

    fn put(&mut self, c: char) {
        self.text.push(c);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    /// Writes a line break of a scalar: LF by itself, Unicode's separators as they are.
    fn write_break(&mut self, c: char) {
        self.text.push(c);
        self.column = 0;
    }

    /// Starts a line at the current indentation, unless the text is already there.
    pub(super) fn new_line(&mut self) {
        let level = usize::try_from(self.level).unwrap_or(0);
        if !self.indention || self.column > level || (self.column == level && !self.whitespace) {
            self.put_break();
        }
        while self.column < level {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Writes an indicator, after a space if it needs one.
    pub(super) fn indicator(&mut self, text: &str, needs_space: bool, is_space: bool, is_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        self.text.push_str(text);
        self.column += text.len();
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    /// Whether a text of `length` bytes stays within the width wherever it is broken.
    fn fits(&self, length: usize) -> bool {
        self.width == usize::MAX || self.column + length <= self.width
    }

    pub(super) fn plain(&mut self, text: &str, foldable: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        if self.fits(text.len()) && !text.contains(is_break) || !text.contains(' ') && text.is_ascii() {
            self.text.push_str(text);
            self.column += text.chars().count();
        } else {
            self.fold(text, foldable, false);
        }
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn single_quoted(&mut self, text: &str, foldable: bool) {
        self.indicator("'", true, false, false);
        self.fold(text, foldable, true);
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes the characters of a plain or single-quoted text.
    fn fold(&mut self, text: &str, foldable: bool, quoted: bool) {
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            if c == ' ' {
                let inside = !quoted || !first && next.is_some();
                if foldable && !spaces && self.column > self.width && inside && next != Some(' ') {
                    self.new_line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.new_line();
                }
                if quoted && c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
            first = false;
        }
    }

    pub(super) fn double_quoted(&mut self, text: &str, foldable: bool) {
        self.indicator("\"", true, false, false);
        // go-yaml looks for a byte order mark at the start of the text, whatever the character it is about to
        // write: such a text is escaped from end to end.
        let all = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            if all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                if foldable && !spaces && self.column > self.width && !first && next.is_some() {
                    self.new_line();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
            first = false;
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, c: char) {
        self.put('\\');
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let (letter, digits) = match code {
                    0..=0xff => ('x', 2),
                    0x100..=0xffff => ('u', 4),
                    _ => ('U', 8),
                };
                self.put(letter);
                for shift in (0..digits).rev() {
                    let digit = char::from_digit((code >> (shift * 4)) & 15, 16).unwrap_or('0');
                    self.put(digit.to_ascii_uppercase());
                }
                return;
            }
        };
        self.put(short);
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            self.indicator("2", false, false, false);
        }
        let mut from_end = text.chars().rev();
        let chomp = match (from_end.next(), from_end.next()) {
            (Some(last), _) if !is_break(last) => "-",
            (Some(_), None) => "+",
            (Some(_), Some(before)) if is_break(before) => "+",
            _ => "",
        };
        if !chomp.is_empty() {
            self.indicator(chomp, false, false, false);
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.new_line();
                }
                self.put(c);
                self.indention = false;
                breaks = false;
            }
        }
    }
}
