//! `statectl.run-record/v1`: what a run did, as it is kept in the cluster.
//!
//! It has names, field paths and codes, and no value of a chart, a file or an object: who may read it learns what was
//! changed, and not to what. It has a bound, and says what was left out to keep it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::effect::effect;
use super::plan_json::pretty;
use crate::execute::{Outcome, Outcomes};
use crate::model::ClusterIdentity;
use crate::plan::{ObjectAction, ObjectPlan, Plan, Reason, ReleasePlan};

/// The version of the format.
const FORMAT: &str = "statectl.run-record/v1";
/// The most bytes of a record as it is stored. An object of the cluster may have 1 MiB.
const MOST_BYTES: usize = 256 * 1024;
/// The most bytes that a stored record is unpacked to.
const MOST_UNPACKED: u64 = 64 * 1024 * 1024;

/// What is known of a run besides its plan and its outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The verb.
    pub verb: String,
    /// `user@host`.
    pub who: String,
    /// The address of the CI job.
    pub job: Option<String>,
    /// The commit that the first file is checked out at.
    pub commit: Option<String>,
    /// The digest of the desired-state files.
    pub digest: Option<String>,
    /// When it began, by its own clock.
    pub started: String,
    /// When it ended, by its own clock.
    pub ended: String,
    /// How it ended: `succeeded`, `refused` or `failed`.
    pub result: String,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRecord {
    /// [`FORMAT`].
    pub format: String,
    /// The context of its files.
    pub context: String,
    /// The verb.
    pub verb: String,
    /// How it ended: `succeeded`, `refused` or `failed`.
    pub result: String,
    /// `user@host`.
    pub who: String,
    /// The address of the CI job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The version of statectl.
    pub version: String,
    /// The commit that the first file is checked out at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of the desired-state files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of what the plan would do.
    pub effect: String,
    /// When it began, by its own clock.
    pub started: String,
    /// When it ended, by its own clock.
    pub ended: String,
    /// The releases with which something was to be done.
    pub releases: Vec<RunRelease>,
    /// The namespaces that could not be made or labelled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_namespaces: Vec<String>,
    /// How many releases had nothing to do.
    pub unchanged: usize,
    /// How many objects were left out to keep the bound.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out_objects: usize,
    /// How many releases were left out to keep the bound.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out_releases: usize,
}

/// One release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRelease {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What was planned.
    pub action: String,
    /// The codes of the reasons.
    pub reasons: Vec<String>,
    /// How it ended.
    pub state: String,
    /// The revision that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The chart, as `NAME-VERSION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// The objects with which something was to be done.
    pub objects: Vec<RunObject>,
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunObject {
    /// The object.
    pub object: String,
    /// What was planned.
    pub action: String,
    /// The codes of the reasons.
    pub reasons: Vec<String>,
    /// The fields that were to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Why a stored record cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RunRecordError {
    /// It is not what statectl stores.
    #[error("it is not what statectl stores")]
    Unreadable,
    /// It has another version.
    #[error("its format is {0:?}, which this version does not know")]
    Format(String),
}

impl RunRecord {
    /// Returns what a run did whose outcomes are known.
    pub fn of(plan: &Plan, outcomes: &Outcomes, facts: &Facts) -> Self {
        let mut releases = Vec::new();
        let mut unchanged = 0;
        for planned in &plan.releases {
            match outcomes.releases.get(&planned.key) {
                Some(Outcome::Unchanged) | None => unchanged += 1,
                Some(outcome) => releases.push(release(planned, outcome)),
            }
        }
        Self {
            format: FORMAT.to_owned(),
            context: plan.context.clone(),
            verb: facts.verb.clone(),
            result: facts.result.clone(),
            who: facts.who.clone(),
            job: facts.job.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: facts.commit.clone(),
            digest: facts.digest.clone(),
            effect: effect(plan),
            started: facts.started.clone(),
            ended: facts.ended.clone(),
            releases,
            failed_namespaces: outcomes.namespaces.keys().cloned().collect(),
            unchanged,
            ..Self::default()
        }
    }

    /// Returns the record as it is stored: packed, and within [`MOST_BYTES`]. What is too much is left out, objects before
    /// releases, and counted.
    pub fn packed(&self) -> Vec<u8> {
        let mut bounded = self.clone();
        loop {
            let bytes = pack(&bounded);
            if bytes.len() <= MOST_BYTES || bounded.releases.is_empty() {
                return bytes;
            }
            // Half of the largest ones at a time: few rounds, however much there is.
            let largest = bounded.releases.iter().map(|release| release.objects.len()).max().unwrap_or(0);
            if largest > 0 {
                for release in &mut bounded.releases {
                    let kept = release.objects.len().min(largest / 2);
                    bounded.left_out_objects += release.objects.len() - kept;
                    release.objects.truncate(kept);
                }
            } else {
                let kept = bounded.releases.len() / 2;
                bounded.left_out_releases += bounded.releases.len() - kept;
                bounded.releases.truncate(kept);
            }
        }
    }

    /// Reads a stored record.
    ///
    /// # Errors
    /// It is none, or one of another version.
    pub fn read(bytes: &[u8]) -> Result<Self, RunRecordError> {
        let mut text = String::new();
        let mut unpacked = GzDecoder::new(bytes).take(MOST_UNPACKED);
        unpacked.read_to_string(&mut text).map_err(|_| RunRecordError::Unreadable)?;
        let record: Self = serde_json::from_str(&text).map_err(|_| RunRecordError::Unreadable)?;
        if record.format == FORMAT { Ok(record) } else { Err(RunRecordError::Format(record.format)) }
    }

    /// Returns how many releases ended in each state, such as `2 deployed, 1 failed`.
    pub fn counts(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for release in &self.releases {
            *counts.entry(&release.state).or_default() += 1;
        }
        let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
    }
}

fn pack(record: &RunRecord) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let text = serde_json::to_vec(record).unwrap_or_default();
    // Memory takes everything.
    drop(packer.write_all(&text));
    packer.finish().unwrap_or_default()
}

fn codes(reasons: &[Reason]) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for reason in reasons {
        let code = reason.code();
        if !codes.iter().any(|known| known == code) {
            codes.push(code.to_owned());
        }
    }
    codes
}

fn release(planned: &ReleasePlan, outcome: &Outcome) -> RunRelease {
    let revision = match outcome {
        Outcome::Deployed { revision } | Outcome::RolledBack { revision, .. } => Some(*revision),
        _ => None,
    };
    let chart = planned.chart_to.as_ref().or(planned.chart_from.as_ref());
    RunRelease {
        namespace: planned.key.namespace.clone(),
        name: planned.key.name.clone(),
        action: planned.action.name().to_owned(),
        reasons: codes(&planned.reasons),
        state: outcome.word().to_owned(),
        revision,
        chart: chart.map(|chart| format!("{}-{}", chart.name, chart.version)),
        objects: planned
            .objects
            .iter()
            .filter(|object| object.action != ObjectAction::None)
            .map(object)
            .collect(),
    }
}

fn object(planned: &ObjectPlan) -> RunObject {
    RunObject {
        object: planned.key.to_string(),
        action: planned.action.name().to_owned(),
        reasons: codes(&planned.reasons),
        fields: planned.diff.as_ref().map(|diff| diff.paths()).unwrap_or_default(),
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// Its number: later runs have higher ones.
    pub run: u64,
    /// What it did.
    #[serde(flatten)]
    pub record: RunRecord,
}

#[derive(Serialize)]
struct RunsReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    runs: Vec<Listed<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unreadable: &'a BTreeMap<u64, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    run: u64,
    verb: &'a str,
    result: &'a str,
    who: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    started: &'a str,
    ended: &'a str,
    states: BTreeMap<&'a str, usize>,
}

/// Returns the runs as one JSON document with a final newline, in the order in which they are given.
pub fn runs_json(
    cluster: &ClusterIdentity,
    context: &str,
    rows: &[RunRow],
    unreadable: &BTreeMap<u64, String>,
) -> String {
    let listed = |row: &'_ RunRow| -> BTreeMap<String, usize> {
        let mut states = BTreeMap::new();
        for release in &row.record.releases {
            *states.entry(release.state.clone()).or_default() += 1;
        }
        states
    };
    let states: Vec<BTreeMap<String, usize>> = rows.iter().map(listed).collect();
    let runs = rows.iter().zip(&states).map(|(RunRow { run, record }, states)| Listed {
        run: *run,
        verb: &record.verb,
        result: &record.result,
        who: &record.who,
        job: record.job.as_deref(),
        commit: record.commit.as_deref(),
        started: &record.started,
        ended: &record.ended,
        states: states.iter().map(|(state, count)| (state.as_str(), *count)).collect(),
    });
    pretty(&RunsReport { format: "statectl.runs/v1", cluster, context, runs: runs.collect(), unreadable })
}

/// Returns one run as one JSON document with a final newline.
pub fn run_record_json(row: &RunRow) -> String {
    pretty(row)
}

/// What differs between two runs in one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunChange {
    /// The release, as `NAMESPACE/NAME`.
    pub release: String,
    /// How it was in the first run; nothing where that one had nothing to do with it.
    pub before: Option<RunRelease>,
    /// How it was in the second one.
    pub after: Option<RunRelease>,
}

/// Returns the releases with which two runs did not do the same, by name. Revisions count up, and are no difference.
pub fn differences(before: &RunRecord, after: &RunRecord) -> Vec<RunChange> {
    let by_name = |record: &RunRecord| -> BTreeMap<String, RunRelease> {
        let name = |release: &RunRelease| format!("{}/{}", release.namespace, release.name);
        record.releases.iter().map(|release| (name(release), release.clone())).collect()
    };
    let (first, second) = (by_name(before), by_name(after));
    let same = |a: &RunRelease, b: &RunRelease| {
        RunRelease { revision: None, ..a.clone() } == RunRelease { revision: None, ..b.clone() }
    };
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    names
        .into_iter()
        .filter(|name| match (first.get(*name), second.get(*name)) {
            (Some(a), Some(b)) => !same(a, b),
            _ => true,
        })
        .map(|name| RunChange {
            release: name.clone(),
            before: first.get(name).cloned(),
            after: second.get(name).cloned(),
        })
        .collect()
}

#[derive(Serialize)]
struct DiffReport<'a> {
    format: &'static str,
    before: &'a RunRow,
    after: &'a RunRow,
    releases: &'a [RunChange],
}

/// Returns what differs between two runs as one JSON document with a final newline.
pub fn runs_diff_json(before: &RunRow, after: &RunRow, changes: &[RunChange]) -> String {
    // What did not differ is in the runs themselves.
    let bare = |row: &RunRow| RunRow {
        run: row.run,
        record: RunRecord { releases: Vec::new(), ..row.record.clone() },
    };
    let (before, after) = (&bare(before), &bare(after));
    pretty(&DiffReport { format: "statectl.runs-diff/v1", before, after, releases: changes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(releases: usize, objects: usize) -> RunRecord {
        // Names that do not pack well.
        let name = |a: usize, b: usize| format!("{:x}", (a * 7919 + b).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let object = |a: usize, b: usize| RunObject {
            object: format!("ConfigMap {}/{}", name(a, b), name(b, a)),
            action: "update".to_owned(),
            fields: vec![format!("data[{:?}]", name(a + 1, b + 1))],
            ..RunObject::default()
        };
        let release = |a: usize| RunRelease {
            namespace: name(a, 1),
            name: name(a, 2),
            state: "deployed".to_owned(),
            objects: (0..objects).map(|b| object(a, b)).collect(),
            ..RunRelease::default()
        };
        RunRecord {
            format: FORMAT.to_owned(),
            releases: (0..releases).map(release).collect(),
            ..RunRecord::default()
        }
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let one = record(3, 4);
        assert_eq!(RunRecord::read(&one.packed()).unwrap(), one);
        assert_eq!(one.counts(), "3 deployed");
    }

    #[test]
    fn a_record_keeps_its_bound_and_counts_what_it_leaves_out() {
        for (releases, objects) in [(1, 30_000), (20_000, 1), (50_000, 0)] {
            let whole = record(releases, objects);
            let bytes = whole.packed();
            assert!(bytes.len() <= MOST_BYTES, "{}", bytes.len());
            let read = RunRecord::read(&bytes).unwrap();
            let kept: usize = read.releases.iter().map(|release| release.objects.len()).sum();
            assert_eq!(read.releases.len() + read.left_out_releases, releases);
            assert!(read.left_out_objects + read.left_out_releases > 0);
            assert!(read.left_out_releases > 0 || kept + read.left_out_objects == releases * objects);
        }
    }

    #[test]
    fn what_is_no_record_is_said() {
        let unreadable = |bytes: &[u8]| RunRecord::read(bytes).unwrap_err().to_string();
        assert_eq!(unreadable(b"x"), "it is not what statectl stores");
        let other = RunRecord { format: "statectl.run-record/v9".to_owned(), ..record(1, 1) };
        assert!(unreadable(&other.packed()).contains("v9"));
    }

    #[test]
    fn two_runs_differ_where_they_did_something_else() {
        let (one, mut two) = (record(3, 1), record(3, 1));
        two.releases[0].revision = Some(7);
        assert_eq!(differences(&one, &two), []);
        two.releases[1].state = "failed".to_owned();
        two.releases.pop();
        let changes = differences(&one, &two);
        assert_eq!(changes.len(), 2);
        assert!(changes.iter().any(|change| change.after.is_none()));
    }
}
