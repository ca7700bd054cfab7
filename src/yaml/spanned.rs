//! A document with the place of everything in it, for problems that point into a file.

use super::decode::{Budget, float_key, is_merge, no_merge, scalar};
use super::error::{Position, YamlError};
use super::parse::{RawKind, RawNode};
use crate::value::json::Numbers;
use crate::value::{Map, Value};

/// Where a node stands: bytes from `start` up to `end`, and the position of its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset behind the last byte.
    pub end: usize,
    /// Line and column of the first character, both from one.
    pub position: Position,
}

/// A node and where it stands. What an alias stands for carries the place of the anchored node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub content: Content,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Null, a truth value, a number or text.
    Scalar {
        /// The value, integers kept as such.
        value: Value,
        /// The text as it was written, without quotes: `1.10` where the value is the number 1.1.
        text: String,
        /// Whether it was written without quotes and tag, so that its spelling decided what it is.
        plain: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping: every pair as written, repeated keys included.
    Map(Vec<Entry>),
}

/// One pair of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key as Helm sees it: `yes` is `true`, `1.0` is `1`; a null key is `<nil>`.
    pub name: String,
    /// The key as written: always a scalar.
    pub key: Node,
    /// The value.
    pub value: Node,
    /// Whether a merge key (`<<`) brought the pair here. It then overwrites what is written before it, as in
    /// go-yaml, and is no repetition that anyone wrote.
    pub merged: bool,
}

impl Node {
    /// Returns the value without its places; the last of repeated keys wins.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar { value, .. } => value.clone(),
            Content::List(list) => Value::List(list.iter().map(Node::to_value).collect()),
            Content::Map(entries) => {
                let pairs = entries.iter().map(|entry| (entry.name.clone(), entry.value.to_value()));
                Value::Map(pairs.collect::<Map>())
            }
        }
    }

    /// Returns the pairs, if this is a mapping.
    pub fn entries(&self) -> Option<&[Entry]> {
        if let Content::Map(entries) = &self.content { Some(entries) } else { None }
    }

    /// Returns the elements, if this is a sequence.
    pub fn items(&self) -> Option<&[Node]> {
        if let Content::List(items) = &self.content { Some(items) } else { None }
    }

    /// Returns the value that counts for `key`: the last one.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries()?.iter().rev().find(|entry| entry.name == key)?;
        Some(&entry.value)
    }
}

/// Builds the tree. A text without a document is null, at its start.
pub(super) fn spanned(nodes: &[RawNode<'_>], skipped: usize) -> Result<Node, YamlError> {
    let mut builder = Builder { nodes, skipped, budget: Budget::default() };
    if nodes.is_empty() {
        let span = Span { start: skipped, end: skipped, position: Position { line: 1, column: 1 } };
        let content = Content::Scalar { value: Value::Null, text: String::new(), plain: true };
        return Ok(Node { span, content });
    }
    builder.node(0)
}

struct Builder<'d, 'a> {
    nodes: &'d [RawNode<'a>],
    /// The length of the byte order mark, which offsets count as well.
    skipped: usize,
    budget: Budget,
}

impl Builder<'_, '_> {
    fn span(&self, node: &RawNode<'_>) -> Span {
        let (start, end) = (node.start.offset as usize, node.end as usize);
        Span { start: start + self.skipped, end: end + self.skipped, position: node.start.position() }
    }

    fn node(&mut self, at: usize) -> Result<Node, YamlError> {
        let node = &self.nodes[at];
        self.budget.count(node)?;
        let content = match &node.kind {
            RawKind::Scalar { value, tag, implicit } => {
                let scalar = scalar(node, value, tag.as_deref(), *implicit)?;
                let plain = *implicit && tag.is_none();
                Content::Scalar { value: scalar.into_value(Numbers::Typed), text: value.to_string(), plain }
            }
            RawKind::Alias(target, name) => {
                self.budget.follow(at, node, name)?;
                let node = self.node(*target as usize)?;
                self.budget.unfollow();
                return Ok(node);
            }
            RawKind::List => {
                self.budget.enter(node)?;
                let items = self.children(at).into_iter().map(|child| self.node(child));
                let items = items.collect::<Result<_, _>>()?;
                self.budget.leave();
                Content::List(items)
            }
            RawKind::Map => {
                let mut entries = Vec::new();
                self.map_into(at, false, &mut entries)?;
                Content::Map(entries)
            }
        };
        Ok(Node { span: self.span(node), content })
    }

    fn children(&self, at: usize) -> Vec<usize> {
        let mut children = Vec::new();
        let mut child = at + 1;
        while child < self.nodes[at].next as usize {
            children.push(child);
            child = self.nodes[child].next as usize;
        }
        children
    }

    fn map_into(&mut self, at: usize, merged: bool, entries: &mut Vec<Entry>) -> Result<(), YamlError> {
        self.budget.enter(&self.nodes[at])?;
        for pair in self.children(at).chunks_exact(2) {
            let &[key, value] = pair else { continue };
            if is_merge(&self.nodes[key]) {
                match self.nodes[value].kind {
                    RawKind::List => {
                        for map in self.children(value).into_iter().rev() {
                            self.merge_map(map, entries)?;
                        }
                    }
                    _ => self.merge_map(value, entries)?,
                }
                continue;
            }
            let key_node = self.node(key)?;
            let Content::Scalar { value: scalar, .. } = &key_node.content else {
                let problem = format!("invalid map key: {}", super::describe::describe(self.nodes, key));
                return Err(YamlError::plain(self.nodes[key].start, problem));
            };
            let name = match scalar {
                Value::Str(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Int(number) => number.to_string(),
                Value::Uint(number) => number.to_string(),
                Value::Float(float) => float_key(*float),
                _ => "<nil>".to_owned(),
            };
            let value = self.node(value)?;
            entries.push(Entry { name, key: key_node, value, merged });
        }
        self.budget.leave();
        Ok(())
    }

    fn merge_map(&mut self, at: usize, entries: &mut Vec<Entry>) -> Result<(), YamlError> {
        let node = &self.nodes[at];
        match &node.kind {
            RawKind::Map => self.map_into(at, true, entries),
            RawKind::Alias(map, name) if matches!(self.nodes[*map as usize].kind, RawKind::Map) => {
                self.budget.follow(at, node, name)?;
                self.budget.count(node)?;
                self.map_into(*map as usize, true, entries)?;
                self.budget.unfollow();
                Ok(())
            }
            _ => Err(no_merge(node)),
        }
    }
}
