//! Reading numbers as Go reads them.

use super::quote;

/// Why a text is not a number of the wanted kind. Display is Go's text, with the function's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {kind}", quote(text.as_bytes()))]
pub struct NumError {
    /// The Go function that is imitated: `ParseInt`, `Atoi`, …
    pub function: &'static str,
    /// The text that was read.
    pub text: String,
    /// What is wrong with it.
    pub kind: NumErrorKind,
}

/// What is wrong with the text of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumErrorKind {
    /// Not a number at all.
    #[error("invalid syntax")]
    Syntax,
    /// A number outside the type's range.
    #[error("value out of range")]
    Range,
}

fn fail(function: &'static str, text: &str, kind: NumErrorKind) -> NumError {
    NumError { function, text: text.to_owned(), kind }
}

/// Reads a signed 64-bit integer (`strconv.ParseInt(text, base, 64)`); base 0 honours the prefixes `0x`,
/// `0o`, `0`, `0b` and underscores between digits.
///
/// # Errors
/// Bad syntax, or out of range.
pub fn parse_int(text: &str, base: u32) -> Result<i64, NumError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = magnitude(digits, base).map_err(|kind| fail("ParseInt", text, kind))?;
    let value = if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    value.ok_or_else(|| fail("ParseInt", text, NumErrorKind::Range))
}

/// Reads an unsigned 64-bit integer (`strconv.ParseUint(text, base, 64)`); no sign is allowed.
///
/// # Errors
/// Bad syntax, or out of range.
pub fn parse_uint(text: &str, base: u32) -> Result<u64, NumError> {
    magnitude(text, base).map_err(|kind| fail("ParseUint", text, kind))
}

/// Reads a decimal integer (`strconv.Atoi`).
///
/// # Errors
/// Bad syntax, or out of range.
pub fn atoi(text: &str) -> Result<i64, NumError> {
    parse_int(text, 10).map_err(|error| NumError { function: "Atoi", ..error })
}

/// Reads a boolean (`strconv.ParseBool`): `1 t T true TRUE True` and their opposites.
///
/// # Errors
/// Any other text.
pub fn parse_bool(text: &str) -> Result<bool, NumError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(fail("ParseBool", text, NumErrorKind::Syntax)),
    }
}

/// Reads a text as `cast.ToInt64` and `cast.ToInt` do: base by prefix, a tail of `.000` dropped; nothing if
/// it is no integer (where those functions give 0).
pub fn cast_int(text: &str) -> Option<i64> {
    let trimmed = match text.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    parse_int(trimmed, 0).ok()
}

fn magnitude(text: &str, base: u32) -> Result<u64, NumErrorKind> {
    let bytes = text.as_bytes();
    let (radix, digits) = match (base, bytes) {
        (0, [b'0', b'x' | b'X', rest @ ..]) if !rest.is_empty() => (16, rest),
        (0, [b'0', b'o' | b'O', rest @ ..]) if !rest.is_empty() => (8, rest),
        (0, [b'0', b'b' | b'B', rest @ ..]) if !rest.is_empty() => (2, rest),
        (0, [b'0', rest @ ..]) if !rest.is_empty() => (8, rest),
        (0, _) => (10, bytes),
        (2..=36, _) => (base, bytes),
        _ => return Err(NumErrorKind::Syntax),
    };
    if digits.is_empty() {
        return Err(NumErrorKind::Syntax);
    }
    let mut value = Some(0_u64);
    for &byte in digits {
        if byte == b'_' && base == 0 {
            continue;
        }
        let digit = char::from(byte).to_digit(radix).ok_or(NumErrorKind::Syntax)?;
        value = value
            .and_then(|value| value.checked_mul(u64::from(radix)))
            .and_then(|value| value.checked_add(u64::from(digit)));
        if value.is_none() {
            // Go stops at the overflow, without looking at the rest.
            return Err(NumErrorKind::Range);
        }
    }
    if base == 0 && !underscores_ok(bytes) {
        return Err(NumErrorKind::Syntax);
    }
    value.ok_or(NumErrorKind::Range)
}

/// Underscores may only stand between digits, or between a base prefix and a digit.
fn underscores_ok(text: &[u8]) -> bool {
    if !text.contains(&b'_') {
        return true;
    }
    let mut previous = b'^';
    let mut rest = text;
    let mut hexadecimal = false;
    if let [b'-' | b'+', tail @ ..] = rest {
        rest = tail;
    }
    if let [b'0', prefix, tail @ ..] = rest
        && matches!(prefix.to_ascii_lowercase(), b'b' | b'o' | b'x')
    {
        // The prefix counts as a digit.
        previous = b'0';
        hexadecimal = prefix.eq_ignore_ascii_case(&b'x');
        rest = tail;
    }
    for &byte in rest {
        let class = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' | b'A'..=b'F' if hexadecimal => b'0',
            b'_' if previous != b'0' => return false,
            b'_' => b'_',
            _ if previous == b'_' => return false,
            _ => b'!',
        };
        previous = class;
    }
    previous != b'_'
}

/// Reads a floating-point number (`strconv.ParseFloat(text, 64)`): decimal or hexadecimal, `inf`,
/// `infinity` and `nan` in any case; underscores between digits.
///
/// # Errors
/// Bad syntax; or out of range, where Go would give an infinity beside the error.
pub fn parse_float(text: &str) -> Result<f64, NumError> {
    float_value(text).map_err(|kind| fail("ParseFloat", text, kind))
}

fn float_value(text: &str) -> Result<f64, NumErrorKind> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = |value: f64| if negative { -value } else { value };
    if body.eq_ignore_ascii_case("inf") || body.eq_ignore_ascii_case("infinity") {
        return Ok(signed(f64::INFINITY));
    }
    if text.eq_ignore_ascii_case("nan") {
        return Ok(f64::NAN);
    }
    if let Some(digits) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        if !underscores_ok(text.as_bytes()) {
            return Err(NumErrorKind::Syntax);
        }
        return hex_float(&digits.replace('_', "")).map(signed);
    }
    // Rust accepts exactly Go's decimal grammar once words and underscores are dealt with.
    if !body.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' | b'_'))
        || body.starts_with(['+', '-'])
        || !underscores_ok(text.as_bytes())
    {
        return Err(NumErrorKind::Syntax);
    }
    let value: f64 = body.replace('_', "").parse().map_err(|_| NumErrorKind::Syntax)?;
    if value.is_infinite() { Err(NumErrorKind::Range) } else { Ok(signed(value)) }
}

/// The value of `HHH.HHHp±D`, rounded to nearest, ties to even.
fn hex_float(text: &str) -> Result<f64, NumErrorKind> {
    let (mantissa_text, exponent_text) = text.split_once(['p', 'P']).ok_or(NumErrorKind::Syntax)?;
    let (whole, fraction) = mantissa_text.split_once('.').unwrap_or((mantissa_text, ""));
    let unsigned = exponent_text.strip_prefix(['+', '-']).unwrap_or(exponent_text);
    if (whole.is_empty() && fraction.is_empty())
        || unsigned.is_empty()
        || !unsigned.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(NumErrorKind::Syntax);
    }
    let mut exponent: i64 = unsigned.parse::<i64>().unwrap_or(100_000).min(100_000);
    if exponent_text.starts_with('-') {
        exponent = -exponent;
    }
    // The mantissa keeps 60 bits; the lowest bit remembers whether anything below it was not zero.
    let mut mantissa = 0_u64;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16).ok_or(NumErrorKind::Syntax)?);
        let in_fraction = index >= whole.len();
        if mantissa >> 56 == 0 {
            mantissa = mantissa << 4 | digit;
            exponent -= if in_fraction { 4 } else { 0 };
        } else {
            mantissa |= u64::from(digit != 0);
            exponent += if in_fraction { 0 } else { 4 };
        }
    }
    round_binary(mantissa, exponent)
}

/// `mantissa × 2^exponent` as a double.
fn round_binary(mantissa: u64, exponent: i64) -> Result<f64, NumErrorKind> {
    if mantissa == 0 {
        return Ok(0.0);
    }
    let length = i64::from(64 - mantissa.leading_zeros());
    // The exponent of the lowest bit that the double can hold at this size.
    let lowest = (exponent + length - 53).max(-1074);
    let shift = lowest - exponent;
    let rounded = if shift <= 0 {
        mantissa << u32::try_from(-shift).unwrap_or(0).min(63)
    } else if shift > 63 {
        // Only bits below the smallest subnormal: half of it or less rounds to zero.
        u64::from(shift == 64 && mantissa > 1 << 63)
    } else {
        let (kept, lost, half) = (mantissa >> shift, mantissa & ((1 << shift) - 1), 1_u64 << (shift - 1));
        kept + u64::from(lost > half || (lost == half && kept & 1 == 1))
    };
    let (rounded, lowest) = if rounded >> 53 != 0 { (rounded >> 1, lowest + 1) } else { (rounded, lowest) };
    if lowest > 971 {
        return Err(NumErrorKind::Range);
    }
    let bits = match u64::try_from(lowest + 1075) {
        Ok(biased) if rounded >> 52 != 0 => biased << 52 | (rounded & ((1 << 52) - 1)),
        _ => rounded,
    };
    Ok(f64::from_bits(bits))
}
