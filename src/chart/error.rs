//! What can be wrong with a chart, in Helm's words.
//!
//! Helm glues the links of an error chain with `: `; here each link says only its own part, and
//! [`helm_text`] glues them where a comparison with Helm is wanted.

use std::error::Error;

/// Why a chart cannot be loaded, merged or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// There is no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    MissingChartYaml,
    /// `apiVersion` names a chart format that Helm does not load this way.
    #[error("unsupported chart version")]
    UnsupportedVersion,
    /// `apiVersion` names a chart format that Helm can load but not install.
    #[error("invalid chart apiVersion")]
    InvalidVersion,
    /// A library chart, which has nothing to install.
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    /// Charts that are listed as dependencies are not there.
    #[error(transparent)]
    Missing(#[from] super::dependencies::MissingDependencies),
    /// A file of the chart cannot be read as what it has to be.
    #[error("cannot load {file}")]
    CannotLoad {
        /// The file inside the chart.
        file: &'static str,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A statement of `Chart.yaml` is not allowed.
    #[error("validation: {0}")]
    Invalid(String),
    /// A chart under `charts/` cannot be loaded.
    #[error("error unpacking subchart {file} in {parent}")]
    Subchart {
        /// The file or folder under `charts/`.
        file: String,
        /// The name of the chart around it.
        parent: String,
        /// Why.
        #[source]
        source: Box<ChartError>,
    },
    /// An archive under `charts/` is a folder, or lies in one.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {got}")]
    SubchartArchive {
        /// The name of the chart around it.
        parent: String,
        /// The archive's name.
        expected: String,
        /// The path that was found.
        got: String,
    },
    /// Charts lie in each other deeper than a chart can reasonably be built.
    #[error("charts are nested more than {0} levels deep")]
    TooDeep(usize),
    /// The archive itself is broken or unsafe.
    #[error(transparent)]
    Archive(#[from] super::archive::ArchiveError),
    /// `.helmignore` is malformed.
    #[error(transparent)]
    Ignore(#[from] super::ignore::IgnoreError),
    /// A value meant for a chart inside is not a table.
    ///
    /// The odd text is Helm's: it prints the value with `%t`.
    #[error("type mismatch on {chart}: {shown}")]
    TypeMismatch {
        /// The name of the chart inside.
        chart: String,
        /// The value as Go's `%t` shows it.
        shown: String,
    },
    /// Merging made a table contain itself, or values nest without reason.
    #[error(transparent)]
    Circular(#[from] crate::template::convert::TooDeep),
    /// The values break a `values.schema.json`.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
}

/// Returns the whole text that Helm prints for an error: the links of the chain glued with `: `.
pub fn helm_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(link) = next {
        text.push_str(": ");
        text.push_str(&link.to_string());
        next = link.source();
    }
    text
}
