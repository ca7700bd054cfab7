//! Which styles a text allows, and which one it gets.

use super::Schema;

/// The ways to write a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What the characters of a text allow.
///
/// Source: go-yaml `emitterc.go`, `yaml_emitter_analyze_scalar`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Analysis {
    /// Whether it holds a line break of any kind.
    pub(super) multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

impl Analysis {
    pub(super) fn of(text: &str, schema: Schema) -> Self {
        if text.is_empty() {
            return Analysis { multiline: false, plain: true, single: true, block: false };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut breaks, mut special, mut tabs) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let (mut previous_space, mut previous_break) = (false, false);
        let mut preceded_by_blank = true;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let followed_by_blank = chars.peek().is_none_or(|&(_, next)| matches!(next, ' ' | '\t'));
            indicators |= match c {
                '#' => preceded_by_blank,
                ':' => followed_by_blank,
                '?' | '-' if at == 0 => followed_by_blank,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    at == 0
                }
                _ => false,
            };
            if c == '\t' && schema == Schema::V3 {
                tabs = true;
            } else if !is_printable(c) {
                special = true;
            }
            let (space, line_break) = (c == ' ', is_break(c));
            break_space |= space && previous_break;
            space_break |= line_break && previous_space;
            breaks |= line_break;
            (previous_space, previous_break) = (space, line_break);
            preceded_by_blank = space || line_break || matches!(c, '\t' | '\0');
        }
        let outer = |c: char| c == ' ' || is_break(c);
        let edges = text.starts_with(outer) || text.ends_with(outer);
        let quotable = !break_space && !space_break && !special && !tabs;
        Analysis {
            multiline: breaks,
            plain: quotable && !indicators && !breaks && !edges,
            single: quotable,
            block: !text.ends_with(' ') && !space_break && !special,
        }
    }

    /// The style that the text gets when `wanted` is asked for.
    pub(super) fn style(&self, wanted: Style, text: &str, simple_key: bool) -> Style {
        let mut style = wanted;
        if simple_key && self.multiline {
            style = Style::Double;
        }
        if style == Style::Plain && (!self.plain || text.is_empty() && simple_key) {
            style = Style::Single;
        }
        match style {
            Style::Single if !self.single => Style::Double,
            Style::Literal if !self.block || simple_key => Style::Double,
            style => style,
        }
    }
}

/// Whether a double-quoted text holds the character as it is.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Whether YAML ends a line at the character.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
