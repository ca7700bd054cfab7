//! What is looked at besides where an operation did not come to its end.

use std::collections::BTreeMap;

use super::Session;
use super::cluster::Cluster;
use super::locking;
use crate::dsf::state::DesiredState;
use crate::history::{self, History, Record, Status};
use crate::lock::{Kind, Name};
use crate::observe;
use crate::plan::recover::Settings;
use crate::plan::{RecoveryInput, SeenLock, Stray, Wanted};

/// Tells whether the newest record says that an operation is under way.
pub(super) fn is_under_way(history: &History) -> bool {
    history.latest().is_some_and(|latest| {
        let status = &latest.release.info.status;
        status.is_pending() || *status == Status::Uninstalling
    })
}

/// Looks at the locks of releases whose newest record says that an operation is under way: for others nothing is asked.
pub(super) async fn look(
    session: &Session,
    cluster: &Cluster,
    state: &DesiredState,
    wanted: &[Wanted],
    strays: &[Stray],
) -> RecoveryInput {
    let histories = wanted.iter().filter_map(|wanted| wanted.history.as_ref().ok());
    let histories: Vec<&History> = histories.chain(strays.iter().map(|stray| &stray.history)).collect();
    let mut locks = BTreeMap::new();
    let kind = locking::kind(state.settings.lock);
    if let Some(kind) = kind {
        for history in histories.iter().filter(|history| is_under_way(history)) {
            let name = Name::release(&history.key.namespace, &history.key.name);
            locks.insert(history.key.clone(), seen(cluster, kind, &name).await);
        }
        let other = histories.iter().filter(|history| {
            history.latest().and_then(Record::lock_kind).is_some_and(|recorded| recorded != kind)
        });
        let place = history::lock_place(histories.iter().copied(), &state.context);
        for history in other {
            if let Some(lock) = other_kind(cluster, state, history, kind, place.as_deref()).await {
                locks.insert(history.key.clone(), lock);
            }
        }
    }
    RecoveryInput {
        lock: kind,
        settings: Settings {
            recover: state.settings.recover,
            foreign_pending_after: state.settings.foreign_pending_after,
            on_interrupted: state.settings.on_interrupted,
            retry: session.retry,
            fence_taken_over: state.settings.fence_taken_over,
        },
        server_now: cluster.reader.server_time(),
        locks,
    }
}

/// Looks whether somebody holds a lock of the kind under which the newest record was written: a Lease and a Secret do not
/// exclude each other. The label of the record costs nothing; the look is only taken where it says another kind than ours.
async fn other_kind(
    cluster: &Cluster,
    state: &DesiredState,
    history: &History,
    ours: Kind,
    place: Option<&str>,
) -> Option<SeenLock> {
    let key = &history.key;
    let place = place.or_else(|| locking::namespace(state)).unwrap_or(&key.namespace);
    let kind = ours.other();
    for name in [Name::release(&key.namespace, &key.name), Name::context(place, &state.context)] {
        // Whoever may not read it has nothing of that kind to go by.
        let Ok(Some(sight)) = observe::lock(&cluster.reader, kind, &name).await else { continue };
        if !sight.holder.is_empty() {
            let holder = format!(
                "{}, by the {} {name}; this run locks with a {}",
                sight.who(),
                kind.name(),
                ours.name()
            );
            return Some(SeenLock { holder: Some(holder), is_other_kind: true, ..SeenLock::default() });
        }
    }
    None
}

async fn seen(cluster: &Cluster, kind: crate::lock::Kind, name: &Name) -> SeenLock {
    match observe::lock(&cluster.reader, kind, name).await {
        Ok(sight) => {
            let holder = sight.filter(|sight| !sight.holder.is_empty()).map(|sight| sight.who());
            SeenLock { holder, ..SeenLock::default() }
        }
        Err(error) => SeenLock { unreadable: Some(error.to_string()), ..SeenLock::default() },
    }
}
