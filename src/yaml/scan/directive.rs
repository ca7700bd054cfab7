//! Directives, anchors, aliases and tags.

use std::borrow::Cow;

use super::super::error::YamlError;
use super::{Kind, Scanner, Token};

impl<'a> Scanner<'a> {
    /// Takes letters, digits, `_` and `-`.
    fn take_word(&mut self) -> &'a str {
        let start = self.cursor.pos;
        let length = self.cursor.rest().iter().take_while(|&&byte| is_word(byte)).count();
        self.cursor.advance(length);
        &self.cursor.text[start..self.cursor.pos]
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        self.cursor.advance(1);
        let name = self.take_word();
        let ended = self.cursor.is_blank_or_end(0)
            || matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return Err(self.cursor.error("did not find expected alphabetic or numeric character"));
        }
        let kind = if alias { Kind::Alias(name) } else { Kind::Anchor(name) };
        Ok(Token { kind, start, end: self.cursor.mark() })
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        self.cursor.advance(1);
        let name = self.take_word();
        if name.is_empty() {
            return Err(self.cursor.error("could not find expected directive name"));
        }
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.cursor.error("found unexpected non-alphabetical character"));
        }
        let kind = match name {
            "YAML" => self.scan_version()?,
            "TAG" => self.scan_tag_directive()?,
            _ => return Err(self.cursor.error("found unknown directive name")),
        };
        let end = self.cursor.mark();
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_line_end(0) {
            return Err(self.cursor.error("did not find expected comment or line break"));
        }
        self.cursor.take_break();
        Ok(Token { kind, start, end })
    }

    fn scan_version(&mut self) -> Result<Kind<'a>, YamlError> {
        self.cursor.skip_blanks();
        let major = self.scan_version_number()?;
        if self.cursor.peek(0) != b'.' {
            return Err(self.cursor.error("did not find expected digit or '.' character"));
        }
        self.cursor.advance(1);
        Ok(Kind::Version(major, self.scan_version_number()?))
    }

    fn scan_version_number(&mut self) -> Result<u8, YamlError> {
        let mut value = 0;
        let mut length = 0;
        while let digit @ b'0'..=b'9' = self.cursor.peek(0) {
            length += 1;
            if length > 2 {
                return Err(self.cursor.error("found extremely long version number"));
            }
            value = value * 10 + (digit - b'0');
            self.cursor.advance(1);
        }
        if length == 0 {
            return Err(self.cursor.error("did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self) -> Result<Kind<'a>, YamlError> {
        self.cursor.skip_blanks();
        let handle = self.scan_tag_handle()?;
        if handle != "!" && !handle.ends_with('!') {
            return Err(self.cursor.error("did not find expected '!'"));
        }
        if !self.cursor.is_blank(0) {
            return Err(self.cursor.error("did not find expected whitespace"));
        }
        self.cursor.skip_blanks();
        let prefix = self.scan_tag_uri("", false)?;
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.cursor.error("did not find expected whitespace or line break"));
        }
        Ok(Kind::TagDirective(handle, prefix))
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token<'a>, YamlError> {
        let start = self.cursor.mark();
        let (handle, suffix) = if self.cursor.peek(1) == b'<' {
            self.cursor.advance(2);
            let suffix = self.scan_tag_uri("", false)?;
            if self.cursor.peek(0) != b'>' {
                return Err(self.cursor.error("did not find the expected '>'"));
            }
            self.cursor.advance(1);
            ("", suffix)
        } else {
            let handle = self.scan_tag_handle()?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.scan_tag_uri("", false)?)
            } else {
                // Not a handle after all, but the start of the suffix.
                let suffix = self.scan_tag_uri(handle.get(1..).unwrap_or_default(), true)?;
                if suffix.is_empty() { ("", Cow::Borrowed("!")) } else { ("!", suffix) }
            }
        };
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.cursor.error("did not find expected whitespace or line break"));
        }
        Ok(Token { kind: Kind::Tag(handle, suffix), start, end: self.cursor.mark() })
    }

    /// Takes `!`, a word and perhaps a second `!`.
    fn scan_tag_handle(&mut self) -> Result<&'a str, YamlError> {
        if self.cursor.peek(0) != b'!' {
            return Err(self.cursor.error("did not find expected '!'"));
        }
        let start = self.cursor.pos;
        self.cursor.advance(1);
        self.take_word();
        if self.cursor.peek(0) == b'!' {
            self.cursor.advance(1);
        }
        Ok(&self.cursor.text[start..self.cursor.pos])
    }

    /// Takes the characters of a tag; `head` is what has been taken already.
    fn scan_tag_uri(&mut self, head: &'a str, may_be_empty: bool) -> Result<Cow<'a, str>, YamlError> {
        let start = self.cursor.pos;
        let mut decoded: Option<String> = None;
        loop {
            let byte = self.cursor.peek(0);
            if byte == b'%' {
                let text = &self.cursor.text;
                let out = decoded.get_or_insert_with(|| format!("{head}{}", &text[start..self.cursor.pos]));
                let c = self.cursor.scan_uri_escapes()?;
                out.push(c);
            } else if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) {
                if let Some(out) = &mut decoded {
                    out.push(char::from(byte));
                }
                self.cursor.advance(1);
            } else {
                break;
            }
        }
        let end = self.cursor.pos;
        if start == end && !may_be_empty {
            return Err(self.cursor.error("did not find expected tag URI"));
        }
        Ok(match decoded {
            Some(text) => Cow::Owned(text),
            // What was taken already stands right before.
            None => Cow::Borrowed(&self.cursor.text[start - head.len()..end]),
        })
    }
}

impl super::cursor::Cursor<'_> {
    /// Takes one character written as `%XX` per byte.
    fn scan_uri_escapes(&mut self) -> Result<char, YamlError> {
        let mut octets = Vec::with_capacity(4);
        let mut width = 1;
        while octets.len() < width {
            let hex = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low), b'%') = (hex(self.peek(1)), hex(self.peek(2)), self.peek(0)) else {
                return Err(self.error("did not find URI escaped octet"));
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or(0);
            if octets.is_empty() {
                width = match octet {
                    0x00..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => return Err(self.error("found an incorrect leading UTF-8 octet")),
                };
            } else if octet & 0xc0 != 0x80 {
                return Err(self.error("found an incorrect trailing UTF-8 octet"));
            }
            octets.push(octet);
            self.advance(3);
        }
        let text = std::str::from_utf8(&octets).ok().and_then(|text| text.chars().next());
        Ok(text.unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
