//! Failures of parsing and execution, in Go's words.

use super::call::FuncError;
use crate::go::strconv::quote;

/// A template that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    /// The name of the text that was parsed.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A template that failed while it was executed.
#[derive(Debug, thiserror::Error)]
#[error("template: {location}: executing {} at <{expression}>: {message}", quote(template.as_bytes()))]
pub struct ExecError {
    /// `FILE:LINE:COLUMN`, the line counted from 1, the column in bytes from 0.
    pub location: String,
    /// The name of the template.
    pub template: String,
    /// The expression, re-printed by Go's rules.
    pub expression: String,
    /// What went wrong, including the text of `source`.
    pub message: String,
    /// The failure of the function that was called, if one was.
    pub source: Option<Box<FuncError>>,
}
