//! Hooks of apps: manifests that are applied and commands that are run around an operation.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::raw::{At, Given};
use super::tree::{Kind, Node, Text, join};
use crate::text::{Location, Span};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the moment of its name")]
pub enum Moment {
    PreInstall,
    PostInstall,
    PreUpgrade,
    PostUpgrade,
    PreDelete,
    PostDelete,
}

impl Moment {
    /// Every moment, in the order of the reference page.
    pub const ALL: [Moment; 6] = [
        Moment::PreInstall,
        Moment::PostInstall,
        Moment::PreUpgrade,
        Moment::PostUpgrade,
        Moment::PreDelete,
        Moment::PostDelete,
    ];

    /// Returns Helmsman's key.
    pub fn key(self) -> &'static str {
        match self {
            Moment::PreInstall => "preInstall",
            Moment::PostInstall => "postInstall",
            Moment::PreUpgrade => "preUpgrade",
            Moment::PostUpgrade => "postUpgrade",
            Moment::PreDelete => "preDelete",
            Moment::PostDelete => "postDelete",
        }
    }
}

/// A program with its arguments. They may hold what came from the environment, so only `shown` is for people.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program: a path, or a name that is looked for on `PATH`.
    pub program: String,
    /// Its arguments, as it gets them.
    pub arguments: Vec<String>,
    /// How messages name it: as it is written in the file.
    pub shown: String,
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandLine").field("shown", &self.shown).finish_non_exhaustive()
    }
}

/// Where a manifest is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestSource {
    /// A file on this machine.
    File(PathBuf),
    /// A file behind a URL.
    Url(String),
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookWork {
    /// It runs a program.
    Command(CommandLine),
    /// It applies objects.
    Manifest {
        /// Where they are.
        source: ManifestSource,
        /// How messages name it.
        shown: String,
        /// The condition that they are waited for, if they are.
        condition: Option<String>,
        /// Whether they are removed once the condition holds.
        delete: bool,
    },
}

/// A hook of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppHook {
    /// When it runs.
    pub moment: Moment,
    /// What it does.
    pub work: HookWork,
    /// The longest time.
    pub timeout: Duration,
    /// Its place in the file, as a path of keys.
    pub key: String,
    /// Where it stands.
    pub origin: Location,
}

/// The hooks of an app, or of all apps, as they are given.
#[derive(Clone, Debug, Default)]
pub(super) struct RawHooks {
    /// In the order of [`Moment::ALL`].
    pub(super) hooks: Vec<RawHook>,
    pub(super) settings: RawConditions,
}

/// What counts for the manifests of hooks.
#[derive(Clone, Debug, Default)]
pub(super) struct RawConditions {
    pub(super) condition: Given<Text>,
    pub(super) timeout: Given<Duration>,
    pub(super) delete: Given<bool>,
}

/// One hook.
#[derive(Clone, Debug)]
pub(super) struct RawHook {
    /// The path of its key.
    pub(super) path: String,
    /// Where its value stands.
    pub(super) span: Span,
    pub(super) moment: Moment,
    /// Nothing for an empty text: that takes the hook of all apps away.
    pub(super) work: Option<At<RawWork>>,
    /// Over those of the table around it.
    pub(super) settings: RawConditions,
}

/// What a hook does.
#[derive(Clone, Debug)]
pub(super) enum RawWork {
    Manifest(Text),
    /// The program and its arguments, and how the whole is written.
    Command(Vec<Text>, String),
}

/// Reads a table of hooks.
pub(super) fn hooks(around: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> RawHooks {
    let mut out = RawHooks::default();
    let Some((table, path)) = around.table(key, cx) else { return out };
    let fields = Fields::new(table, path);
    out.settings = conditions(&fields, "successTimeout", cx);
    for moment in Moment::ALL {
        let Some((entry, path)) = fields.get(moment.key()) else { continue };
        let node = &entry.value;
        let (work, settings) = match &node.kind {
            Kind::Str(text) if text.value.trim().is_empty() => {
                let settings = RawConditions::default();
                out.hooks.push(RawHook { path, span: node.span, moment, work: None, settings });
                continue;
            }
            Kind::Str(text) => {
                let work = short(text, node, &path, cx).map(|value| At { value, span: node.span });
                (work, RawConditions::default())
            }
            Kind::Map(table) => {
                let fields = Fields::new(table, path.as_str());
                let settings = conditions(&fields, "timeout", cx);
                (long(&fields, node, cx), settings)
            }
            _ => (wrong_type(node, &path, "a manifest, a command or a table", cx), RawConditions::default()),
        };
        if work.is_some() {
            out.hooks.push(RawHook { path, span: node.span, moment, work, settings });
        }
    }
    out
}

/// A program and its arguments, and how the whole is written.
#[derive(Clone, Debug)]
pub(super) struct RawCommand {
    pub(super) words: Vec<Text>,
    pub(super) shown: String,
    pub(super) span: Span,
}

/// Reads a command that is one text.
pub(super) fn command(around: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> Option<RawCommand> {
    let at = around.text(key, cx)?;
    let (entry, path) = around.get(key)?;
    let words = command_words(&at.value, &entry.value, &path, cx)?;
    let shown = at.value.shown().trim().to_owned();
    (!words.is_empty()).then_some(RawCommand { words, shown, span: at.span })
}

fn conditions(fields: &Fields<'_>, timeout: &str, cx: &mut Context<'_, '_>) -> RawConditions {
    RawConditions {
        condition: fields.text("successCondition", cx),
        delete: fields.boolean("deleteOnSuccess", cx),
        timeout: fields.duration(timeout, cx),
    }
}

/// Helmsman's form: a manifest by its ending or scheme, else a command.
fn short(text: &Text, node: &Node, path: &str, cx: &mut Context<'_, '_>) -> Option<RawWork> {
    let trimmed = text.value.trim();
    let ending = trimmed.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_remote = trimmed.starts_with("https://") || trimmed.starts_with("http://");
    let is_manifest = matches!(ending.as_deref(), Some("yaml" | "yml" | "json"));
    if is_remote || (is_manifest && !trimmed.contains(char::is_whitespace)) {
        return Some(RawWork::Manifest(text.clone()));
    }
    command_words(text, node, path, cx).map(|words| RawWork::Command(words, text.shown().trim().to_owned()))
}

/// Divides a command that is one text into its words.
fn command_words(text: &Text, node: &Node, path: &str, cx: &mut Context<'_, '_>) -> Option<Vec<Text>> {
    match words(text.value.trim()) {
        Ok(words) => Some(words.into_iter().map(Text::plain).collect()),
        Err(why) => {
            let problem = Problem::new(Code::BadValue, path, format!("not a command: {why}"), node.span);
            cx.report
                .problem(problem.hint("quotes hold words together, and `\\` takes the meaning from a quote"));
            None
        }
    }
}

fn long(fields: &Fields<'_>, node: &Node, cx: &mut Context<'_, '_>) -> Option<At<RawWork>> {
    let (run, manifest) = (fields.get("run"), fields.get("manifest"));
    let message = match (&run, &manifest) {
        (Some(_), Some(_)) => "`run` and `manifest` exclude each other",
        (None, None) => "`run` or `manifest` is missing",
        (None, Some(_)) => {
            let At { value, span } = fields.text("manifest", cx)?;
            return Some(At { value: RawWork::Manifest(value), span });
        }
        (Some((entry, _)), None) => {
            // An empty argument is an argument.
            let (items, path) = fields.list("run", cx)?;
            let items = items.iter().enumerate();
            let words = items.map(|(at, item)| super::fields::text(item, &format!("{path}[{at}]"), cx));
            let words: Vec<Text> = words.map(|at| at.map(|at| at.value)).collect::<Option<_>>()?;
            if words.first().is_none_or(|program| program.value.trim().is_empty()) {
                let path = join(&fields.path, "run");
                let message = "the command is empty";
                cx.report.problem(Problem::new(Code::BadValue, path, message, entry.value.span));
                return None;
            }
            let shown = shown_words(words.iter().map(Text::shown));
            return Some(At { value: RawWork::Command(words, shown), span: entry.value.span });
        }
    };
    fields.texts("run", cx);
    fields.text("manifest", cx);
    cx.report.problem(Problem::new(Code::BadValue, fields.path.as_str(), message, node.span));
    None
}

/// Returns words as a shell would take them apart again.
fn shown_words<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\'))
    };
    let quoted = |word: &str| match plain(word) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Divides a command into words: blanks divide, quotes hold together, `\` takes the meaning from what follows.
///
/// # Errors
/// A quote that is not closed, or nothing after a `\`.
pub(super) fn words(text: &str) -> Result<Vec<String>, &'static str> {
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
        for moment in Moment::ALL {
            assert!(keys_of(Section::Hooks).any(|key| key.name == moment.key()), "{moment:?}");
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
