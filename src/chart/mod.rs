//! Charts: what one says about itself, its templates, files, default values and the charts inside it.
//!
//! A chart is made from files or archive bytes that someone else has read ([`load`]); its dependencies are
//! switched on and off, renamed and merged by [`dependencies`] and its values by [`coalesce`], as Helm does
//! it (Helm `pkg/chart/v2`, `pkg/chart/common/util`). Knows no templates language, no cluster, no disk.

pub mod archive;
pub mod coalesce;
mod decode;
pub mod dependencies;
mod error;
pub mod ignore;
pub mod load;
pub mod metadata;
pub(crate) mod paths;
pub mod reuse;
pub mod schema;
pub(crate) mod tables;

use std::sync::Arc;

use jiff::Timestamp;

use crate::semver::{Constraint, Version};
use crate::value::Map;

pub use error::{ChartError, helm_text};
#[cfg(test)]
mod tests;

pub use metadata::{Dependency, Lock, Maintainer, Metadata};

/// The largest file Helm takes into a chart (`archive.MaxDecompressedFileSize`).
pub const MAX_FILE_SIZE: u64 = 5 * 1024 * 1024;
/// The largest archive Helm unpacks, all files together (`archive.MaxDecompressedChartSize`).
pub const MAX_CHART_SIZE: u64 = 100 * 1024 * 1024;

/// A file of a chart. Cloning it does not copy the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path inside the chart, with `/`.
    pub name: String,
    /// The bytes, without a leading byte order mark.
    pub data: Arc<[u8]>,
    /// When the file was last changed, where the source tells. Helm keeps it in its release records.
    pub modified: Option<Timestamp>,
}

impl File {
    /// Returns a file without a date; a leading UTF-8 byte order mark is dropped, as Helm's loaders do.
    pub fn new(name: impl Into<String>, data: &[u8]) -> Self {
        let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
        Self { name: name.into(), data: Arc::from(data), modified: None }
    }

    /// Returns the same file with a date.
    #[must_use]
    pub fn at(mut self, modified: Option<Timestamp>) -> Self {
        self.modified = modified;
        self
    }
}

/// A chart with the charts it contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The content of `Chart.yaml`.
    pub metadata: Metadata,
    /// The content of `Chart.lock` (`requirements.lock` in old charts).
    pub lock: Option<Lock>,
    /// Everything under `templates/`, in the order of the source.
    pub templates: Arc<[File]>,
    /// The default values; after [`dependencies::process`] those of the charts inside are merged in.
    pub values: Option<Map>,
    /// The bytes of `values.schema.json`.
    pub schema: Option<Arc<[u8]>>,
    /// When the schema was last changed, where the source tells.
    pub schema_modified: Option<Timestamp>,
    /// The files that are neither templates nor read by Helm itself; `crds/` is among them.
    pub files: Arc<[File]>,
    /// When `Chart.yaml` was last changed, where the source tells.
    pub modified: Option<Timestamp>,
    /// The charts inside, in the order in which Helm visits them.
    pub dependencies: Vec<Chart>,
    /// What Helm would warn of while loading.
    pub warnings: Vec<String>,
}

impl Chart {
    /// Returns the chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Tells whether the chart only holds named templates for other charts.
    ///
    /// Source: Helm `pkg/chart/common.go`, `IsLibraryChart`: the case of the word does not count.
    pub fn is_library(&self) -> bool {
        self.metadata.kind.eq_ignore_ascii_case("library")
    }

    /// Returns the CRD files of this chart and of all charts inside, each with its full path
    /// (`parent/charts/child/crds/x.yaml`): first the chart's own in load order, then chart by chart.
    ///
    /// Source: Helm `pkg/chart/v2/chart.go`, `CRDObjects`.
    pub fn crds(&self) -> Vec<(String, &File)> {
        let mut found = Vec::new();
        self.collect_crds(self.name(), &mut found);
        found
    }

    fn collect_crds<'a>(&'a self, full_path: &str, found: &mut Vec<(String, &'a File)>) {
        for file in self.files.iter() {
            let extension = paths::ext(&file.name).to_ascii_lowercase();
            if file.name.starts_with("crds/") && matches!(extension.as_str(), ".yaml" | ".yml" | ".json") {
                found.push((paths::join(full_path, &file.name), file));
            }
        }
        for dependency in &self.dependencies {
            dependency.collect_crds(&subchart_path(full_path, dependency.name()), found);
        }
    }
}

/// Returns the full path of a chart inside the chart at `parent` (Helm's `ChartFullPath`).
pub fn subchart_path(parent: &str, name: &str) -> String {
    format!("{parent}/charts/{name}")
}

/// Tells whether `version` lies in `range`; never if one of them is malformed, the empty range among them.
///
/// Source: Helm `pkg/chart/v2/util/compatible.go`.
pub fn in_range(range: &str, version: &str) -> bool {
    match (Constraint::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}
