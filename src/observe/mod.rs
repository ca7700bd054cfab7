//! Looks at the cluster: records, live objects, and what the server says to a dry run. Reads only.
//!
//! What could not be read is never taken for absent: every function here fails, or says so in its result.

mod ask;
mod hook_objects;
mod locks;
mod losses;
mod namespaces;
mod objects;
mod quotas;
mod records;
mod remedies;
mod rights;
mod run_history;
mod settle;

pub use hook_objects::{HookTarget, hook_objects};
pub use locks::{lock, locks};
pub use namespaces::{NamespaceMarks, limit_range_spec, namespaces};
pub use objects::{Recorded, Target, Unread, objects, remnants};
pub use quotas::quotas;
pub use records::{Histories, context_releases, histories, releases};
pub use remedies::look_around;
pub use rights::{Missing, missing};
pub use run_history::stored_runs;
pub use settle::Scalers;

use crate::cluster::{ApiError, Connection, Discovery, Resource};
use crate::model::ClusterIdentity;

/// Namespaces, lists and dry runs looked at side by side; the client bounds what is under way at once.
const SIDE_BY_SIDE: usize = 32;

/// What the server is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Objects that may change: those whose live state does not prove that they are as desired.
    #[default]
    Unproven,
    /// Every object. Finds also what has nothing to do with the file: a policy that would refuse the object today, a
    /// webhook that would change it, a deprecated version.
    All,
}

/// Returns what names the cluster. Its uid is that of kube-system, which not every user may read.
pub async fn identity(connection: &Connection, discovery: &Discovery) -> Result<ClusterIdentity, ApiError> {
    let uid = match connection.reader.get(&Resource::namespaces(), None, "kube-system").await {
        Ok(namespace) => namespace.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)),
        Err(error) if error.is_status(403) => None,
        Err(error) => return Err(error),
    };
    Ok(ClusterIdentity {
        server: connection.server.clone(),
        context: connection.context.clone(),
        uid,
        version: discovery.git_version().to_owned(),
    })
}
