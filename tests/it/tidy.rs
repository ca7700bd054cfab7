//! The rules about the code itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::repository;

/// Lines of a source file before its tests.
const LONGEST_FILE: usize = 600;

/// Files below a folder with one of the endings, sorted.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| endings.contains(&ending.to_str().unwrap())) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(repository("")).unwrap().display().to_string()
}

/// The rank of each module, as the table of docs/architecture.md gives it.
fn ranks() -> BTreeMap<String, u32> {
    let text = std::fs::read_to_string(repository("docs/architecture.md")).unwrap();
    let mut ranks = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rank, module, _] = cells.as_slice() else { continue };
        if let (Ok(rank), Some(module)) =
            (rank.parse(), module.strip_prefix('`').and_then(|name| name.strip_suffix('`')))
        {
            ranks.insert(module.to_owned(), rank);
        }
    }
    ranks
}

/// The modules that a source file uses, by the paths `crate::MODULE` in its code.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let group = group.split(';').next().unwrap_or_default();
            let mut depth = 0;
            let mut name = String::new();
            for character in group.chars() {
                match character {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => name.clear(),
                    ':' if depth == 0 && !name.is_empty() => {
                        used.insert(std::mem::take(&mut name));
                    }
                    other if depth == 0 && (other.is_alphanumeric() || other == '_') => name.push(other),
                    _ => {}
                }
            }
        } else {
            let name: String = rest
                .chars()
                .take_while(|character| character.is_alphanumeric() || *character == '_')
                .collect();
            used.insert(name);
        }
    }
    used
}

#[test]
fn modules_import_only_downward() {
    let ranks = ranks();
    let lib = std::fs::read_to_string(repository("src/lib.rs")).unwrap();
    let declared: BTreeSet<String> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned))
        .collect();
    let listed: BTreeSet<String> = ranks.keys().cloned().collect();
    assert_eq!(declared, listed, "src/lib.rs and the table of docs/architecture.md have the same modules");
    let mut wrong = Vec::new();
    for path in files(&repository("src"), &["rs"]) {
        let name = relative(&path);
        let own = name.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default();
        let Some(rank) = ranks.get(own) else { continue };
        for used in used_modules(&std::fs::read_to_string(&path).unwrap()) {
            if used != own && ranks.get(&used).is_some_and(|other| other >= rank) {
                wrong.push(format!("{name} uses `{used}`, which is not below `{own}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_finder_of_imports_finds_them() {
    let text = "use crate::a::{B, c::D};\nuse crate::{e::F, g::{H, i::J}};\nfn x() { crate::k::l() } // crate::m::n\n";
    let expected: BTreeSet<String> = ["a", "e", "g", "k"].map(str::to_owned).into();
    assert_eq!(used_modules(text), expected);
}

#[test]
fn each_file_says_what_it_is_for_and_stays_short() {
    let mut wrong = Vec::new();
    for path in files(&repository("src"), &["rs"]).into_iter().chain(files(&repository("tests"), &["rs"])) {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = relative(&path);
        if !text.starts_with("//!") {
            wrong.push(format!("{name} does not begin with `//!`"));
        }
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        let is_test = name.starts_with("tests/") || name.ends_with("/tests.rs") || name.contains("/tests/");
        if lines > LONGEST_FILE && !is_test {
            wrong.push(format!("{name} has {lines} lines before its tests; {LONGEST_FILE} are allowed"));
        }
        if text.lines().any(|line| line.ends_with([' ', '\t']))
            && !text.contains("r#\"")
            && !text.contains('\\')
        {
            wrong.push(format!("{name} has blanks at the end of a line"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only these modules may name these crates.
#[test]
fn each_crate_of_the_edge_has_one_home() {
    let homes = [
        ("kube", "src/cluster/"),
        ("indicatif", "src/ui/"),
        ("clap", "src/cli/"),
        ("serde_yaml", "src/report/"),
        ("reqwest", "src/fetch/"),
    ];
    let mut wrong = Vec::new();
    for path in files(&repository("src"), &["rs"]) {
        let name = relative(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        for (used, home) in homes {
            let named = text.lines().any(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.match_indices(&format!("{used}::")).any(|(at, _)| {
                    !code[..at]
                        .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
                })
            });
            if named && !name.starts_with(home) {
                wrong.push(format!("{name} names the crate {used}, whose home is {home}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A permit to delete and re-create is made in one place.
#[test]
fn a_permit_is_made_in_one_place() {
    let mut makers = Vec::new();
    for path in files(&repository("src"), &["rs"]) {
        let text = std::fs::read_to_string(&path).unwrap();
        let makes = text
            .lines()
            .filter(|line| line.contains("Permit {") && !line.contains("struct ") && !line.contains("impl "))
            .count();
        if makes > 0 {
            makers.push((relative(&path), makes));
        }
    }
    assert_eq!(makers, [("src/plan/guard.rs".to_owned(), 1)]);
}

#[test]
fn each_dependency_has_its_reason() {
    let manifest: toml::Table = std::fs::read_to_string(repository("Cargo.toml")).unwrap().parse().unwrap();
    let text = std::fs::read_to_string(repository("docs/dependencies.md")).unwrap();
    let reasons: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name.to_owned()))
        .collect();
    let mut direct = BTreeSet::new();
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        if let Some(table) = manifest.get(table).and_then(toml::Value::as_table) {
            direct.extend(table.keys().cloned());
        }
    }
    assert_eq!(direct, reasons, "Cargo.toml and docs/dependencies.md name the same crates");
}

#[test]
fn each_module_of_the_integration_tests_is_compiled() {
    let main = std::fs::read_to_string(repository("tests/it/main.rs")).unwrap();
    for entry in std::fs::read_dir(repository("tests/it")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name != "main" {
            assert!(main.contains(&format!("mod {name};")), "tests/it/main.rs lacks `mod {name};`");
        }
    }
}

/// Tells whether a test is where its path says: `FILE::NAME` of the integration tests, or a module of the library.
fn is_there(path: &str) -> bool {
    let Some((module, name)) = path.rsplit_once("::") else { return repository(path).exists() };
    let place = module.replace("::", "/");
    let inline = place.strip_suffix("/tests").unwrap_or(&place);
    let places = [
        format!("tests/it/{place}.rs"),
        format!("tests/it/support/{inline}.rs"),
        format!("src/{place}.rs"),
        format!("src/{inline}.rs"),
        format!("src/{inline}/mod.rs"),
    ];
    let text = |place: &String| std::fs::read_to_string(repository(place)).unwrap_or_default();
    places.iter().any(|place| text(place).contains(&format!("fn {name}(")))
}

/// What is promised about locks and recovery is proven: each row of a table of statements names its test.
#[test]
fn each_statement_about_recovery_names_a_test_that_is_there() {
    assert!(is_there("tidy::each_statement_about_recovery_names_a_test_that_is_there"));
    assert!(
        !is_there("tidy::nobody_wrote_this_one") && !is_there("nowhere::x") && !is_there("scripts/nothing")
    );
    let text = std::fs::read_to_string(repository("docs/concepts/recovery.md")).unwrap();
    let mut wrong = Vec::new();
    let mut is_statement = false;
    let mut statements = 0;
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        is_statement = line.starts_with('|') && (is_statement || cells.ends_with(&["test"]));
        let Some(proof) = cells.last().filter(|_| is_statement && cells.len() == 2) else { continue };
        if *proof == "test" || proof.starts_with("---") {
            continue;
        }
        statements += 1;
        let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && *proof != "as above" {
            wrong.push(format!("no test is named: {line}"));
        }
        wrong.extend(
            named.into_iter().filter(|name| !is_there(name)).map(|name| format!("there is no {name}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(statements > 20, "the tables of statements are found: {statements}");
}

/// Expected outputs whose input is gone would never be looked at again.
#[test]
fn no_expected_file_is_an_orphan() {
    let mut orphans = Vec::new();
    for path in files(&repository("tests/cases"), &["txt", "json", "yaml", "out", "err"]) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("expected") {
            continue;
        }
        let siblings = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        if siblings < 2 {
            orphans.push(relative(&path));
        }
    }
    assert!(orphans.is_empty(), "{}", orphans.join("\n"));
}

/// The README's commands must work in a clone that has nothing else beside it.
#[test]
fn nothing_names_a_place_outside_the_repository() {
    let mut wrong = Vec::new();
    let places = [
        repository("src"),
        repository("tests/it"),
        repository("docs"),
        repository("scripts"),
        repository("examples"),
    ];
    for path in places.iter().flat_map(|place| files(place, &["rs", "md", "toml", "yaml", "sh"])) {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = relative(&path);
        if name == "tests/it/tidy.rs" {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            if ["/work/", "/root/", "../shared"].iter().any(|place| line.contains(place)) {
                wrong.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
