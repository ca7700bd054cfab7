//! Files: reading with the path in every error, writing so that a half-written file is never left.
#![expect(clippy::disallowed_methods, reason = "this is the module that touches files")]

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl FileError {
    /// Returns why, without naming the path.
    pub fn reason(&self) -> String {
        self.source.to_string()
    }
}

/// Returns the content of a file; `-` is standard input, which gives the same however often it is read: a run that
/// plans again must not find it empty.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    static STDIN: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    let content = if path == Path::new("-") {
        let mut kept = STDIN.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(content) => Ok(content.clone()),
            None => {
                let mut content = Vec::new();
                io::stdin().read_to_end(&mut content).map(|_| kept.insert(content).clone())
            }
        }
    } else {
        fs::read(path)
    };
    content.map_err(|source| FileError { action: "read", path: path.to_owned(), source })
}

/// Returns the content of a file as text.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    String::from_utf8(read(path)?).map_err(|error| FileError {
        action: "read",
        path: path.to_owned(),
        source: io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is not UTF-8 text: {}", error.utf8_error()),
        ),
    })
}

/// Writes a file in one step: readers see the old content or the new one. Only the owner may read it.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError { action: "write", path: path.to_owned(), source };
    swap_in(path, content, None).map_err(failed)
}

/// Writes a file that everybody may read, in one step.
///
/// # Errors
/// It cannot be written.
pub fn write_public(path: &Path, content: &[u8]) -> Result<(), FileError> {
    use std::os::unix::fs::PermissionsExt as _;
    swap_in(path, content, Some(fs::Permissions::from_mode(0o644))).map_err(|source| FileError {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Writes at the end of a file, which is made if it is not there.
///
/// # Errors
/// It cannot be written.
pub fn append(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError { action: "append to", path: path.to_owned(), source };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    file.write_all(content).map_err(failed)
}

/// Makes a folder, and those that lead to it, if they are not there.
///
/// # Errors
/// It cannot be made.
pub fn create_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|source| FileError { action: "make", path: path.to_owned(), source })
}

/// Writes a copy beside a file and puts it in its place.
fn swap_in(path: &Path, content: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(hidden);
    let written = write_private(&temporary, content)
        .and_then(|()| permissions.map_or(Ok(()), |permissions| fs::set_permissions(&temporary, permissions)))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The half-written copy is of no use to anyone; the error that matters is the first one.
        drop(fs::remove_file(&temporary));
    }
    written
}

/// Writes new content to a file of a person in one step. Links stay links, and who may read it stays as it is.
///
/// # Errors
/// It is not there, or cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let failed = |source| FileError { action: "write", path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(failed)?;
    let permissions = fs::metadata(&real).map_err(failed)?.permissions();
    swap_in(&real, content, Some(permissions)).map_err(failed)
}

/// Writes a file where there is none, and the folders that lead to it. A private one only its owner may read.
///
/// # Errors
/// There is something at the path already, or it cannot be written.
pub fn write_new(path: &Path, content: &[u8], private: bool) -> Result<(), FileError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mode = if private { 0o600 } else { 0o666 };
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(|source| FileError { action: "write", path: path.to_owned(), source })
}

fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file, or something that can be read like one.
    File,
    /// A folder.
    Folder,
    /// Nothing.
    Missing,
    /// It cannot be told, for this reason.
    Unreadable(String),
}

/// Returns what is at a path; symbolic links are followed.
pub fn kind(path: &Path) -> PathKind {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => PathKind::Folder,
        Ok(_) => PathKind::File,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory =>
        {
            PathKind::Missing
        }
        Err(error) => PathKind::Unreadable(error.to_string()),
    }
}

/// Returns the names in a folder, sorted; those that are not UTF-8 are left out.
pub fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let failed = |source| FileError { action: "list", path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Returns the path with every symbolic link followed. What does not exist is taken by its spelling, below the last
/// part that does exist; nothing when not even the working folder is known.
pub fn real(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    for ancestor in path.ancestors() {
        let Ok(mut real) = fs::canonicalize(ancestor) else { continue };
        for part in path.strip_prefix(ancestor).ok()?.components() {
            match part {
                std::path::Component::ParentDir => drop(real.pop()),
                other => real.push(other),
            }
        }
        return Some(real);
    }
    None
}

/// Returns the root of the git work tree that holds a folder, or the folder itself where there is none.
pub fn repository_of(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = real(folder).unwrap_or_else(|| folder.to_owned());
    let root = real.ancestors().find(|ancestor| ancestor.join(".git").exists());
    root.unwrap_or(&real).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_private_and_leaves_no_copy() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json");
        for content in ["first", "second, longer"] {
            write_atomic(&path, content.as_bytes()).unwrap();
            assert_eq!(read_text(&path).unwrap(), content);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_repository_is_found_by_its_git_folder_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(top.join("repo/a/b")).unwrap();
        fs::create_dir_all(top.join("other")).unwrap();
        assert_eq!(repository_of(&top.join("repo/a/b")), top.join("repo/a/b"));
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        assert_eq!(repository_of(&top.join("repo/a/b")), top.join("repo"));
        std::os::unix::fs::symlink(top.join("other"), top.join("repo/link")).unwrap();
        assert_eq!(real(&top.join("repo/link/x/y")).unwrap(), top.join("other/x/y"));
        assert_eq!(real(&top.join("repo/link/../z")).unwrap(), top.join("z"));
        assert_eq!(names(&top).unwrap(), ["other", "repo"]);
    }

    #[test]
    fn an_error_names_the_path() {
        let error = read(Path::new("/nowhere/x.toml")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nowhere/x.toml");
    }
}
