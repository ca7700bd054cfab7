//! From a chart, values and what the cluster can do to the objects of a release.
//!
//! A render is a function of its [`Request`]: same request, same bytes. Time, randomness and the answers of
//! `lookup` are handed in. Knows no cluster, no disk and no history.

pub mod capabilities;
mod context;
mod engine;
mod error;
pub mod lookup;
mod objects;
pub mod output;
mod release;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chart::coalesce::{Merger, Mode, NullRules};
use crate::chart::schema::{self, Fetch};
use crate::chart::{Chart, ChartError, dependencies, in_range, tables};
use crate::template::convert::to_value;
use crate::template::stack::on_large_stack;
use crate::template::value::Val;
use crate::value::Map;
use crate::value::json::text_from_bytes;

use capabilities::Capabilities;
pub use context::ReleaseInfo;
use engine::{Engine, Given, STACK};
pub use error::{RenderError, TemplateError, TemplateFault};
use lookup::Lookups;
pub use release::{RenderedHook, RenderedManifest, RenderedRelease};

/// Everything that a render depends on, besides the answers of `lookup`.
#[derive(Debug)]
pub struct Request<'a> {
    /// The chart as it was loaded.
    pub chart: &'a Chart,
    /// What the user gives, merged from all sources.
    pub values: &'a Map,
    /// The release.
    pub release: ReleaseInfo,
    /// The cluster.
    pub capabilities: &'a Capabilities,
    /// How to go about it.
    pub options: Options,
    /// What `now` answers, in the zone that counts as local.
    pub now: jiff::Zoned,
    /// Where all randomness comes from.
    pub seed: [u8; 32],
}

/// How to render.
#[derive(Clone, Default)]
pub struct Options {
    /// Which Helm's rules for nulls hold.
    pub null_rules: NullRules,
    /// Do not check the values against the schemas.
    pub skip_schema: bool,
    /// Fetches documents that schemas refer to. Without it such a schema cannot be used.
    pub schema_fetch: Option<Fetch>,
    /// Take the notes of the charts inside, too.
    pub sub_notes: bool,
    /// Changes the text of the objects (hooks excepted) before it is taken apart: Helm 3's post-renderer.
    pub post_render: Option<PostRender>,
}

/// A function on the text of a release's objects.
pub type PostRender = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

impl std::fmt::Debug for Options {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Options")
            .field("null_rules", &self.null_rules)
            .field("skip_schema", &self.skip_schema)
            .field("sub_notes", &self.sub_notes)
            .field("post_render", &self.post_render.is_some())
            .finish_non_exhaustive()
    }
}

/// Renders charts, and keeps parsed templates between renders. It lives on one thread.
pub struct Renderer {
    engine: Engine,
}

/// Runs `work` with a renderer, on a thread whose stack is large enough for templates that nest deeply.
///
/// # Errors
/// Fails if there is no thread to be had.
pub fn with_renderer<T: Send>(work: impl FnOnce(&mut Renderer) -> T + Send) -> Result<T, RenderError> {
    on_large_stack(STACK, || work(&mut Renderer { engine: Engine::new() })).map_err(RenderError::Thread)
}

/// Renders one release on a thread of its own. See [`Renderer::release`].
///
/// # Errors
/// As [`Renderer::release`].
pub fn render(request: &Request<'_>, lookups: &mut Lookups) -> Result<RenderedRelease, RenderError> {
    with_renderer(|renderer| renderer.release(request, lookups))?
}

/// What the engine makes of a chart, before documents are told apart.
struct Output {
    /// The chart with its dependencies processed.
    chart: Chart,
    /// The text of every template that is not a partial, by full path.
    files: BTreeMap<String, String>,
    /// What Helm would warn of.
    warnings: Vec<String>,
}

impl Renderer {
    /// Returns the objects, hooks and notes of a release.
    ///
    /// As long as [`Lookups::missing`] names questions afterwards, the answer (be it an error) is only good for
    /// finding them: answer them and render again.
    ///
    /// # Errors
    /// Fails as `helm install` does, with its texts.
    pub fn release(
        &mut self,
        request: &Request<'_>,
        lookups: &mut Lookups,
    ) -> Result<RenderedRelease, RenderError> {
        check_installable(request)?;
        let Output { chart, mut files, warnings } = self.output(request, lookups)?;
        let notes = release::take_notes(&mut files, chart.name(), request.options.sub_notes);
        let crds = chart.crds().into_iter().map(|(path, file)| (path, text_from_bytes(&file.data))).collect();
        let mut rendered = RenderedRelease { chart, notes, crds, warnings, ..RenderedRelease::default() };
        release::sort(&files, &mut rendered)?;
        if let Some(post_render) = &request.options.post_render {
            let text = post_render(&rendered.manifest).map_err(RenderError::PostRender)?;
            release::replace(&mut rendered, text)?;
        }
        Ok(rendered)
    }

    /// Returns what every template that is not a partial writes, notes included, by full path.
    ///
    /// # Errors
    /// Fails as Helm does, with its texts.
    pub fn files(
        &mut self,
        request: &Request<'_>,
        lookups: &mut Lookups,
    ) -> Result<BTreeMap<String, String>, RenderError> {
        self.output(request, lookups).map(|output| output.files)
    }

    fn output(&mut self, request: &Request<'_>, lookups: &mut Lookups) -> Result<Output, RenderError> {
        let mut merger = Merger::new(request.options.null_rules);
        let user = tables::from_map(request.values);
        let chart = dependencies::process(request.chart, &user, &mut merger)?;
        let values = merger.values(&chart, &user, Mode::Coalesce)?;
        if !request.options.skip_schema && has_schema(&chart) {
            let plain = to_value(&Val::Map(values.clone())).map_err(ChartError::from)?;
            let plain = plain.as_map().cloned().unwrap_or_default();
            schema::check(&chart, &plain, request.options.schema_fetch.as_ref())?;
        }
        let capabilities = objects::capabilities(request.capabilities);
        let sources = context::sources(&chart, values, &request.release, &capabilities);
        let mut given = Given::new(request.now.clone(), request.seed, lookups);
        let files = self.engine.render(&sources, &mut given)?;
        drop(sources);
        Ok(Output { chart, files, warnings: merger.warnings })
    }
}

/// Refuses charts that cannot be installed, or not on this cluster.
fn check_installable(request: &Request<'_>) -> Result<(), RenderError> {
    let metadata = &request.chart.metadata;
    if !matches!(metadata.kind.as_str(), "" | "application") {
        return Err(ChartError::NotInstallable(metadata.kind.clone()).into());
    }
    dependencies::check_present(request.chart).map_err(ChartError::from)?;
    let version = &request.capabilities.kube_version;
    if !metadata.kube_version.is_empty() && !in_range(&metadata.kube_version, version.for_constraints()) {
        let (wanted, found) = (metadata.kube_version.clone(), version.version.clone());
        return Err(RenderError::KubeVersion { wanted, found });
    }
    Ok(())
}

fn has_schema(chart: &Chart) -> bool {
    chart.schema.is_some() || chart.dependencies.iter().any(has_schema)
}
