//! How much a run may remove because it left the files.

use crate::dsf::state::{DesiredState, MaxPrune};
use crate::plan::Operation;

/// Nothing is removed where it is not certain that the file is all there is.
pub(super) fn withheld(
    state: &DesiredState,
    operation: Operation,
    incomplete: bool,
    allowed: bool,
) -> Option<String> {
    if operation != Operation::Reconcile {
        return None;
    }
    if state.releases.is_empty() && !allowed {
        return Some("the file has no app left; if all are meant to go, add `--allow-prune`".to_owned());
    }
    if incomplete {
        return Some("not every release of the file could be rendered".to_owned());
    }
    None
}

/// Returns how many releases that left the file one run may remove; three always pass.
pub(super) fn most(state: &DesiredState, allowed: bool, total: usize) -> Option<usize> {
    const ALWAYS: usize = 3;
    match state.settings.max_prune {
        _ if allowed => None,
        MaxPrune::Count(count) => Some(count),
        MaxPrune::Percent(percent) => Some((total * usize::from(percent) / 100).max(ALWAYS)),
    }
}
