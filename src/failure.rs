//! How an error is shown: what failed, why, and what mends it.
//!
//! Modules have their own error types; the shell turns the one that ends a command into a [`Failure`].
//! Nothing here prints.

use std::error::Error;
use std::fmt;

/// The kinds of failure that decide an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// Something tried did not work (exit code 1).
    Failed,
    /// The selection matched nothing (exit code 3).
    NothingSelected,
    /// A guard refuses (exit code 4).
    Refused,
    /// Usage, or an error in a desired-state file (exit code 64).
    Usage,
    /// Another run holds the lock (exit code 75).
    Locked,
    /// Ended by SIGHUP (exit code 129).
    HungUp,
    /// Ended by SIGINT (exit code 130).
    Interrupted,
    /// Ended by SIGTERM (exit code 143).
    Terminated,
}

/// An error that ends a command.
#[derive(Debug)]
pub struct Failure {
    /// Decides the exit code.
    pub class: FailureClass,
    /// What failed: the object first, then what happened to it.
    pub message: String,
    /// Why, outermost cause first; nothing that the message says already.
    pub causes: Vec<String>,
    /// What to do about it: a command, or the line to write.
    pub hints: Vec<String>,
    /// A text that is shown as it is instead of all of the above: a list of problems with their places.
    pub block: Option<String>,
}

impl Failure {
    /// Returns a failure without causes or hints.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), causes: Vec::new(), hints: Vec::new(), block: None }
    }

    /// Returns a failure that is shown as `text`.
    pub fn block(class: FailureClass, text: impl Into<String>) -> Self {
        Self { block: Some(text.into()), ..Self::new(class, String::new()) }
    }

    /// Returns a failure of something that was tried, with the chain of causes of `error`.
    pub fn of(message: impl Into<String>, error: &(dyn Error + 'static)) -> Self {
        let message = message.into();
        let mut failure = Self::new(FailureClass::Failed, message);
        failure.causes = chain(&failure.message, Some(error));
        failure
    }

    /// Makes it an error of usage or of a file.
    #[must_use]
    pub fn usage(mut self) -> Self {
        self.class = FailureClass::Usage;
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(block) = &self.block {
            return f.write_str(block);
        }
        write!(f, "error: {}", self.message)?;
        for cause in &self.causes {
            write!(f, "\ncaused by: {}", indent_rest(cause))?;
        }
        if !self.hints.is_empty() {
            writeln!(f)?;
        }
        for hint in &self.hints {
            write!(f, "\nhint: {}", indent_rest(hint))?;
        }
        Ok(())
    }
}

impl Error for Failure {}

fn indent_rest(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}

/// Returns the texts of an error and its sources, without those that the text before them contains already
/// (kube and hyper repeat their sources inside their own text).
pub fn chain(message: &str, error: Option<&(dyn Error + 'static)>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut next = error;
    while let Some(error) = next {
        let text = error.to_string();
        let said = texts.last().map_or(message, String::as_str);
        if !said.contains(&text) {
            texts.push(text);
        }
        next = error.source();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        #[source]
        source: Option<Box<Link>>,
    }

    #[test]
    fn a_cause_that_its_parent_already_told_is_left_out() {
        let inner = Link { text: "connection refused", source: None };
        let outer =
            Link { text: "client error (Connect): connection refused", source: Some(Box::new(inner)) };
        assert_eq!(
            chain("cannot reach the cluster", Some(&outer)),
            ["client error (Connect): connection refused"]
        );
    }

    #[test]
    fn the_block_names_what_why_and_the_way_out() {
        let failure =
            Failure::new(FailureClass::Failed, "release shop/web: no").cause("because").hint("run it again");
        assert_eq!(
            failure.to_string(),
            "error: release shop/web: no\ncaused by: because\n\nhint: run it again"
        );
    }
}
