//! Private keys: making them, and reading them from PEM.

use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey};
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey};

use super::dsa::DsaKey;
use super::pem::{self, der, der_integer, der_sequence, read_der};
use super::{Random, Source};
use crate::go::utf8;

/// A private key in the forms that are needed.
#[derive(Clone, Debug)]
pub struct Key {
    /// The PEM text that sprig shows for the key.
    pub(super) pem: String,
    /// PKCS #8, which signing takes; nothing for DSA, which signs nothing here.
    pub(super) pkcs8: Option<Vec<u8>>,
}

/// Why a key cannot be read or made. Display is sprig's text up to the colon, behind which Go would name the
/// detail in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No PEM block.
    #[error("no PEM data in input")]
    NoPem,
    /// A block that is no private key.
    #[error("no private key data in PEM block of type {0}")]
    NotPrivate(String),
    /// A private key of an unknown kind.
    #[error("invalid private key type {0}")]
    UnknownKind(String),
    /// A broken PKCS #8 key.
    #[error("decoding PEM as PKCS#8: {0}")]
    Pkcs8(String),
    /// A broken key of another kind.
    #[error("parsing {kind} private key from PEM: {problem}")]
    Broken {
        /// `RSA`, `EC` or `DSA`.
        kind: &'static str,
        /// What is wrong.
        problem: String,
    },
}

const PRIVATE_KEY: &str = "PRIVATE KEY";
/// The object identifier of an algorithm or curve, as a DER element.
const EC_PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1];
const P256: &[u8] = &[0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7];
const ED25519: &[u8] = &[0x06, 3, 0x2B, 0x65, 0x70];

impl Key {
    /// Makes an RSA key.
    pub(super) fn rsa(bits: usize, random: &mut Random<'_>) -> Result<Key, String> {
        let key = rsa::PrivateKey::new(&mut Source(random), bits).map_err(|error| error.to_string())?;
        Key::of_rsa(&key)
    }

    fn of_rsa(key: &rsa::PrivateKey) -> Result<Key, String> {
        let pkcs1 = key.to_pkcs1_der().map_err(|error| error.to_string())?;
        let pkcs8 = key.to_pkcs8_der().map_err(|error| error.to_string())?;
        let pem = pem::encode("RSA PRIVATE KEY", pkcs1.as_bytes());
        Ok(Key { pem, pkcs8: Some(pkcs8.as_bytes().to_vec()) })
    }

    /// Makes an ECDSA key on the curve P-256.
    fn ecdsa(random: &mut Random<'_>) -> Key {
        loop {
            let mut secret = [0; 32];
            random(&mut secret);
            // Zero and numbers above the order of the curve are no keys.
            if let Ok(key) = p256::SecretKey::from_slice(&secret) {
                return Key::of_ec(P256, &secret, &key.public_key().to_sec1_bytes());
            }
        }
    }

    fn of_ec(curve: &[u8], secret: &[u8], point: &[u8]) -> Key {
        let number = || der(0x04, secret);
        let public = der(0xA1, &der(0x03, &[&[0], point].concat()));
        let sec1 = der_sequence(&[der_integer(&[1]), number(), der(0xA0, curve), public.clone()]);
        // The curve stands in the algorithm, so not in the key again.
        let inner = der_sequence(&[der_integer(&[1]), number(), public]);
        let algorithm = der_sequence(&[EC_PUBLIC_KEY.to_vec(), curve.to_vec()]);
        let pkcs8 = der_sequence(&[der_integer(&[]), algorithm, der(0x04, &inner)]);
        Key { pem: pem::encode("EC PRIVATE KEY", &sec1), pkcs8: Some(pkcs8) }
    }

    /// Makes an Ed25519 key from its seed.
    fn ed25519(seed: &[u8; 32]) -> Key {
        let algorithm = der_sequence(&[ED25519.to_vec()]);
        let pkcs8 = der_sequence(&[der_integer(&[]), algorithm, der(0x04, &der(0x04, seed))]);
        Key { pem: pem::encode(PRIVATE_KEY, &pkcs8), pkcs8: Some(pkcs8) }
    }

    /// Returns the key in PKCS #8; nothing for DSA.
    pub(crate) fn pkcs8(&self) -> Option<&[u8]> {
        self.pkcs8.as_deref()
    }

    /// Reads a private key in PEM: PKCS #8, or one of the older forms.
    ///
    /// # Errors
    /// There is no key, or one that cannot be read.
    pub fn parse(text: &[u8]) -> Result<Key, KeyError> {
        let block = pem::decode(text).ok_or(KeyError::NoPem)?;
        if block.kind == PRIVATE_KEY {
            return pkcs8(&block.bytes).map_err(KeyError::Pkcs8);
        }
        let Some(kind) = block.kind.strip_suffix(" PRIVATE KEY") else {
            return Err(KeyError::NotPrivate(block.kind));
        };
        let broken = |kind| move |problem| KeyError::Broken { kind, problem };
        match kind {
            "RSA" => rsa::PrivateKey::from_pkcs1_der(&block.bytes)
                .map_err(|error| error.to_string())
                .and_then(|key| Key::of_rsa(&key))
                .map_err(broken("RSA")),
            "EC" => ec(&block.bytes, None).map_err(broken("EC")),
            "DSA" => match read_der(&block.bytes) {
                Some((0x30, _, _)) => Ok(Key { pem: pem::encode(&block.kind, &block.bytes), pkcs8: None }),
                _ => Err(broken("DSA")("asn1: structure error".to_owned())),
            },
            _ => Err(KeyError::UnknownKind(kind.to_owned())),
        }
    }
}

fn pkcs8(bytes: &[u8]) -> Result<Key, String> {
    let malformed = || "asn1: structure error".to_owned();
    let fields = || {
        let (_, content, _) = read_der(bytes).filter(|&(tag, _, _)| tag == 0x30)?;
        let (_, _, rest) = read_der(content)?;
        let (_, algorithm, rest) = read_der(rest)?;
        let (_, key, _) = read_der(rest)?;
        Some((algorithm, key))
    };
    let (algorithm, key) = fields().ok_or_else(malformed)?;
    if algorithm == ED25519 {
        let (_, seed, _) = read_der(key).ok_or_else(malformed)?;
        return Ok(Key::ed25519(
            seed.try_into().map_err(|_| "x509: invalid Ed25519 private key".to_owned())?,
        ));
    }
    if let Some(curve) = algorithm.strip_prefix(EC_PUBLIC_KEY) {
        return ec(key, Some(curve));
    }
    let key = rsa::PrivateKey::from_pkcs8_der(bytes).map_err(|error| error.to_string())?;
    Key::of_rsa(&key)
}

/// Reads an EC key in the form of RFC 5915; the curve may be known from around it.
fn ec(bytes: &[u8], known_curve: Option<&[u8]>) -> Result<Key, String> {
    let fields = || {
        let (_, content, _) = read_der(bytes).filter(|&(tag, _, _)| tag == 0x30)?;
        let (_, _, rest) = read_der(content)?;
        let (_, secret, mut rest) = read_der(rest).filter(|&(tag, _, _)| tag == 0x04)?;
        let (mut curve, mut point) = (known_curve, None);
        while let Some((tag, inner, tail)) = read_der(rest) {
            match tag {
                0xA0 => curve = curve.or(Some(inner)),
                0xA1 => point = read_der(inner).and_then(|(_, bits, _)| bits.strip_prefix(&[0])),
                _ => {}
            }
            rest = tail;
        }
        Some((curve?, secret, point))
    };
    let (curve, secret, point) = fields().ok_or("x509: failed to parse EC private key")?;
    if let Some(point) = point {
        return Ok(Key::of_ec(curve, secret, point));
    }
    if curve != P256 {
        return Err("x509: EC private key without its public key".to_owned());
    }
    let key = p256::SecretKey::from_slice(secret).map_err(|error| error.to_string())?;
    Ok(Key::of_ec(curve, &key.to_bytes(), &key.public_key().to_sec1_bytes()))
}

/// Makes a private key of a kind and returns it in PEM, or the text of an error (sprig `genPrivateKey`).
pub fn generate_private_key(kind: &[u8], random: &mut Random<'_>) -> String {
    match kind {
        b"" | b"rsa" => match Key::rsa(4096, random) {
            Ok(key) => key.pem,
            Err(error) => format!("failed to generate private key: {error}"),
        },
        b"dsa" => pem::encode("DSA PRIVATE KEY", &DsaKey::generate(2048, 256, random).to_der()),
        b"ecdsa" => Key::ecdsa(random).pem,
        b"ed25519" => {
            let mut seed = [0; 32];
            random(&mut seed);
            Key::ed25519(&seed).pem
        }
        other => format!("Unknown type {}", utf8::to_valid(other)),
    }
}
