//! The texts that were read, and positions in them.
//!
//! A [`Span`] is three small numbers so that every node of a tree can carry one; [`Sources`] turns it into
//! a [`Location`] that a person can open in an editor.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Names one text in [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A range of bytes in one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// Returns the span of `range` in `file`. Positions beyond 4 GiB are cut off there.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { file, start: clip(range.start), end: clip(range.end.max(range.start)) }
    }

    /// Returns the bytes that the span covers.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A position as an editor names it. Prints as `file:line:column`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The name under which the text was given, usually its path.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

#[derive(Clone, Debug)]
struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[usize]>,
    /// The characters before every [`STEP`]th byte, so that a position in a very long line is found at once.
    characters: Arc<[usize]>,
}

const STEP: usize = 4096;

/// The texts of one run. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a text under the name that positions in it will be shown with.
    pub fn add(&mut self, name: &str, text: &str) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        self.files.push(SourceFile {
            name: name.into(),
            text: text.into(),
            line_starts,
            characters: characters(text),
        });
        id
    }

    /// Returns the name of a text, or the empty string for an unknown one.
    pub fn name(&self, file: FileId) -> &str {
        self.file(file).map_or("", |file| &file.name)
    }

    /// Returns the names of the texts in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.name)
    }

    /// Returns a text, or the empty string for an unknown one.
    pub fn text(&self, file: FileId) -> &str {
        self.file(file).map_or("", |file| &file.text)
    }

    /// Returns the text that a span covers; empty where the span does not fit its text.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or("")
    }

    /// Returns the position of the first character of a span.
    pub fn location(&self, span: Span) -> Location {
        let Some(file) = self.file(span.file) else {
            return Location { file: "".into(), line: 1, column: 1 };
        };
        let (line, start) = file.line_of(span.start as usize);
        let column =
            file.characters_before(span.start as usize).saturating_sub(file.characters_before(start));
        Location { file: Arc::clone(&file.name), line: line + 1, column: column + 1 }
    }

    /// Returns the span of the word at a position.
    pub fn word_at(&self, place: &Location) -> Span {
        let Some(at) = self.files.iter().position(|file| file.name == place.file) else {
            return Span::default();
        };
        let (id, file) = (FileId(u32::try_from(at).unwrap_or(u32::MAX)), &self.files[at]);
        let line = file.line_starts.get(place.line.saturating_sub(1)).copied().unwrap_or(0);
        let rest = file.text.get(line..).unwrap_or("");
        let column = place.column.saturating_sub(1);
        let start = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let length = rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start);
        Span::new(id, line + start..line + start + length)
    }

    /// Returns the line in which a span starts, without its line end, and where it starts in the text.
    pub(super) fn line(&self, span: Span) -> Option<(&str, usize)> {
        let file = self.file(span.file)?;
        let (_, start) = file.line_of(span.start as usize);
        let rest = file.text.get(start..)?;
        let line = rest.split('\n').next().unwrap_or("");
        Some((line.strip_suffix('\r').unwrap_or(line), start))
    }

    fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }
}

/// How many characters start in these bytes of UTF-8.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn characters(text: &str) -> Arc<[usize]> {
    let steps = text.as_bytes().chunks(STEP).scan(0, |before, chunk| {
        let here = *before;
        *before += starts(chunk);
        Some(here)
    });
    steps.collect()
}

impl SourceFile {
    /// The characters that start before the byte `at`.
    fn characters_before(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        let step = (at / STEP).min(self.characters.len().saturating_sub(1));
        let counted = self.characters.get(step).copied().unwrap_or(0);
        counted + self.text.as_bytes().get(step * STEP..at).map_or(0, starts)
    }

    /// The index of the line that holds the byte `at`, and the first byte of that line.
    fn line_of(&self, at: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= at).saturating_sub(1);
        (line, self.line_starts.get(line).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_any_span() {
        let mut sources = Sources::default();
        let long = format!("{}x", "日".repeat(10_000));
        let far = sources.add("long", &long);
        assert_eq!(sources.location(Span::new(far, 30_000..30_001)).column, 10_001);
        let file = sources.add("a.toml", "x = 1\r\nä = \"ö\"\n");
        for (range, line, column) in [
            (0..1, 1, 1),
            (4..5, 1, 5),
            (7..9, 2, 1),
            (12..16, 2, 5),
            (17..17, 3, 1),
            (900..901, 3, 1),
            (8..9, 2, 2),
        ] {
            let at = sources.location(Span::new(file, range));
            assert_eq!((at.line, at.column), (line, column));
        }
        assert_eq!(sources.location(Span::new(file, 7..9)).to_string(), "a.toml:2:1");
        assert_eq!(sources.slice(Span::new(file, 7..9)), "ä");
        assert_eq!(sources.slice(Span::new(file, 8..9)), "");
        assert_eq!(sources.location(Span { file: FileId(7), start: 0, end: 0 }).line, 1);
    }
}
