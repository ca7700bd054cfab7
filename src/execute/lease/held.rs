//! A lock that is held: renewed until it is given back, and never again once it is lost.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::task::JoinHandle;

use super::{Locks, Past};
use crate::cluster::{Closed, Deadline, Gate};
use crate::lock::{self, Hold, Loss, Moment, Name, Sight, Version};

/// What the renewing task and the writers share.
struct Shared {
    locks: Arc<Locks>,
    name: Name,
    transitions: u64,
    hold: Mutex<Hold>,
    /// One renewal at a time.
    renewing: tokio::sync::Mutex<()>,
    /// What may still be written by a request without an answer.
    doubtful: Mutex<BTreeSet<String>>,
}

/// A held lock. Dropping it stops the renewals; the lock then ends by silence.
pub struct Held {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    past: Past,
    waited: bool,
    uid: String,
}

impl Held {
    #[expect(clippy::disallowed_methods, reason = "the task ends with the lock")]
    pub(super) fn keep(
        locks: Arc<Locks>,
        name: Name,
        sent: Moment,
        sight: Sight,
        past: Past,
        waited: bool,
    ) -> Self {
        let uid = sight.version.uid.clone();
        let hold = Hold::new(locks.times, &locks.info.id, sent, sight.version, sight.seq);
        let shared = Arc::new(Shared {
            locks,
            name,
            transitions: sight.transitions,
            hold: Mutex::new(hold),
            renewing: tokio::sync::Mutex::default(),
            doubtful: Mutex::default(),
        });
        let task = tokio::spawn(keep_renewing(Arc::clone(&shared)));
        Self { shared, task, past, waited, uid }
    }

    /// Returns what every write that rests on this lock has to pass.
    pub fn gate(&self) -> Arc<dyn Gate> {
        Arc::clone(&self.shared) as Arc<dyn Gate>
    }

    /// Returns how the lock was when it was taken.
    pub fn past(&self) -> Past {
        self.past
    }

    /// Tells whether somebody else was waited for.
    pub fn waited(&self) -> bool {
        self.waited
    }

    /// Returns what identifies this hold of it: the object, and how often it had changed hands.
    pub fn fence(&self) -> (&str, u64) {
        (&self.uid, self.shared.transitions)
    }

    /// Returns why the lock is lost, if it is.
    pub fn lost(&self) -> Option<Loss> {
        self.shared.hold().lost().cloned()
    }

    /// Waits until the lock is lost, and returns why.
    pub async fn ended(&mut self) -> String {
        // The task ends with the loss, and else with this.
        drop((&mut self.task).await);
        let loss = self.shared.hold().lost().cloned().unwrap_or(Loss::TooLate);
        self.shared.closed(&loss).0
    }

    /// Gives the lock back. One that is lost is somebody else's; and while a write is in doubt, nobody must think that
    /// nothing of this run can happen any more: then it ends by silence.
    pub async fn release(self) {
        self.task.abort();
        if !self.shared.doubts().is_empty() {
            return;
        }
        let _one = self.shared.renewing.lock().await;
        let (version, seq) = {
            let mut hold = self.shared.hold();
            match hold.begin(self.shared.locks.clock.holding()) {
                Ok(found) => found,
                Err(_) => return,
            }
        };
        if self.shared.give_back(&version, seq).await {
            return;
        }
        // A renewal whose answer was lost has made another version of it: that one is ours too.
        if let Ok(Some(sight)) = self.shared.locks.read(&self.shared.name).await
            && sight.holder == self.shared.locks.info.id
            && sight.version.uid == version.uid
        {
            self.shared.give_back(&sight.version, sight.seq + 1).await;
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("name", &self.shared.name)
            .field("past", &self.past)
            .finish_non_exhaustive()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep_renewing(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(shared.locks.times.retry).await;
        if shared.renew_once().await.is_err() {
            return;
        }
    }
}

impl Shared {
    fn hold(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doubts(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.doubtful.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews; returns whether the server said so. Where it did not say anything, the time goes on.
    async fn renew_once(&self) -> Result<bool, Loss> {
        let _one = self.renewing.lock().await;
        let locks = &self.locks;
        let sent = locks.clock.holding();
        let (version, seq) = self.hold().begin(sent)?;
        let state = (&version, seq, self.transitions);
        let object =
            lock::renewed_object(locks.kind, &self.name, &locks.times, &locks.info, state, &locks.now());
        match locks.store(&self.name, &object).await {
            Ok(sight) => {
                self.hold().renewed(sent, sight.version);
                return self.held().map(|()| true);
            }
            // Changed or gone; or nobody knows, and what it says now tells.
            Err(error) if error.is_status(409) || error.is_status(404) || error.leaves_open() => {
                if let Ok(found) = locks.read(&self.name).await {
                    let mut hold = self.hold();
                    let before = hold.version().clone();
                    hold.found(found.as_ref());
                    let renewed = *hold.version() != before;
                    drop(hold);
                    return self.held().map(|()| renewed);
                }
            }
            // A right that was taken away, a server that has too much to do.
            Err(_) => {}
        }
        self.held().map(|()| false)
    }

    fn held(&self) -> Result<(), Loss> {
        self.hold().may_write(self.locks.clock.holding()).map(drop)
    }

    /// Gives one version of the lock back; tells whether that is settled.
    async fn give_back(&self, version: &Version, seq: u64) -> bool {
        let locks = &self.locks;
        match locks.remove(&self.name, version).await {
            Err(error) if error.is_status(403) => {
                // Not everybody who may change it may remove it.
                let state = (version, seq, self.transitions);
                let object = lock::released_object(locks.kind, &self.name, state, &locks.now());
                !locks.store(&self.name, &object).await.is_err_and(|error| error.is_status(409))
            }
            Err(error) if error.is_status(409) => false,
            Ok(()) | Err(_) => true,
        }
    }

    fn closed(&self, loss: &Loss) -> Closed {
        Closed(format!("the lock {} is lost: {loss}; nothing more was written", self.name))
    }
}

impl Gate for Shared {
    fn pass(&self) -> Result<Deadline, Closed> {
        let server = self.hold().may_write(self.locks.clock.holding());
        let server = server.map_err(|loss| self.closed(&loss))?;
        Ok(Deadline { server, answer: self.locks.times.answer() })
    }

    fn renew(&self) -> BoxFuture<'_, Result<(), Closed>> {
        Box::pin(async {
            loop {
                match self.renew_once().await {
                    Ok(true) => return Ok(()),
                    // Nobody said so: again, until it is said or too late.
                    Ok(false) => tokio::time::sleep(self.locks.times.retry / 4).await,
                    Err(loss) => return Err(self.closed(&loss)),
                }
            }
        })
    }

    fn doubt(&self, what: &str) {
        self.doubts().insert(what.to_owned());
    }

    fn settle(&self, what: &str) {
        self.doubts().remove(what);
    }
}
