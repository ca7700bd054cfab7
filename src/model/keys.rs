//! Identities of releases and objects.

use std::fmt;
use std::str::FromStr;

/// A release: its namespace and its name. Written `NAMESPACE/NAME` everywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseKey {
    /// The namespace that holds the release's records.
    pub namespace: String,
    /// The release's name.
    pub name: String,
}

impl ReleaseKey {
    /// Returns the key of the release `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ReleaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ReleaseKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::new(namespace, name))
            }
            _ => Err(format!("`{text}` is not of the form NAMESPACE/NAME")),
        }
    }
}

/// A kind of object in one version of its API group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Returns the kind named by an object's `apiVersion` and `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = split_api_version(api_version);
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Returns the `apiVersion` as a manifest spells it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Tells whether the kind is one of Kubernetes itself. Groups of custom kinds have a dot, and some end in `k8s.io` too.
    pub fn is_built_in(&self) -> bool {
        !self.group.contains('.') || BUILT_IN_GROUPS.contains(&self.group.as_str())
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(f, "{}/{}", self.version, self.kind)
        } else {
            write!(f, "{}/{}/{}", self.group, self.version, self.kind)
        }
    }
}

/// The groups with a dot that Kubernetes 1.37 or an earlier version serves itself (`staging/src/k8s.io/api`).
const BUILT_IN_GROUPS: [&str; 19] = [
    "admission.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Splits an `apiVersion` into group and version; the core group is empty.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// An object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// What it is.
    pub gvk: GroupVersionKind,
    /// Where it is; nothing for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    /// Tells whether both keys mean the same stored object: the version of the API is only a view on it.
    pub fn same_object(&self, other: &Self) -> bool {
        self.gvk.group == other.gvk.group
            && self.gvk.kind == other.gvk.kind
            && self.namespace == other.namespace
            && self.name == other.name
    }

    /// Returns `Kind/name`, the form that a desired-state file uses for objects of a release.
    pub fn short(&self) -> String {
        format!("{}/{}", self.gvk.kind, self.name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.gvk.kind, self.name),
            None => write!(f, "{} {}", self.gvk.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_in_a_name_never_makes_two_releases_one() {
        assert_ne!(ReleaseKey::new("a-b", "c"), ReleaseKey::new("a", "b-c"));
    }

    #[test]
    fn a_release_is_read_back_from_what_is_printed() {
        let key = ReleaseKey::new("shop", "web");
        assert_eq!(key.to_string().parse(), Ok(key));
        for bad in ["web", "/web", "shop/", "a/b/c", ""] {
            assert!(bad.parse::<ReleaseKey>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_api_version_is_split_and_joined() {
        for api_version in ["v1", "apps/v1"] {
            assert_eq!(GroupVersionKind::new(api_version, "X").api_version(), api_version);
        }
    }
}
