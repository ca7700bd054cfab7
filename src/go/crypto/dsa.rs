//! DSA keys, which `genPrivateKey "dsa"` still makes.

use num_bigint::BigUint;

use super::Random;
use super::pem::{der_integer, der_sequence};

/// How often a candidate is tested before it counts as prime; Go does the same.
const TESTS: usize = 64;

/// A private key with its parameters.
#[derive(Debug)]
pub(super) struct DsaKey {
    p: BigUint,
    q: BigUint,
    g: BigUint,
    y: BigUint,
    x: BigUint,
}

impl DsaKey {
    /// Makes parameters with a modulus of `modulus_bits` and a subgroup of `order_bits`, and a key. Both must
    /// be whole bytes.
    ///
    /// Source: FIPS 186-3 A.1.1.2 and B.1 in the simplified form of Go's `crypto/dsa`: without a proof of how
    /// the primes came to be.
    pub(super) fn generate(modulus_bits: usize, order_bits: usize, random: &mut Random<'_>) -> DsaKey {
        let one = BigUint::from(1_u32);
        let (p, q) = parameters(modulus_bits, order_bits, random);
        let exponent = (&p - &one) / &q;
        let mut base = BigUint::from(2_u32);
        let mut g = base.modpow(&exponent, &p);
        while g == one {
            base += 1_u32;
            g = base.modpow(&exponent, &p);
        }
        let x = loop {
            let candidate = number(order_bits, random);
            if candidate > BigUint::ZERO && candidate < q {
                break candidate;
            }
        };
        let y = g.modpow(&x, &p);
        DsaKey { p, q, g, y, x }
    }

    /// The key as OpenSSL writes it: version 0, then the five numbers.
    pub(super) fn to_der(&self) -> Vec<u8> {
        let mut parts = vec![der_integer(&[])];
        parts.extend(
            [&self.p, &self.q, &self.g, &self.y, &self.x].map(|part| der_integer(&part.to_bytes_be())),
        );
        der_sequence(&parts)
    }
}

fn parameters(modulus_bits: usize, order_bits: usize, random: &mut Random<'_>) -> (BigUint, BigUint) {
    let (one, top) = (BigUint::from(1_u32), BigUint::from(1_u32) << (modulus_bits - 1));
    loop {
        let q = loop {
            let candidate = number(order_bits, random) | &one | (&one << (order_bits - 1));
            if is_prime(&candidate, random) {
                break candidate;
            }
        };
        for _ in 0..4 * modulus_bits {
            let candidate = number(modulus_bits, random) | &one | &top;
            // Made one more than a multiple of the order.
            let p = &candidate - (&candidate % &q - &one);
            if p >= top && is_prime(&p, random) {
                return (p, q);
            }
        }
    }
}

fn number(bits: usize, random: &mut Random<'_>) -> BigUint {
    let mut bytes = vec![0; bits / 8];
    random(&mut bytes);
    BigUint::from_bytes_be(&bytes)
}

/// Tests by small divisors and by Miller and Rabin.
fn is_prime(candidate: &BigUint, random: &mut Random<'_>) -> bool {
    let one = BigUint::from(1_u32);
    for divisor in (3_u32..2000).step_by(2) {
        if candidate % divisor == BigUint::ZERO {
            return *candidate == BigUint::from(divisor);
        }
    }
    let less_one = candidate - &one;
    let twos = less_one.trailing_zeros().unwrap_or(0);
    let odd = &less_one >> twos;
    let bits = usize::try_from(candidate.bits()).unwrap_or(0).next_multiple_of(8);
    (0..TESTS).all(|_| {
        let base = number(bits, random) % &less_one + &one;
        let mut power = base.modpow(&odd, candidate);
        if power == one || power == less_one {
            return true;
        }
        (1..twos).any(|_| {
            power = power.modpow(&BigUint::from(2_u32), candidate);
            power == less_one
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_its_parameters() {
        let mut state = 7_u64;
        let mut random = |buffer: &mut [u8]| {
            for byte in buffer {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *byte = state.to_be_bytes()[0];
            }
        };
        // Small, so that the test is quick; nothing depends on the sizes.
        let key = DsaKey::generate(256, 64, &mut random);
        let one = BigUint::from(1_u32);
        assert_eq!((key.p.bits(), key.q.bits()), (256, 64));
        assert_eq!((&key.p - &one) % &key.q, BigUint::ZERO);
        assert_eq!(key.g.modpow(&key.q, &key.p), one);
        assert_eq!(key.g.modpow(&key.x, &key.p), key.y);
        for (number, prime) in [(2003_u32, true), (2003 * 2011, false), (561, false), (2_147_483_647, true)] {
            assert_eq!(is_prime(&BigUint::from(number), &mut random), prime, "{number}");
        }
    }
}
