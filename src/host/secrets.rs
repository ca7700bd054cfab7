//! The secrets that this process has read, so that no output shows one, wherever it turns up.
//!
//! Known by value: a secret is found in a server's message as well as in a difference. Kept for the life of the process
//! only, and never written.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What stands for a secret.
pub const MASK: &str = "(secret)";
/// Shorter values are no secrets worth the name, and would be found in every other word.
const SHORTEST: usize = 5;
/// Below this length a value counts only where it is a word by itself.
const LONG: usize = 8;

/// Longest first, so that a value that contains another one is masked as a whole.
static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Remembers a secret, in the forms in which outputs may hold it: as it is, line by line, in JSON, and in base64.
pub fn learn(secret: &str) {
    let mut forms = vec![secret.to_owned()];
    forms.extend(secret.lines().map(str::trim).filter(|line| line.len() >= LONG).map(str::to_owned));
    let json = serde_json::Value::from(secret).to_string();
    forms.push(json[1..json.len() - 1].to_owned());
    if secret.len() >= LONG {
        forms.push(STANDARD.encode(secret));
    }
    forms.retain(|form| form.trim().len() >= SHORTEST && !matches!(form.as_str(), "false"));
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for form in forms {
        if !known.contains(&form) {
            known.push(form);
        }
    }
    known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
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
        learn("line one of it\nline \"two\" of it");
        for text in [
            "line one of it",
            r#"line one of it\nline \"two\" of it"#,
            "bGluZSBvbmUgb2YgaXQKbGluZSAidHdvIiBvZiBpdA==",
        ] {
            assert_eq!(redact(text), MASK, "{text}");
        }
        learn("true");
        learn("");
        assert_eq!(redact("true"), "true");
    }
}
