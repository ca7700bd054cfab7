//! From rendered files to the manifests and hooks of a release.
//!
//! Source: Helm `pkg/action/action.go` (`renderResources`) and `pkg/release/v1/util/manifest_sorter.go`.

use std::collections::BTreeMap;

use super::error::RenderError;
use crate::chart::{Chart, paths};
use crate::manifest::{Document, Hook, KindOrder, ManifestError, Role, SplitRule, sort_by_kind, split};

/// The end of the path of a file that holds notes for people.
const NOTES: &str = "NOTES.txt";

/// A release as its chart renders.
#[derive(Clone, Debug, Default)]
pub struct RenderedRelease {
    /// The chart with its dependencies processed, as a release record keeps it.
    pub chart: Chart,
    /// The notes for people.
    pub notes: String,
    /// The objects, in install order.
    pub manifests: Vec<RenderedManifest>,
    /// The hooks, in install order of their kinds. When they run is ordered by weight.
    pub hooks: Vec<RenderedHook>,
    /// The text of all objects, as a release record keeps it.
    pub manifest: String,
    /// The CRD files of the chart, which are not templates, by full path.
    pub crds: Vec<(String, String)>,
    /// What Helm would warn of.
    pub warnings: Vec<String>,
}

/// An object of a release.
#[derive(Clone, Debug)]
pub struct RenderedManifest {
    /// The template it comes from, with the names of charts in front; empty after a post-renderer that drops it.
    pub path: String,
    /// The object.
    pub document: Document,
}

/// A hook of a release.
#[derive(Clone, Debug)]
pub struct RenderedHook {
    /// The template it comes from.
    pub path: String,
    /// The object.
    pub document: Document,
    /// When and how it runs.
    pub hook: Hook,
}

/// Takes the notes out of the rendered files. Those of charts inside only count if `all` is set; they follow in
/// order of their paths (Helm joins them in no order at all).
pub(super) fn take_notes(files: &mut BTreeMap<String, String>, chart: &str, all: bool) -> String {
    let own = paths::join(chart, "templates/NOTES.txt");
    let mut notes = Vec::new();
    files.retain(|path, text| {
        if !path.ends_with(NOTES) {
            return true;
        }
        if *path == own {
            notes.insert(0, std::mem::take(text));
        } else if all {
            notes.push(std::mem::take(text));
        }
        false
    });
    notes.retain(|text| !text.is_empty());
    notes.join("\n")
}

/// Splits the rendered files into documents and tells objects from hooks, each in install order.
///
/// # Errors
/// Fails on the first document that is no object.
pub(super) fn sort(
    files: &BTreeMap<String, String>,
    release: &mut RenderedRelease,
) -> Result<(), RenderError> {
    for (path, text) in files {
        if paths::base(path).starts_with('_') || text.trim().is_empty() {
            continue;
        }
        for text in split(text, SplitRule::default()) {
            let document = parse(path, text)?;
            match document.role() {
                Role::Manifest => {
                    let document = document.in_release().map_err(|source| refused(path, source))?;
                    release.manifests.push(RenderedManifest { path: path.clone(), document });
                }
                Role::Hook(hook) => {
                    release.hooks.push(RenderedHook { path: path.clone(), document, hook });
                }
                Role::UnknownHook(given) => release
                    .warnings
                    .push(format!("{path}: skipping an object with the unknown hook {given:?}")),
            }
        }
    }
    sort_by_kind(&mut release.manifests, KindOrder::Install, |manifest| &manifest.document.head.kind);
    sort_by_kind(&mut release.hooks, KindOrder::Install, |hook| &hook.document.head.kind);
    release.manifest = release.manifests.iter().map(|m| source_text(&m.path, &m.document.text)).collect();
    Ok(())
}

/// Replaces the objects by what a post-renderer has made of their text.
///
/// # Errors
/// Fails on output that is empty or no objects.
pub(super) fn replace(release: &mut RenderedRelease, text: String) -> Result<(), RenderError> {
    if text.trim().is_empty() {
        return Err(RenderError::PostRender("post-renderer returned empty output".to_owned()));
    }
    release.manifests.clear();
    for document in split(&text, SplitRule::default()) {
        let path = document.lines().find_map(|line| line.strip_prefix("# Source: ")).unwrap_or_default();
        let document = parse(if path.is_empty() { "post-rendered output" } else { path }, document)?;
        release.manifests.push(RenderedManifest { path: path.to_owned(), document });
    }
    release.manifest = text;
    Ok(())
}

/// Returns one document as it stands in the text of a release.
pub(super) fn source_text(path: &str, text: &str) -> String {
    format!("---\n# Source: {path}\n{text}\n")
}

fn parse(path: &str, text: &str) -> Result<Document, RenderError> {
    Document::parse(text).map_err(|source| refused(path, source))
}

fn refused(path: &str, source: ManifestError) -> RenderError {
    RenderError::Manifest { path: path.to_owned(), source }
}
