//! What kind of writer a field manager is: a person, a controller, or something that deploys as we do.
//!
//! The names are those that tools give themselves, or that the server makes of their user agent: what stands
//! before the first `/`. Sources: kubectl's `FieldManager` constants, kluctl `pkg/diff/managed_fields.go`, the
//! manager constants of Argo CD, Flux, kapp, cli-utils, Pulumi and Terraform, and objects of real clusters.

use super::managed::Owner;
use super::path::{FieldPath, Step};
use crate::model::{FIELD_MANAGER, NAMESPACE_MANAGER, glob};

/// A kind of writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagerClass {
    /// Helm, or this tool.
    Ours,
    /// A person with a tool.
    Human,
    /// A controller of the cluster itself, whose writes nobody would call a change.
    System,
    /// Any other controller, and whatever is not known.
    Controller,
    /// Something that has a desired state of its own, and brings it back.
    Deployer,
}

/// People's tools. `before-first-apply` is what the server calls writers before ownership was tracked.
const HUMANS: [&str; 22] = [
    "kubectl*",
    "oc",
    "k9s*",
    "rancher",
    "agent",
    "lens*",
    "Lens*",
    "openlens*",
    "node-fetch",
    "headlamp*",
    "octant*",
    "dashboard*",
    "kubernetes-dashboard*",
    "Mozilla",
    "curl",
    "before-first-apply",
    "kubecolor",
    "freelens*",
    "aptakube*",
    "infra-app*",
    "monokle*",
    "vscode-kubernetes-tools*",
];

/// Controllers of a cluster, and injectors of certificates.
const SYSTEM: [&str; 13] = [
    "kube-controller-manager",
    "kube-scheduler",
    "kube-apiserver",
    "kubelet",
    "cloud-controller-manager",
    "*-cloud-controller-manager",
    "horizontal-pod-autoscaler",
    "vpa-*",
    "cluster-autoscaler",
    "cainjector",
    "cert-manager-cainjector",
    "kwok*",
    "apiserver",
];

/// Tools with a desired state of their own.
const DEPLOYERS: [&str; 34] = [
    "argocd*",
    "argo-cd*",
    "helm-controller",
    "kustomize-controller",
    "flux*",
    "helm-operator*",
    "pulumi*",
    "Terraform*",
    "terraform*",
    "HashiCorp*",
    "OpenTofu*",
    "opentofu*",
    "tofu*",
    "werf*",
    "nelm*",
    "kapp*",
    "kluctl*",
    "timoni*",
    "cli-utils*",
    "kpt*",
    "configsync*",
    "fleet*",
    "addon-controller",
    "sveltos*",
    "provider-helm*",
    "provider-kubernetes*",
    "crossplane-kubernetes-provider*",
    "skaffold*",
    "tilt*",
    "garden*",
    "helmsman*",
    "helmfile*",
    "deploy@*",
    "ansible*",
];

/// Returns the kind of writer that owns a field.
///
/// `caBundle` is filled in by jobs and controllers under any name, kubectl's included: whoever writes it, it is
/// not a person's change.
pub fn manager_class(owner: &Owner, path: &FieldPath) -> ManagerClass {
    let named = |names: &[&str]| names.iter().any(|pattern| glob(pattern, &owner.manager));
    if owner.subresource.is_empty() && (owner.manager == FIELD_MANAGER || owner.manager == NAMESPACE_MANAGER)
    {
        return ManagerClass::Ours;
    }
    if named(&DEPLOYERS) {
        return ManagerClass::Deployer;
    }
    if named(&SYSTEM) || owner.subresource == "status" {
        return ManagerClass::System;
    }
    if matches!(path.0.last(), Some(Step::Key(key)) if key == "caBundle") {
        return ManagerClass::Controller;
    }
    if named(&HUMANS) { ManagerClass::Human } else { ManagerClass::Controller }
}

/// Tells whether an entry is what a tool leaves that makes whole objects: nothing of it is needed once the object
/// is somebody else's. `since` is when the object was made: who made it wrote all of it.
pub fn is_makers(owner: &Owner, time: &str, since: &str) -> bool {
    const MAKERS: [&str; 7] = [
        "kubectl",
        "kubectl-client-side-apply",
        "kubectl-create",
        "kubectl-replace",
        "kubectl-expose",
        "kubectl-run",
        "before-first-apply",
    ];
    if !owner.subresource.is_empty() {
        return false;
    }
    let made = MAKERS.contains(&owner.manager.as_str()) || (!since.is_empty() && time == since);
    match manager_class(owner, &FieldPath::default()) {
        ManagerClass::Deployer => true,
        ManagerClass::Human | ManagerClass::Controller => made,
        ManagerClass::Ours | ManagerClass::System => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::managed::Operation;
    use super::*;

    fn owner(manager: &str, subresource: &str) -> Owner {
        Owner {
            manager: manager.to_owned(),
            operation: Operation::Update,
            subresource: subresource.to_owned(),
            api_version: "v1".to_owned(),
        }
    }

    #[test]
    fn managers_are_told_apart() {
        use ManagerClass::{Controller, Deployer, Human, Ours, System};
        for (manager, subresource, path, expected) in [
            ("helm", "", "spec.replicas", Ours),
            ("helm", "scale", "spec.replicas", Controller),
            ("kubectl-edit", "", "spec.replicas", Human),
            ("kubectl", "scale", "spec.replicas", Human),
            ("k9s", "", "data.x", Human),
            ("rancher", "", "data.x", Human),
            ("before-first-apply", "", "data.x", Human),
            ("kube-controller-manager", "scale", "spec.replicas", System),
            ("anything", "status", "metadata.annotations.a", System),
            ("cert-manager-cainjector", "", "webhooks[name=a].clientConfig.caBundle", System),
            ("kubectl-patch", "", "webhooks[name=a].clientConfig.caBundle", Controller),
            ("keda-operator", "scale", "spec.replicas", Controller),
            ("argocd-controller", "", "spec.replicas", Deployer),
            ("kustomize-controller", "", "data.x", Deployer),
            ("pulumi-kubernetes-1a2b3c", "", "data.x", Deployer),
            ("terraform-provider-helm_v3.1.2_x5", "", "data.x", Deployer),
            ("Terraform", "", "data.x", Deployer),
            ("argocd-controller", "", "spec.caBundle", Deployer),
        ] {
            let class = manager_class(&owner(manager, subresource), &FieldPath::parse(path));
            assert_eq!(class, expected, "{manager} {subresource} {path}");
        }
    }

    #[test]
    fn what_made_an_object_leaves_an_entry_that_can_go() {
        let since = "2026-01-01T00:00:00Z";
        for (manager, subresource, time, expected) in [
            ("kubectl-client-side-apply", "", "2026-02-01T00:00:00Z", true),
            ("kubectl-edit", "", "2026-02-01T00:00:00Z", false),
            ("argocd-controller", "", "2026-02-01T00:00:00Z", true),
            ("my-script", "", since, true),
            ("my-operator", "", "2026-02-01T00:00:00Z", false),
            ("kube-controller-manager", "", since, false),
            ("kubectl", "scale", since, false),
            ("helm", "", since, false),
        ] {
            assert_eq!(is_makers(&owner(manager, subresource), time, since), expected, "{manager}");
        }
    }
}
