//! Reports in the forms that people and CI systems read, made of the JSON reports and of nothing else: what is not in the
//! JSON is in no form, and what is masked there is masked everywhere.

mod ci;
mod html;
mod junit;
mod lines;
mod markdown;
mod view;

use serde_json::Value as Json;

pub use ci::{github_annotations, github_outputs, gitlab_quality, gitlab_widget};
pub use html::html;
pub use junit::junit;
pub use lines::{event_line, lines};
pub use markdown::markdown;

/// One report of a document: the document itself, or one of those of several clusters.
struct Part<'a> {
    /// The kubeconfig context, where the document is of several clusters.
    context: Option<&'a str>,
    report: Option<&'a Json>,
    failure: Option<&'a str>,
}

fn parts(document: &Json) -> Vec<Part<'_>> {
    if document["format"] != "statectl.clusters/v1" {
        return vec![Part { context: None, report: Some(document), failure: None }];
    }
    let clusters = document["clusters"].as_array().map(Vec::as_slice).unwrap_or_default();
    clusters
        .iter()
        .map(|cluster| Part {
            context: Some(cluster["kubeContext"].as_str().unwrap_or("the cluster of the settings")),
            report: cluster.get("report"),
            failure: cluster["failure"].as_str(),
        })
        .collect()
}

/// Returns the tag of a report without its version: `plan` of `statectl.plan/v1`.
fn kind(report: &Json) -> &str {
    let tag = report["format"].as_str().unwrap_or_default();
    let tag = tag.strip_prefix("statectl.").unwrap_or(tag);
    tag.split_once('/').map_or(tag, |(name, _)| name)
}

/// Returns the members of a list, none where there is no list.
fn list<'a>(value: &'a Json, member: &str) -> &'a [Json] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a text, an empty one where there is none.
fn text<'a>(value: &'a Json, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}
