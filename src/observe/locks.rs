//! Locks, as whoever does not want them sees them.

use crate::cluster::{ApiError, Reader, Resource};
use crate::lock::{self, Kind, Name, Sight};

/// Returns what a lock says; nothing if there is none.
pub async fn lock(reader: &Reader, kind: Kind, name: &Name) -> Result<Option<Sight>, ApiError> {
    let found = reader.get(&resource(kind), Some(&name.namespace), &name.object).await?;
    Ok(found.map(|object| lock::read(kind, &object)))
}

fn resource(kind: Kind) -> Resource {
    match kind {
        Kind::Lease => Resource::leases(),
        Kind::Secret => Resource::secrets(),
    }
}
