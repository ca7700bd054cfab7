//! Arguments and environment of the process.
#![expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the arguments, the program's name first.
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Returns the environment; names and values that are not UTF-8 are left out.
pub fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the working folder; nothing if it was removed.
pub fn working_folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// Reads a file of `NAME=value` lines: blank lines and comments are passed over, `export ` and one pair of quotes
/// are taken off.
///
/// # Errors
/// Names the line that is none of these.
pub fn parse_env_file(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut variables = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            return Err(format!("line {}: it is not of the form NAME=value", index + 1));
        };
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        variables.insert(name.trim().to_owned(), quoted.unwrap_or(value).to_owned());
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_file_is_read_without_its_quotes() {
        let variables = parse_env_file("# a\n\nA=1\nexport B = \"two words\"\nC='x=y'\nD=\n").unwrap();
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(parse_env_file("A=1\nnonsense").unwrap_err(), "line 2: it is not of the form NAME=value");
    }
}
