//! The cluster of a run, once it has answered.

use crate::cluster::{Discovery, Reader};
use crate::model::ClusterIdentity;

/// A cluster that answers.
pub(super) struct Cluster {
    pub(super) reader: Reader,
    pub(super) discovery: Discovery,
    pub(super) identity: ClusterIdentity,
}
