//! Colours, or none.

use console::Style as Colour;

/// How text is styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences are written.
    pub colour: bool,
    /// Columns to fill.
    pub width: usize,
}

impl Style {
    /// Returns a style without colours, for files and tests.
    pub fn plain(width: usize) -> Self {
        Self { colour: false, width }
    }

    fn paint(self, colour: Colour, text: &str) -> String {
        if self.colour { colour.force_styling(true).apply_to(text).to_string() } else { text.to_owned() }
    }

    /// Something that goes away, or is refused.
    pub fn danger(self, text: &str) -> String {
        self.paint(Colour::new().red().bold(), text)
    }

    /// Something that arrives.
    pub fn good(self, text: &str) -> String {
        self.paint(Colour::new().green(), text)
    }

    /// Something that changes.
    pub fn change(self, text: &str) -> String {
        self.paint(Colour::new().yellow(), text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.paint(Colour::new().bold(), text)
    }

    /// Something of little weight.
    pub fn dim(self, text: &str) -> String {
        self.paint(Colour::new().dim(), text)
    }

    /// A removed line of a diff.
    pub fn removed(self, text: &str) -> String {
        self.paint(Colour::new().red(), text)
    }
}
