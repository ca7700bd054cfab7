//! What the objects of a run take of a namespace's quotas together.
//!
//! A dry run counts one object at a time against what is used now: two that fit one by one may not fit together, and a
//! replacement is counted beside the object that it replaces (both measured on Kubernetes 1.36). What each kind takes
//! follows Kubernetes `pkg/quota/v1/evaluator/core`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::input::PlanInput;
use super::reason::Reason;
use super::steps::{Apply, ApplyMode, Work};
use super::{ObjectAction, ReleasePlan};
use crate::diff;
use crate::model::ObjectKey;

/// Quantities are counted in billionths, as finely as Kubernetes keeps them.
const ONE: i128 = 1_000_000_000;

/// A quota of a namespace and how much of it is used.
#[derive(Clone, Debug)]
pub struct Quota {
    namespace: String,
    name: String,
    hard: BTreeMap<String, i128>,
    used: BTreeMap<String, i128>,
}

impl Quota {
    /// Reads a ResourceQuota. Until its controller has looked at a new one, it limits nothing.
    pub fn read(object: &Json) -> Self {
        let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
        let amounts = |part: &Json| -> BTreeMap<String, i128> {
            let members = part.as_object().into_iter().flatten();
            members.filter_map(|(name, amount)| Some((name.clone(), quantity(amount)?))).collect()
        };
        let status = &object["status"];
        let (hard, used) = (amounts(&status["hard"]), amounts(&status["used"]));
        Self { namespace: text("namespace"), name: text("name"), hard, used }
    }

    fn left(&self, resource: &str, hard: i128) -> i128 {
        hard - self.used.get(resource).copied().unwrap_or_default()
    }
}

/// Whether an object may take the place of the live one, as far as quotas go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It may.
    Fits,
    /// It may not.
    Exceeds {
        /// Which quota is in the way.
        why: String,
    },
    /// What they take cannot be told.
    Untold {
        /// Why.
        why: String,
    },
}

/// Tells whether `desired` fits once `live` is gone.
pub fn fits_instead(quotas: &[Quota], live: &Json, desired: &Json) -> Fit {
    let mut untold = Fit::Fits;
    for quota in quotas {
        for (resource, hard) in &quota.hard {
            let (before, after) = (takes(resource, live), takes(resource, desired));
            if before == Takes(0) && after == Takes(0) {
                continue;
            }
            // Limits of a namespace's pods may be filled in by a LimitRange.
            if desired["kind"] == "Pod" && is_compute(resource) {
                let why = format!(
                    "quota {} is full: whether a pod fits in place of this one is known only then",
                    quota.name
                );
                untold = Fit::Untold { why };
                continue;
            }
            let left = quota.left(resource, *hard) + before.0;
            if after.0 > left {
                let why = format!(
                    "quota {} leaves {} of {resource}, and it takes {}",
                    quota.name,
                    shown(left),
                    shown(after.0)
                );
                return Fit::Exceeds { why };
            }
        }
    }
    untold
}

/// Something that takes of a quota: an object of a release, or its record.
struct Comer<'a> {
    /// Its place among the releases and their objects; no object for a record.
    place: (usize, Option<&'a ObjectKey>),
    amount: i128,
}

/// Marks the objects that come in this run and may not fit together.
pub(super) fn mark(input: &PlanInput, releases: &mut [ReleasePlan]) {
    let live: BTreeMap<&ObjectKey, &Json> = input
        .wanted
        .iter()
        .filter_map(|wanted| wanted.content.as_ref()?.as_ref().ok())
        .flat_map(|content| &content.objects)
        .filter_map(|object| Some((&object.key, object.live.as_ref()?)))
        .collect();
    let mut marks: Vec<(usize, ObjectKey, String)> = Vec::new();
    for quota in &input.quotas {
        for (resource, hard) in &quota.hard {
            let comers = comers(quota, resource, releases, &live);
            let (sum, left) =
                (comers.iter().map(|comer| comer.amount).sum::<i128>(), quota.left(resource, *hard));
            // What one object takes, the server has counted itself.
            if comers.len() < 2 || sum <= left {
                continue;
            }
            let message = format!(
                "quota {} leaves {} of {resource}, and this run takes {} of it; whether it fits is known only when it \
                 is applied",
                quota.name,
                shown(left.max(0)),
                shown(sum)
            );
            let objects = comers
                .iter()
                .filter_map(|comer| Some((comer.place.0, comer.place.1?.clone(), message.clone())));
            marks.extend(objects);
        }
    }
    for (release, object, message) in marks {
        let plans = releases.get_mut(release).map(|plan| plan.objects.iter_mut());
        for plan in plans.into_iter().flatten() {
            let changes =
                matches!(plan.action, ObjectAction::Create | ObjectAction::Update | ObjectAction::Adopt);
            if plan.key == object && changes {
                plan.reasons.push(Reason::Unverified { object: object.clone(), message: message.clone() });
            }
        }
    }
}

fn comers<'a>(
    quota: &Quota,
    resource: &str,
    releases: &'a [ReleasePlan],
    live: &BTreeMap<&ObjectKey, &Json>,
) -> Vec<Comer<'a>> {
    let record = serde_json::json!({"apiVersion": "v1", "kind": "Secret"});
    let mut comers = Vec::new();
    for (at, plan) in releases.iter().enumerate() {
        let Work::Deploy(deploy) = &plan.work else { continue };
        if plan.key.namespace == quota.namespace {
            comers.push(Comer { place: (at, None), amount: takes(resource, &record).0 });
        }
        let here = deploy.applies.iter().filter(|step| step.key.namespace.as_ref() == Some(&quota.namespace));
        comers.extend(here.map(|step| Comer {
            place: (at, Some(&step.key)),
            amount: more(resource, step, live.get(&step.key).copied()),
        }));
    }
    comers.retain(|comer| comer.amount > 0);
    comers
}

/// Returns how much more a step takes than is taken now.
fn more(resource: &str, step: &Apply, live: Option<&Json>) -> i128 {
    match &step.mode {
        ApplyMode::Create | ApplyMode::Either => takes(resource, &step.body).0,
        ApplyMode::Update { .. } => {
            takes(resource, &step.body).0 - live.map_or(0, |live| takes(resource, live).0)
        }
        // What is going is counted until it is gone.
        ApplyMode::Unchanged | ApplyMode::Replace(_) | ApplyMode::AfterGone { .. } => 0,
    }
}

/// How much of a quota's resource an object takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Takes(i128);

fn takes(resource: &str, object: &Json) -> Takes {
    let kind = object["kind"].as_str().unwrap_or_default();
    let group =
        object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |it| it.0);
    let plural = plural(kind);
    let once = |fits: bool| Takes(if fits { ONE } else { 0 });
    if let Some(counted) = resource.strip_prefix("count/") {
        let (name, of) = counted.split_once('.').unwrap_or((counted, ""));
        return once(name == plural && of == group);
    }
    if !group.is_empty() {
        return Takes(0);
    }
    let spec = &object["spec"];
    match (resource, kind) {
        ("services.loadbalancers", "Service") => once(spec["type"] == "LoadBalancer"),
        ("services.nodeports", "Service") => {
            let balances =
                spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != Json::Bool(false);
            let ports = spec["ports"].as_array().map_or(0, Vec::len);
            let ports = if spec["type"] == "NodePort" || balances { ports } else { 0 };
            Takes(i128::try_from(ports).unwrap_or_default() * ONE)
        }
        ("requests.storage", "PersistentVolumeClaim") => {
            Takes(quantity(&spec["resources"]["requests"]["storage"]).unwrap_or_default())
        }
        (_, "PersistentVolumeClaim") if resource.contains(".storageclass.storage.k8s.io/") => {
            let (class, what) = resource.split_once(".storageclass.storage.k8s.io/").unwrap_or_default();
            match what {
                _ if spec["storageClassName"] != class => Takes(0),
                "requests.storage" => takes(what, object),
                _ => once(what == plural),
            }
        }
        (_, "Pod") if is_compute(resource) => Takes(compute(resource, spec)),
        _ => once(resource == plural),
    }
}

/// Tells whether a resource is what the containers of pods ask for.
fn is_compute(resource: &str) -> bool {
    ["requests.", "limits.", "hugepages-"].iter().any(|start| resource.starts_with(start))
        || matches!(resource, "cpu" | "memory" | "ephemeral-storage")
}

fn compute(resource: &str, pod: &Json) -> i128 {
    let (part, name) = match resource.split_once('.') {
        Some((part @ ("requests" | "limits"), name)) => (part, name),
        _ => ("requests", resource),
    };
    let amounts = |list: &str| -> Vec<i128> {
        let containers = pod[list].as_array().into_iter().flatten();
        containers
            .map(|container| quantity(&container["resources"][part][name]).unwrap_or_default())
            .collect()
    };
    let first = amounts("initContainers").into_iter().max().unwrap_or_default();
    amounts("containers").into_iter().sum::<i128>().max(first)
}

/// Returns the plural of a kind as Kubernetes guesses it (`apimachinery/pkg/api/meta`, `UnsafeGuessKindToResource`).
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.as_str() {
        "endpoints" => kind,
        _ if kind.ends_with('s') => format!("{kind}es"),
        _ => match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{kind}s"),
        },
    }
}

fn quantity(json: &Json) -> Option<i128> {
    match json {
        Json::String(text) => diff::parse_quantity(text),
        Json::Number(number) => diff::parse_quantity(&number.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn shown(amount: i128) -> String {
    const MEBI: i128 = 1 << 20;
    let whole = amount / ONE;
    if amount % ONE != 0 {
        format!("{}m", amount / (ONE / 1000))
    } else if whole >= MEBI && whole % (MEBI << 10) == 0 {
        format!("{}Gi", whole / (MEBI << 10))
    } else if whole >= MEBI && whole % MEBI == 0 {
        format!("{}Mi", whole / MEBI)
    } else {
        whole.to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_takes_what_the_server_counts() {
        let service = |kind: &str| json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": kind, "ports": [{}, {}]}});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {
            "initContainers": [{"resources": {"requests": {"cpu": "2"}}}],
            "containers": [{"resources": {"requests": {"cpu": "500m"}}}, {"resources": {"requests": {"cpu": 1}, "limits": {"cpu": "3"}}}]}});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        for (resource, object, expected) in [
            ("configmaps", &map, "1"),
            ("count/configmaps", &map, "1"),
            ("secrets", &map, "0"),
            ("count/networkpolicies.networking.k8s.io", &policy, "1"),
            ("count/networkpolicies.extensions", &policy, "0"),
            ("networkpolicies", &policy, "0"),
            ("count/deployments.apps", &deployment, "1"),
            ("pods", &deployment, "0"),
            ("services", &service("ClusterIP"), "1"),
            ("services.nodeports", &service("ClusterIP"), "0"),
            ("services.nodeports", &service("NodePort"), "2"),
            ("services.nodeports", &service("LoadBalancer"), "2"),
            ("services.loadbalancers", &service("LoadBalancer"), "1"),
            ("services.loadbalancers", &service("NodePort"), "0"),
            ("persistentvolumeclaims", &claim, "1"),
            ("requests.storage", &claim, "2Gi"),
            ("fast.storageclass.storage.k8s.io/requests.storage", &claim, "2Gi"),
            ("slow.storageclass.storage.k8s.io/requests.storage", &claim, "0"),
            ("fast.storageclass.storage.k8s.io/persistentvolumeclaims", &claim, "1"),
            ("requests.cpu", &pod, "2"),
            ("cpu", &pod, "2"),
            ("limits.cpu", &pod, "3"),
            ("pods", &pod, "1"),
            ("requests.storage", &pod, "0"),
        ] {
            assert_eq!(shown(takes(resource, object).0), expected, "{resource} {object}");
        }
    }

    #[test]
    fn a_replacement_frees_what_the_old_object_takes() {
        let quota = |hard: Json, used: Json| {
            Quota::read(
                &json!({"metadata": {"name": "q", "namespace": "shop"}, "status": {"hard": hard, "used": used}}),
            )
        };
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let claim = |size: &str| {
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "spec": {"resources": {"requests": {"storage": size}}}})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {}});
        let one = |name: &str| quota(json!({name: "1"}), json!({name: "1"}));
        assert_eq!(fits_instead(&[one("configmaps"), one("secrets")], &map, &map), Fit::Fits);
        assert_eq!(fits_instead(&[one("pods")], &pod, &pod), Fit::Fits);
        assert!(matches!(fits_instead(&[one("requests.cpu")], &pod, &pod), Fit::Fits));
        let storage = || quota(json!({"requests.storage": "3Gi"}), json!({"requests.storage": "3Gi"}));
        assert_eq!(fits_instead(&[storage()], &claim("1Gi"), &claim("1024Mi")), Fit::Fits);
        let Fit::Exceeds { why } = fits_instead(&[storage()], &claim("1Gi"), &claim("2Gi")) else { panic!() };
        assert_eq!(why, "quota q leaves 1Gi of requests.storage, and it takes 2Gi");
        // Somebody lowered it below what is there.
        let lowered = quota(json!({"configmaps": "1"}), json!({"configmaps": "3"}));
        assert!(matches!(fits_instead(&[lowered], &map, &map), Fit::Exceeds { .. }));
    }
}
