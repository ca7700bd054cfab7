//! `statectl.plan/v1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::effect::effect;
use crate::diff::FieldChange;
use crate::model::ClusterIdentity;
use crate::plan::{
    ChartId, HookPlan, NamespacePlan, ObjectAction, ObjectPlan, Plan, Reason, ReleasePlan, Simulation,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    changes: bool,
    blocked: bool,
    summary: Summary,
    /// The digest of what carrying the plan out does.
    effect: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespace_changes: Vec<NamespaceReport<'a>>,
    releases: Vec<ReleaseReport<'a>>,
    batches: Vec<Vec<String>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// How much is done, by what is done.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    /// Whether a release is uninstalled, or an object deleted, be it to be created again.
    has_destroy: bool,
    releases: BTreeMap<&'static str, usize>,
    objects: BTreeMap<&'static str, usize>,
}

fn summary(plan: &Plan) -> Summary {
    let (mut releases, mut objects) = (BTreeMap::new(), BTreeMap::new());
    for release in &plan.releases {
        *releases.entry(release.action.name()).or_default() += 1;
        // Nothing is done with those of a release that is refused.
        for object in release.objects.iter().filter(|_| release.action.is_change()) {
            *objects.entry(object.action.name()).or_default() += 1;
        }
    }
    let gone =
        |counts: &BTreeMap<&str, usize>, names: &[&str]| names.iter().any(|name| counts.contains_key(name));
    let has_destroy = gone(&releases, &["uninstall", "reinstall"]) || gone(&objects, &["delete", "replace"]);
    Summary { has_destroy, releases, objects }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamespaceReport<'a> {
    name: &'a str,
    action: &'static str,
    changes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
}

fn namespace_report(namespace: &NamespacePlan) -> NamespaceReport<'_> {
    let action = match (&namespace.refused, namespace.is_new) {
        (Some(_), _) => "blocked",
        (None, true) => "create",
        (None, false) => "change",
    };
    let refused = namespace.refused.as_deref();
    NamespaceReport { name: &namespace.name, action, changes: &namespace.changes, refused }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReleaseReport<'a> {
    namespace: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<&'a str>,
    action: &'static str,
    reasons: &'a [Reason],
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_from: Option<ChartReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chart_to: Option<ChartReport<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wait_for: Vec<String>,
    /// The revision that is restored if this one fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback_to: Option<u64>,
    /// Broken pods that StatefulSets wait for are deleted then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unstick: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<HookReport<'a>>,
    objects: Vec<ObjectReport<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookReport<'a> {
    event: &'a str,
    kind: &'a str,
    name: &'a str,
    /// Only hooks of the file have what follows: the place of their key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_on_success: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<HookObjectReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookObjectReport<'a> {
    api_version: String,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    name: &'a str,
    action: &'static str,
}

#[derive(Serialize)]
struct ChartReport<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectReport<'a> {
    api_version: String,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    name: &'a str,
    action: ObjectAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Simulation>,
    reasons: &'a [Reason],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    /// What has to be ready before it is applied, or gone before it is removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

#[derive(Serialize)]
struct FieldReport<'a> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
}

/// Returns the plan as one JSON document with a final newline. The same plan gives the same bytes.
pub fn plan_json(plan: &Plan) -> String {
    let report = PlanReport {
        format: "statectl.plan/v1",
        cluster: &plan.cluster,
        context: &plan.context,
        changes: plan.has_changes(),
        blocked: plan.has_blocked(),
        summary: summary(plan),
        effect: effect(plan),
        namespaces: plan.namespaces.iter().map(|namespace| namespace.name.as_str()).collect(),
        namespace_changes: plan.namespaces.iter().map(namespace_report).collect(),
        releases: plan.releases.iter().map(release).collect(),
        batches: plan.batches.iter().map(|batch| batch.iter().map(ToString::to_string).collect()).collect(),
        notes: &plan.notes,
    };
    pretty(&report)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    changes: bool,
    blocked: bool,
    releases: Vec<DiffRelease<'a>>,
}

#[derive(Serialize)]
struct DiffRelease<'a> {
    namespace: &'a str,
    name: &'a str,
    action: &'static str,
    objects: Vec<ObjectReport<'a>>,
}

/// Returns the differences that a plan makes: its objects with which something is done.
pub fn diff_json(plan: &Plan) -> String {
    pretty(&DiffReport {
        format: "statectl.diff/v1",
        cluster: &plan.cluster,
        context: &plan.context,
        changes: plan.has_changes(),
        blocked: plan.has_blocked(),
        releases: plan.releases.iter().map(differences).collect(),
    })
}

fn differences(plan: &ReleasePlan) -> DiffRelease<'_> {
    let objects = plan.objects.iter().filter(|object| object.action != ObjectAction::None);
    DiffRelease {
        namespace: &plan.key.namespace,
        name: &plan.key.name,
        action: plan.action.name(),
        objects: objects.map(object).collect(),
    }
}

/// Returns any report as indented JSON with a final newline.
pub(super) fn pretty<T: Serialize>(report: &T) -> String {
    // Reports hold text, numbers and lists only, which always serialise.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}

fn release(plan: &ReleasePlan) -> ReleaseReport<'_> {
    ReleaseReport {
        namespace: &plan.key.namespace,
        name: &plan.key.name,
        app: plan.app.as_deref(),
        action: plan.action.name(),
        reasons: &plan.reasons,
        revision: plan.revision,
        chart_from: plan.chart_from.as_ref().map(chart),
        chart_to: plan.chart_to.as_ref().map(chart),
        needs: plan.needs.iter().map(ToString::to_string).collect(),
        wait_for: plan.wait_for.iter().map(ToString::to_string).collect(),
        rollback_to: plan.rollback_to(),
        unstick: plan.unsticks(),
        hooks: plan.hooks.iter().map(hook).collect(),
        objects: plan.objects.iter().map(object).collect(),
        warnings: &plan.warnings,
    }
}

fn hook(plan: &HookPlan) -> HookReport<'_> {
    let file = plan.file.as_ref();
    let objects = file.into_iter().flat_map(|file| &file.objects);
    HookReport {
        event: &plan.event,
        kind: &plan.kind,
        name: &plan.name,
        key: file.map(|file| file.key.as_str()),
        timeout_seconds: file.map(|file| file.timeout.as_secs()),
        condition: file.and_then(|file| file.condition.as_deref()),
        delete_on_success: file.map(|file| file.removes).filter(|_| plan.kind == "Manifest"),
        objects: objects
            .map(|(key, action)| HookObjectReport {
                api_version: key.gvk.api_version(),
                kind: &key.gvk.kind,
                namespace: key.namespace.as_deref(),
                name: &key.name,
                action,
            })
            .collect(),
    }
}

fn chart(id: &ChartId) -> ChartReport<'_> {
    ChartReport { name: &id.name, version: &id.version }
}

fn object(plan: &ObjectPlan) -> ObjectReport<'_> {
    let diff = plan.diff.as_ref().filter(|diff| !diff.is_empty());
    ObjectReport {
        api_version: plan.key.gvk.api_version(),
        kind: &plan.key.gvk.kind,
        namespace: plan.key.namespace.as_deref(),
        name: &plan.key.name,
        action: plan.action,
        simulation: plan.simulation(),
        reasons: &plan.reasons,
        fields: diff.map(|diff| diff.changes.iter().map(field).collect()).unwrap_or_default(),
        diff: diff.map(|diff| diff.text.to_string()),
        warnings: &plan.warnings,
        after: plan.after.iter().map(ToString::to_string).collect(),
    }
}

fn field(change: &FieldChange) -> FieldReport<'_> {
    FieldReport { path: change.path.to_string(), from: change.before.as_deref(), to: change.after.as_deref() }
}
