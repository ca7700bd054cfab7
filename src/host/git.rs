//! Which commit a folder is checked out at. Read from git's own files: no git is needed.

use std::path::{Path, PathBuf};

use super::files;

/// Returns the id of the commit that `folder`, or a folder above it, is checked out at; nothing outside of a
/// repository, or before the first commit. Source: gitrepository-layout(5).
pub fn commit_of(folder: &Path) -> Option<String> {
    // The folder of `a.toml` is the empty path.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::path::absolute(folder).ok()?;
    let own = folder.ancestors().find_map(|above| repository(&above.join(".git")))?;
    let head = text(&own.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return id(&head) };
    // A second worktree has its own HEAD, and its branches where the first one has them.
    let common = text(&own.join("commondir")).map_or_else(|| own.clone(), |path| own.join(path));
    [&own, &common]
        .iter()
        .find_map(|folder| id(&text(&folder.join(name))?))
        .or_else(|| packed(&text(&common.join("packed-refs"))?, name))
}

/// Returns the folder of a repository. A worktree, or a submodule, has a file that names it.
fn repository(marker: &Path) -> Option<PathBuf> {
    match files::kind(marker) {
        files::PathKind::Folder => Some(marker.to_owned()),
        files::PathKind::File => Some(marker.parent()?.join(text(marker)?.strip_prefix("gitdir: ")?)),
        files::PathKind::Missing | files::PathKind::Unreadable(_) => None,
    }
}

fn text(path: &Path) -> Option<String> {
    files::read_text(path).ok().map(|text| text.trim().to_owned())
}

fn id(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_owned())
}

fn packed(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| id(line.strip_suffix(name)?.trim_end()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests lay out repositories")]
mod tests {
    use super::*;

    const FIRST: &str = "1111111111111111111111111111111111111111";
    const SECOND: &str = "2222222222222222222222222222222222222222";

    fn check(files: &[(&str, &str)], from: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(commit_of(&folder.path().join(from)).as_deref(), expected, "{files:?}");
    }

    #[test]
    fn the_commit_is_read_as_git_stores_it() {
        let head = (".git/HEAD", "ref: refs/heads/main\n");
        check(&[head, (".git/refs/heads/main", &format!("{FIRST}\n"))], "a/b", Some(FIRST));
        check(&[(".git/HEAD", FIRST)], "", Some(FIRST));
        let packed = format!(
            "# pack-refs with: peeled\n{SECOND} refs/heads/other/refs/heads/main2\n{FIRST} refs/heads/main\n"
        );
        check(&[head, (".git/packed-refs", &packed)], "", Some(FIRST));
        check(&[head], "", None);
        check(&[head, (".git/refs/heads/main", "not an id")], "", None);
        check(
            &[
                ("tree/.git", "gitdir: ../.git/worktrees/tree\n"),
                (".git/worktrees/tree/HEAD", "ref: refs/heads/side\n"),
                (".git/worktrees/tree/commondir", "../..\n"),
                (".git/refs/heads/side", SECOND),
                (".git/HEAD", FIRST),
            ],
            "tree",
            Some(SECOND),
        );
    }
}
