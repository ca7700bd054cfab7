//! Why a lock is not had.

use std::time::Duration;

use crate::cluster::ApiError;
use crate::host::signals::Signal;
use crate::lock::{Kind, Name};

/// Why a lock is not had. Nothing was written that rests on it.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it, and this run does not wait any longer.
    #[error("locked by {}; waited {} s", holder_or_unknown(holder), waited.as_secs())]
    Held {
        /// The holder.
        holder: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A newer run waits for it, and the file says that only the newest does.
    #[error("a newer run of this file waits for the lock, so this one ends: {by}")]
    Superseded {
        /// The newer run.
        by: String,
    },
    /// Its namespace is not there.
    #[error("the lock {name} cannot be taken: its namespace does not exist")]
    NoNamespace {
        /// The lock.
        name: String,
    },
    /// The user may not read or write it.
    #[error("the lock {name} cannot be taken: {source}")]
    Denied {
        /// The lock.
        name: String,
        /// What it takes.
        remedy: String,
        /// The server's words.
        source: ApiError,
    },
    /// The run was asked to stop.
    #[error("interrupted by {} while it waited for a lock", signal.name())]
    Interrupted {
        /// The signal.
        signal: Signal,
    },
    /// The server did not do it.
    #[error("the lock {name} cannot be taken: {source}")]
    Failed {
        /// The lock.
        name: String,
        /// Why.
        source: ApiError,
    },
}

fn holder_or_unknown(holder: &str) -> &str {
    if holder.is_empty() { "somebody who does not say who" } else { holder }
}

impl LockError {
    pub(super) fn of(kind: Kind, name: &Name, source: ApiError) -> Self {
        let text = name.to_string();
        let missing = source
            .refusal()
            .is_some_and(|refusal| refusal.status == 404 && refusal.body["details"]["kind"] == "namespaces");
        if missing {
            return LockError::NoNamespace { name: text };
        }
        if source.is_status(403) {
            return LockError::Denied { name: text, remedy: remedy(kind, &name.namespace), source };
        }
        LockError::Failed { name: text, source }
    }

    /// Returns what gets past it, where something does.
    pub fn hint(&self) -> Option<String> {
        match self {
            LockError::Held { .. } => Some(
                "wait longer with `--lock-wait`; `statectl locks` shows who holds what, `statectl unlock` takes a release from a \
                 holder that is gone"
                    .to_owned(),
            ),
            LockError::Denied { remedy, .. } => Some(remedy.clone()),
            LockError::Superseded { .. } => Some(
                "`settings.lockQueue = \"newest\"` says so; nothing has to be done, since the newer run has what this one has"
                    .to_owned(),
            ),
            LockError::NoNamespace { .. } | LockError::Interrupted { .. } | LockError::Failed { .. } => None,
        }
    }
}

/// The rights that a lock takes. `create` cannot be bound to names.
fn remedy(kind: Kind, namespace: &str) -> String {
    match kind {
        Kind::Lease => format!(
            "a Role in namespace {namespace} has to have `apiGroups: [coordination.k8s.io], resources: [leases], verbs: \
             [get, create, update, delete]`; where leases are not to be had, write `settings.lock = \"secret\"` for every \
             run of this file"
        ),
        Kind::Secret => format!(
            "a Role in namespace {namespace} has to have `apiGroups: [\"\"], resources: [secrets], verbs: [get, list, create, \
             update, delete]`"
        ),
    }
}
