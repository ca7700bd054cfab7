//! Go strings: immutable byte strings that need not be valid UTF-8 and are cheap to copy.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// A Go string. Copies share the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Rc<[u8]>);

impl Str {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text if the bytes are valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns the text with every invalid byte replaced by U+FFFD, as Go does when it decodes runes.
    pub fn to_text(&self) -> Cow<'_, str> {
        lossy(&self.0)
    }

    /// Tells whether both share the same bytes in memory.
    pub fn ptr_eq(&self, other: &Str) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// Decodes bytes as Go ranges over a string: each byte that is not part of a valid sequence becomes one
/// U+FFFD (Rust's own lossy decoding makes one of a whole truncated sequence).
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

impl Deref for Str {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Default for Str {
    fn default() -> Self {
        Str(Rc::from(&[][..]))
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Str(Rc::from(text.as_bytes()))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Str(Rc::from(text.into_bytes()))
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Str(Rc::from(bytes))
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        Str(Rc::from(bytes))
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), out)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invalid_byte_becomes_one_replacement_character() {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            (&b"a\xffb"[..], "a\u{fffd}b"),
            // A truncated three-byte sequence: Go steps over it byte by byte.
            (&b"\xe2\x82x"[..], "\u{fffd}\u{fffd}x"),
            ("\u{20ac}".as_bytes(), "\u{20ac}"),
        ] {
            assert_eq!(lossy(bytes), text);
        }
    }
}
