//! Pages, completions and man pages that the program makes of itself, and what configures it.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory as _;
use statectl::cli::{args::Cli, reference};
use statectl::plan::{known_reasons, recover};

use crate::support::repository;
use crate::support::statectl::{Output, command, finish, offline};

#[test]
fn the_pages_of_the_repository_are_those_of_the_program() {
    for page in reference::pages() {
        let path = repository(&format!("docs/reference/{}.md", page.name));
        if std::env::var_os("STATECTL_BLESS").is_some() {
            std::fs::write(&path, &page.text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page.text, "{} differs; STATECTL_BLESS=1 writes it anew", path.display());
        assert_eq!(offline(["docs", page.name]).expect(0).stdout, page.text);
        offline(["docs"]).expect(0).says(page.name);
    }
    offline(["docs", "exit-code"]).expect(64).complains("did you mean `exit-codes`?");
}

/// The strings between two marks of a source.
fn strings(source: &str, from: &str, to: &str) -> BTreeSet<String> {
    let start = source.find(from).unwrap();
    let end = start + source[start..].find(to).unwrap();
    source[start..end].split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn each_code_of_a_reason_is_explained_and_no_other() {
    let source = std::fs::read_to_string(repository("src/plan/reason.rs")).unwrap();
    let codes = strings(&source, "pub fn code(", "pub fn object(");
    assert!(codes.len() > 80, "{codes:?}");
    let known: BTreeSet<String> = known_reasons().iter().map(|reason| reason.code.to_owned()).collect();
    assert_eq!(known, codes);
    assert_eq!(known.len(), known_reasons().len(), "a code stands twice");
    for reason in known_reasons() {
        assert!(reason.means.ends_with('.'), "{}", reason.code);
        assert!(reason.todo.is_empty() || reason.todo.ends_with(['.', '`']), "{}", reason.code);
        offline(["explain", reason.code]).expect(0).says(reason.means).says(reason.todo);
    }
    for row in &recover::TABLE {
        offline(["explain", row.code]).expect(0).says(row.id).says(&row.does[1..]);
    }
    offline(["explain", "reasons"]).expect(0).says("data-would-go").says("sealed-upgrade");
    offline(["explain", "imutable"]).expect(64).complains("did you mean `immutable`?");
}

#[test]
fn the_help_of_each_verb_has_an_example() {
    let mut without = Vec::new();
    for verb in Cli::command().get_subcommands() {
        let about =
            verb.get_long_about().or_else(|| verb.get_about()).map(ToString::to_string).unwrap_or_default();
        if !about.contains("Example: statectl ") {
            without.push(verb.get_name().to_owned());
        }
    }
    assert_eq!(without, Vec::<String>::new());
}

#[test]
fn shells_take_the_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        offline(["completions", shell]).expect(0).says("detailed-exit-code");
    }
    // What a real bash would offer behind `statectl pl`.
    let script = offline(["completions", "bash"]).expect(0).stdout;
    let asked = format!(
        "{script}\nCOMP_WORDS=(statectl pl); COMP_CWORD=1; _statectl statectl pl statectl; echo \"${{COMPREPLY[@]}}\""
    );
    let bash = std::process::Command::new("bash").args(["--norc", "-c", &asked]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&bash.stdout).trim(), "plan", "{bash:?}");
}

#[test]
fn each_verb_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man1");
    offline(["man", "--out", out.to_str().unwrap()]).expect(0).says("statectl-plan.1");
    for verb in Cli::command().get_subcommands() {
        let page = std::fs::read_to_string(out.join(format!("statectl-{}.1", verb.get_name()))).unwrap();
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(&format!("statectl\\-{}", verb.get_name())),
            "{page}"
        );
    }
    offline(["man"]).expect(0).says(".TH statectl 1");
}

/// Runs `config` with a configuration file and variables, and returns what it ended with.
fn configured(file: Option<&str>, variables: &[(&str, &str)], flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.toml"),
        "[namespaces.shop]\n[environments.one.settings]\nkubeContext = \"from-one\"\n\
         [environments.two.settings]\nkubeContext = \"from-two\"\n\
         [environments.three.settings]\nkubeContext = \"from-three\"\n",
    )
    .unwrap();
    let mut run = command(["config", "a.toml"]);
    run.args(flags).current_dir(folder.path()).env("XDG_CONFIG_HOME", folder.path());
    if let Some(text) = file {
        std::fs::create_dir(folder.path().join("statectl")).unwrap();
        std::fs::write(folder.path().join("statectl/config.toml"), text).unwrap();
    }
    finish(run.envs(variables.iter().copied()))
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let file = Some("environment = \"one\"\n");
    let variable = ("STATECTL_ENVIRONMENT", "two");
    configured(file, &[], &[]).expect(0).says("from-one");
    configured(file, &[variable], &[]).expect(0).says("from-two");
    configured(file, &[variable], &["--environment", "three"]).expect(0).says("from-three");
    configured(file, &[("STATECTL_CONFIG", "")], &[]).expect(0);
    // Colour, as one that is everywhere, and a switch.
    configured(Some("color = \"always\"\noffline = true\n"), &[], &["--color", "never"]).expect(0);
    for (file, variables, complaint) in [
        (Some("enviroment = \"one\"\n"), &[][..], "did you mean `environment`?"),
        (Some("environment = [1]\n"), &[], "`environment` cannot be of type array"),
        (Some("environment = \n"), &[], "the configuration is no TOML"),
        (
            None,
            &[("STATECTL_CONFIG", "/nonexistent/x.toml")],
            "/nonexistent/x.toml: the configuration cannot be read",
        ),
        (None, &[("STATECTL_OFFLINE", "maybe")], "STATECTL_OFFLINE: `maybe` is neither true nor false"),
        (None, &[("STATECTL_COLOR", "blue")], "not from the command line: --color from STATECTL_COLOR"),
    ] {
        configured(file, variables, &[]).expect(64).complains(complaint);
    }
}

/// Sources of the product, without those whose upper-case words are no variables of ours.
fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["template", "go", "tests", "convert"].contains(&name.as_str()) {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

#[test]
fn each_variable_that_is_read_is_told() {
    let mut found = Vec::new();
    sources(&repository("src"), &mut found);
    let page = std::fs::read_to_string(repository("docs/reference/configuration.md")).unwrap();
    let hooks = std::fs::read_to_string(repository("docs/reference/hooks.md")).unwrap();
    let mut unknown = BTreeSet::new();
    let mut count = 0;
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in product.split('"').skip(1).step_by(2) {
            let upper = word.contains('_')
                && word.len() > 5
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
            // Set for git, or built in, or the label that Helmsman's releases carry; and the ends of names of vaults'.
            let ours = !["GIT_", "CARGO_", "FETCH_HEAD", "HELMSMAN_CONTEXT", "CLIENT_", "SKIP_VERIFY"]
                .iter()
                .any(|known| word.starts_with(known));
            if upper && ours {
                count += 1;
                if !page.contains(word) && !hooks.contains(word) {
                    unknown.insert(format!("{word} in {}", path.display()));
                }
            }
        }
    }
    assert!(count > 30, "{count}");
    assert_eq!(unknown, BTreeSet::new());
}
