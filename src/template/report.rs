//! Failures in the words of Helm 4: one line for a message from the chart's author, else every template of the
//! chain on lines of its own. Source: Helm `pkg/engine/engine.go`, `reformatExecErrorMsg`.

use super::call::FuncError;
use super::error::ParseError;

/// Marks around a message that a chart's author gives with `required` or `fail`.
pub(super) const WARNING_START: &str = "HELM_ERR_START";
/// See [`WARNING_START`].
pub(super) const WARNING_END: &str = "HELM_ERR_END";

/// One link of a chain of failures.
#[derive(Debug, PartialEq, Eq)]
struct Link<'e> {
    location: &'e str,
    place: String,
    message: &'e str,
}

/// Returns the text that Helm 4 shows when a template fails.
pub fn exec_text(error: &FuncError) -> String {
    let raw = error.to_string();
    if !matches!(error, FuncError::Exec(_)) {
        return raw;
    }
    if let Some(text) = authors_message(&raw) {
        return text;
    }
    let texts = chain(error);
    let mut links: Vec<Link<'_>> = Vec::new();
    for text in &texts {
        // A failure that is not of Go's form, as functions give it, leaves the whole text alone.
        let Some(link) = parse(text) else { return raw };
        if links.last() != Some(&link) {
            links.push(link);
        }
    }
    let text: String = links.iter().map(Link::show).collect();
    text.trim().to_owned()
}

/// Returns the text that Helm shows when a template cannot be parsed: the first place and the last part of the
/// message.
pub fn parse_text(error: &ParseError) -> String {
    let raw = error.to_string();
    let location = raw.split(": ").nth(1).unwrap_or_default();
    let message = raw.rsplit(": ").next().unwrap_or_default();
    format!("parse error at ({location}): {message}")
}

/// What `required` or `fail` was given, with the place of the outermost template.
fn authors_message(raw: &str) -> Option<String> {
    let mut parts = raw.splitn(3, ": ");
    let location = parts.nth(1)?;
    let rest = parts.next()?;
    let (_, rest) = rest.split_once(WARNING_START)?;
    let (message, _) = rest.rsplit_once(WARNING_END)?;
    Some(format!("execution error at ({location}): {message}"))
}

/// The texts of an error and of all that caused it.
fn chain(error: &FuncError) -> Vec<String> {
    let mut texts = Vec::new();
    let mut current = Some(error);
    while let Some(error) = current {
        texts.push(error.to_string());
        current = match error {
            FuncError::Exec(error) => error.source.as_deref(),
            FuncError::Message(_) => None,
        };
    }
    texts
}

/// Takes Go's text apart. What another template says after it is cut off.
fn parse(text: &str) -> Option<Link<'_>> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        return Some(Link { location: "", place: String::new(), message: text });
    }
    if let Some(link) = parse_executing(rest) {
        return Some(link);
    }
    let (location, message) = rest.rsplit_once(": ")?;
    Some(Link { location, place: String::new(), message: own(message) })
}

fn parse_executing(rest: &str) -> Option<Link<'_>> {
    let (location, rest) = rest.split_once(": executing ")?;
    let (name, rest) = rest.strip_prefix('"')?.split_once('"')?;
    let (expression, message) = rest.strip_prefix(" at <")?.split_once(">: ")?;
    Some(Link { location, place: format!("executing \"{name}\" at <{expression}>:"), message: own(message) })
}

fn own(message: &str) -> &str {
    message.split_once(" template:").map_or(message, |(own, _)| own)
}

impl Link<'_> {
    fn show(&self) -> String {
        let mut text = String::new();
        for (part, end) in [(self.location, "\n  "), (self.place.as_str(), "\n    "), (self.message, "\n")] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(end);
            }
        }
        text
    }
}
