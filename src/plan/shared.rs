//! Objects that more than one release, or one chart twice, wants to have.

use std::collections::{BTreeMap, BTreeSet};

use super::input::PlanInput;
use super::judge;
use super::reason::Reason;
use super::steps::{Apply, Work};
use super::{Action, ReleasePlan};
use crate::model::{ObjectKey, ReleaseKey};

/// Returns a reason for each object that a chart renders more than once.
pub(super) fn doubled(applies: &[Apply]) -> Vec<Reason> {
    let mut seen = BTreeSet::new();
    let again = applies.iter().filter(|step| !seen.insert(stored(&step.key)));
    let reason =
        |step: &Apply| Reason::AppliedTwice { object: step.key.clone(), by: "the same chart".to_owned() };
    again.map(reason).collect()
}

/// What makes two keys mean the same stored object: the version of the API is only a view on it.
fn stored(key: &ObjectKey) -> (&str, &str, Option<&str>, &str) {
    (&key.gvk.group, &key.gvk.kind, key.namespace.as_deref(), &key.name)
}

/// Two releases of a run cannot have the same object: the second would take it from the first. The one that the
/// live object belongs to keeps it, else the first by name.
pub(super) fn block_shared_objects(input: &PlanInput, releases: &mut [ReleasePlan]) {
    let mut owners: BTreeMap<(String, String, Option<String>, String), ReleaseKey> = BTreeMap::new();
    let owned = |key: &ObjectKey| {
        let (group, kind, namespace, name) = stored(key);
        (group.to_owned(), kind.to_owned(), namespace.map(str::to_owned), name.to_owned())
    };
    for wanted in &input.wanted {
        if let Some(Ok(content)) = &wanted.content {
            for object in &content.objects {
                let live = object.live.as_ref().and_then(judge::owner_of);
                if live.as_ref() == Some(&wanted.release.key) {
                    owners.insert(owned(&object.key), wanted.release.key.clone());
                }
            }
        }
    }
    for plan in releases.iter_mut() {
        let Work::Deploy(deploy) = &plan.work else { continue };
        let mut taken = Vec::new();
        for step in &deploy.applies {
            let owner = owners.entry(owned(&step.key)).or_insert_with(|| plan.key.clone());
            if *owner != plan.key {
                taken.push(Reason::AppliedTwice { object: step.key.clone(), by: format!("release {owner}") });
            }
        }
        if !taken.is_empty() {
            plan.action = Action::Blocked;
            plan.reasons = taken;
            plan.work = Work::Nothing;
        }
    }
}
