//! Decimal numbers of any size, for `addf`, `subf`, `mulf` and `divf`: sums such as 0.1 + 0.2 come out exact.
//!
//! Source of the rules: shopspring/decimal. Speed does not matter; numbers have a few dozen digits.

use std::cmp::Ordering;

/// How many places a quotient keeps.
const QUOTIENT_PLACES: i32 = 16;

/// A number `± digits × 10^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Decimal digits, the lowest first, without zeros at the high end. Empty for zero.
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    /// Returns the shortest decimal that reads back as `number`; nothing for infinities and what is no number.
    pub(super) fn new(number: f64) -> Option<Decimal> {
        if !number.is_finite() {
            return None;
        }
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = mantissa.bytes().rev().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Some(Decimal {
            is_negative: number < 0.0,
            digits: trimmed(digits),
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(places).ok()?,
        })
    }

    /// Returns the nearest float.
    pub(super) fn to_float(&self) -> f64 {
        let mut text = String::with_capacity(self.digits.len() + 8);
        if self.is_negative {
            text.push('-');
        }
        text.extend(self.digits.iter().rev().map(|digit| char::from(digit + b'0')));
        if self.digits.is_empty() {
            // There is no negative zero.
            return 0.0;
        }
        text.push('e');
        text.push_str(&self.exponent.to_string());
        text.parse().unwrap_or(0.0)
    }

    pub(super) fn add(&self, other: &Decimal) -> Decimal {
        let exponent = self.exponent.min(other.exponent);
        let (first, second) = (self.scaled(exponent), other.scaled(exponent));
        let (is_negative, digits) = if self.is_negative == other.is_negative {
            (self.is_negative, sum(&first, &second))
        } else if compare(&first, &second) == Ordering::Less {
            (other.is_negative, difference(&second, &first))
        } else {
            (self.is_negative, difference(&first, &second))
        };
        Decimal { is_negative, digits, exponent }
    }

    pub(super) fn sub(&self, other: &Decimal) -> Decimal {
        self.add(&Decimal { is_negative: !other.is_negative, ..other.clone() })
    }

    pub(super) fn mul(&self, other: &Decimal) -> Decimal {
        let mut digits = vec![0_u32; self.digits.len() + other.digits.len()];
        for (low, first) in self.digits.iter().enumerate() {
            let mut carry = 0;
            for (high, second) in other.digits.iter().enumerate() {
                let cell = &mut digits[low + high];
                let value = *cell + u32::from(*first) * u32::from(*second) + carry;
                *cell = value % 10;
                carry = value / 10;
            }
            if carry > 0 {
                digits[low + other.digits.len()] += carry;
            }
        }
        let digits = digits.into_iter().map(|digit| u8::try_from(digit).unwrap_or(0)).collect();
        Decimal {
            is_negative: self.is_negative != other.is_negative,
            digits: trimmed(digits),
            exponent: self.exponent.saturating_add(other.exponent),
        }
    }

    /// Returns the quotient rounded to 16 places, halves away from zero; nothing when `other` is zero.
    pub(super) fn div(&self, other: &Decimal) -> Option<Decimal> {
        if other.digits.is_empty() {
            return None;
        }
        // Shift so that the integer quotient has one place more than is kept.
        let shift = QUOTIENT_PLACES + 1 + self.exponent - other.exponent;
        let shifted = |digits: &[u8], by: i32| {
            let mut long = vec![0; usize::try_from(by).unwrap_or(0)];
            long.extend_from_slice(digits);
            trimmed(long)
        };
        let quotient = quotient(&shifted(&self.digits, shift), &shifted(&other.digits, -shift));
        let round_up = quotient.first().is_some_and(|digit| *digit >= 5);
        let kept = quotient.get(1..).unwrap_or_default().to_vec();
        Some(Decimal {
            is_negative: self.is_negative != other.is_negative,
            digits: if round_up { sum(&kept, &[1]) } else { kept },
            exponent: -QUOTIENT_PLACES,
        })
    }

    /// The digits at a lower exponent.
    fn scaled(&self, exponent: i32) -> Vec<u8> {
        let mut digits = vec![0; usize::try_from(self.exponent - exponent).unwrap_or(0)];
        digits.extend_from_slice(&self.digits);
        trimmed(digits)
    }
}

fn trimmed(mut digits: Vec<u8>) -> Vec<u8> {
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

fn compare(first: &[u8], second: &[u8]) -> Ordering {
    first.len().cmp(&second.len()).then_with(|| first.iter().rev().cmp(second.iter().rev()))
}

fn sum(first: &[u8], second: &[u8]) -> Vec<u8> {
    let length = first.len().max(second.len());
    let mut digits = Vec::with_capacity(length + 1);
    let mut carry = 0;
    for place in 0..length {
        let value = digit(first, place) + digit(second, place) + carry;
        digits.push(value % 10);
        carry = value / 10;
    }
    digits.push(carry);
    trimmed(digits)
}

/// `first - second`, which must not be negative.
fn difference(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(first.len());
    let mut borrow = 0;
    for place in 0..first.len() {
        let value = 10 + digit(first, place) - digit(second, place) - borrow;
        digits.push(value % 10);
        borrow = u8::from(value < 10);
    }
    trimmed(digits)
}

fn digit(digits: &[u8], place: usize) -> u8 {
    digits.get(place).copied().unwrap_or(0)
}

/// The whole quotient, by long division.
fn quotient(dividend: &[u8], divisor: &[u8]) -> Vec<u8> {
    let mut rest: Vec<u8> = Vec::new();
    let mut result = Vec::with_capacity(dividend.len());
    for digit in dividend.iter().rev() {
        rest.insert(0, *digit);
        rest = trimmed(rest);
        let mut times = 0;
        while compare(&rest, divisor) != Ordering::Less {
            rest = difference(&rest, divisor);
            times += 1;
        }
        result.push(times);
    }
    result.reverse();
    trimmed(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Operation = fn(&Decimal, &Decimal) -> Decimal;

    #[test]
    fn arithmetic_is_that_of_decimals() {
        let cases: [(f64, Operation, f64, f64); 7] = [
            (0.1, Decimal::add, 0.2, 0.3),
            (1.0, Decimal::sub, 0.9, 0.1),
            (1e300, Decimal::sub, 1e-300, 1e300),
            (-1.5, Decimal::add, 1.5, 0.0),
            (1.1, Decimal::mul, 1.1, 1.21),
            (-3.0, Decimal::mul, 0.1, -0.3),
            (123_456_789.123, Decimal::mul, 987_654_321.987, 121_932_631_355_968_590.0),
        ];
        for (first, operation, second, result) in cases {
            let got = operation(&Decimal::new(first).unwrap(), &Decimal::new(second).unwrap()).to_float();
            assert!((got - result).abs() <= result.abs() * 1e-15, "{first} {second}: {got}");
        }
    }

    #[test]
    fn quotients_are_rounded_to_16_places() {
        for (first, second, result) in [
            (1.0, 3.0, 0.333_333_333_333_333_3),
            (2.0, 3.0, 0.666_666_666_666_666_7),
            (-1.0, 8.0, -0.125),
            (1e-20, 1.0, 0.0),
            (1e20, 4.0, 2.5e19),
        ] {
            let quotient = Decimal::new(first).unwrap().div(&Decimal::new(second).unwrap()).unwrap();
            assert_eq!(quotient.to_float().to_string(), f64::to_string(&result), "{first} / {second}");
        }
        assert!(Decimal::new(1.0).unwrap().div(&Decimal::new(0.0).unwrap()).is_none());
    }
}
