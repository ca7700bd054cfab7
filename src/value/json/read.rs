//! Reading JSON with Go's answers: last duplicate key wins, broken UTF-8 becomes U+FFFD, Go's error texts.

use super::super::{MAX_DEPTH, Map, Value};
use super::{JsonError, Numbers, text_from_bytes};

/// Reads one JSON text, with nothing but blanks around it (`json.Unmarshal` into an `any`).
///
/// # Errors
/// Go's syntax errors, or a number too large for a `float64`.
pub fn from_slice(text: &[u8], numbers: Numbers) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, numbers, failed: None };
    let value = reader.value(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return Err(reader.unexpected("after top-level value"));
    }
    reader.failed.map_or(Ok(value), Err)
}

/// Reads a mapping (`json.Unmarshal` into a `map[string]any`); `null` gives an empty one.
///
/// # Errors
/// As [`from_slice`]; another kind of value is a type error.
pub fn map_from_slice(text: &[u8], numbers: Numbers) -> Result<Map, JsonError> {
    match from_slice(text, numbers)? {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "map[string]interface {}")),
    }
}

/// Reads a sequence (`json.Unmarshal` into an `[]any`); `null` gives an empty one.
///
/// # Errors
/// As [`from_slice`]; another kind of value is a type error.
pub fn list_from_slice(text: &[u8], numbers: Numbers) -> Result<Vec<Value>, JsonError> {
    match from_slice(text, numbers)? {
        Value::List(list) => Ok(list),
        Value::Null => Ok(Vec::new()),
        other => Err(mismatch(&other, "[]interface {}")),
    }
}

/// Reads the first JSON value of a stream and tells how many bytes it took (`json.Decoder`, `InputOffset`).
///
/// # Errors
/// Go's syntax errors, `EOF` when there is no value, `unexpected EOF` when it is cut short.
pub fn from_prefix(text: &[u8], numbers: Numbers) -> Result<(Value, usize), JsonError> {
    let mut reader = Reader { text, at: 0, numbers, failed: None };
    reader.skip_blanks();
    if reader.at == text.len() {
        return Err(JsonError::Eof);
    }
    let value = reader.value(0).map_err(|error| match error {
        JsonError::UnexpectedEnd => JsonError::UnexpectedEof,
        JsonError::Syntax { offset, .. } if offset == text.len() => JsonError::UnexpectedEof,
        other => other,
    })?;
    let used = reader.at;
    reader.failed.map_or(Ok((value, used)), Err)
}

/// The type error of reading `found` into a Go variable of type `target`.
pub(crate) fn mismatch(found: &Value, target: &'static str) -> JsonError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    };
    JsonError::Type { found: found.to_owned(), target }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    numbers: Numbers,
    /// The first number out of range. Go reports it only if the whole text is well formed.
    failed: Option<JsonError>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The error for the byte at the current position, or for the end of the text.
    fn unexpected(&self, context: &str) -> JsonError {
        match self.peek() {
            None => JsonError::UnexpectedEnd,
            Some(byte) => JsonError::Syntax {
                character: quote_byte(byte),
                context: context.to_owned(),
                offset: self.at,
            },
        }
    }

    /// The error inside a number, a word or an escape. Go tries whether a blank would end the text well, and
    /// reports that blank.
    fn cut_short(&self, context: &str) -> JsonError {
        match self.unexpected(context) {
            JsonError::UnexpectedEnd => JsonError::Syntax {
                character: quote_byte(b' '),
                context: context.to_owned(),
                offset: self.at,
            },
            other => other,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::Depth);
        }
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::Str),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut map = Map::new();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(map));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Map(map));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut list = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::List(list));
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return Err(self.cut_short(&format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let mut integral = true;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.cut_short("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            integral = false;
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.cut_short("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integral = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.cut_short("in exponent of numeric literal"));
            }
            self.digits();
        }
        // The literal is ASCII by construction.
        let literal = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if integral && self.numbers == Numbers::Typed {
            // `-0` is a float, as it would lose its sign otherwise.
            if let Ok(number) = literal.parse::<i64>()
                && literal != "-0"
            {
                return Ok(Value::Int(number));
            }
            if let Ok(number) = literal.parse::<u64>() {
                return Ok(Value::Uint(number));
            }
        }
        match literal.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => {
                let error = JsonError::Type { found: format!("number {literal}"), target: "float64" };
                self.failed.get_or_insert(error);
                Ok(Value::Null)
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    let text = text_from_bytes(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => return self.escaped_string(start),
                0x00..=0x1f => return Err(self.unexpected("in string literal")),
                _ => self.at += 1,
            }
        }
        Err(JsonError::UnexpectedEnd)
    }

    /// The rest of a string that holds at least one escape; the text from `start` on is still to be copied.
    fn escaped_string(&mut self, start: usize) -> Result<String, JsonError> {
        let mut out = text_from_bytes(&self.text[start..self.at]);
        let mut copied = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    out.push_str(&text_from_bytes(&self.text[copied..self.at]));
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => {
                    out.push_str(&text_from_bytes(&self.text[copied..self.at]));
                    self.at += 1;
                    self.escape(&mut out)?;
                    copied = self.at;
                }
                0x00..=0x1f => return Err(self.unexpected("in string literal")),
                _ => self.at += 1,
            }
        }
        Err(JsonError::UnexpectedEnd)
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonError> {
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex4()?;
                out.push(self.surrogates(first)?);
                return Ok(());
            }
            _ => return Err(self.cut_short("in string escape code")),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.cut_short("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    /// Joins a pair of surrogate escapes; a lone one becomes U+FFFD and what follows it stays unread.
    fn surrogates(&mut self, first: u32) -> Result<char, JsonError> {
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

/// Quotes a byte as Go's JSON errors do: the byte is taken for a code point, so `é` shows as `Ã`.
fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}
