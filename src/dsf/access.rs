//! Who is asked, and with which credentials, as far as files say it.

use std::path::PathBuf;

/// A cluster as the file itself describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The URL of the API server, without a `/` at its end.
    pub server: String,
    /// The file with the certificate of its authority.
    pub authority: PathBuf,
    /// Who asks.
    pub credential: ClusterCredential,
}

/// Who asks a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCredential {
    /// The bearer of the token in this file.
    Token(PathBuf),
    /// The holder of a certificate and its key.
    Certificate {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
    },
}
