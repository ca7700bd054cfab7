//! The order inside a release: which objects wait for which others, and the waves that this makes.
//!
//! Without annotations there is one wave, in Helm's order of kinds. Two kinds of annotation add edges:
//! `statectl.io/depends-on` on an object names objects of the same release; Helm's annotations for ordered waits
//! (HIP-0025, a draft: `helm.sh/resource-group` and its relatives) name groups of objects and subcharts, and count only
//! where the app says `sequencing = "annotations"`, because no released Helm follows them.
//!
//! An object is applied after everything that it waits for is applied and ready, and removed before it. The edges are in
//! the recorded manifest, so that a removal and a rollback find them when the chart is gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::records::ManifestId;
use crate::dsf::state::{ObjectName, Sequencing};
use crate::history::{self, Record};
use crate::manifest::{self, Document, SplitRule};
use crate::model::ObjectKey;
use crate::text::plural;

/// Names objects of the release that the object waits for, as `Kind/name` or `Kind.group/name`, separated by commas.
const DEPENDS_ON: &str = "statectl.io/depends-on";
const GROUP: &str = "helm.sh/resource-group";
/// Two slashes are no legal key of an annotation: the API server refuses it, so it is in manifests and records only.
const ON_GROUPS: &str = "helm.sh/depends-on/resource-groups";
/// The same without the second slash, as it is discussed.
const ON_GROUPS_PLAIN: &str = "helm.sh/depends-on-resource-groups";
/// Of a chart: the subcharts that its own objects wait for.
const ON_SUBCHARTS: &str = "helm.sh/depends-on/subcharts";

const ANNOTATIONS: &str = "annotations";

/// Annotations that say something about the order and cannot be sent.
pub(super) const NOT_SENT: [&str; 2] = [ON_GROUPS, ON_SUBCHARTS];

/// What waits for what.
pub type Edges = BTreeMap<ObjectKey, Vec<ObjectKey>>;

/// The order of the objects of a release.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    /// What each object waits for; objects that wait for nothing are not in it.
    pub(super) edges: Edges,
    /// The wave of each object that is not in the first one, from 1.
    waves: BTreeMap<ObjectKey, usize>,
    /// What is odd, and changes no decision.
    pub(super) notes: Vec<String>,
}

impl Sequence {
    /// Returns the wave of an object; 0 is the first.
    pub(super) fn wave(&self, key: &ObjectKey) -> usize {
        self.waves.get(key).copied().unwrap_or(0)
    }

    /// Returns the edges between objects that something is done with.
    pub(super) fn among(&self, keys: &BTreeSet<&ObjectKey>) -> Edges {
        let own = self.edges.iter().filter(|(key, _)| keys.contains(key));
        own.map(|(key, after)| {
            (key.clone(), after.iter().filter(|other| keys.contains(other)).cloned().collect::<Vec<_>>())
        })
        .filter(|(_, after)| !after.is_empty())
        .collect()
    }

    /// Returns the edges turned round: what has to be gone before an object goes.
    pub(super) fn reversed(&self, keys: &BTreeSet<&ObjectKey>) -> Edges {
        let mut edges = Edges::new();
        for (key, after) in self.among(keys) {
            for before in after {
                edges.entry(before).or_default().push(key.clone());
            }
        }
        edges
    }
}

/// Puts what a revision made into the order of its removal, the last wave first, and returns what has to be gone before
/// each. An order that cannot be read is none: it does not keep a release from going.
pub(super) fn removal<T>(record: Option<&Record>, steps: &mut [T], key: impl Fn(&T) -> &ObjectKey) -> Edges {
    let Some(record) = record else { return Edges::new() };
    let keys: Vec<&ObjectKey> = steps.iter().map(&key).collect();
    let sequence = recorded(record, &keys);
    let edges = sequence.reversed(&keys.into_iter().collect());
    steps.sort_by_key(|step| std::cmp::Reverse(sequence.wave(key(step))));
    edges
}

/// Returns the order that a recorded revision was made in.
pub(super) fn recorded(record: &Record, keys: &[&ObjectKey]) -> Sequence {
    let release = &record.release;
    let grouped = record.labels.get(history::SEQUENCING_LABEL).is_some_and(|word| word == ANNOTATIONS);
    sequence(&release.manifest, release.chart.as_ref(), grouped, keys).unwrap_or_default()
}

/// Returns the word that records say for an app that follows Helm's annotations.
pub(super) fn label_of(sequencing: Sequencing) -> Option<&'static str> {
    match sequencing {
        Sequencing::None => None,
        Sequencing::Annotations => Some(ANNOTATIONS),
    }
}

/// An object of the manifest with what it says about the order.
struct Node {
    key: ObjectKey,
    /// The chart that it was rendered from, as in `web/charts/db`.
    chart: String,
    annotations: Json,
}

/// Returns the order of `keys`, the objects of `manifest`.
///
/// # Errors
/// Returns why there is none: an edge to something that the release does not have, a circle, an annotation that is no
/// list.
pub(super) fn sequence(
    manifest: &str,
    chart: Option<&history::Chart>,
    grouped: bool,
    keys: &[&ObjectKey],
) -> Result<Sequence, String> {
    let says = |word: &str| memchr::memmem::find(manifest.as_bytes(), word.as_bytes()).is_some();
    let on_subcharts = chart.and_then(|chart| chart.annotation(ON_SUBCHARTS)).map(str::to_owned);
    let has_groups = says(GROUP) || says(ON_GROUPS) || says(ON_GROUPS_PLAIN) || on_subcharts.is_some();
    if !says(DEPENDS_ON) && !has_groups {
        return Ok(Sequence::default());
    }
    let nodes = nodes(manifest, keys);
    let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut notes = Vec::new();
    named(&nodes, &mut edges)?;
    if has_groups && grouped {
        let subcharts = match on_subcharts {
            Some(text) => list(&text, &format!("{ON_SUBCHARTS} of the chart"))?,
            None => Vec::new(),
        };
        groups(&nodes, &subcharts, &mut edges, &mut notes)?;
    } else if has_groups {
        notes.push(
            "the chart groups its objects for Helm's ordered waits, which no released Helm follows; \
             `sequencing = \"annotations\"` does"
                .to_owned(),
        );
    }
    layer(&nodes, &edges, notes)
}

/// Reads the objects of a manifest, with the chart that each document names as its source.
fn nodes(manifest: &str, keys: &[&ObjectKey]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for text in manifest::split(manifest, SplitRule::default()) {
        let Ok(document) = Document::parse(text) else { continue };
        if !document.object.is_object() {
            continue;
        }
        let source = text.lines().find_map(|line| line.strip_prefix("# Source: "));
        let chart = source.and_then(|path| path.split_once("/templates/")).map_or("", |(chart, _)| chart);
        for object in manifest::flatten(document.object) {
            let Some(id) = ManifestId::of_object(&object) else { continue };
            let known = keys.iter().find(|key| ManifestId::of_key(key).matches(&id));
            let Some(key) = known.filter(|key| !nodes.iter().any(|node| node.key == ***key)) else {
                continue;
            };
            let annotations = object["metadata"]["annotations"].clone();
            nodes.push(Node { key: (*key).clone(), chart: chart.to_owned(), annotations });
        }
    }
    nodes
}

/// Adds the edges of `statectl.io/depends-on`.
fn named(nodes: &[Node], edges: &mut BTreeMap<usize, BTreeSet<usize>>) -> Result<(), String> {
    for (at, node) in nodes.iter().enumerate() {
        let Some(text) = node.annotations[DEPENDS_ON].as_str() else { continue };
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((kind, name)) = entry.split_once('/') else {
                return Err(format!("{}: {DEPENDS_ON} names `{entry}`, which is no KIND/NAME", node.key));
            };
            let wanted = ObjectName { kind: kind.trim().to_owned(), name: name.trim().to_owned() };
            let found: Vec<usize> =
                (0..nodes.len()).filter(|other| wanted.names(&nodes[*other].key)).collect();
            if found.is_empty() {
                return Err(format!(
                    "{} depends on {entry} ({DEPENDS_ON}), which the release does not have; objects of others belong \
                     into `waitFor`",
                    node.key
                ));
            }
            edges.entry(at).or_default().extend(found);
        }
    }
    Ok(())
}

/// Adds the edges of Helm's ordered waits. Groups belong to their chart; what is in no group of a chart that has some,
/// what is in a group that nothing is connected with, and what waits for an unknown group, comes last.
fn groups(
    nodes: &[Node],
    subcharts: &[String],
    edges: &mut BTreeMap<usize, BTreeSet<usize>>,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    type Group<'a> = (&'a str, &'a str);
    let group_of = |node: &'_ Node| node.annotations[GROUP].as_str().map(str::to_owned);
    let mut members: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut waits: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let Some(group) = group_of(node) else { continue };
        let group = (node.chart.clone(), group);
        members.entry(group.clone()).or_default().push(at);
        for key in [ON_GROUPS, ON_GROUPS_PLAIN] {
            if let Some(text) = node.annotations[key].as_str() {
                let names = list(text, &format!("{key} of {}", node.key))?;
                waits.entry(group.clone()).or_default().extend(names);
            } else if !node.annotations[key].is_null() {
                return Err(format!("{key} of {} is no text: write a JSON list in quotes", node.key));
            }
        }
    }
    let known = |(chart, name): Group<'_>| members.contains_key(&(chart.to_owned(), name.to_owned()));
    let mut last: BTreeSet<(String, String)> = BTreeSet::new();
    for (group, names) in &waits {
        for name in names.iter().filter(|name| !known((&group.0, name))) {
            notes.push(format!(
                "resource group `{}` waits for `{name}`, which is not there: it comes last",
                group.1
            ));
            last.insert(group.clone());
        }
    }
    for group in members.keys().filter(|group| !waits.contains_key(*group)) {
        let wanted = waits.iter().any(|(other, names)| other.0 == group.0 && names.contains(&group.1));
        if !wanted {
            notes.push(format!("resource group `{}` has no connection with others: it comes last", group.1));
            last.insert(group.clone());
        }
    }
    // What waits for something that comes last comes last as well.
    loop {
        let follows = |(group, names): &(&(String, String), &BTreeSet<String>)| {
            !last.contains(*group) && names.iter().any(|name| last.contains(&(group.0.clone(), name.clone())))
        };
        let more: Vec<(String, String)> =
            waits.iter().filter(follows).map(|(group, _)| group.clone()).collect();
        if more.is_empty() {
            break;
        }
        last.extend(more);
    }
    for (group, names) in &waits {
        let before = names.iter().filter_map(|name| members.get(&(group.0.clone(), name.clone()))).flatten();
        let before: Vec<usize> = before.copied().collect();
        for at in &members[group] {
            edges.entry(*at).or_default().extend(&before);
        }
    }
    // What comes last in a chart waits for what is in its connected groups.
    for (at, node) in nodes.iter().enumerate() {
        let is_last =
            |node: &Node| group_of(node).is_none_or(|group| last.contains(&(node.chart.clone(), group)));
        if is_last(node) {
            let before = (0..nodes.len())
                .filter(|other| nodes[*other].chart == node.chart && !is_last(&nodes[*other]));
            let before: BTreeSet<usize> = before.collect();
            if !before.is_empty() {
                edges.entry(at).or_default().extend(before);
            }
        }
    }
    for subchart in subcharts {
        let top = nodes.iter().map(|node| node.chart.split("/charts/").next().unwrap_or_default()).next();
        let path = format!("{}/charts/{subchart}", top.unwrap_or_default());
        let is_inside = |chart: &str| chart == path || chart.starts_with(&format!("{path}/"));
        let before: BTreeSet<usize> = (0..nodes.len()).filter(|at| is_inside(&nodes[*at].chart)).collect();
        if before.is_empty() {
            notes.push(format!("the chart waits for its subchart `{subchart}`, which renders nothing"));
        }
        for at in (0..nodes.len()).filter(|at| !nodes[*at].chart.contains("/charts/")) {
            edges.entry(at).or_default().extend(&before);
        }
    }
    Ok(())
}

/// Reads a JSON list of names that stands in a text, the only form in which an annotation can hold one.
fn list(text: &str, what: &str) -> Result<Vec<String>, String> {
    serde_json::from_str(text).map_err(|_| format!("{what} is no JSON list of names: {text:?}"))
}

/// Returns the waves: each object is in the first one after all that it waits for.
fn layer(
    nodes: &[Node],
    edges: &BTreeMap<usize, BTreeSet<usize>>,
    notes: Vec<String>,
) -> Result<Sequence, String> {
    let mut wave_of: BTreeMap<usize, usize> = BTreeMap::new();
    for wave in 0..nodes.len() {
        let ready: Vec<usize> = (0..nodes.len())
            .filter(|at| !wave_of.contains_key(at))
            .filter(|at| {
                edges.get(at).is_none_or(|after| after.iter().all(|other| wave_of.contains_key(other)))
            })
            .collect();
        if ready.is_empty() {
            break;
        }
        wave_of.extend(ready.into_iter().map(|at| (at, wave)));
    }
    if wave_of.len() < nodes.len() {
        return Err(circle(nodes, edges, &wave_of));
    }
    let after = |at: &usize| edges.get(at).into_iter().flatten();
    let edges = (0..nodes.len()).filter_map(|at| {
        let after: Vec<ObjectKey> = after(&at).map(|other| nodes[*other].key.clone()).collect();
        (!after.is_empty()).then(|| (nodes[at].key.clone(), after))
    });
    let waves = wave_of.into_iter().filter(|(_, wave)| *wave > 0);
    Ok(Sequence {
        edges: edges.collect(),
        waves: waves.map(|(at, wave)| (nodes[at].key.clone(), wave)).collect(),
        notes,
    })
}

/// Tells a circle, starting at one of its objects.
fn circle(
    nodes: &[Node],
    edges: &BTreeMap<usize, BTreeSet<usize>>,
    settled: &BTreeMap<usize, usize>,
) -> String {
    let mut path: Vec<usize> = (0..nodes.len()).find(|at| !settled.contains_key(at)).into_iter().collect();
    while let Some(last) = path.last() {
        // What is not settled waits for something that is not settled either.
        let next = edges.get(last).into_iter().flatten().find(|other| !settled.contains_key(other));
        let Some(next) = next.copied() else { break };
        if let Some(start) = path.iter().position(|at| *at == next) {
            path.drain(..start);
            path.push(next);
            break;
        }
        path.push(next);
    }
    let names: Vec<String> = path.iter().take(6).map(|at| nodes[*at].key.to_string()).collect();
    let more = match path.len().saturating_sub(names.len()) {
        0 => String::new(),
        rest => format!(" and {}", plural(rest, "more object")),
    };
    format!("objects wait for each other: {}{more}", names.join(" waits for "))
}

#[cfg(test)]
mod tests;
