//! Which releases go together, and which have to wait.
//!
//! Two rules combine: a release starts after every release that it `needs`, and after every release of a
//! lower `priority` (Helmsman's batches). Both are edges of one graph; the batches are its layers.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ReleaseKey;

/// What the order depends on.
#[derive(Clone, Debug)]
pub struct Node {
    /// The release.
    pub key: ReleaseKey,
    /// Lower goes first.
    pub priority: i64,
    /// Releases that have to be ready before; those that are not among the nodes are no edges.
    pub needs: Vec<ReleaseKey>,
}

/// A circle in the order: each release waits for the one after it, the last for the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no order is possible: {}", describe(path))]
pub struct Cycle {
    /// The circle; the first release is repeated at its end.
    pub path: Vec<ReleaseKey>,
}

fn describe(path: &[ReleaseKey]) -> String {
    path.iter().map(ReleaseKey::to_string).collect::<Vec<_>>().join(" waits for ")
}

/// Returns the batches: each release is in exactly one, after all that it waits for, as early as it can be.
/// The order inside a batch is by name, so the same input gives the same batches.
///
/// # Errors
/// Returns the circle, if there is one; priorities count as edges, so a release that needs one of a higher
/// priority number is a circle as soon as both are in the file.
pub fn batches(nodes: &[Node]) -> Result<Vec<Vec<ReleaseKey>>, Cycle> {
    let waits = edges(nodes);
    let mut layer_of: BTreeMap<&ReleaseKey, usize> = BTreeMap::new();
    let mut open: BTreeSet<&ReleaseKey> = waits.keys().copied().collect();
    let mut layers: Vec<Vec<ReleaseKey>> = Vec::new();
    while !open.is_empty() {
        let ready: Vec<&ReleaseKey> = open
            .iter()
            .copied()
            .filter(|key| waits[key].iter().all(|before| layer_of.contains_key(before)))
            .collect();
        if ready.is_empty() {
            return Err(find_cycle(&open, &waits));
        }
        for key in &ready {
            open.remove(key);
            layer_of.insert(key, layers.len());
        }
        layers.push(ready.into_iter().cloned().collect());
    }
    Ok(layers)
}

/// Returns for each release the ones that it waits for directly. Priorities become edges to the whole next
/// lower priority only: the others follow.
fn edges(nodes: &[Node]) -> BTreeMap<&ReleaseKey, BTreeSet<&ReleaseKey>> {
    let known: BTreeSet<&ReleaseKey> = nodes.iter().map(|node| &node.key).collect();
    let mut by_priority: BTreeMap<i64, Vec<&ReleaseKey>> = BTreeMap::new();
    for node in nodes {
        by_priority.entry(node.priority).or_default().push(&node.key);
    }
    let mut waits = BTreeMap::new();
    for node in nodes {
        let lower = by_priority.range(..node.priority).next_back();
        let earlier = lower.map(|(_, keys)| keys.as_slice()).unwrap_or_default();
        let needed = node.needs.iter().filter_map(|key| known.get(key).copied());
        waits.insert(&node.key, needed.chain(earlier.iter().copied()).collect());
    }
    waits
}

/// Walks along unfinished edges until a release comes round again; there is one, since each has such an edge.
fn find_cycle(open: &BTreeSet<&ReleaseKey>, waits: &BTreeMap<&ReleaseKey, BTreeSet<&ReleaseKey>>) -> Cycle {
    let mut path: Vec<&ReleaseKey> = open.iter().copied().take(1).collect();
    while let Some(last) = path.last() {
        let Some(next) = waits[last].iter().copied().find(|key| open.contains(key)) else { break };
        if let Some(start) = path.iter().position(|key| *key == next) {
            path.push(next);
            return Cycle { path: path.split_off(start).into_iter().cloned().collect() };
        }
        path.push(next);
    }
    Cycle { path: path.into_iter().cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str) -> ReleaseKey {
        ReleaseKey::new("n", name)
    }

    fn node(name: &str, priority: i64, needs: &[&str]) -> Node {
        Node { key: key(name), priority, needs: needs.iter().map(|name| key(name)).collect() }
    }

    fn check(nodes: &[Node], expected: &str) {
        let text = match batches(nodes) {
            Ok(layers) => {
                let names = |layer: &Vec<ReleaseKey>| {
                    layer.iter().map(|key| key.name.clone()).collect::<Vec<_>>().join(" ")
                };
                layers.iter().map(names).collect::<Vec<_>>().join(" | ")
            }
            Err(cycle) => cycle.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn edges_and_priorities_make_layers() {
        check(&[], "");
        check(&[node("b", 0, &[]), node("a", 0, &[])], "a b");
        check(&[node("web", 0, &["db"]), node("db", 0, &[]), node("log", 0, &[])], "db log | web");
        check(&[node("a", -1, &[]), node("b", -10, &[]), node("c", 0, &[])], "b | a | c");
        check(&[node("a", -1, &[]), node("b", 0, &["c"]), node("c", 0, &[])], "a | c | b");
        check(&[node("a", 0, &["elsewhere"])], "a");
    }

    #[test]
    fn a_circle_is_told_in_order() {
        check(&[node("a", 0, &["a"])], "no order is possible: n/a waits for n/a");
        check(
            &[node("a", 0, &["b"]), node("b", 0, &["c"]), node("c", 0, &["b"])],
            "no order is possible: n/b waits for n/c waits for n/b",
        );
        check(
            &[node("early", -5, &["late"]), node("late", 0, &[])],
            "no order is possible: n/early waits for n/late waits for n/early",
        );
    }

    proptest! {
        #[test]
        fn no_release_comes_before_what_it_waits_for(edges in proptest::collection::vec((0usize..12, 0usize..12), 0..30)) {
            let nodes: Vec<Node> = (0..12usize)
                .map(|at| Node {
                    key: key(&format!("r{at:02}")),
                    priority: 0,
                    needs: edges.iter().filter(|(from, to)| *from == at && to < from).map(|(_, to)| key(&format!("r{to:02}"))).collect(),
                })
                .collect();
            let layers = batches(&nodes).unwrap();
            let layer = |wanted: &ReleaseKey| layers.iter().position(|layer| layer.contains(wanted)).unwrap();
            prop_assert_eq!(layers.iter().map(Vec::len).sum::<usize>(), nodes.len());
            for node in &nodes {
                let earliest = node.needs.iter().map(|need| layer(need) + 1).max().unwrap_or(0);
                prop_assert_eq!(layer(&node.key), earliest, "each release is as early as it can be");
            }
        }
    }
}
