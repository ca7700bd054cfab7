//! The order of releases as JSON, and as the languages of two programs that draw graphs.

use serde::Serialize;

use super::plan_json::pretty;
use crate::plan::{GraphNeed, ReleaseGraph};

/// The tag of the format.
const FORMAT: &str = "statectl.graph/v1";

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    context: &'a str,
    batches: Vec<Vec<String>>,
    releases: Vec<ReleaseEntry<'a>>,
    needs: Vec<NeedEntry>,
}

#[derive(Serialize)]
struct ReleaseEntry<'a> {
    namespace: &'a str,
    name: &'a str,
    batch: usize,
    priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
}

#[derive(Serialize)]
struct NeedEntry {
    release: String,
    needs: String,
    when: &'static str,
    inside: bool,
    location: Place,
}

#[derive(Serialize)]
struct Place {
    file: String,
    line: usize,
    column: usize,
}

/// Returns the graph as one JSON document with a final newline. Batches count from 1.
pub fn graph_json(context: &str, graph: &ReleaseGraph) -> String {
    let batches = graph.by_batch();
    pretty(&Report {
        format: FORMAT,
        context,
        batches: batches
            .iter()
            .map(|releases| releases.iter().map(|release| release.key.to_string()).collect())
            .collect(),
        releases: graph
            .releases
            .iter()
            .map(|release| ReleaseEntry {
                namespace: &release.key.namespace,
                name: &release.key.name,
                batch: release.batch + 1,
                priority: release.priority,
                group: release.group.as_deref(),
            })
            .collect(),
        needs: graph
            .needs
            .iter()
            .map(|need| NeedEntry {
                release: need.dependant.to_string(),
                needs: need.needed.to_string(),
                when: need.when.as_str(),
                inside: need.inside,
                location: Place {
                    file: need.origin.file.to_string(),
                    line: need.origin.line,
                    column: need.origin.column,
                },
            })
            .collect(),
    })
}

/// Returns the graph in the language of Mermaid, which code hosts draw in Markdown. Arrows lead to what waits.
pub fn graph_mermaid(graph: &ReleaseGraph) -> String {
    let mut lines = vec!["flowchart LR".to_owned()];
    for (at, releases) in graph.by_batch().iter().enumerate() {
        lines.push(format!("  subgraph batch{0} [\"batch {0}\"]", at + 1));
        for release in releases {
            let id = id(graph, &release.key.to_string());
            lines.push(format!("    {id}[\"{}\"]", mermaid_text(&release.key.to_string())));
        }
        lines.push("  end".to_owned());
    }
    for need in inside(graph) {
        let (needed, dependant) =
            (id(graph, &need.needed.to_string()), id(graph, &need.dependant.to_string()));
        lines.push(format!("  {needed} -->|{}| {dependant}", need.when.as_str()));
    }
    lines.join("\n") + "\n"
}

/// Returns the graph in the language of Graphviz. Arrows lead to what waits.
pub fn graph_dot(graph: &ReleaseGraph) -> String {
    let mut lines =
        vec!["digraph statectl {".to_owned(), "  rankdir=LR;".to_owned(), "  node [shape=box];".to_owned()];
    for (at, releases) in graph.by_batch().iter().enumerate() {
        lines.push(format!("  subgraph cluster_batch{} {{", at + 1));
        lines.push(format!("    label=\"batch {}\";", at + 1));
        for release in releases {
            lines.push(format!("    {};", dot_text(&release.key.to_string())));
        }
        lines.push("  }".to_owned());
    }
    for need in inside(graph) {
        let (needed, dependant) = (dot_text(&need.needed.to_string()), dot_text(&need.dependant.to_string()));
        lines.push(format!("  {needed} -> {dependant} [label=\"{}\"];", need.when.as_str()));
    }
    lines.push("}".to_owned());
    lines.join("\n") + "\n"
}

fn inside(graph: &ReleaseGraph) -> impl Iterator<Item = &GraphNeed> {
    graph.needs.iter().filter(|need| need.inside)
}

/// A node's name in a language where names of releases could be words of the language.
fn id(graph: &ReleaseGraph, key: &str) -> String {
    let place = graph.releases.iter().position(|release| release.key.to_string() == key);
    format!("r{}", place.unwrap_or_default())
}

fn mermaid_text(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;")
}

fn dot_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
