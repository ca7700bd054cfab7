//! Files of sops: each value encrypted with one data key, which is encrypted to the keys of people and services.
//!
//! The format is that of sops 3.11 (`sops.go`, `aes/cipher.go`, `stores`). The data key is read with age keys; what needs
//! other keys, several groups of them, or comments that decide what is encrypted, is named for somebody else to read.

use std::path::Path;

use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha512};

use super::age::{self, Identity};
use super::tree::{Decrypted, Leaf, Tree};
use crate::go::{regexp, strconv, time};
use crate::value::Value;
use crate::value::json::{self, Escape};
use crate::yaml;

const METADATA: &str = "sops";
/// The start of the keys of metadata in a file of variables.
const METADATA_PREFIX: &str = "sops_";
const UNENCRYPTED_SUFFIX: &str = "_unencrypted";
/// What the authentication starts with where it is over encrypted values only (`MACOnlyEncryptedInitialization`).
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b,
    0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];
/// The kinds of keys, by the lists in which the metadata keep them, and what names a key in each.
const KINDS: [(&str, &str, &str); 6] = [
    ("age", "age", "recipient"),
    ("pgp", "PGP", "fp"),
    ("kms", "AWS KMS", "arn"),
    ("gcp_kms", "GCP KMS", "resource_id"),
    ("azure_kv", "Azure Key Vault", "vault_url"),
    ("hc_vault", "HashiCorp Vault", "vault_address"),
];

/// What a file is made of (`cmd/sops/formats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.yaml`, `.yml`.
    Yaml,
    /// `.json`.
    Json,
    /// `.env`.
    Variables,
    /// `.ini`.
    Ini,
    /// Anything else: JSON around the whole content.
    Binary,
}

impl Format {
    /// Returns the format that the name of a file stands for.
    pub fn of(path: &Path) -> Self {
        let name = path.to_string_lossy();
        let endings = [
            (".yaml", Format::Yaml),
            (".yml", Format::Yaml),
            (".json", Format::Json),
            (".env", Format::Variables),
            (".ini", Format::Ini),
        ];
        endings
            .into_iter()
            .find(|(ending, _)| name.ends_with(ending))
            .map_or(Format::Binary, |(_, format)| format)
    }
}

/// Why a file cannot be read. No content is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SopsError {
    /// It is no file of sops.
    #[error("it has no metadata of sops, so it is not encrypted by it")]
    NotSops,
    /// It is broken.
    #[error("{0}")]
    Malformed(String),
    /// It needs what only the program can do.
    #[error("it {0}, which only the program `sops` reads")]
    Unsupported(&'static str),
    /// None of the keys opens it.
    #[error("none of the age keys opens it")]
    NoKey,
    /// A value, or the order of values, was changed.
    #[error("its values were changed since they were encrypted: {0}")]
    Changed(String),
}

/// A file that was not opened yet.
pub struct Sealed {
    tree: Tree,
    format: Format,
    metadata: Value,
}

/// Reads a file.
///
/// # Errors
/// It is none of sops, or broken.
pub fn parse(format: Format, bytes: &[u8]) -> Result<Sealed, SopsError> {
    let (tree, metadata) = match format {
        Format::Yaml => {
            // Only the first document is read, and the authentication is over all of them.
            let documents =
                bytes.split(|byte| *byte == b'\n').skip(1).filter(|line| line.starts_with(b"---"));
            let several = documents.count() > 0;
            let node = yaml::read_spanned(bytes).map_err(|error| SopsError::Malformed(error.to_string()))?;
            let mut tree = Tree::of_yaml(node);
            let metadata = tree.take(METADATA);
            if several && metadata.is_some() {
                return Err(SopsError::Unsupported("has several documents"));
            }
            (tree, metadata.map(Tree::into_value))
        }
        Format::Json | Format::Binary => {
            let read = serde_json::from_slice::<Tree>(bytes);
            let mut tree = read.map_err(|error| match format {
                // Anything else has this format, plain files too.
                Format::Binary => SopsError::NotSops,
                _ => SopsError::Malformed(format!("it is no JSON: line {}", error.line())),
            })?;
            let metadata = tree.take(METADATA).map(Tree::into_value);
            (tree, metadata)
        }
        Format::Variables => variables(bytes)?,
        Format::Ini => return Err(SopsError::Unsupported("is an INI file")),
    };
    let metadata = metadata.filter(|metadata| metadata.as_map().is_some()).ok_or(SopsError::NotSops)?;
    Ok(Sealed { tree, format, metadata })
}

/// Reads lines of `NAME=value`. Metadata stand among them, one line a scalar (`stores/dotenv`, `stores/flatten.go`).
fn variables(bytes: &[u8]) -> Result<(Tree, Option<Value>), SopsError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SopsError::Malformed("it is no text".to_owned()))?;
    let (mut entries, mut metadata) = (Vec::new(), None);
    for (at, line) in
        text.split('\n').enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    {
        let Some((name, value)) = line.split_once('=') else {
            return Err(SopsError::Malformed(format!("line {} is no `NAME=value`", at + 1)));
        };
        let value = value.replace("\\n", "\n");
        match name.strip_prefix(METADATA_PREFIX) {
            Some(path) => {
                let parts: Vec<&str> = path.split("__").collect();
                place(metadata.get_or_insert_with(|| Value::Map(Default::default())), &parts, value);
            }
            None => entries.push((name.to_owned(), Tree::text(&value))),
        }
    }
    Ok((Tree::Map(entries), metadata))
}

/// Puts a text where a flattened path says: `age__list_0__map_enc`. Positions become keys, in the order of their texts.
fn place(at: &mut Value, parts: &[&str], text: String) {
    let Some((first, rest)) = parts.split_first() else {
        *at = Value::Str(text);
        return;
    };
    let key = first.strip_prefix("map_").or_else(|| first.strip_prefix("list_")).unwrap_or(first);
    if at.as_map().is_none() {
        *at = Value::Map(Default::default());
    }
    if let Value::Map(map) = at {
        place(map.entry(key.to_owned()).or_default(), rest, text);
    }
}

/// The elements of a list, which a file of variables keeps as a mapping.
fn items(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::List(items)) => items.iter().collect(),
        Some(Value::Map(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

impl Sealed {
    /// Returns the keys that it is encrypted to, as a person would call them.
    pub fn keys(&self) -> Vec<String> {
        let mut groups = items(self.metadata.get("key_groups"));
        groups.push(&self.metadata);
        let mut keys = Vec::new();
        for group in groups {
            for (list, kind, name) in KINDS {
                for key in items(group.get(list)) {
                    let name = key.get(name).and_then(Value::as_str).unwrap_or_default();
                    keys.push(format!("{kind} {name}").trim_end().to_owned());
                }
            }
        }
        keys
    }

    /// Tells whether it can be opened with an age key.
    pub fn has_age(&self) -> bool {
        !items(self.metadata.get("age")).is_empty()
    }

    /// Decrypts it, and makes sure that nobody changed it.
    ///
    /// # Errors
    /// It cannot be opened with these keys, was changed, or needs the program.
    pub fn open(self, identities: &[Identity]) -> Result<Decrypted, SopsError> {
        if !items(self.metadata.get("key_groups")).is_empty() {
            return Err(SopsError::Unsupported("needs keys of several groups"));
        }
        let rules = Rules::of(&self.metadata)?;
        let key = self.data_key(identities)?;
        let Sealed { mut tree, format, metadata } = self;
        let mut opener = Opener {
            cipher: &key,
            rules: &rules,
            digest: Sha512::new(),
            secrets: Vec::new(),
            path: Vec::new(),
        };
        if rules.only_encrypted {
            opener.digest.update(ONLY_ENCRYPTED);
        }
        opener.node(&mut tree)?;
        let Opener { digest, secrets, .. } = opener;
        let computed: String = digest.finalize().iter().map(|byte| format!("{byte:02X}")).collect();
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        let changed = |why: &str| SopsError::Changed(why.to_owned());
        let mac = decrypted(&key, text("mac"), text("lastmodified"));
        let mac = mac.map_err(|_| changed("the authentication code cannot be read"))?;
        if mac.value.as_str() != Some(&computed) {
            return Err(changed("the authentication code is another one"));
        }
        finished(tree, format, secrets)
    }

    fn data_key(&self, identities: &[Identity]) -> Result<Cipher, SopsError> {
        let mut broken = None;
        for key in items(self.metadata.get("age")) {
            let sealed = key.get("enc").and_then(Value::as_str).unwrap_or_default();
            match age::decrypt(sealed.as_bytes(), identities) {
                Ok(key) => {
                    let wrong = |_| SopsError::Malformed("its data key has the wrong length".to_owned());
                    return Cipher::new_from_slice(&key).map_err(wrong);
                }
                Err(age::AgeError::NoMatch) => {}
                Err(error) => broken = Some(SopsError::Malformed(error.to_string())),
            }
        }
        Err(broken.unwrap_or(SopsError::NoKey))
    }
}

type Cipher = AesGcm<Aes256, U32>;

/// Which values are encrypted (`shouldBeEncrypted`).
struct Rules {
    /// Whether a value is encrypted unless something in its path fits, or only if something does.
    unless: bool,
    fits: Fits,
    /// Whether the authentication leaves out what is not encrypted.
    only_encrypted: bool,
}

enum Fits {
    Suffix(String),
    Pattern(std::rc::Rc<regexp::Regexp>),
}

impl Rules {
    fn of(metadata: &Value) -> Result<Self, SopsError> {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("encrypted_comment_regex").or(text("unencrypted_comment_regex")).is_some() {
            return Err(SopsError::Unsupported("has comments that decide what is encrypted"));
        }
        let suffix = |suffix: &str| Ok(Fits::Suffix(suffix.to_owned()));
        let pattern = |pattern: &str| {
            let compiled = regexp::compile(pattern.as_bytes());
            compiled.map(Fits::Pattern).map_err(|error| SopsError::Malformed(error.to_string()))
        };
        let (unless, fits) = match (
            text("unencrypted_suffix"),
            text("encrypted_suffix"),
            text("unencrypted_regex"),
            text("encrypted_regex"),
        ) {
            (Some(text), None, None, None) => (true, suffix(text)),
            (None, Some(text), None, None) => (false, suffix(text)),
            (None, None, Some(text), None) => (true, pattern(text)),
            (None, None, None, Some(text)) => (false, pattern(text)),
            (None, None, None, None) => (true, suffix(UNENCRYPTED_SUFFIX)),
            _ => return Err(SopsError::Malformed("it has two rules for what is encrypted".to_owned())),
        };
        let only = metadata.get("mac_only_encrypted");
        let only_encrypted =
            only.is_some_and(|only| *only == Value::Bool(true) || only.as_str() == Some("true"));
        Ok(Self { unless, fits: fits?, only_encrypted })
    }

    fn encrypted(&self, path: &[String]) -> bool {
        let fits = path.iter().any(|part| match &self.fits {
            Fits::Suffix(suffix) => part.ends_with(suffix.as_str()),
            Fits::Pattern(pattern) => pattern.is_match(part.as_bytes()),
        });
        fits != self.unless
    }
}

struct Opener<'a> {
    cipher: &'a Cipher,
    rules: &'a Rules,
    digest: Sha512,
    secrets: Vec<String>,
    /// The keys that lead here; positions in lists do not count.
    path: Vec<String>,
}

impl Opener<'_> {
    fn node(&mut self, node: &mut Tree) -> Result<(), SopsError> {
        match node {
            Tree::Leaf(leaf) => self.leaf(leaf),
            Tree::List(items) => items.iter_mut().try_for_each(|item| self.node(item)),
            Tree::Map(entries) => entries.iter_mut().try_for_each(|(key, value)| {
                self.path.push(key.clone());
                self.node(value)?;
                self.path.pop();
                Ok(())
            }),
        }
    }

    fn leaf(&mut self, leaf: &mut Leaf) -> Result<(), SopsError> {
        if leaf.value.is_null() {
            return Ok(());
        }
        let encrypted = self.rules.encrypted(&self.path);
        if encrypted {
            let path = self.path.join(":");
            let problem = |why: &str| SopsError::Changed(format!("{}: {why}", self.path.join(".")));
            let text = leaf.value.as_str().ok_or_else(|| problem("it is not encrypted"))?;
            if !text.is_empty() {
                *leaf = decrypted(self.cipher, text, &format!("{path}:")).map_err(problem)?;
            }
            self.secrets.push(shown(&leaf.value));
        }
        if encrypted || !self.rules.only_encrypted {
            self.digest.update(authenticated(leaf));
        }
        Ok(())
    }
}

/// Decrypts `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
fn decrypted(cipher: &Cipher, text: &str, place: &str) -> Result<Leaf, &'static str> {
    let parts = || {
        let rest = text.strip_prefix("ENC[AES256_GCM,data:")?;
        let (data, rest) = rest.split_once(",iv:")?;
        let (nonce, rest) = rest.split_once(",tag:")?;
        let (tag, rest) = rest.split_once(",type:")?;
        let (kind, _) = rest.split_once(']')?;
        let mut sealed = STANDARD.decode(data).ok()?;
        sealed.extend(STANDARD.decode(tag).ok()?);
        Some((sealed, <[u8; 32]>::try_from(STANDARD.decode(nonce).ok()?).ok()?, kind))
    };
    let (sealed, nonce, kind) = parts().ok_or("it is not encrypted in the way of sops")?;
    let nonce = Nonce::<U32>::from(nonce);
    let payload = Payload { msg: &sealed, aad: place.as_bytes() };
    let plain = cipher.decrypt(&nonce, payload).map_err(|_| "it cannot be decrypted")?;
    let text = String::from_utf8(plain).map_err(|_| "it is no text")?;
    let leaf = |value| Ok(Leaf { value, plain: None });
    match kind {
        "str" | "bytes" | "time" | "comment" => leaf(Value::Str(text)),
        "int" => leaf(Value::Int(strconv::atoi(&text).map_err(|_| "it is no whole number")?)),
        "float" => leaf(Value::Float(strconv::parse_float(&text).map_err(|_| "it is no number")?)),
        "bool" => leaf(Value::Bool(strconv::parse_bool(&text).map_err(|_| "it is no truth value")?)),
        _ => Err("it is of an unknown type"),
    }
}

/// The bytes of a value that the authentication is over (`ToBytes`).
fn authenticated(leaf: &Leaf) -> String {
    match (&leaf.value, &leaf.plain) {
        // sops reads YAML 1.2 here, where these are texts.
        (Value::Bool(_), Some(text)) if !matches!(text.to_ascii_lowercase().as_str(), "true" | "false") => {
            text.clone()
        }
        (Value::Bool(flag), _) => if *flag { "True" } else { "False" }.to_owned(),
        (Value::Str(text), Some(_)) => timestamp(text).unwrap_or_else(|| text.clone()),
        (value, _) => shown(value),
    }
}

/// Returns a date as Go writes it, for a text that YAML reads as one.
fn timestamp(text: &str) -> Option<String> {
    const LAYOUTS: [&str; 4] = [
        "2006-1-2T15:4:5.999999999Z07:00",
        "2006-1-2t15:4:5.999999999Z07:00",
        "2006-1-2 15:4:5.999999999",
        "2006-1-2",
    ];
    if !text.bytes().take(4).all(|byte| byte.is_ascii_digit()) || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let parsed = LAYOUTS
        .iter()
        .find_map(|layout| time::parse_in(layout.as_bytes(), text.as_bytes(), &time::Zone::Utc).ok())?;
    Some(String::from_utf8_lossy(&parsed.format(b"2006-01-02T15:04:05.999999999Z07:00")).into_owned())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => strconv::format_float(*number, b'f', None),
        Value::Null | Value::List(_) | Value::Map(_) => String::new(),
    }
}

fn finished(tree: Tree, format: Format, secrets: Vec<String>) -> Result<Decrypted, SopsError> {
    let broken = |error: &dyn std::error::Error| SopsError::Malformed(error.to_string());
    let value = tree.clone().into_value();
    let text = match format {
        Format::Yaml => yaml::to_yaml_pretty(&value).map_err(|error| broken(&error))?,
        Format::Json => json::to_string(&value, Escape::Raw).map_err(|error| broken(&error))?,
        Format::Binary => {
            let data = value.get("data").and_then(Value::as_str);
            data.ok_or_else(|| SopsError::Malformed("it holds no data".to_owned()))?.to_owned()
        }
        Format::Variables | Format::Ini => {
            let Tree::Map(entries) = &tree else { return Err(SopsError::NotSops) };
            let line = |(name, value): &(String, Tree)| {
                let text = shown(&value.clone().into_value()).replace('\n', "\\n");
                format!("{name}={text}\n")
            };
            entries.iter().map(line).collect()
        }
    };
    Ok(Decrypted { value, text: text.into_bytes(), secrets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_how_it_is_encrypted() {
        let yaml = "a: ENC[x]\nsops:\n  kms: [{arn: 'arn:aws:kms:x'}]\n  pgp: [{fp: 85D7}]\n  age: []\n";
        let sealed = parse(Format::Yaml, yaml.as_bytes()).unwrap();
        assert_eq!(sealed.keys(), ["PGP 85D7", "AWS KMS arn:aws:kms:x"]);
        assert!(!sealed.has_age());
        let lines =
            "A=ENC[x]\nsops_age__list_0__map_recipient=age1x\nsops_age__list_0__map_enc=a\\nb\nsops_mac=m\n";
        let sealed = parse(Format::Variables, lines.as_bytes()).unwrap();
        assert_eq!(sealed.keys(), ["age age1x"]);
        assert!(sealed.has_age());
        assert!(matches!(sealed.open(&[]), Err(SopsError::Malformed(_))));
    }

    #[test]
    fn what_is_not_of_sops_is_named() {
        let kind = |format, text: &str| parse(format, text.as_bytes()).err();
        for (format, text, expected) in [
            (Format::Yaml, "a: 1\n", SopsError::NotSops),
            (Format::Yaml, "sops: x\n", SopsError::NotSops),
            (Format::Json, "{\"a\": 1}", SopsError::NotSops),
            (Format::Binary, "plain text", SopsError::NotSops),
            (Format::Variables, "A=b\n", SopsError::NotSops),
            (Format::Variables, "hello\n", SopsError::Malformed("line 1 is no `NAME=value`".to_owned())),
            (Format::Json, "{\n", SopsError::Malformed("it is no JSON: line 2".to_owned())),
            (Format::Ini, "[a]", SopsError::Unsupported("is an INI file")),
            (Format::Yaml, "sops: {mac: x}\n---\na: b\n", SopsError::Unsupported("has several documents")),
        ] {
            assert_eq!(kind(format, text), Some(expected), "{text}");
        }
        let groups =
            parse(Format::Json, br#"{"sops": {"key_groups": [{"age": [{"recipient": "age1x"}]}]}}"#).unwrap();
        assert_eq!(groups.keys(), ["age age1x"]);
        assert_eq!(groups.open(&[]), Err(SopsError::Unsupported("needs keys of several groups")));
    }

    #[test]
    fn values_are_authenticated_as_go_writes_them() {
        let plain = |text: &str| {
            let node = yaml::read_spanned(text.as_bytes()).unwrap();
            let Tree::Leaf(leaf) = Tree::of_yaml(node) else { panic!("{text} is a scalar") };
            authenticated(&leaf)
        };
        for (text, expected) in [
            ("true", "True"),
            ("False", "False"),
            ("yes", "yes"),
            ("'true'", "true"),
            ("12", "12"),
            ("1.50", "1.5"),
            ("1e3", "1000"),
            ("2020-01-02", "2020-01-02T00:00:00Z"),
            ("'2020-01-02'", "2020-01-02"),
            ("2020-01-02T03:04:05.5Z", "2020-01-02T03:04:05.5Z"),
            ("2020-x", "2020-x"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
