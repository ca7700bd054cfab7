//! Patterns over the names of fields and over names: what the rules of a desired-state file are written in.
//!
//! A pattern names a field and everything below it. `*` stands for any part of a name, and alone for any step;
//! `[name=web]` is the list element with this member, `[*]` any element, `[0]` one by position, and
//! `["example.org/a"]` or `[example.org/a]` a member whose name has dots.

use std::fmt;

/// Most steps of a pattern: objects are not deeper.
const MOST_STEPS: usize = 64;

/// A pattern over fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPattern {
    text: String,
    steps: Vec<PatternStep>,
}

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternStep {
    /// A member; `*` in it stands for any text, and alone for any step.
    Name(String),
    /// Any element of a list.
    AnyElement,
    /// An element by position.
    Index(usize),
    /// The element with these members.
    Match(Vec<(String, String)>),
    /// The element of a list of plain values with this text.
    Value(String),
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    message: String,
}

impl FieldPattern {
    /// Reads a pattern such as `spec.template.spec.containers[name=web].env[*].value`.
    ///
    /// # Errors
    /// It is empty, too long, or a part of it is: an empty name, a bracket that is not closed or holds nothing.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let fail = |message: String| Err(PatternError { message });
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if steps.len() >= MOST_STEPS {
                return fail(format!("a path has at most {MOST_STEPS} steps"));
            }
            if first == '[' {
                let Some(end) = bracket_end(rest) else { return fail("a `[` is not closed".to_owned()) };
                steps.push(bracket(&rest[1..end])?);
                rest = &rest[end + 1..];
                continue;
            }
            let name = match rest.strip_prefix('.') {
                // A leading dot, as the server writes paths.
                Some(name) => name,
                None if steps.is_empty() => rest,
                None => return fail("a `]` is followed by `.`, `[` or nothing".to_owned()),
            };
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return fail("a name in it is empty".to_owned());
            }
            steps.push(PatternStep::Name(name[..end].to_owned()));
            rest = &name[end..];
        }
        if steps.is_empty() {
            return fail("it is empty".to_owned());
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// Returns the steps; there is at least one.
    pub fn steps(&self) -> &[PatternStep] {
        &self.steps
    }
}

impl fmt::Display for FieldPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns where the bracket that `text` begins with is closed; quotes may hold brackets.
fn bracket_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<PatternStep, PatternError> {
    let fail = |message: &str| Err(PatternError { message: message.to_owned() });
    if text.is_empty() {
        return fail("`[]` names no element");
    }
    if text == "*" {
        return Ok(PatternStep::AnyElement);
    }
    if let Ok(index) = text.parse() {
        return Ok(PatternStep::Index(index));
    }
    if let Some(value) = text.strip_prefix('=') {
        return Ok(PatternStep::Value(value.trim_matches('"').to_owned()));
    }
    if text.starts_with('"') {
        return match serde_json::from_str::<String>(text) {
            Ok(name) if !name.is_empty() => Ok(PatternStep::Name(name)),
            _ => fail("a quoted name is not closed, or empty"),
        };
    }
    if !text.contains('=') {
        return Ok(PatternStep::Name(text.to_owned()));
    }
    let mut members = Vec::new();
    for part in text.split(',') {
        match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                members.push((key.trim().to_owned(), value.trim().trim_matches('"').to_owned()));
            }
            _ => return fail("an element is named by `key=value`, several joined by commas"),
        }
    }
    Ok(PatternStep::Match(members))
}

/// Tells whether a text is what a pattern stands for, in which each `*` is any text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "abc", true),
            ("kubectl*", "kubectl-edit", true),
            ("kubectl*", "kube", false),
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "ac", false),
            ("aa*aa", "aaa", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_are_read_or_refused() {
        let name = |text: &str| PatternStep::Name(text.to_owned());
        let member = |key: &str, value: &str| PatternStep::Match(vec![(key.to_owned(), value.to_owned())]);
        for (text, expected) in [
            ("spec.replicas", vec![name("spec"), name("replicas")]),
            (".spec", vec![name("spec")]),
            ("*", vec![name("*")]),
            (
                "spec.containers[name=web].image",
                vec![name("spec"), name("containers"), member("name", "web"), name("image")],
            ),
            ("a[name=\"x]\"]", vec![name("a"), member("name", "x]")]),
            ("a[*].b[2]", vec![name("a"), PatternStep::AnyElement, name("b"), PatternStep::Index(2)]),
            ("a[\"b.c\"]", vec![name("a"), name("b.c")]),
            (
                "metadata.annotations[example.org/a]",
                vec![name("metadata"), name("annotations"), name("example.org/a")],
            ),
            ("a[=\"x\"]", vec![name("a"), PatternStep::Value("x".to_owned())]),
        ] {
            let pattern = FieldPattern::parse(text).unwrap();
            assert_eq!(pattern.steps(), expected, "{text}");
            assert_eq!(pattern.to_string(), text);
        }
        let deep = "a.".repeat(80);
        for bad in
            ["", ".", "a..b", "a.", "a[", "a[]", "a[x=1", "a[=]b", "a[\"\"]", "a[\"x]", "a[k=v,x]", &deep]
        {
            assert!(FieldPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
