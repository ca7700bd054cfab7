//! How Go writes floating-point numbers.
//!
//! The rules are those of Go's `strconv.FormatFloat` with the shortest digits that read back as the same
//! number. Rust finds the same digits; only the layout differs.

/// The shortest decimal digits of a finite number and its decimal exponent (`d.ddd × 10^exponent`).
fn shortest_digits(number: f64) -> (String, i32) {
    let number = number.abs();
    let text = format!("{number:e}");
    let (mantissa, exponent) = split_exponent(&text);
    if number.fract() == 0.0 || mantissa.ends_with(['0', '2', '4', '6', '8']) {
        return (mantissa.replace('.', ""), exponent);
    }
    // Two shortest forms can be equally near (309.453125 as a 32-bit number). Rust then takes the upper one
    // and Go the even one, which is what rounding to that many digits gives.
    let decimals = mantissa.len().saturating_sub(2);
    let rounded = format!("{number:.decimals$e}");
    if rounded.parse() == Ok(number) {
        let (mantissa, exponent) = split_exponent(&rounded);
        return (mantissa.replace('.', ""), exponent);
    }
    (mantissa.replace('.', ""), exponent)
}

fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn special(number: f64) -> Option<&'static str> {
    match number {
        n if n.is_nan() => Some("NaN"),
        n if n == f64::INFINITY => Some("+Inf"),
        n if n == f64::NEG_INFINITY => Some("-Inf"),
        _ => None,
    }
}

/// Returns Go's `%v` of a `float64`: `strconv.FormatFloat(number, 'g', -1, 64)`.
pub fn format_g(number: f64) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let (_, exponent) = shortest_digits(number);
    // `strconv` decides with precision 6 when the digits are the shortest possible.
    if (-4..6).contains(&exponent) { format_f(number) } else { format_e(number) }
}

/// Returns `strconv.FormatFloat(number, 'g', -1, 32)`: the shortest digits of the nearest `float32`.
pub fn format_g32(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to a float32 is what Go does here")]
    let narrow = number as f32;
    // The shortest digits of a `float32` are those that Rust prints for it; as a `float64` they print alike.
    format_g(format!("{narrow:e}").parse().unwrap_or(number))
}

/// Returns `strconv.FormatFloat(number, 'e', -1, 64)`: at least two digits of exponent, always signed.
pub fn format_e(number: f64) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let (digits, exponent) = shortest_digits(number);
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.abs())
}

/// Returns `strconv.FormatFloat(number, 'f', -1, 64)`: never an exponent.
pub fn format_f(number: f64) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    if number.fract() == 0.0 {
        // Rust's Display never uses an exponent; `-0` keeps its sign as in Go.
        return format!("{number}");
    }
    let (digits, exponent) = shortest_digits(number);
    let sign = if number.is_sign_negative() { "-" } else { "" };
    match usize::try_from(exponent) {
        Ok(power) => {
            let (whole, fraction) = digits.split_at_checked(power + 1).unwrap_or((digits.as_str(), "0"));
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) => {
            let zeros = usize::try_from(-1 - i64::from(exponent)).unwrap_or(0);
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
    }
}

/// Returns the number as Go's `encoding/json` writes it, or nothing for NaN and infinities, which it refuses.
///
/// Source: Go `encoding/json`, `floatEncoder`: plain decimals for 1e-6 ≤ |x| < 1e21, else an exponent whose
/// single-digit form loses its leading zero (`e-09` becomes `e-9`).
pub fn format_json(number: f64) -> Option<String> {
    if special(number).is_some() {
        return None;
    }
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return Some(format_f(number));
    }
    let text = format_e(number);
    Some(match text.split_once("e-0") {
        Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_go_prints_them() {
        // Answers of Go 1.26: fmt.Sprint(x), json.Marshal(x).
        for (number, general, json) in [
            (0.0, "0", "0"),
            (-0.0, "-0", "-0"),
            (1.0, "1", "1"),
            (100_000.0, "100000", "100000"),
            (999_999.0, "999999", "999999"),
            (1_000_000.0, "1e+06", "1000000"),
            (1_234_567.89, "1.23456789e+06", "1234567.89"),
            (12_345_678.0, "1.2345678e+07", "12345678"),
            (123_456.789, "123456.789", "123456.789"),
            (1_135.117_736_816_406_2, "1135.1177368164062", "1135.1177368164062"),
            (11_489_577.512_695_312, "1.1489577512695312e+07", "11489577.512695312"),
            (1e20, "1e+20", "100000000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (1e100, "1e+100", "1e+100"),
            (0.0001, "0.0001", "0.0001"),
            (0.00001, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (1.5e-10, "1.5e-10", "1.5e-10"),
        ] {
            assert_eq!(format_g(number), general);
            assert_eq!(format_json(number).as_deref(), Some(json));
        }
        assert_eq!(format_g(f64::INFINITY), "+Inf");
        assert_eq!(format_json(f64::NAN), None);
    }
}
