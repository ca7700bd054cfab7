//! The view of the file tree that the caller passes in.

use std::path::{Component, Path, PathBuf};

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Nothing.
    Missing,
    /// It cannot be told, for the given reason. The reason does not name the path, which may hold what nobody
    /// should read.
    Unreadable(String),
}

/// The file tree, as far as a desired-state file refers to it.
pub trait Files {
    /// Returns what a path leads to, links followed.
    fn kind(&self, path: &Path) -> PathKind;

    /// Returns the content of a file, for `imports` and spec files.
    ///
    /// # Errors
    /// Why it cannot be read, without its path.
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let _ = path;
        Err("files cannot be read here".to_owned())
    }

    /// Returns the names in a folder, for `imports` with `*`.
    ///
    /// # Errors
    /// Why it cannot be listed, without its path.
    fn names(&self, folder: &Path) -> Result<Vec<String>, String> {
        let _ = folder;
        Err("folders cannot be listed here".to_owned())
    }

    /// Returns the path with every link followed; what does not exist is taken as it is spelled. Nothing where
    /// only the spelling is known.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let _ = path;
        None
    }
}

/// Tells whether a path stays in one of the folders that paths may not leave.
pub(super) fn is_allowed(files: &dyn Files, roots: Option<&[PathBuf]>, path: &Path) -> bool {
    let Some(roots) = roots else { return true };
    roots.iter().any(|root| match (files.real(root), files.real(path)) {
        (Some(root), Some(path)) => path.starts_with(root),
        _ => is_inside(root, path),
    })
}

/// Joins a path to the folder of the file that names it, without `.` parts. `..` stays: a folder before it
/// may be a link.
pub(super) fn join(dir: &Path, path: &str) -> PathBuf {
    let joined = dir.join(path);
    let cleaned: PathBuf = joined.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    if cleaned.as_os_str().is_empty() { PathBuf::from(".") } else { cleaned }
}

/// Tells whether a path is inside a folder by its spelling alone: `..` takes away the part before it.
fn is_inside(root: &Path, path: &Path) -> bool {
    match (flatten(root), flatten(path)) {
        // Everything starts with an empty path, also an absolute one.
        (Some(root), Some(path)) => root.has_root() == path.has_root() && path.starts_with(&root),
        _ => false,
    }
}

/// The path without `..`, or nothing when it climbs out of where it starts.
fn flatten(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    Some(out)
}

/// Tells whether a values file is behind an address.
pub fn is_address(file: &Path) -> bool {
    file.to_str().is_some_and(|text| text.starts_with("https://") || text.starts_with("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file_that_names_them() {
        for (dir, path, expected) in [
            ("a", "b.yaml", "a/b.yaml"),
            ("a", "./b/./c", "a/b/c"),
            ("a", "../b", "a/../b"),
            ("", "b", "b"),
            (".", "b", "b"),
            ("a", "/b", "/b"),
            (".", ".", "."),
        ] {
            assert_eq!(join(Path::new(dir), path), Path::new(expected));
        }
    }

    #[test]
    fn a_path_that_climbs_out_is_outside() {
        for (path, inside) in [
            ("/r/a", true),
            ("/r/a/../b", true),
            ("/r/../s", false),
            ("/s", false),
            ("/r/../r/x", true),
            ("../x", false),
        ] {
            assert_eq!(is_inside(Path::new("/r"), Path::new(path)), inside, "{path}");
        }
        for (path, inside) in [("a", true), ("a/../b", true), ("../a", false), ("/a", false)] {
            assert_eq!(is_inside(Path::new("."), Path::new(path)), inside, "{path}");
        }
    }
}
