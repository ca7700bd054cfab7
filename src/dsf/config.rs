//! What the files of a run say together: every key with its value and its origin.
//!
//! Values that come from the environment are shown as they are written, and values that look like secrets not at all.

use super::keys::{self, Section};
use super::tree::{Kind, Node, Table, Text, UNWRITTEN};
use crate::text::{Location, Sources};
use crate::value::Value;

/// What stands for a value that nobody should see.
pub const HIDDEN: &str = "(hidden)";

/// A key, or an item of a list.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it holds.
    pub content: Content,
    /// Where it was given; nothing for the whole.
    pub origin: Option<Location>,
}

/// What a key holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// A value that may be shown.
    Scalar(Value),
    /// Items in their order.
    List(Vec<Config>),
    /// Keys in their order.
    Map(Vec<(String, Config)>),
}

/// Makes it from the merged tree.
pub(super) fn of(table: &Table, sources: &Sources) -> Config {
    let maker = Maker { sources };
    let section = Some(Section::File);
    Config { content: Content::Map(maker.table(table, section, false)), origin: None }
}

struct Maker<'a> {
    sources: &'a Sources,
}

impl Maker<'_> {
    fn table(&self, table: &Table, section: Option<Section>, secret: bool) -> Vec<(String, Config)> {
        let entries = table.iter().map(|entry| {
            let key = section.and_then(|section| keys::find(section, &entry.key.value));
            let secret = secret || key.map_or_else(|| looks_secret(&entry.key.value), |key| key.secret);
            let below = key.map(|key| key.shape);
            let name = entry.key.shown().to_owned();
            let mut config = self.node(&entry.value, below, secret, entry.key_span);
            if let (Kind::Str(text), true) = (&entry.value.kind, is_webhook(&entry.key.value)) {
                config.content = Content::Scalar(Value::Str(hidden(text)));
            }
            // What the command line says of a key of the language is no secret, but chart values may be.
            if let (Kind::Str(text), Some(_), false) = (&entry.value.kind, key, secret)
                && text.written.as_deref() == Some(UNWRITTEN)
            {
                config.content = Content::Scalar(Value::Str(text.value.clone()));
            }
            (name, config)
        });
        entries.collect()
    }

    fn node(&self, node: &Node, shape: Option<keys::Shape>, secret: bool, at: crate::text::Span) -> Config {
        let content = match &node.kind {
            Kind::Map(table) => {
                let entries = match shape {
                    Some(keys::Shape::Table(section)) => self.table(table, Some(section), secret),
                    Some(keys::Shape::TableOf(section)) => {
                        let entries = table.iter().map(|entry| {
                            let below = Some(keys::Shape::Table(section));
                            let name = entry.key.shown().to_owned();
                            (name, self.node(&entry.value, below, secret, entry.key_span))
                        });
                        entries.collect()
                    }
                    _ => self.table(table, None, secret),
                };
                Content::Map(entries)
            }
            Kind::List(items) => {
                let below = match shape {
                    Some(keys::Shape::ListOf(section)) => Some(keys::Shape::Table(section)),
                    _ => None,
                };
                Content::List(items.iter().map(|item| self.node(item, below, secret, item.span)).collect())
            }
            Kind::Str(text) => Content::Scalar(Value::Str(shown(text, secret))),
            Kind::Null | Kind::Date => Content::Scalar(Value::Null),
            _ if secret => Content::Scalar(Value::Str(HIDDEN.to_owned())),
            Kind::Bool(flag) => Content::Scalar(Value::Bool(*flag)),
            Kind::Int(number) => Content::Scalar(Value::Int(*number)),
            Kind::Uint(number) => Content::Scalar(Value::Uint(*number)),
            Kind::Float(number) => Content::Scalar(Value::Float(*number)),
        };
        Config { content, origin: Some(self.sources.location(at)) }
    }
}

/// Tells whether a key holds the address of a webhook, which is a secret as a whole: whoever has it can post there.
fn is_webhook(key: &str) -> bool {
    key.to_ascii_lowercase().ends_with("webhook")
}

/// A text that is a secret as a whole, unless it only says where the secret is.
fn hidden(text: &Text) -> String {
    if says_where(text) { text.shown().to_owned() } else { HIDDEN.to_owned() }
}

/// Tells whether there is nothing secret in a text: a reference, or a variable, is not the secret that it names.
fn says_where(text: &Text) -> bool {
    let is_variable = text.private && text.written.as_deref().is_some_and(is_one_variable);
    let text = text.shown();
    text.is_empty() || text.starts_with("ref+") || is_variable
}

/// A text as it may be shown; addresses without what may be secret in them.
fn shown(text: &Text, secret: bool) -> String {
    if says_where(text) {
        return text.shown().to_owned();
    }
    let text = text.shown();
    if !secret {
        return address(text);
    }
    match text.split_once("://") {
        // Webhooks are secrets as a whole, under whatever key they stand.
        Some(("http" | "https", rest)) if !rest.contains("hook") => address(text),
        _ => HIDDEN.to_owned(),
    }
}

/// An address without what may be secret in it: user, password and query. What git is asked for is none.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    if !matches!(scheme, "http" | "https" | "git+http" | "git+https" | "git+ssh" | "oci") {
        return text.to_owned();
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let path = &rest[authority.len()..];
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) if !(scheme.starts_with("git+") && query.starts_with("ref=")) => {
            format!("{path}?{HIDDEN}")
        }
        _ => path.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

/// Tells whether a text is a variable and nothing else.
fn is_one_variable(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Tells whether a key of free choice names a secret. The name of an object that holds one is none.
pub(crate) fn looks_secret(key: &str) -> bool {
    let key: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if key.ends_with("name") || key.ends_with("ref") || key.starts_with("existing") {
        return false;
    }
    ["password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "credential", "webhook"]
        .iter()
        .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_hidden_as_a_whole() {
        for key in ["slackWebhook", "msTeamsWebhook", "webhook"] {
            assert!(is_webhook(key), "{key}");
        }
        assert!(!is_webhook("webhooks") && !is_webhook("url"));
    }

    #[test]
    fn an_address_shows_neither_user_nor_query() {
        for (address, expected) in [
            ("https://u:p@r.example.org/c?sig=x", "https://(hidden)@r.example.org/c?(hidden)"),
            ("https://r.example.org?token=x", "https://r.example.org?(hidden)"),
            ("git+https://tok@h/r.git//web?ref=v1", "git+https://(hidden)@h/r.git//web?ref=v1"),
            ("oci://r.example.org/c", "oci://r.example.org/c"),
            ("a text with :// in it", "a text with :// in it"),
        ] {
            assert_eq!(super::address(address), expected);
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
        for (key, expected) in [
            ("password", true),
            ("DB_PASSWORD", true),
            ("auth.adminPassword", true),
            ("api-key", true),
            ("tls.secretName", false),
            ("image.tag", false),
            ("replicas", false),
        ] {
            assert_eq!(looks_secret(key), expected, "{key}");
        }
    }

    #[test]
    fn urls_hide_their_password() {
        for (text, expected) in [
            ("https://user:pw@example.org/x", "https://(hidden)@example.org/x"),
            ("https://example.org/x", "https://example.org/x"),
            ("https://hooks.example.org/T/secret", HIDDEN),
            ("$notavariable", HIDDEN),
            ("ref+env://A", "ref+env://A"),
            ("plain", HIDDEN),
        ] {
            assert_eq!(shown(&Text::plain(text), true), expected);
        }
    }
}
