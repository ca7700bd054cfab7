//! What an encrypted file holds, in the order in which it holds it: the authentication of sops is over that order.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::value::{Map, Value};
use crate::yaml;

/// A file that was decrypted.
#[derive(Clone, PartialEq)]
pub struct Decrypted {
    /// What it holds.
    pub value: Value,
    /// Its text: as it was for files without structure, else written anew.
    pub text: Vec<u8>,
    /// What was encrypted in it.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for Decrypted {
    /// Leaves everything out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decrypted")
    }
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The value.
    pub value: Value,
    /// Its text, if it was written without quotes in YAML, so that its spelling decides what it is.
    pub plain: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Leaf(Leaf),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    pub(super) fn of_yaml(node: yaml::Node) -> Self {
        match node.content {
            yaml::Content::Scalar { value, text, plain } => {
                Tree::Leaf(Leaf { value, plain: plain.then_some(text) })
            }
            yaml::Content::List(items) => Tree::List(items.into_iter().map(Self::of_yaml).collect()),
            yaml::Content::Map(entries) => {
                let entry = |entry: yaml::Entry| (entry.name, Self::of_yaml(entry.value));
                Tree::Map(entries.into_iter().map(entry).collect())
            }
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Tree::Leaf(Leaf { value: text.into(), plain: None })
    }

    /// Takes the value of a key out of a mapping: the first one.
    pub(super) fn take(&mut self, key: &str) -> Option<Tree> {
        let Tree::Map(entries) = self else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Tree::Leaf(leaf) => leaf.value,
            Tree::List(items) => Value::List(items.into_iter().map(Self::into_value).collect()),
            Tree::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| (key, value.into_value()));
                Value::Map(entries.collect::<Map>())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    /// Reads JSON. As in Go, every number is a floating-point one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InOrder)
    }
}

struct InOrder;

impl InOrder {
    fn leaf<E>(value: Value) -> Result<Tree, E> {
        Ok(Tree::Leaf(Leaf { value, plain: None }))
    }
}

impl<'de> Visitor<'de> for InOrder {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Self::leaf(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Self::leaf(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Self::leaf(Value::Float(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Self::leaf(Value::Float(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Self::leaf(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Self::leaf(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}
