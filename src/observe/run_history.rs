//! What earlier runs left about themselves.

use serde_json::Value as Json;

use crate::cluster::{ApiError, ListOptions, Reader, Resource};
use crate::go::encoding::base64_decode;
use crate::model::{RUN_CONTEXT_LABEL, RUN_KEY, RUN_LABEL, StoredRun};

/// Returns the runs of a context that are kept in a namespace, oldest first.
///
/// # Errors
/// They cannot be listed.
pub async fn stored_runs(
    reader: &Reader,
    namespace: &str,
    context: &str,
) -> Result<Vec<StoredRun>, ApiError> {
    let labels = format!("{RUN_LABEL},{RUN_CONTEXT_LABEL}={context}");
    let options = ListOptions { labels, ..ListOptions::default() };
    let found = reader.list(&Resource::config_maps(), Some(namespace), &options).await?;
    let mut runs: Vec<StoredRun> = found.iter().filter_map(run).collect();
    runs.sort_by_key(|run| run.number);
    Ok(runs)
}

fn run(object: &Json) -> Option<StoredRun> {
    let metadata = &object["metadata"];
    let packed = object["binaryData"][RUN_KEY].as_str();
    Some(StoredRun {
        number: metadata["labels"][RUN_LABEL].as_str()?.parse().ok()?,
        object: metadata["name"].as_str()?.to_owned(),
        uid: metadata["uid"].as_str()?.to_owned(),
        packed: packed.and_then(|text| base64_decode(text.as_bytes()).ok()),
    })
}
