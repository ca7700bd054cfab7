//! Charts and files: which kind of place a text names, and whether something is there.

use super::Resolver;
use crate::dsf::files::{self, PathKind};
use crate::dsf::git::GitChart;
use crate::dsf::keys;
use crate::dsf::notes::NoteCode;
use crate::dsf::problems::{Code, Problem};
use crate::dsf::raw::{At, Given, RawVerify};
use crate::dsf::state::{Chart, ChartSource, ChartVersion, Cosign, Repository, Verify};
use crate::dsf::substitute::refused;
use crate::dsf::tree::Text;
use crate::semver::Constraint;
use crate::text::Span;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl Resolver<'_, '_, '_, '_> {
    pub(super) fn chart(
        &mut self,
        path: &str,
        app: Span,
        chart: Given<Text>,
        version: Given<Text>,
        enabled: bool,
        repositories: &BTreeMap<String, Repository>,
    ) -> Chart {
        let version = version.filter(|version| !version.value.value.trim().is_empty());
        let Some(chart) = chart.filter(|chart| !chart.value.value.is_empty()) else {
            self.problem(Code::MissingKey, path, "`chart` is missing", app);
            return Chart { source: ChartSource::Local(PathBuf::new()), version: ChartVersion::Any };
        };
        let source = self.chart_source(&format!("{path}.chart"), &chart, enabled, repositories);
        let version = match version {
            Some(version) if version.value.value.trim() == "latest" => {
                let message = "`latest` may be another version on every run".to_owned();
                self.report.note(NoteCode::Latest, &format!("{path}.version"), message, version.span);
                ChartVersion::Latest
            }
            Some(version) => {
                let text = version.value.value.trim();
                if Constraint::parse(text).is_err() {
                    let shown = version.value.shown();
                    let message = format!("`{shown}` is neither a version nor a constraint");
                    let problem =
                        Problem::new(Code::BadValue, format!("{path}.version"), message, version.span);
                    self.report
                        .problem(problem.hint("such as \"1.2.3\", \"^1.2\", \">=1.2 <2\" or \"latest\""));
                }
                ChartVersion::Matching(text.to_owned())
            }
            None => {
                if !names_its_version(&source) {
                    let problem = Problem::new(Code::MissingKey, path, "`version` is missing", app);
                    self.report.problem(problem.hint(
                        "only a chart on this machine or in git, or one that names a tag or a digest, needs none",
                    ));
                }
                ChartVersion::Any
            }
        };
        Chart { source, version }
    }

    fn chart_source(
        &mut self,
        path: &str,
        chart: &At<Text>,
        enabled: bool,
        repositories: &BTreeMap<String, Repository>,
    ) -> ChartSource {
        let text = &chart.value.value;
        if text.starts_with("oci://") {
            self.report.problems.extend(refused(&keys::CHART_OCI, path, chart.span));
            return ChartSource::Oci(text.clone());
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            self.report.problems.extend(refused(&keys::CHART_URL, path, chart.span));
            return ChartSource::Url(text.clone());
        }
        if GitChart::is_meant(text) {
            return match GitChart::parse(text) {
                Ok(chart) => ChartSource::Git(chart),
                Err(why) => {
                    let problem = Problem::new(Code::BadValue, path, why, chart.span);
                    let hint = "such as \"git+https://git.example.org/charts.git//web?ref=v1.2.0\"";
                    self.report.problem(problem.hint(hint));
                    ChartSource::Url(text.clone())
                }
            };
        }
        if let Some(("s3" | "gs" | "az", _)) = text.split_once("://") {
            self.report.problems.extend(refused(&keys::BUCKET_FILE, path, chart.span));
            return ChartSource::Url(text.clone());
        }
        if let Some((repository, name)) = text.split_once('/')
            && repositories.contains_key(repository)
        {
            return ChartSource::Repository { repository: repository.to_owned(), chart: name.to_owned() };
        }
        let Some(local) = self.local_path(path, chart, false) else {
            return ChartSource::Local(PathBuf::new());
        };
        if enabled && !self.around.skip_charts {
            let shown = chart.value.shown();
            match self.around.files.kind(&local) {
                PathKind::File => {}
                PathKind::Folder if self.around.files.kind(&local.join("Chart.yaml")) == PathKind::File => {}
                PathKind::Folder => {
                    let message = format!("the folder `{shown}` has no Chart.yaml");
                    self.problem(Code::MissingFile, path, message, chart.span);
                }
                PathKind::Missing => {
                    let problem =
                        Problem::new(Code::MissingFile, path, format!("no chart at `{shown}`"), chart.span);
                    let hint = self.missing_chart_hint(text, shown, repositories);
                    self.report.problem(problem.maybe_hint(hint));
                }
                PathKind::Unreadable(why) => {
                    let message = format!("`{shown}` cannot be read: {why}");
                    self.problem(Code::MissingFile, path, message, chart.span);
                }
            }
        }
        ChartSource::Local(local)
    }

    /// A path relative to the file that names it, or nothing when it may not be used. Charts may be anywhere: only
    /// what is one can be read as one.
    fn local_path(&mut self, path: &str, file: &At<Text>, guarded: bool) -> Option<PathBuf> {
        if file.value.value.contains('\0') {
            self.problem(Code::BadValue, path, "a path cannot hold a zero byte", file.span);
            return None;
        }
        let local = files::join((self.around.dir)(file.span), &file.value.value);
        if guarded && !files::is_allowed(self.around.files, self.around.roots, &local) {
            let message = format!("`{}` is outside the repository", file.value.shown());
            let problem = Problem::new(Code::OutsidePath, path, message, file.span);
            self.report.problem(problem.hint("`--allow-outside-paths` permits it"));
            return None;
        }
        Some(local)
    }

    /// A file of this machine that is not looked at yet.
    pub(super) fn local_file(&mut self, path: &str, file: &At<Text>, guarded: bool) -> Option<PathBuf> {
        if let Some(problem) = elsewhere(&file.value.value).and_then(|form| refused(form, path, file.span)) {
            self.report.problem(problem);
            return None;
        }
        self.local_path(path, file, guarded)
    }

    /// A file in the working folder that is not beside the file that names it: where Helmsman looks for `setFile`.
    pub(super) fn beside_or_in_working_folder(&mut self, path: &str, file: &At<Text>) -> Option<PathBuf> {
        let text = &file.value.value;
        let dir = (self.around.dir)(file.span);
        let here = PathBuf::from(text);
        let is_elsewhere = !text.contains(['\0', ':'])
            && here.is_relative()
            && self.around.files.kind(&files::join(dir, text)) == PathKind::Missing
            && self.around.files.kind(&here) == PathKind::File
            && files::is_allowed(self.around.files, self.around.roots, &here);
        if !is_elsewhere {
            return None;
        }
        let message = "found in the working folder, not beside the file that names it".to_owned();
        self.report.note(NoteCode::FromWorkingFolder, path, message, file.span);
        Some(here)
    }

    pub(super) fn verify(&mut self, path: &str, raw: RawVerify, enabled: bool) -> Verify {
        let path = format!("{path}.verify");
        let mut file = |key: &str, file: &Given<Text>| self.file(&path, key, file.as_ref()?, enabled);
        let keyring = file("keyring", &raw.keyring);
        let key = file("cosignKey", &raw.cosign_key).map(Cosign::Key);
        let identity = raw.cosign_identity.zip(raw.cosign_issuer).map(|(identity, issuer)| {
            Cosign::Identity { identity: identity.value.value, issuer: issuer.value.value }
        });
        Verify { keyring, cosign: key.or(identity) }
    }

    /// A values file: here, or behind an address.
    pub(super) fn values_file(&mut self, path: &str, file: &At<Text>, enabled: bool) -> Option<PathBuf> {
        let text = &file.value.value;
        if files::is_address(Path::new(text)) {
            return Some(PathBuf::from(text));
        }
        self.file(path, "valuesFiles", file, enabled)
    }

    pub(super) fn file(&mut self, path: &str, key: &str, file: &At<Text>, enabled: bool) -> Option<PathBuf> {
        self.file_at(format!("{path}.{key}"), file, enabled)
    }

    pub(super) fn file_at(&mut self, path: String, file: &At<Text>, enabled: bool) -> Option<PathBuf> {
        let form = elsewhere(&file.value.value);
        if let Some(problem) = form.and_then(|form| refused(form, &path, file.span)) {
            self.report.problem(problem);
            return None;
        }
        let local = self.local_path(&path, file, true)?;
        if enabled {
            let shown = file.value.shown();
            let message = match self.around.files.kind(&local) {
                PathKind::File => return Some(local),
                PathKind::Folder => format!("`{shown}` is a folder"),
                PathKind::Missing => format!("no file `{shown}`"),
                PathKind::Unreadable(why) => format!("`{shown}` cannot be read: {why}"),
            };
            // Where a variable is in the path, the folder alone must do.
            let dir = (self.around.dir)(file.span);
            let hint = (!dir.as_os_str().is_empty()).then(|| format!("paths start at {}", dir.display()));
            self.report.problem(Problem::new(Code::MissingFile, path, message, file.span).maybe_hint(hint));
        }
        Some(local)
    }

    fn missing_chart_hint(
        &mut self,
        text: &str,
        shown: &str,
        repositories: &BTreeMap<String, Repository>,
    ) -> Option<String> {
        let (first, _) = text.split_once('/')?;
        if first.is_empty() || first.starts_with('.') || text != shown {
            return None;
        }
        Some(match self.report.closest(first, repositories.keys().map(String::as_str)) {
            Some(near) => format!("did you mean the repository `{near}`?"),
            None => {
                format!("`{first}` is no repository of the file, so it is taken as a folder beside the file")
            }
        })
    }
}

/// Tells whether a chart needs no version beside it.
fn names_its_version(source: &ChartSource) -> bool {
    match source {
        // A commit is one version.
        ChartSource::Local(_) | ChartSource::Git(_) => true,
        ChartSource::Oci(reference) => {
            reference.contains('@') || reference.rsplit('/').next().is_some_and(|name| name.contains(':'))
        }
        ChartSource::Repository { .. } | ChartSource::Url(_) => false,
    }
}

/// Returns what a file is that is not on this machine.
fn elsewhere(file: &str) -> Option<&'static keys::Form> {
    match file.split_once("://").map(|(scheme, _)| scheme)? {
        "http" | "https" => Some(&keys::REMOTE_OTHER_FILE),
        "s3" | "gs" | "az" => Some(&keys::BUCKET_FILE),
        _ => None,
    }
}
