//! Who waits for the lock of a context where only the newest run is to wait.
//!
//! The lock itself is its holder's: nobody else may write it. So the newest waiting run says that it is the newest in an
//! object of its own, which it renews while it waits; whoever finds a newer one there ends. Where both runs know their
//! number in CI, the higher one is newer; otherwise whoever came later.

use super::{LockError, Locks};
use crate::lock::{self, Name, Sight, Standing, Version, Watch};

/// The place of one waiting run.
pub(super) struct Queue {
    name: Name,
    /// What this run wrote last.
    own: Option<Version>,
    /// What was seen of a newer run.
    watch: Watch,
    seen: Option<Version>,
}

impl Queue {
    pub(super) fn of(lock: &Name) -> Self {
        Self { name: lock.queue(), own: None, watch: Watch::default(), seen: None }
    }

    /// Says that this run waits, unless a newer one does.
    ///
    /// # Errors
    /// A newer run waits. What cannot be read or written keeps nobody from waiting.
    pub(super) async fn wait(&mut self, locks: &Locks) -> Result<(), LockError> {
        let asked = locks.clock.watching();
        let Ok(found) = locks.read(&self.name).await else { return Ok(()) };
        let answered = locks.clock.watching();
        let Some(sight) = found else {
            let object =
                lock::created_object(locks.kind, &self.name, &locks.times, &locks.info, &locks.now());
            self.take(locks, &object).await;
            return Ok(());
        };
        let is_own = sight.holder == locks.info.id;
        if is_own || sight.holder.is_empty() || self.is_older(locks, &sight) {
            self.take_from(locks, &sight).await;
            return Ok(());
        }
        // Whoever took the place from this run is alive; one with a higher number may be gone.
        let has_moved = self.seen.as_ref().is_some_and(|seen| *seen != sight.version);
        if self.own.is_some() || has_moved {
            return Err(LockError::Superseded { by: sight.who() });
        }
        self.seen = Some(sight.version.clone());
        if self.watch.look(&sight, asked, answered) == Standing::Silent {
            self.take_from(locks, &sight).await;
        }
        Ok(())
    }

    /// Tells whether whoever waits is older than this run, which has not waited before.
    fn is_older(&self, locks: &Locks, sight: &Sight) -> bool {
        let other = sight.info.as_ref().and_then(|info| info.run);
        match (locks.info.run, other) {
            (Some(own), Some(other)) => own > other,
            _ => self.own.is_none(),
        }
    }

    async fn take_from(&mut self, locks: &Locks, sight: &Sight) {
        let Locks { kind, times, info, .. } = locks;
        let object = lock::acquired_object(*kind, &self.name, times, info, sight, &locks.now());
        self.take(locks, &object).await;
    }

    async fn take(&mut self, locks: &Locks, object: &serde_json::Value) {
        // Somebody who was faster is seen at the next look.
        if let Ok(sight) = locks.store(&self.name, object).await {
            self.own = Some(sight.version);
        }
    }

    /// Leaves the queue.
    pub(super) async fn leave(self, locks: &Locks) {
        if let Some(version) = self.own {
            // Another run may have taken the place; then it is that one's to remove.
            drop(locks.remove(&self.name, &version).await);
        }
    }
}
