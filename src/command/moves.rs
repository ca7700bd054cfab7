//! Releases that got another name: what the cluster still holds under the old one.

use std::collections::BTreeSet;

use super::cluster::Cluster;
use super::observer::{Kept, recorded_objects, remnants};
use crate::dsf::state::{DesiredState, Moved};
use crate::history::Status;
use crate::model::ReleaseKey;
use crate::observe::{self, Histories};
use crate::plan::{MovedFrom, Reason, Wanted};

/// The moves that this run is about: those whose new name is selected and wanted.
pub(super) fn of_run(state: &DesiredState, selected: &BTreeSet<ReleaseKey>) -> Vec<Moved> {
    let wanted = |key: &ReleaseKey| {
        selected.contains(key) && state.release(key).is_some_and(|release| release.enabled)
    };
    state.moved.iter().filter(|moved| wanted(&moved.to)).cloned().collect()
}

/// Reads the records of namespaces that only old names are in.
pub(super) async fn read_histories(cluster: &Cluster, moves: &[Moved], histories: &mut Histories) {
    let names: BTreeSet<String> = moves.iter().map(|moved| moved.from.namespace.clone()).collect();
    let unread = names.into_iter().filter(|name| !histories.has(name)).collect::<Vec<_>>();
    if !unread.is_empty() {
        histories.extend(observe::histories(&cluster.reader, unread).await);
    }
}

/// Fills in what is left of the old name of each release that moves: a move that was carried out leaves nothing.
pub(super) async fn look(
    cluster: &Cluster,
    moves: &[Moved],
    wanted: &mut [Wanted],
    histories: &mut Histories,
) {
    for moved in moves {
        let Some(wanted) = wanted.iter_mut().find(|wanted| wanted.release.key == moved.to) else { continue };
        let key = moved.from.clone();
        let history = match histories.take(&key) {
            Ok(history) => history,
            Err(message) => {
                let what = format!("the records of namespace {}", key.namespace);
                let reason = Reason::Unreadable { what, message };
                wanted.moved_from = Some(MovedFrom { key, history: Err(reason), remnants: Ok(Vec::new()) });
                continue;
            }
        };
        let status = history.latest().map(|latest| &latest.release.info.status);
        let is_there = status.is_some_and(|status| *status != Status::Uninstalled);
        // A record that cannot be decoded may well be the newest one.
        if !is_there && history.undecodable().is_empty() {
            continue;
        }
        let kept = match &wanted.content {
            // The same text means other objects in another namespace.
            Some(Ok(content)) => Kept { objects: &content.objects, manifest: None },
            _ => Kept::default(),
        };
        let recorded = recorded_objects(cluster, &key, &history, &kept);
        let found = remnants(cluster, vec![recorded]).await.pop().unwrap_or(Ok(Vec::new()));
        wanted.moved_from = Some(MovedFrom { key, history: Ok(history), remnants: found });
    }
}
