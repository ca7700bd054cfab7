//! `statectl validate`: tells everything that is wrong with desired-state files, and with the charts and values files
//! on this machine that they name. Needs no cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::charts::ChartCache;
use super::load::{Files, Look};
use super::{Ending, Outputs, ci};
use crate::chart;
use crate::dsf::state::{ChartSource, ChartVersion, DesiredState};
use crate::dsf::{self, Code, Complaint, Level, Loaded, Note, Problems};
use crate::failure::Failure;
use crate::host::files;
use crate::report;
use crate::text::plural;
use crate::yaml;

/// Reads the files and shows what was found.
///
/// # Errors
/// The files, or what they name, have problems.
pub fn run(
    files: &Files,
    environment: &BTreeMap<String, String>,
    outputs: &Outputs,
    skip_charts: bool,
) -> Result<Ending, Failure> {
    let read = files.read(environment, Look { check_only: true, skip_charts })?;
    let loaded = match read.loaded {
        Ok(loaded) => loaded,
        Err(problems) => return failed(&problems, &[], &read.notes, outputs),
    };
    let complaints = if skip_charts { Vec::new() } else { complaints(&loaded.state, read.roots) };
    if let Some(problems) = loaded.complain(complaints) {
        return failed(&problems, &loaded.notes, &read.notes, outputs);
    }
    let names: Vec<&str> = loaded.files().collect();
    ci::annotate(&report::validate_json(&names, None, &loaded.notes, &read.notes));
    outputs.write(
        |_| text(&loaded, &read.notes),
        || report::validate_json(&names, None, &loaded.notes, &read.notes),
    )?;
    Ok(Ending::default())
}

fn failed(
    problems: &Problems,
    notes: &[Note],
    plain: &[String],
    outputs: &Outputs,
) -> Result<Ending, Failure> {
    let names: Vec<&str> = problems.sources().names().collect();
    outputs.write(|_| String::new(), || report::validate_json(&names, Some(problems), notes, plain))?;
    Err(super::load::refused(problems))
}

fn text(loaded: &Loaded, plain: &[String]) -> String {
    let mut lines = Vec::new();
    let levels = [(Level::Warning, "warning: "), (Level::Info, "note: ")];
    for (level, head) in levels {
        for note in loaded.notes.iter().filter(|note| note.code.level() == level) {
            lines.push(format!("{head}{note}"));
        }
    }
    for note in plain {
        lines.push(format!("note: {note}"));
    }
    let state = &loaded.state;
    let enabled = state.releases.iter().filter(|release| release.enabled).count();
    let files = loaded.files().filter(|name| !name.starts_with("--")).count();
    let releases = plural(state.releases.len(), "release");
    let files = if files == 1 { "the file is".to_owned() } else { format!("{files} files are") };
    let namespaces = plural(state.namespaces.len(), "namespace");
    lines.push(format!("{files} valid: {releases}, {enabled} enabled, in {namespaces}\n"));
    lines.join("\n")
}

/// What is wrong with the charts and values files of enabled releases.
fn complaints(state: &DesiredState, roots: Option<Vec<PathBuf>>) -> Vec<Complaint> {
    let mut out = Vec::new();
    let mut charts = ChartCache::within(roots);
    let mut read: BTreeMap<&Path, Option<String>> = BTreeMap::new();
    for release in state.releases.iter().filter(|release| release.enabled) {
        let mut complain = |code: Code, key: &str, message: String| {
            let place = release.origins.get(key).unwrap_or(&release.origin);
            let path = format!("apps.{}.{key}", release.app);
            out.push(Complaint { code, path, message, place: place.clone() });
        };
        if let ChartSource::Local(path) = &release.chart.source {
            match charts.load(path) {
                Err(why) => complain(Code::BadChart, "chart", why),
                Ok(chart) => {
                    let found = &chart.metadata.version;
                    if let ChartVersion::Matching(range) = &release.chart.version
                        && !chart::in_range(range, found)
                    {
                        let message =
                            format!("the chart at {} has version {found}, not {range}", path.display());
                        complain(Code::BadChart, "version", message);
                    }
                }
            }
        }
        // What is behind an address is not asked for here: nothing but these files is needed to validate.
        for path in release.values.files.iter().filter(|path| !dsf::is_address(path)) {
            let unreadable = read.entry(path.as_path()).or_insert_with(|| unreadable(path));
            if let Some(why) = unreadable {
                let key =
                    if release.origins.contains_key("valuesFiles") { "valuesFiles" } else { "valuesFile" };
                complain(Code::MissingFile, key, why.clone());
            }
        }
    }
    out
}

/// Why a values file cannot be used, if it cannot.
fn unreadable(path: &Path) -> Option<String> {
    let bytes = match files::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(format!("`{}` cannot be read: {}", path.display(), error.reason())),
    };
    let error = yaml::read_map(&bytes).err()?;
    Some(format!("`{}` is no values file: {error}", path.display()))
}
