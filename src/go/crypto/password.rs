//! Passwords: hashes for files of users, and the derivation of the "Master Password" scheme.

use hmac::{KeyInit, Mac};

use crate::go::utf8;

/// The cost that Go's package has as default.
const BCRYPT_COST: u32 = 10;

/// Returns the bcrypt hash of a password, or the text of an error (sprig `bcrypt`).
pub fn bcrypt(password: &[u8], salt: [u8; 16]) -> String {
    let failed = |why: &str| format!("failed to encrypt string with bcrypt: {why}");
    if password.len() > 72 {
        return failed("bcrypt: password length exceeds 72 bytes");
    }
    match bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA),
        Err(error) => failed(&error.to_string()),
    }
}

/// Returns a line for a file of users, or the text of an error (sprig `htpasswd`).
pub fn htpasswd(user: &[u8], password: &[u8], salt: [u8; 16]) -> Vec<u8> {
    if user.contains(&b':') {
        return [b"invalid username: ", user].concat();
    }
    [user, b":", bcrypt(password, salt).as_bytes()].concat()
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// Password patterns; the letters stand for the alphabets below. Source: the Master Password algorithm.
fn patterns(kind: &[u8]) -> Option<&'static [&'static [u8]]> {
    Some(match kind {
        b"maximum" => &[b"anoxxxxxxxxxxxxxxxxx", b"axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            b"CvcvnoCvcvCvcv",
            b"CvcvCvcvnoCvcv",
            b"CvcvCvcvCvcvno",
            b"CvccnoCvcvCvcv",
            b"CvccCvcvnoCvcv",
            b"CvccCvcvCvcvno",
            b"CvcvnoCvccCvcv",
            b"CvcvCvccnoCvcv",
            b"CvcvCvccCvcvno",
            b"CvcvnoCvcvCvcc",
            b"CvcvCvcvnoCvcc",
            b"CvcvCvcvCvccno",
            b"CvccnoCvccCvcv",
            b"CvccCvccnoCvcv",
            b"CvccCvccCvcvno",
            b"CvcvnoCvccCvcc",
            b"CvcvCvccnoCvcc",
            b"CvcvCvccCvccno",
            b"CvccnoCvcvCvcc",
            b"CvccCvcvnoCvcc",
            b"CvccCvcvCvccno",
        ],
        b"medium" => &[b"CvcnoCvc", b"CvcCvcno"],
        b"short" => &[b"Cvcn"],
        b"basic" => &[b"aaanaaan", b"aannaaan", b"aaannaaa"],
        b"pin" => &[b"nnnn"],
        _ => return None,
    })
}

fn alphabet(letter: u8) -> &'static [u8] {
    match letter {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// Derives a password for a site (sprig `derivePassword`), or the text of an error. The same arguments always
/// give the same password.
pub fn derive_password(counter: u32, kind: &[u8], password: &[u8], user: &[u8], site: &[u8]) -> String {
    let Some(patterns) = patterns(kind) else {
        return format!("cannot find password template {}", utf8::to_valid(kind));
    };
    let with_length = |text: &[u8]| {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        [SEED, &length.to_be_bytes(), text].concat()
    };
    let mut key = [0; 64];
    let derived = scrypt::Params::new(15, 8, 2)
        .map_err(|error| error.to_string())
        .and_then(|cost| {
            scrypt::scrypt(password, &with_length(user), &cost, &mut key).map_err(|error| error.to_string())
        })
        .and_then(|()| hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).map_err(|error| error.to_string()));
    let mut mac = match derived {
        Ok(mac) => mac,
        Err(error) => return format!("failed to derive password: {error}"),
    };
    mac.update(&with_length(site));
    mac.update(&counter.to_be_bytes());
    let seed = mac.finalize().into_bytes();
    let mut numbers = seed.iter().map(|&byte| usize::from(byte));
    let mut pick = |choices: usize| numbers.next().unwrap_or(0) % choices.max(1);
    let pattern = patterns.get(pick(patterns.len())).copied().unwrap_or_default();
    let letter = |&letter: &u8| {
        let alphabet = alphabet(letter);
        char::from(alphabet.get(pick(alphabet.len())).copied().unwrap_or_default())
    };
    pattern.iter().map(letter).collect()
}
