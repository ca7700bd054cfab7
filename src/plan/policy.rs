//! How much a reconciliation may change by itself: what goes beyond is held, and told like everything else.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use super::input::PlanInput;
use super::reason::Reason;
use super::steps::Work;
use super::{Action, ObjectAction, ReleasePlan};
use crate::model::ReleaseKey;

/// The first wait after a failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// No wait is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What `reconcile` may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Bring back what moved since the last revision, and finish what was interrupted. No new chart, values or release.
    Drift,
    /// Everything but what removes or re-creates something.
    Safe,
    /// What `apply` does.
    All,
}

impl Policy {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Drift => "drift",
            Policy::Safe => "safe",
            Policy::All => "all",
        }
    }
}

/// Refuses what would go back to an older commit, and holds the releases that need more than the policy of the run allows.
pub(super) fn hold(input: &PlanInput, releases: &mut [ReleasePlan]) {
    refuse_older(input, releases);
    let Some(policy) = input.policy else { return };
    for plan in releases.iter_mut().filter(|plan| plan.action.is_change()) {
        if let Some(why) = beyond(policy, plan) {
            plan.reasons.insert(0, Reason::BeyondPolicy { policy: policy.name(), why });
            plan.action = Action::Blocked;
            plan.work = Work::Nothing;
        }
    }
}

/// A pipeline of an older commit that is run again would undo what a newer one rolled out.
fn refuse_older(input: &PlanInput, releases: &mut [ReleasePlan]) {
    let Some(checkout) = &input.checkout else { return };
    let wanted =
        input.wanted.iter().filter_map(|wanted| Some((&wanted.release.key, wanted.history.as_ref().ok()?)));
    let strays = input.strays.iter().map(|stray| (&stray.key, &stray.history));
    // Only what was written for this context: another file may be in another repository.
    let commits: BTreeMap<&ReleaseKey, String> = wanted
        .chain(strays)
        .filter_map(|(key, history)| {
            let latest = history.latest().filter(|record| record.context() == Some(&input.context))?;
            Some((key, latest.operation()?.commit?))
        })
        .collect();
    let is_newer = |commit: &&String| checkout.newer.contains(*commit);
    // One that is not there may have been removed by a newer commit: any of them will do.
    let any = commits.values().find(is_newer);
    for plan in releases.iter_mut().filter(|plan| plan.action.is_change()) {
        let newer = match commits.get(&plan.key) {
            Some(own) => Some(own).filter(is_newer),
            None if plan.revision.is_none() => any,
            None => None,
        };
        if let Some(newer) = newer {
            let (ours, theirs) = (checkout.commit.clone(), newer.clone());
            plan.reasons.insert(0, Reason::OlderCommit { ours, theirs });
            plan.action = Action::Blocked;
            plan.work = Work::Nothing;
        }
    }
}

/// Why a plan goes beyond a policy, if it does.
fn beyond(policy: Policy, plan: &ReleasePlan) -> Option<String> {
    match policy {
        Policy::All => None,
        Policy::Safe => {
            if matches!(plan.action, Action::Uninstall) {
                return Some("it would be uninstalled".to_owned());
            }
            let lost = |action: ObjectAction| matches!(action, ObjectAction::Delete | ObjectAction::Replace);
            let object = plan.objects.iter().find(|object| lost(object.action))?;
            let verb = if object.action == ObjectAction::Delete { "deleted" } else { "re-created" };
            Some(format!("{} would be {verb}", object.key))
        }
        Policy::Drift => {
            let change = plan.reasons.iter().find(|reason| {
                !matches!(
                    reason,
                    Reason::Drifted { .. }
                        | Reason::ObjectMissing { .. }
                        | Reason::LastFailed { .. }
                        | Reason::Interrupted(_)
                        | Reason::WaitsForBlocked { .. }
                )
            });
            change.map(|reason| format!("it is no drift: {reason}"))
        }
    }
}

/// Returns how long a reconciliation waits after this many failures with the same input.
pub(super) fn wait_after(failures: usize) -> SignedDuration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
    SignedDuration::try_from(wait).unwrap_or(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_an_hour() {
        for (failures, minutes) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (400, 60)] {
            assert_eq!(wait_after(failures), SignedDuration::from_mins(minutes), "{failures}");
        }
    }
}
