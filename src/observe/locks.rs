//! Locks, as whoever does not want them sees them.

use crate::cluster::{ApiError, ListOptions, Reader, Resource};
use crate::lock::{self, Kind, Name, Sight};

/// Returns what a lock says; nothing if there is none.
pub async fn lock(reader: &Reader, kind: Kind, name: &Name) -> Result<Option<Sight>, ApiError> {
    let found = reader.get(&resource(kind), Some(&name.namespace), &name.object).await?;
    Ok(found.map(|object| lock::read(kind, &object)))
}

/// Returns the locks of a namespace, by the names of their objects.
pub async fn locks(reader: &Reader, kind: Kind, namespace: &str) -> Result<Vec<(String, Sight)>, ApiError> {
    let options = ListOptions { labels: lock::LOCK_LABEL.to_owned(), ..ListOptions::default() };
    let found = reader.list(&resource(kind), Some(namespace), &options).await?;
    let name =
        |object: &serde_json::Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(found.iter().map(|object| (name(object), lock::read(kind, object))).collect())
}

fn resource(kind: Kind) -> Resource {
    match kind {
        Kind::Lease => Resource::leases(),
        Kind::Secret => Resource::secrets(),
    }
}
