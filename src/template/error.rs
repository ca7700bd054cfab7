//! Failures of parsing and execution, in Go's words.

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
#[error("template: {location}{place}: {message}")]
pub struct ExecError {
    /// `FILE:LINE:COLUMN`; only the template's name where no node was being executed.
    pub location: String,
    /// ` executing "NAME" at <EXPR>` with a leading colon, or nothing.
    pub place: String,
    /// What went wrong, including the text of `source`.
    pub message: String,
    /// The failure of the function that was called, if one was.
    pub source: Option<Box<super::call::FuncError>>,
}
