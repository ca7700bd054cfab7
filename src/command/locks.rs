//! `statectl locks`: who holds what. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::locking;
use super::output::Outputs;
use super::prepare::api_failure;
use super::{Console, Ending, Session};
use crate::failure::Failure;
use crate::history;
use crate::lock::{Kind, Name, Sight, Times};
use crate::model::ReleaseKey;
use crate::observe;
use crate::report::{self, LockRow};
use crate::text;

/// Looks twice at the locks of the namespaces of a file, and shows who holds them.
pub async fn run(session: &Session, _console: Console, outputs: &Outputs) -> Result<Ending, Failure> {
    session.until_stopped(show(session, outputs)).await
}

async fn show(session: &Session, outputs: &Outputs) -> Result<Ending, Failure> {
    let loaded = session.load()?;
    let cluster = session.open(&loaded.state).await?;
    let settings = &loaded.state.settings;
    let mut namespaces: BTreeSet<String> =
        loaded.state.releases.iter().map(|release| release.key.namespace.clone()).collect();
    let histories = observe::histories(&cluster.reader, namespaces.iter().cloned()).await;
    let mut rows = Vec::new();
    if let Some(place) = place(&histories, &loaded.state.context) {
        namespaces.insert(place);
    }
    for kind in [Kind::Lease, Kind::Secret] {
        let is_ours = locking::kind(settings.lock) == Some(kind);
        let failed = |error| api_failure("the locks cannot be listed", &error);
        let look = async || {
            let mut found: BTreeMap<(String, String), Sight> = BTreeMap::new();
            for namespace in &namespaces {
                let locks = match observe::locks(&cluster.reader, kind, namespace).await {
                    // Nobody has to have rights on what the file does not use.
                    Err(error) if error.is_status(403) && !is_ours => continue,
                    locks => locks.map_err(failed)?,
                };
                found.extend(locks.into_iter().map(|(name, sight)| ((namespace.clone(), name), sight)));
            }
            Ok::<_, Failure>(found)
        };
        let first = look().await?;
        if !first.is_empty() {
            // A holder that is alive renews in this time.
            let times = Times::of(settings.lease_duration);
            tokio::time::sleep(times.retry + times.retry / 4).await;
            for ((namespace, object), sight) in look().await? {
                let silent =
                    first.get(&(namespace.clone(), object.clone())).is_some_and(|then| *then == sight);
                rows.push(row(kind, namespace, &object, &sight, silent, &histories));
            }
        }
    }
    let context = &loaded.state.context;
    outputs.write(|_| table(&rows), || report::locks_json(&cluster.identity, context, &rows))?;
    Ok(Ending::default())
}

/// Returns the namespace in which the lock of the context was kept last.
fn place(histories: &observe::Histories, context: &str) -> Option<String> {
    let keys = histories.of_context(context);
    history::lock_place(keys.iter().filter_map(|key| histories.get(key)), context)
}

fn row(
    kind: Kind,
    namespace: String,
    object: &str,
    sight: &Sight,
    silent: bool,
    histories: &observe::Histories,
) -> LockRow {
    let (scope, name) = Name::subject(object).unwrap_or(("object", object));
    let key = ReleaseKey::new(&namespace, name);
    let history = Some(()).filter(|()| scope == "release").and_then(|()| histories.get(&key));
    let latest = history.and_then(|history| history.latest());
    let state = match (sight.holder.is_empty(), silent) {
        (true, _) => "free",
        (false, true) => "silent",
        (false, false) => "renewed",
    };
    LockRow {
        kind: kind.name(),
        namespace,
        object: object.to_owned(),
        scope,
        name: name.to_owned(),
        state,
        holder: sight.info.clone(),
        id: sight.holder.clone(),
        lease_seconds: sight.seconds,
        revision: latest.map(|latest| latest.release.version),
        status: latest.map(|latest| latest.release.info.status.to_string()),
    }
}

fn table(rows: &[LockRow]) -> String {
    if rows.is_empty() {
        return "nothing is locked\n".to_owned();
    }
    let head = ["LOCK", "STATE", "REVISION", "HOLDER"].map(str::to_owned).to_vec();
    let cells = rows.iter().map(|row| {
        let revision = row.revision.map(|revision| {
            format!("{revision} {}", row.status.as_deref().unwrap_or_default()).trim_end().to_owned()
        });
        vec![
            format!("{} {}/{} ({})", row.scope, row.namespace, row.name, row.kind),
            row.state.to_owned(),
            revision.unwrap_or_else(|| "-".to_owned()),
            row.holder.as_ref().map_or_else(|| row.id.clone(), |holder| holder.line()),
        ]
    });
    text::table(&std::iter::once(head).chain(cells).collect::<Vec<_>>())
}
