//! What the integration tests share: the binary, the cluster, real Helm.

pub(crate) mod audit;
pub(crate) mod cluster;
pub(crate) mod helmsman;
pub(crate) mod points;
pub(crate) mod proxy;
pub(crate) mod scan;
pub(crate) mod scene;
pub(crate) mod signal;
pub(crate) mod statectl;
pub(crate) mod stored;
pub(crate) mod tls;
pub(crate) mod web;
pub(crate) mod webhook;

use std::path::PathBuf;

/// Returns a path inside the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Writes a line that is seen also when the test passes: what a test prints is shown only when it fails.
pub(crate) fn say(text: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{text}").expect("stderr is open");
}
