//! Which commit the files are of, and whether a newer one was rolled out.

use std::collections::BTreeSet;

use super::Session;
use crate::fetch::git;
use crate::history::History;
use crate::host;
use crate::plan::{Checkout, Operation, Stray, Wanted};

/// Returns the commit that the first desired-state file is checked out at.
pub(super) fn commit(session: &Session) -> Option<String> {
    session.files.states.first()?.parent().and_then(host::git::commit_of)
}

/// Returns the commit of the files with those of the records of this context that come after it, and what cannot be told.
/// git is asked only where a record names another commit.
pub(super) async fn look(
    session: &Session,
    context: &str,
    operation: Operation,
    wanted: &[Wanted],
    strays: &[Stray],
) -> (Option<Checkout>, Option<String>) {
    let asks = operation == Operation::Reconcile && session.back_to.is_none() && !session.files.allow_older;
    let Some(commit) = commit(session).filter(|_| asks) else { return (None, None) };
    let histories = wanted.iter().filter_map(|wanted| wanted.history.as_ref().ok());
    let latest = histories.chain(strays.iter().map(|stray| &stray.history)).filter_map(History::latest);
    let of_context = latest.filter(|record| record.context() == Some(context));
    let mut named: BTreeSet<String> = of_context.filter_map(|record| record.operation()?.commit).collect();
    named.remove(&commit);
    let Some(folder) = session.files.states.first().and_then(|path| path.parent()) else {
        return (None, None);
    };
    // The parent of `a.toml` is the empty path.
    let folder = if folder.as_os_str().is_empty() { std::path::Path::new(".") } else { folder };
    let mut newer = BTreeSet::new();
    let mut unknown = None;
    for other in named {
        match git::is_ancestor(folder, &commit, &other).await {
            Ok(Some(true)) => drop(newer.insert(other)),
            Ok(Some(false)) => {}
            Ok(None) => {
                unknown = Some((
                    other,
                    "this clone does not have it; `fetch-depth: 0` or `GIT_DEPTH: 0` fetches all".to_owned(),
                ))
            }
            Err(error) => unknown = Some((other, error.to_string())),
        }
    }
    let untold = unknown.map(|(other, why)| {
        format!("nobody can tell whether commit {other:.10}, which was rolled out, is newer than {commit:.10} of the files: {why}")
    });
    (Some(Checkout { commit, newer }), untold)
}
