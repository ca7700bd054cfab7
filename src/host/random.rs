//! The source of random numbers.
#![expect(clippy::disallowed_methods, reason = "this is the module that makes random sources")]

/// Returns unpredictable bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    rand::random()
}
