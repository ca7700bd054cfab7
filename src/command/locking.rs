//! The locks of one run: that of the whole file, and how those of releases are taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::prepare::Loaded;
use crate::cluster::Writer;
use crate::dsf::state::{self, DesiredState};
use crate::execute::{Held, LockError, LockOptions, Locks, Patience, Waiting};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::Signal;
use crate::host::{clock, env, random};
use crate::lock::{self, Info, Kind, LOCK_FORMAT, Name};
use crate::ui;

/// The locks of a run.
pub(super) struct Locking {
    locks: Option<Arc<Locks>>,
    /// The lock of the file; nothing where no release has a namespace.
    name: Option<Name>,
    /// The locks that will be wanted.
    others: Vec<Name>,
    held: Option<Held>,
    context: String,
}

impl Locking {
    /// Prepares; nothing is sent yet.
    pub(super) fn of(
        session: &Session,
        loaded: &Loaded,
        writer: &Writer,
        operation: &str,
        wait: Option<Duration>,
    ) -> Self {
        let state = &loaded.state;
        let locks = kind(state.settings.lock).map(|kind| {
            let options = LockOptions {
                kind,
                lease: state.settings.lease_duration,
                wait: wait.unwrap_or(state.settings.lock_wait),
                info: info(&session.environment, &state.context, operation),
                clock: Arc::new(clock::SystemClock),
                stop: session.stop.clone(),
            };
            Locks::new(writer, options)
        });
        if locks.is_none() {
            ui::message(
                "warning: `settings.lock = \"none\"`: nothing keeps other runs from writing at the same time",
            );
        }
        Self {
            locks,
            name: namespace(state).map(|namespace| Name::context(namespace, &state.context)),
            others: loaded.selected.iter().map(|key| Name::release(&key.namespace, &key.name)).collect(),
            held: None,
            context: state.context.clone(),
        }
    }

    /// Returns how releases are locked.
    pub(super) fn locks(&self) -> Option<Arc<Locks>> {
        self.locks.clone()
    }

    /// Tells whether the lock of the file is still to be taken.
    pub(super) fn is_open(&self) -> bool {
        self.locks.is_some() && self.name.is_some() && self.held.is_none()
    }

    /// Returns a writer that stops when the lock of the file is lost.
    pub(super) fn behind(&self, writer: &Writer) -> Writer {
        self.held.as_ref().map_or_else(|| writer.clone(), |held| writer.behind(held.gate()))
    }

    /// Takes the lock of the file, if it is not held yet. While its namespace is not there, it is not taken.
    /// Returns whether another run was waited for.
    ///
    /// # Errors
    /// Another run holds it for longer than this one waits, or it cannot be had.
    pub(super) async fn take(&mut self) -> Result<bool, Failure> {
        let (Some(locks), Some(name)) = (&self.locks, &self.name) else { return Ok(false) };
        if self.held.is_some() {
            return Ok(false);
        }
        let said = std::sync::Mutex::new(BTreeSet::new());
        let told = |waiting: Waiting<'_>| {
            let mut said = said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if said.insert(waiting.holder.to_owned()) {
                ui::message(&format!(
                    "context {}: another run is in progress, waits for it: {}",
                    self.context, waiting.holder
                ));
            }
        };
        match locks.acquire(name, &self.others, Patience::Wait, &told).await {
            Ok(held) => {
                let waited = held.waited();
                self.held = Some(held);
                Ok(waited)
            }
            Err(LockError::NoNamespace { .. }) => Ok(false),
            Err(error) => Err(failure(&self.context, &error)),
        }
    }

    /// Gives the lock of the file back.
    pub(super) async fn close(self) {
        if let Some(held) = self.held {
            held.release().await;
        }
    }
}

fn failure(context: &str, error: &LockError) -> Failure {
    let class = match error {
        LockError::Held { .. } => FailureClass::Locked,
        LockError::Interrupted { signal: Signal::Hangup } => FailureClass::HungUp,
        LockError::Interrupted { signal: Signal::Interrupt } => FailureClass::Interrupted,
        LockError::Interrupted { signal: Signal::Terminate } => FailureClass::Terminated,
        LockError::Denied { .. } | LockError::NoNamespace { .. } | LockError::Failed { .. } => {
            FailureClass::Failed
        }
    };
    let failure = Failure::new(class, format!("context {context}: {error}; nothing was written"));
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Returns what locks are made of; nothing where there are to be none.
pub(super) fn kind(lock: state::Lock) -> Option<Kind> {
    match lock {
        state::Lock::Lease => Some(Kind::Lease),
        state::Lock::Secret => Some(Kind::Secret),
        state::Lock::None => None,
    }
}

/// The lock of a file is kept in the first namespace, by name, of its releases: that is the same one for everybody who
/// has the file.
pub(super) fn namespace(state: &DesiredState) -> Option<&str> {
    let of = |enabled: bool| {
        let releases = state.releases.iter().filter(move |release| release.enabled || !enabled);
        releases.map(|release| release.key.namespace.as_str()).min()
    };
    of(true).or_else(|| of(false))
}

/// Returns what this process says about itself.
pub(super) fn info(environment: &BTreeMap<String, String>, context: &str, operation: &str) -> Info {
    let id = random::bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
    let (who, pid) = env::who();
    Info {
        format: LOCK_FORMAT.to_owned(),
        id,
        who,
        pid,
        job: lock::job_url(environment),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        context: context.to_owned(),
        operation: operation.to_owned(),
        started_at: format!("{:.0}", clock::now()),
    }
}
