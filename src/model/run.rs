//! How runs are kept in the cluster: one ConfigMap each, numbered.

/// The label of every object that keeps a run; its value is the number of the run.
pub const RUN_LABEL: &str = "statectl.io/run";
/// The label with the context of the run.
pub const RUN_CONTEXT_LABEL: &str = "statectl.io/context";
/// The key of the packed record among the binary data.
pub const RUN_KEY: &str = "run";

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// Its number: later runs have higher ones.
    pub number: u64,
    /// The name of its object.
    pub object: String,
    /// The identity of that object.
    pub uid: String,
    /// The packed record; nothing where the object has none.
    pub packed: Option<Vec<u8>>,
}

/// Returns the name of the object of a run, from the name of the lock of its context: like that one it is the same for no
/// two contexts.
pub fn run_object(lock: &str, number: u64) -> String {
    format!("{}.{number}", lock.replacen("statectl-context.", "statectl-run.", 1))
}
