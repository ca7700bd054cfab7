//! How a run behaves: the settings of a file, with every default filled in.

use super::access::ClusterAccess;
use super::webhooks::Webhook;
use super::windows::Window;
use std::path::PathBuf;
use std::time::Duration;

/// How a run behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The kubeconfig context; none: in-cluster, else the kubeconfig's current context.
    pub kube_context: Option<String>,
    /// The only cluster that may be touched.
    pub expect_cluster: ExpectCluster,
    /// Releases at once inside a batch, at least 1.
    pub parallel: usize,
    /// How many runs are kept in the cluster; none at 0.
    pub run_history: usize,
    /// How a run keeps others out.
    pub lock: Lock,
    /// How long a run waits for a lock that another one holds.
    pub lock_wait: Duration,
    /// Who waits for the lock of the file.
    pub lock_queue: LockQueue,
    /// What is done about interrupted runs.
    pub recover: Recover,
    /// Silence after which the holder of a lease counts as dead.
    pub lease_duration: Duration,
    /// Age at which a pending revision of plain Helm counts as dead.
    pub foreign_pending_after: Patience,
    /// What recovery does when it cannot prove that all was done.
    pub on_interrupted: OnInterrupted,
    /// Whether a record that was taken over from a foreign holder is made immutable.
    pub fence_taken_over: bool,
    /// What happens to the other releases when one fails.
    pub on_error: OnError,
    /// How many releases of this context one run may remove without further consent.
    pub max_prune: MaxPrune,
    /// Whether removals run in reverse order of priority.
    pub reverse_delete: bool,
    /// Whether labels of namespaces that the file does not name are removed.
    pub labels_authoritative: bool,
    /// A cluster that no kubeconfig has to describe.
    pub cluster: Option<ClusterAccess>,
    /// When scheduled runs may change something; always, where there is none.
    pub windows: Vec<Window>,
    /// Where results are posted.
    pub webhooks: Vec<Webhook>,
    /// Whether releases with a pending operation are left alone.
    pub skip_pending: bool,
    /// How secrets files are decrypted, if not by sops.
    pub eyaml: Option<Eyaml>,
}

/// The key of hiera-eyaml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eyaml {
    /// The file that holds it.
    pub private_key: PathBuf,
}

/// Facts that the cluster must match before anything else is read. All given ones must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectCluster {
    /// The URL of the API server.
    pub server: Option<String>,
    /// The uid of the namespace `kube-system`.
    pub uid: Option<String>,
    /// The kubeconfig context.
    pub context: Option<String>,
}

/// How a run keeps others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// A `coordination.k8s.io` Lease.
    Lease,
    /// A Secret, for clusters where leases may not be written.
    Secret,
    /// No lock.
    None,
}

/// Who waits for the lock of a file that another run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockQueue {
    /// Every run.
    All,
    /// The newest run; older ones that wait end.
    Newest,
}

/// What is done about interrupted runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recover {
    /// Finish or undo them.
    Auto,
    /// Show them.
    Report,
    /// Leave them.
    Off,
}

/// What recovery does when it cannot prove that all was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupted {
    /// Apply again.
    RollForward,
    /// Return to the last good revision.
    Rollback,
}

/// How long something is waited for before it counts as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It counts as dead after this time.
    For(Duration),
    /// It never does.
    Forever,
}

/// What happens to the other releases when one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Those that do not depend on it go on.
    Continue,
    /// Nothing new is started.
    Stop,
}

/// How many releases of this context one run may remove without further consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxPrune {
    /// A number of releases.
    Count(usize),
    /// A share of the releases of this context, 0 to 100; three always pass.
    Percent(u8),
}
