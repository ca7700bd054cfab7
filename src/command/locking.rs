//! The locks of one run: that of the whole file, and how those of releases are taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::checkout;
use super::prepare::Loaded;
use crate::cluster::Writer;
use crate::dsf::state::{self, DesiredState};
use crate::execute::{Held, LockError, LockOptions, Locks, Past, Patience, Waiting};
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
    /// Where it is kept if no record says another place.
    usual: Option<Name>,
    /// The locks of the releases.
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
                commit: checkout::commit(session),
                clock: Arc::new(clock::SystemClock),
                stop: session.stop.clone(),
                newest_only: state.settings.lock_queue == state::LockQueue::Newest,
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
            name: None,
            usual: namespace(state).map(|namespace| Name::context(namespace, &state.context)),
            others: state
                .releases
                .iter()
                .map(|release| Name::release(&release.key.namespace, &release.key.name))
                .collect(),
            held: None,
            context: state.context.clone(),
        }
    }

    /// Returns how releases are locked.
    pub(super) fn locks(&self) -> Option<Arc<Locks>> {
        self.locks.clone()
    }

    /// Puts the lock of the file where the last run had it, as records tell: namespaces come and go, and everybody has to
    /// look in the same one. Once it is held it stays.
    pub(super) fn put(&mut self, place: Option<&str>) {
        if self.held.is_none() {
            let name = place.map(|namespace| Name::context(namespace, &self.context));
            self.name = name.filter(|_| self.usual.is_some()).or_else(|| self.usual.clone());
        }
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
        let (Some(locks), Some(name)) = (self.locks.clone(), self.name.clone()) else { return Ok(false) };
        if self.held.is_some() {
            return Ok(false);
        }
        match self.take_at(&locks, &name).await {
            // The namespace of the last run is gone.
            Err(LockError::NoNamespace { .. }) if self.usual.as_ref().is_some_and(|usual| *usual != name) => {
                self.name = self.usual.clone();
                let usual = self.usual.clone().unwrap_or(name);
                match self.take_at(&locks, &usual).await {
                    Err(LockError::NoNamespace { .. }) => Ok(false),
                    taken => taken.map_err(|error| failure(&self.context, &error)),
                }
            }
            Err(LockError::NoNamespace { .. }) => Ok(false),
            taken => taken.map_err(|error| failure(&self.context, &error)),
        }
    }

    async fn take_at(&mut self, locks: &Arc<Locks>, name: &Name) -> Result<bool, LockError> {
        let said = std::sync::Mutex::new(BTreeSet::new());
        let told = |waiting: Waiting<'_>| {
            let mut said = said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if said.insert(waiting.holder.to_owned()) {
                self.tell("another run is in progress, waits for it", &waiting);
            }
        };
        let held = locks.acquire(name, &self.others, Patience::Wait, &told).await?;
        let waited = held.waited();
        locks.is_placed(&name.namespace);
        self.held = Some(held);
        Ok(waited)
    }

    fn tell(&self, what: &str, waiting: &Waiting<'_>) {
        ui::message(&format!("context {}: {what}: {}", self.context, waiting.holder));
    }

    /// Where nothing is to be done, looks whether a run that is dead left the lock of the file behind, and takes it then.
    /// Returns whether one did: what was planned while it was alive may no longer hold.
    pub(super) async fn take_dead(&mut self) -> bool {
        let (Some(locks), Some(name)) = (&self.locks, &self.name) else { return false };
        if self.held.is_none() {
            let told = |waiting: Waiting<'_>| {
                self.tell("another run has the lock, looks whether it is alive", &waiting);
            };
            let held = locks.take_dead(name, &self.others, &told).await;
            self.held = held;
            return self.held.is_some();
        }
        false
    }

    /// Gives the lock of the file back; and if it was taken from a run that is dead, those of its releases that it left.
    pub(super) async fn close(self) {
        let Some(held) = self.held else { return };
        if let (Past::Silent, Some(locks)) = (held.past(), &self.locks) {
            locks.free_dead(&self.others).await;
        }
        held.release().await;
    }
}

fn failure(context: &str, error: &LockError) -> Failure {
    let class = match error {
        LockError::Held { .. } | LockError::Superseded { .. } => FailureClass::Locked,
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

/// The lock of a file is kept where the last run kept it, and where none did, in the first namespace, by name, of its
/// releases: that is the same one for everybody who has the file.
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
        run: lock::run_number(environment),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        context: context.to_owned(),
        operation: operation.to_owned(),
        started_at: format!("{:.0}", clock::now()),
    }
}
