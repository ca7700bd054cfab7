//! A helmfile as it is written, with the line of everything in it.

use std::rc::Rc;

use crate::value::{Map, Value};
use crate::yaml::{Content, Node};

/// A node and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) file: Rc<str>,
    pub(super) line: usize,
    pub(super) node: Src,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) enum Src {
    /// A value, and the text that was written without quotes.
    Scalar(Value, Option<String>),
    List(Vec<At>),
    Map(Entries),
}

/// The pairs of a mapping, each key once.
pub(super) type Entries = Vec<(String, At)>;

impl At {
    /// Returns the tree of a document. What a pair says for itself wins over what a merge key brings.
    pub(super) fn of(node: &Node, file: &Rc<str>) -> Self {
        let src = match &node.content {
            Content::Scalar { value: Value::Bool(_), text, plain: true } if is_word(text) => {
                Src::Scalar(Value::from(text.as_str()), Some(text.clone()))
            }
            Content::Scalar { value, text, plain } => Src::Scalar(value.clone(), plain.then(|| text.clone())),
            Content::List(items) => Src::List(items.iter().map(|item| At::of(item, file)).collect()),
            Content::Map(pairs) => {
                let mut entries: Entries = Vec::new();
                for own in [true, false] {
                    for pair in pairs.iter().filter(|pair| pair.merged != own) {
                        let value = At::of(&pair.value, file);
                        let key = match &pair.key.content {
                            Content::Scalar { text, plain: true, .. } if is_word(text) => text,
                            _ => &pair.name,
                        };
                        match entries.iter_mut().find(|(name, _)| name == key) {
                            Some((_, there)) if own => *there = value,
                            Some(_) => {}
                            None => entries.push((key.clone(), value)),
                        }
                    }
                }
                Src::Map(entries)
            }
        };
        At { file: Rc::clone(file), line: node.span.position.line as usize, node: src }
    }

    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.node, Src::Scalar(Value::Null, _))
    }

    /// Returns the text of a scalar: a version such as `1.10` is meant as it is written.
    pub(super) fn text(&self) -> Option<String> {
        match &self.node {
            Src::Scalar(Value::Str(text), _) => Some(text.clone()),
            Src::Scalar(Value::Null, _) | Src::List(_) | Src::Map(_) => None,
            Src::Scalar(_, Some(written)) => Some(written.clone()),
            Src::Scalar(Value::Bool(flag), None) => Some(flag.to_string()),
            Src::Scalar(..) => None,
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match &self.node {
            Src::Scalar(Value::Bool(flag), _) => Some(*flag),
            Src::Scalar(Value::Str(text), _) => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "y" => Some(true),
                "false" | "no" | "off" | "n" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match &self.node {
            Src::Scalar(Value::Int(number), _) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[At] {
        if let Src::List(items) = &self.node { items } else { &[] }
    }

    pub(super) fn entries(&self) -> &[(String, At)] {
        if let Src::Map(entries) = &self.node { entries } else { &[] }
    }

    pub(super) fn to_value(&self) -> Value {
        match &self.node {
            Src::Scalar(value, _) => value.clone(),
            Src::List(items) => Value::List(items.iter().map(At::to_value).collect()),
            Src::Map(entries) => {
                let pairs = entries.iter().map(|(key, value)| (key.clone(), value.to_value()));
                Value::Map(pairs.collect::<Map>())
            }
        }
    }
}

/// Tells whether a word is a truth value in YAML 1.1 only: helmfile reads YAML as go-yaml v3 does, where it is text
/// unless a truth value is asked for.
fn is_word(text: &str) -> bool {
    ["yes", "no", "on", "off", "y", "n"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Takes a pair out, so that what is left at the end is what nobody has read.
pub(super) fn take(entries: &mut Entries, key: &str) -> Option<At> {
    let at = entries.iter().position(|(name, _)| name == key)?;
    Some(entries.remove(at).1)
}

/// Lays a later part over an earlier one: mappings are merged, lists appended, and anything else replaced (helmfile
/// `pkg/app/two_pass_renderer.go` and `desired_state_file_loader.go`, with mergo).
pub(super) fn merge(base: &mut Entries, over: Entries) {
    for (key, value) in over {
        match base.iter_mut().find(|(name, _)| *name == key) {
            None => base.push((key, value)),
            Some((_, there)) => match (&mut there.node, value.node) {
                (Src::Map(below), Src::Map(over)) => merge(below, over),
                (Src::List(items), Src::List(more)) => items.extend(more),
                (_, Src::Scalar(Value::Null, _)) => {}
                (node, over) => {
                    *node = over;
                    there.line = value.line;
                    there.file = value.file;
                }
            },
        }
    }
}
