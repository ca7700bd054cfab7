//! The order that a file asks for, as a graph: releases, what each needs and why, and the batches.
//!
//! A function of the desired state alone: a plan may have fewer batches, since it orders only what changes.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{Cycle, Node, batches};
use crate::dsf::state::{DesiredState, NeedWhen, Release};
use crate::model::ReleaseKey;
use crate::text::Location;

/// The releases of a file and who waits for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseGraph {
    /// The releases by batch, and by name inside of one. Without releases that the file does not want.
    pub releases: Vec<GraphRelease>,
    /// What is needed, sorted by the release that waits.
    pub needs: Vec<GraphNeed>,
    /// How many batches there are.
    pub batches: usize,
}

impl ReleaseGraph {
    /// Returns the releases of each batch.
    pub fn by_batch(&self) -> Vec<Vec<&GraphRelease>> {
        let mut batches = vec![Vec::new(); self.batches];
        for release in &self.releases {
            if let Some(batch) = batches.get_mut(release.batch) {
                batch.push(release);
            }
        }
        batches
    }
}

/// A release in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphRelease {
    /// The release.
    pub key: ReleaseKey,
    /// The batch, from 0.
    pub batch: usize,
    /// Lower goes first.
    pub priority: i64,
    /// The group that it is in.
    pub group: Option<String>,
}

/// A release that waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNeed {
    /// The release that waits.
    pub dependant: ReleaseKey,
    /// The release that is waited for.
    pub needed: ReleaseKey,
    /// What is waited for.
    pub when: NeedWhen,
    /// Where the file says so.
    pub origin: Location,
    /// Whether the needed release is a part of the graph; others are there already, or the selection leaves them out.
    pub inside: bool,
}

/// Returns the graph of those releases of `state` that it wants and that are among `chosen`.
///
/// # Errors
/// Returns the circle that needs and priorities make together, if they do.
pub fn release_graph(state: &DesiredState, chosen: &BTreeSet<ReleaseKey>) -> Result<ReleaseGraph, Cycle> {
    let wanted: BTreeMap<&ReleaseKey, &Release> = state
        .releases
        .iter()
        .filter(|release| release.enabled && chosen.contains(&release.key))
        .map(|release| (&release.key, release))
        .collect();
    let nodes: Vec<Node> = wanted
        .values()
        .map(|release| Node {
            key: release.key.clone(),
            priority: release.priority,
            needs: release.needs.iter().map(|need| need.release.clone()).collect(),
        })
        .collect();
    let layers = batches(&nodes)?;
    let releases = layers.iter().enumerate().flat_map(|(batch, layer)| {
        layer.iter().filter_map(|key| wanted.get(key)).map(move |release| GraphRelease {
            key: release.key.clone(),
            batch,
            priority: release.priority,
            group: release.group.clone(),
        })
    });
    let needs = wanted.values().flat_map(|release| {
        release.needs.iter().map(|need| GraphNeed {
            dependant: release.key.clone(),
            needed: need.release.clone(),
            when: need.when,
            origin: need.origin.clone(),
            inside: wanted.contains_key(&need.release),
        })
    });
    Ok(ReleaseGraph { releases: releases.collect(), needs: needs.collect(), batches: layers.len() })
}
