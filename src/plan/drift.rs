//! What was changed in the cluster since a revision was applied: the live objects against the recorded manifest.
//!
//! Three grades: a field that the manifest has is changed, or its object is gone; somebody put a value into a map or
//! list that the manifest has; somebody set a field that it says nothing about. Only the first is drift, unless more
//! is asked for. What a controller owns was settled before and is none.

use serde_json::Value as Json;

use super::input::{ObservedObject, ServerAnswer};
use super::ownership::{Contested, FieldRules};
use crate::diff::{self, DiffOptions, FieldPath, Masker, ObjectDiff, Step};
use crate::model::{ClusterIdentity, ObjectKey, ReleaseKey};

/// Lines around a difference, and most lines of one object.
const CONTEXT_LINES: usize = 2;
const MOST_LINES: usize = 400;

/// Maps whose members are values of a user, by their last name. Without the schema of a kind there is no other sign.
const MAPS: [&str; 11] = [
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "matchLabels",
    "nodeSelector",
    "limits",
    "requests",
    "selector",
    "parameters",
];

/// What was changed in the cluster since the last revisions.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// The owner of the releases.
    pub context: String,
    /// Whether what others added counts.
    pub strict: bool,
    /// The releases, in the order of the file.
    pub releases: Vec<ReleaseDrift>,
}

impl Drift {
    /// Tells whether there is drift.
    pub fn is_drift(&self) -> bool {
        self.releases.iter().any(|release| release.is_drift(self.strict))
    }
}

/// What was changed in the objects of a release.
#[derive(Clone, Debug)]
pub struct ReleaseDrift {
    /// The release.
    pub key: ReleaseKey,
    /// Its entry in the file.
    pub app: String,
    /// The revision that the objects are compared with; nothing for a release that is not installed.
    pub revision: Option<u64>,
    /// The newest recorded revision.
    pub newest: Option<u64>,
    /// Why something of it could not be read.
    pub problem: Option<String>,
    /// How many objects its manifest has.
    pub count: usize,
    /// The objects, in the order of the manifest.
    pub objects: Vec<ObjectDrift>,
}

impl ReleaseDrift {
    /// Returns a release of which nothing is known yet.
    pub fn new(key: ReleaseKey, app: String) -> Self {
        Self { key, app, revision: None, newest: None, problem: None, count: 0, objects: Vec::new() }
    }

    /// Tells whether an object drifted.
    pub fn is_drift(&self, strict: bool) -> bool {
        self.objects.iter().any(|object| object.is_drift(strict))
    }

    /// Tells whether something could not be read or compared.
    pub fn is_unknown(&self) -> bool {
        self.problem.is_some()
            || self.objects.iter().any(|object| matches!(object.standing, Standing::Unknown(_)))
    }

    /// Returns how it stands in one word.
    pub fn standing(&self, strict: bool) -> &'static str {
        if self.is_drift(strict) {
            "drifted"
        } else if self.is_unknown() {
            "unknown"
        } else if self.revision.is_none() {
            "not-installed"
        } else {
            "clean"
        }
    }
}

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As recorded.
    Clean,
    /// Fields of the manifest were changed.
    Changed,
    /// It is not there.
    Missing,
    /// It could not be compared, and why.
    Unknown(String),
}

/// A field of the manifest that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedField {
    /// The field.
    pub path: String,
    /// The recorded value, masked and short.
    pub recorded: Option<String>,
    /// The live value, masked and short.
    pub live: Option<String>,
    /// Who wrote it, if somebody owns it.
    pub manager: Option<String>,
    /// When that manager wrote last.
    pub since: Option<String>,
}

/// What somebody added.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addition {
    /// The field, or the element of a list.
    pub path: String,
    /// Whether it is a value in a map or list of the manifest; otherwise a field that it says nothing about.
    pub is_value: bool,
    /// Who has it.
    pub manager: String,
    /// When that manager wrote last; empty where the server does not say.
    pub since: String,
}

/// An object and what was changed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDrift {
    /// The object.
    pub key: ObjectKey,
    /// How it stands.
    pub standing: Standing,
    /// The changed fields.
    pub fields: Vec<ChangedField>,
    /// From what is recorded to what is live, masked.
    pub diff: ObjectDiff,
    /// What others added.
    pub additions: Vec<Addition>,
}

impl ObjectDrift {
    /// Tells whether the object drifted. With `strict`, additions count.
    pub fn is_drift(&self, strict: bool) -> bool {
        matches!(self.standing, Standing::Changed | Standing::Missing)
            || (strict && !self.additions.is_empty())
    }
}

/// Returns what was changed in an object of a recorded manifest. `object` was settled and looked at with the recorded
/// form as what is desired.
pub fn drift_of(object: &ObservedObject, rules: &FieldRules, masker: Masker<'_>) -> ObjectDrift {
    let mut drift = ObjectDrift {
        key: object.key.clone(),
        standing: Standing::Clean,
        fields: Vec::new(),
        diff: ObjectDiff::default(),
        additions: Vec::new(),
    };
    let Some(live) = &object.live else {
        drift.standing = match &object.answer {
            // It ended, and went by its own time to live.
            _ if is_passing_job(object) => Standing::Clean,
            ServerAnswer::Unknown { message } => Standing::Unknown(message.clone()),
            _ => Standing::Missing,
        };
        return drift;
    };
    if object.settled.left_alone {
        return drift;
    }
    drift.additions = additions(object, rules);
    let recorded = match &object.answer {
        ServerAnswer::Unasked { .. } => return drift,
        ServerAnswer::Accepted { result, .. } => result.clone(),
        // A live object that the server would not let go back: what differs is told without its defaults.
        ServerAnswer::Refused { .. } => laid_over(live, &object.body),
        ServerAnswer::Later { arrives } => {
            drift.standing = Standing::Unknown(format!("{arrives} is missing"));
            return drift;
        }
        ServerAnswer::Unknown { message } => {
            drift.standing = Standing::Unknown(message.clone());
            return drift;
        }
    };
    let options = DiffOptions { masker, context: CONTEXT_LINES, limit: MOST_LINES };
    drift.diff = diff::object_diff(Some(&recorded), Some(live), &options);
    let writer = |path: &FieldPath| {
        let settled = &object.settled;
        settled
            .taken
            .iter()
            .chain(&settled.refused)
            .find(|field| path.is_in(&field.path) || field.path.is_in(path))
    };
    drift.fields = drift
        .diff
        .changes
        .iter()
        .map(|change| {
            let by = writer(&change.path);
            ChangedField {
                path: change.path.to_string(),
                recorded: change.before.clone(),
                live: change.after.clone(),
                manager: by.map(|field| field.manager.clone()),
                since: by.map(|field| field.since.clone()).filter(|since| !since.is_empty()),
            }
        })
        .collect();
    if !drift.diff.is_empty() {
        drift.standing = Standing::Changed;
    }
    drift
}

fn is_passing_job(object: &ObservedObject) -> bool {
    object.key.gvk.group == "batch"
        && object.key.gvk.kind == "Job"
        && object.body["spec"]["ttlSecondsAfterFinished"].is_number()
}

fn laid_over(live: &Json, desired: &Json) -> Json {
    match (live, desired) {
        (Json::Object(live), Json::Object(desired)) => {
            let mut all = live.clone();
            for (key, value) in desired {
                let below = live.get(key).unwrap_or(&Json::Null);
                all.insert(key.clone(), laid_over(below, value));
            }
            Json::Object(all)
        }
        (Json::Array(live), Json::Array(desired)) if live.len() == desired.len() => {
            live.iter().zip(desired).map(|(live, desired)| laid_over(live, desired)).collect()
        }
        (_, desired) => desired.clone(),
    }
}

/// Returns what others added, each thing once: an element of a list is one thing.
fn additions(object: &ObservedObject, rules: &FieldRules) -> Vec<Addition> {
    let mut found: Vec<Addition> = Vec::new();
    for Contested { path, manager, since } in &object.settled.stays {
        if rules.ignores(&object.key, path) || is_bookkeeping(path) {
            continue;
        }
        let known = (0..path.0.len()).rev().find(|length| {
            let way = FieldPath(path.0[..*length].to_vec());
            way.0.is_empty() || way.find(&object.body).is_some()
        });
        let known = known.unwrap_or_default();
        let (way, first) = (FieldPath(path.0[..known].to_vec()), &path.0[known]);
        let is_value = match first {
            Step::Key(_) => way.keys().next_back().is_some_and(|name| MAPS.contains(&name)),
            Step::Index(_) | Step::Match(_) | Step::Value(_) => true,
        };
        // What stands in no map or list of ours is told as far as it is owned.
        let shown = if is_value { way.join(first.clone()) } else { path.clone() };
        let addition =
            Addition { path: shown.to_string(), is_value, manager: manager.clone(), since: since.clone() };
        if !found.contains(&addition) {
            found.push(addition);
        }
    }
    found.sort();
    found
}

/// What tools note down about their own work.
fn is_bookkeeping(path: &FieldPath) -> bool {
    const KEYS: [&str; 3] = [
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        "kubernetes.io/change-cause",
    ];
    path.keys().next_back().is_some_and(|key| KEYS.contains(&key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::GroupVersionKind;
    use crate::plan::{Around, Settled};

    fn object(live: Option<Json>, result: Json, stays: &[&str]) -> ObservedObject {
        let body = json!({"metadata": {"labels": {"a": "1"}}, "data": {"x": "1"}, "spec": {"list": [{"name": "a"}]}});
        let contested = |path: &&str| Contested {
            path: FieldPath::parse(path),
            manager: "kubectl-edit".to_owned(),
            since: "2026-01-01T00:00:00Z".to_owned(),
        };
        let settled = Settled {
            stays: stays.iter().map(contested).collect(),
            taken: vec![contested(&"data.x")],
            ..Settled::default()
        };
        ObservedObject {
            key: ObjectKey {
                gvk: GroupVersionKind::new("v1", "ConfigMap"),
                namespace: Some("shop".to_owned()),
                name: "a".to_owned(),
            },
            body,
            live,
            answer: ServerAnswer::Accepted { result, warnings: Vec::new() },
            around: Around::default(),
            settled,
        }
    }

    fn rules() -> FieldRules {
        FieldRules::none(&crate::model::ReleaseKey::new("shop", "web"))
    }

    #[test]
    fn a_changed_field_names_who_wrote_it() {
        let object = object(Some(json!({"data": {"x": "2"}})), json!({"data": {"x": "1"}}), &[]);
        let drift = drift_of(&object, &rules(), Masker::new(&[]));
        assert_eq!(drift.standing, Standing::Changed);
        assert_eq!(
            drift.fields,
            [ChangedField {
                path: "data.x".to_owned(),
                recorded: Some("\"1\"".to_owned()),
                live: Some("\"2\"".to_owned()),
                manager: Some("kubectl-edit".to_owned()),
                since: Some("2026-01-01T00:00:00Z".to_owned()),
            }]
        );
        assert!(drift.is_drift(false));
    }

    #[test]
    fn an_object_that_is_gone_is_drift() {
        let drift = drift_of(&object(None, json!({}), &[]), &rules(), Masker::new(&[]));
        assert_eq!((drift.standing.clone(), drift.is_drift(false)), (Standing::Missing, true));
        let mut job = object(None, json!({}), &[]);
        job.key.gvk = GroupVersionKind::new("batch/v1", "Job");
        job.body = json!({"spec": {"ttlSecondsAfterFinished": 5}});
        assert_eq!(drift_of(&job, &rules(), Masker::new(&[])).standing, Standing::Clean);
    }

    #[test]
    fn what_others_added_is_graded_and_counts_only_when_asked_for() {
        let live = || json!({"data": {"x": "1"}});
        let stays = [
            "data.y",
            "metadata.labels.b",
            "spec.list[name=b].name",
            "spec.list[name=b].value",
            "spec.list[name=a].value",
            "spec.paused",
            "metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]",
        ];
        let drift = drift_of(&object(Some(live()), live(), &stays), &rules(), Masker::new(&[]));
        let told: Vec<(&str, bool)> =
            drift.additions.iter().map(|addition| (addition.path.as_str(), addition.is_value)).collect();
        assert_eq!(
            told,
            [
                ("data.y", true),
                ("metadata.labels.b", true),
                ("spec.list[name=a].value", false),
                ("spec.list[name=b]", true),
                ("spec.paused", false),
            ]
        );
        assert_eq!((drift.is_drift(false), drift.is_drift(true)), (false, true));
    }
}
