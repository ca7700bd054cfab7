//! Archives and indexes that were fetched once, kept on this machine.
//!
//! An archive is kept under its SHA-256 and checked when it is taken out, so it does not matter who wrote it, or how many
//! processes do so at the same time. An index is kept with the `ETag` that the server gave it.
#![expect(clippy::disallowed_methods, reason = "this module keeps fetched files")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::go::encoding::hex_encode;

/// Returns the SHA-256 of bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex_encode(&Sha256::digest(bytes))
}

/// A folder with what was fetched; without one nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct Store {
    folder: Option<PathBuf>,
}

/// An index as it was kept.
#[derive(Debug)]
pub struct KeptIndex {
    /// Its text.
    pub text: String,
    /// What the server called this version of it.
    pub etag: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct IndexHead {
    sha256: String,
    etag: Option<String>,
}

impl Store {
    /// Returns the store in a folder, which is made when something is kept.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Returns the archive with this digest, if it is kept and whole.
    pub fn archive(&self, digest: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.archive_path(digest)?).ok()?;
        (sha256(&bytes) == digest).then_some(bytes)
    }

    /// Keeps an archive. That it cannot be kept is no failure: it is here, and is fetched again next time.
    pub fn keep_archive(&self, digest: &str, bytes: &[u8]) {
        if let Some(path) = self.archive_path(digest).filter(|_| self.archive(digest).is_none()) {
            drop(write(&path, bytes));
        }
    }

    /// Returns the index that was read from `place`, if it is kept and whole.
    pub fn index(&self, place: &str) -> Option<KeptIndex> {
        let (head, body) = self.index_paths(place)?;
        let head: IndexHead = serde_json::from_slice(&fs::read(head).ok()?).ok()?;
        let text = String::from_utf8(fs::read(body).ok()?).ok()?;
        (sha256(text.as_bytes()) == head.sha256).then_some(KeptIndex { text, etag: head.etag })
    }

    /// Keeps an index.
    pub fn keep_index(&self, place: &str, text: &str, etag: Option<&str>) {
        let Some((head, body)) = self.index_paths(place) else { return };
        let entry = IndexHead { sha256: sha256(text.as_bytes()), etag: etag.map(str::to_owned) };
        // Between the two writes the digest does not fit, and the index counts as not kept.
        if write(&body, text.as_bytes()).is_ok() {
            drop(serde_json::to_vec(&entry).map(|entry| write(&head, &entry)));
        }
    }

    fn archive_path(&self, digest: &str) -> Option<PathBuf> {
        let plain = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(self.folder.as_ref().filter(|_| plain)?.join("charts").join(format!("{digest}.tgz")))
    }

    fn index_paths(&self, place: &str) -> Option<(PathBuf, PathBuf)> {
        let name = sha256(place.as_bytes());
        let folder = self.folder.as_ref()?.join("indexes");
        Some((folder.join(format!("{name}.json")), folder.join(format!("{name}.index"))))
    }
}

/// Writes a file in one step, for its owner only.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{}-{number}.tmp", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Some(folder.path().join("a/b")));
        let digest = sha256(b"chart");
        assert!(store.archive(&digest).is_none());
        store.keep_archive(&digest, b"chart");
        assert_eq!(store.archive(&digest).as_deref(), Some(b"chart".as_slice()));
        let path = folder.path().join(format!("a/b/charts/{digest}.tgz"));
        fs::write(&path, b"other").unwrap();
        assert!(store.archive(&digest).is_none());
        store.keep_archive(&digest, b"chart");
        assert!(store.archive(&digest).is_some());
        assert!(store.archive("../../x").is_none());

        store.keep_index("https://example.org", "entries:\n", Some("\"1\""));
        let kept = store.index("https://example.org").unwrap();
        assert_eq!((kept.text.as_str(), kept.etag.as_deref()), ("entries:\n", Some("\"1\"")));
        assert!(store.index("https://example.com").is_none());
        let nothing = Store::default();
        nothing.keep_archive(&digest, b"chart");
        assert!(nothing.archive(&digest).is_none() && nothing.index("x").is_none());
        let files = fs::read_dir(folder.path().join("a/b/charts")).unwrap().count();
        assert_eq!(files, 1);
    }
}
