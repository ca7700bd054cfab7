//! What an unquoted scalar is: null, truth value, number, date or text.
//!
//! Source: go-yaml `resolve.go`, version 2 for everything that Helm reads and writes and version 3 for the
//! quoting of `toYamlPretty`.

/// The rules of one generation of go-yaml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// YAML 1.1: `yes`, `no`, `on`, `off`, `y` and `n` are truth values.
    V2,
    /// Those words are text.
    V3,
}

/// What a scalar turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A date: it is read as text, but must be quoted when text is written.
    Timestamp,
    Text,
}

impl Resolved {
    /// The short tag, as error texts name it.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Resolved::Null => "!!null",
            Resolved::Bool(_) => "!!bool",
            Resolved::Int(_) | Resolved::Uint(_) => "!!int",
            Resolved::Float(_) => "!!float",
            Resolved::Timestamp => "!!timestamp",
            Resolved::Text => "!!str",
        }
    }
}

/// Resolves a scalar by its spelling; `dates` tells whether it may be a timestamp.
pub(super) fn resolve(text: &str, schema: Schema, dates: bool) -> Resolved {
    let Some(&first) = text.as_bytes().first() else { return Resolved::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' => {
            if let Some(special) = special_float(text) {
                return Resolved::Float(special);
            }
            if dates && is_timestamp(text) {
                return Resolved::Timestamp;
            }
            number(text, schema)
        }
        b'.' => match special_float(text).or_else(|| go_float(text)) {
            Some(float) => Resolved::Float(float),
            None => Resolved::Text,
        },
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text, schema),
        _ => Resolved::Text,
    }
}

fn word(text: &str, schema: Schema) -> Resolved {
    match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        _ if schema == Schema::V3 => Resolved::Text,
        _ => old_bool(text).map_or(Resolved::Text, Resolved::Bool),
    }
}

/// The truth values of YAML 1.1 that later versions dropped.
pub(super) fn old_bool(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn special_float(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn number(text: &str, schema: Schema) -> Resolved {
    // Nearly all scalars that start with a digit or sign are short decimal numbers.
    let without;
    let plain = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    let (negative, digits) = match plain.as_bytes().first() {
        Some(b'-') => (true, &plain[1..]),
        Some(b'+') => (false, &plain[1..]),
        _ => (false, plain),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let signed = plain.len() > digits.len() && matches!(plain.as_bytes()[0], b'+' | b'-');
    if let Some(magnitude) = unsigned(digits, base)
        && let Some(number) = signed_int(magnitude, negative, signed)
    {
        return number;
    }
    if is_decimal_float(plain)
        && let Ok(float) = plain.parse::<f64>()
        && float.is_finite()
    {
        return Resolved::Float(float);
    }
    prefixed(plain, "b", 2)
        .or_else(|| if schema == Schema::V3 { prefixed(plain, "o", 8) } else { None })
        .unwrap_or(Resolved::Text)
}

/// Combines sign and magnitude: Go tries `ParseInt`, then `ParseUint`, which takes no sign.
fn signed_int(magnitude: u64, negative: bool, signed: bool) -> Option<Resolved> {
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Resolved::Int);
    }
    match i64::try_from(magnitude) {
        Ok(number) => Some(Resolved::Int(number)),
        Err(_) if !signed => Some(Resolved::Uint(magnitude)),
        Err(_) => None,
    }
}

fn unsigned(digits: &str, base: u32) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|digit| char::from(digit).is_digit(base)) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// go-yaml's second attempt at `0b…` (and in version 3 `0o…`): the sign may come behind the prefix.
fn prefixed(plain: &str, letter: &str, base: u32) -> Option<Resolved> {
    let rest = plain.strip_prefix('0')?.strip_prefix(letter)?;
    let (negative, signed, digits) = match rest.as_bytes().first()? {
        b'-' => (true, true, &rest[1..]),
        b'+' => (false, true, &rest[1..]),
        _ => (false, false, rest),
    };
    signed_int(unsigned(digits, base)?, negative, signed)
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_decimal_float(text: &str) -> bool {
    fn digits(bytes: &[u8]) -> (usize, &[u8]) {
        let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count, &bytes[count..])
    }
    let bytes = text.as_bytes();
    let bytes = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    let (whole, mut rest) = digits(bytes);
    if let Some(after) = rest.strip_prefix(b".") {
        let (fraction, after) = digits(after);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = after;
    } else if whole == 0 {
        return false;
    }
    match rest {
        [] => true,
        [b'e' | b'E', exponent @ ..] => {
            let exponent =
                exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
            let (count, rest) = digits(exponent);
            count > 0 && rest.is_empty()
        }
        _ => false,
    }
}

/// Go's `ParseFloat` for a text that starts with a point: digits may be separated by single underscores.
fn go_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        if byte == b'_' && !(digit(at.checked_sub(1)) && digit(at.checked_add(1))) {
            return None;
        }
    }
    let plain = text.replace('_', "");
    if !is_decimal_float(&plain) {
        return None;
    }
    plain.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// Whether Go's `time.Parse` takes the text in one of go-yaml's four layouts.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 5 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return false;
    }
    date(text).is_some_and(|rest| match rest.as_bytes().first() {
        None => true,
        Some(b'T' | b't') => time(&rest[1..]).is_some_and(zone),
        Some(b' ') => time(rest.trim_start_matches(' ')).is_some_and(str::is_empty),
        Some(_) => false,
    })
}

/// Takes `YYYY-M-D` and returns the rest.
fn date(text: &str) -> Option<&str> {
    let year: u32 = text[..4].parse().ok()?;
    let (month, rest) = one_or_two_digits(&text.as_bytes()[5..])?;
    let rest = rest.strip_prefix(b"-")?;
    let (day, rest) = one_or_two_digits(rest)?;
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > days {
        return None;
    }
    text.get(text.len() - rest.len()..)
}

/// Takes `H:M:S` with an optional fraction and returns the rest.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = one_or_two_digits(text.as_bytes())?;
    let (minute, rest) = one_or_two_digits(rest.strip_prefix(b":")?)?;
    let (second, mut rest) = one_or_two_digits(rest.strip_prefix(b":")?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if let [b'.' | b',', b'0'..=b'9', ..] = rest {
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = &rest[1 + digits..];
    }
    text.get(text.len() - rest.len()..)
}

/// Whether the text is `Z` or an offset such as `+02:00`.
fn zone(text: &str) -> bool {
    match text.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', hours @ .., b':', m1 @ b'0'..=b'9', m2 @ b'0'..=b'9'] => {
            let minutes = (m1 - b'0') * 10 + (m2 - b'0');
            matches!(hours, [h1 @ b'0'..=b'9', h2 @ b'0'..=b'9']
                if (h1 - b'0') * 10 + (h2 - b'0') <= 24 && minutes <= 60)
        }
        _ => false,
    }
}

fn one_or_two_digits(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(a - b'0') * 10 + u32::from(b - b'0'), rest))
        }
        [a @ b'0'..=b'9', rest @ ..] => Some((u32::from(a - b'0'), rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_resolve_as_in_go_yaml_v2() {
        let check = |text: &str, expected: Resolved| {
            assert_eq!(resolve(text, Schema::V2, true), expected, "{text:?}");
        };
        check("0b-1", Resolved::Int(-1));
        check("0b+1", Resolved::Int(1));
        check("-0b1", Resolved::Int(-1));
        check("+0x1F", Resolved::Int(31));
        check("-9223372036854775808", Resolved::Int(i64::MIN));
        check("-9223372036854775809", Resolved::Float(-9_223_372_036_854_775_808.0));
        check("+9223372036854775808", Resolved::Float(9_223_372_036_854_775_808.0));
        check("0xffffffffffffffff", Resolved::Uint(u64::MAX));
        check(".5_5", Resolved::Float(0.55));
        check(".5__5", Resolved::Text);
        check(".5_", Resolved::Text);
        check("0o-7", Resolved::Text);
        check("1e-400", Resolved::Float(0.0));
        check("--1", Resolved::Text);
        check("yes", Resolved::Bool(true));
        assert_eq!(resolve("yes", Schema::V3, true), Resolved::Text);
        assert_eq!(resolve("0o-7", Schema::V3, true), Resolved::Int(-7));
    }

    #[test]
    fn dates_are_those_that_go_parses() {
        for (text, expected) in [
            ("2001-01-01", true),
            ("2020-1-1", true),
            ("2020-02-29", true),
            ("2021-02-29", false),
            ("2020-13-45", false),
            ("2020-00-01", false),
            ("2001-12-14T21:59:43.10-05:00", true),
            ("2001-12-14t21:59:43Z", true),
            ("2001-12-14t21:59:43z", false),
            ("2001-12-14T21:59:43", false),
            ("2001-12-14 21:59:43.10 -5", false),
            ("2001-12-14 21:59:43,10", true),
            ("2001-12-14   1:2:3", true),
            ("2001-12-14 24:00:00", false),
            ("2001-12-14T1:2:3+24:60", true),
            ("2001-12-14T1:2:3+25:00", false),
            ("20011-12-14", false),
            ("2001-12-14x", false),
            ("2001-12", false),
        ] {
            assert_eq!(is_timestamp(text), expected, "{text:?}");
        }
    }
}
