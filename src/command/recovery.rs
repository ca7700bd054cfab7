//! What is looked at besides where an operation did not come to its end.

use std::collections::BTreeMap;

use super::Session;
use super::cluster::Cluster;
use super::locking;
use crate::dsf::state::DesiredState;
use crate::history::{History, Status};
use crate::lock::Name;
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
    let histories = histories.chain(strays.iter().map(|stray| &stray.history));
    let mut locks = BTreeMap::new();
    if let Some(kind) = locking::kind(state.settings.lock) {
        for history in histories.filter(|history| is_under_way(history)) {
            let name = Name::release(&history.key.namespace, &history.key.name);
            locks.insert(history.key.clone(), seen(cluster, kind, &name).await);
        }
    }
    RecoveryInput {
        settings: Settings {
            recover: state.settings.recover,
            foreign_pending_after: state.settings.foreign_pending_after,
            on_interrupted: state.settings.on_interrupted,
            retry: session.retry,
        },
        server_now: cluster.reader.server_time(),
        locks,
    }
}

async fn seen(cluster: &Cluster, kind: crate::lock::Kind, name: &Name) -> SeenLock {
    match observe::lock(&cluster.reader, kind, name).await {
        Ok(sight) => {
            let holder = sight.filter(|sight| !sight.holder.is_empty()).map(|sight| sight.who());
            SeenLock { holder, unreadable: None }
        }
        Err(error) => SeenLock { holder: None, unreadable: Some(error.to_string()) },
    }
}
