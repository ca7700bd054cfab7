//! The terminal: the only module that prints.
//!
//! stdout carries the result, stderr progress, warnings and errors. What is printed is made by pure functions
//! of (data, style); meaning never hangs on colour alone.

pub mod ask;
mod clean;
pub mod config_view;
pub mod diff_view;
pub mod drift_view;
pub mod plan_view;
pub mod progress;
pub mod run_view;
mod style;

pub use style::Style;

use std::io::Write as _;

/// Returns a text for people without what a terminal would obey.
pub fn told(text: &str) -> std::borrow::Cow<'_, str> {
    clean::clean(text)
}

/// Writes the result to stdout as it is. A reader that went away (`| head`) is not an error.
pub fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes a line to stderr.
pub fn message(text: &str) {
    let mut err = std::io::stderr().lock();
    drop(writeln!(err, "{}", told(text)));
}
