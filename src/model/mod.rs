//! The nouns that every other module speaks in.
//!
//! Plain data without behaviour beyond comparison and display. Identities are types, so that a release
//! cannot be passed where an object is expected, and two names joined by a dash can never collide.

mod cluster;
mod keys;
mod pattern;
mod run;
mod selector;

pub use cluster::ClusterIdentity;
pub use keys::{GroupVersionKind, ObjectKey, ReleaseKey, split_api_version};
pub use pattern::{FieldPattern, PatternError, PatternStep, glob};
pub use run::{RUN_CONTEXT_LABEL, RUN_KEY, RUN_LABEL, StoredRun, run_object};
pub use selector::Selector;

/// The field manager under which objects are applied. It is Helm's own, so that a later `helm upgrade`
/// shares the ownership instead of meeting a conflict.
pub const FIELD_MANAGER: &str = "helm";

/// The field manager under which namespaces of a desired-state file get their labels.
pub const NAMESPACE_MANAGER: &str = "statectl";

/// The label that Helm puts on every object of a release.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY_HELM: &str = "Helm";
/// The annotation that names the release of an object.
pub const RELEASE_NAME_ANNOTATION: &str = "meta.helm.sh/release-name";
/// The annotation that names the release's namespace.
pub const RELEASE_NAMESPACE_ANNOTATION: &str = "meta.helm.sh/release-namespace";
/// The annotation whose value `keep` protects an object from being pruned or uninstalled.
pub const RESOURCE_POLICY_ANNOTATION: &str = "helm.sh/resource-policy";
/// The owner of releases when a desired-state file names no `context`, as in Helmsman.
pub const DEFAULT_CONTEXT: &str = "default";
