//! The secrets that this process has read, so that no output shows one, wherever it turns up.
//!
//! Known by value: a secret is found in a server's message as well as in a difference. Kept for the life of the process
//! only, and never written.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for a secret.
pub const MASK: &str = "(secret)";
/// Shorter values are no secrets worth the name, and would be found in every other word.
const SHORTEST: usize = 5;
/// Below this length a value counts only where it is a word by itself.
const LONG: usize = 8;

/// Longest first, so that a value that contains another one is masked as a whole.
static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Remembers a secret, in the forms in which outputs may hold it.
pub fn learn(secret: &str) {
    let mut all = forms(secret);
    all.retain(|form| form.trim().len() >= SHORTEST && form != "false");
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.len();
    for form in all {
        if !known.contains(&form) {
            known.push(form);
        }
    }
    if known.len() > before {
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    }
}

/// The forms of a secret: as it is and line by line; each of these as it stands in the quotes of JSON, of Go and of YAML,
/// and in an address; and in base64, by itself and as a part of something longer.
fn forms(secret: &str) -> Vec<String> {
    let mut plain = vec![secret.to_owned(), secret.trim().to_owned()];
    plain.extend(secret.lines().map(str::trim).filter(|line| line.len() >= LONG).map(str::to_owned));
    let mut all = Vec::new();
    for text in plain {
        let json = serde_json::Value::from(text.as_str()).to_string();
        let json = json[1..json.len() - 1].to_owned();
        // Go writes these as escapes.
        let go = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")];
        let go = go.iter().fold(json.clone(), |text, (from, to)| text.replace(*from, to));
        let yaml = text.replace('\'', "''");
        let address = utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string();
        for part in [&text, &json] {
            if part.len() >= LONG {
                all.extend(encoded(part.as_bytes()));
            }
        }
        all.extend([text, json, go, yaml, address]);
    }
    all
}

/// Base64 of a secret, and what of it stands in that of a longer text: there are three ways to divide it into groups of
/// three bytes, and the characters at both ends depend on what is beside it.
fn encoded(bytes: &[u8]) -> Vec<String> {
    let mut all = vec![STANDARD.encode(bytes)];
    for shift in 0..3_usize {
        let longer = [&[0; 2][..shift], bytes].concat();
        let text = STANDARD_NO_PAD.encode(&longer);
        // Characters that are all of the secret's own bits.
        let from = (shift * 8).div_ceil(6);
        let to = longer.len() * 8 / 6;
        all.extend(text.get(from..to).filter(|part| part.len() >= LONG).map(str::to_owned));
    }
    let other = all.iter().map(|text| text.replace('+', "-").replace('/', "_"));
    let other: Vec<String> = other.collect();
    all.extend(other);
    all
}

/// Returns a text with every known secret masked.
pub fn redact(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    masked(text, &known)
}

fn masked<'t>(text: &'t str, known: &[String]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for secret in known {
        let Some(first) = memchr::memmem::find(text.as_bytes(), secret.as_bytes()) else { continue };
        let mut out = text[..first].to_owned();
        let mut rest = &text[first..];
        while let Some(at) = rest.find(secret.as_str()) {
            let after = &rest[at + secret.len()..];
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
            out.push_str(&rest[..at]);
            let inside = is_part(out.chars().next_back()) || is_part(after.chars().next());
            if secret.len() < LONG && inside {
                out.push_str(secret);
            } else {
                out.push_str(MASK);
            }
            rest = after;
        }
        out.push_str(rest);
        text = Cow::Owned(out);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let known: Vec<String> =
            ["correct horse battery", "correct horse", "admin"].map(str::to_owned).into();
        for (text, expected) in [
            ("pw=correct horse battery!", "pw=(secret)!"),
            ("a correct horse, a correct horse", "a (secret), a (secret)"),
            ("user admin of admin-tools", "user (secret) of admin-tools"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(masked(text, &known), expected);
        }
    }

    #[test]
    fn a_secret_is_known_in_each_form() {
        let secret = "line 'one' of it\nline \"two\" <of> it & more\n";
        learn(secret);
        let base64 = |text: &str| STANDARD.encode(text);
        let json = serde_json::json!({ "password": secret }).to_string();
        for text in [
            secret.to_owned(),
            "a line 'one' of it b".to_owned(),
            "key: |\n  line 'one' of it\n  line \"two\" <of> it & more\n".to_owned(),
            json.clone(),
            "\"line \\\"two\\\" \\u003cof\\u003e it \\u0026 more\"".to_owned(),
            "'line ''one'' of it'".to_owned(),
            "https://x/?q=line%20%27one%27%20of%20it".to_owned(),
            base64(secret),
            base64(&format!("user:{secret}")),
            base64(&format!("me:{secret}@host")),
            base64(&format!("x{secret}")),
            base64(&json),
        ] {
            let shown = redact(&text).into_owned();
            assert!(shown.contains(MASK), "{text}: {shown}");
            for part in ["one", "two", "bGlu", "b25l", "dHdv"] {
                assert!(!shown.contains(part), "{text}: {shown}");
            }
        }
        learn("true");
        learn("");
        assert_eq!(redact("true"), "true");
    }
}
