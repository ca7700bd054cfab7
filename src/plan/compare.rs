//! What is recorded against what is desired: the reasons for a new revision.

use serde_json::Value as Json;

use super::ObjectAction;
use super::config;
use super::input::Content;
use super::judge::Judged;
use super::leave;
use super::ownership::FieldRules;
use super::reason::Reason;
use super::records::{self, ManifestId};
use crate::dsf::state::OnRemove;
use crate::history::{Chart, History, Record, Status};
use crate::model::ObjectKey;

/// The objects of the manifests that a decision compares.
pub(super) struct Manifests {
    /// Of the revision that an upgrade starts from.
    baseline: Option<Vec<(ManifestId, Json)>>,
    /// Of the newest revision, if that is another one: it failed, and applied what it did.
    newest: Vec<(ManifestId, Json)>,
    /// Nothing if the baseline has the same text.
    desired: Option<Vec<(ManifestId, Json)>>,
}

/// How the recorded form of an object compares with the desired one.
enum Recorded {
    /// There is no record to compare with.
    Nothing,
    /// The record does not have the object.
    Missing,
    /// Both are the same.
    Same,
    /// They differ.
    Different,
}

impl Manifests {
    /// What the rules ignore is left out: it is no difference.
    pub(super) fn new(
        baseline: Option<&Record>,
        newest: Option<&Record>,
        content: &Content,
        rules: &FieldRules,
    ) -> Self {
        let of = |manifest: &str| -> Vec<(ManifestId, Json)> {
            let objects = records::manifest_objects(manifest).into_iter();
            objects.map(|(id, object)| (id.clone(), rules.without_ignored(&id.key(), &object))).collect()
        };
        let objects = |record: &Record| of(&record.release.manifest);
        let other = newest.filter(|newest| baseline.is_none_or(|base| base.object != newest.object));
        Self {
            baseline: baseline.map(objects),
            newest: other.map(objects).unwrap_or_default(),
            desired: baseline
                .is_none_or(|baseline| baseline.release.manifest != content.manifest)
                .then(|| of(&content.manifest)),
        }
    }

    /// Returns the object as a revision applied it last, if one did.
    pub(super) fn last_applied(&self, key: &ObjectKey) -> Option<&Json> {
        find(&self.newest, key).or_else(|| find(self.baseline.as_ref()?, key))
    }

    fn compared(&self, key: &ObjectKey) -> Recorded {
        match &self.baseline {
            None => Recorded::Nothing,
            Some(recorded) => match find(recorded, key) {
                None => Recorded::Missing,
                Some(object)
                    if self.desired.as_ref().is_none_or(|desired| Some(object) == find(desired, key)) =>
                {
                    Recorded::Same
                }
                Some(_) => Recorded::Different,
            },
        }
    }

    /// Tells whether the recorded form of an object is the desired one.
    pub(super) fn is_as_recorded(&self, key: &ObjectKey) -> bool {
        matches!(self.compared(key), Recorded::Same)
    }

    /// Tells whether a Job that is not there was made before, and went by its own time to live.
    pub(super) fn ended_and_gone(&self, key: &ObjectKey, body: &Json) -> bool {
        key.gvk.group == "batch"
            && key.gvk.kind == "Job"
            && body["spec"]["ttlSecondsAfterFinished"].is_number()
            && matches!(self.compared(key), Recorded::Same)
    }
}

fn find<'a>(all: &'a [(ManifestId, Json)], key: &ObjectKey) -> Option<&'a Json> {
    let id = ManifestId::of_key(key);
    all.iter().find(|(other, _)| other.matches(&id)).map(|(_, object)| object)
}

/// Reasons that lie in the records.
pub(super) fn release_reasons(
    history: &History,
    previous: Option<&Record>,
    content: &Content,
    on_remove: OnRemove,
) -> Vec<Reason> {
    let Some(previous) = previous else {
        return vec![match history.latest() {
            Some(latest) => Reason::OnlyHistory { revision: latest.release.version },
            None => Reason::NotInstalled,
        }];
    };
    let mut reasons = Vec::new();
    if previous.release.info.status == Status::Failed {
        reasons.push(Reason::LastFailed {
            revision: previous.release.version,
            description: previous.release.info.description.clone(),
        });
    }
    let (from, to) = (previous.release.chart.as_ref(), &content.chart);
    let text = |chart: Option<&Chart>| {
        chart.map(|chart| (chart.name().to_owned(), chart.version().to_owned())).unwrap_or_default()
    };
    let ((from_name, from_version), (to_name, to_version)) = (text(from), text(Some(to)));
    if from_name != to_name {
        reasons.push(Reason::ChartChanged { from: from_name, to: to_name });
    } else if from_version != to_version {
        reasons.push(Reason::VersionChanged { from: from_version, to: to_version });
    }
    let keys = records::changed_values(&previous.release.config, &content.config);
    if !keys.is_empty() {
        reasons.push(Reason::ValuesChanged { keys });
    }
    if leave::chosen(previous) != on_remove {
        reasons.push(Reason::OnRemoveChanged);
    }
    if records::hooks_differ(&previous.release.hooks, &content.hooks) {
        reasons.push(Reason::HooksChanged);
    }
    reasons
}

/// Reasons that lie in the objects. An object whose recorded form is the desired one, and that would change
/// all the same, was changed in the cluster.
pub(super) fn object_reasons(objects: &[Judged], remnants: &[Judged], manifests: &Manifests) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let (mut changed, mut added) = (0, 0);
    for judged in objects {
        let object = judged.plan.key.clone();
        // However it renders now: it was made, and that is all that is wanted.
        if matches!(judged.plan.reasons.first(), Some(Reason::CreateOnly)) {
            continue;
        }
        match (judged.plan.action, manifests.compared(&object)) {
            (ObjectAction::Keep | ObjectAction::Delete | ObjectAction::Blocked, _) => {}
            (ObjectAction::None, Recorded::Same | Recorded::Nothing) => {}
            // The cluster is as desired, but the record, and what a rollback would bring back, is not.
            (ObjectAction::None, Recorded::Different) => changed += 1,
            (ObjectAction::None, Recorded::Missing) => added += 1,
            (ObjectAction::Create, Recorded::Same) => reasons.push(Reason::ObjectMissing { object }),
            (ObjectAction::Update, Recorded::Same) => {
                let fields = judged.plan.diff.as_ref().map(|diff| diff.paths()).unwrap_or_default();
                if config::is_only_digest(&fields) {
                    changed += 1;
                    continue;
                }
                reasons.push(Reason::Drifted { object, fields });
            }
            (ObjectAction::Create | ObjectAction::Adopt, _) => added += 1,
            (ObjectAction::Update, _) => changed += 1,
            (ObjectAction::Replace, _) => reasons.extend(judged.plan.reasons.first().cloned()),
        }
    }
    let removed = remnants.iter().filter(|judged| judged.delete.is_some()).count();
    // For an install the list of objects says it all.
    if manifests.baseline.is_some() && changed + added + removed > 0 {
        reasons.push(Reason::ManifestChanged { changed, added, removed });
    }
    reasons
}
