//! Locks on the real server: taking, keeping and giving them back.
//!
//! What a lock means is decided in [`crate::lock`]; this is the traffic. A free lock costs two requests: it is created,
//! and removed at the end. Writes that rest on it go through its [`Gate`], which stays shut once the lock is lost.

mod error;
mod held;
mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;

pub use error::LockError;
pub use held::Held;
use queue::Queue;

use crate::cluster::{ApiError, Deadline, Resource, Writer};
use crate::history::Operation;
use crate::host::clock::Clock;
use crate::host::signals::Stop;
use crate::lock::{self, Info, Kind, Moment, Name, Sight, Standing, Times, Version, Watch};

/// Locks looked at side by side.
const SIDE_BY_SIDE: usize = 8;

/// How locks are taken in one run.
pub struct Locks {
    writer: Writer,
    kind: Kind,
    times: Times,
    info: Info,
    commit: Option<String>,
    clock: Arc<dyn Clock>,
    stop: Stop,
    /// How long a lock of somebody else is waited for.
    wait: Duration,
    /// What was seen of each lock that somebody else holds.
    watches: Mutex<BTreeMap<Name, Watch>>,
    /// The processes whose lock of the file was silent for long enough. Whatever such a process does rests on that lock
    /// too, so its locks of releases are as dead, and none of them has to be watched anew.
    dead: Mutex<BTreeSet<String>>,
    /// The namespace of the lock of the context, once it is held.
    place: OnceLock<String>,
    newest_only: bool,
}

/// What the locks of a run are made with.
pub struct LockOptions {
    /// The kind of object.
    pub kind: Kind,
    /// The silence after which a holder counts as dead.
    pub lease: Duration,
    /// How long a lock of somebody else is waited for.
    pub wait: Duration,
    /// What this process says about itself.
    pub info: Info,
    /// The commit that the desired-state file is checked out at, for the records.
    pub commit: Option<String>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Asks for the end.
    pub stop: Stop,
    /// Whether a run that waits for the lock of its context ends when a newer one waits too.
    pub newest_only: bool,
}

/// What is told while a lock is waited for.
pub struct Waiting<'a> {
    /// The holder.
    pub holder: &'a str,
    /// How long it was silent, as far as it was watched.
    pub silence: Duration,
}

/// How a lock is taken from somebody who is not silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It is not.
    Wait,
    /// At once: its holder stops at its next renewal, and whoever takes it has to wait that long.
    Evict,
}

impl Locks {
    /// Prepares; nothing is sent yet.
    pub fn new(writer: &Writer, options: LockOptions) -> Arc<Self> {
        Arc::new(Self {
            // A renewal must not wait behind hundreds of dry runs.
            writer: writer.aside(),
            kind: options.kind,
            times: Times::of(options.lease),
            info: options.info,
            commit: options.commit,
            clock: options.clock,
            stop: options.stop,
            wait: options.wait,
            watches: Mutex::default(),
            dead: Mutex::default(),
            place: OnceLock::new(),
            newest_only: options.newest_only,
        })
    }

    /// Returns what the objects are made of.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the times.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Returns what the records of an operation say that runs under a lock of this run.
    pub(super) fn operation(&self, fence: (&str, u64)) -> Operation {
        let operation = Operation::new(&self.info.id, &self.info.line(), fence, self.times.lease_seconds());
        operation.in_place(self.place.get().cloned().unwrap_or_default()).from_commit(self.commit.clone())
    }

    /// Tells the records of this run where the lock of its context is kept.
    pub fn is_placed(&self, namespace: &str) {
        self.place.get_or_init(|| namespace.to_owned());
    }

    /// Takes a lock. While somebody else holds it, it is watched, and so are the locks of `others`, so that taking
    /// them afterwards does not begin to wait anew.
    ///
    /// # Errors
    /// It is held for longer than this run waits, or cannot be had at all.
    pub async fn acquire(
        self: &Arc<Self>,
        name: &Name,
        others: &[Name],
        patience: Patience,
        told: &(dyn Fn(Waiting<'_>) + Sync),
    ) -> Result<Held, LockError> {
        let mut queue = (self.newest_only && name.is_of_a_file()).then(|| Queue::of(name));
        let held = self.acquire_in(&mut queue, name, others, patience, told).await;
        if let Some(queue) = queue {
            queue.leave(self).await;
        }
        held
    }

    async fn acquire_in(
        self: &Arc<Self>,
        queue: &mut Option<Queue>,
        name: &Name,
        others: &[Name],
        patience: Patience,
        told: &(dyn Fn(Waiting<'_>) + Sync),
    ) -> Result<Held, LockError> {
        let began = self.clock.watching();
        let mut watch = self.take_watch(name);
        // When the first request was sent that may have taken the lock without a word of it.
        let mut open: Option<Moment> = None;
        let mut exists = false;
        let mut waited = false;
        loop {
            if !exists {
                let sent = self.clock.holding();
                let object = lock::created_object(self.kind, name, &self.times, &self.info, &self.now());
                match self.store(name, &object).await {
                    Ok(sight) => {
                        return Ok(self.held(name, open.unwrap_or(sent), sight, Past::Fresh, waited));
                    }
                    Err(error) if error.is_status(409) => {}
                    Err(error) if error.leaves_open() => drop(open.get_or_insert(sent)),
                    Err(error) => return Err(LockError::of(self.kind, name, error)),
                }
            }
            let asked = self.clock.watching();
            let found = self.read(name).await;
            let answered = self.clock.watching();
            let sight = match found {
                Ok(Some(sight)) => sight,
                Ok(None) => {
                    exists = false;
                    if let Some(error) = self.is_over(began) {
                        return Err(error(String::new()));
                    }
                    self.pause(began, self.times.retry / 8).await?;
                    continue;
                }
                Err(error) if error.leaves_open() && self.is_over(began).is_none() => {
                    self.pause(began, self.times.retry).await?;
                    continue;
                }
                Err(error) => return Err(LockError::of(self.kind, name, error)),
            };
            exists = true;
            if sight.holder == self.info.id
                && let Some(sent) = open
            {
                return Ok(self.held(name, sent, sight, Past::Fresh, waited));
            }
            let standing = if sight.is_foreign() {
                Standing::Held { silence: Duration::ZERO }
            } else if self.is_dead(&sight) {
                Standing::Silent
            } else {
                watch.look(&sight, asked, answered)
            };
            let past = match standing {
                Standing::Free => Some(Past::Free),
                Standing::Silent => Some(Past::Silent),
                Standing::Held { .. } if patience == Patience::Evict && !sight.is_foreign() => {
                    Some(Past::Evicted(sight.seconds))
                }
                Standing::Held { .. } => None,
            };
            if let Some(past) = past {
                self.note_dead(name, &sight, past);
                let sent = self.clock.holding();
                let object =
                    lock::acquired_object(self.kind, name, &self.times, &self.info, &sight, &self.now());
                match self.store(name, &object).await {
                    Ok(taken) => {
                        return Ok(self.held(name, open.unwrap_or(sent), taken, past, waited));
                    }
                    // Somebody was faster, or it is gone.
                    Err(error) if error.is_status(409) || error.is_status(404) => {}
                    Err(error) if error.leaves_open() => drop(open.get_or_insert(sent)),
                    Err(error) => return Err(LockError::of(self.kind, name, error)),
                }
                continue;
            }
            let Standing::Held { silence } = standing else { continue };
            let holder = sight.who();
            if let Some(error) = self.is_over(began) {
                return Err(error(holder));
            }
            told(Waiting { holder: &holder, silence });
            if !waited {
                waited = true;
                self.glance(others).await;
            }
            if let Some(queue) = queue {
                queue.wait(self).await?;
            }
            // The moment at which it will have been silent for long enough, if it stays so.
            let rest = Duration::from_secs(sight.seconds.into()).saturating_sub(silence);
            self.pause(began, self.times.retry.min(rest.max(Duration::from_millis(50)))).await?;
        }
    }

    /// Takes a lock whose holder is dead: it is watched until it changes, or was silent for long enough. Nothing if it is
    /// free, or somebody is alive, or that cannot be told. Meanwhile the locks of `others` are watched too.
    pub async fn take_dead(
        self: &Arc<Self>,
        name: &Name,
        others: &[Name],
        told: &(dyn Fn(Waiting<'_>) + Sync),
    ) -> Option<Held> {
        let began = self.clock.watching();
        let mut watch = self.take_watch(name);
        let mut first: Option<Version> = None;
        loop {
            let asked = self.clock.watching();
            let sight = self.read(name).await.ok()??;
            let standing = watch.look(&sight, asked, self.clock.watching());
            if sight.is_foreign() || first.as_ref().is_some_and(|first| *first != sight.version) {
                return None;
            }
            match standing {
                Standing::Free => return None,
                Standing::Silent => return self.take_silent(name, &sight).await,
                Standing::Held { silence } => {
                    if first.is_none() {
                        told(Waiting { holder: &sight.who(), silence });
                        self.glance(others).await;
                    }
                    first = Some(sight.version);
                    let rest = Duration::from_secs(sight.seconds.into()).saturating_sub(silence);
                    let pause = self.times.retry.min(rest.max(Duration::from_millis(50)));
                    if self.is_over(began).is_some() || self.pause(began, pause).await.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    fn note_dead(&self, name: &Name, sight: &Sight, past: Past) {
        if past == Past::Silent && name.is_of_a_file() {
            self.dead.lock().unwrap_or_else(PoisonError::into_inner).insert(sight.holder.clone());
        }
    }

    fn is_dead(&self, sight: &Sight) -> bool {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).contains(&sight.holder)
    }

    async fn take_silent(self: &Arc<Self>, name: &Name, sight: &Sight) -> Option<Held> {
        self.note_dead(name, sight, Past::Silent);
        let sent = self.clock.holding();
        let object = lock::acquired_object(self.kind, name, &self.times, &self.info, sight, &self.now());
        let taken = self.store(name, &object).await.ok()?;
        Some(self.held(name, sent, taken, Past::Silent, true))
    }

    /// Gives back those of these locks whose holders are known to be dead: whoever needs one of them next would have to
    /// wait. Waits for none.
    pub async fn free_dead(self: &Arc<Self>, names: &[Name]) {
        let looks = names.iter().map(|name| async move {
            let mut watch = self.take_watch(name);
            let asked = self.clock.watching();
            if let Ok(Some(sight)) = self.read(name).await
                && !sight.is_foreign()
                && (self.is_dead(&sight) || watch.look(&sight, asked, asked) == Standing::Silent)
                && let Some(held) = self.take_silent(name, &sight).await
            {
                held.release().await;
            }
        });
        futures::stream::iter(looks).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<()>>().await;
    }

    /// Looks once at locks that will be wanted: from now on their silence counts.
    async fn glance(&self, names: &[Name]) {
        let looks = names.iter().map(|name| async move {
            let asked = self.clock.watching();
            let found = self.read(name).await;
            let answered = self.clock.watching();
            if let Ok(Some(sight)) = found {
                let mut watch = self.take_watch(name);
                watch.look(&sight, asked, answered);
                self.watches().insert(name.clone(), watch);
            }
        });
        futures::stream::iter(looks).buffer_unordered(SIDE_BY_SIDE).collect::<Vec<()>>().await;
    }

    /// Returns what a lock says now; nothing if there is none.
    pub async fn read(&self, name: &Name) -> Result<Option<Sight>, ApiError> {
        let reader = self.writer.reader();
        let found = reader
            .get_within(&self.resource(), Some(&name.namespace), &name.object, self.times.answer())
            .await?;
        Ok(found.map(|object| lock::read(self.kind, &object)))
    }

    fn held(self: &Arc<Self>, name: &Name, sent: Moment, sight: Sight, past: Past, waited: bool) -> Held {
        Held::keep(Arc::clone(self), name.clone(), sent, sight, past, waited)
    }

    async fn store(&self, name: &Name, object: &serde_json::Value) -> Result<Sight, ApiError> {
        let namespace = Some(name.namespace.as_str());
        let answer = self.writer.store(&self.resource(), namespace, object, self.deadline()).await?;
        Ok(lock::read(self.kind, &answer.body))
    }

    async fn remove(&self, name: &Name, version: &Version) -> Result<(), ApiError> {
        let version = (version.uid.as_str(), version.resource_version.as_str());
        let namespace = Some(name.namespace.as_str());
        self.writer.delete_version(&self.resource(), namespace, &name.object, version, self.deadline()).await
    }

    /// Returns the time now, for people.
    fn now(&self) -> String {
        format!("{:.6}", self.clock.wall())
    }

    fn deadline(&self) -> Deadline {
        Deadline { server: self.times.write, answer: self.times.answer() }
    }

    fn resource(&self) -> Resource {
        match self.kind {
            Kind::Lease => Resource::leases(),
            Kind::Secret => Resource::secrets(),
        }
    }

    /// Returns how to end if the time to wait is over.
    fn is_over(&self, began: Moment) -> Option<impl FnOnce(String) -> LockError> {
        let waited = self.clock.watching().since(began);
        (waited >= self.wait).then_some(move |holder| LockError::Held { holder, waited })
    }

    /// Waits, but not beyond the time that this run waits, nor after it was asked to stop.
    async fn pause(&self, began: Moment, time: Duration) -> Result<(), LockError> {
        let rest = self.wait.saturating_sub(self.clock.watching().since(began));
        tokio::select! {
            () = tokio::time::sleep(time.min(rest)) => Ok(()),
            signal = self.stop.wait() => Err(LockError::Interrupted { signal }),
        }
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<Name, Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_watch(&self, name: &Name) -> Watch {
        self.watches().remove(name).unwrap_or_default()
    }
}

/// How a lock was when it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// It was not there.
    Fresh,
    /// It was there, and nobody held it.
    Free,
    /// Its holder had been silent for as long as it promised not to be.
    Silent,
    /// It was taken from its holder, which counts as dead after so many seconds of silence.
    Evicted(u32),
}
