//! Values files behind addresses: downloaded at each run, and kept nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use futures::StreamExt as _;

use super::given::error_text;
use crate::dsf;
use crate::dsf::state::Release;
use crate::fetch::http::{self, Access, Http};
use crate::host::secrets;

/// Files that are downloaded side by side.
const SIDE_BY_SIDE: usize = 8;
/// The largest file that is taken.
const MOST: usize = 16 << 20;

/// Files by their address, or why they did not arrive.
pub(super) type RemoteValues = BTreeMap<PathBuf, Result<Vec<u8>, String>>;

/// Downloads the values files of releases, each once.
pub(super) async fn fetch(releases: impl Iterator<Item = &Release>, offline: bool) -> RemoteValues {
    let files: BTreeSet<PathBuf> = releases
        .flat_map(|release| &release.values.files)
        .filter(|file| dsf::is_address(file))
        .cloned()
        .collect();
    let client = Http::default();
    let all = files.into_iter().map(|file| {
        let client = &client;
        async move {
            let content = one(client, file.to_str().unwrap_or_default(), offline).await;
            (file, content)
        }
    });
    futures::stream::iter(all).buffer_unordered(SIDE_BY_SIDE).collect().await
}

async fn one(client: &Http, address: &str, offline: bool) -> Result<Vec<u8>, String> {
    let mut access = Access::default();
    let url = http::address(address, &mut access).map_err(|error| error_text(&error))?;
    if let Some((_, password)) = &access.basic {
        secrets::learn(password);
    }
    let shown = http::shown(&url);
    if offline {
        return Err(format!("the values file {shown} is not on this machine, and `--offline` asks nobody"));
    }
    let reply = client.get(&url, &access, &[], MOST).await.map_err(|error| error_text(&error))?;
    match reply.status {
        200 => Ok(reply.body),
        status => Err(format!("{shown} answers {status}")),
    }
}

/// Returns how a values file is called in messages: an address without user, password and query.
pub(super) fn shown(file: &std::path::Path) -> String {
    let text = file.display().to_string();
    if !dsf::is_address(file) {
        return text;
    }
    match http::address(&text, &mut Access::default()) {
        Ok(url) => http::shown(&url),
        Err(error) => error.to_string(),
    }
}
