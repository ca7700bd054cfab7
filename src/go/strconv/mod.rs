//! Go's `strconv`: quoting, and numbers to and from text.

mod float;
mod number;
mod quote;

#[cfg(test)]
mod tests;

pub use float::{format_float, format_float32};
pub use number::{NumError, NumErrorKind, atoi, cast_int, parse_bool, parse_float, parse_int, parse_uint};
pub use quote::{
    SyntaxError, can_backquote, quote, quote_rune, quote_rune_to_ascii, quote_to_ascii, unquote, unquote_char,
};
