//! `statectl unlock`: ends the operation of somebody who is gone.

use std::sync::Arc;
use std::time::Duration;

use super::locking;
use super::output::Outputs;
use super::prepare::connect_failure;
use super::recovery::is_under_way;
use super::{Console, Ending};
use crate::cluster::{self, ConnectOptions, Reader, Writer};
use crate::execute::{self, Event, LockOptions, Locks};
use crate::failure::{Failure, FailureClass};
use crate::host::clock;
use crate::host::signals::Stop;
use crate::lock::{Kind, Name};
use crate::model::ReleaseKey;
use crate::observe;
use crate::report;
use crate::ui::{self, progress::Progress};

/// The silence after which our own lock would end.
const LEASE: Duration = Duration::from_secs(30);

/// What is to be unlocked.
pub struct Request {
    /// The release.
    pub release: ReleaseKey,
    /// The revision that was left: whoever names it has looked.
    pub revision: u64,
    /// What its lock is made of, if the command line says so.
    pub kind: Option<Kind>,
    /// The cluster.
    pub connect: ConnectOptions,
    /// The environment, for the CI job.
    pub environment: std::collections::BTreeMap<String, String>,
    /// Asks for the end.
    pub stop: Stop,
}

/// Marks the record of an operation failed, once nobody can be at work on it any more.
pub async fn run(request: &Request, console: Console, outputs: &Outputs) -> Result<Ending, Failure> {
    let connection = cluster::connect(&request.connect).await.map_err(connect_failure)?;
    let discovery = connection.reader.discover().await;
    let unreachable = |error| {
        super::prepare::api_failure(format!("the cluster {} cannot be used", connection.server), &error)
    };
    let discovery = discovery.map_err(unreachable)?;
    let key = &request.release;
    let mut histories = observe::histories(&connection.reader, [key.namespace.clone()]).await;
    let history = histories.take(key).map_err(|message| {
        Failure::new(FailureClass::Failed, format!("the records of {key} cannot be read")).cause(message)
    })?;
    let refused = |message: String| Failure::new(FailureClass::Refused, message);
    let Some(latest) = history.latest() else { return Err(refused(format!("{key} has no record"))) };
    let (revision, status) = (latest.release.version, latest.release.info.status.to_string());
    if revision != request.revision {
        let failure =
            refused(format!("the newest revision of {key} is {revision}, not {}", request.revision));
        return Err(failure.hint("look at it, and name that one if it is meant"));
    }
    if !is_under_way(&history) {
        return Err(refused(format!("revision {revision} of {key} is {status}: there is nothing to unlock")));
    }
    let kind = match request.kind.or_else(|| latest.lock_kind()) {
        Some(kind) => kind,
        None => found_kind(&connection.reader, key).await,
    };
    let writer = Writer::new(connection.reader.clone());
    let context = latest.context().unwrap_or_default().to_owned();
    let locks = Locks::new(
        &writer,
        LockOptions {
            kind,
            lease: LEASE,
            wait: Duration::ZERO,
            info: locking::info(&request.environment, &context, "unlock"),
            clock: Arc::new(clock::SystemClock),
            stop: request.stop.clone(),
            commit: None,
            newest_only: false,
        },
    );
    let progress = Progress::new(console.err, console.live);
    let show = |event: Event| progress.show(&event);
    let run = execute::Run {
        writer: &writer,
        locks: Some(locks),
        discovery,
        hook_logs: false,
        parallel: 1,
        stop_on_error: false,
        environment: std::collections::BTreeMap::new(),
        stop: &request.stop,
        events: &show,
    };
    let done = execute::unlock(latest, run).await;
    done.map_err(|error| {
        Failure::new(FailureClass::Failed, format!("{key} could not be unlocked")).cause(error.text())
    })?;
    let text = format!(
        "{key}: revision {revision} was {status} and is marked failed; the next apply goes on from there\n"
    );
    outputs.write(|_| text.clone(), || report::unlock_json(key, revision, &status))?;
    if outputs.stdout != super::Format::Text {
        ui::message(text.trim_end());
    }
    Ok(Ending { signal: request.stop.asked(), ..Ending::default() })
}

/// Returns what the lock of a release is made of: of which kind there is one, and Leases where there is none.
async fn found_kind(reader: &Reader, key: &ReleaseKey) -> Kind {
    let name = Name::release(&key.namespace, &key.name);
    match observe::lock(reader, Kind::Secret, &name).await {
        Ok(Some(_)) => Kind::Secret,
        _ => Kind::Lease,
    }
}
