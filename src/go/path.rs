//! Go's `path` and, as on Linux both are the same, `path/filepath`; on slash-separated names, without files.

use crate::go::utf8;

/// Returns the shortest name for the same path (`path.Clean`).
pub fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|&last| last != b"..") => drop(kept.pop()),
            b".." if rooted => {}
            _ => kept.push(part),
        }
    }
    let joined = kept.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

/// Returns the last element (`path.Base`): `.` for the empty path, `/` for slashes alone.
pub fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let trimmed = path.get(..end).unwrap_or_default();
    let start = trimmed.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    match trimmed.get(start..) {
        Some(b"") | None => b"/",
        Some(name) => name,
    }
}

/// Returns everything but the last element, cleaned (`path.Dir`).
pub fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    clean(path.get(..end).unwrap_or_default())
}

/// Returns the suffix of the last element from its last dot on, or nothing (`path.Ext`).
pub fn ext(path: &[u8]) -> &[u8] {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = path.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot >= name);
    dot.and_then(|dot| path.get(dot..)).unwrap_or_default()
}

/// Tells whether the path starts at the root (`path.IsAbs`).
pub fn is_abs(path: &[u8]) -> bool {
    path.starts_with(b"/")
}

/// The pattern of [`matches`] is malformed (`path.ErrBadPattern`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// One unit of a shell pattern.
enum Unit {
    /// `*`: any run without a slash.
    Run,
    /// `?`: any one character but a slash.
    Any,
    /// A character.
    One(char),
    /// `[…]`: ranges, and whether it is `[^…]`. May match a slash.
    Class(Vec<(char, char)>, bool),
}

/// Tells whether the whole name fits a shell pattern (`path.Match`): `*`, `?`, `[a-z]`, `[^a]` and `\`.
///
/// The cost is bounded by the product of the two lengths.
///
/// # Errors
/// The pattern is malformed. Unlike in Go, where the end of a pattern may go unread, always.
pub fn matches(pattern: &[u8], name: &[u8]) -> Result<bool, BadPattern> {
    let units = units(pattern)?;
    let name: Vec<char> = utf8::runes(name).map(|(_, rune, _)| rune).collect();
    // Where to go on when the rest does not fit: behind the last run, one character later each time. A run
    // that is given up was the last chance of all before it, but for the slash that no run may pass.
    let (mut unit, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let fits = match (units.get(unit), name.get(at)) {
            (None, None) => return Ok(true),
            (Some(Unit::Run), _) => {
                retry = Some((unit + 1, at));
                unit += 1;
                continue;
            }
            (Some(Unit::Any), Some(&rune)) => rune != '/',
            (Some(Unit::One(wanted)), Some(rune)) => wanted == rune,
            (Some(Unit::Class(ranges, negated)), Some(rune)) => {
                ranges.iter().any(|(low, high)| (low..=high).contains(&rune)) != *negated
            }
            _ => false,
        };
        if fits {
            (unit, at) = (unit + 1, at + 1);
            continue;
        }
        match retry {
            Some((after_run, start)) if name.get(start).is_some_and(|&rune| rune != '/') => {
                retry = Some((after_run, start + 1));
                (unit, at) = (after_run, start + 1);
            }
            _ => return Ok(false),
        }
    }
}

fn units(pattern: &[u8]) -> Result<Vec<Unit>, BadPattern> {
    let runes: Vec<char> = utf8::runes(pattern).map(|(_, rune, _)| rune).collect();
    let mut units = Vec::new();
    let mut rest = runes.as_slice();
    while let [first, tail @ ..] = rest {
        rest = tail;
        units.push(match first {
            '*' => Unit::Run,
            '?' => Unit::Any,
            '[' => class(&mut rest)?,
            '\\' => {
                let [escaped, tail @ ..] = rest else { return Err(BadPattern) };
                rest = tail;
                Unit::One(*escaped)
            }
            other => Unit::One(*other),
        });
    }
    Ok(units)
}

fn class(rest: &mut &[char]) -> Result<Unit, BadPattern> {
    let negated = rest.first() == Some(&'^');
    *rest = rest.get(usize::from(negated)..).unwrap_or_default();
    let mut ranges = Vec::new();
    loop {
        if let [']', tail @ ..] = rest
            && !ranges.is_empty()
        {
            *rest = tail;
            return Ok(Unit::Class(ranges, negated));
        }
        let low = class_member(rest)?;
        let mut high = low;
        if let ['-', tail @ ..] = rest {
            *rest = tail;
            high = class_member(rest)?;
        }
        ranges.push((low, high));
    }
}

/// A member of a class; after it the class must go on or end.
fn class_member(rest: &mut &[char]) -> Result<char, BadPattern> {
    let (member, tail) = match rest {
        [] | ['-' | ']', ..] => return Err(BadPattern),
        ['\\', escaped, tail @ ..] => (*escaped, tail),
        ['\\'] => return Err(BadPattern),
        [member, tail @ ..] => (*member, tail),
    };
    if tail.is_empty() {
        return Err(BadPattern);
    }
    *rest = tail;
    Ok(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: impl AsRef<[u8]>) -> String {
        String::from_utf8_lossy(bytes.as_ref()).into_owned()
    }

    #[test]
    fn paths_are_taken_apart_as_go_does() {
        for (path, cleaned, last, folder, suffix) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("///", "/", "/", "/", ""),
            (".", ".", ".", ".", "."),
            ("..", "..", "..", ".", "."),
            ("a", "a", "a", ".", ""),
            ("a/", "a", "a", "a", ""),
            ("/a", "/a", "a", "/", ""),
            ("a//b/./c/../d.tar.gz", "a/b/d.tar.gz", "d.tar.gz", "a/b", ".gz"),
            ("../../x", "../../x", "x", "../..", ""),
            ("/../x", "/x", "x", "/", ""),
            ("a/../..", "..", "..", ".", "."),
            ("a.b/c", "a.b/c", "c", "a.b", ""),
            (".hidden", ".hidden", ".hidden", ".", ".hidden"),
        ] {
            assert_eq!(shown(clean(path.as_bytes())), cleaned, "clean {path}");
            assert_eq!(shown(base(path.as_bytes())), last, "base {path}");
            assert_eq!(shown(dir(path.as_bytes())), folder, "dir {path}");
            assert_eq!(shown(ext(path.as_bytes())), suffix, "ext {path}");
            assert_eq!(is_abs(path.as_bytes()), path.starts_with('/'));
        }
    }

    #[test]
    fn shell_patterns_stay_within_a_path_element() {
        for (pattern, name, expected) in [
            ("", "", Ok(true)),
            ("*", "", Ok(true)),
            ("*", "a/b", Ok(false)),
            ("*c", "abc", Ok(true)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*/b", "a/c/b", Ok(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", Ok(false)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("?", "é", Ok(true)),
            ("?", "/", Ok(false)),
            ("[a-c]x", "bx", Ok(true)),
            ("[^a-c]x", "/x", Ok(true)),
            (r"[\]\-]", "-", Ok(true)),
            (r"\*", "*", Ok(true)),
            ("[", "a", Err(BadPattern)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-x]", "x", Err(BadPattern)),
            ("[a-", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            (r"a\", "a", Err(BadPattern)),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        let (pattern, name) = ("a*".repeat(200) + "b", "a".repeat(2000));
        assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), Ok(false));
    }
}
