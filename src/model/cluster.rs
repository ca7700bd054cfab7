//! Which cluster is meant.

use std::fmt;

use serde::Serialize;

/// The cluster that a run works on; every plan, question and report names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterIdentity {
    /// The server's address.
    pub server: String,
    /// The kubeconfig context; nothing inside a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The uid of the namespace kube-system; nothing where it may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The server's version, such as `v1.36.3`.
    pub version: String,
}

impl fmt::Display for ClusterIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.context {
            Some(context) => write!(f, "{context} ({})", self.server),
            None => write!(f, "{}", self.server),
        }
    }
}
