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

/// Tells whether a manager is a tool that makes whole objects: nothing of its entry is needed once the object is
/// somebody else's.
pub fn is_maker(owner: &Owner) -> bool {
    const MAKERS: [&str; 7] = [
        "kubectl",
        "kubectl-client-side-apply",
        "kubectl-create",
        "kubectl-replace",
        "kubectl-expose",
        "kubectl-run",
        "before-first-apply",
    ];
    let known = MAKERS.contains(&owner.manager.as_str());
    let class = manager_class(owner, &FieldPath::default());
    owner.subresource.is_empty() && (class == ManagerClass::Deployer || known)
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
    fn tools_that_make_whole_objects_are_known() {
        for (manager, subresource, expected) in [
            ("kubectl-client-side-apply", "", true),
            ("kubectl-edit", "", false),
            ("kubectl-label", "", false),
            ("argocd-controller", "", true),
            ("my-script", "", false),
            ("kube-controller-manager", "", false),
            ("kubectl", "scale", false),
            ("helm", "", false),
        ] {
            assert_eq!(is_maker(&owner(manager, subresource)), expected, "{manager}");
        }
    }
}
