//! The rules of Helm and Kubernetes for names.

/// Tells why a text cannot be a namespace: a DNS label of RFC 1123, as Kubernetes checks it.
pub(super) fn namespace(name: &str) -> Result<(), &'static str> {
    if name.len() > 63 {
        return Err("a namespace has at most 63 characters");
    }
    if is_dns_label(name) {
        Ok(())
    } else {
        Err("a namespace is lower-case letters, digits and `-`, and starts and ends with a letter or digit")
    }
}

/// Tells why a text cannot be a release name.
///
/// Source: Helm `pkg/chart/v2/util/validate_name.go`: DNS labels joined by dots, at most 53 characters.
pub(super) fn release(name: &str) -> Result<(), &'static str> {
    if name.len() > 53 {
        return Err("a release name has at most 53 characters");
    }
    if name.split('.').all(is_dns_label) {
        Ok(())
    } else {
        Err(
            "a release name is lower-case letters, digits, `-` and `.`, and starts and ends with a letter or digit",
        )
    }
}

/// Tells why a text cannot be the value of a label.
///
/// Source: Kubernetes `apimachinery/pkg/util/validation`, `IsValidLabelValue`.
pub(super) fn label_value(value: &str) -> Result<(), &'static str> {
    if value.len() > 63 {
        return Err("a label value has at most 63 characters");
    }
    if value.is_empty() || is_qualified_part(value) {
        Ok(())
    } else {
        Err("a label value is letters, digits, `-`, `_` and `.`, and starts and ends with a letter or digit")
    }
}

/// Tells why a text cannot be the key of a label or annotation.
///
/// Source: Kubernetes `apimachinery/pkg/util/validation`, `IsQualifiedName`.
pub(super) fn label_key(key: &str) -> Result<(), &'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_fits = prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_dns_label));
    if prefix_fits && name.len() <= 63 && is_qualified_part(name) {
        Ok(())
    } else {
        Err("a key is `NAME` or `DOMAIN/NAME`; NAME is letters, digits, `-`, `_` and `.`, at most 63")
    }
}

fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    text.bytes().all(inner) && ends_are(text, |b| b != b'-')
}

fn is_qualified_part(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.bytes().all(inner) && ends_are(text, |b| b.is_ascii_alphanumeric())
}

fn ends_are(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    match (text.bytes().next(), text.bytes().next_back()) {
        (Some(first), Some(last)) => allowed(first) && allowed(last),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_helm_and_kubernetes() {
        let long = "a".repeat(54);
        for (name, is_release, is_namespace) in [
            ("a", true, true),
            ("web-1", true, true),
            ("a.b", true, false),
            ("a..b", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("Web", false, false),
            ("a_b", false, false),
            ("", false, false),
            ("ä", false, false),
            (long.as_str(), false, true),
        ] {
            assert_eq!(release(name).is_ok(), is_release, "{name}");
            assert_eq!(namespace(name).is_ok(), is_namespace, "{name}");
        }
    }

    #[test]
    fn labels_follow_kubernetes() {
        for (key, fits) in [
            ("env", true),
            ("example.org/env", true),
            ("a/b/c", false),
            ("/b", false),
            ("a/", false),
            ("A_b.c", true),
            ("Example.org/x", false),
            ("", false),
        ] {
            assert_eq!(label_key(key).is_ok(), fits, "{key}");
        }
        for (value, fits) in [("", true), ("a b", false), ("v1.2_3", true), ("-x", false)] {
            assert_eq!(label_value(value).is_ok(), fits, "{value}");
        }
    }
}
