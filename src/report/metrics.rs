//! The metrics of a run, as Prometheus reads them from a file or a gateway.
//!
//! Source of the form: the text exposition format, version 0.0.4. Names carry their unit, and each has its kind and a help.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::execute::{Outcome, Outcomes};
use crate::model::ClusterIdentity;
use crate::plan::{ObjectAction, Plan, Reason};

/// Every metric: name, labels, and what it tells. All are gauges.
pub const METRICS: [(&str, &str, &str); 10] = [
    (
        "statectl_run_success",
        "context",
        "1 if the last run ended well: nothing failed, was blocked, locked or held",
    ),
    ("statectl_run_exit_code", "context", "what the last run ended with"),
    ("statectl_last_run_timestamp_seconds", "context", "when the last run ended; silence is the alarm"),
    ("statectl_last_success_timestamp_seconds", "context", "when a run ended well last"),
    ("statectl_run_duration_seconds", "context", "how long the last run took"),
    ("statectl_releases", "context, action", "how many releases have this action in the last plan"),
    (
        "statectl_objects_changed",
        "context, action",
        "how many objects of the last plan are created, updated, deleted, replaced or adopted",
    ),
    (
        "statectl_release_drift",
        "context, namespace, release",
        "how many objects of the release had moved, or were missing",
    ),
    ("statectl_release_ok", "context, namespace, release", "1 if the release is as desired after the run"),
    (
        "statectl_release_held",
        "context, namespace, release",
        "1 if a policy, a window or a failure budget holds the release",
    ),
];

/// What one run on one cluster gave.
#[derive(Clone, Debug, Default)]
pub struct RunMetrics {
    context: String,
    /// The cluster, as far as it is known.
    cluster: Option<String>,
    actions: BTreeMap<&'static str, usize>,
    objects: BTreeMap<&'static str, usize>,
    releases: Vec<ReleaseMetrics>,
}

#[derive(Clone, Debug)]
struct ReleaseMetrics {
    namespace: String,
    name: String,
    drift: usize,
    ok: bool,
    held: bool,
}

/// How and when a run ended.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd {
    /// The exit code.
    pub code: u8,
    /// When it ended, in seconds since 1970.
    pub at: i64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// The actions that are counted, also where there are none: a series that comes and goes cannot be alerted on.
const ACTIONS: [&str; 9] =
    ["none", "install", "upgrade", "reinstall", "recover", "adopt", "uninstall", "orphan", "blocked"];
const OBJECT_ACTIONS: [ObjectAction; 5] = [
    ObjectAction::Create,
    ObjectAction::Update,
    ObjectAction::Delete,
    ObjectAction::Replace,
    ObjectAction::Adopt,
];

impl RunMetrics {
    /// Returns those of a run that came to no plan.
    pub fn unplanned(context: &str, cluster: Option<&ClusterIdentity>) -> Self {
        Self { context: context.to_owned(), cluster: cluster.map(name_of), ..Self::default() }
    }

    /// Returns those of a plan and of what became of it.
    pub fn of(plan: &Plan, outcomes: &Outcomes) -> Self {
        let mut actions: BTreeMap<&'static str, usize> = ACTIONS.map(|name| (name, 0)).into();
        let mut objects: BTreeMap<&'static str, usize> =
            OBJECT_ACTIONS.map(|action| (action.name(), 0)).into();
        for release in &plan.releases {
            *actions.entry(release.action.name()).or_default() += 1;
            for object in release.objects.iter().filter(|_| release.action.is_change()) {
                if let Some(count) = objects.get_mut(object.action.name()) {
                    *count += 1;
                }
            }
        }
        let releases = plan.releases.iter().map(|release| {
            let moved =
                |reason: &&Reason| matches!(reason, Reason::Drifted { .. } | Reason::ObjectMissing { .. });
            let ok = match outcomes.releases.get(&release.key) {
                Some(outcome) => matches!(
                    outcome,
                    Outcome::Unchanged
                        | Outcome::Deployed { .. }
                        | Outcome::Uninstalled
                        | Outcome::Orphaned
                        | Outcome::Adopted
                ),
                None => false,
            };
            ReleaseMetrics {
                namespace: release.key.namespace.clone(),
                name: release.key.name.clone(),
                drift: release.reasons.iter().filter(moved).count(),
                ok,
                held: release.is_held(),
            }
        });
        let cluster = Some(name_of(&plan.cluster));
        Self { context: plan.context.clone(), cluster, actions, objects, releases: releases.collect() }
    }
}

/// What a cluster is called: by its context, else by its address.
fn name_of(cluster: &ClusterIdentity) -> String {
    cluster.context.clone().unwrap_or_else(|| cluster.server.clone())
}

/// Returns the labels that tell runs apart: the context, and where one run had several clusters, the cluster. No two are the
/// same: a reader would refuse all of them.
fn labels(runs: &[RunMetrics], at: usize) -> String {
    let run = &runs[at];
    let context = format!("context=\"{}\"", escaped(&run.context));
    if runs.len() == 1 {
        return context;
    }
    let name = run.cluster.clone().unwrap_or_default();
    let is_known = runs.iter().filter(|other| other.cluster == run.cluster).count() == 1;
    let name = if is_known && !name.is_empty() { name } else { format!("{name}#{}", at + 1) };
    format!("{context},cluster=\"{}\"", escaped(&name))
}

/// Returns the text. `before` is that of the last run, from which the time of the last success stays where this run was
/// none.
pub fn metrics_text(runs: &[RunMetrics], end: RunEnd, before: Option<&str>) -> String {
    let mut out = String::new();
    for (name, _, help) in METRICS {
        let mut lines = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            series(name, run, &labels(runs, at), end, before, &mut lines);
        }
        if !lines.is_empty() {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{}", lines.join("\n"));
        }
    }
    out
}

fn series(
    name: &str,
    run: &RunMetrics,
    context: &str,
    end: RunEnd,
    before: Option<&str>,
    lines: &mut Vec<String>,
) {
    let mut one = |value: String| lines.push(format!("{name}{{{context}}} {value}"));
    let success = end.code == 0;
    match name {
        "statectl_run_success" => one(u8::from(success).to_string()),
        "statectl_run_exit_code" => one(end.code.to_string()),
        "statectl_last_run_timestamp_seconds" => one(end.at.to_string()),
        "statectl_last_success_timestamp_seconds" if success => one(end.at.to_string()),
        "statectl_last_success_timestamp_seconds" => {
            let head = format!("{name}{{{context}}} ");
            let kept = before.into_iter().flat_map(str::lines).find_map(|line| line.strip_prefix(&head));
            // Only a number is carried over, whatever stands in the file.
            if let Some(at) = kept.and_then(|text| text.parse::<i64>().ok()) {
                one(at.to_string());
            }
        }
        "statectl_run_duration_seconds" => one(format!("{:.3}", end.seconds)),
        "statectl_releases" => counted(name, context, &run.actions, lines),
        "statectl_objects_changed" => counted(name, context, &run.objects, lines),
        _ => {
            for release in &run.releases {
                let value = match name {
                    "statectl_release_drift" => release.drift,
                    "statectl_release_ok" => usize::from(release.ok),
                    _ => usize::from(release.held),
                };
                let (space, app) = (escaped(&release.namespace), escaped(&release.name));
                lines.push(format!("{name}{{{context},namespace=\"{space}\",release=\"{app}\"}} {value}"));
            }
        }
    }
}

fn counted(name: &str, context: &str, counts: &BTreeMap<&'static str, usize>, lines: &mut Vec<String>) {
    lines.extend(
        counts.iter().map(|(action, count)| format!("{name}{{{context},action=\"{action}\"}} {count}")),
    );
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_are_the_same_where_there_are_several_clusters() {
        let on = |name: Option<&str>| RunMetrics {
            cluster: name.map(str::to_owned),
            ..RunMetrics::unplanned("shop", None)
        };
        let runs = [on(Some("one")), on(Some("two")), on(Some("two")), on(None)];
        let text = metrics_text(&runs, RunEnd { code: 1, at: 1, seconds: 0.0 }, None);
        let series: Vec<&str> =
            text.lines().filter(|line| line.starts_with("statectl_run_success{")).collect();
        let expected = ["one", "two#2", "two#3", "#4"]
            .map(|name| format!("statectl_run_success{{context=\"shop\",cluster=\"{name}\"}} 0"));
        assert_eq!(series, expected);
    }

    #[test]
    fn the_last_success_stays_until_the_next_one() {
        let run = RunMetrics::unplanned("a\"b", None);
        let end = |code, at| RunEnd { code, at, seconds: 1.5 };
        let good = metrics_text(std::slice::from_ref(&run), end(0, 100), None);
        let line = "statectl_last_success_timestamp_seconds{context=\"a\\\"b\"} 100\n";
        assert!(good.contains(line), "{good}");
        let bad = metrics_text(std::slice::from_ref(&run), end(1, 200), Some(&good));
        assert!(bad.contains(line) && bad.contains("statectl_run_success{context=\"a\\\"b\"} 0\n"), "{bad}");
        assert!(bad.contains("statectl_last_run_timestamp_seconds{context=\"a\\\"b\"} 200\n"), "{bad}");
        let never = metrics_text(std::slice::from_ref(&run), end(1, 200), Some("nonsense\n"));
        assert!(!never.contains("last_success"), "{never}");
        let good = metrics_text(&[run], end(0, 300), Some(&bad));
        assert!(good.contains("last_success_timestamp_seconds{context=\"a\\\"b\"} 300\n"), "{good}");
    }
}
