//! Which of the charts inside a chart take part, under which names, and what they hand up.
//!
//! Source: Helm `pkg/chart/v2/util/dependencies.go`. It runs on the loaded chart before anything is
//! rendered: aliases are copied, tags and conditions switch charts off, `import-values` lifts defaults.

use std::collections::BTreeSet;

use super::coalesce::{Merger, Mode, shown};
use super::error::ChartError;
use super::metadata::Dependency;
use super::tables::{deep_copy, get, set, table, table_at, value_at};
use super::{Chart, in_range};
use crate::go::unicode::is_space;
use crate::template::convert::to_value;
use crate::template::value::{Map, Val};
use crate::value::Value;

/// Returns the chart as it is rendered with the user's values: only the charts that are switched on, each
/// under its alias, with the imported values in the defaults.
///
/// # Errors
/// Fails if the value under the name of a chart inside is not a table.
pub fn process(chart: &Chart, user: &Map, merger: &mut Merger) -> Result<Chart, ChartError> {
    let mut chart = chart.clone();
    switch(&mut chart, user, "", merger)?;
    import(&mut chart, merger)?;
    Ok(chart)
}

/// Names the dependencies that `Chart.yaml` lists but that are not in `charts/`.
///
/// # Errors
/// Fails if there is one, with Helm's text (`pkg/action/install.go`, `CheckDependencies`).
pub fn check_present(chart: &Chart) -> Result<(), MissingDependencies> {
    let present: BTreeSet<&str> = chart.dependencies.iter().map(Chart::name).collect();
    let listed = chart.metadata.dependencies.iter().flatten();
    let missing: Vec<&str> =
        listed.map(|dependency| dependency.name.as_str()).filter(|name| !present.contains(name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(MissingDependencies(missing.join(", "))) }
}

/// Charts are listed as dependencies but are not there.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("found in Chart.yaml, but missing in charts/ directory: {0}")]
pub struct MissingDependencies(String);

/// Puts the charts inside in their final order, renames them and drops the ones that are switched off,
/// then does the same inside each. `path` is the chain of names from the root, each followed by a dot.
fn switch(chart: &mut Chart, user: &Map, path: &str, merger: &mut Merger) -> Result<(), ChartError> {
    let Some(mut listed) = chart.metadata.dependencies.take() else { return Ok(()) };
    chart.dependencies = arranged(&chart.dependencies, &mut listed);
    for dependency in &mut listed {
        dependency.enabled = true;
    }
    let values = merger.values(chart, user, Mode::Coalesce)?;
    by_tags(&mut listed, &values, merger);
    by_conditions(&mut listed, &values, path, merger);
    let off: BTreeSet<String> = listed
        .iter()
        .filter(|dependency| !dependency.enabled)
        .map(|dependency| dependency.name.clone())
        .collect();
    chart.dependencies.retain(|inner| !off.contains(inner.name()));
    listed.retain(|dependency| !off.contains(&dependency.name));
    for inner in &mut chart.dependencies {
        let path = format!("{path}{}.", inner.name());
        switch(inner, &values, &path, merger)?;
    }
    chart.metadata.dependencies = if listed.is_empty() { None } else { Some(listed) };
    Ok(())
}

/// Returns the charts inside in Helm's order: first those that no entry matches, then one for each entry
/// that has a match, under its alias. Entries take their alias as name.
fn arranged(charts: &[Chart], listed: &mut [Dependency]) -> Vec<Chart> {
    let matches = |dependency: &Dependency, chart: &Chart| {
        chart.name() == dependency.name && in_range(&dependency.version, &chart.metadata.version)
    };
    let unlisted = charts.iter().filter(|chart| !listed.iter().any(|dependency| matches(dependency, chart)));
    let mut arranged: Vec<Chart> = unlisted.cloned().collect();
    for dependency in listed {
        if let Some(chart) = charts.iter().find(|chart| matches(dependency, chart)) {
            let mut chart = chart.clone();
            if !dependency.alias.is_empty() {
                chart.metadata.name.clone_from(&dependency.alias);
            }
            arranged.push(chart);
        }
        if !dependency.alias.is_empty() {
            dependency.name.clone_from(&dependency.alias);
        }
    }
    arranged
}

fn by_tags(listed: &mut [Dependency], values: &Map, merger: &mut Merger) {
    let Some(tags) = table(values, "tags") else { return };
    for dependency in listed {
        let (mut on, mut off) = (false, false);
        for tag in &dependency.tags {
            match get(&tags, tag) {
                Some(Val::Bool(true)) => on = true,
                Some(Val::Bool(false)) => off = true,
                Some(_) => merger.warnings.push(format!(
                    "tag {tag:?} of chart {:?} has a value that is not a bool",
                    dependency.name
                )),
                None => {}
            }
        }
        dependency.enabled = on || !off;
    }
}

/// The first path of a dependency's condition that leads to a bool decides.
fn by_conditions(listed: &mut [Dependency], values: &Map, path: &str, merger: &mut Merger) {
    for dependency in listed {
        for part in dependency.condition.trim_matches(is_space).split(',').filter(|part| !part.is_empty()) {
            match value_at(values, &format!("{path}{part}")) {
                Some(Val::Bool(enabled)) => {
                    dependency.enabled = enabled;
                    break;
                }
                Some(_) => merger.warnings.push(format!(
                    "condition {part:?} of chart {:?} has a value that is not a bool",
                    dependency.name
                )),
                None => {}
            }
        }
    }
}

/// Merges the defaults of the charts inside, and what they export, into the chart's own; innermost first.
///
/// A chart that lists no dependencies keeps its defaults as they are.
fn import(chart: &mut Chart, merger: &mut Merger) -> Result<(), ChartError> {
    for inner in &mut chart.dependencies {
        import(inner, merger)?;
    }
    let Some(mut listed) = chart.metadata.dependencies.take() else { return Ok(()) };
    let defaults = merger.values(chart, &Map::new(), Mode::Merge)?;
    let imported = Map::new();
    for dependency in &mut listed {
        let mut normal = Vec::new();
        for wish in std::mem::take(&mut dependency.import_values) {
            let (child, parent) = match &wish {
                Value::Str(name) => (format!("exports.{name}"), ".".to_owned()),
                Value::Map(map) => (printed(map.get("child")), printed(map.get("parent"))),
                _ => continue,
            };
            match table_at(&defaults, &format!("{}.{child}", dependency.name)) {
                Some(table) => merger.tables(&imported, &nested(&parent, table), "", Mode::Merge),
                None => merger
                    .warnings
                    .push(format!("import-values: chart {:?} has no table {child:?}", dependency.name)),
            }
            let pair = [("child".to_owned(), child.into()), ("parent".to_owned(), parent.into())];
            normal.push(Value::Map(pair.into()));
        }
        dependency.import_values = normal;
    }
    let defaults = deep_copy(&defaults)?;
    merger.tables(&defaults, &imported, "", Mode::Merge);
    chart.values = to_value(&Val::Map(defaults))?.as_map().cloned();
    chart.metadata.dependencies = Some(listed);
    Ok(())
}

/// Returns a member of an `import-values` entry as Go's `%v` prints it.
fn printed(value: Option<&Value>) -> String {
    shown(value.unwrap_or(&Value::Null))
}

/// Returns a tree that has `inner` at the dotted path; `.` is the root.
fn nested(path: &str, inner: Map) -> Map {
    if path == "." {
        return inner;
    }
    path.rsplit('.').fold(inner, |inner, key| {
        let outer = Map::new();
        set(&outer, key, Val::Map(inner));
        outer
    })
}
