//! What may be taken over, and until when; and what stays because it goes from one release to another.
//!
//! `adopt` counts until the first success: the records that it made carry a label, which Helm carries over to the
//! records that it makes. What comes later and belongs to nobody, or to somebody else, is not taken over by a line
//! that was written for something else.

use std::collections::BTreeMap;

use super::guard::Keys;
use super::input::{PlanInput, Remnant, Wanted};
use super::judge::{self, Judged};
use crate::dsf::state::{Adopt, Release};
use crate::history::{History, Status};

/// Label of records that were made while everything might be taken over; its value is the context.
const ANY_LABEL: &str = "statectl.io/adopted-any";
/// Label of records that were made while what belongs to nobody might be taken over.
const UNOWNED_LABEL: &str = "statectl.io/adopted-unowned";

/// What may be taken over in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// What may be.
    pub allowed: Adopt,
    /// The revision with which `adopt` had its success; nothing while it counts, or is not asked for.
    pub spent: Option<u64>,
    /// Whether the release itself is taken over.
    pub takes_over: bool,
}

/// Returns what a release may take over for a context.
pub fn adoption(context: &str, release: &Release, history: &History) -> Adoption {
    let spent = history.deployed().filter(|record| {
        let has = |label: &str| record.labels.get(label).is_some_and(|by| by == context);
        match release.adopt {
            Adopt::Never => false,
            Adopt::Unowned => has(UNOWNED_LABEL) || has(ANY_LABEL),
            Adopt::Any => has(ANY_LABEL),
        }
    });
    let spent = spent.map(|record| record.release.version);
    let allowed = if spent.is_some() { Adopt::Never } else { release.adopt };
    let current = history.latest().filter(|latest| latest.release.info.status != Status::Uninstalled);
    let takes_over = current.is_some_and(|latest| match latest.context() {
        Some(owner) => owner != context && allowed == Adopt::Any,
        None => allowed != Adopt::Never,
    });
    Adoption { allowed, spent, takes_over }
}

/// Returns the decision about an object that a release no longer has. One that another release of the file has now
/// is not removed: it would go from under that release.
pub(super) fn remnant(input: &PlanInput, remnant: &Remnant, keys: &Keys) -> Judged {
    let has = |wanted: &&Wanted| match &wanted.content {
        Some(Ok(content)) => content.objects.iter().any(|object| object.key.same_object(&remnant.key)),
        _ => false,
    };
    let others = input.wanted.iter().filter(|wanted| wanted.release.key != *keys.release());
    match others.into_iter().find(has) {
        Some(other) if remnant.live.is_some() => judge::moved(remnant, &other.release.key),
        _ => judge::remnant(remnant, keys),
    }
}

/// Returns what is said about `adopt` lines that have done their work.
pub(super) fn spent(input: &PlanInput) -> impl Iterator<Item = String> {
    input.wanted.iter().filter_map(|wanted| {
        let history = wanted.history.as_ref().ok()?;
        let revision = adoption(&input.context, &wanted.release, history).spent?;
        Some(format!(
            "apps.{}: `adopt` had its success with revision {revision} and takes nothing over any more",
            wanted.release.app
        ))
    })
}

/// Marks the labels of the next record. A file that no longer says `adopt` takes the marks away, so that the line
/// counts anew when it is written again.
pub(super) fn mark(labels: &mut BTreeMap<String, String>, context: &str, release: &Release) {
    let label = match release.adopt {
        Adopt::Never => {
            labels.remove(ANY_LABEL);
            labels.remove(UNOWNED_LABEL);
            return;
        }
        Adopt::Unowned => UNOWNED_LABEL,
        Adopt::Any => ANY_LABEL,
    };
    labels.insert(label.to_owned(), context.to_owned());
}
