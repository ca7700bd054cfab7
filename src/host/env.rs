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

/// Returns `user@host` and the number of this process.
pub fn who() -> (String, u32) {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (format!("{}@{host}", user.unwrap_or_else(|| "unknown".to_owned())), std::process::id())
}

/// Returns the working folder; nothing if it was removed.
pub fn working_folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// Reads a file of `NAME=value` or `NAME: value` lines, as Helmsman reads them (`subosito/gotenv`): blank lines and
/// comments are passed over, `export ` is taken off. A value in quotes may go over several lines; in double quotes
/// `\n`, `\r` and escaped characters are replaced. Variables are replaced where the value is not in single quotes and
/// the name is known, from `environment` or an earlier line. The variables are in the order of the file.
///
/// # Errors
/// Names the line that is none of these.
pub fn parse_env_file(
    text: &str,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let mut known = environment.clone();
    let mut variables = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut number = 0;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = rest[..end].trim();
        number += 1;
        let trimmed = line.strip_prefix("export ").map_or(line, str::trim_start);
        if line.is_empty() || line.starts_with('#') {
            rest = &rest[end..];
            continue;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name_end = trimmed.find(|c| !is_name(c)).unwrap_or(trimmed.len());
        let (name, after) = trimmed.split_at(name_end);
        let after = after.trim_start();
        let divided =
            after.strip_prefix('=').or_else(|| after.strip_prefix(':').filter(|rest| rest.starts_with(' ')));
        let Some(value) = divided.filter(|_| !name.is_empty()).map(str::trim_start) else {
            return Err(format!("line {number}: it is not of the form NAME=value"));
        };
        // The value may go on in the lines below: it is looked at in the text, not in the line.
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        let (value, used) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(&text[start + 1..], quote)
                .ok_or_else(|| format!("line {number}: a quote is not closed"))
                .map(|(inner, used)| (inner, start + 1 + used))?,
            _ => (value.split('#').next().unwrap_or_default().trim_end().to_owned(), start),
        };
        let value = if text[start..].starts_with('\'') { value } else { expanded(&value, &known) };
        known.insert(name.to_owned(), value.clone());
        variables.push((name.to_owned(), value));
        let end = text[used..].find('\n').map_or(text.len(), |at| used + at + 1);
        let next_number = text[..end].matches('\n').count();
        let tail = text[used..end].trim();
        if start != used && !(tail.is_empty() || tail.starts_with('#')) {
            return Err(format!("line {number}: something follows the closing quote"));
        }
        number = next_number;
        rest = &text[end..];
    }
    Ok(variables)
}

/// The text up to the closing quote, and how many bytes it takes with the quote. In double quotes a backslash escapes,
/// but stays before `$` so that no variable is seen there.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            c if c == quote => return Some((out, at + 1)),
            '\\' if quote == '"' => match characters.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                '$' => out.push_str("\\$"),
                other => out.push(other),
            },
            '\\' if text[at + 1..].starts_with('\'') => out.push(characters.next()?.1),
            c => out.push(c),
        }
    }
    None
}

/// Replaces `$NAME` and `${NAME}` where the name is known; a `$` behind a backslash stays.
fn expanded(value: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        let escaped = rest[..at].ends_with('\\');
        out.push_str(&rest[..at - usize::from(escaped)]);
        let after = &rest[at + 1..];
        let inner = after.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(inner, _)| inner);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, length) = inner.map_or((&after[..end], end), |inner| (inner, inner.len() + 2));
        match known.get(name).filter(|_| !escaped) {
            Some(value) => {
                out.push_str(value);
                rest = &after[length..];
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[(&str, &str)], &str>) {
        let environment = BTreeMap::from([("HOST".to_owned(), "h".to_owned())]);
        let found = parse_env_file(text, &environment);
        let expected = expected.map_err(str::to_owned).map(|pairs| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn an_environment_file_is_read_as_helmsman_reads_it() {
        check(
            "# a\n\nA=1\nexport B = \"two words\"\nC='x=y'\nD=\n",
            Ok(&[("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")]),
        );
        check("A: 1 # c\nB=\"x # y\" # z\r\nC='#'", Ok(&[("A", "1"), ("B", "x # y"), ("C", "#")]));
        check("A=\"l1\nl2\"\nB='m1\nm2'\nC=3", Ok(&[("A", "l1\nl2"), ("B", "m1\nm2"), ("C", "3")]));
        check(r#"A="a\nb\"c""#, Ok(&[("A", "a\nb\"c")]));
        check("A=$HOST\nB=\"${A}x\"\nC='$A'", Ok(&[("A", "h"), ("B", "hx"), ("C", "$A")]));
        check("A=p$ecret\nB=\\$HOST\nC=\"\\$HOST\"", Ok(&[("A", "p$ecret"), ("B", "$HOST"), ("C", "$HOST")]));
        check("A=1\nnonsense", Err("line 2: it is not of the form NAME=value"));
        check("=1", Err("line 1: it is not of the form NAME=value"));
        check("A=\"x\nB=1", Err("line 1: a quote is not closed"));
        check("A='x' y", Err("line 1: something follows the closing quote"));
    }
}
