//! What sprig's crypto functions compute: digests, passwords, encryption, keys and certificates.
//!
//! Randomness and time are parameters. The errors carry the texts of Go and sprig.

mod certificate;
mod dsa;
mod key;
mod password;
mod pem;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use aes::Aes256;
use cbc::cipher::block_padding::{NoPadding, Pkcs7};
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use sha2::Digest as _;

pub use certificate::{
    Certificate, CertificateError, Request, custom_certificate, generate_ca, generate_self_signed,
    generate_signed,
};
pub use key::{Key, KeyError, generate_private_key};
pub use password::{bcrypt, derive_password, htpasswd};
pub(crate) use pem::read_der;

use crate::go::encoding;

/// A source of random bytes.
pub type Random<'r> = dyn FnMut(&mut [u8]) + 'r;

/// The source as the key generators want it.
struct Source<'s, 'r>(&'s mut Random<'r>);

impl rand::TryRng for Source<'_, '_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        (self.0)(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        (self.0)(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        (self.0)(buffer);
        Ok(())
    }
}

impl rand::TryCryptoRng for Source<'_, '_> {}

/// SHA-1 in hexadecimal.
pub fn sha1_hex(bytes: &[u8]) -> String {
    encoding::hex_encode(&sha1::Sha1::digest(bytes))
}

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    encoding::hex_encode(&sha2::Sha256::digest(bytes))
}

/// SHA-512 in hexadecimal.
pub fn sha512_hex(bytes: &[u8]) -> String {
    encoding::hex_encode(&sha2::Sha512::digest(bytes))
}

/// The Adler-32 checksum (RFC 1950).
pub fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

/// Writes 16 random bytes as a version 4 UUID.
pub fn uuid_v4(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let digits = encoding::hex_encode(&bytes);
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default()).join("-")
}

/// Returns a number below `bound`, each equally likely; 0 for a bound of 0.
pub fn random_below(bound: u64, random: &mut Random<'_>) -> u64 {
    if bound < 2 {
        return 0;
    }
    // Numbers above the last whole multiple would favour the small remainders.
    let limit = u64::MAX - u64::MAX % bound;
    let mut number = u64::MAX;
    // A source that never gives a usable number is broken; it must not hold up the render for ever.
    for _ in 0..100 {
        let mut bytes = [0; 8];
        random(&mut bytes);
        number = u64::from_le_bytes(bytes);
        if number < limit {
            break;
        }
    }
    number % bound
}

/// Returns a random text of characters of an alphabet, each equally likely.
pub fn random_text(alphabet: &[u8], count: usize, random: &mut Random<'_>) -> Vec<u8> {
    let size = u64::try_from(alphabet.len()).unwrap_or(u64::MAX);
    let pick = |_| {
        let index = usize::try_from(random_below(size, random)).unwrap_or(0);
        alphabet.get(index).copied().unwrap_or_default()
    };
    (0..count).map(pick).collect()
}

/// The key that AES-256 gets from a password: its bytes, cut or filled up with zeros.
fn aes_key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().zip(password) {
        *place = *byte;
    }
    key
}

/// Encrypts with AES-256-CBC (sprig `encryptAES`): base64 of the initialisation vector and the cipher text.
/// The empty text stays empty.
pub fn encrypt_aes(password: &[u8], text: &[u8], vector: [u8; 16]) -> String {
    if text.is_empty() {
        return String::new();
    }
    let cipher = cbc::Encryptor::<Aes256>::new(&aes_key(password).into(), &vector.into());
    let mut body = text.to_vec();
    body.resize(text.len() + 16, 0);
    // The buffer has room for any padding, so this does not fail.
    let body = cipher.encrypt_padded::<Pkcs7>(&mut body, text.len()).unwrap_or_default();
    encoding::base64_encode(&[&vector, body].concat())
}

/// Decrypts what [`encrypt_aes`] wrote (sprig `decryptAES`). As there, a wrong password is not noticed
/// unless the padding makes no sense.
///
/// # Errors
/// The message of Go's error or panic.
pub fn decrypt_aes(password: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = encoding::base64_decode(text).map_err(|error| error.to_string())?;
    let Some((vector, body)) = bytes.split_first_chunk::<16>() else {
        let capacity = text.len() / 4 * 3;
        return Err(format!("runtime error: slice bounds out of range [:16] with capacity {capacity}"));
    };
    let cipher = cbc::Decryptor::<Aes256>::new(&aes_key(password).into(), &(*vector).into());
    let mut body = body.to_vec();
    let plain = cipher
        .decrypt_padded::<NoPadding>(&mut body)
        .map_err(|_| "crypto/cipher: input not full blocks".to_owned())?;
    let padding = plain.last().ok_or("runtime error: index out of range [-1]")?;
    match plain.len().checked_sub(usize::from(*padding)) {
        Some(length) => Ok(plain.get(..length).unwrap_or_default().to_owned()),
        None => {
            let end = i64::try_from(plain.len()).unwrap_or(0) - i64::from(*padding);
            Err(format!("runtime error: slice bounds out of range [:{end}]"))
        }
    }
}
