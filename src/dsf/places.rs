//! Where charts come from, as the desired state names it.

use super::git::GitChart;
use crate::text::Location;
use std::fmt;
use std::path::PathBuf;

/// A chart repository.
#[derive(Clone, PartialEq)]
pub struct Repository {
    /// The base URL, which may hold a user name and a password; empty for one that Helm's own configuration declares.
    pub url: String,
    /// Certificates of the authorities that are trusted besides those of the machine.
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Where the user name comes from, `ref+…`.
    pub username_from: Option<String>,
    /// Where the password comes from, `ref+…`.
    pub password_from: Option<String>,
    /// Where it is declared.
    pub origin: Location,
}

impl Repository {
    /// Returns a repository that Helm's own configuration declares.
    pub(super) fn known_to_helm(origin: Location) -> Self {
        Self {
            url: String::new(),
            ca_file: None,
            identity: None,
            username_from: None,
            password_from: None,
            origin,
        }
    }
}

impl fmt::Debug for Repository {
    /// Leaves the URL out: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Which chart, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Where the chart is.
    pub source: ChartSource,
    /// Which version.
    pub version: ChartVersion,
}

/// Where a chart is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChartSource {
    /// A folder or archive on this machine.
    Local(PathBuf),
    /// A chart of a declared repository.
    Repository {
        /// The name of the repository.
        repository: String,
        /// The name of the chart in it.
        chart: String,
    },
    /// A chart in an OCI registry, `oci://…`.
    Oci(String),
    /// An archive behind an `http` or `https` URL.
    Url(String),
    /// A folder of a git repository.
    Git(GitChart),
}

/// Which version of a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChartVersion {
    /// The version that is found; only for charts on this machine.
    Any,
    /// The newest version.
    Latest,
    /// An exact version or a constraint.
    Matching(String),
}

/// Who has to have made a chart. What is not given is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// Exported keys: one of them has to have signed the provenance file.
    pub keyring: Option<PathBuf>,
    /// Whom cosign has to accept.
    pub cosign: Option<Cosign>,
}

/// What cosign compares a signature with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cosign {
    /// A public key.
    Key(PathBuf),
    /// A certificate of an identity, given out by an issuer.
    Identity {
        /// Whose.
        identity: String,
        /// By whom.
        issuer: String,
    },
}
