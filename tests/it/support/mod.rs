//! What the integration tests share: the binary, the cluster, real Helm.

pub(crate) mod cluster;
pub(crate) mod scene;
pub(crate) mod statectl;
pub(crate) mod stored;

use std::path::PathBuf;

/// Returns a path inside the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}
