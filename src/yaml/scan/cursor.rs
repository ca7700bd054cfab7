//! A position in the text that knows its line and column.

use super::super::error::{Mark, YamlError};

/// Walks over a text of allowed characters. Behind the end it sees zero bytes, which no such text holds.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    pub(super) pos: usize,
    line: u32,
    line_start: usize,
    /// How many bytes of the current line before `pos` continue a character: they do not count as columns.
    wide: usize,
    ascii: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        Cursor { text, bytes, pos: 0, line: 0, line_start: 0, wide: 0, ascii: text.is_ascii() }
    }

    /// The byte `ahead` of the position, or zero behind the end.
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    #[inline]
    pub(super) fn column(&self) -> i32 {
        i32::try_from(self.pos - self.line_start - self.wide).unwrap_or(i32::MAX)
    }

    #[inline]
    pub(super) fn at_line_start(&self) -> bool {
        self.pos == self.line_start
    }

    /// Texts are shorter than 4 GiB, so the narrowing conversions are exact.
    #[inline]
    pub(super) fn mark(&self) -> Mark {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let column = narrow(self.pos - self.line_start - self.wide);
        Mark { offset: narrow(self.pos), line: self.line, column }
    }

    /// Ends an unfinished last line, as go-yaml does at the end of the stream.
    pub(super) fn end_line(&mut self) {
        if self.pos > self.line_start {
            self.line += 1;
            self.line_start = self.pos;
            self.wide = 0;
        }
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> YamlError {
        YamlError::scanner(self.mark(), problem)
    }

    /// Steps over bytes that are one character each.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.pos += bytes;
    }

    /// Steps over `bytes` bytes of any characters within the line.
    #[inline]
    pub(super) fn advance_text(&mut self, bytes: usize) {
        if !self.ascii {
            let passed = &self.bytes[self.pos..self.pos + bytes];
            self.wide += passed.iter().filter(|&&byte| byte & 0xc0 == 0x80).count();
        }
        self.pos += bytes;
    }

    /// The length of the line break `ahead` of the position, zero if there is none. CR LF is one break.
    #[inline]
    pub(super) fn break_len(&self, ahead: usize) -> usize {
        match self.peek(ahead) {
            b'\n' => 1,
            b'\r' if self.peek(ahead + 1) == b'\n' => 2,
            b'\r' => 1,
            0xc2 if self.peek(ahead + 1) == 0x85 => 2,
            0xe2 if self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    /// Whether the line ends `ahead` of the position.
    #[inline]
    pub(super) fn is_line_end(&self, ahead: usize) -> bool {
        self.pos + ahead >= self.bytes.len() || self.break_len(ahead) > 0
    }

    /// Whether a blank or the end of the line is `ahead` of the position.
    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_line_end(ahead)
    }

    /// Steps over a line break and returns what it stands for: Unicode's own separators stay, others are LF.
    #[inline]
    pub(super) fn take_break(&mut self) -> &'static str {
        let length = self.break_len(0);
        let meaning = match (length, self.peek(length.saturating_sub(1))) {
            (0, _) => return "",
            (3, 0xa8) => "\u{2028}",
            (3, _) => "\u{2029}",
            _ => "\n",
        };
        self.pos += length;
        self.line += 1;
        self.line_start = self.pos;
        self.wide = 0;
        meaning
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.pos += 1;
        }
    }

    /// Steps over a comment, if one starts here, up to the end of its line.
    pub(super) fn skip_comment(&mut self) {
        if self.peek(0) == b'#' {
            self.skip_to_line_end();
        }
    }

    /// Steps over the rest of the line and returns it.
    pub(super) fn skip_to_line_end(&mut self) -> &'a str {
        let start = self.pos;
        let length = if self.ascii {
            self.rest().iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(self.rest().len())
        } else {
            (0..).find(|&ahead| self.is_line_end(ahead)).unwrap_or(0)
        };
        self.advance_text(length);
        &self.text[start..self.pos]
    }

    /// Whether `---` or `...` stands alone at the start of this line.
    #[inline]
    pub(super) fn at_document_indicator(&self) -> bool {
        self.at_line_start()
            && (self.rest().starts_with(b"---") || self.rest().starts_with(b"..."))
            && self.is_blank_or_end(3)
    }
}
