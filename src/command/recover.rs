//! `statectl recover`: finishes what was interrupted, and nothing else.

use std::collections::BTreeSet;

use super::output::Outputs;
use super::recovery::is_under_way;
use super::{Console, Ending, Selection, Session, apply};
use crate::failure::Failure;
use crate::observe;
use crate::report;

/// Applies the releases whose newest record says that an operation is under way.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    options: apply::Options,
) -> Result<Ending, Failure> {
    let (loaded, cluster) = session.connected().await?;
    let namespaces: BTreeSet<String> = loaded.selected.iter().map(|key| key.namespace.clone()).collect();
    let mut histories = observe::histories(&cluster.reader, namespaces).await;
    let mut targets = Vec::new();
    for key in &loaded.selected {
        // One whose records cannot be read is blocked by the plan, which tells why.
        if histories.take(key).is_ok_and(|history| !is_under_way(&history)) {
            continue;
        }
        targets.push(key.to_string());
    }
    if targets.is_empty() {
        let (cluster, context) = (&cluster.identity, &loaded.state.context);
        let text = "nothing was interrupted\n".to_owned();
        outputs.write(|_| text.clone(), || report::nothing_json(cluster, context))?;
        return Ok(Ending::default());
    }
    let selection = Selection { targets, ..Selection::default() };
    let session = Session { selection, ..session.clone() };
    apply::run(&session, console, outputs, options).await
}
