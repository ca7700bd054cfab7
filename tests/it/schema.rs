//! The published JSON Schema against the files of the repository.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::repository;
use crate::support::statectl::offline;

/// A file of either syntax as JSON.
fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "toml") {
        return serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
    }
    let value = statectl::yaml::read_typed(text.as_bytes()).unwrap();
    let json = statectl::value::json::to_string(&value, statectl::value::json::Escape::Raw).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml" || extension == "yaml"))
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("spec."))
        .collect();
    found.sort();
    found
}

#[test]
fn the_published_schema_is_up_to_date() {
    let printed = offline(["schema"]).expect(0).stdout;
    let file = repository("docs/reference/dsf.schema.json");
    if std::env::var_os("STATECTL_BLESS").is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), printed);
}

#[test]
fn examples_and_good_cases_fit_the_schema() {
    let schema = statectl::dsf::json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut files = inputs(&repository("examples/dsf"));
    // An editor shows only the usual spelling, and no key twice.
    let unusual =
        ["good-keys-in-any-case", "good-helmsman-compat", "good-yaml-keys-that-are-not-text", "good-yaml-11"];
    // Their keys hold values that mean nothing.
    let rejected = ["good-unsupported-keys-without-a-value", "good-limits-and-quotas"];
    for entry in std::fs::read_dir(repository("tests/cases/dsf")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("good-")
            && !unusual.contains(&name.as_str())
            && !rejected.contains(&name.as_str())
        {
            files.extend(inputs(&path));
        }
    }
    assert!(files.len() > 30, "{}", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let file = read(&path);
        wrong.extend(
            validator
                .iter_errors(&file)
                .map(|error| format!("{}: {}: {error}", path.display(), error.instance_path())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_reader_refuses_for_names_and_types_does_not_fit() {
    let schema = statectl::dsf::json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for case in [
        "bad-unknown-key",
        "bad-unknown-settings-key",
        "bad-unknown-namespace-key",
        "bad-unknown-top-level-key",
        "bad-unknown-expect-key",
        "bad-types",
        "bad-types-in-settings",
        "bad-choices",
        "bad-choices-in-settings",
        "bad-durations",
        "bad-app-is-a-list",
        "bad-app-is-a-number",
        "bad-hook-keys",
        "bad-hooks-not-a-table",
        "bad-limits",
        "bad-quotas-of-a-wrong-type",
        "bad-environment-keys",
        "bad-version-without-quotes",
        "bad-windows",
        "bad-repositories",
    ] {
        for path in inputs(&repository("tests/cases/dsf").join(case)) {
            assert!(!validator.is_valid(&read(&path)), "{case}");
        }
    }
}
