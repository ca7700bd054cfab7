//! Loads the charts of a run, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sources::{self, Asked, Found, Sources};
use crate::chart::{self, Chart};
use crate::dsf::state::{ChartSource, ChartVersion, Release};
use crate::failure;
use crate::fetch;
use crate::model::ReleaseKey;
use crate::plan::Reason;

/// The charts that were loaded, by path.
#[derive(Default)]
pub(super) struct ChartCache {
    /// Where links in chart folders may lead; nothing: anywhere.
    roots: Option<Vec<PathBuf>>,
    loaded: BTreeMap<PathBuf, Result<Arc<Chart>, String>>,
    /// Those that were fetched.
    fetched: BTreeMap<Asked, Result<Found, String>>,
    /// Releases whose chart is not by whom it has to be, and why.
    foreign: BTreeMap<ReleaseKey, String>,
}

impl ChartCache {
    /// Returns one for charts whose links stay in these folders and in the chart itself.
    pub(super) fn within(roots: Option<Vec<PathBuf>>) -> Self {
        Self { roots, ..Self::default() }
    }

    /// Adds what was fetched.
    pub(super) fn add(&mut self, fetched: BTreeMap<Asked, Result<Found, String>>) {
        self.fetched.extend(fetched);
    }

    /// Looks who made the charts of releases that say who it has to be.
    pub(super) async fn verify<'r>(
        &mut self,
        sources: &Sources<'_>,
        releases: impl Iterator<Item = &'r Release>,
    ) {
        for release in releases.filter(|release| sources::is_verified(release)) {
            let asked = (release.chart.source.clone(), release.chart.version.clone());
            let found = self.fetched.get(&asked).and_then(|found| found.as_ref().ok());
            if let Err(why) = sources.verify(release, found).await {
                self.foreign.insert(release.key.clone(), why);
            }
        }
    }

    /// Gives charts in folders what they list and do not have. One that cannot be completed is not usable.
    pub(super) async fn complete(&mut self, sources: &Sources<'_>, paths: impl Iterator<Item = &PathBuf>) {
        for path in paths {
            let Ok(chart) = self.load(path) else { continue };
            let found = sources.dependencies(path, &chart, self.roots.as_deref()).await;
            let whole = found.map(|found| {
                let mut whole = Chart::clone(&chart);
                whole.dependencies.extend(found.into_iter().map(|(chart, _)| Chart::clone(&chart)));
                Arc::new(whole)
            });
            self.loaded.insert(
                path.clone(),
                whole.map_err(|why| format!("the chart {} cannot be completed: {why}", path.display())),
            );
        }
    }

    /// Returns the charts in folders, of these, that do not have all that they list.
    pub(super) fn incomplete<'p>(&mut self, paths: impl Iterator<Item = &'p PathBuf>) -> BTreeSet<PathBuf> {
        let lacks =
            |path: &&PathBuf| self.load(path).is_ok_and(|chart| sources::missing(&chart).next().is_some());
        paths.filter(lacks).cloned().collect()
    }

    /// Returns the chart of a release.
    ///
    /// # Errors
    /// The reason why it cannot be used, with its place.
    pub(super) fn chart(&mut self, release: &Release) -> Result<Arc<Chart>, Reason> {
        let refused = |message: String| Reason::NotRendered { message };
        if let Some(why) = self.foreign.get(&release.key) {
            let origin = release.origins.get("verify").unwrap_or(&release.origin);
            return Err(refused(format!("{origin}: the chart is not verified: {why}")));
        }
        let ChartSource::Local(path) = &release.chart.source else {
            let asked = (release.chart.source.clone(), release.chart.version.clone());
            let origin = release.origins.get("chart").unwrap_or(&release.origin);
            return match self.fetched.get(&asked) {
                Some(Ok(found)) => Ok(Arc::clone(&found.chart)),
                Some(Err(why)) => Err(refused(format!("{origin}: {why}"))),
                None => Err(refused(format!("{origin}: the chart was not fetched"))),
            };
        };
        let chart = self.load(path).map_err(refused)?;
        if let ChartVersion::Matching(range) = &release.chart.version {
            let found = &chart.metadata.version;
            if !chart::in_range(range, found) {
                let origin = release.origins.get("version").unwrap_or(&release.origin);
                let message =
                    format!("{origin}: the chart at {} has version {found}, not {range}", path.display());
                return Err(refused(message));
            }
        }
        Ok(chart)
    }

    /// Returns the chart at a path, or why it cannot be loaded.
    pub(super) fn load(&mut self, path: &Path) -> Result<Arc<Chart>, String> {
        let roots = self.roots.as_deref();
        let load = || match fetch::dir::load_within(path, roots) {
            Ok(chart) => Ok(Arc::new(chart)),
            Err(error) => {
                let message = format!("the chart {} cannot be loaded", path.display());
                let causes = failure::chain(&message, Some(&error));
                Err(std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": "))
            }
        };
        self.loaded.entry(path.to_owned()).or_insert_with(load).clone()
    }
}
