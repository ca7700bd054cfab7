//! What a terminal would obey rather than show.
//!
//! Names, diffs, logs and the server's words come from charts and clusters, and may hold escape sequences that move the
//! cursor, hide lines or set the title. Only the sequences that [`Style`](super::Style) writes pass; everything else is
//! shown as what it is. Right-to-left overrides, which make text look like another one, are shown as well.

use std::borrow::Cow;

/// The sequences that colours are made of.
const STYLES: [&str; 6] = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m"];

/// Returns the text with everything in it that a terminal would obey made visible.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::from(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let style = STYLES.iter().find(|style| character == '\u{1b}' && after.starts_with(**style));
        let taken = style.map_or(0, |style| style.len());
        match character {
            // The end of a line as Windows writes it.
            '\r' if after.starts_with('\n') => {}
            _ if style.is_some() => shown.push_str(&rest[..1 + taken]),
            _ if is_obeyed(character) => shown.extend(character.escape_default()),
            _ => shown.push(character),
        }
        rest = &after[taken..];
    }
    Cow::from(shown)
}

fn is_obeyed(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Style;

    #[test]
    fn only_colours_of_our_own_pass() {
        let style = Style { colour: true, width: 80 };
        let own = [
            style.danger("a"),
            style.good("b"),
            style.change("c"),
            style.bold("d"),
            style.dim("e"),
            style.removed("f"),
        ]
        .concat();
        for (text, expected) in [
            (own.as_str(), own.as_str()),
            ("plain\ttext, ü and ✓\n", "plain\ttext, ü and ✓\n"),
            ("a\u{1b}[2K\u{1b}[1Ab", "a\\u{1b}[2K\\u{1b}[1Ab"),
            ("\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("one\r\ntwo\rthree", "one\ntwo\\rthree"),
            ("\u{9b}2J \u{202e}abc\u{0}", "\\u{9b}2J \\u{202e}abc\\u{0}"),
        ] {
            assert_eq!(clean(text), expected);
        }
    }
}
