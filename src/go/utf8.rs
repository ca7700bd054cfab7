//! Go's `unicode/utf8`: how Go walks over text that may hold broken UTF-8.

/// What Go reads in place of a byte that is not part of a valid encoding.
pub const RUNE_ERROR: char = '\u{FFFD}';

/// Returns the first character of `bytes` and its length (`utf8.DecodeRune`).
///
/// Broken input gives U+FFFD with length 1, so each bad byte counts for itself; no input gives length 0.
pub fn decode_rune(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else { return (RUNE_ERROR, 0) };
    let width = match first {
        0..=0x7F => return (char::from(first), 1),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (RUNE_ERROR, 1),
    };
    let decoded = bytes.get(..width).and_then(|head| std::str::from_utf8(head).ok());
    match decoded.and_then(|text| text.chars().next()) {
        Some(rune) => (rune, width),
        None => (RUNE_ERROR, 1),
    }
}

/// Walks over the characters of `bytes` as Go's `for range` does: byte offset, character, byte length.
///
/// A broken byte comes as U+FFFD of length 1; a U+FFFD that is really written there has length 3.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let (rune, width) = decode_rune(bytes.get(offset..)?);
        if width == 0 {
            return None;
        }
        offset += width;
        Some((offset - width, rune, width))
    })
}

/// Returns the last character of `bytes` and its length (`utf8.DecodeLastRune`).
pub fn decode_last_rune(bytes: &[u8]) -> (char, usize) {
    if bytes.is_empty() {
        return (RUNE_ERROR, 0);
    }
    for width in (1..=bytes.len().min(4)).rev() {
        let tail = &bytes[bytes.len() - width..];
        let (rune, decoded) = decode_rune(tail);
        if decoded == width {
            return (rune, width);
        }
    }
    (RUNE_ERROR, 1)
}

/// Returns the number of characters (`utf8.RuneCount`); each broken byte counts as one.
pub fn rune_count(bytes: &[u8]) -> usize {
    runes(bytes).count()
}

/// Appends the encoding of `rune` to `out`.
pub fn append_rune(out: &mut Vec<u8>, rune: char) {
    out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Returns `bytes` with each broken byte replaced by U+FFFD (Go's `string([]rune(s))`, and its JSON encoder).
pub fn to_valid(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => runes(bytes).map(|(_, rune, _)| rune).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_bytes_count_one_each() {
        let check = |bytes: &[u8], expected: &[(char, usize)]| {
            let got: Vec<_> = runes(bytes).map(|(_, rune, width)| (rune, width)).collect();
            assert_eq!(got, expected, "{bytes:?}");
        };
        check(b"", &[]);
        check("aé€😀".as_bytes(), &[('a', 1), ('é', 2), ('€', 3), ('😀', 4)]);
        check(b"\xff", &[(RUNE_ERROR, 1)]);
        check(b"\xe2\x82", &[(RUNE_ERROR, 1), (RUNE_ERROR, 1)]);
        check(b"\xc0\x80", &[(RUNE_ERROR, 1), (RUNE_ERROR, 1)]);
        check(b"\xed\xa0\x80", &[(RUNE_ERROR, 1), (RUNE_ERROR, 1), (RUNE_ERROR, 1)]);
        check(b"\xf4\x90\x80\x80", &[(RUNE_ERROR, 1); 4]);
        check("\u{FFFD}".as_bytes(), &[(RUNE_ERROR, 3)]);
        assert_eq!(to_valid(b"a\xe2\x82b"), "a\u{FFFD}\u{FFFD}b");
    }

    #[test]
    fn the_last_character_is_found_from_behind() {
        assert_eq!(decode_last_rune(b""), (RUNE_ERROR, 0));
        assert_eq!(decode_last_rune("a€".as_bytes()), ('€', 3));
        assert_eq!(decode_last_rune(b"a\x80"), (RUNE_ERROR, 1));
        assert_eq!(decode_last_rune(b"z"), ('z', 1));
    }
}
