//! From tokens to the nodes of one document.
//!
//! The grammar and the texts of the errors are those of go-yaml v2 (`parserc.go`). Only the first document of
//! a text is read: that is all that Helm looks at.

use std::borrow::Cow;
use std::collections::HashMap;

use super::error::{Mark, YamlError};
use super::scan::{Kind, Scanner, Style, Token, too_deep};
use crate::value::MAX_DEPTH;

/// A node; the nodes of a collection follow it, each with all that belongs to it.
pub(super) struct RawNode<'a> {
    pub(super) kind: RawKind<'a>,
    pub(super) start: Mark,
    /// The offset behind the last character.
    pub(super) end: u32,
    /// The index behind the last node that belongs to this one.
    pub(super) next: u32,
}

/// What a node is.
pub(super) enum RawKind<'a> {
    /// `implicit`: the spelling decides what it is, as it has neither quotes nor a tag.
    Scalar {
        value: Cow<'a, str>,
        tag: Option<Box<str>>,
        implicit: bool,
    },
    List,
    /// Keys and values in turn.
    Map,
    /// The index of the node it stands for.
    Alias(u32, &'a str),
}

/// Reads the nodes of the first document; none at all for a text without documents.
pub(super) fn parse<'a>(scanner: &mut Scanner<'a>) -> Result<Vec<RawNode<'a>>, YamlError> {
    let mut parser =
        Parser { scanner, nodes: Vec::new(), anchors: HashMap::new(), tags: HashMap::new(), depth: 0 };
    parser.document()?;
    Ok(parser.nodes)
}

struct Parser<'s, 'a> {
    scanner: &'s mut Scanner<'a>,
    nodes: Vec<RawNode<'a>>,
    anchors: HashMap<&'a str, u32>,
    /// The prefixes of tags by their handles: those of `%TAG` and the default ones.
    tags: HashMap<&'a str, Cow<'a, str>>,
    depth: usize,
}

/// Whether the next token is of one of the given kinds.
macro_rules! next_is {
    ($parser:expr, $($kind:pat_param)|+) => {
        matches!($parser.scanner.peek()?.kind, $($kind)|+)
    };
}

impl<'a> Parser<'_, 'a> {
    fn start(&mut self) -> Result<Mark, YamlError> {
        Ok(self.scanner.peek()?.start)
    }

    /// Takes the token that was peeked at and returns where it ends.
    fn skip(&mut self) -> Mark {
        self.scanner.take().map_or_else(Mark::default, |token| token.end)
    }

    fn document(&mut self) -> Result<(), YamlError> {
        if next_is!(self, Kind::StreamEnd) {
            return Ok(());
        }
        let explicit = next_is!(self, Kind::Version(..) | Kind::TagDirective(..) | Kind::DocumentStart);
        self.directives()?;
        if explicit {
            if !next_is!(self, Kind::DocumentStart) {
                let problem = "did not find expected <document start>";
                return Err(YamlError::parser(self.start()?, problem));
            }
            self.skip();
        }
        if explicit
            && next_is!(
                self,
                Kind::Version(..)
                    | Kind::TagDirective(..)
                    | Kind::DocumentStart
                    | Kind::DocumentEnd
                    | Kind::StreamEnd
            )
        {
            let mark = self.start()?;
            self.empty(mark);
        } else {
            self.node(true, false)?;
        }
        // go-yaml looks at the token behind the document before it gives the document out.
        self.scanner.peek()?;
        Ok(())
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut version = false;
        while next_is!(self, Kind::Version(..) | Kind::TagDirective(..)) {
            let Some(Token { kind, start, .. }) = self.scanner.take() else { break };
            match kind {
                Kind::Version(..) if version => {
                    return Err(YamlError::parser(start, "found duplicate %YAML directive"));
                }
                Kind::Version(1, 1) => version = true,
                Kind::Version(..) => {
                    return Err(YamlError::parser(start, "found incompatible YAML document"));
                }
                Kind::TagDirective(handle, _) if self.tags.contains_key(handle) => {
                    return Err(YamlError::parser(start, "found duplicate %TAG directive"));
                }
                Kind::TagDirective(handle, prefix) => {
                    self.tags.insert(handle, prefix);
                }
                _ => {}
            }
        }
        self.tags.entry("!").or_insert(Cow::Borrowed("!"));
        self.tags.entry("!!").or_insert(Cow::Borrowed("tag:yaml.org,2002:"));
        Ok(())
    }

    fn push(&mut self, kind: RawKind<'a>, start: Mark, end: Mark) -> u32 {
        // Each node takes at least one byte of a text that is shorter than 4 GiB.
        let at = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(RawNode { kind, start, end: end.offset, next: at.saturating_add(1) });
        at
    }

    /// An absent node: null.
    fn empty(&mut self, mark: Mark) {
        self.push(RawKind::Scalar { value: Cow::Borrowed(""), tag: None, implicit: true }, mark, mark);
    }

    /// Notes that the collection opened at `at` ends here.
    fn close(&mut self, at: u32, end: Mark) {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.next = next;
            node.end = end.offset;
        }
    }

    /// Reads a node. In `block` context block collections may start; `indentless` allows a sequence whose
    /// dashes are not further right than the key it belongs to.
    fn node(&mut self, block: bool, indentless: bool) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(YamlError::scanner(self.start()?, too_deep()));
        }
        let start = self.start()?;
        if next_is!(self, Kind::Alias(_)) {
            self.alias(start)?;
        } else {
            self.content(start, block, indentless)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn alias(&mut self, start: Mark) -> Result<(), YamlError> {
        let Some(Token { kind: Kind::Alias(name), end, .. }) = self.scanner.take() else { return Ok(()) };
        let Some(&target) = self.anchors.get(name) else {
            return Err(YamlError::plain(start, format!("unknown anchor '{name}' referenced")));
        };
        self.push(RawKind::Alias(target, name), start, end);
        Ok(())
    }

    fn content(&mut self, start: Mark, block: bool, indentless: bool) -> Result<(), YamlError> {
        let mut anchor = None;
        let mut tag = None;
        let mut end = start;
        for _ in 0..2 {
            let property = match self.scanner.peek()?.kind {
                Kind::Anchor(_) => anchor.is_none(),
                Kind::Tag(..) => tag.is_none(),
                _ => false,
            };
            if !property {
                break;
            }
            let Some(token) = self.scanner.take() else { break };
            end = token.end;
            match token.kind {
                Kind::Anchor(name) => anchor = Some(name),
                Kind::Tag(handle, suffix) => tag = Some((handle, suffix, token.start)),
                _ => {}
            }
        }
        // A token is looked at before the tag is judged, as its own faults come first.
        self.scanner.peek()?;
        let tag = match tag {
            Some((handle, suffix, mark)) => Some(self.resolve_tag(handle, &suffix, mark)?),
            None => None,
        };
        if let (Some(anchor), Ok(at)) = (anchor, u32::try_from(self.nodes.len())) {
            self.anchors.insert(anchor, at);
        }
        match &self.scanner.peek()?.kind {
            Kind::BlockEntry if indentless => self.indentless_list(start),
            Kind::Scalar(..) => {
                let Some(Token { kind: Kind::Scalar(value, style), end, .. }) = self.scanner.take() else {
                    return Ok(());
                };
                let implicit = match tag.as_deref() {
                    None => style == Style::Plain,
                    Some(tag) => tag == "!",
                };
                self.push(RawKind::Scalar { value, tag, implicit }, start, end);
                Ok(())
            }
            Kind::FlowSequenceStart => self.flow_list(start),
            Kind::FlowMappingStart => self.flow_map(start),
            Kind::BlockSequenceStart if block => self.block_list(start),
            Kind::BlockMappingStart if block => self.block_map(start),
            _ if anchor.is_some() || tag.is_some() => {
                let implicit = tag.is_none();
                self.push(RawKind::Scalar { value: Cow::Borrowed(""), tag, implicit }, start, end);
                Ok(())
            }
            _ => Err(YamlError::parser(self.start()?, "did not find expected node content")),
        }
    }

    fn resolve_tag(&self, handle: &str, suffix: &str, mark: Mark) -> Result<Box<str>, YamlError> {
        let tag = if handle.is_empty() {
            suffix.to_owned()
        } else {
            self.tags.get(handle).map(|prefix| format!("{prefix}{suffix}")).unwrap_or_default()
        };
        if tag.is_empty() {
            return Err(YamlError::parser(mark, "found undefined tag handle"));
        }
        Ok(tag.into_boxed_str())
    }

    fn block_list(&mut self, start: Mark) -> Result<(), YamlError> {
        let list = self.push(RawKind::List, start, start);
        self.skip();
        while next_is!(self, Kind::BlockEntry) {
            let mark = self.skip();
            if next_is!(self, Kind::BlockEntry | Kind::BlockEnd) {
                self.empty(mark);
            } else {
                self.node(true, false)?;
            }
        }
        if !next_is!(self, Kind::BlockEnd) {
            return Err(YamlError::parser(self.start()?, "did not find expected '-' indicator"));
        }
        self.end_block(list);
        Ok(())
    }

    /// Ends a block collection: it reaches as far as its last node.
    fn end_block(&mut self, at: u32) {
        self.skip();
        self.end_with_last_node(at);
    }

    fn end_with_last_node(&mut self, at: u32) {
        let end = self.nodes.last().map_or(0, |node| node.end);
        self.close(at, Mark { offset: end, line: 0, column: 0 });
    }

    fn indentless_list(&mut self, start: Mark) -> Result<(), YamlError> {
        let list = self.push(RawKind::List, start, start);
        while next_is!(self, Kind::BlockEntry) {
            let mark = self.skip();
            if next_is!(self, Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd) {
                self.empty(mark);
            } else {
                self.node(true, false)?;
            }
        }
        self.end_with_last_node(list);
        Ok(())
    }

    fn block_map(&mut self, start: Mark) -> Result<(), YamlError> {
        let map = self.push(RawKind::Map, start, start);
        self.skip();
        while next_is!(self, Kind::Key) {
            let mark = self.skip();
            self.block_map_part(mark)?;
            if next_is!(self, Kind::Value) {
                let mark = self.skip();
                self.block_map_part(mark)?;
            } else {
                let mark = self.start()?;
                self.empty(mark);
            }
        }
        if !next_is!(self, Kind::BlockEnd) {
            return Err(YamlError::parser(self.start()?, "did not find expected key"));
        }
        self.end_block(map);
        Ok(())
    }

    /// A key or value of a block mapping, which may be absent.
    fn block_map_part(&mut self, mark: Mark) -> Result<(), YamlError> {
        if next_is!(self, Kind::Key | Kind::Value | Kind::BlockEnd) {
            self.empty(mark);
            return Ok(());
        }
        self.node(true, true)
    }

    fn flow_list(&mut self, start: Mark) -> Result<(), YamlError> {
        let list = self.push(RawKind::List, start, start);
        self.skip();
        let mut first = true;
        while !next_is!(self, Kind::FlowSequenceEnd) {
            if !first {
                if !next_is!(self, Kind::FlowEntry) {
                    return Err(YamlError::parser(self.start()?, "did not find expected ',' or ']'"));
                }
                self.skip();
            }
            first = false;
            if next_is!(self, Kind::Key) {
                self.flow_pair()?;
            } else if !next_is!(self, Kind::FlowSequenceEnd) {
                self.node(false, false)?;
            }
        }
        let end = self.skip();
        self.close(list, end);
        Ok(())
    }

    /// A mapping of one pair, written without braces inside a flow sequence.
    fn flow_pair(&mut self) -> Result<(), YamlError> {
        let mark = self.start()?;
        let map = self.push(RawKind::Map, mark, mark);
        self.skip();
        if next_is!(self, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd) {
            // go-yaml takes the token as well, so a pair without a key is an error in most places.
            let mark = self.skip();
            self.empty(mark);
        } else {
            self.node(false, false)?;
        }
        self.flow_value(|kind| matches!(kind, Kind::FlowEntry | Kind::FlowSequenceEnd))?;
        self.end_with_last_node(map);
        Ok(())
    }

    fn flow_map(&mut self, start: Mark) -> Result<(), YamlError> {
        let map = self.push(RawKind::Map, start, start);
        self.skip();
        let mut first = true;
        while !next_is!(self, Kind::FlowMappingEnd) {
            if !first {
                if !next_is!(self, Kind::FlowEntry) {
                    return Err(YamlError::parser(self.start()?, "did not find expected ',' or '}'"));
                }
                self.skip();
            }
            first = false;
            if next_is!(self, Kind::Key) {
                self.skip();
                if next_is!(self, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd) {
                    let mark = self.start()?;
                    self.empty(mark);
                } else {
                    self.node(false, false)?;
                }
                self.flow_value(|kind| matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd))?;
            } else if !next_is!(self, Kind::FlowMappingEnd) {
                self.node(false, false)?;
                let mark = self.start()?;
                self.empty(mark);
            }
        }
        let end = self.skip();
        self.close(map, end);
        Ok(())
    }

    /// The value of a pair in flow context; `ends` tells the tokens before which it is absent.
    fn flow_value(&mut self, ends: fn(&Kind<'_>) -> bool) -> Result<(), YamlError> {
        if next_is!(self, Kind::Value) {
            self.skip();
            if !ends(&self.scanner.peek()?.kind) {
                return self.node(false, false);
            }
        }
        let mark = self.start()?;
        self.empty(mark);
        Ok(())
    }
}
