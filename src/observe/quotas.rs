//! The quotas of namespaces, read where something comes.

use std::collections::BTreeSet;

use futures::StreamExt as _;

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, ListOptions, Reader, Resource};
use crate::plan::Quota;

/// Returns the quotas of these namespaces, and a note for each that cannot be read: it decides nothing, but what does not
/// fit together is not said.
pub async fn quotas(reader: &Reader, namespaces: BTreeSet<String>) -> (Vec<Quota>, Vec<String>) {
    let reads = namespaces.into_iter().map(|namespace| async move {
        let found = of(reader, &namespace).await;
        found.map_err(|error| {
            format!(
                "the quotas of namespace {namespace} cannot be read ({error}): whether all that comes fits together is \
                 known only when it is applied"
            )
        })
    });
    let reads: Vec<_> = futures::stream::iter(reads).buffered(SIDE_BY_SIDE).collect().await;
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for read in reads {
        match read {
            Ok(quotas) => all.extend(quotas),
            Err(note) => notes.push(note),
        }
    }
    (all, notes)
}

/// Returns the quotas of a namespace, by name.
pub(super) async fn of(reader: &Reader, namespace: &str) -> Result<Vec<Quota>, ApiError> {
    let listed = reader.list(&Resource::quotas(), Some(namespace), &ListOptions::default()).await?;
    Ok(listed.iter().map(Quota::read).collect())
}
