//! The order of releases for people.

use crate::dsf::state::NeedWhen;
use crate::plan::{GraphRelease, ReleaseGraph};
use crate::text::{plural, table};

/// Returns the batches, each release with what it waits for and where the file says so.
pub fn render(graph: &ReleaseGraph) -> String {
    if graph.releases.is_empty() {
        return "no release is wanted\n".to_owned();
    }
    let releases = plural(graph.releases.len(), "release");
    let batches =
        if graph.batches == 1 { "one batch".to_owned() } else { format!("{} batches", graph.batches) };
    let mut out = format!("{releases} in {batches}\n");
    for (at, releases) in graph.by_batch().iter().enumerate() {
        out.push_str("\nbatch ");
        out.push_str(&(at + 1).to_string());
        out.push('\n');
        let rows: Vec<[String; 2]> = releases.iter().flat_map(|release| rows(graph, release)).collect();
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|[name, why]| vec![format!("  {name}"), why]).collect();
        out.push_str(&table(&rows));
    }
    out
}

/// The lines of a release: one for each thing that it waits for.
fn rows(graph: &ReleaseGraph, release: &GraphRelease) -> Vec<[String; 2]> {
    let mut why = Vec::new();
    if release.priority != 0 {
        why.push(format!("priority {}", release.priority));
    }
    if let Some(group) = &release.group {
        why.push(format!("group {group}"));
    }
    for need in graph.needs.iter().filter(|need| need.dependant == release.key) {
        let outside = if need.inside { "" } else { ", not in this graph" };
        why.push(format!("after {} is {}{outside} ({})", need.needed, told(need.when), need.origin));
    }
    let mut rows: Vec<[String; 2]> = Vec::new();
    for (at, why) in why.into_iter().enumerate() {
        rows.push([if at == 0 { release.key.to_string() } else { String::new() }, why]);
    }
    if rows.is_empty() {
        rows.push([release.key.to_string(), String::new()]);
    }
    rows
}

fn told(when: NeedWhen) -> &'static str {
    match when {
        NeedWhen::Ready | NeedWhen::Applied => when.as_str(),
        NeedWhen::Exists => "there",
    }
}
