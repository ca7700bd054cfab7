//! The one spelling of a quantity that the server stores.

use crate::diff::parse_quantity;

/// Returns a quantity as the server stores it: `1000m` is `1`, `1024Mi` is `1Gi`; nothing if it is none.
pub(super) fn canonical(text: &str) -> Option<String> {
    const NANO: i128 = 1_000_000_000;
    let text = text.trim();
    let value = parse_quantity(text)?;
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &text[number.len()..];
    let exponent = text.find(['e', 'E']).filter(|_| suffix.is_empty()).is_some();
    if suffix.ends_with('i') && value.abs() >= 1024 * NANO && value % NANO == 0 {
        let mut amount = value / NANO;
        let mut power = 0;
        while power < 6 && amount % 1024 == 0 {
            amount /= 1024;
            power += 1;
        }
        return Some(format!("{amount}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]));
    }
    let mut amount = value;
    let mut power = 0;
    while power < 9 && amount != 0 && amount % 1000 == 0 {
        amount /= 1000;
        power += 1;
    }
    if amount == 0 {
        return Some("0".to_owned());
    }
    Some(match (exponent, power) {
        (true, 3) => format!("{amount}"),
        (true, power) => format!("{amount}e{}", power as i32 * 3 - 9),
        (false, power) => format!("{amount}{}", ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][power]),
    })
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn each_amount_has_one_spelling() {
        for (text, expected) in [
            ("1000m", "1"),
            ("1.0", "1"),
            ("1", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1073741824", "1073741824"),
            ("100Mi", "100Mi"),
            ("0.1", "100m"),
            ("0Mi", "0"),
            ("512Ki", "512Ki"),
            ("1000", "1k"),
            ("2000k", "2M"),
            ("1e3", "1e3"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(canonical("much"), None);
    }
}
