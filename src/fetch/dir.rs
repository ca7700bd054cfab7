//! A chart in a folder or in an archive on this machine.
//!
//! Source: Helm `pkg/chart/v2/loader/directory.go`, `internal/sympath`, `pkg/chart/loader/archive`.
#![expect(clippy::disallowed_methods, reason = "this module reads chart files")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::chart::archive::is_gzip;
use crate::chart::ignore::{self, IgnoreError, IgnoreRules};
use crate::chart::{self, Chart, ChartError, File, MAX_CHART_SIZE, MAX_FILE_SIZE};

/// Why a chart cannot be read from a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirError {
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is no `Chart.yaml` in the folder.
    #[error("unable to detect chart at {}: there is no Chart.yaml", .0.display())]
    NoChart(PathBuf),
    /// A device, socket or pipe.
    #[error("cannot load irregular file {} as it has file mode type bits set", .0.display())]
    Irregular(PathBuf),
    /// A file above Helm's limit.
    #[error("chart file {} is larger than the maximum file size {MAX_FILE_SIZE}", .0.display())]
    TooLarge(PathBuf),
    /// All files of the folder together are beyond reason.
    #[error("the files in {} are larger than {MAX_CHART_SIZE} bytes together", .0.display())]
    FolderTooLarge(PathBuf),
    /// A symbolic link leads back to a folder around it.
    #[error("the symbolic link {} leads back to a folder that contains it", .0.display())]
    Loop(PathBuf),
    /// A symbolic link leads out of the folders that the chart may be read from.
    #[error("the symbolic link {} leads out of the repository", .0.display())]
    Outside(PathBuf),
    /// A file name that is not text.
    #[error("the name of {} is not valid UTF-8", .0.display())]
    Name(PathBuf),
    /// The `.helmignore` is malformed.
    #[error("cannot use {}", path.display())]
    Ignore {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: IgnoreError,
    },
    /// A file that is neither a folder nor an archive.
    #[error("file '{}' does not appear to be a gzipped archive", .0.display())]
    NotAnArchive(PathBuf),
    /// A YAML file where a chart was expected, which is a common slip.
    #[error("file '{}' seems to be a YAML file, but expected a gzipped archive", .0.display())]
    YamlFile(PathBuf),
    /// The files are there but are no chart.
    #[error("cannot load the chart at {}", path.display())]
    Chart {
        /// The folder or archive.
        path: PathBuf,
        /// Why not.
        #[source]
        source: ChartError,
    },
}

/// Returns the chart at `path`: a folder with a `Chart.yaml`, or an archive.
///
/// # Errors
/// Fails on unreadable, oversized and irregular files, and on files that are no chart. Errors name the path.
pub fn load(path: &Path) -> Result<Chart, DirError> {
    load_within(path, None)
}

/// Returns the chart at `path`, whose symbolic links may only lead into the chart itself and into `roots`: what a chart
/// can read, it can show. With no `roots` they may lead anywhere, as in Helm.
///
/// # Errors
/// As [`load`], and on a link that leads elsewhere.
pub fn load_within(path: &Path, roots: Option<&[PathBuf]>) -> Result<Chart, DirError> {
    let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
    let loaded = if metadata.is_dir() {
        chart::load::from_files(files_within(path, roots)?)
    } else {
        chart::load::from_archive(&archive(path)?)
    };
    let checked = loaded.and_then(|chart| chart::load::check_format(&chart).map(|()| chart));
    checked.map_err(|source| DirError::Chart { path: path.to_owned(), source })
}

/// Returns the bytes of the archive at `path`.
///
/// # Errors
/// Fails if the file cannot be read or is no archive.
pub fn archive(path: &Path) -> Result<Vec<u8>, DirError> {
    let bytes = fs::read(path).map_err(|source| read_error(path, source))?;
    if is_gzip(&bytes) {
        return Ok(bytes);
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("yaml" | "yml") => Err(DirError::YamlFile(path.to_owned())),
        _ => Err(DirError::NotAnArchive(path.to_owned())),
    }
}

/// Returns the files of the chart folder `top` that its `.helmignore` leaves in, in byte order of names folder
/// by folder. Symbolic links are followed.
///
/// # Errors
/// Fails on the first file that cannot be taken.
pub fn files(top: &Path) -> Result<Vec<File>, DirError> {
    files_within(top, None)
}

pub(super) fn files_within(top: &Path, roots: Option<&[PathBuf]>) -> Result<Vec<File>, DirError> {
    if !top.join("Chart.yaml").exists() {
        return Err(DirError::NoChart(top.to_owned()));
    }
    let rules = ignore_rules(top)?;
    let real = |path: &Path| fs::canonicalize(path).map_err(|source| read_error(path, source));
    let mut allowed = None;
    if let Some(roots) = roots {
        // A root that is not there holds nothing.
        let mut list: Vec<PathBuf> = roots.iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
        list.push(real(top)?);
        allowed = Some(list);
    }
    let mut walk =
        Walk { top, rules, allowed, around: BTreeSet::new(), files: Vec::new(), left: MAX_CHART_SIZE };
    walk.folder(top, "")?;
    Ok(walk.files)
}

fn ignore_rules(top: &Path) -> Result<IgnoreRules, DirError> {
    let path = top.join(ignore::FILE_NAME);
    match fs::read(&path) {
        Ok(bytes) => IgnoreRules::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|source| DirError::Ignore { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(IgnoreRules::default()),
        Err(source) => Err(read_error(&path, source)),
    }
}

struct Walk<'p> {
    top: &'p Path,
    rules: IgnoreRules,
    /// Where links may lead, by real paths; nothing: anywhere.
    allowed: Option<Vec<PathBuf>>,
    /// The folders that the walk is inside of, by their real path.
    around: BTreeSet<PathBuf>,
    files: Vec<File>,
    /// How many bytes the chart may still have.
    left: u64,
}

impl Walk<'_> {
    /// Takes the files below `folder`, whose path in the chart is `inside`.
    fn folder(&mut self, folder: &Path, inside: &str) -> Result<(), DirError> {
        let real = fs::canonicalize(folder).map_err(|source| read_error(folder, source))?;
        if !self.around.insert(real.clone()) {
            return Err(DirError::Loop(folder.to_owned()));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(|source| read_error(folder, source))? {
            let name = entry.map_err(|source| read_error(folder, source))?.file_name();
            let text = name.to_str().ok_or_else(|| DirError::Name(folder.join(&name)))?;
            names.push(text.to_owned());
        }
        names.sort_unstable();
        for name in names {
            let inside = if inside.is_empty() { name.clone() } else { format!("{inside}/{name}") };
            self.entry(&folder.join(name), inside)?;
        }
        self.around.remove(&real);
        Ok(())
    }

    fn entry(&mut self, path: &Path, inside: String) -> Result<(), DirError> {
        let metadata = fs::metadata(path).map_err(|source| read_error(path, source))?;
        if self.rules.ignored(&inside, metadata.is_dir()) {
            return Ok(());
        }
        if let Some(allowed) = &self.allowed
            && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
        {
            let real = fs::canonicalize(path).map_err(|source| read_error(path, source))?;
            if !allowed.iter().any(|root| real.starts_with(root)) {
                return Err(DirError::Outside(path.to_owned()));
            }
        }
        if metadata.is_dir() {
            return self.folder(path, &inside);
        }
        if !metadata.is_file() {
            return Err(DirError::Irregular(path.to_owned()));
        }
        if metadata.len() > MAX_FILE_SIZE {
            return Err(DirError::TooLarge(path.to_owned()));
        }
        let bytes = fs::read(path).map_err(|source| read_error(path, source))?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.left =
            self.left.checked_sub(size).ok_or_else(|| DirError::FolderTooLarge(self.top.to_owned()))?;
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        self.files.push(File::new(inside, &bytes).at(modified));
        Ok(())
    }
}

fn read_error(path: &Path, source: io::Error) -> DirError {
    DirError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::helm_text;

    const CHART: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn names(top: &Path) -> Vec<String> {
        files(top).unwrap().into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_folder_is_walked_name_by_name_without_what_is_ignored() {
        let dir = folder(&[
            ("Chart.yaml", CHART),
            (".helmignore", "*.md\n/docs/\n"),
            ("README.md", ""),
            ("docs/guide.txt", ""),
            ("sub/docs/guide.txt", ""),
            ("templates/.hidden.yaml", ""),
            ("templates/a.yaml", ""),
            ("templates/a/b.yaml", ""),
            ("templates-x", ""),
        ]);
        assert_eq!(
            names(dir.path()),
            [
                ".helmignore",
                "Chart.yaml",
                "sub/docs/guide.txt",
                "templates/a/b.yaml",
                "templates/a.yaml",
                "templates-x"
            ]
        );
        assert!(load(dir.path()).unwrap().templates[0].modified.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_but_not_in_circles() {
        let dir = folder(&[("Chart.yaml", CHART), ("shared/a.txt", "")]);
        std::os::unix::fs::symlink(dir.path().join("shared"), dir.path().join("again")).unwrap();
        assert_eq!(names(dir.path()), ["Chart.yaml", "again/a.txt", "shared/a.txt"]);
        std::os::unix::fs::symlink(dir.path(), dir.path().join("shared/up")).unwrap();
        assert!(matches!(files(dir.path()), Err(DirError::Loop(path)) if path.ends_with("again/up")));
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_only_where_they_may() {
        use std::os::unix::fs::symlink;
        let dir =
            folder(&[("repo/c/Chart.yaml", CHART), ("repo/common.txt", ""), ("secret.txt", ""), ("d/x", "")]);
        let (chart, roots) = (dir.path().join("repo/c"), [dir.path().join("repo")]);
        symlink("../common.txt", chart.join("a.txt")).unwrap();
        symlink("Chart.yaml", chart.join("b.yaml")).unwrap();
        assert!(load_within(&chart, Some(&roots)).is_ok());
        assert!(
            matches!(load_within(&chart, Some(&[])), Err(DirError::Outside(path)) if path.ends_with("a.txt"))
        );
        for (name, target) in [("s.txt", "../../secret.txt"), ("t", "../../d")] {
            symlink(target, chart.join(name)).unwrap();
            assert!(
                matches!(load_within(&chart, Some(&roots)), Err(DirError::Outside(path)) if path.ends_with(name))
            );
            assert!(load(&chart).is_ok());
            fs::remove_file(chart.join(name)).unwrap();
        }
    }

    #[test]
    fn what_is_no_chart_is_named_with_its_path() {
        let check = |files: &[(&str, &str)], path: &str, expected: &str| {
            let dir = folder(files);
            let path = dir.path().join(path);
            let error = helm_text(&load(&path).unwrap_err());
            assert_eq!(error, expected.replace("PATH", &path.display().to_string()));
        };
        check(&[("x/a", "")], "x", "unable to detect chart at PATH: there is no Chart.yaml");
        check(
            &[("c.yaml", "a: 1")],
            "c.yaml",
            "file 'PATH' seems to be a YAML file, but expected a gzipped archive",
        );
        check(&[("c.tgz", "text")], "c.tgz", "file 'PATH' does not appear to be a gzipped archive");
        check(
            &[("x/Chart.yaml", "apiVersion: v3\nname: c\nversion: 1")],
            "x",
            "cannot load the chart at PATH: invalid chart apiVersion",
        );
        let large = "x".repeat(5 * 1024 * 1024 + 1);
        check(
            &[("x/Chart.yaml", CHART), ("x/large", &large)],
            "x",
            "chart file PATH/large is larger than the maximum file size 5242880",
        );
    }
}
