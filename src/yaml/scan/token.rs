//! The tokens between scanner and parser.

use std::borrow::Cow;

use super::super::error::Mark;

/// A token and where it stands.
pub(in super::super) struct Token<'a> {
    pub(in super::super) kind: Kind<'a>,
    pub(in super::super) start: Mark,
    pub(in super::super) end: Mark,
}

/// What a token is.
pub(in super::super) enum Kind<'a> {
    StreamEnd,
    /// `%YAML`, with major and minor number.
    Version(u8, u8),
    /// `%TAG`, with handle and prefix.
    TagDirective(&'a str, Cow<'a, str>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// Handle and suffix; a verbatim tag and the lone `!` have no handle.
    Tag(&'a str, Cow<'a, str>),
    Scalar(Cow<'a, str>, Style),
}

/// Whether a scalar may be something else than text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// Unquoted: its spelling decides what it is.
    Plain,
    /// Quoted or a block scalar: text, unless tagged.
    Quoted,
}
