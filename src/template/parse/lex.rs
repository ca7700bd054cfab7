//! Splits template text into tokens by the rules of Go's `text/template/parse`.
//!
//! The delimiters are always `{{` and `}}`. Comments are dropped here. What a token means is the parser's
//! business.

use memchr::{memchr, memchr_iter};

use crate::go::strconv::quote;
use crate::go::unicode::{is_digit, is_letter, is_print};
use crate::go::utf8::{decode_rune, runes};

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) class: Class,
    /// Byte offset of the first byte.
    pub(super) start: usize,
    /// Byte offset after the last byte.
    pub(super) end: usize,
    /// The line of the first byte, counted from 1.
    pub(super) line: usize,
}

impl Token {
    /// Returns the token before the first one was read: line 0, as Go's zero value.
    pub(super) fn none() -> Token {
        Token { class: Class::Error, start: 0, end: 0, line: 0 }
    }

    /// Returns the token as error texts name it; an error token has a message instead, see [`Lexer::message`].
    pub(super) fn describe(self, input: &[u8]) -> String {
        let value = &input[self.start..self.end];
        match self.class {
            Class::Eof => "EOF".to_owned(),
            Class::Block
            | Class::Break
            | Class::Continue
            | Class::Dot
            | Class::Define
            | Class::Else
            | Class::End
            | Class::If
            | Class::Nil
            | Class::Range
            | Class::Template
            | Class::With => format!("<{}>", String::from_utf8_lossy(value)),
            _ if value.len() > 10 => {
                let cut = runes(value).nth(10).map_or(value.len(), |(offset, _, _)| offset);
                format!("{}...", quote(&value[..cut]))
            }
            _ => quote(value),
        }
    }
}

/// The scanner. Gives one token at a time, and end-of-file for ever after the last one or an error.
pub(super) struct Lexer<'t> {
    input: &'t [u8],
    /// Where the next byte is read.
    pos: usize,
    /// Where the current token starts.
    start: usize,
    /// The line of `start`.
    line: usize,
    paren_depth: usize,
    inside_action: bool,
    /// What the error token says. After it nothing more comes.
    message: Option<String>,
}

const SPACE: &[u8] = b" \t\r\n";

impl<'t> Lexer<'t> {
    pub(super) fn new(input: &'t [u8]) -> Lexer<'t> {
        Lexer { input, pos: 0, start: 0, line: 1, paren_depth: 0, inside_action: false, message: None }
    }

    /// Returns the message of the error token.
    pub(super) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Returns the next token.
    pub(super) fn next_token(&mut self) -> Token {
        if self.message.is_some() {
            return Token { class: Class::Eof, start: 0, end: 0, line: self.line };
        }
        if self.inside_action { self.inside_action() } else { self.text() }
    }

    fn rest(&self) -> &'t [u8] {
        &self.input[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().first().map(|_| decode_rune(self.rest()).0)
    }

    fn next(&mut self) -> Option<char> {
        let (rune, width) = decode_rune(self.rest());
        self.pos += width;
        (width > 0).then_some(rune)
    }

    fn accept(&mut self, valid: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|byte| valid.contains(byte));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, valid: &[u8]) {
        while self.accept(valid) {}
    }

    /// Drops what was read since the last token.
    fn ignore(&mut self) {
        self.line += newlines(&self.input[self.start..self.pos]);
        self.start = self.pos;
    }

    fn emit(&mut self, class: Class) -> Token {
        let token = Token { class, start: self.start, end: self.pos, line: self.line };
        // Other tokens hold no line breaks.
        if matches!(class, Class::Text | Class::Space | Class::RawString) {
            self.line += newlines(&self.input[self.start..self.pos]);
        }
        self.start = self.pos;
        token
    }

    fn fail(&mut self, message: impl Into<String>) -> Token {
        self.message = Some(message.into());
        Token { class: Class::Error, start: self.start, end: self.start, line: self.line }
    }

    fn text(&mut self) -> Token {
        loop {
            let Some(length) = find(self.rest(), *b"{{") else {
                self.pos = self.input.len();
                return self.emit(if self.pos > self.start { Class::Text } else { Class::Eof });
            };
            if length > 0 {
                let delim = self.pos + length;
                let text = &self.input[self.pos..delim];
                let kept =
                    if has_left_trim(&self.input[delim + 2..]) { trim_end(text).len() } else { text.len() };
                self.pos += kept;
                let token = self.emit(Class::Text);
                self.pos = delim;
                self.ignore();
                if kept > 0 {
                    return token;
                }
            }
            if let Some(token) = self.left_delim() {
                return token;
            }
        }
    }

    /// Reads `{{`, or a whole comment, after which there is no token yet.
    fn left_delim(&mut self) -> Option<Token> {
        self.pos += 2;
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with(b"/*") {
            self.pos += marker;
            self.ignore();
            return self.comment();
        }
        let token = self.emit(Class::LeftDelim);
        self.inside_action = true;
        self.pos += marker;
        self.ignore();
        self.paren_depth = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token> {
        self.pos += 2;
        let Some(length) = find(self.rest(), *b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.pos += length + 2;
        let Some(trim) = self.at_right_delim() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.close(trim);
        None
    }

    /// Tells whether `}}` comes next, and if so whether with a trim marker.
    fn at_right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_trim(rest) && rest[2..].starts_with(b"}}") {
            return Some(true);
        }
        rest.starts_with(b"}}").then_some(false)
    }

    /// Steps over the right delimiter and the text it trims.
    fn close(&mut self, trim: bool) {
        self.pos += if trim { 4 } else { 2 };
        if trim {
            self.pos += self.rest().len() - trim_start(self.rest()).len();
        }
        self.ignore();
    }

    fn right_delim(&mut self, trim: bool) -> Token {
        if trim {
            self.pos += 2;
            self.ignore();
        }
        self.pos += 2;
        let token = self.emit(Class::RightDelim);
        if trim {
            self.pos += self.rest().len() - trim_start(self.rest()).len();
            self.ignore();
        }
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Token {
        if let Some(trim) = self.at_right_delim() {
            if self.paren_depth == 0 {
                return self.right_delim(trim);
            }
            return self.fail("unclosed left paren");
        }
        let Some(rune) = self.peek() else {
            return self.fail("unclosed action");
        };
        match rune {
            ' ' | '\t' | '\r' | '\n' => return self.space(),
            '+' | '-' | '0'..='9' => return self.number(),
            '.' if self.rest().get(1).is_none_or(u8::is_ascii_digit) => return self.number(),
            _ if is_word(rune) => return self.identifier(),
            _ => {}
        }
        self.next();
        match rune {
            '=' => self.emit(Class::Assign),
            ':' if self.accept(b"=") => self.emit(Class::Declare),
            ':' => self.fail("expected :="),
            '|' => self.emit(Class::Pipe),
            '"' => self.quoted('"', Class::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Class::CharConstant, "unterminated character constant"),
            '`' => self.raw_quoted(),
            '$' => self.word(Class::Variable, Class::Variable),
            '.' => self.word(Class::Field, Class::Dot),
            '(' => {
                self.paren_depth += 1;
                self.emit(Class::LeftParen)
            }
            ')' if self.paren_depth > 0 => {
                self.paren_depth -= 1;
                self.emit(Class::RightParen)
            }
            ')' => self.fail("unexpected right paren"),
            '!'..='~' => self.emit(Class::Char),
            _ => self.fail(format!("unrecognized character in action: {}", unicode_notation(rune))),
        }
    }

    fn space(&mut self) -> Token {
        self.accept_run(SPACE);
        // The last space may belong to a closing delimiter with a trim marker.
        let last = self.pos - 1;
        if self.input[last + 1..].starts_with(b"-}}") {
            self.pos = last;
            if self.pos == self.start {
                return self.right_delim(true);
            }
        }
        self.emit(Class::Space)
    }

    fn identifier(&mut self) -> Token {
        self.skip_word();
        if let Some(error) = self.check_terminator() {
            return error;
        }
        let class = match &self.input[self.start..self.pos] {
            b"block" => Class::Block,
            b"break" => Class::Break,
            b"continue" => Class::Continue,
            b"define" => Class::Define,
            b"else" => Class::Else,
            b"end" => Class::End,
            b"if" => Class::If,
            b"range" => Class::Range,
            b"nil" => Class::Nil,
            b"template" => Class::Template,
            b"with" => Class::With,
            b"true" | b"false" => Class::Bool,
            _ => Class::Identifier,
        };
        self.emit(class)
    }

    /// Reads the name after `.` or `$`; `bare` is the class of the sign alone.
    fn word(&mut self, class: Class, bare: Class) -> Token {
        if self.at_terminator() {
            return self.emit(bare);
        }
        self.skip_word();
        match self.check_terminator() {
            Some(error) => error,
            None => self.emit(class),
        }
    }

    fn skip_word(&mut self) {
        loop {
            let rest = self.rest();
            let ascii = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            self.pos += rest.iter().position(|byte| !ascii(byte)).unwrap_or(rest.len());
            if self.rest().first().is_none_or(u8::is_ascii) || !self.peek().is_some_and(is_word) {
                return;
            }
            self.next();
        }
    }

    fn check_terminator(&mut self) -> Option<Token> {
        if self.at_terminator() {
            return None;
        }
        let rune = self.peek().unwrap_or_default();
        Some(self.fail(format!("bad character {}", unicode_notation(rune))))
    }

    fn at_terminator(&self) -> bool {
        let rest = self.rest();
        match rest.first() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(b'}') => rest.starts_with(b"}}"),
            Some(_) => false,
        }
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || self.input[self.pos - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(Class::Complex);
        }
        self.emit(Class::Number)
    }

    fn bad_number(&mut self) -> Token {
        let text = quote(&self.input[self.start..self.pos]);
        self.fail(format!("bad number syntax: {text}"))
    }

    /// Reads what looks like a number; wrong ones are noticed when they are converted.
    fn scan_number(&mut self) -> bool {
        self.accept(b"+-");
        let mut digits: &[u8] = b"0123456789_";
        let mut exponent: &[u8] = b"eE";
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
                exponent = b"pP";
            } else if self.accept(b"oO") {
                digits = b"01234567_";
                exponent = b"";
            } else if self.accept(b"bB") {
                digits = b"01_";
                exponent = b"";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if self.accept(exponent) {
            self.accept(b"+-");
            self.accept_run(b"0123456789_");
        }
        self.accept(b"i");
        if self.peek().is_some_and(is_word) {
            self.next();
            return false;
        }
        true
    }

    fn quoted(&mut self, end: char, class: Class, unterminated: &str) -> Token {
        loop {
            let mut rune = self.next();
            if rune == Some('\\') {
                rune = self.next();
                if rune.is_some_and(|rune| rune != '\n') {
                    continue;
                }
            }
            match rune {
                None | Some('\n') => return self.fail(unterminated),
                Some(rune) if rune == end => return self.emit(class),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Token {
        match memchr(b'`', self.rest()) {
            None => self.fail("unterminated raw quoted string"),
            Some(length) => {
                self.pos += length + 1;
                self.emit(Class::RawString)
            }
        }
    }
}

fn is_word(rune: char) -> bool {
    if rune.is_ascii() {
        return rune == '_' || rune.is_ascii_alphanumeric();
    }
    is_letter(rune) || is_digit(rune)
}

/// Returns a character as Go's `%#U` prints it.
fn unicode_notation(rune: char) -> String {
    let code = u32::from(rune);
    if is_print(rune) { format!("U+{code:04X} '{rune}'") } else { format!("U+{code:04X}") }
}

/// Finds the first place where the two bytes stand. Their first one is rare in templates.
fn find(text: &[u8], what: [u8; 2]) -> Option<usize> {
    memchr_iter(what[0], text).find(|&at| text.get(at + 1) == Some(&what[1]))
}

fn newlines(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

fn is_space(byte: u8) -> bool {
    SPACE.contains(&byte)
}

fn has_left_trim(rest: &[u8]) -> bool {
    rest.len() >= 2 && rest[0] == b'-' && is_space(rest[1])
}

fn has_right_trim(rest: &[u8]) -> bool {
    rest.len() >= 2 && is_space(rest[0]) && rest[1] == b'-'
}

fn trim_end(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
    &text[..length]
}

fn trim_start(text: &[u8]) -> &[u8] {
    let first = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    &text[first..]
}
