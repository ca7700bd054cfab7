//! Bytes of a file to a tree, with the problems of its form: encoding, size, syntax.

use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::tree::{Kind, MAX_BYTES, MAX_DEPTH, MAX_NODES, Node, Table};
use super::{read_toml, read_yaml};
use crate::text::{FileId, Sources, Span};

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Toml,
    Yaml,
}

/// A file that could be read, at least in part.
pub(super) struct Parsed {
    pub(super) file: FileId,
    pub(super) syntax: Syntax,
    /// The top-level table; empty when nothing could be read.
    pub(super) table: Table,
}

/// What is found while reading.
#[derive(Default)]
pub(super) struct Found {
    pub(super) problems: Vec<Problem>,
    /// Notes about places outside any known path.
    pub(super) notes: Vec<(NoteCode, String, Span)>,
}

/// Adds the file to `sources` and reads it. What cannot be read is a problem; the rest is returned.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    lenient: bool,
    sources: &mut Sources,
    found: &mut Found,
) -> Option<Parsed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.len() > MAX_BYTES {
        let file = sources.add(name, "");
        let message = format!("the file is larger than {} MiB", MAX_BYTES >> 20);
        found.problems.push(Problem::new(Code::TooLarge, "", message, Span::new(file, 0..0)));
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let file = sources.add(name, &String::from_utf8_lossy(bytes));
            let at = error.valid_up_to();
            let problem =
                Problem::new(Code::NotUtf8, "", "the file is not UTF-8", Span::new(file, at..at + 1));
            let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
            found.problems.push(problem.hint(if utf16 {
                "it looks like UTF-16; save it as UTF-8"
            } else {
                "save it as UTF-8"
            }));
            return None;
        }
    };
    let file = sources.add(name, text);
    let start = Span::new(file, 0..0);
    let Some(syntax) = syntax_of(name) else {
        let message = "the name of the file does not end in .toml, .tml, .yaml or .yml";
        found.problems.push(Problem::new(Code::UnknownFormat, "", message, start));
        return None;
    };
    let found_before = found.problems.len();
    let root = match syntax {
        Syntax::Toml => read_toml::read(text, file, &mut found.problems),
        Syntax::Yaml => read_yaml::read(text, file, lenient, found),
    };
    let table = match root {
        Some(Node { kind: Kind::Map(table), .. }) => table,
        Some(Node { kind: Kind::Null, .. }) | None => Table::new(),
        Some(node) => {
            let message = format!("the file holds {} instead of keys", node.type_name());
            found.problems.push(Problem::new(Code::WrongType, "", message, node.span));
            return None;
        }
    };
    if table.is_empty() && found.problems.len() == found_before {
        let problem = Problem::new(Code::EmptyFile, "", "the file holds no keys", start);
        found.problems.push(problem.hint("a desired-state file needs at least `namespaces` and `apps`"));
    }
    Some(Parsed { file, syntax, table })
}

fn syntax_of(name: &str) -> Option<Syntax> {
    let (_, extension) = name.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "toml" | "tml" => Some(Syntax::Toml),
        "yaml" | "yml" => Some(Syntax::Yaml),
        _ => None,
    }
}

/// Bounds what a reader builds.
pub(super) struct Budget {
    nodes: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Budget { nodes: MAX_NODES }
    }

    /// Takes one node at a depth from the budget, or tells what is exceeded.
    pub(super) fn take(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.nodes = self.nodes.checked_sub(1).ok_or_else(|| format!("more than {MAX_NODES} values"))?;
        Ok(())
    }
}
