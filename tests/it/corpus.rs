//! Charts against the recorded answers of real Helm.
//!
//! A tiny corpus is part of the repository. A larger one is used where `STATECTL_CORPUS` names it: an unpacked
//! folder or an archive (`.tar.xz`).

#[path = "../support/corpus.rs"]
pub(crate) mod runner;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support;

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/corpus")
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy_tree(&path, &to.join(name))
        } else {
            fs::copy(&path, to.join(name)).map(drop).unwrap()
        }
    }
}

#[test]
fn the_tiny_corpus_comes_out_as_recorded() {
    let report = runner::run(&tiny(), 2).unwrap();
    assert!(report.is_perfect(), "{report}");
    let text = report.to_string();
    assert_eq!(text.lines().last(), Some("corpus: 1/1 deterministic, 1/1 errors, 2/2 partial"));
}

#[test]
fn one_wrong_expectation_is_found() {
    let check = |file: &str, change: fn(&str) -> String, expected: &str| {
        let copy = tempfile::tempdir().unwrap();
        copy_tree(&tiny(), copy.path());
        let path = copy.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(text, changed);
        fs::write(&path, changed).unwrap();
        let report = runner::run(copy.path(), 1).unwrap();
        assert!(!report.is_perfect(), "{file}");
        assert_eq!(report.to_string().lines().last(), Some(expected), "{report}");
    };
    check(
        "golden/strict-named.json",
        |text| text.replace("last:[x]", "last:[y]"),
        "corpus: 0/1 deterministic, 1/1 errors, 2/2 partial",
    );
    check(
        "golden/shop-values.json",
        |text| text.replace("Upgraded", "Installed"),
        "corpus: 1/1 deterministic, 1/1 errors, 1/2 partial",
    );
    check(
        "dist/index-tiny.json",
        |text| text.replace("a.yaml:3:6", "a.yaml:2:6"),
        "corpus: 1/1 deterministic, 0/1 errors, 2/2 partial",
    );
    check(
        "dist/index-tiny.json",
        |text| text.replace("fail/required", "nil pointer"),
        "corpus: 1/1 deterministic, 0/1 errors, 2/2 partial",
    );
}

#[test]
fn a_corpus_without_cases_is_no_success() {
    let empty = tempfile::tempdir().unwrap();
    fs::create_dir(empty.path().join("dist")).unwrap();
    assert!(runner::run(empty.path(), 1).is_err());
}

/// A corpus to work with; what was unpacked for it goes with it.
pub(crate) struct Given {
    pub(crate) dir: PathBuf,
    _unpacked: tempfile::TempDir,
}

/// Returns the corpus that `STATECTL_CORPUS` names, if it names one.
pub(crate) fn given() -> Option<Given> {
    let given = std::env::var_os("STATECTL_CORPUS").map(PathBuf::from)?;
    let unpacked = tempfile::tempdir().unwrap();
    let is_archive = given.is_file();
    if is_archive {
        let status =
            Command::new("tar").arg("-xJf").arg(&given).arg("-C").arg(unpacked.path()).status().unwrap();
        assert!(status.success(), "cannot unpack {}", given.display());
    }
    let dir = if is_archive { unpacked.path().to_owned() } else { given };
    Some(Given { dir, _unpacked: unpacked })
}

#[test]
fn the_given_corpus_comes_out_as_recorded() {
    let Some(given) = given() else {
        support::say("STATECTL_CORPUS names no corpus: only the tiny one is compared");
        return;
    };
    let report = runner::run(&given.dir, 2).unwrap();
    for (time, case) in report.slowest(3) {
        support::say(&format!("{:>6} ms {case}", time.as_millis()));
    }
    support::say(&report.to_string());
    assert!(report.is_perfect());
}
