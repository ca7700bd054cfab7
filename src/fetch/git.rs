//! Charts in git repositories, by the program `git`: it has the credentials and the transports of whoever runs it.
#![expect(
    clippy::disallowed_methods,
    reason = "git has no small library form; folders of its work are made here"
)]

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::{Compression, GzBuilder};
use tokio::process::Command;

use super::dir;
use super::program::{self, Ended, PATIENCE};
use crate::chart::File;
use crate::dsf::GitChart;

/// Why a chart cannot be had from git.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no such program.
    #[error("the program `git` is not on PATH; charts in git repositories, and `affected`, need it")]
    Missing,
    /// It cannot be run, or there is no room for its work.
    #[error("git cannot be run")]
    Run(#[source] std::io::Error),
    /// It did not end.
    #[error("{repository}: git did not end within {} s", PATIENCE.as_secs())]
    TimedOut {
        /// The repository.
        repository: String,
    },
    /// It failed.
    #[error("{repository}: {said}")]
    Refused {
        /// The repository.
        repository: String,
        /// What git said.
        said: String,
    },
    /// What is there is no chart.
    #[error("{place}")]
    Chart {
        /// Repository and folder.
        place: String,
        /// Why not.
        #[source]
        source: dir::DirError,
    },
}

/// Fetches the commit that is meant, and returns its chart as an archive. The same files give the same archive, whenever
/// and wherever they are fetched, so that its digest can stand in a lock file.
///
/// # Errors
/// git does not give it, or it is no chart.
pub async fn pull(chart: &GitChart, shown: &str) -> Result<Vec<u8>, GitError> {
    let work = Work::new().map_err(GitError::Run)?;
    git(&work.0, shown, &["init", "--quiet"]).await?;
    let fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--", &chart.url, &chart.reference];
    git(&work.0, shown, &fetch).await?;
    git(&work.0, shown, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]).await?;
    // What git keeps for itself is no part of a chart, and differs at each fetch.
    std::fs::remove_dir_all(work.0.join(".git")).map_err(GitError::Run)?;
    let folder = work.0.join(&chart.folder);
    // What a link in the repository leads to has to be in the repository, that of the chart itself too.
    let wrong = |source| GitError::Chart { place: format!("{shown} {}", chart.folder), source };
    if std::fs::canonicalize(&folder).is_ok_and(|real| !real.starts_with(&work.0)) {
        return Err(wrong(dir::DirError::Outside(PathBuf::from(&chart.folder))));
    }
    let roots = [work.0.clone()];
    let files = dir::files_within(&folder, Some(&roots)).map_err(wrong)?;
    packed(&files).map_err(GitError::Run)
}

/// The files of a repository at one commit, in a folder that goes with this.
pub struct Snapshot(Work);

impl Snapshot {
    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.0.0
    }
}

/// Returns the id of the commit that a revision means; `A...B` means where the two parted.
///
/// # Errors
/// git does not know it.
pub async fn resolve(repository: &Path, revision: &str) -> Result<String, GitError> {
    let shown = repository.display().to_string();
    let said = match revision.split_once("...") {
        Some((a, b)) => ask(repository, &shown, &["merge-base", "--end-of-options", a, b], None).await?,
        None => {
            let commit = format!("{revision}^{{commit}}");
            ask(repository, &shown, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], None)
                .await?
        }
    };
    Ok(said.trim().to_owned())
}

/// Tells whether a commit is an ancestor of another one; nothing where the repository lacks one of them, as a clone without
/// history does.
///
/// # Errors
/// git cannot be asked.
pub async fn is_ancestor(repository: &Path, commit: &str, of: &str) -> Result<Option<bool>, GitError> {
    let shown = repository.display().to_string();
    for commit in [commit, of] {
        match resolve(repository, commit).await {
            Err(GitError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    match ask(repository, &shown, &["merge-base", "--is-ancestor", "--end-of-options", commit, of], None)
        .await
    {
        Ok(_) => Ok(Some(true)),
        Err(GitError::Refused { .. }) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// Returns the files at a revision. Neither the work tree nor the index is touched.
///
/// # Errors
/// git does not give them.
pub async fn snapshot(repository: &Path, revision: &str) -> Result<Snapshot, GitError> {
    let shown = repository.display().to_string();
    let commit = resolve(repository, revision).await?;
    let index = Work::new().map_err(GitError::Run)?;
    let file = index.0.join("index");
    let work = Work::new().map_err(GitError::Run)?;
    ask(repository, &shown, &["read-tree", &commit], Some(&file)).await?;
    let prefix = format!("--prefix={}/", work.0.display());
    ask(repository, &shown, &["checkout-index", "--all", "--quiet", &prefix], Some(&file)).await?;
    // The folder counts as a repository of its own: paths may not leave it.
    std::fs::create_dir(work.0.join(".git")).map_err(GitError::Run)?;
    Ok(Snapshot(work))
}

/// Runs git on a repository that is there, with an index of its own, and returns what it says.
async fn ask(
    repository: &Path,
    shown: &str,
    arguments: &[&str],
    index: Option<&Path>,
) -> Result<String, GitError> {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments).current_dir(repository);
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    program::answer(&mut command).await.map_err(|ended| of_ended(ended, shown))
}

/// Packs the files of a chart. Neither times nor owners are in the archive, and nothing is compressed: the bytes then hang on
/// nothing but the files.
fn packed(files: &[File]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::none()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.data.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive.append_data(&mut header, format!("chart/{}", file.name), &*file.data)?;
    }
    let mut packed = archive.into_inner()?;
    packed.flush()?;
    packed.finish()
}

/// Runs git in the folder of its work. It asks nobody, runs no hook, and takes no other way than those that charts may name.
async fn git(folder: &Path, shown: &str, arguments: &[&str]) -> Result<(), GitError> {
    let mut command = Command::new("git");
    command
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.symlinks=true",
            "-c",
            "advice.detachedHead=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:http:ssh:file")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    program::run(&mut command).await.map_err(|ended| of_ended(ended, shown))
}

fn of_ended(ended: Ended, shown: &str) -> GitError {
    match ended {
        Ended::Missing => GitError::Missing,
        Ended::NotRun(error) => GitError::Run(error),
        Ended::TimedOut => GitError::TimedOut { repository: shown.to_owned() },
        Ended::Failed(said) => {
            GitError::Refused { repository: shown.to_owned(), said: without_passwords(&said) }
        }
    }
}

/// git shows addresses as they were given, with what stands before the `@`.
fn without_passwords(said: &str) -> String {
    let mut out = String::new();
    let mut rest = said;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(['/', ' ', '\'', '"']).unwrap_or(after.len());
        let (host, tail) = after.split_at(end);
        out.push_str(host.rsplit('@').next().unwrap_or(host));
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// A folder that goes when its work is done.
struct Work(PathBuf);

impl Work {
    fn new() -> std::io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = std::env::temp_dir();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = all.join(format!("statectl-git-{}-{number}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                // One that was there before may be somebody else's.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                // The walk of the chart compares real paths.
                Ok(()) => return Ok(Self(std::fs::canonicalize(folder)?)),
            }
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays behind is in the folder for what may go.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_archive() {
        let files = [File::new("Chart.yaml".to_owned(), b"apiVersion: v2\nname: a\nversion: 1.0.0\n")];
        let one = packed(&files).unwrap();
        assert_eq!(one, packed(&files).unwrap());
        let chart = crate::chart::load::from_archive(&one).unwrap();
        assert_eq!(chart.name(), "a");
    }

    #[test]
    fn no_password_is_shown() {
        for (said, shown) in [
            (
                "fatal: unable to access 'https://me:secret@h/r.git/': no",
                "fatal: unable to access 'https://h/r.git/': no",
            ),
            ("could not read from https://tok@h", "could not read from https://h"),
            ("a://b@c d://e@f/g@h", "a://c d://f/g@h"),
        ] {
            assert_eq!(without_passwords(said), shown);
        }
    }
}
