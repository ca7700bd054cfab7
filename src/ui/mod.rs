//! The terminal: the only module that prints.
//!
//! stdout carries the result, stderr progress, warnings and errors. What is printed is made by pure functions
//! of (data, style); meaning never hangs on colour alone.

pub mod ask;
pub mod ci;
mod clean;
pub mod config_view;
pub mod diff_view;
pub mod drift_view;
pub mod graph_view;
pub mod plan_view;
pub mod progress;
pub mod run_view;
mod style;

pub use style::Style;

use std::borrow::Cow;
use std::io::Write as _;

use crate::host::secrets;

/// Returns a text for people: without what a terminal or a CI system would obey, and with every known secret masked.
pub fn told(text: &str) -> Cow<'_, str> {
    let shown = readable(text);
    if ci::current() == ci::Ci::GitHub && ci::is_command(&shown) {
        return Cow::Owned(ci::neutralised(&shown));
    }
    shown
}

/// Writes commands for a CI system to stderr: the caller has made them of escaped parts.
pub fn commands(lines: &str) {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(secrets::redact(lines).as_bytes()));
}

/// Returns a text without what a terminal would obey, and with every known secret masked.
pub fn readable(text: &str) -> Cow<'_, str> {
    match secrets::redact(text) {
        Cow::Borrowed(text) => clean::clean(text),
        Cow::Owned(text) => Cow::Owned(clean::clean(&text).into_owned()),
    }
}

/// Writes the result to stdout as it is, but for known secrets. A reader that went away (`| head`) is not an error.
pub fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(secrets::redact(text).as_bytes()).and_then(|()| out.flush()));
}

/// Writes a file to stdout, exactly as it is: masking would make another one of it. Whoever made it left the secrets out.
pub fn document(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes a line to stderr.
pub fn message(text: &str) {
    let mut err = std::io::stderr().lock();
    drop(writeln!(err, "{}", told(text)));
}
