//! Go's `unicode` package: character classes and one-to-one case mapping, as of the Unicode version Go knows.
//!
//! Go 1.26 knows Unicode 15.0. The tables behind `regex-syntax` and `char` are newer, so everything is cut
//! back to characters that exist in 15.0.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// A sorted set of character ranges.
struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Compiles a class expression; the expressions below are constant and known to be good.
    fn of(expression: &str) -> Self {
        match regex_syntax::parse(expression).map(regex_syntax::hir::Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Ranges(class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect())
            }
            _ => Ranges(Vec::new()),
        }
    }

    fn contains(&self, rune: char) -> bool {
        let rune = u32::from(rune);
        let after = self.0.partition_point(|&(start, _)| start <= rune);
        after.checked_sub(1).and_then(|index| self.0.get(index)).is_some_and(|&(_, end)| rune <= end)
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $expression:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(rune: char) -> bool {
            static RANGES: LazyLock<Ranges> = LazyLock::new(|| Ranges::of($expression));
            RANGES.contains(rune)
        }
    )*};
}

classes! {
    /// Letters (`unicode.IsLetter`, category L).
    is_letter = r"[\p{L}&&\p{Age:15.0}]";
    /// Decimal digits (`unicode.IsDigit`, category Nd).
    is_digit = r"[\p{Nd}&&\p{Age:15.0}]";
    /// Numbers (`unicode.IsNumber`, category N).
    is_number = r"[\p{N}&&\p{Age:15.0}]";
    /// Upper-case letters (`unicode.IsUpper`, category Lu).
    is_upper = r"[\p{Lu}&&\p{Age:15.0}]";
    /// Lower-case letters (`unicode.IsLower`, category Ll).
    is_lower = r"[\p{Ll}&&\p{Age:15.0}]";
    /// Title-case letters (`unicode.IsTitle`, category Lt).
    is_title = r"[\p{Lt}&&\p{Age:15.0}]";
    /// Punctuation (`unicode.IsPunct`, category P).
    is_punct = r"[\p{P}&&\p{Age:15.0}]";
    /// Characters that Go writes as they are: letters, marks, numbers, punctuation, symbols and the ASCII
    /// space (`unicode.IsPrint`, `strconv.IsPrint`).
    is_print = r"[[\p{L}\p{M}\p{N}\p{P}\p{S}\x20]&&\p{Age:15.0}]";
    /// Characters with a visible form or a width: as [`is_print`] and all spaces (`unicode.IsGraphic`).
    is_graphic = r"[[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]&&\p{Age:15.0}]";
}

/// White space (`unicode.IsSpace`).
pub fn is_space(rune: char) -> bool {
    rune.is_whitespace()
}

/// The upper-case form, always one character (`unicode.ToUpper`): `ß` stays as it is.
pub fn to_upper(rune: char) -> char {
    // Rust gives the full mapping ("ΑΙ"); Go's table has the one-character forms of these Greek letters.
    if let 'ᾀ'..='ᾇ' | 'ᾐ'..='ᾗ' | 'ᾠ'..='ᾧ' = rune {
        return char::from_u32(u32::from(rune) + 8).unwrap_or(rune);
    }
    match rune {
        'ᾳ' => 'ᾼ',
        'ῃ' => 'ῌ',
        'ῳ' => 'ῼ',
        _ => single(rune, rune.to_uppercase()),
    }
}

/// The lower-case form, always one character (`unicode.ToLower`).
pub fn to_lower(rune: char) -> char {
    if rune == 'İ' { 'i' } else { single(rune, rune.to_lowercase()) }
}

/// The title-case form (`unicode.ToTitle`): upper case but for the few letters that have a third case.
pub fn to_title(rune: char) -> char {
    match rune {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        // Georgian has capitals but no title case.
        '\u{10D0}'..='\u{10FA}' | '\u{10FD}'..='\u{10FF}' => rune,
        _ => to_upper(rune),
    }
}

/// Takes a mapping of exactly one character between characters that Go knows.
fn single(rune: char, mut mapped: impl Iterator<Item = char>) -> char {
    if rune.is_ascii() {
        return mapped.next().unwrap_or(rune);
    }
    match (mapped.next(), mapped.next()) {
        (Some(other), None) if other != rune && is_print(rune) && is_print(other) => other,
        _ => rune,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_mapping_is_one_to_one() {
        for (rune, upper, lower, title) in [
            ('a', 'A', 'a', 'A'),
            ('Z', 'Z', 'z', 'Z'),
            ('ß', 'ß', 'ß', 'ß'),
            ('é', 'É', 'é', 'É'),
            ('İ', 'İ', 'i', 'İ'),
            ('ı', 'I', 'ı', 'I'),
            ('ǆ', 'Ǆ', 'ǆ', 'ǅ'),
            ('ა', 'Ა', 'ა', 'ა'),
            ('ᾳ', 'ᾼ', 'ᾳ', 'ᾼ'),
            ('ﬁ', 'ﬁ', 'ﬁ', 'ﬁ'),
            ('ſ', 'S', 'ſ', 'S'),
            ('K', 'K', 'k', 'K'),
            ('\u{19B}', '\u{19B}', '\u{19B}', '\u{19B}'),
            ('1', '1', '1', '1'),
        ] {
            assert_eq!((to_upper(rune), to_lower(rune), to_title(rune)), (upper, lower, title), "{rune}");
        }
    }

    #[test]
    fn printable_characters_are_those_of_unicode_15() {
        for rune in [' ', '~', 'é', '€', '😀', '\u{301}', '\u{1F6DC}'] {
            assert!(is_print(rune), "{rune:?}");
        }
        // Controls, every space but the ASCII one, format characters, private use, and a letter of Unicode 16.
        for rune in ['\0', '\u{7F}', '\u{A0}', '\u{AD}', '\u{2028}', '\u{FEFF}', '\u{E000}', '\u{A7DC}'] {
            assert!(!is_print(rune), "{rune:?}");
        }
        assert!(is_graphic('\u{A0}') && !is_graphic('\u{2028}'));
    }
}
