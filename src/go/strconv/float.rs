//! Writing floating-point numbers with a verb and a precision.

use crate::value::number;

/// Returns `strconv.FormatFloat(number, verb, precision, 64)`; no precision means the shortest digits that
/// read back as the same number.
///
/// `verb` is one of `e E f F g G x X b`; Go's own text for any other (`%z`) is returned as it is.
pub fn format_float(number: f64, verb: u8, precision: Option<usize>) -> String {
    if !number.is_finite() {
        return number::format_g(number);
    }
    let lower = match (verb, precision) {
        (b'e' | b'E', None) => number::format_e(number),
        (b'f' | b'F', None) => number::format_f(number),
        (b'g' | b'G', None) => number::format_g(number),
        (b'e' | b'E', Some(precision)) => scientific(number, precision),
        (b'f' | b'F', Some(precision)) => fixed(number, precision),
        (b'g' | b'G', Some(precision)) => general(number, precision),
        (b'x' | b'X', precision) => hexadecimal(number, precision),
        (b'b', _) => binary(number),
        _ => return format!("%{}", char::from(verb)),
    };
    if verb.is_ascii_uppercase() { lower.to_ascii_uppercase() } else { lower }
}

/// Returns `strconv.FormatFloat(number, verb, -1, 32)` for the verbs `e`, `f` and `g`: the shortest digits
/// that name the same 32-bit number.
pub fn format_float32(number: f64, verb: u8) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to 32 bits is what is asked for")]
    let narrow = number as f32;
    if !narrow.is_finite() {
        return number::format_g(f64::from(narrow));
    }
    // The shortest digits of the 32-bit number, read as a 64-bit one, have those same digits again. Of two
    // equally near forms Go takes the even one (see `value::number`), which rounding gives.
    let text = format!("{narrow:e}");
    let decimals = text.find('e').unwrap_or(0).saturating_sub(2 + usize::from(narrow.is_sign_negative()));
    let rounded = format!("{narrow:.decimals$e}");
    let text = if rounded.parse() == Ok(narrow) { rounded } else { text };
    format_float(text.parse().unwrap_or(number), verb, None)
}

/// No double has more decimals than this that are not zero, and Rust's formatting refuses huge precisions.
const EXACT: usize = 1100;

fn fixed(number: f64, precision: usize) -> String {
    let mut text = format!("{number:.*}", precision.min(EXACT));
    text.push_str(&"0".repeat(precision.saturating_sub(EXACT)));
    text
}

fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.*e}", precision.min(EXACT));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let padding = "0".repeat(precision.saturating_sub(EXACT));
    with_exponent(&format!("{mantissa}{padding}"), exponent.parse().unwrap_or(0))
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: that many significant digits, without zeros at the end.
fn general(number: f64, precision: usize) -> String {
    let precision = precision.clamp(1, EXACT);
    let text = format!("{number:.*e}", precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(exponent) {
        Ok(power) if power < precision => trim_zeros(&fixed(number, precision - 1 - power)).to_owned(),
        Err(_) if exponent >= -4 => {
            trim_zeros(&fixed(number, precision - 1 + usize::try_from(-exponent).unwrap_or(0))).to_owned()
        }
        _ => with_exponent(trim_zeros(mantissa), exponent),
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The fraction bits with the leading one made explicit, and the exponent of the lowest bit.
fn parts(number: f64) -> (u64, i64) {
    let bits = number.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

fn sign(number: f64) -> &'static str {
    if number.is_sign_negative() { "-" } else { "" }
}

/// `%b`: the mantissa as an integer and a power of two.
fn binary(number: f64) -> String {
    let (mantissa, exponent) = parts(number);
    format!("{}{mantissa}p{exponent:+}", sign(number))
}

/// `%x`: `0x1.hhhp±dd`.
fn hexadecimal(number: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(number);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One digit before the point, which then stands above bit 52.
        let shift = mantissa.leading_zeros() - 11;
        mantissa <<= shift;
        exponent += 52 - i64::from(shift);
    }
    if let Some(precision) = precision.filter(|&precision| precision < 13) {
        let dropped = u32::try_from(4 * (13 - precision)).unwrap_or(0);
        let (kept, lost, half) =
            (mantissa >> dropped, mantissa & ((1 << dropped) - 1), 1_u64 << (dropped - 1));
        mantissa = (kept + u64::from(lost > half || (lost == half && kept & 1 == 1))) << dropped;
        if mantissa >> 53 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut digits = format!("{:013x}", mantissa & ((1 << 52) - 1));
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) if precision <= digits.len() => digits.truncate(precision),
        Some(precision) => digits.push_str(&"0".repeat(precision - digits.len())),
    }
    let point = if digits.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{}0x{}{point}{digits}p{exponent_sign}{:02}",
        sign(number),
        mantissa >> 52,
        exponent.unsigned_abs()
    )
}
