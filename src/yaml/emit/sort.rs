//! The order of keys: letters behind other characters, numbers inside keys by their value.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use super::Schema;
use crate::value::{Map, Value};

/// Returns the pairs of a mapping in the order in which go-yaml writes them.
///
/// A merge sort of our own: go-yaml's order is no total order for numbers beyond 64 bits, which the sort of
/// the standard library may answer with a panic.
pub(super) fn sorted(map: &Map, schema: Schema) -> Vec<(&String, &Value)> {
    let pairs: Vec<_> = map.iter().collect();
    if pairs.windows(2).all(|pair| !less(pair[1].0, pair[0].0, schema)) {
        return pairs;
    }
    merge_sort(pairs, schema)
}

fn merge_sort<'m>(mut pairs: Vec<(&'m String, &'m Value)>, schema: Schema) -> Vec<(&'m String, &'m Value)> {
    if pairs.len() < 2 {
        return pairs;
    }
    let right = pairs.split_off(pairs.len() / 2);
    let mut left = merge_sort(pairs, schema).into_iter().peekable();
    let mut right = merge_sort(right, schema).into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(b.0, a.0, schema) { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Source: go-yaml `sorter.go`. Version 3 puts letters before other characters where both follow a digit.
fn less(a: &str, b: &str, schema: Schema) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    let (mut count, mut bytes) = (0, 0);
    let mut after_digit = false;
    for (c, _) in common {
        count += 1;
        bytes += c.len_utf8();
        after_digit = is_digit(c);
    }
    let (rest_a, rest_b) = (&a[bytes..], &b[bytes..]);
    let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.len() < rest_b.len();
    };
    match (is_letter(first_a), is_letter(first_b)) {
        (true, true) => return first_a < first_b,
        (false, false) => {}
        (letter_a, letter_b) if schema == Schema::V3 && after_digit => return letter_a && !letter_b,
        (_, letter_b) => return letter_b,
    }
    // A zero is part of a number that has begun with another digit.
    let begun = (first_a == '0' || first_b == '0')
        && count > 0
        && a[..bytes].chars().rev().take_while(|&c| is_digit(c)).any(|c| c != '0');
    let (value_a, digits_a) = number(rest_a, begun);
    let (value_b, digits_b) = number(rest_b, begun);
    if value_a != value_b {
        return value_a < value_b;
    }
    if digits_a != digits_b {
        return digits_a < digits_b;
    }
    first_a < first_b
}

/// The value and length of the digits at the start of a text; `begun` puts a one before them.
fn number(text: &str, begun: bool) -> (i64, usize) {
    let (mut value, mut digits) = (i64::from(begun), 0);
    for c in text.chars().take_while(|&c| is_digit(c)) {
        // Overflow wraps as in Go.
        value = value.wrapping_mul(10).wrapping_add(i64::from(u32::from(c)) - i64::from(u32::from('0')));
        digits += 1;
    }
    (value, digits)
}

fn is_letter(c: char) -> bool {
    static LETTERS: LazyLock<Ranges> = LazyLock::new(|| ranges(r"\p{L}"));
    if c.is_ascii() { c.is_ascii_alphabetic() } else { within(c, &LETTERS) }
}

fn is_digit(c: char) -> bool {
    static DIGITS: LazyLock<Ranges> = LazyLock::new(|| ranges(r"\p{Nd}"));
    if c.is_ascii() { c.is_ascii_digit() } else { within(c, &DIGITS) }
}

type Ranges = Vec<(char, char)>;

/// The characters of a Unicode category, as the regular expression library knows them.
fn ranges(category: &str) -> Ranges {
    match regex_syntax::parse(category).map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => Vec::new(),
    }
}

fn within(c: char, ranges: &[(char, char)]) -> bool {
    let at = ranges.partition_point(|&(_, end)| end < c);
    ranges.get(at).is_some_and(|&(start, _)| start <= c)
}
