//! A line of a text with a mark under the part that matters.

use super::source::{Location, Sources, Span};
use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest line that is printed, gutter included.
const WIDTH: usize = 80;
const ELLIPSIS: char = '…';
/// Bytes on each side of a mark that are looked at.
const FAR: usize = 1000;

/// What a piece of an excerpt is, for whoever colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Line number, arrow and rules.
    Frame,
    /// Text of the file.
    Source,
    /// The mark under the text.
    Mark,
}

/// Some text of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// The lines of an excerpt, each in pieces. Prints as plain text, no line longer than 80 columns but the
/// position, which is never cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Where the marked text starts.
    pub location: Location,
    /// The lines.
    pub lines: Vec<Vec<Piece>>,
}

impl Excerpt {
    /// Cuts the line in which `span` starts out of its text and marks the span.
    pub fn new(sources: &Sources, span: Span) -> Self {
        Self::build(sources, span, false)
    }

    /// The same, but everything after the marked text is replaced by `…`: for lines that may hold a secret.
    pub fn without_rest(sources: &Sources, span: Span) -> Self {
        Self::build(sources, span, true)
    }

    fn build(sources: &Sources, span: Span, hide_rest: bool) -> Self {
        let location = sources.location(span);
        let number = location.line.to_string();
        let blank = " ".repeat(number.len());
        let frame = |text: String| Piece { role: Role::Frame, text };
        let mut lines = vec![vec![frame(format!("{blank}--> {location}"))]];
        let Some((line, line_start)) = sources.line(span) else { return Excerpt { location, lines } };
        let start = floor(line, (span.start as usize).saturating_sub(line_start));
        let end = floor(line, (span.end as usize).saturating_sub(line_start)).max(start);
        let shown = window(line, start, end, hide_rest, WIDTH - number.len() - 3);
        lines.push(vec![frame(format!("{blank} |"))]);
        lines.push(vec![
            frame(format!("{number} |")),
            Piece { role: Role::Source, text: format!(" {}", shown.text).trim_end().to_owned() },
        ]);
        lines.push(vec![
            frame(format!("{blank} |")),
            Piece {
                role: Role::Mark,
                text: format!(" {}{}", " ".repeat(shown.mark_column), "^".repeat(shown.mark_width)),
            },
        ]);
        Excerpt { location, lines }
    }

    /// The width of the gutter, so that lines printed below can continue its rule.
    pub fn gutter(&self) -> usize {
        self.location.line.to_string().len()
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            for piece in line {
                f.write_str(&piece.text)?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

struct Window {
    text: String,
    mark_column: usize,
    mark_width: usize,
}

/// The largest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Cuts `line` to `width` columns so that the marked bytes stay visible.
fn window(line: &str, start: usize, end: usize, hide_rest: bool, width: usize) -> Window {
    // What is further away cannot be seen anyway; a line may be as long as its file.
    let line = &line[..floor(line, end.saturating_add(FAR))];
    let cut = floor(line, start.saturating_sub(FAR));
    let (line, start, end) = (&line[cut..], start - cut, end - cut);
    let end = floor(line, end.min(start + FAR));
    let before = printable(&line[..start]);
    let marked = printable(&line[start..end]);
    let hidden = hide_rest && !line[end..].trim().is_empty();
    let after = if hidden { ELLIPSIS.to_string() } else { printable(&line[end..]) };

    // The marked text may use the whole line, what stands before it half of what is left, the rest follows.
    let marked = keep_start(&marked, width.saturating_sub(2).max(1));
    let left = width.saturating_sub(marked.width());
    let before = keep_end(&before, if before.width() + after.width() <= left { left } else { left / 2 });
    let room = width.saturating_sub(before.width() + marked.width());
    // One ellipsis is enough where nothing of the rest is seen.
    let after = if room < 2 && marked.ends_with(ELLIPSIS) { String::new() } else { keep_start(&after, room) };
    Window {
        mark_column: before.width(),
        mark_width: marked.width().max(1),
        text: format!("{before}{marked}{after}"),
    }
}

/// Replaces what a terminal would act on: tabs become two spaces, other control characters and those that
/// change the direction of text become `?`.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    for c in text.chars() {
        match c {
            '\t' => out.push_str("  "),
            c if c.is_control() || is_direction_control(c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change the order of the text around them: a line must read as it is stored.
fn is_direction_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn keep_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let mut out: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect();
    if width > 0 {
        out.push(ELLIPSIS);
    }
    out
}

fn keep_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept: Vec<char> = text
        .chars()
        .rev()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect();
    let mark = (width > 0).then_some(ELLIPSIS);
    mark.into_iter().chain(kept.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, range: std::ops::Range<usize>, expected: &str) {
        let mut sources = Sources::default();
        let file = sources.add("a.toml", text);
        let excerpt = Excerpt::new(&sources, Span::new(file, range)).to_string();
        assert_eq!(excerpt, expected);
    }

    #[test]
    fn the_line_and_a_mark_are_shown() {
        check("a = 1\nchrat = \"x\"\n", 6..11, " --> a.toml:2:1\n  |\n2 | chrat = \"x\"\n  | ^^^^^\n");
        check("a = 1", 5..5, " --> a.toml:1:6\n  |\n1 | a = 1\n  |      ^\n");
        check("", 0..0, " --> a.toml:1:1\n  |\n1 |\n  | ^\n");
        check("\tä\u{7} = 日本", 7..13, " --> a.toml:1:7\n  |\n1 |   ä? = 日本\n  |        ^^^^\n");
    }

    #[test]
    fn a_span_over_several_lines_marks_the_first() {
        check("a = [\n 1\n]\n", 4..10, " --> a.toml:1:5\n  |\n1 | a = [\n  |     ^\n");
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("{}needle{}", "a".repeat(500), "b".repeat(500));
        let mut sources = Sources::default();
        let file = sources.add("a.toml", &text);
        let shown = Excerpt::new(&sources, Span::new(file, 500..506)).to_string();
        assert!(shown.contains("aneedleb"));
        for span in [500..506, 0..1000, 1000..1006, 0..0, 3..900] {
            let shown = Excerpt::new(&sources, Span::new(file, span)).to_string();
            assert!(shown.lines().all(|line| line.width() <= WIDTH), "{shown}");
        }
    }

    #[test]
    fn the_rest_of_the_line_can_be_hidden() {
        let mut sources = Sources::default();
        let file = sources.add("a.toml", "password = \"hunter2\"");
        let shown = Excerpt::without_rest(&sources, Span::new(file, 0..8)).to_string();
        assert!(!shown.contains("hunter"));
        assert!(shown.contains("password…"));
    }

    #[test]
    fn any_span_of_any_text_is_safe() {
        let mut sources = Sources::default();
        let file = sources.add("a", "日本\r\n\u{202e}\tx\u{0}\n\n");
        for start in 0..20 {
            for end in 0..20 {
                let _ = Excerpt::new(&sources, Span::new(file, start..end)).to_string();
            }
        }
    }
}
