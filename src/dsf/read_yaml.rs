//! YAML text to a tree, read as Helmsman reads it: YAML 1.1, merge keys applied.

use super::notes::NoteCode;
use super::problems::{Code, Problem};
use super::read::{Budget, Found};
use super::tree::{Entry, Kind, Node, Table, Text};
use crate::text::{FileId, Span};
use crate::value::Value;
use crate::yaml::{self, Content, Position};
use std::collections::HashMap;

/// Reads the first document. With `lenient`, a key that is not text is only a note.
pub(super) fn read(text: &str, file: FileId, lenient: bool, found: &mut Found) -> Option<Node> {
    let root = match yaml::read_spanned(text.as_bytes()) {
        Ok(root) => root,
        Err(error) => {
            let at = error.position().map_or(0, |position| offset_of(text, position));
            let message = format!("not valid YAML: {}", error.problem());
            found.problems.push(Problem::new(Code::Syntax, "", message, Span::new(file, at..at)));
            return None;
        }
    };
    if let Some(at) = second_document(text, root.span.end) {
        let problem =
            Problem::new(Code::Syntax, "", "a second document starts here", Span::new(file, at..at + 3));
        found.problems.push(problem.hint("give each document a file of its own"));
    }
    let mut reader = Reader { file, lenient, budget: Budget::new(), found };
    reader.node(&root, 0).ok()
}

struct Reader<'a> {
    file: FileId,
    lenient: bool,
    budget: Budget,
    found: &'a mut Found,
}

/// The tree is too large; said in the problems.
struct TooLarge;

impl Reader<'_> {
    fn node(&mut self, node: &yaml::Node, depth: usize) -> Result<Node, TooLarge> {
        let span = self.span(node.span);
        if let Err(message) = self.budget.take(depth) {
            self.found.problems.push(Problem::new(Code::TooLarge, "", message, span));
            return Err(TooLarge);
        }
        let kind = match &node.content {
            Content::Scalar { value, .. } => scalar(value),
            Content::List(items) => {
                Kind::List(items.iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Content::Map(entries) => Kind::Map(self.table(entries, depth)?),
        };
        Ok(Node { kind, span })
    }

    fn table(&mut self, entries: &[yaml::Entry], depth: usize) -> Result<Table, TooLarge> {
        let mut table = Table::with_capacity(entries.len());
        // Pairs of merge keys and pairs beside them override each other in the order of the file; only keys
        // that somebody wrote twice are left twice.
        let mut seen: HashMap<&str, (usize, bool)> = HashMap::new();
        for entry in entries {
            let key_span = self.span(entry.key.span);
            self.key(entry, key_span);
            let value = self.node(&entry.value, depth + 1)?;
            let read = Entry { key: Text::plain(entry.name.as_str()), key_span, value };
            match seen.get(entry.name.as_str()) {
                Some(&(at, merged)) if merged || entry.merged => table[at] = read,
                Some(_) => table.push(read),
                None => {
                    seen.insert(&entry.name, (table.len(), entry.merged));
                    table.push(read);
                    continue;
                }
            }
            if let Some((_, merged)) = seen.get_mut(entry.name.as_str()) {
                *merged = entry.merged;
            }
        }
        Ok(table)
    }

    /// YAML 1.1 reads the keys `y`, `on`, `1.0` or nothing at all as something else than they look like.
    fn key(&mut self, entry: &yaml::Entry, span: Span) {
        let Content::Scalar { text, .. } = &entry.key.content else { return };
        if *text == entry.name {
            return;
        }
        let message = format!("without quotes the key `{text}` is read as `{}`", entry.name);
        if self.lenient {
            self.found.notes.push((NoteCode::KeySpelling, message, span));
        } else {
            let problem = Problem::new(Code::WrongType, "", message, span);
            self.found.problems.push(problem.hint("write it in quotes"));
        }
    }

    fn span(&self, span: yaml::Span) -> Span {
        Span::new(self.file, span.start..span.end)
    }
}

fn scalar(value: &Value) -> Kind {
    match value {
        Value::Bool(flag) => Kind::Bool(*flag),
        Value::Int(number) => Kind::Int(*number),
        Value::Uint(number) => Kind::Uint(*number),
        Value::Float(number) => Kind::Float(*number),
        Value::Str(text) => Kind::Str(Text::plain(text.as_str())),
        // Scalars are neither lists nor maps.
        Value::Null | Value::List(_) | Value::Map(_) => Kind::Null,
    }
}

/// The byte at a line and a column, or the end of the text.
fn offset_of(text: &str, position: Position) -> usize {
    let line = position.line.saturating_sub(1) as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..).unwrap_or("").split('\n').next().unwrap_or("");
    let column = position.column.saturating_sub(1) as usize;
    start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
}

/// Where a marker after the end of the first document starts another one.
fn second_document(text: &str, end: usize) -> Option<usize> {
    let mut at = text.get(..end)?.rfind('\n').map_or(0, |newline| newline + 1);
    for line in text.get(at..)?.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        // The first line belongs to the document in part; a marker there is its own.
        if at >= end && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
        {
            return Some(at);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_become_offsets() {
        let text = "aäb\r\ncd\n";
        for (line, column, offset) in [(1, 1, 0), (1, 3, 3), (2, 1, 6), (2, 2, 7), (2, 99, 8), (9, 1, 9)] {
            assert_eq!(offset_of(text, Position { line, column }), offset, "{line}:{column}");
        }
    }

    #[test]
    fn only_a_marker_behind_the_document_starts_another() {
        for (text, expected) in [
            ("a: 1\n", None),
            ("---\na: 1\n", None),
            ("a: 1\n---\nb: 2\n", Some(5)),
            ("a: 1\n---", Some(5)),
            ("a: |\n  x\n  ---\n", None),
            ("a: 1\n...\n", None),
            ("a: '\n ---'\n", None),
        ] {
            let end = yaml::read_spanned(text.as_bytes()).unwrap().span.end;
            assert_eq!(second_document(text, end), expected, "{text}");
        }
    }
}
