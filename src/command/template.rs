//! `statectl template`: what a chart renders to, without a cluster. The output is that of `helm template`.

use std::path::PathBuf;

use super::Ending;
use super::given::error_text;
use crate::failure::{Failure, FailureClass};
use crate::fetch;
use crate::host::{clock, files, random};
use crate::render::capabilities::{Capabilities, KubeVersion};
use crate::render::lookup::Lookups;
use crate::render::{self, ReleaseInfo, Request as RenderRequest, output};
use crate::ui;
use crate::values::{self, Sources};

/// What the flags say.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "each field is the flag of the same name")]
pub struct Request {
    pub name: String,
    pub namespace: String,
    pub chart: PathBuf,
    pub values: Vec<PathBuf>,
    pub set: Vec<String>,
    pub set_string: Vec<String>,
    pub set_file: Vec<String>,
    pub set_json: Vec<String>,
    pub set_literal: Vec<String>,
    pub show_only: Vec<String>,
    pub include_crds: bool,
    pub skip_tests: bool,
    pub no_hooks: bool,
    pub is_upgrade: bool,
    pub kube_version: Option<String>,
    pub api_versions: Vec<String>,
    pub skip_schema_validation: bool,
}

/// Renders and prints.
pub fn run(request: &Request) -> Result<Ending, Failure> {
    let chart = fetch::dir::load(&request.chart).map_err(|error| {
        let failure = Failure::of(format!("the chart {} cannot be loaded", request.chart.display()), &error);
        failure.hint("a chart is a folder with a Chart.yaml, or a .tgz archive of one")
    })?;
    let mut capabilities = Capabilities::offline();
    if let Some(version) = &request.kube_version {
        capabilities.kube_version = KubeVersion::parse(version).map_err(|error| {
            Failure::new(FailureClass::Usage, format!("--kube-version {version}: {}", error_text(&error)))
        })?;
    }
    capabilities.api_versions.extend(request.api_versions.iter().cloned());
    let values = user_values(request)?;
    let render_request = RenderRequest {
        chart: &chart,
        values: &values,
        release: ReleaseInfo {
            name: request.name.clone(),
            namespace: request.namespace.clone(),
            revision: 1,
            is_install: !request.is_upgrade,
            is_upgrade: request.is_upgrade,
        },
        capabilities: &capabilities,
        options: render::Options {
            skip_schema: request.skip_schema_validation,
            ..render::Options::default()
        },
        now: clock::now_local(),
        seed: random::bytes(),
    };
    let failed = |error: render::RenderError| {
        let failure = Failure::of(format!("release {}: the chart cannot be rendered", request.name), &error);
        failure
            .hint("the place above is a file of the chart, or of one of its subcharts, with line and column")
    };
    let rendered = render::render(&render_request, &mut Lookups::offline()).map_err(failed)?;
    for warning in &rendered.warnings {
        ui::message(&format!("warning: {warning}"));
    }
    let view = output::View {
        show_only: request.show_only.clone(),
        include_crds: request.include_crds,
        skip_tests: request.skip_tests,
        no_hooks: request.no_hooks,
    };
    ui::result(&output::text(&rendered, &view).map_err(failed)?);
    Ok(Ending::default())
}

fn user_values(request: &Request) -> Result<crate::value::Map, Failure> {
    let mut sources = Sources {
        set: request.set.clone(),
        set_string: request.set_string.clone(),
        set_file: request.set_file.clone(),
        set_json: request.set_json.clone(),
        set_literal: request.set_literal.clone(),
        ..Sources::default()
    };
    for path in &request.values {
        let content =
            files::read(path).map_err(|error| Failure::of("a values file cannot be read", &error))?;
        sources.files.push((path.display().to_string(), content));
    }
    let mut read = |path: &str| files::read(path.as_ref()).map_err(|error| error_text(&error));
    values::merge(&sources, &mut read).map_err(|error| Failure::of("the values cannot be used", &error))
}
