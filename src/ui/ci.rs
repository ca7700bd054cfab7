//! The CI system that reads what is printed.
//!
//! A runner of GitHub obeys lines of a log that begin with `::`, or hold `##[`. What comes from files, charts and clusters
//! must not be obeyed, so there it is printed in another way.

use std::sync::OnceLock;

/// A CI system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ci {
    /// None that is treated in a way of its own.
    #[default]
    None,
    /// GitHub Actions.
    GitHub,
    /// GitLab CI.
    GitLab,
}

static CURRENT: OnceLock<Ci> = OnceLock::new();

/// Tells, once, who reads what this process prints.
pub fn begin(ci: Ci) {
    // Whoever told first has printed already.
    let _ = CURRENT.set(ci);
}

/// Returns who reads what is printed.
pub fn current() -> Ci {
    CURRENT.get().copied().unwrap_or_default()
}

/// Tells whether a runner of GitHub would obey a line of the text.
pub fn is_command(text: &str) -> bool {
    text.contains("##[") || text.lines().any(|line| line.trim_start().starts_with("::"))
}

/// Returns a text of which a runner of GitHub obeys no line. What it would have obeyed stays readable.
pub fn neutralised(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start();
        let line = match inner.strip_prefix("::") {
            Some(rest) => format!("{}:\\:{rest}", &line[..line.len() - inner.len()]),
            None => line.to_owned(),
        };
        out.push_str(&line.replace("##[", "#\\#["));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_obeys_nothing_that_comes_from_elsewhere() {
        for (text, expected) in [
            ("::set-output name=a::b\n", ":\\:set-output name=a::b\n"),
            ("a\n \t::error::b", "a\n \t:\\:error::b"),
            ("+ a ##[add-mask]b\r\n", "+ a #\\#[add-mask]b\r\n"),
            ("a::b # [c]\n", "a::b # [c]\n"),
        ] {
            assert_eq!(neutralised(text), expected);
            assert_eq!(is_command(text), text != expected, "{text}");
            assert!(!is_command(expected));
        }
    }
}
