//! Go's `encoding/base64`, `encoding/base32` and `encoding/hex`, with the offsets of their errors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A byte that does not fit. Display is Go's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal {encoding} data at input byte {offset}")]
pub struct CorruptInput {
    encoding: &'static str,
    offset: usize,
}

/// Encodes in base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64 with padding; line breaks are passed over, and stray bits at the end are fine.
///
/// # Errors
/// The input is not base64.
pub fn base64_decode(text: &[u8]) -> Result<Vec<u8>, CorruptInput> {
    let corrupt = |offset| CorruptInput { encoding: "base64", offset };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut group: Vec<u8> = Vec::with_capacity(4);
    let mut significant = text.iter().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    while let Some((offset, &byte)) = significant.next() {
        if let Some(sextet) = sextet(byte) {
            group.push(sextet);
            if group.len() == 4 {
                push_group(&mut out, &group);
                group.clear();
            }
            continue;
        }
        if byte != b'=' || group.len() < 2 {
            return Err(corrupt(offset));
        }
        // The padding: one more sign after two characters, then nothing.
        if group.len() == 2 {
            match significant.next() {
                None => return Err(corrupt(text.len())),
                Some((_, b'=')) => {}
                Some((next, _)) => return Err(corrupt(next - 1)),
            }
        }
        push_group(&mut out, &group);
        return match significant.next() {
            None => Ok(out),
            Some((garbage, _)) => Err(corrupt(garbage)),
        };
    }
    if group.is_empty() { Ok(out) } else { Err(corrupt(text.len() - group.len())) }
}

fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Writes the whole bytes of two to four sextets.
fn push_group(out: &mut Vec<u8>, group: &[u8]) {
    let bits = group.iter().fold(0_u32, |bits, &sextet| bits << 6 | u32::from(sextet));
    let bits = bits << (6 * (4 - group.len()));
    out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes in base32 with padding.
pub fn base32_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut padded = [0_u8; 8];
        padded[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(padded);
        let used = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let index = usize::try_from(bits >> (35 - 5 * place) & 31).unwrap_or(0);
            out.push(if place < used { char::from(BASE32[index]) } else { '=' });
        }
    }
    out
}

/// Decodes base32 with padding; line breaks are passed over.
///
/// # Errors
/// The input is not base32. Offsets do not count line breaks, as in Go.
pub fn base32_decode(text: &[u8]) -> Result<Vec<u8>, CorruptInput> {
    let corrupt = |offset| CorruptInput { encoding: "base32", offset };
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut offset = 0;
    while offset < text.len() {
        let mut bits = 0_u64;
        let mut count = 8;
        for place in 0..8 {
            // Go reports where the group began: it subtracts what it has read of it.
            let Some(&byte) = text.get(offset) else { return Err(corrupt(text.len() - place)) };
            offset += 1;
            let left = text.len() - offset;
            if byte == b'=' && place >= 2 && left < 8 {
                let wanted = 7 - place;
                if left < wanted {
                    return Err(corrupt(text.len()));
                }
                if let Some(other) = (0..wanted).find(|&next| text[offset + next] != b'=') {
                    return Err(corrupt(offset + other - 1));
                }
                if matches!(place, 3 | 6) {
                    return Err(corrupt(offset - 1));
                }
                count = place;
                break;
            }
            let value = BASE32.iter().zip(0_u64..).find(|&(&letter, _)| letter == byte);
            let Some((_, value)) = value else { return Err(corrupt(offset - 1)) };
            bits |= value << (35 - 5 * place);
        }
        let bytes = count * 5 / 8;
        out.extend_from_slice(&bits.to_be_bytes()[3..3 + bytes]);
        if count < 8 {
            break;
        }
    }
    Ok(out)
}

/// Encodes in hexadecimal, lower case.
pub fn hex_encode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(result: Result<Vec<u8>, CorruptInput>) -> String {
        result.map_or_else(|error| error.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn base64_is_read_and_written() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64_encode(plain.as_bytes()), encoded);
            assert_eq!(shown(base64_decode(encoded.as_bytes())), plain);
        }
        for (text, expected) in [
            ("Zm9\nv\r\n", "foo"),
            ("Zh==", "f"),
            ("Z", "illegal base64 data at input byte 0"),
            ("Zg", "illegal base64 data at input byte 0"),
            ("Zg=", "illegal base64 data at input byte 3"),
            ("Zg=a", "illegal base64 data at input byte 2"),
            ("Zg==Zg==", "illegal base64 data at input byte 4"),
            ("Zm9v-", "illegal base64 data at input byte 4"),
            ("=", "illegal base64 data at input byte 0"),
        ] {
            assert_eq!(shown(base64_decode(text.as_bytes())), expected, "{text:?}");
        }
    }

    #[test]
    fn base32_is_read_and_written() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "MY======"),
            ("fo", "MZXQ===="),
            ("foo", "MZXW6==="),
            ("foob", "MZXW6YQ="),
            ("fooba", "MZXW6YTB"),
        ] {
            assert_eq!(base32_encode(plain.as_bytes()), encoded);
            assert_eq!(shown(base32_decode(encoded.as_bytes())), plain);
        }
        for (text, expected) in [
            ("MZ\nXW6===", "foo"),
            ("my======", "illegal base32 data at input byte 0"),
            ("MZXW6", "illegal base32 data at input byte 0"),
            ("MZXW6=", "illegal base32 data at input byte 6"),
            ("MZXW6==A", "illegal base32 data at input byte 6"),
            ("MZX=====", "illegal base32 data at input byte 3"),
        ] {
            assert_eq!(shown(base32_decode(text.as_bytes())), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_written_in_hexadecimal() {
        assert_eq!(hex_encode(&[0, 0x1F, 0xFF]), "001fff");
    }
}
