//! A chart from its files, or from the bytes of an archive.
//!
//! Source: Helm `pkg/chart/v2/loader/load.go` (what each file is) and `pkg/chart/loader/load.go` (which
//! chart formats are accepted).

use std::collections::BTreeMap;

use super::archive::unpack;
use super::decode::{self, Draft};
use super::error::ChartError;
use super::{Chart, File, MAX_CHART_SIZE, metadata, paths};
use crate::value::Value;
use crate::{values, yaml};

/// How deep charts may lie in each other. Nobody builds more than a few levels; a crafted archive may.
const MAX_DEPTH: usize = 32;

/// Returns the chart made of `files`, whose paths are relative to the chart's folder.
///
/// # Errors
/// Fails like Helm on a missing or invalid `Chart.yaml`, unreadable YAML and broken charts inside.
pub fn from_files(files: Vec<File>) -> Result<Chart, ChartError> {
    Loader { unpacked: 0 }.chart(files, 0)
}

/// Returns the chart in an archive (`.tgz`).
///
/// # Errors
/// As [`from_files`], and on damaged or unsafe archives.
pub fn from_archive(bytes: &[u8]) -> Result<Chart, ChartError> {
    from_files(unpack(bytes)?)
}

/// Refuses chart formats other than the two that Helm 4 installs. The loader itself takes any, and charts inside
/// are never asked.
///
/// # Errors
/// Fails with Helm's text.
pub fn check_format(chart: &Chart) -> Result<(), ChartError> {
    match chart.metadata.api_version.as_str() {
        "v1" | "v2" => Ok(()),
        "v3" => Err(ChartError::InvalidVersion),
        _ => Err(ChartError::UnsupportedVersion),
    }
}

struct Loader {
    /// Bytes that came out of archives inside so far.
    unpacked: u64,
}

impl Loader {
    fn chart(&mut self, files: Vec<File>, depth: usize) -> Result<Chart, ChartError> {
        if depth > MAX_DEPTH {
            return Err(ChartError::TooDeep(MAX_DEPTH));
        }
        let mut chart = Chart::default();
        let mut draft = None;
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            let draft: &mut Draft = draft.get_or_insert_default();
            read_into("Chart.yaml", file, draft)?;
            if draft.metadata.api_version.is_empty() {
                "v1".clone_into(&mut draft.metadata.api_version);
            }
            chart.modified = file.modified;
        }
        let (mut templates, mut others) = (Vec::new(), Vec::new());
        let mut inner: BTreeMap<String, Vec<File>> = BTreeMap::new();
        for file in files {
            match file.name.as_str() {
                "Chart.yaml" => {}
                "Chart.lock" => chart.lock = read_lock("Chart.lock", &file)?,
                "values.yaml" => chart.values = Some(read_values(&file)?),
                "values.schema.json" => {
                    chart.schema = Some(file.data);
                    chart.schema_modified = file.modified;
                }
                "requirements.yaml" => {
                    let draft: &mut Draft = draft.get_or_insert_default();
                    read_into("requirements.yaml", &file, draft)?;
                    keep_old_file(file, draft, &mut others, &mut chart.warnings);
                }
                "requirements.lock" => {
                    chart.lock = read_lock("requirements.lock", &file)?;
                    keep_old_file(file, draft.get_or_insert_default(), &mut others, &mut chart.warnings);
                }
                name if name.starts_with("templates/") => templates.push(file),
                name if name.starts_with("charts/") && paths::ext(name) != ".prov" => {
                    let name = name["charts/".len()..].to_owned();
                    let first = name.split('/').next().unwrap_or_default().to_owned();
                    inner.entry(first).or_default().push(File { name, ..file });
                }
                _ => others.push(file),
            }
        }
        chart.templates = templates.into();
        chart.files = others.into();
        chart.metadata = metadata::check(draft.ok_or(ChartError::MissingChartYaml)?)?;
        for (name, files) in inner {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let loaded = self.inner_chart(&name, files, chart.name(), depth + 1)?;
            chart.dependencies.push(loaded);
        }
        Ok(chart)
    }

    /// Loads what lies under one name in `charts/`: an archive or a folder.
    fn inner_chart(
        &mut self,
        name: &str,
        files: Vec<File>,
        parent: &str,
        depth: usize,
    ) -> Result<Chart, ChartError> {
        let loaded = if paths::ext(name) == ".tgz" {
            let Some(file) = files.first().filter(|file| file.name == name) else {
                let got = files.first().map(|file| file.name.clone()).unwrap_or_default();
                let (parent, expected) = (parent.to_owned(), name.to_owned());
                return Err(ChartError::SubchartArchive { parent, expected, got });
            };
            self.inner_archive(&file.data, depth)
        } else {
            let inside = |file: File| {
                let (_, name) = file.name.split_once('/')?;
                Some(File { name: name.to_owned(), ..file })
            };
            self.chart(files.into_iter().filter_map(inside).collect(), depth)
        };
        let (file, parent) = (name.to_owned(), parent.to_owned());
        loaded.map_err(|source| ChartError::Subchart { file, parent, source: Box::new(source) })
    }

    fn inner_archive(&mut self, bytes: &[u8], depth: usize) -> Result<Chart, ChartError> {
        let files = unpack(bytes)?;
        // Each archive is bounded; a small one full of archives must not be the way around it.
        self.unpacked += files.iter().map(|file| file.data.len() as u64).sum::<u64>();
        if self.unpacked > 4 * MAX_CHART_SIZE {
            return Err(super::archive::ArchiveError::TooLarge.into());
        }
        self.chart(files, depth)
    }
}

/// Charts of format v1 see their `requirements.*` among their files; in later ones it only draws a warning.
fn keep_old_file(file: File, draft: &Draft, others: &mut Vec<File>, warnings: &mut Vec<String>) {
    if draft.metadata.api_version == "v1" {
        others.push(file);
    } else {
        let name = &file.name;
        warnings
            .push(format!("{name} is out of date since apiVersion v2: dependencies belong in Chart.yaml"));
    }
}

fn read_yaml(name: &'static str, file: &File) -> Result<Value, ChartError> {
    yaml::read_typed(&file.data)
        .map_err(|source| ChartError::CannotLoad { file: name, source: source.into() })
}

fn read_into(name: &'static str, file: &File, draft: &mut Draft) -> Result<(), ChartError> {
    let document = read_yaml(name, file)?;
    draft.read(&document).map_err(|source| ChartError::CannotLoad { file: name, source: source.into() })
}

fn read_lock(name: &'static str, file: &File) -> Result<Option<super::Lock>, ChartError> {
    let document = read_yaml(name, file)?;
    decode::lock(&document).map_err(|source| ChartError::CannotLoad { file: name, source: source.into() })
}

fn read_values(file: &File) -> Result<crate::value::Map, ChartError> {
    values::load(&file.data)
        .map_err(|source| ChartError::CannotLoad { file: "values.yaml", source: source.into() })
}
