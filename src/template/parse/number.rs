//! Number and character constants: which Go types a constant fits without loss.

use super::ast::Number;
use crate::go::strconv::{parse_float, parse_int, parse_uint, quote, unquote_char};
use crate::template::text::lossy;
use crate::template::value::Val;

/// Returns the value of a character constant such as `'a'`, quotes included.
pub(super) fn character(text: &[u8]) -> Result<Number, String> {
    let (rune, tail) = unquote_char(&text[1..], b'\'').map_err(|error| error.to_string())?;
    if tail != b"'" {
        return Err(format!("malformed character constant: {}", lossy(text)));
    }
    let code = rune.code();
    let int = i64::from(code);
    Ok(Number {
        text: lossy(text).into_owned(),
        int: Some(int),
        uint: Some(u64::from(code)),
        float: Some(f64::from(code)),
        ideal: Some(Val::Int(int)),
    })
}

/// Returns the value of an integer or floating-point constant.
pub(super) fn number(text: &[u8]) -> Result<Number, String> {
    let text = lossy(text).into_owned();
    if text.ends_with('i') {
        return Err(format!("complex constants are not supported: {}", quote(text.as_bytes())));
    }
    let mut number =
        Number { uint: parse_uint(&text, 0).ok(), int: parse_int(&text, 0).ok(), ..Number::default() };
    if number.int == Some(0) {
        // -0 is no unsigned number to the parser, but zero is.
        number.uint = Some(0);
    }
    if let Some(int) = number.int {
        number.float = Some(to_float(int));
    } else if let Some(uint) = number.uint {
        number.float = Some(to_float(uint));
    } else if let Ok(float) = parse_float(&text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote(text.as_bytes())));
        }
        number.float = Some(float);
        number.int = to_int(float);
        number.uint = to_uint(float);
    } else {
        return Err(format!("illegal number syntax: {}", quote(text.as_bytes())));
    }
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    number.ideal = match number {
        // The spelling decides: 1.0 is a float, although it would fit an integer.
        Number { float: Some(float), .. }
            if text.contains(if is_hexadecimal { &['p', 'P'][..] } else { &['.', 'e', 'E', 'p', 'P'] }) =>
        {
            Some(Val::Float(float))
        }
        Number { int, .. } => int.map(Val::Int),
    };
    number.text = text;
    Ok(number)
}

/// Returns the nearest float.
fn to_float(number: impl Into<i128>) -> f64 {
    number.into() as f64
}

/// Returns the number as an integer if nothing is lost.
fn to_int(float: f64) -> Option<i64> {
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
    (in_range && float.fract() == 0.0).then_some(float as i64)
}

/// Returns the number as an unsigned integer if nothing is lost.
fn to_uint(float: f64) -> Option<u64> {
    let in_range = (0.0..18_446_744_073_709_551_616.0).contains(&float);
    (in_range && float.fract() == 0.0).then_some(float as u64)
}
