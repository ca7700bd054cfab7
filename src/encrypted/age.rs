//! Reading what was encrypted to X25519 recipients of age.
//!
//! Format: C2SP `age.md`, version 1. Passphrases, SSH keys, plugins and post-quantum keys are not read.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{hkdf, hmac};
use x25519_dalek::{PublicKey, StaticSecret};

const VERSION: &str = "age-encryption.org/v1";
const ARMOR_BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const ARMOR_END: &str = "-----END AGE ENCRYPTED FILE-----";
const FILE_KEY: usize = 16;
/// The plaintext of one chunk of the payload, and what its authentication adds.
const CHUNK: usize = 64 << 10;
const TAG: usize = 16;
/// More recipients than this are an attack.
const MOST_STANZAS: usize = 1000;

/// Base64 as age writes it: no padding, no spare bits.
const BARE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// A private key.
#[derive(Clone)]
pub struct Identity {
    secret: StaticSecret,
    recipient: [u8; 32],
}

impl std::fmt::Debug for Identity {
    /// Leaves the key out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

/// The keys of a text, and what of it is no key that can be used here.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// Those that can be used.
    pub known: Vec<Identity>,
    /// The kinds of the others, such as `age-plugin-yubikey`.
    pub others: Vec<String>,
}

impl Identities {
    /// Reads keys as `age-keygen` writes them: one a line, with comments.
    ///
    /// # Errors
    /// A line is no key. It is not repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let lines = text.lines().map(str::trim).enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let upper = line.to_ascii_uppercase();
            if upper.starts_with("AGE-SECRET-KEY-1") {
                let identity =
                    identity(line).ok_or_else(|| format!("line {} is a broken age key", at + 1))?;
                found.known.push(identity);
            } else if let Some(plugin) = upper.strip_prefix("AGE-PLUGIN-") {
                let name = plugin.rsplit_once("-1").map_or("", |(name, _)| name);
                found.others.push(format!("age-plugin-{}", name.to_ascii_lowercase()));
            } else if upper.starts_with("AGE-SECRET-KEY-") {
                found.others.push("a post-quantum age key".to_owned());
            } else if line.starts_with("-----BEGIN ") || line.starts_with("age-encryption.org/") {
                // An SSH key, or keys that are locked with a passphrase: the rest of the text belongs to it.
                let what = if line.contains("AGE") || line.starts_with("age") {
                    "age keys that are encrypted themselves"
                } else {
                    "an SSH key"
                };
                found.others.push(what.to_owned());
                break;
            } else {
                return Err(format!("line {} is no age key", at + 1));
            }
        }
        Ok(found)
    }
}

fn identity(text: &str) -> Option<Identity> {
    let (prefix, data) = bech32::decode(text).ok()?;
    if !prefix.as_str().eq_ignore_ascii_case("AGE-SECRET-KEY-") {
        return None;
    }
    let secret = StaticSecret::from(<[u8; 32]>::try_from(data).ok()?);
    let recipient = PublicKey::from(&secret).to_bytes();
    Some(Identity { secret, recipient })
}

/// Why something cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgeError {
    /// It is no age file.
    #[error("what age wrote is broken")]
    Malformed,
    /// It is for somebody else.
    #[error("none of the age keys fits")]
    NoMatch,
    /// It was changed since.
    #[error("what age wrote was changed since")]
    Changed,
}

/// Decrypts an age file, armored or not.
///
/// # Errors
/// It is broken, or none of the keys is one of its recipients.
pub fn decrypt(text: &[u8], identities: &[Identity]) -> Result<Vec<u8>, AgeError> {
    let unarmored = unarmored(text)?;
    let file = Header::parse(unarmored.as_deref().unwrap_or(text)).ok_or(AgeError::Malformed)?;
    let key = file
        .stanzas
        .iter()
        .find_map(|stanza| identities.iter().find_map(|identity| unwrap(stanza, identity)));
    let key = key.ok_or(AgeError::NoMatch)?;
    let mac = derived(&key, &[], b"header").ok_or(AgeError::Malformed)?;
    let mac = hmac::Key::new(hmac::HMAC_SHA256, &mac);
    hmac::verify(&mac, file.signed, &file.mac).map_err(|_| AgeError::Changed)?;
    payload(file.payload, &key)
}

/// Takes the armor off, if there is one.
fn unarmored(text: &[u8]) -> Result<Option<Vec<u8>>, AgeError> {
    let Some(text) =
        std::str::from_utf8(text).ok().map(str::trim).filter(|text| text.starts_with(ARMOR_BEGIN))
    else {
        return Ok(None);
    };
    let body = text.strip_prefix(ARMOR_BEGIN).and_then(|text| text.strip_suffix(ARMOR_END));
    let body: String = body.ok_or(AgeError::Malformed)?.split_ascii_whitespace().collect();
    STANDARD.decode(body).map(Some).map_err(|_| AgeError::Malformed)
}

struct Stanza<'a> {
    arguments: Vec<&'a str>,
    body: Vec<u8>,
}

struct Header<'a> {
    stanzas: Vec<Stanza<'a>>,
    /// What the MAC is over.
    signed: &'a [u8],
    mac: Vec<u8>,
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    fn parse(file: &'a [u8]) -> Option<Self> {
        let mut rest = file;
        let mut line = || -> Option<&'a str> {
            let end = memchr::memchr(b'\n', rest)?;
            let line = std::str::from_utf8(&rest[..end]).ok()?;
            rest = &rest[end + 1..];
            Some(line)
        };
        if line()? != VERSION {
            return None;
        }
        let mut stanzas = Vec::new();
        loop {
            let head = line()?;
            if let Some(mac) = head.strip_prefix("--- ") {
                let mac = BARE.decode(mac).ok()?;
                let signed = file.len() - rest.len() - head.len() - 1 + "---".len();
                return Some(Self { stanzas, signed: &file[..signed], mac, payload: rest });
            }
            let arguments: Vec<&str> = head.strip_prefix("-> ")?.split(' ').collect();
            let mut body = String::new();
            loop {
                let text = line()?;
                body.push_str(text);
                match text.len() {
                    64 => {}
                    shorter if shorter < 64 => break,
                    _ => return None,
                }
            }
            stanzas.push(Stanza { arguments, body: BARE.decode(body).ok()? });
            if stanzas.len() > MOST_STANZAS {
                return None;
            }
        }
    }
}

/// Returns the file key, if the stanza is for this identity.
fn unwrap(stanza: &Stanza<'_>, identity: &Identity) -> Option<[u8; FILE_KEY]> {
    let ["X25519", share] = stanza.arguments.as_slice() else { return None };
    let share = <[u8; 32]>::try_from(BARE.decode(share).ok()?).ok()?;
    let shared = identity.secret.diffie_hellman(&PublicKey::from(share));
    // A share of low order would make the key one that everybody knows.
    if !shared.was_contributory() {
        return None;
    }
    let salt = [share, identity.recipient].concat();
    let key = derived(shared.as_bytes(), &salt, b"age-encryption.org/v1/X25519")?;
    let opened = open(&key, [0; 12], stanza.body.clone())?;
    <[u8; FILE_KEY]>::try_from(opened).ok()
}

/// HKDF with SHA-256: 32 bytes.
fn derived(secret: &[u8], salt: &[u8], info: &[u8]) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[info], hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut key)).ok()?;
    Some(key)
}

fn open(key: &[u8; 32], nonce: [u8; 12], mut sealed: Vec<u8>) -> Option<Vec<u8>> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).ok()?);
    let nonce = Nonce::assume_unique_for_key(nonce);
    let length = key.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?.len();
    sealed.truncate(length);
    Some(sealed)
}

/// Decrypts the chunks behind the header (STREAM): each has its number in its nonce, and the last one says that it is it.
fn payload(payload: &[u8], file_key: &[u8]) -> Result<Vec<u8>, AgeError> {
    let (salt, chunks) = payload.split_at_checked(16).ok_or(AgeError::Malformed)?;
    let key = derived(file_key, salt, b"payload").ok_or(AgeError::Malformed)?;
    let mut out = Vec::new();
    let count = chunks.len().div_ceil(CHUNK + TAG);
    for (at, chunk) in chunks.chunks(CHUNK + TAG).enumerate() {
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&(at as u64).to_be_bytes());
        nonce[11] = u8::from(at + 1 == count);
        out.extend(open(&key, nonce, chunk.to_vec()).ok_or(AgeError::Changed)?);
    }
    if count == 0 { Err(AgeError::Changed) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "# created\n# public key: age1x\nKEY\n";

    #[test]
    fn keys_are_read_as_age_keygen_writes_them() {
        let parsed = |text: &str| Identities::parse(text).map(|all| (all.known.len(), all.others));
        let secret =
            bech32::encode::<bech32::Bech32>(bech32::Hrp::parse("age-secret-key-").unwrap(), &[7; 32])
                .unwrap();
        let upper = secret.to_ascii_uppercase();
        let ok = |known, others: &[&str]| Ok((known, others.iter().map(|text| (*text).to_owned()).collect()));
        for (text, expected) in [
            ("", ok(0, &[])),
            (KEY.replace("KEY", &upper).as_str(), ok(1, &[])),
            (format!("{upper}\r\n\r\n{secret}").as_str(), ok(2, &[])),
            ("AGE-PLUGIN-YUBIKEY-1QQPSXQGPQYQ", ok(0, &["age-plugin-yubikey"])),
            ("AGE-SECRET-KEY-PQ-1QQ", ok(0, &["a post-quantum age key"])),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", ok(0, &["an SSH key"])),
            (format!("# x\n{}", &upper[..50]).as_str(), Err("line 2 is a broken age key".to_owned())),
            ("hello", Err("line 1 is no age key".to_owned())),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn broken_files_are_refused() {
        for text in
            ["", "age", "age-encryption.org/v1\n", "age-encryption.org/v1\n-> X25519 a\n", ARMOR_BEGIN]
        {
            assert_eq!(decrypt(text.as_bytes(), &[]), Err(AgeError::Malformed), "{text}");
        }
        let nobody = "age-encryption.org/v1\n-> other x\nAAAA\n--- AAAA\n";
        assert_eq!(decrypt(nobody.as_bytes(), &[]), Err(AgeError::NoMatch));
    }
}
