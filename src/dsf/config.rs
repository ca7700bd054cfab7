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

/// A text as it may be shown. A reference is not the secret that it names, and a URL hides its password only.
fn shown(text: &Text, secret: bool) -> String {
    let is_variable = text.private && text.written.as_deref().is_some_and(is_one_variable);
    let text = text.shown();
    if !secret || text.is_empty() || text.starts_with("ref+") || is_variable {
        return text.to_owned();
    }
    match text.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) if !scheme.is_empty() => {
            let authority = rest.split('/').next().unwrap_or_default();
            match authority.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{}", &rest[authority.len()..]),
                // Webhooks are secrets as a whole.
                None if rest.contains("hook") => HIDDEN.to_owned(),
                None => text.to_owned(),
            }
        }
        _ => HIDDEN.to_owned(),
    }
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
