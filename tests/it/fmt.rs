//! `fmt`: one layout, and not a word changed.

use std::path::{Path, PathBuf};

use crate::support::statectl::{Output, command, finish};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    finish(command(arguments).current_dir(folder))
}

/// Every case: the ending of the file, its text, and its text in the one layout.
const CASES: &[(&str, &str, &str)] = &[
    // Spaces, blank lines and the end of the file; comments, quotes and the order of keys stay.
    (
        "toml",
        "# Shop.\ncontext='shop'   # whose\n\n\n\n[namespaces.shop]\n  [apps.web]\nnamespace=\"shop\"\nvaluesFiles=[ 'b.yaml','a.yaml' ]\nset={ \"a.b\"=1 }",
        "# Shop.\ncontext = 'shop' # whose\n\n[namespaces.shop]\n[apps.web]\nnamespace = \"shop\"\nvaluesFiles = ['b.yaml', 'a.yaml']\nset = { \"a.b\" = 1 }\n",
    ),
    (
        "yaml",
        "# Shop.\ncontext:   shop   # whose\n\n\n\nnamespaces:\n    shop: {}\napps:\n    web:\n        namespace:  'shop'\n        valuesFiles: [b.yaml,   a.yaml]\n        description: |\n          one\n            two\n",
        "# Shop.\ncontext: shop # whose\n\nnamespaces:\n  shop: {}\napps:\n  web:\n    namespace: \"shop\"\n    valuesFiles: [b.yaml, a.yaml]\n    description: |\n      one\n        two\n",
    ),
];

#[test]
fn a_file_gets_the_one_layout_and_keeps_what_it_says() {
    for (ending, before, after) in CASES {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("shop.{ending}");
        let path = folder.path().join(&name);
        std::fs::write(&path, before).unwrap();
        run(folder.path(), &["fmt", &name, "--check"]).expect(1).says(&name);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), *before, "--check writes nothing");
        assert_eq!(run(folder.path(), &["fmt", &name]).expect(0).stdout, format!("{name}\n"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), *after);
        assert_eq!(run(folder.path(), &["fmt", &name]).expect(0).stdout, "");
        run(folder.path(), &["fmt", &name, "--check"]).expect(0);
    }
}

#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.toml");
    std::fs::write(&real, "a=1\n").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.toml", folder.path().join("link.toml")).unwrap();
    run(folder.path(), &["fmt", "link.toml"]).expect(0);
    assert!(folder.path().join("link.toml").is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "a = 1\n");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_standard_input_goes_to_stdout() {
    use std::io::Write as _;
    let mut child = command(["fmt", "-", "--stdin-name", "x.yaml"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a:   1\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a: 1\n");
}

#[test]
fn one_bad_file_leaves_all_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), "a=1\n").unwrap();
    std::fs::write(folder.path().join("bad.toml"), "a = [1\nb = 2\n").unwrap();
    run(folder.path(), &["fmt", "good.toml", "bad.toml"]).expect(64).complains("bad.toml:2:");
    assert_eq!(std::fs::read_to_string(folder.path().join("good.toml")).unwrap(), "a=1\n");
    run(folder.path(), &["fmt"]).expect(64).complains("no file is named");
    run(folder.path(), &["fmt", "missing.toml"]).expect(64).complains("missing.toml");
}

/// The last line of such a text has no line break; a file in the one layout ends with one, which would be part of it.
#[test]
fn what_cannot_be_laid_out_without_a_change_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a:   |\n  one";
    std::fs::write(folder.path().join("a.yaml"), text).unwrap();
    run(folder.path(), &["fmt", "a.yaml"]).expect(64).complains("without a change of what the file says");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.yaml")).unwrap(), text);
}

/// Files of every folder below.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|ending| ["toml", "yaml", "yml"].iter().any(|known| ending == *known))
        {
            found.push(path);
        }
    }
}

/// What is laid out says the same: the product's own check refuses all else, so here only how many are refused.
#[test]
fn files_of_all_kinds_are_laid_out_or_left_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    files(&root.join("examples"), &mut all);
    files(&root.join("tests/cases/dsf"), &mut all);
    if let Some(more) = std::env::var_os("STATECTL_HELMSMAN") {
        files(Path::new(&more), &mut all);
    }
    assert!(all.len() > 100, "{}", all.len());
    let (mut laid_out, mut left) = (0, Vec::new());
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        match statectl::dsf::laid_out(&path.display().to_string(), &bytes) {
            Ok(text) => {
                laid_out += 1;
                let again = statectl::dsf::laid_out(&path.display().to_string(), text.as_bytes()).unwrap();
                assert_eq!(again, text, "{}: a second time", path.display());
            }
            Err(problems) if problems.to_string().contains("the layout cannot be changed") => {
                left.push(format!("{}: {problems}", path.display()));
            }
            // What cannot be read at all; charts' templates are no YAML.
            Err(_) => {}
        }
    }
    println!("{laid_out} laid out, {} left alone", left.len());
    assert!(left.len() * 50 <= laid_out, "{laid_out} laid out, but left alone:\n{}", left.join("\n"));
}
