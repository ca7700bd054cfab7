//! The function table of Helm charts: Go's built-ins, the sprig library and Helm's own functions.
//!
//! One module per chapter, each with one `TABLE`; a name in a later chapter replaces an earlier one.

mod builtin;
mod crypto;
mod data;
mod date;
mod dicts;
mod encoding;
pub mod engine;
mod json_write;
mod lists;
mod logic;
mod numbers;
mod paths;
mod regex;
mod semver;
mod strings;
mod times;
mod urls;

use std::sync::LazyLock;

use super::call::{Func, FuncTable};

/// All chapters, in the order in which they override one another.
static CHAPTERS: &[&[Func]] = &[
    builtin::TABLE,
    logic::TABLE,
    dicts::TABLE,
    lists::TABLE,
    numbers::TABLE,
    strings::TABLE,
    regex::TABLE,
    date::TABLE,
    crypto::TABLE,
    paths::TABLE,
    urls::TABLE,
    semver::TABLE,
    encoding::TABLE,
    data::TABLE,
    engine::TABLE,
];

/// Returns the functions that Helm offers to charts.
pub fn table() -> FuncTable {
    static TABLE: LazyLock<FuncTable> = LazyLock::new(|| {
        let mut table = FuncTable::new();
        for chapter in CHAPTERS {
            table.add(chapter);
        }
        table
    });
    TABLE.clone()
}

#[cfg(test)]
mod tests;
