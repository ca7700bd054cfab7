//! Which charts to render, and how.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// One render.
#[derive(Debug, Default)]
pub(crate) struct Case {
    /// What to call it.
    pub(crate) name: String,
    /// The chart's folder or archive.
    pub(crate) chart: PathBuf,
    /// A values file.
    pub(crate) values: Option<PathBuf>,
    /// The release's name.
    pub(crate) release: String,
    /// The release's namespace.
    pub(crate) namespace: String,
    /// Render as for an upgrade.
    pub(crate) is_upgrade: bool,
    /// The Kubernetes version to render for.
    pub(crate) kube_version: Option<String>,
    /// API versions besides the default ones.
    pub(crate) api_versions: Vec<String>,
}

/// Returns the cases of a folder: those of its `dist/index-*.json` if it has one (scripts/README.md tells its form),
/// else one for every chart below it.
///
/// # Errors
/// A folder or index that cannot be read, or that has no charts.
pub(crate) fn find(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for path in entries(&folder.join("dist")).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("index-") && name.ends_with(".json") {
            cases.extend(indexed(folder, &path)?);
        }
    }
    if cases.is_empty() {
        let mut charts = Vec::new();
        collect(folder, &mut charts)?;
        cases = charts.into_iter().map(|chart| plain(folder, chart)).collect();
    }
    if cases.is_empty() { Err(format!("{}: no charts there", folder.display())) } else { Ok(cases) }
}

fn indexed(folder: &Path, index: &Path) -> Result<Vec<Case>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", index.display());
    let bytes = std::fs::read(index).map_err(|error| failed(&error))?;
    let json: Json = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
    let all = json["cases"].as_array().ok_or_else(|| failed(&"it has no `cases`"))?;
    let text = |case: &Json, key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let cases = all.iter().map(|case| Case {
        name: text(case, "id"),
        chart: folder.join(text(case, "chart_dir")),
        values: case["values"].as_str().map(|values| folder.join(values)),
        release: text(case, "release"),
        namespace: text(case, "namespace"),
        is_upgrade: case["is_upgrade"] == true,
        kube_version: case["kube_version"].as_str().map(str::to_owned),
        api_versions: case["api_versions_extra"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|version| version.as_str().map(str::to_owned))
            .collect(),
    });
    Ok(cases.collect())
}

fn plain(folder: &Path, chart: PathBuf) -> Case {
    let name = chart.strip_prefix(folder).unwrap_or(&chart).display().to_string();
    Case { name, chart, release: "demo".to_owned(), namespace: "default".to_owned(), ..Case::default() }
}

/// Collects the charts below a folder; charts inside charts are parts of those.
fn collect(folder: &Path, charts: &mut Vec<PathBuf>) -> Result<(), String> {
    if folder.join("Chart.yaml").is_file() {
        charts.push(folder.to_owned());
        return Ok(());
    }
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, charts)?;
        } else if path.extension().is_some_and(|extension| extension == "tgz") {
            charts.push(path);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
