//! Decimal arithmetic of shopspring/decimal, as far as sprig's `addf`, `subf`, `mulf` and `divf` use it.

use num_bigint::{BigInt, Sign};

use crate::value::number;

/// Decimals of a quotient.
const DIVISION_PRECISION: i64 = 16;
/// Powers of ten beyond this are not worked out: no chain of double-precision numbers of sane length needs it.
const MAX_EXPONENT: i64 = 100_000;

/// Why a result cannot be had. Display is the message of the panic in Go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// NaN or an infinity.
    #[error("Cannot create a Decimal from {0}")]
    NotFinite(String),
    /// A division by zero.
    #[error("decimal division by 0")]
    DivisionByZero,
    /// Numbers too far apart.
    #[error("decimal exponent out of range")]
    Exponent,
}

/// A number `value × 10^exponent`.
#[derive(Clone, Debug)]
pub struct Decimal {
    value: BigInt,
    exponent: i64,
}

impl Decimal {
    /// Returns the shortest decimal that names this double (`decimal.NewFromFloat`).
    ///
    /// # Errors
    /// The number is not finite.
    pub fn from_f64(number: f64) -> Result<Decimal, DecimalError> {
        let text = number::format_e(number);
        let parts = text.split_once('e').and_then(|(mantissa, exponent)| {
            let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            let value = mantissa.replace('.', "").parse().ok()?;
            let exponent: i64 = exponent.parse().ok()?;
            Some(Decimal { value, exponent: exponent - i64::try_from(decimals).ok()? })
        });
        parts.ok_or(DecimalError::NotFinite(text))
    }

    /// Returns the nearest double (`Float64`).
    pub fn to_f64(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Returns the sum.
    ///
    /// # Errors
    /// The two are too far apart.
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Decimal { value: self.scaled(exponent)? + other.scaled(exponent)?, exponent })
    }

    /// Returns the difference.
    ///
    /// # Errors
    /// The two are too far apart.
    pub fn sub(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        self.add(&Decimal { value: -other.value.clone(), exponent: other.exponent })
    }

    /// Returns the product.
    ///
    /// # Errors
    /// The exponent leaves its range.
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let exponent = self.exponent + other.exponent;
        if exponent.abs() > MAX_EXPONENT {
            return Err(DecimalError::Exponent);
        }
        Ok(Decimal { value: &self.value * &other.value, exponent })
    }

    /// Returns the quotient with 16 decimals, halves rounded away from zero (`Div`).
    ///
    /// # Errors
    /// The divisor is zero, or the two are too far apart.
    pub fn div(&self, divisor: &Decimal) -> Result<Decimal, DecimalError> {
        if divisor.value.sign() == Sign::NoSign {
            return Err(DecimalError::DivisionByZero);
        }
        let shift = self.exponent - divisor.exponent + DIVISION_PRECISION;
        let (mut dividend, mut by) = (self.value.clone(), divisor.value.clone());
        if shift < 0 {
            by *= power_of_ten(-shift)?;
        } else {
            dividend *= power_of_ten(shift)?;
        }
        let mut quotient = &dividend / &by;
        let rest = &dividend - &quotient * &by;
        if rest.magnitude() * 2_u32 >= *by.magnitude() {
            quotient += if dividend.sign() == by.sign() { 1 } else { -1 };
        }
        Ok(Decimal { value: quotient, exponent: -DIVISION_PRECISION })
    }

    fn scaled(&self, exponent: i64) -> Result<BigInt, DecimalError> {
        Ok(&self.value * power_of_ten(self.exponent - exponent)?)
    }
}

fn power_of_ten(exponent: i64) -> Result<BigInt, DecimalError> {
    let exponent = u32::try_from(exponent).ok().filter(|&exponent| i64::from(exponent) <= MAX_EXPONENT);
    Ok(BigInt::from(10).pow(exponent.ok_or(DecimalError::Exponent)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_decimal_arithmetic() {
        let number = |number| Decimal::from_f64(number).unwrap();
        let check = |result: Result<Decimal, DecimalError>, expected: f64| {
            assert_eq!(result.unwrap().to_f64(), expected);
        };
        check(number(0.1).add(&number(0.2)), 0.3);
        check(number(1e300).add(&number(1e-300)), 1e300);
        check(number(0.3).sub(&number(0.1)), 0.2);
        check(number(1.1).mul(&number(1.1)), 1.21);
        check(number(1e300).mul(&number(1e300)), f64::INFINITY);
        check(number(10.0).div(&number(3.0)), 3.333_333_333_333_333_3);
        check(number(2.0).div(&number(-3.0)), -0.666_666_666_666_666_7);
        check(number(1e-300).div(&number(1e300)), 0.0);
        check(number(0.0).div(&number(-3.0)), 0.0);
        assert_eq!(number(1.0).div(&number(0.0)).unwrap_err(), DecimalError::DivisionByZero);
        let infinite = Decimal::from_f64(f64::NEG_INFINITY).unwrap_err();
        assert_eq!(infinite.to_string(), "Cannot create a Decimal from -Inf");
    }

    #[test]
    fn long_chains_end_in_an_answer() {
        let tiny = Decimal::from_f64(1e-300).unwrap();
        let chain = (0..1000).try_fold(tiny.clone(), |product, _| product.mul(&tiny));
        assert_eq!(chain.unwrap_err(), DecimalError::Exponent);
    }
}
