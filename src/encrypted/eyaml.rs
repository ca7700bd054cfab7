//! Files of hiera-eyaml: `ENC[PKCS7,…]` inside of texts, each encrypted to the certificate of one RSA key.
//!
//! hiera-eyaml pastes what it decrypts into the text of the file. Here it becomes the value at its place: what would be a
//! number or a truth value without quotes is one, and everything else is text, whatever characters it holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt as _, KeyIvInit as _};
use rsa::pkcs8::DecodePrivateKey as _;

use super::tree::Decrypted;
use crate::go::crypto::{Key, read_der};
use crate::value::{Map, Value};
use crate::yaml;

const START: &str = "ENC[";
/// Object identifiers (RFC 5652, RFC 8017, NIST): enveloped data, RSA with the padding of PKCS #1 v1.5, AES-256 in CBC mode.
const ENVELOPED: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 3];
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1];
const AES256_CBC: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42];
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;

/// Why a file cannot be decrypted. No content is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EyamlError {
    /// The private key is none.
    #[error("{0}")]
    Key(String),
    /// The file is no YAML.
    #[error("{0}")]
    Yaml(String),
    /// A value is encrypted in another way.
    #[error("{place}: it is encrypted with {method}, and only PKCS7 is read")]
    Method {
        /// The path of the value.
        place: String,
        /// The way.
        method: String,
    },
    /// A value cannot be decrypted.
    #[error("{place}: {why}")]
    Value {
        /// The path of the value.
        place: String,
        /// Why not.
        why: &'static str,
    },
}

/// The private key of eyaml.
pub struct PrivateKey(rsa::PrivateKey);

impl PrivateKey {
    /// Reads a key in PEM.
    ///
    /// # Errors
    /// It is none, or not of RSA.
    pub fn parse(pem: &[u8]) -> Result<Self, EyamlError> {
        let key = Key::parse(pem).map_err(|error| EyamlError::Key(error.to_string()))?;
        let key = key.pkcs8().and_then(|der| rsa::PrivateKey::from_pkcs8_der(der).ok());
        key.map(Self).ok_or_else(|| EyamlError::Key("it is no RSA key".to_owned()))
    }
}

/// Decrypts every value of a YAML file.
///
/// # Errors
/// It is no YAML, or one of the values cannot be decrypted.
pub fn decrypt(bytes: &[u8], key: &PrivateKey) -> Result<Decrypted, EyamlError> {
    let node = yaml::read_spanned(bytes).map_err(|error| EyamlError::Yaml(error.to_string()))?;
    let mut opener = Opener { key, path: Vec::new(), secrets: Vec::new() };
    let value = opener.node(&node)?;
    let text = yaml::to_yaml_pretty(&value).map_err(|error| EyamlError::Yaml(error.to_string()))?;
    Ok(Decrypted { value, text: text.into_bytes(), secrets: opener.secrets })
}

struct Opener<'a> {
    key: &'a PrivateKey,
    path: Vec<String>,
    secrets: Vec<String>,
}

impl Opener<'_> {
    fn node(&mut self, node: &yaml::Node) -> Result<Value, EyamlError> {
        match &node.content {
            yaml::Content::Scalar { value: Value::Str(text), plain, .. } if text.contains(START) => {
                self.scalar(text, *plain)
            }
            yaml::Content::Scalar { value, .. } => Ok(value.clone()),
            yaml::Content::List(items) => {
                let items = items.iter().enumerate().map(|(at, item)| self.below(at.to_string(), item));
                items.collect::<Result<_, _>>().map(Value::List)
            }
            yaml::Content::Map(entries) => {
                let entries = entries.iter();
                let entries = entries
                    .map(|entry| Ok((entry.name.clone(), self.below(entry.name.clone(), &entry.value)?)));
                entries.collect::<Result<Map, _>>().map(Value::Map)
            }
        }
    }

    fn below(&mut self, part: String, node: &yaml::Node) -> Result<Value, EyamlError> {
        self.path.push(part);
        let value = self.node(node)?;
        self.path.pop();
        Ok(value)
    }

    fn scalar(&mut self, text: &str, plain: bool) -> Result<Value, EyamlError> {
        let mut out = String::new();
        let mut rest = text;
        let mut whole = false;
        while let Some((before, token)) = rest.split_once(START) {
            let place = || self.path.join(".");
            let failed = |why| EyamlError::Value { place: place(), why };
            let (inside, after) = token.split_once(']').ok_or_else(|| failed("`ENC[` is not closed"))?;
            let (method, data) = inside.split_once(',').unwrap_or(("PKCS7", inside));
            if method != "PKCS7" {
                return Err(EyamlError::Method { place: place(), method: method.to_owned() });
            }
            let data: String = data.split_ascii_whitespace().collect();
            let sealed = STANDARD.decode(data).map_err(|_| failed("it is no base64"))?;
            let secret = opened(&sealed, &self.key.0).map_err(failed)?;
            let secret = String::from_utf8(secret).map_err(|_| failed("it is no text"))?;
            whole = before.is_empty() && matches!(after, "" | "\n") && out.is_empty();
            out.push_str(before);
            out.push_str(&secret);
            self.secrets.push(secret);
            rest = after;
        }
        // eyaml takes the mark of a block (`>`) and its line break away with the value.
        let block = whole && rest == "\n";
        if !block {
            out.push_str(rest);
        }
        let plain = plain || block;
        Ok(match yaml::read_typed(out.as_bytes()) {
            Ok(value @ (Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_)))
                if whole && plain =>
            {
                value
            }
            _ => Value::Str(out),
        })
    }
}

/// Opens enveloped data (RFC 5652, section 6).
fn opened(sealed: &[u8], key: &rsa::PrivateKey) -> Result<Vec<u8>, &'static str> {
    const BROKEN: &str = "it is no PKCS7 data";
    let Enveloped { keys, cipher, vector, content } = enveloped(sealed).ok_or(BROKEN)?;
    if cipher != AES256_CBC {
        return Err("its cipher is not AES-256 in CBC mode");
    }
    let vector = <[u8; 16]>::try_from(vector).map_err(|_| BROKEN)?;
    let open = |sealed: &&[u8]| key.decrypt(rsa::Pkcs1v15Encrypt, sealed).ok();
    let content_key = keys.iter().find_map(open).and_then(|key| <[u8; 32]>::try_from(key).ok());
    let content_key = content_key.ok_or("it is encrypted to another key")?;
    let mut plain = content.to_vec();
    let cipher = cbc::Decryptor::<aes::Aes256>::new(&content_key.into(), &vector.into());
    let length =
        cipher.decrypt_padded::<Pkcs7>(&mut plain).map_err(|_| "it is encrypted to another key")?.len();
    plain.truncate(length);
    Ok(plain)
}

struct Enveloped<'a> {
    /// The content's key, encrypted to each recipient.
    keys: Vec<&'a [u8]>,
    cipher: &'a [u8],
    vector: &'a [u8],
    content: &'a [u8],
}

fn enveloped(bytes: &[u8]) -> Option<Enveloped<'_>> {
    let (content_info, _) = element(bytes, SEQUENCE)?;
    let (kind, rest) = element(content_info, OBJECT)?;
    let (explicit, _) = element(rest, 0xA0).filter(|_| kind == ENVELOPED)?;
    let (data, _) = element(explicit, SEQUENCE)?;
    let (_version, rest) = element(data, 0x02)?;
    let (mut recipients, rest) = element(rest, SET)?;
    let mut keys = Vec::new();
    while let Some((tag, recipient, others)) = read_der(recipients) {
        recipients = others;
        keys.extend(Some(recipient).filter(|_| tag == SEQUENCE).and_then(encrypted_key));
    }
    let (encrypted, _) = element(rest, SEQUENCE)?;
    let (_kind, rest) = element(encrypted, OBJECT)?;
    let (algorithm, rest) = element(rest, SEQUENCE)?;
    let (cipher, parameters) = element(algorithm, OBJECT)?;
    let (vector, _) = element(parameters, OCTETS)?;
    let (content, _) = element(rest, 0x80)?;
    Some(Enveloped { keys, cipher, vector, content })
}

/// The encrypted key of a recipient; nothing if it is not encrypted in the one way that eyaml uses.
fn encrypted_key(recipient: &[u8]) -> Option<&[u8]> {
    let (_version, rest) = element(recipient, 0x02)?;
    let (_issuer, rest) = element(rest, SEQUENCE)?;
    let (algorithm, rest) = element(rest, SEQUENCE)?;
    let (algorithm, _) = element(algorithm, OBJECT)?;
    let (key, _) = element(rest, OCTETS)?;
    Some(key).filter(|_| algorithm == RSA)
}

/// Reads an element with this tag; returns its content and what follows.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    read_der(bytes).filter(|(found, _, _)| *found == tag).map(|(_, content, rest)| (content, rest))
}
