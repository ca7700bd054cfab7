//! Resource quantities: `1000m`, `1`, `1024Mi`, `1Gi` compared by what they mean.
//!
//! Source: Kubernetes `apimachinery/pkg/api/resource/quantity.go`.

use serde_json::Value as Json;

use super::path::FieldPath;

/// Members whose values, or whose members' values, are quantities in built-in kinds and in most custom ones.
const PARENTS: [&str; 13] = [
    "limits",
    "requests",
    "capacity",
    "allocatable",
    "hard",
    "overhead",
    "podFixed",
    "default",
    "defaultRequest",
    "max",
    "min",
    "maxLimitRequestRatio",
    "allocatedResources",
];
const FIELDS: [&str; 6] = ["sizeLimit", "divisor", "averageValue", "storage", "value", "maximumVolumeSize"];

/// Tells whether a quantity stands at this path. Elsewhere `1000m` is only text.
pub(super) fn is_quantity(path: &FieldPath) -> bool {
    let mut keys = path.keys().rev();
    let field = keys.next().unwrap_or_default();
    let parent = keys.next().unwrap_or_default();
    // `value` is also the text of an environment variable; of the metrics' it stands below `target`.
    (FIELDS.contains(&field) && (field != "value" || parent == "target")) || PARENTS.contains(&parent)
}

/// Tells whether two texts or numbers mean the same quantity.
pub(super) fn equal(a: &Json, b: &Json) -> bool {
    let nano = |json: &Json| match json {
        Json::String(text) => parse(text),
        Json::Number(number) => parse(&number.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    };
    nano(a).is_some_and(|a| nano(b) == Some(a))
}

/// Returns the order of two quantities; nothing if one of them is none.
pub fn compare(a: &str, b: &str) -> Option<std::cmp::Ordering> {
    Some(parse(a)?.cmp(&parse(b)?))
}

/// Returns a quantity in billionths, the finest step Kubernetes keeps; nothing if it is none or out of range.
pub fn parse(text: &str) -> Option<i128> {
    const BILLION: i128 = 1_000_000_000;
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, exponent) = scale(suffix)?;
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scaled = mantissa.checked_mul(factor)?.checked_mul(BILLION)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let value = if exponent >= 0 {
        scaled.checked_mul(power)?
    } else {
        // Finer than a billionth is rounded up, away from zero.
        scaled / power + i128::from(scaled % power != 0)
    };
    Some(if negative { -value } else { value })
}

/// Returns a binary factor and a decimal exponent.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        exponent => (1, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_compared_by_value() {
        for (a, b, expected) in [
            (json!("1000m"), json!("1"), true),
            (json!("1000m"), json!(1), true),
            (json!("1.0"), json!(1), true),
            (json!(0.5), json!("500m"), true),
            (json!("1024Mi"), json!("1Gi"), true),
            (json!("1073741824"), json!("1Gi"), true),
            (json!("1e3"), json!("1k"), true),
            (json!("1E3"), json!("1000"), true),
            (json!("1E"), json!("1000P"), true),
            (json!("-1"), json!("-1000m"), true),
            (json!(".5"), json!("500m"), true),
            (json!("1n"), json!("0.000000001"), true),
            (json!("1G"), json!("1Gi"), false),
            (json!("1"), json!("2"), false),
            (json!("a"), json!("a"), false),
            (json!(""), json!(""), false),
            (json!("1x"), json!("1x"), false),
            (json!("1e400"), json!("1e400"), false),
            (json!("1-1"), json!("1-1"), false),
            (json!("99999999999999999999999999999999999999"), json!("1"), false),
            (json!(null), json!(null), false),
        ] {
            assert_eq!(equal(&a, &b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_known_fields_hold_quantities() {
        let path = |text: &str| text.split('.').fold(FieldPath::default(), |path, key| path.key(key));
        for (text, expected) in [
            ("spec.containers.resources.limits.cpu", true),
            ("spec.resources.requests.storage", true),
            ("spec.hard.pods", true),
            ("spec.volumes.emptyDir.sizeLimit", true),
            ("spec.metrics.resource.target.averageValue", true),
            ("spec.metrics.external.target.value", true),
            ("spec.containers.env.value", false),
            ("data.cpu", false),
            ("metadata.labels.size", false),
        ] {
            assert_eq!(is_quantity(&path(text)), expected, "{text}");
        }
    }
}
