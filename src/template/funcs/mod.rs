//! The function table of Helm charts: Go's built-ins, the sprig library and Helm's own functions.
//!
//! One module per chapter, each with one `TABLE`; a name in a later chapter replaces an earlier one.

mod builtin;
mod data;
mod dicts;
pub mod engine;
mod lists;
mod logic;
mod numbers;

use super::call::{Func, FuncTable};

/// All chapters, in the order in which they override one another.
static CHAPTERS: &[&[Func]] =
    &[builtin::TABLE, logic::TABLE, dicts::TABLE, lists::TABLE, numbers::TABLE, data::TABLE, engine::TABLE];

/// Returns the functions that Helm offers to charts.
pub fn table() -> FuncTable {
    let mut table = FuncTable::new();
    for chapter in CHAPTERS {
        table.add(chapter);
    }
    table
}
