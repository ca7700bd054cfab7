//! The workflows and pipelines that are given as examples: well formed, and with nothing that the program does not know.

use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::support::cluster::tools;
use crate::support::repository;

fn examples() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["examples/ci/github", "examples/ci/gitlab"] {
        let entries = std::fs::read_dir(repository(folder)).unwrap();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.sort();
    assert!(found.len() >= 4, "{found:?}");
    found
}

/// GitHub's rules, by the linter that its users use. It finds a mistake, too.
#[test]
fn workflows_are_as_github_wants_them() {
    let actionlint = tools().join("actionlint");
    let lint = |files: &[PathBuf]| {
        let output =
            std::process::Command::new(&actionlint).args(["-no-color"]).args(files).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let files: Vec<PathBuf> =
        examples().into_iter().filter(|path| path.to_string_lossy().contains("github")).collect();
    let (good, said) = lint(&files);
    assert!(good, "{said}");
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.yml");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    std::fs::write(&wrong, text.replace("runs-on: ubuntu-latest", "run-on: ubuntu-latest")).unwrap();
    assert!(!lint(&[wrong]).0, "a mistake is found");
}

/// The pipeline for GitLab is YAML whose jobs have what a job needs; GitLab's own schema is not looked at.
#[test]
fn the_pipeline_for_gitlab_has_whole_jobs() {
    let text = std::fs::read_to_string(repository("examples/ci/gitlab/.gitlab-ci.yml")).unwrap();
    let pipeline: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let stages = pipeline["stages"].as_array().unwrap();
    for job in ["plan", "apply", "reconcile"] {
        assert!(stages.contains(&pipeline[job]["stage"]), "{job}");
        assert!(!pipeline[job]["script"].as_array().unwrap().is_empty(), "{job}");
        assert!(!pipeline[job]["rules"].as_array().unwrap().is_empty(), "{job}");
    }
}

/// Each command in them is one that the program takes as it stands.
#[test]
fn each_command_of_the_examples_is_known() {
    let mut count = 0;
    for path in examples() {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let Some((_, command)) = line.split_once("statectl ") else { continue };
            let command = command.split(" ||").next().unwrap();
            if command.starts_with([':', '\'']) || line.contains("image:") {
                continue;
            }
            count += 1;
            let words = std::iter::once("statectl").chain(command.split_whitespace());
            let parsed = statectl::cli::args::Cli::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{}: {line}\n{}", path.display(), parsed.unwrap_err());
        }
    }
    assert!(count >= 8, "{count}");
}
