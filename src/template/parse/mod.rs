//! Parses template text by the rules, and with the error texts, of Go's `text/template/parse`.

pub(super) mod ast;
mod lex;
mod number;
mod parser;
mod state;

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use super::call::FuncTable;
use super::error::ParseError;
use super::stack::Stack;
use super::text::Str;
use ast::{NodeId, Source};

/// A parsed template.
#[derive(Debug)]
pub struct Template {
    /// Its name: that of the file, or the one given by `define`.
    pub name: Str,
    pub(super) source: Rc<Source>,
    pub(super) root: NodeId,
    /// How many variables are alive at once, `$` included.
    pub(super) slots: u32,
    /// Nothing but white space and comments: such a template never replaces another.
    pub(super) is_empty: bool,
    /// How often it is being included at the moment.
    pub(super) includes: Cell<u32>,
}

impl fmt::Display for Template {
    /// Writes the template as Go's parser re-prints it: without comments, every action in its normal form.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.source.print(self.root))
    }
}

/// Everything that one text defines.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The template of the text itself.
    pub main: Rc<Template>,
    /// The templates made by `define` and `block`, in the order of their ends.
    pub defined: Vec<Rc<Template>>,
}

/// Parses `text` under `name`. Functions are looked up in `functions`, nesting is bounded by `stack`.
pub fn parse(name: &Str, text: &Str, functions: &FuncTable, stack: Stack) -> Result<Parsed, ParseError> {
    parser::parse(name, text, functions, stack)
}
