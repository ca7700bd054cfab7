//! The layout of a file: spaces, line breaks and indentation, in one style. Nothing that it says changes.
//!
//! The order of keys, the spelling of values and every comment stay. Two kept libraries lay the text out; what they
//! give is read again, and counts only if it says the same and would be laid out the same once more.

use super::problems::{Code, Problem, Problems};
use super::read::{self, Found, Parsed, Syntax};
use super::tree::{Kind, Node, Table};
use crate::text::{Sources, Span};

/// Lines are broken here where that is possible; texts are never broken.
const WIDTH: usize = 100;

/// Returns a file in the one layout. The ending of its name tells the syntax; keys are not looked at, so that files of
/// values can be laid out too.
///
/// # Errors
/// The file cannot be read, or its layout cannot be changed without a change of what it says.
pub fn laid_out(name: &str, bytes: &[u8]) -> Result<String, Problems> {
    let (before, mut sources) = parse(name, bytes)?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned();
    let mut refuse = |message: String, hint: &str| {
        let problem = Problem::new(Code::Syntax, "", message, Span::new(before.file, 0..0)).hint(hint);
        match Problems::new(std::mem::take(&mut sources), vec![problem]) {
            Some(problems) => Err(problems),
            // One problem is a list of problems; this cannot be reached, and the text as it is would be no error.
            None => Ok(text.clone()),
        }
    };
    let once = match pass(&text, before.syntax) {
        Ok(once) => once,
        Err(why) => return refuse(format!("the layout cannot be changed: {why}"), "the file is left alone"),
    };
    // What a first pass brings to new lines, a second one may indent.
    let twice = match pass(&once, before.syntax) {
        Ok(twice) => twice,
        Err(why) => return refuse(format!("the layout cannot be changed: {why}"), "the file is left alone"),
    };
    let stable = once == twice || pass(&twice, before.syntax).as_ref() == Ok(&twice);
    let same = parse(name, twice.as_bytes())
        .is_ok_and(|(after, _)| same_table(&before.table, &after.table) && after.syntax == before.syntax);
    let (old, new) = (comments(&text), comments(&twice));
    if !stable || !same || old != new {
        let message = "the layout cannot be changed without a change of what the file says";
        return refuse(
            message.to_owned(),
            "the file is left alone; simpler quoting or fewer anchors may help",
        );
    }
    Ok(twice)
}

fn parse(name: &str, bytes: &[u8]) -> Result<(Parsed, Sources), Problems> {
    let mut sources = Sources::default();
    let mut found = Found::default();
    let parsed = read::read(name, bytes, false, &mut sources, &mut found);
    match (parsed, Problems::new(sources.clone(), found.problems)) {
        (Some(parsed), None) => Ok((parsed, sources)),
        (_, Some(problems)) => Err(problems),
        (None, None) => {
            let file = sources.add(name, "");
            let problem = Problem::new(Code::Syntax, "", "the file cannot be read", Span::new(file, 0..0));
            let empty = (Parsed { file, syntax: Syntax::Toml, table: Table::new() }, Sources::default());
            Problems::new(sources, vec![problem]).map_or(Ok(empty), Err)
        }
    }
}

fn pass(text: &str, syntax: Syntax) -> Result<String, String> {
    match syntax {
        Syntax::Toml => toml(text),
        Syntax::Yaml => yaml(text),
    }
}

fn toml(text: &str) -> Result<String, String> {
    let parsed = taplo::parser::parse(text);
    if let Some(error) = parsed.errors.first() {
        let line = text[..usize::from(error.range.start())].matches('\n').count() + 1;
        return Err(format!("line {line}: {}", error.message));
    }
    let options = taplo::formatter::Options {
        column_width: WIDTH,
        // Which arrays stand on one line is the author's choice.
        array_auto_expand: false,
        array_auto_collapse: false,
        align_entries: false,
        align_comments: false,
        compact_inline_tables: false,
        indent_tables: false,
        indent_entries: false,
        allowed_blank_lines: 1,
        trailing_newline: true,
        reorder_keys: false,
        reorder_arrays: false,
        reorder_inline_tables: false,
        ..taplo::formatter::Options::default()
    };
    Ok(taplo::formatter::format_syntax(parsed.into_syntax(), options))
}

fn yaml(text: &str) -> Result<String, String> {
    use pretty_yaml::config::{FormatOptions, LanguageOptions, LayoutOptions, Quotes};
    let options = FormatOptions {
        layout: LayoutOptions { print_width: WIDTH, indent_width: 2, ..LayoutOptions::default() },
        language: LanguageOptions {
            // How a value is quoted is the author's choice.
            quotes: Quotes::PreferDouble,
            ..LanguageOptions::default()
        },
    };
    pretty_yaml::format_text(text, &options).map_err(|error| error.to_string().trim().replace('\n', " "))
}

/// The words of the comments of a text, roughly: what stands behind `#` on each line. Enough to see that one is lost,
/// since a `#` inside of a value stands in both texts too.
fn comments(text: &str) -> Vec<String> {
    let mut all: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once('#'))
        .map(|(_, comment)| comment.chars().filter(char::is_ascii_alphanumeric).collect())
        .collect();
    all.sort();
    all
}

fn same_table(a: &Table, b: &Table) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key && same(&a.value, &b.value))
}

/// Whether two trees say the same, in the same order.
fn same(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Null, Kind::Null) | (Kind::Date, Kind::Date) => true,
        (Kind::Bool(a), Kind::Bool(b)) => a == b,
        (Kind::Int(a), Kind::Int(b)) => a == b,
        (Kind::Uint(a), Kind::Uint(b)) => a == b,
        (Kind::Float(a), Kind::Float(b)) => a.to_bits() == b.to_bits(),
        (Kind::Str(a), Kind::Str(b)) => a == b,
        (Kind::List(a), Kind::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Kind::Map(a), Kind::Map(b)) => same_table(a, b),
        _ => false,
    }
}
