//! From characters to tokens.
//!
//! A block mapping is recognised only when its first `:` is seen, so tokens wait in a queue while a "simple
//! key" is still possible. The rules, the order of the checks and the texts of the errors are those of go-yaml
//! v2 (`scannerc.go`), which decides what Helm accepts.

mod cursor;
mod directive;
mod scalar;
mod token;

use std::collections::VecDeque;

use super::error::{Mark, YamlError};
use crate::value::MAX_DEPTH;
use cursor::Cursor;
pub(super) use token::{Kind, Style, Token};

/// The longest simple key: a `:` further away than this does not belong to it.
const MAX_SIMPLE_KEY: u32 = 1024;

/// A place where a key without `?` may have started.
struct SimpleKey {
    possible: bool,
    /// Without the key the text would make no sense: block context, at the column of the mapping.
    required: bool,
    /// The number of the token that the key would start with, counted from the start of the text.
    token: usize,
    /// Whether the token waits for the decision. go-yaml forgets to wait for an empty flow collection.
    awaited: bool,
    mark: Mark,
}

/// Produces the tokens of a text.
pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// How many tokens have left the queue.
    taken: usize,
    /// The column of the open block collection, -1 outside of any.
    indent: i32,
    indents: Vec<i32>,
    /// One entry for the block context and one for each open flow collection.
    keys: Vec<SimpleKey>,
    key_allowed: bool,
    /// Whether the head of the queue is known to be final.
    ready: bool,
    ended: bool,
    /// Whether a decision needed characters behind the end. go-yaml wants four before each token.
    looked_behind: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let outermost =
            SimpleKey { possible: false, required: false, token: 0, awaited: false, mark: Mark::default() };
        Scanner {
            cursor: Cursor::new(text),
            queue: VecDeque::with_capacity(16),
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            keys: vec![outermost],
            key_allowed: true,
            ready: false,
            ended: false,
            looked_behind: false,
        }
    }

    /// Whether the end of the text has been looked at.
    pub(super) fn reached_end(&self) -> bool {
        self.looked_behind || self.cursor.at_end()
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, YamlError> {
        if !self.ready {
            self.fill()?;
            self.ready = true;
        }
        // `fill` leaves at least one token, and the end of the stream is never taken.
        self.queue.front().ok_or_else(|| self.cursor.error("unknown problem parsing YAML content"))
    }

    /// Takes the token that was peeked at.
    pub(super) fn take(&mut self) -> Option<Token<'a>> {
        self.ready = false;
        self.taken += 1;
        self.queue.pop_front()
    }

    fn fill(&mut self) -> Result<(), YamlError> {
        loop {
            if !self.queue.is_empty() {
                // A key may still turn out to start at the head of the queue.
                let head = self.taken;
                let Some(level) = self.keys.iter().position(|key| key.awaited && key.token == head) else {
                    return Ok(());
                };
                if !self.key_is_valid(level)? {
                    return Ok(());
                }
            }
            if self.ended {
                return Ok(());
            }
            self.fetch()?;
        }
    }

    /// Notes that the next `characters` decide something.
    fn need(&mut self, characters: usize) {
        self.looked_behind |= self.cursor.rest().len() < characters;
    }

    fn flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn fetch(&mut self) -> Result<(), YamlError> {
        self.skip_to_token();
        self.need(4);
        self.unroll_indent(self.cursor.column());
        let first = self.cursor.peek(0);
        if first == 0 {
            return self.fetch_end();
        }
        if self.cursor.at_line_start() {
            if first == b'%' {
                return self.fetch_directive();
            }
            if self.cursor.at_document_indicator() {
                return self.fetch_document_indicator(first);
            }
        }
        match first {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.cursor.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if self.flow() || self.cursor.is_blank_or_end(1) => self.fetch_key(),
            b':' if self.flow() || self.cursor.is_blank_or_end(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(first == b'*'),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if !self.flow() => self.fetch_block_scalar(first == b'|'),
            b'\'' | b'"' => self.fetch_quoted(first == b'\''),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => {
                Err(self.cursor.error("found character that cannot start any token"))
            }
            _ => self.fetch_plain(),
        }
    }

    /// Steps over blanks, comments and line breaks.
    ///
    /// Tabs separate tokens only where they cannot be taken for indentation.
    fn skip_to_token(&mut self) {
        loop {
            while self.cursor.peek(0) == b' '
                || self.cursor.peek(0) == b'\t' && (self.flow() || !self.key_allowed)
            {
                self.cursor.advance(1);
            }
            self.cursor.skip_comment();
            if self.cursor.take_break().is_empty() {
                return;
            }
            if !self.flow() {
                self.key_allowed = true;
            }
        }
    }

    /// Whether the key noted at `level` can still be one. A key must fit on one line and within 1024 characters.
    fn key_is_valid(&mut self, level: usize) -> Result<bool, YamlError> {
        let now = self.cursor.mark();
        let Some(key) = self.keys.get_mut(level) else { return Ok(false) };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < now.line || key.mark.column + MAX_SIMPLE_KEY < now.column {
            if key.required {
                return Err(self.cursor.error("could not find expected ':'"));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Notes that a key may start here.
    fn save_key(&mut self) -> Result<(), YamlError> {
        if !self.key_allowed {
            return Ok(());
        }
        self.drop_key()?;
        let required = !self.flow() && self.indent == self.cursor.column();
        let token = self.taken + self.queue.len();
        let mark = self.cursor.mark();
        if let Some(key) = self.keys.last_mut() {
            *key = SimpleKey { possible: true, required, token, awaited: true, mark };
        }
        Ok(())
    }

    /// Gives up the key that may have started on the current level.
    fn drop_key(&mut self) -> Result<(), YamlError> {
        let Some(key) = self.keys.last_mut() else { return Ok(()) };
        if key.possible && key.required {
            return Err(self.cursor.error("could not find expected ':'"));
        }
        key.possible = false;
        key.awaited = false;
        Ok(())
    }

    /// Opens a block collection if the column is further right than the open one.
    /// `before` is the number of the token that its start token goes in front of.
    fn roll_indent(&mut self, mark: Mark, before: Option<usize>, kind: Kind<'a>) -> Result<(), YamlError> {
        let column = i32::try_from(mark.column).unwrap_or(i32::MAX);
        if self.flow() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return Err(self.cursor.error(too_deep()));
        }
        self.insert(before, Token { kind, start: mark, end: mark });
        Ok(())
    }

    /// Puts a token in front of the one with the number `before`; at the end if that has been taken.
    fn insert(&mut self, before: Option<usize>, token: Token<'a>) {
        match before.and_then(|number| number.checked_sub(self.taken)) {
            Some(at) if at < self.queue.len() => self.queue.insert(at, token),
            _ => self.queue.push_back(token),
        }
    }

    /// Closes the block collections that are further right than the column.
    fn unroll_indent(&mut self, column: i32) {
        if self.flow() {
            return;
        }
        while self.indent > column {
            let mark = self.cursor.mark();
            self.queue.push_back(Token { kind: Kind::BlockEnd, start: mark, end: mark });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Takes `length` characters as a token without content.
    fn push_indicator(&mut self, kind: Kind<'a>, length: usize) {
        let start = self.cursor.mark();
        self.cursor.advance(length);
        self.queue.push_back(Token { kind, start, end: self.cursor.mark() });
    }

    fn fetch_end(&mut self) -> Result<(), YamlError> {
        // An unfinished last line is ended first, so that an open key there is reported one line further down.
        self.cursor.end_line();
        let mark = self.cursor.mark();
        self.unroll_indent(-1);
        self.drop_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.queue.push_back(Token { kind: Kind::StreamEnd, start: mark, end: mark });
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.drop_key()?;
        self.key_allowed = false;
        let token = self.scan_directive()?;
        self.queue.push_back(token);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, first: u8) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.drop_key()?;
        self.key_allowed = false;
        self.push_indicator(if first == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd }, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind<'a>) -> Result<(), YamlError> {
        self.save_key()?;
        let (token, mark) = (self.taken + self.queue.len(), self.cursor.mark());
        self.keys.push(SimpleKey { possible: false, required: false, token, awaited: false, mark });
        if self.keys.len() > MAX_DEPTH + 1 {
            return Err(self.cursor.error(too_deep()));
        }
        self.key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind<'a>) -> Result<(), YamlError> {
        self.drop_key()?;
        if self.flow()
            && let Some(closed) = self.keys.pop()
        {
            for key in self.keys.iter_mut().filter(|key| key.token == closed.token) {
                key.awaited = false;
            }
        }
        self.key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), YamlError> {
        self.drop_key()?;
        self.key_allowed = true;
        self.push_indicator(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), YamlError> {
        if !self.flow() {
            if !self.key_allowed {
                return Err(self.cursor.error("block sequence entries are not allowed in this context"));
            }
            self.roll_indent(self.cursor.mark(), None, Kind::BlockSequenceStart)?;
        }
        self.drop_key()?;
        self.key_allowed = true;
        self.push_indicator(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), YamlError> {
        if !self.flow() {
            if !self.key_allowed {
                return Err(self.cursor.error("mapping keys are not allowed in this context"));
            }
            self.roll_indent(self.cursor.mark(), None, Kind::BlockMappingStart)?;
        }
        self.drop_key()?;
        self.key_allowed = !self.flow();
        self.push_indicator(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), YamlError> {
        let level = self.keys.len() - 1;
        if self.key_is_valid(level)? {
            let (number, mark) = (self.keys[level].token, self.keys[level].mark);
            self.insert(Some(number), Token { kind: Kind::Key, start: mark, end: mark });
            self.roll_indent(mark, Some(number), Kind::BlockMappingStart)?;
            self.keys[level].possible = false;
            self.keys[level].awaited = false;
            self.key_allowed = false;
        } else {
            if !self.flow() {
                if !self.key_allowed {
                    return Err(self.cursor.error("mapping values are not allowed in this context"));
                }
                self.roll_indent(self.cursor.mark(), None, Kind::BlockMappingStart)?;
            }
            self.key_allowed = !self.flow();
        }
        self.push_indicator(Kind::Value, 1);
        Ok(())
    }

    fn fetch_anchor(&mut self, alias: bool) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_anchor(alias)?;
        self.queue.push_back(token);
        Ok(())
    }

    fn fetch_tag(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_tag()?;
        self.queue.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), YamlError> {
        self.drop_key()?;
        self.key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.queue.push_back(token);
        Ok(())
    }

    fn fetch_quoted(&mut self, single: bool) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_quoted(single)?;
        self.queue.push_back(token);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_plain()?;
        self.queue.push_back(token);
        Ok(())
    }
}

pub(super) fn too_deep() -> String {
    format!("exceeded max depth of {MAX_DEPTH}")
}
