//! What the cluster, or a stand-in for it, can do: `.Capabilities`.
//!
//! Plain data; whoever talks to a server fills it in. Source: Helm `pkg/chart/common/capabilities.go`.

/// What templates see as `.Capabilities`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// The served `group/version`s and, from a live server, `group/version/Kind`s.
    pub api_versions: Vec<String>,
    /// The version of Helm whose behaviour this is.
    pub helm_version: HelmVersion,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// The full text, such as `v1.33.4-gke.1245000`.
    pub version: String,
    /// The version without what vendors append; empty where the full text counts.
    pub normalized: String,
    /// The first number.
    pub major: String,
    /// The second number; some vendors write `33+`.
    pub minor: String,
}

/// What templates see as `.Capabilities.HelmVersion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmVersion {
    /// The version, such as `v4.3.1`.
    pub version: String,
    /// The commit Helm was built from.
    pub git_commit: String,
    /// Whether the build was from a clean tree.
    pub git_tree_state: String,
    /// The version of Go it was built with.
    pub go_version: String,
    /// The version of Kubernetes it was built for.
    pub kube_client_version: String,
}

/// A text that is not a version of Kubernetes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeVersionError {
    /// It does not begin with a number.
    #[error("could not parse {0:?} as version")]
    NotAVersion(String),
    /// It is only one number.
    #[error("illegal version string {0:?}")]
    TooShort(String),
    /// The first number has a leading zero.
    #[error("illegal zero-prefixed version component {component:?} in {text:?}")]
    LeadingZero {
        /// The number.
        component: String,
        /// The whole text.
        text: String,
    },
    /// A number is too large.
    #[error("illegal non-numeric version component {component:?} in {text:?}")]
    TooLarge {
        /// The number.
        component: String,
        /// The whole text.
        text: String,
    },
}

impl Capabilities {
    /// Returns what Helm assumes without a cluster.
    ///
    /// Source: `helm template` of Helm 4.3.1, the API versions in the order in which it lists them.
    pub fn offline() -> Self {
        Self {
            kube_version: KubeVersion::exact("1", "37", "v1.37.0"),
            api_versions: OFFLINE_API_VERSIONS.iter().map(|&version| version.to_owned()).collect(),
            helm_version: HelmVersion::default(),
        }
    }
}

impl KubeVersion {
    /// Reads the text of `--kube-version`.
    ///
    /// # Errors
    /// Fails on a text that does not begin with two numbers joined by a dot.
    pub fn parse(text: &str) -> Result<Self, KubeVersionError> {
        let start = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0C']);
        let start = start.strip_prefix('v').unwrap_or(start);
        let length = start.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        // Dots only count between numbers.
        let numbers = start[..length].trim_end_matches('.');
        let numbers = numbers.split_once("..").map_or(numbers, |(numbers, _)| numbers);
        if !numbers.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(KubeVersionError::NotAVersion(text.to_owned()));
        }
        let components: Vec<&str> = numbers.split('.').collect();
        let [major, minor, ..] = components.as_slice() else {
            return Err(KubeVersionError::TooShort(text.to_owned()));
        };
        if major.len() > 1 && major.starts_with('0') {
            return Err(KubeVersionError::LeadingZero {
                component: (*major).to_owned(),
                text: text.to_owned(),
            });
        }
        let mut parsed = Vec::new();
        for component in &components {
            let number: u64 = component.parse().map_err(|_| KubeVersionError::TooLarge {
                component: (*component).to_owned(),
                text: text.to_owned(),
            })?;
            parsed.push(number.to_string());
        }
        let version = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
        let without_zeros =
            |number: &str| number.parse().map_or_else(|_| number.to_owned(), |n: u64| n.to_string());
        Ok(Self {
            version,
            normalized: format!("v{}", parsed.join(".")),
            major: without_zeros(major),
            minor: without_zeros(minor),
        })
    }

    /// Returns the version that a server states of itself. What vendors append counts, as a pre-release.
    pub fn live(git_version: &str, major: &str, minor: &str) -> Self {
        Self {
            version: git_version.to_owned(),
            normalized: String::new(),
            major: major.to_owned(),
            minor: minor.to_owned(),
        }
    }

    fn exact(major: &str, minor: &str, version: &str) -> Self {
        Self { normalized: version.to_owned(), ..Self::live(version, major, minor) }
    }

    /// Returns the version that a chart's `kubeVersion` is compared with.
    pub fn for_constraints(&self) -> &str {
        if self.normalized.is_empty() { &self.version } else { &self.normalized }
    }
}

impl Default for HelmVersion {
    fn default() -> Self {
        Self {
            version: "v4.3.1".to_owned(),
            git_commit: "c0d08d0d6d9424d4a14febb5e8a3e51b0dd00dff".to_owned(),
            git_tree_state: "clean".to_owned(),
            go_version: "go1.27.2".to_owned(),
            kube_client_version: "v1.37".to_owned(),
        }
    }
}

const OFFLINE_API_VERSIONS: [&str; 57] = [
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "lifecycle.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_version_is_kept_whole_and_compared_without_its_suffix() {
        let check = |text: &str, version: &str, normalized: &str, major: &str, minor: &str| {
            let parsed = KubeVersion::parse(text).unwrap();
            let got = (
                parsed.version.as_str(),
                parsed.for_constraints(),
                parsed.major.as_str(),
                parsed.minor.as_str(),
            );
            assert_eq!(got, (version, normalized, major, minor), "{text}");
        };
        check("v1.33.4", "v1.33.4", "v1.33.4", "1", "33");
        check("1.33", "v1.33", "v1.33", "1", "33");
        check("v1.33.4-gke.1245000", "v1.33.4-gke.1245000", "v1.33.4", "1", "33");
        check("1.2.3.4", "v1.2.3.4", "v1.2.3.4", "1", "2");
        check("1.02", "v1.02", "v1.2", "1", "2");
    }

    #[test]
    fn texts_without_two_numbers_are_refused() {
        let check = |text: &str, expected: &str| {
            assert_eq!(KubeVersion::parse(text).unwrap_err().to_string(), expected);
        };
        check("abc", "could not parse \"abc\" as version");
        check("", "could not parse \"\" as version");
        check("v1", "illegal version string \"v1\"");
        check("01.2", "illegal zero-prefixed version component \"01\" in \"01.2\"");
    }

    #[test]
    fn a_live_version_counts_with_its_suffix() {
        let live = KubeVersion::live("v1.33.4-gke.1", "1", "33+");
        assert_eq!(live.for_constraints(), "v1.33.4-gke.1");
    }
}
