//! Which kinds the server knows, from its aggregated discovery.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api::ApiError;
use crate::model::GroupVersionKind;

/// A kind as the server serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind.
    pub gvk: GroupVersionKind,
    /// The name in paths, such as `deployments`.
    pub plural: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// What can be done: `get`, `list`, `patch`, …
    pub verbs: Vec<String>,
    /// Whether a controller writes a status by a way of its own, the subresource `status`.
    pub has_status: bool,
}

impl Resource {
    /// Returns the path of an object, or of the collection when `name` is not given.
    pub(super) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let base = if self.gvk.group.is_empty() {
            format!("/api/{}", self.gvk.version)
        } else {
            format!("/apis/{}/{}", self.gvk.group, self.gvk.version)
        };
        let scope = match namespace {
            Some(namespace) if self.namespaced => format!("/namespaces/{}", escape(namespace)),
            _ => String::new(),
        };
        let name = name.map(|name| format!("/{}", escape(name))).unwrap_or_default();
        format!("{base}{scope}/{}{name}", self.plural)
    }

    /// Tells whether changes can be watched. Where discovery was not asked, they can.
    pub(super) fn is_watchable(&self) -> bool {
        let can = |wanted: &str| self.verbs.iter().any(|verb| verb == wanted);
        self.verbs.is_empty() || (can("list") && can("watch"))
    }

    fn builtin(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Resource {
            gvk: GroupVersionKind::new(api_version, kind),
            plural: plural.to_owned(),
            namespaced,
            verbs: Vec::new(),
            has_status: false,
        }
    }

    /// Secrets: where release records are, known without discovery.
    pub fn secrets() -> Self {
        Self::builtin("v1", "Secret", "secrets", true)
    }

    /// Leases: locks, known without discovery.
    pub fn leases() -> Self {
        Self::builtin("coordination.k8s.io/v1", "Lease", "leases", true)
    }

    /// Namespaces, known without discovery.
    pub fn namespaces() -> Self {
        Self::builtin("v1", "Namespace", "namespaces", false)
    }

    /// ConfigMaps: where records are with Helm's `configmap` driver.
    pub fn config_maps() -> Self {
        Self::builtin("v1", "ConfigMap", "configmaps", true)
    }

    /// Pods, known without discovery.
    pub fn pods() -> Self {
        Self::builtin("v1", "Pod", "pods", true)
    }

    /// Limits of namespaces, known without discovery.
    pub fn limit_ranges() -> Self {
        Self::builtin("v1", "LimitRange", "limitranges", true)
    }

    /// Quotas, known without discovery.
    pub fn quotas() -> Self {
        Self::builtin("v1", "ResourceQuota", "resourcequotas", true)
    }

    /// Volume claims, known without discovery.
    pub fn claims() -> Self {
        Self::builtin("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true)
    }
}

/// Percent-escapes one path element or query value.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
    escaped
}

/// All kinds of a server.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    resources: BTreeMap<GroupVersionKind, Resource>,
    /// Every served group and version, in the server's order.
    group_versions: Vec<String>,
    /// Versions whose server does not answer at present: their kinds are not known, which is not the same
    /// as not existing.
    stale: Vec<String>,
    /// `group/version/Kind` of every resource and subresource, as Helm lists them.
    kinds: Vec<String>,
    version: Value,
}

impl Discovery {
    /// Reads the answers of `/api`, `/apis` (aggregated form) and `/version`.
    pub(super) fn read(core: &Value, groups: &Value, version: Value) -> Self {
        let mut discovery = Discovery { version, ..Discovery::default() };
        for list in [core, groups] {
            for group in members(&list["items"]) {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                for version in members(&group["versions"]) {
                    discovery.add_version(name, version);
                }
            }
        }
        discovery
    }

    fn add_version(&mut self, group: &str, version: &Value) {
        let Some(version_name) = version["version"].as_str() else { return };
        let api_version =
            if group.is_empty() { version_name.to_owned() } else { format!("{group}/{version_name}") };
        if version["freshness"].as_str() == Some("Stale") {
            self.stale.push(api_version);
            return;
        }
        self.group_versions.push(api_version.clone());
        for resource in members(&version["resources"]) {
            self.add_resource(&api_version, resource);
        }
    }

    fn add_resource(&mut self, api_version: &str, resource: &Value) {
        for subresource in members(&resource["subresources"]) {
            self.add_kind(api_version, &subresource["responseKind"]);
        }
        self.add_kind(api_version, &resource["responseKind"]);
        let (Some(kind), Some(plural)) =
            (resource["responseKind"]["kind"].as_str(), resource["resource"].as_str())
        else {
            return;
        };
        let gvk = GroupVersionKind::new(api_version, kind);
        let verbs = members(&resource["verbs"]).iter().filter_map(|verb| verb.as_str().map(str::to_owned));
        let resource = Resource {
            gvk: gvk.clone(),
            plural: plural.to_owned(),
            namespaced: resource["scope"].as_str() == Some("Namespaced"),
            verbs: verbs.collect(),
            has_status: members(&resource["subresources"])
                .iter()
                .any(|subresource| subresource["subresource"] == "status"),
        };
        self.resources.entry(gvk).or_insert(resource);
    }

    fn add_kind(&mut self, api_version: &str, response_kind: &Value) {
        if let Some(kind) = response_kind["kind"].as_str() {
            let entry = format!("{api_version}/{kind}");
            if !self.kinds.contains(&entry) {
                self.kinds.push(entry);
            }
        }
    }

    /// Returns the kind as the server serves it.
    ///
    /// # Errors
    /// Tells an unknown kind from one whose API does not answer: only the first means that it is not there.
    pub fn resource(&self, gvk: &GroupVersionKind) -> Result<&Resource, ApiError> {
        if let Some(resource) = self.resources.get(gvk) {
            return Ok(resource);
        }
        let api_version = gvk.api_version();
        if self.stale.contains(&api_version) {
            return Err(ApiError::StaleGroup { group_version: api_version });
        }
        Err(ApiError::UnknownKind { kind: gvk.to_string() })
    }

    /// Returns the kind as the server serves it, in another version of its group if not in this one: a version is only a
    /// view on a stored object, and old records name versions that are gone.
    ///
    /// # Errors
    /// As [`Discovery::resource`]; while a version of the group does not answer, nothing of the group is unknown.
    pub fn in_any_version(&self, gvk: &GroupVersionKind) -> Result<&Resource, ApiError> {
        let error = match self.resource(gvk) {
            Err(error @ ApiError::UnknownKind { .. }) => error,
            found => return found,
        };
        if let Some(other) = self.by_kind(&gvk.kind, Some(&gvk.group)) {
            return Ok(other);
        }
        let silent =
            self.stale.iter().find(|version| crate::model::split_api_version(version).0 == gvk.group);
        Err(silent.map_or(error, |version| ApiError::StaleGroup { group_version: version.clone() }))
    }

    /// Returns a kind by its name, in any group or in this one; of several versions the first that the server prefers
    /// to list.
    pub fn by_kind(&self, kind: &str, group: Option<&str>) -> Option<&Resource> {
        let fits = |gvk: &GroupVersionKind| gvk.kind == kind && group.is_none_or(|group| gvk.group == group);
        self.resources.iter().find(|(gvk, _)| fits(gvk)).map(|(_, resource)| resource)
    }

    /// Returns the versions of APIs whose server does not answer at present.
    pub fn stale(&self) -> &[String] {
        &self.stale
    }

    /// Returns the kinds whose objects live in namespaces and can be listed, each in one version.
    pub fn listable_in_namespaces(&self) -> impl Iterator<Item = &Resource> {
        let listable =
            |resource: &&Resource| resource.namespaced && resource.verbs.iter().any(|verb| verb == "list");
        let mut seen = std::collections::BTreeSet::new();
        self.resources
            .values()
            .filter(listable)
            .filter(move |resource| seen.insert((&resource.gvk.group, &resource.gvk.kind)))
    }

    /// Returns every group version and every `group/version/Kind`, sorted: what `.Capabilities.APIVersions`
    /// holds on a live server (Helm `pkg/action`, `GetVersionSet`).
    ///
    /// A version whose server does not answer is there all the same, unlike in Helm: a chart must not take it for
    /// removed, and leave out what depends on it. Its kinds are not known.
    pub fn api_versions(&self) -> Vec<String> {
        let versions = self.group_versions.iter().chain(&self.stale);
        let mut all: Vec<String> = versions.chain(&self.kinds).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// Returns the server's version, such as `v1.36.3`.
    pub fn git_version(&self) -> &str {
        self.version["gitVersion"].as_str().unwrap_or_default()
    }

    /// Returns the server's major and minor version as it spells them (`33+` on some providers).
    pub fn major_minor(&self) -> (&str, &str) {
        let text = |key: &str| self.version[key].as_str().unwrap_or_default();
        (text("major"), text("minor"))
    }
}

fn members(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Discovery {
        let core = json!({"items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [
            {"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": ["get"],
             "subresources": [{"subresource": "eviction", "responseKind": {"kind": "Eviction"}}]},
            {"resource": "namespaces", "responseKind": {"kind": "Namespace"}, "scope": "Cluster", "verbs": []}]}]}]});
        let groups = json!({"items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                {"resource": "deployments", "responseKind": {"kind": "Deployment"}, "scope": "Namespaced"}]}]},
            {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]}]});
        Discovery::read(&core, &groups, json!({"gitVersion": "v1.36.3", "major": "1", "minor": "36"}))
    }

    #[test]
    fn paths_follow_group_scope_and_name() {
        let discovery = sample();
        let path = |api_version, kind, namespace, name| {
            discovery.resource(&GroupVersionKind::new(api_version, kind)).unwrap().path(namespace, name)
        };
        assert_eq!(path("v1", "Pod", Some("a"), Some("b")), "/api/v1/namespaces/a/pods/b");
        assert_eq!(path("v1", "Namespace", Some("a"), Some("b")), "/api/v1/namespaces/b");
        assert_eq!(path("apps/v1", "Deployment", None, None), "/apis/apps/v1/deployments");
        assert_eq!(
            path("apps/v1", "Deployment", Some("a"), Some("system:x")),
            "/apis/apps/v1/namespaces/a/deployments/system%3Ax"
        );
    }

    #[test]
    fn a_silent_api_is_not_an_unknown_kind() {
        let discovery = sample();
        let error = |api_version| discovery.resource(&GroupVersionKind::new(api_version, "X")).unwrap_err();
        assert!(matches!(error("metrics.k8s.io/v1beta1"), ApiError::StaleGroup { .. }));
        assert!(matches!(error("nowhere.io/v1"), ApiError::UnknownKind { .. }));
    }

    #[test]
    fn an_object_of_a_version_that_is_gone_is_found_in_another() {
        let discovery = sample();
        let find = |api_version, kind| discovery.in_any_version(&GroupVersionKind::new(api_version, kind));
        assert_eq!(find("apps/v1beta1", "Deployment").unwrap().gvk.version, "v1");
        assert_eq!(find("apps/v1", "Deployment").unwrap().gvk.version, "v1");
        assert!(matches!(find("apps/v1beta1", "X"), Err(ApiError::UnknownKind { .. })));
        assert!(matches!(find("metrics.k8s.io/v1", "X"), Err(ApiError::StaleGroup { .. })));
    }

    #[test]
    fn capabilities_list_versions_kinds_and_subresource_kinds() {
        assert_eq!(
            sample().api_versions(),
            [
                "apps/v1",
                "apps/v1/Deployment",
                "metrics.k8s.io/v1beta1",
                "v1",
                "v1/Eviction",
                "v1/Namespace",
                "v1/Pod"
            ]
        );
    }
}
