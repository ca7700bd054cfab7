//! The files in a chart archive (a gzipped tar).
//!
//! Refuses what could write outside a folder and what is larger than a chart may be. Source: Helm
//! `pkg/chart/loader/archive`.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use jiff::Timestamp;
use tar::EntryType;

use super::{File, MAX_CHART_SIZE, MAX_FILE_SIZE, paths};
use crate::go::strconv;

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes do not begin as a gzip stream does.
    #[error("gzip: invalid header")]
    NotGzip,
    /// The stream is damaged.
    #[error("cannot read the archive")]
    Broken(#[source] io::Error),
    /// There is no file in it.
    #[error("no files in chart archive")]
    Empty,
    /// A path begins with `/`.
    #[error("chart illegally contains absolute paths")]
    Absolute,
    /// A path has no folder in front, so that nothing is left without it.
    #[error("chart illegally contains content outside the base directory: {0}")]
    OutsideBase(String),
    /// A path leads upwards.
    #[error("chart illegally references parent directory")]
    Parent,
    /// A path looks like one on a Windows drive.
    #[error("chart contains illegally named files")]
    Drive,
    /// `Chart.yaml` lies at the top instead of in a folder.
    #[error("chart yaml not in base directory")]
    NoBase,
    /// All files together are too large.
    #[error("decompressed chart is larger than the maximum size {MAX_CHART_SIZE}")]
    TooLarge,
    /// One file is too large.
    #[error("decompressed chart file {0} is larger than the maximum file size {MAX_FILE_SIZE}")]
    FileTooLarge(String),
}

/// Tells whether the bytes begin as a gzip stream does.
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1F\x8B\x08")
}

/// Returns the files of an archive, their paths without the folder in front.
///
/// # Errors
/// Fails on damaged, unsafe, empty and too large archives.
pub fn unpack(bytes: &[u8]) -> Result<Vec<File>, ArchiveError> {
    if !is_gzip(bytes) {
        return Err(ArchiveError::NotGzip);
    }
    let mut left = MAX_CHART_SIZE;
    // A stream that never ends must not keep us: what lies between the files is bounded, too.
    let stream = MultiGzDecoder::new(bytes).take(4 * MAX_CHART_SIZE);
    let mut archive = tar::Archive::new(stream);
    let mut files = Vec::new();
    for entry in archive.entries().map_err(ArchiveError::Broken)? {
        let mut entry = entry.map_err(ArchiveError::Broken)?;
        let kind = entry.header().entry_type();
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if kind == EntryType::Directory || path.ends_with('/') || kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = inner_path(&path)?;
        let size = entry.size();
        if size > left {
            return Err(ArchiveError::TooLarge);
        }
        if size > MAX_FILE_SIZE {
            return Err(ArchiveError::FileTooLarge(strconv::quote(path.as_bytes())));
        }
        let mut data = Vec::new();
        entry.read_to_end(&mut data).map_err(ArchiveError::Broken)?;
        left = left.saturating_sub(data.len() as u64);
        if left == 0 {
            return Err(ArchiveError::TooLarge);
        }
        let modified = entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
        let modified = modified.and_then(|seconds| Timestamp::from_second(seconds).ok());
        files.push(File::new(name, &data).at(modified));
    }
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
}

/// Returns a path of an archive without its first folder, if that is a safe path inside the chart.
fn inner_path(full: &str) -> Result<String, ArchiveError> {
    // Archives made on Windows.
    let separator = if full.contains('\\') { '\\' } else { '/' };
    let (base, rest) = full.split_once(separator).unwrap_or((full, ""));
    let rest = rest.replace(separator, "/");
    if rest.starts_with('/') {
        return Err(ArchiveError::Absolute);
    }
    let clean = paths::clean(&rest);
    let bytes = clean.as_bytes();
    if clean == "." {
        Err(ArchiveError::OutsideBase(strconv::quote(full.as_bytes())))
    } else if clean.starts_with("..") {
        Err(ArchiveError::Parent)
    } else if matches!(bytes, [drive, b':', b'/', ..] if drive.is_ascii_alphabetic()) {
        Err(ArchiveError::Drive)
    } else if base == "Chart.yaml" {
        Err(ArchiveError::NoBase)
    } else {
        Ok(clean)
    }
}
