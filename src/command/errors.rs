//! Releases that are blocked because something did not work, as against those that a guard refuses.

use crate::failure::{Failure, FailureClass};
use crate::plan::{Action, Plan, Reason, ReleasePlan, check};
use crate::ui;

/// Fails on a plan that breaks its own rules: better not to act than to act on it.
pub(super) fn checked(plan: &Plan) -> Result<(), Failure> {
    let findings = check::check(plan);
    if findings.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(FailureClass::Failed, "the plan contradicts itself; nothing was done");
    let failure = findings.into_iter().fold(failure, Failure::cause);
    Err(failure
        .hint("this is a fault of statectl: please report it with the output of `statectl plan -o json`"))
}

/// Writes an error block for each release that could not be judged, and tells whether there is one.
pub(super) fn show(plan: &Plan) -> bool {
    let mut found = false;
    for release in &plan.releases {
        if let Some(reason) = fault(release) {
            found = true;
            let failure = Failure::new(FailureClass::Failed, format!("release {}: {reason}", release.key));
            ui::message(&failure.hint(hint(reason)).to_string());
        }
    }
    found
}

/// Writes an error block if the server warns about an object that would be applied, and tells whether it does.
pub(super) fn warned(plan: &Plan) -> bool {
    let applied = plan.releases.iter().filter(|release| release.action.is_change());
    let objects = applied.flat_map(|release| &release.objects).filter(|object| object.is_applied());
    let texts: Vec<String> = objects.flat_map(crate::plan::ObjectPlan::told_warnings).collect();
    if texts.is_empty() {
        return false;
    }
    let failure = Failure::new(FailureClass::Refused, "the server warns about what would be applied");
    let failure = texts.into_iter().fold(failure, Failure::cause);
    ui::message(&failure.hint("without `--warnings-as-errors` it would be applied all the same").to_string());
    true
}

/// Tells whether a chart of the run cannot be rendered.
pub(super) fn not_rendered(plan: &Plan) -> bool {
    plan.releases.iter().filter_map(fault).any(|reason| matches!(reason, Reason::NotRendered { .. }))
}

fn fault(release: &ReleasePlan) -> Option<&Reason> {
    let faults = |reason: &&Reason| matches!(reason, Reason::NotRendered { .. } | Reason::Unreadable { .. });
    release.reasons.iter().filter(|_| release.action == Action::Blocked).find(faults)
}

fn hint(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotRendered { .. } => {
            "`statectl template NAME CHART -n NAMESPACE -f VALUES` renders the chart by itself, without a cluster"
        }
        _ => {
            "nothing is known about the release without it; the rights or the server named above are what is missing"
        }
    }
}
