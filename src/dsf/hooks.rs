//! Hooks of apps: manifests that are applied and commands that are run around an operation.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::raw::{At, Given};
use super::tree::{Kind, Node, Text, join};
use std::time::Duration;

/// When a hook runs. The names are those of Helmsman's keys.
pub(super) const MOMENTS: [&str; 6] =
    ["preInstall", "postInstall", "preUpgrade", "postUpgrade", "preDelete", "postDelete"];

/// The hooks of an app as they are given.
#[derive(Clone, Debug, Default)]
pub(super) struct RawHooks {
    /// In the order of [`MOMENTS`].
    pub(super) hooks: Vec<RawHook>,
}

/// One hook.
#[derive(Clone, Debug)]
pub(super) struct RawHook {
    /// The path of its key.
    pub(super) path: String,
    pub(super) work: RawWork,
}

/// What a hook does.
#[derive(Clone, Debug)]
pub(super) enum RawWork {
    Manifest(At<Text>),
    Command,
}

/// Reads a table of hooks.
pub(super) fn hooks(around: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> RawHooks {
    let mut out = RawHooks::default();
    let Some((table, path)) = around.table(key, cx) else { return out };
    let fields = Fields::new(table, path);
    conditions(&fields, "successTimeout", cx);
    for moment in MOMENTS {
        let Some((entry, path)) = fields.get(moment) else { continue };
        let work = match &entry.value.kind {
            Kind::Str(text) if text.value.trim().is_empty() => None,
            Kind::Str(text) => short(text, &entry.value, &path, cx),
            Kind::Map(table) => long(&Fields::new(table, path.as_str()), &entry.value, cx),
            _ => wrong_type(&entry.value, &path, "a manifest, a command or a table", cx),
        };
        out.hooks.extend(work.map(|work| RawHook { path, work }));
    }
    out
}

fn conditions(fields: &Fields<'_>, timeout: &str, cx: &mut Context<'_, '_>) -> Given<Duration> {
    fields.text("successCondition", cx);
    fields.boolean("deleteOnSuccess", cx);
    fields.duration(timeout, cx)
}

/// Helmsman's form: a manifest by its ending or scheme, else a command.
fn short(text: &Text, node: &Node, path: &str, cx: &mut Context<'_, '_>) -> Option<RawWork> {
    let trimmed = text.value.trim();
    let ending = trimmed.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_remote = trimmed.starts_with("https://") || trimmed.starts_with("http://");
    let is_manifest = matches!(ending.as_deref(), Some("yaml" | "yml" | "json"));
    if is_remote || (is_manifest && !trimmed.contains(char::is_whitespace)) {
        return Some(RawWork::Manifest(At { value: text.clone(), span: node.span }));
    }
    match words(trimmed) {
        Ok(_) => Some(RawWork::Command),
        Err(why) => {
            let problem = Problem::new(Code::BadValue, path, format!("not a command: {why}"), node.span);
            cx.report.problem(problem.hint("write it as a table: { run = [\"PROGRAM\", \"ARGUMENT\"] }"));
            None
        }
    }
}

fn long(fields: &Fields<'_>, node: &Node, cx: &mut Context<'_, '_>) -> Option<RawWork> {
    conditions(fields, "timeout", cx);
    let (run, manifest) = (fields.get("run"), fields.get("manifest"));
    let message = match (&run, &manifest) {
        (Some(_), Some(_)) => "`run` and `manifest` exclude each other",
        (None, None) => "`run` or `manifest` is missing",
        (None, Some(_)) => {
            let manifest = fields.text("manifest", cx)?;
            return Some(RawWork::Manifest(manifest));
        }
        (Some((entry, _)), None) => {
            let command = fields.texts("run", cx);
            if command.is_empty() && matches!(&entry.value.kind, Kind::List(_)) {
                let message = "the command is empty";
                cx.report.problem(Problem::new(
                    Code::BadValue,
                    join(&fields.path, "run"),
                    message,
                    entry.value.span,
                ));
            }
            return Some(RawWork::Command);
        }
    };
    fields.texts("run", cx);
    fields.text("manifest", cx);
    cx.report.problem(Problem::new(Code::BadValue, fields.path.as_str(), message, node.span));
    None
}

/// Divides a command into words: blanks divide, quotes hold together, `\` takes the meaning from what follows.
///
/// # Errors
/// A quote that is not closed, or nothing after a `\`.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = rest.next().ok_or("nothing follows the last `\\`")?;
                word.get_or_insert_default().push(next);
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    if quote.is_some() { Err("a quote is not closed") } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsf::keys::{Section, keys_of};

    #[test]
    fn the_table_of_keys_has_every_moment() {
        for moment in MOMENTS {
            assert!(keys_of(Section::Hooks).any(|key| key.name == moment), "{moment}");
        }
    }

    #[test]
    fn commands_are_divided_as_a_shell_would() {
        for (text, expected) in [
            ("echo hi", Ok(vec!["echo", "hi"])),
            ("a  'b c' \"d e\"f", Ok(vec!["a", "b c", "d ef"])),
            (r#"a "b\"c" d\ e 'f\'"#, Ok(vec!["a", "b\"c", "d e", r"f\"])),
            ("a ''", Ok(vec!["a", ""])),
            ("a 'b", Err("a quote is not closed")),
            ("a \\", Err("nothing follows the last `\\`")),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
