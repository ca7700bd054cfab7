//! The YAML reader against measured answers of go-yaml v2.
//!
//! `STATECTL_YAML_TABLES` names a folder with `tokens.go-yaml-v2.txt` and `snippets.go-yaml-v2.txt`: one case a
//! line, `case<TAB>answer`. A token is a text in which `\n` is a line break, a snippet a JSON string. The answer
//! is JSON, `ERR` and go-yaml's error, or `JERR` and the error of the conversion to JSON.

use std::path::Path;

use statectl::value::Value;
use statectl::value::json::{self, Escape, Numbers};
use statectl::yaml;

#[test]
#[expect(clippy::disallowed_methods, reason = "the folder is given by the environment")]
fn yaml_tables_agree_with_go_yaml() {
    let Ok(folder) = std::env::var("STATECTL_YAML_TABLES") else {
        crate::support::say("yaml tables: not given (set STATECTL_YAML_TABLES to their folder)");
        return;
    };
    let read =
        |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).expect("the table is there");
    let mut wrong = Vec::new();
    let tokens = check(&read("tokens.go-yaml-v2.txt"), |case| case.replace("\\n", "\n"), &mut wrong);
    let snippets = check(&read("snippets.go-yaml-v2.txt"), snippet, &mut wrong);
    crate::support::say(&format!("yaml tables: {tokens} tokens, {snippets} snippets"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A snippet is written in JSON with surrogate pairs; it is not JSON that a reader refused.
fn snippet(case: &str) -> String {
    match json::from_slice(case.as_bytes(), Numbers::Float) {
        Ok(Value::Str(text)) => text,
        other => format!("not a snippet: {other:?}"),
    }
}

fn check(table: &str, decode: impl Fn(&str) -> String, wrong: &mut Vec<String>) -> String {
    let (mut right, mut total) = (0, 0);
    for line in table.lines() {
        let Some((case, expected)) = line.split_once('\t') else { continue };
        total += 1;
        let answer = answer(&decode(case));
        if answer == expected {
            right += 1;
        } else {
            wrong.push(format!("{case}\n  expected {expected}\n  got      {answer}"));
        }
    }
    format!("{right}/{total}")
}

fn answer(text: &str) -> String {
    let value = match yaml::read_typed(text.as_bytes()) {
        // The tables were measured on go-yaml alone: there a null key still is a key.
        Err(error) if error.problem().starts_with("unsupported map key") => {
            yaml::read_spanned(text.as_bytes()).map(|node| node.to_value())
        }
        other => other,
    };
    match value {
        Ok(value) => json::to_string(&value, Escape::Html).unwrap_or_else(|error| error.to_string()),
        Err(error) if error.go_yaml().starts_with("json:") => format!("JERR {}", error.go_yaml()),
        Err(error) => format!("ERR {}", error.go_yaml()),
    }
}
