//! Charts from where they are kept: folders and archives here, repositories, registries, addresses.
//!
//! The only module that reads chart files. What the bytes mean is decided in [`crate::chart`].

pub mod dir;
pub mod docker;
pub mod git;
pub mod http;
pub mod index;
pub mod oci;
mod program;
pub mod provenance;
pub mod remote;
pub mod store;
pub mod vault;

/// The largest archive that is fetched: Helm reads no chart that is larger when it is unpacked.
const ARCHIVE_LIMIT: usize = 100 << 20;
