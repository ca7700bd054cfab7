//! Character classes of Go patterns.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Returns the class of these code points; surrogates, which no text holds, fall away.
pub(super) fn of_ranges(ranges: &[(u32, u32)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().filter_map(|&(low, high)| {
        let low = char::from_u32(low).unwrap_or('\u{E000}');
        let high = char::from_u32(high).unwrap_or('\u{D7FF}');
        (low <= high).then(|| ClassUnicodeRange::new(low, high))
    }))
}

/// Adds what differs in case only; `regex-syntax` is built with the tables this needs.
pub(super) fn fold(class: &mut ClassUnicode) {
    let unfolded = class.clone();
    if class.try_case_fold_simple().is_err() {
        *class = unfolded;
    }
}

/// The class behind `\d`, `\s` or `\w`, all of them ASCII only in Go.
pub(super) fn perl(letter: u8) -> Option<ClassUnicode> {
    let ranges: &[(u8, u8)] = match letter.to_ascii_lowercase() {
        b'd' => &[(b'0', b'9')],
        b's' => &[(b'\t', b'\n'), (b'\x0C', b'\r'), (b' ', b' ')],
        b'w' => &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')],
        _ => return None,
    };
    Some(ascii(ranges))
}

/// The class behind the name in `[:name:]`.
pub(super) fn posix(name: &str) -> Option<ClassUnicode> {
    let ranges: &[(u8, u8)] = match name {
        "alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        "alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        "ascii" => &[(0, 0x7F)],
        "blank" => &[(b'\t', b'\t'), (b' ', b' ')],
        "cntrl" => &[(0, 0x1F), (0x7F, 0x7F)],
        "digit" => &[(b'0', b'9')],
        "graph" => &[(b'!', b'~')],
        "lower" => &[(b'a', b'z')],
        "print" => &[(b' ', b'~')],
        "punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        "space" => &[(b'\t', b'\r'), (b' ', b' ')],
        "upper" => &[(b'A', b'Z')],
        "word" => &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')],
        "xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    };
    Some(ascii(ranges))
}

fn ascii(ranges: &[(u8, u8)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(char::from(low), char::from(high))),
    )
}

/// The class behind the name in `\p{name}`: a general category or a script, spelled loosely.
pub(super) fn unicode(name: &str) -> Option<ClassUnicode> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte)) {
        return None;
    }
    ["gc", "sc"].iter().find_map(|property| {
        let hir = regex_syntax::parse(&format!(r"\p{{{property}={name}}}")).ok()?;
        match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Some(class),
            // A class of one character is turned into a literal.
            HirKind::Literal(literal) => {
                let rune = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
                Some(of_ranges(&[(rune.into(), rune.into())]))
            }
            _ => None,
        }
    })
}
