//! Durations: nanoseconds in 64 bits, written as `1h2m3.5s`.

use super::parse::quote;

/// Why a text is not a duration. Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time: {problem} {text}")]
pub struct DurationError {
    problem: String,
    text: String,
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// One more than the largest duration, which only a negative one reaches.
const LIMIT: u64 = 1 << 63;

/// Reads a duration in nanoseconds (`time.ParseDuration`).
///
/// # Errors
/// The text is no duration, or one that 64 bits do not hold.
pub fn parse_duration(text: &[u8]) -> Result<i64, DurationError> {
    let fail = |problem: &str| DurationError { problem: problem.to_owned(), text: quote(text) };
    let invalid = || fail("invalid duration");
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if rest == b"0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let whole_digits = take_while(&mut rest, |byte| byte.is_ascii_digit());
        let fraction_digits = match rest.strip_prefix(b".") {
            Some(tail) => {
                rest = tail;
                take_while(&mut rest, |byte| byte.is_ascii_digit())
            }
            None => b"",
        };
        let whole = whole_value(whole_digits).ok_or_else(invalid)?;
        if whole_digits.is_empty() && fraction_digits.is_empty() {
            return Err(invalid());
        }
        let name = take_while(&mut rest, |byte| byte != b'.' && !byte.is_ascii_digit());
        let unit = match name {
            b"" => return Err(fail("missing unit in duration")),
            b"ns" => 1,
            b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => MICROSECOND,
            b"ms" => MILLISECOND,
            b"s" => SECOND,
            b"m" => MINUTE,
            b"h" => HOUR,
            _ => return Err(fail(&format!("unknown unit {} in duration", quote(name)))),
        };
        let value = whole.checked_mul(unit).filter(|&value| value <= LIMIT).ok_or_else(invalid)?;
        let value = value + fraction_value(fraction_digits, unit);
        total =
            total.checked_add(value).filter(|&total| value <= LIMIT && total <= LIMIT).ok_or_else(invalid)?;
    }
    if negative {
        Ok(0_i64.wrapping_sub_unsigned(total))
    } else {
        i64::try_from(total).map_err(|_| invalid())
    }
}

fn take_while<'t>(rest: &mut &'t [u8], accept: impl Fn(u8) -> bool) -> &'t [u8] {
    let length = rest.iter().take_while(|&&byte| accept(byte)).count();
    let (head, tail) = rest.split_at(length);
    *rest = tail;
    head
}

fn whole_value(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, &digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|&value| value <= LIMIT)
    })
}

/// The nanoseconds of a fraction, computed in floating point as Go does.
fn fraction_value(digits: &[u8], unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for &digit in digits {
        let Some(next) = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .filter(|&next| next <= LIMIT)
        else {
            break;
        };
        (value, scale) = (next, scale * 10.0);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the same rounding as in Go; the result is positive and below one unit"
    )]
    let nanoseconds = (value as f64 * (unit as f64 / scale)) as u64;
    nanoseconds
}

/// Writes a duration (`Duration.String`): `1h0m0s`, `1.5s`, `2ms`, `0s`.
pub fn format_duration(duration: i64) -> String {
    let sign = if duration < 0 { "-" } else { "" };
    let total = duration.unsigned_abs();
    if total < SECOND {
        let (unit, name) = match total {
            0 => return "0s".to_owned(),
            1..MICROSECOND => (1, "ns"),
            MICROSECOND..MILLISECOND => (MICROSECOND, "µs"),
            _ => (MILLISECOND, "ms"),
        };
        return format!("{sign}{}{name}", with_fraction(total, unit));
    }
    let (hours, minutes) = (total / HOUR, total / MINUTE % 60);
    let seconds = with_fraction(total % MINUTE, SECOND);
    match (hours, total / MINUTE) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, _) => format!("{sign}{minutes}m{seconds}s"),
        _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// `total / unit` with as many decimals as it has.
fn with_fraction(total: u64, unit: u64) -> String {
    let (whole, fraction) = (total / unit, total % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let places = usize::try_from(unit.ilog10()).unwrap_or(0);
    format!("{whole}.{}", format!("{fraction:0places$}").trim_end_matches('0'))
}

/// Rounds to the nearest multiple, halves away from zero (`Duration.Round`).
pub fn round_duration(duration: i64, multiple: i64) -> i64 {
    if multiple <= 0 {
        return duration;
    }
    let rest = (duration % multiple).unsigned_abs();
    let (distance, step) = (multiple.unsigned_abs() - rest, duration.signum());
    let up = rest.checked_mul(2).is_none_or(|double| double >= multiple.unsigned_abs());
    match (up, step < 0) {
        (false, true) => duration.saturating_add_unsigned(rest),
        (false, false) => duration.saturating_sub_unsigned(rest),
        (true, true) => duration.saturating_sub_unsigned(distance),
        (true, false) => duration.saturating_add_unsigned(distance),
    }
}

/// Cuts to a multiple, towards zero (`Duration.Truncate`).
pub fn truncate_duration(duration: i64, multiple: i64) -> i64 {
    if multiple <= 0 { duration } else { duration - duration % multiple }
}

/// Writes the size of a duration in its largest unit alone (sprig's `durationRound`): `3y`, `2mo`, `16d`,
/// `2h`. Exactly one unit still counts as the smaller unit; the sign is lost.
pub fn short_duration(duration: i64) -> String {
    let total = duration.unsigned_abs();
    [(365 * DAY, "y"), (30 * DAY, "mo"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")]
        .into_iter()
        .find(|&(unit, _)| total > unit)
        .map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", total / unit))
}
