//! Keeps what runs did in the cluster: one immutable ConfigMap a run, the newest ones.

use serde_json::json;

use crate::cluster::{ApiError, Propagation, Resource, Writer};
use crate::go::encoding::base64_encode;
use crate::lock::Name;
use crate::model::{RUN_CONTEXT_LABEL, RUN_KEY, RUN_LABEL, StoredRun, run_object};

/// How often a number is tried that another run has taken meanwhile.
const TRIES: u64 = 5;

/// Stores a packed record as the newest run of a context, beside those that are `stored`, oldest first, and removes the
/// oldest ones beyond `most`. Returns the number of the run.
///
/// # Errors
/// The server refuses it, or there is no such namespace. Nothing else depends on it.
pub async fn keep_run(
    writer: &Writer,
    (namespace, context): (&str, &str),
    stored: &[StoredRun],
    packed: &[u8],
    most: usize,
) -> Result<u64, ApiError> {
    let resource = Resource::config_maps();
    let lock = Name::context(namespace, context).object;
    let mut number = stored.iter().map(|run| run.number).max().unwrap_or(0).saturating_add(1);
    for left in (0..TRIES).rev() {
        let body = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": run_object(&lock, number),
                "namespace": namespace,
                "labels": { RUN_LABEL: number.to_string(), RUN_CONTEXT_LABEL: context },
            },
            "immutable": true,
            "binaryData": { RUN_KEY: base64_encode(packed) },
        });
        match writer.create(&resource, Some(namespace), &body).await {
            // Runs without locks may come at the same time.
            Err(error) if error.is_status(409) && left > 0 => number = number.saturating_add(1),
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    let old = stored.len().saturating_add(1).saturating_sub(most.max(1));
    for run in stored.iter().take(old) {
        writer.delete(&resource, Some(namespace), &run.object, &run.uid, Propagation::Background).await?;
    }
    Ok(number)
}
