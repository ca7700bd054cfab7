//! The text of `helm template`.
//!
//! Source: Helm `pkg/cmd/template.go`.

use super::error::RenderError;
use super::release::{RenderedRelease, source_text};
use crate::go::path;
use crate::manifest::{HookEvent, SplitRule, split};

/// What to show of a rendered release.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Patterns of paths after the chart's name; only these documents are shown. Empty for all.
    pub show_only: Vec<String>,
    /// Show the CRD files first.
    pub include_crds: bool,
    /// Leave out hooks that are tests.
    pub skip_tests: bool,
    /// Leave out all hooks.
    pub no_hooks: bool,
}

/// Returns what `helm template` prints.
///
/// # Errors
/// Fails if a pattern of [`View::show_only`] fits no document.
pub fn text(release: &RenderedRelease, view: &View) -> Result<String, RenderError> {
    let mut manifest = String::new();
    if view.include_crds {
        manifest.extend(release.crds.iter().map(|(path, text)| source_text(path, text)));
    }
    manifest.push_str(&release.manifest);
    let mut text = format!("{}\n", manifest.trim());
    if !view.no_hooks {
        for hook in &release.hooks {
            if !(view.skip_tests && hook.hook.events.contains(&HookEvent::Test)) {
                text.push_str(&source_text(&hook.path, &hook.document.text));
            }
        }
    }
    if view.show_only.is_empty() { Ok(text) } else { only(&text, &view.show_only) }
}

/// Returns the documents of `text` whose path fits one of the patterns, pattern by pattern.
fn only(text: &str, patterns: &[String]) -> Result<String, RenderError> {
    let documents = split(text, SplitRule::default());
    let mut out = String::new();
    for pattern in patterns {
        let fits = |document: &&&str| {
            let path = path_in_chart(document);
            path.is_some_and(|path| path::matches(pattern.as_bytes(), path.as_bytes()).unwrap_or(false))
        };
        let mut found = documents.iter().filter(fits).peekable();
        if found.peek().is_none() {
            return Err(RenderError::NoSuchTemplate(pattern.clone()));
        }
        out.extend(found.map(|document| format!("---\n{document}\n")));
    }
    Ok(out)
}

/// Returns the path that the first `# Source:` line of a document names, without the chart's name.
fn path_in_chart(document: &str) -> Option<&str> {
    document.lines().find_map(|line| {
        let (_, path) = line.split_once("# Source: ")?;
        let (chart, rest) = path.split_once('/')?;
        (!chart.is_empty() && !rest.is_empty()).then_some(rest)
    })
}
