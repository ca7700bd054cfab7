//! Who made a chart: Helm's provenance files, and signatures of cosign.
//!
//! Source: Helm `pkg/provenance/sign.go`: a clear-signed text, which holds the `Chart.yaml` and the digest of the archive.

use pgp::composed::{CleartextSignedMessage, PublicOrSecret, SignedPublicKey};
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails as _, Tag};
use tokio::process::Command;

use super::program::{self, Ended, PATIENCE};
use crate::value::Value;
use crate::yaml;

/// The end of the first of the two texts that are signed.
const DIVIDER: &str = "\n...\n";

/// Why a chart does not count as the work of somebody known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvenanceError {
    /// The keyring holds no key.
    #[error(
        "the keyring cannot be read: {0}; it has to be exported keys (`gpg --export`), not GnuPG's own store"
    )]
    Keyring(String),
    /// The provenance file is none.
    #[error("the provenance file cannot be read: {0}")]
    Malformed(String),
    /// No key of the keyring made the signature.
    #[error("the provenance file is signed by none of the keys in the keyring{0}")]
    Unsigned(String),
    /// It is about another archive.
    #[error("the provenance file is about another archive: it {0}")]
    Other(String),
    /// There is no such program.
    #[error("the program `cosign` is not on PATH")]
    NoCosign,
    /// cosign refuses it.
    #[error("cosign does not accept the signature: {0}")]
    Cosign(String),
}

/// What cosign compares a signature with.
#[derive(Clone, Copy, Debug)]
pub enum Signer<'a> {
    /// A public key: a file, or an address that cosign knows.
    Key(&'a str),
    /// A certificate of an identity, given out by an issuer.
    Identity {
        /// Whose.
        identity: &'a str,
        /// By whom.
        issuer: &'a str,
    },
}

/// Makes sure that the archive `file`, with this SHA-256, was signed by one of the keys of a keyring that is neither revoked nor
/// was expired when it signed. Returns who it was.
///
/// # Errors
/// It was not.
pub fn verify(text: &str, keyring: &[u8], file: &str, sha256: &str) -> Result<String, ProvenanceError> {
    let keys = keys(keyring)?;
    let malformed = |error: pgp::errors::Error| ProvenanceError::Malformed(error.to_string());
    let (message, _) = CleartextSignedMessage::from_string(text).map_err(malformed)?;
    let mut unfit = String::new();
    let mut signer = None;
    for key in &keys {
        match signed_by(&message, key) {
            Some(Ok(())) => {
                signer = Some(name_of(key));
                break;
            }
            Some(Err(why)) => unfit = format!(": {} {why}", name_of(key)),
            None => {}
        }
    }
    let signer = signer.ok_or(ProvenanceError::Unsigned(unfit))?;
    // Only what was signed counts, not what stands around it.
    let signed = message.signed_text().replace("\r\n", "\n");
    let (_, sums) = signed
        .split_once(DIVIDER)
        .ok_or_else(|| ProvenanceError::Malformed("it has no list of files".to_owned()))?;
    let sums =
        yaml::read_map(sums.as_bytes()).map_err(|error| ProvenanceError::Malformed(error.to_string()))?;
    let promised = match sums.get("files") {
        Some(Value::Map(files)) => files.get(file).and_then(Value::as_str),
        _ => None,
    };
    match promised {
        None => Err(ProvenanceError::Other(format!("does not name {file}"))),
        Some(promised) if promised != format!("sha256:{sha256}") => {
            Err(ProvenanceError::Other(format!("promises {promised}, and the archive has sha256:{sha256}")))
        }
        Some(_) => Ok(signer),
    }
}

/// Reads exported keys, in binary or armored. Secret ones count as their public halves.
fn keys(keyring: &[u8]) -> Result<Vec<SignedPublicKey>, ProvenanceError> {
    let wrong = |why: String| ProvenanceError::Keyring(why);
    let (found, _) = PublicOrSecret::from_reader_many(keyring).map_err(|error| wrong(error.to_string()))?;
    let mut keys = Vec::new();
    let mut last = None;
    for key in found {
        match key {
            Ok(PublicOrSecret::Public(key)) => keys.push(key),
            Ok(PublicOrSecret::Secret(key)) => keys.push(key.to_public_key()),
            // A key of an unknown kind does not spoil the others.
            Err(error) => last = Some(error.to_string()),
        }
    }
    if keys.is_empty() {
        return Err(wrong(last.unwrap_or_else(|| "it holds no key".to_owned())));
    }
    Ok(keys)
}

/// Tells whether a key, or one of its subkeys for signing, made a signature; and if so, whether it was good for that.
fn signed_by(message: &CleartextSignedMessage, key: &SignedPublicKey) -> Option<Result<(), &'static str>> {
    let primary = message.verify(&key.primary_key).ok();
    let made = match primary {
        Some(signature) => signature,
        None => {
            let sub = key.public_subkeys.iter().find_map(|sub| {
                // A subkey counts only if the key says so, and that it may sign.
                let bound = sub.verify_bindings(&key.primary_key).is_ok();
                let signs = sub.signatures.iter().any(|binding| binding.key_flags().sign());
                let made = message.verify(&sub.key).ok()?;
                Some((sub, made, bound && signs))
            });
            let (sub, made, is_good) = sub?;
            if sub.signatures.iter().any(|binding| binding.typ() == Some(SignatureType::SubkeyRevocation)) {
                return Some(Err("has revoked the subkey"));
            }
            if !is_good {
                return Some(Err("has not said that this subkey may sign"));
            }
            if expired(&sub.signatures, sub.key.created_at().as_secs(), made) {
                return Some(Err("had given its subkey less time"));
            }
            made
        }
    };
    // What others say about the key does not count, for or against.
    let own = key.details.users.iter().flat_map(|user| {
        let is_own =
            |made: &&Signature| made.verify_certification(&key.primary_key, Tag::UserId, &user.id).is_ok();
        user.signatures.iter().filter(is_own)
    });
    let direct =
        key.details.direct_signatures.iter().filter(|made| made.verify_key(&key.primary_key).is_ok());
    let bindings: Vec<Signature> = own.chain(direct).cloned().collect();
    if bindings.is_empty() {
        return Some(Err("is not signed by itself"));
    }
    if !key.details.revocation_signatures.is_empty() {
        return Some(Err("is revoked"));
    }
    if expired(&bindings, key.primary_key.created_at().as_secs(), made) {
        return Some(Err("had expired"));
    }
    Some(Ok(()))
}

/// Tells whether a key that was made at `created` had expired when a signature was made: what its newest binding says counts.
fn expired(bindings: &[Signature], created: u32, made: &Signature) -> bool {
    let newest = bindings.iter().max_by_key(|binding| binding.created().map_or(0, |time| time.as_secs()));
    let Some(lasts) = newest.and_then(Signature::key_expiration_time) else { return false };
    let at = made.created().map_or(u32::MAX, |time| time.as_secs());
    lasts.as_secs() != 0 && at > created.saturating_add(lasts.as_secs())
}

fn name_of(key: &SignedPublicKey) -> String {
    let user = key.details.users.first().map(|user| String::from_utf8_lossy(user.id.id()).into_owned());
    user.unwrap_or_else(|| key.primary_key.fingerprint().to_string())
}

/// Lets cosign verify the image `HOST/REPOSITORY@sha256:…`.
///
/// # Errors
/// It does not, or there is no cosign.
pub async fn cosign(image: &str, signer: Signer<'_>) -> Result<(), ProvenanceError> {
    let mut command = Command::new("cosign");
    command.arg("verify");
    match signer {
        Signer::Key(key) => command.args(["--key", key]),
        Signer::Identity { identity, issuer } => {
            command.args(["--certificate-identity", identity, "--certificate-oidc-issuer", issuer])
        }
    };
    program::run(command.args(["--", image])).await.map_err(|ended| match ended {
        Ended::Missing => ProvenanceError::NoCosign,
        Ended::NotRun(error) => ProvenanceError::Cosign(error.to_string()),
        Ended::TimedOut => ProvenanceError::Cosign(format!("it did not end within {} s", PATIENCE.as_secs())),
        Ended::Failed(said) => ProvenanceError::Cosign(said),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keys that GnuPG made for these tests: carol signs with a subkey, and somebody whom nobody knows vouches for her.
    const PROV: &str = include_str!("../../tests/cases/provenance/carol.prov");
    const CAROL: &[u8] = include_bytes!("../../tests/cases/provenance/carol.gpg");
    const REVOKED: &[u8] = include_bytes!("../../tests/cases/provenance/carol-revoked-subkey.gpg");
    const MALLORY: &[u8] = include_bytes!("../../tests/cases/provenance/mallory.gpg");

    #[test]
    fn a_subkey_signs_for_its_key_until_it_is_revoked() {
        let zeros = "0".repeat(64);
        let check = |text: &str, keyring: &[u8], file: &str, sha256: &str, expected: Result<&str, &str>| {
            let found = verify(text, keyring, file, sha256);
            match (&found, expected) {
                (Ok(who), Ok(expected)) => assert_eq!(who, expected),
                (Err(why), Err(expected)) => assert!(why.to_string().contains(expected), "{why}"),
                _ => panic!("{found:?}, expected {expected:?}"),
            }
        };
        let name = "web-1.0.0.tgz";
        check(PROV, CAROL, name, &zeros, Ok("carol <carol@example.org>"));
        check(PROV, REVOKED, name, &zeros, Err("carol <carol@example.org> has revoked the subkey"));
        check(PROV, MALLORY, name, &zeros, Err("signed by none"));
        check(PROV, &[MALLORY, CAROL].concat(), name, &zeros, Ok("carol <carol@example.org>"));
        check(PROV, CAROL, "other.tgz", &zeros, Err("does not name other.tgz"));
        check(PROV, CAROL, name, &"1".repeat(64), Err("promises sha256:0000"));
        check(&PROV.replace("version: 1", "version: 2"), CAROL, name, &zeros, Err("signed by none"));
        check("nothing", CAROL, name, &zeros, Err("cannot be read"));
        check(PROV, b"nothing", name, &zeros, Err("keyring"));
    }
}
