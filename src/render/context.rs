//! Which templates a chart has, and what each of them sees.
//!
//! Source: Helm `pkg/engine/engine.go`, `recAllTpls` and `sortTemplates`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::{Files, Values, metadata};
use crate::chart::{Chart, File, paths, subchart_path, tables};
use crate::template::value::{Map, Val};

/// The release as templates see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseInfo {
    /// The release's name.
    pub name: String,
    /// The namespace it goes to.
    pub namespace: String,
    /// The revision that this render becomes.
    pub revision: i64,
    /// Whether the release is installed.
    pub is_install: bool,
    /// Whether the release is upgraded.
    pub is_upgrade: bool,
}

/// One template file with its surroundings.
#[derive(Debug)]
pub(super) struct Source {
    /// The full path: chart names, then the path in the chart.
    pub(super) name: String,
    /// The text.
    pub(super) text: Arc<[u8]>,
    /// `$`. All files of a chart share it.
    pub(super) root: Map,
    /// `.Template.BasePath`.
    base_path: String,
}

impl Source {
    /// Tells whether the file only holds named templates.
    pub(super) fn is_partial(&self) -> bool {
        paths::base(&self.name).starts_with('_')
    }

    /// Makes `.Template` speak of this file. It stays so until the next file of the chart is executed, as an
    /// included template sees the file that includes it.
    pub(super) fn enter(&self) {
        let template = Map::new();
        tables::set(&template, "Name", Val::str(self.name.as_str()));
        tables::set(&template, "BasePath", Val::str(self.base_path.as_str()));
        tables::set(&self.root, "Template", Values::val(template));
    }
}

/// Returns the templates of `chart` and of the charts inside, in the order in which they are parsed and
/// executed: deepest path first, then backwards by name. `values` are those of the whole chart.
pub(super) fn sources(chart: &Chart, values: Map, release: &ReleaseInfo, capabilities: &Val) -> Vec<Source> {
    let given = Map::new();
    let members = [
        ("Name", Val::str(release.name.as_str())),
        ("Namespace", Val::str(release.namespace.as_str())),
        ("IsUpgrade", Val::Bool(release.is_upgrade)),
        ("IsInstall", Val::Bool(release.is_install)),
        ("Revision", Val::Int(release.revision)),
        ("Service", Val::str("Helm")),
    ];
    for (key, value) in members {
        tables::set(&given, key, value);
    }
    let mut collector =
        Collector { release: Val::Map(given), capabilities: capabilities.clone(), found: BTreeMap::new() };
    collector.chart(chart, chart.name(), true, values);
    let mut sources: Vec<Source> = collector.found.into_values().collect();
    sources.sort_by_cached_key(|source| (source.name.matches('/').count(), source.name.clone()));
    sources.reverse();
    sources
}

struct Collector {
    release: Val,
    capabilities: Val,
    /// By full path: of two files with the same path the last one counts.
    found: BTreeMap<String, Source>,
}

impl Collector {
    /// Collects the templates of one chart, and returns what it calls `$`.
    fn chart(&mut self, chart: &Chart, full_path: &str, is_root: bool, values: Map) -> Map {
        let root = Map::new();
        let inner_roots = Map::new();
        let members = [
            ("Chart", metadata(&chart.metadata, is_root)),
            ("Files", Val::object(Files::new(&chart.files))),
            ("Release", self.release.clone()),
            ("Capabilities", self.capabilities.clone()),
            ("Values", Values::val(values.clone())),
            ("Subcharts", Val::Map(inner_roots.clone())),
        ];
        for (key, value) in members {
            tables::set(&root, key, value);
        }
        for inner in &chart.dependencies {
            // The very table that hangs in the parent's values. A dot in the name is read as a path.
            let table = tables::table_at(&values, inner.name()).unwrap_or_default();
            let inner_root = self.chart(inner, &subchart_path(full_path, inner.name()), false, table);
            tables::set(&inner_roots, inner.name(), Val::Map(inner_root));
        }
        let base_path = paths::join(full_path, "templates");
        for file in chart.templates.iter().filter(|file| !chart.is_library() || is_partial(file)) {
            let name = paths::join(full_path, &file.name);
            let (text, root, base_path) = (Arc::clone(&file.data), root.clone(), base_path.clone());
            self.found.insert(name.clone(), Source { name, text, root, base_path });
        }
        root
    }
}

fn is_partial(file: &File) -> bool {
    paths::base(&file.name).starts_with('_')
}
