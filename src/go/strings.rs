//! Go's `strings`, and the two small libraries that sprig takes its text functions from:
//! Masterminds/goutils and huandu/xstrings.
//!
//! Texts are bytes. Some of goutils takes each byte for a character, which shows on anything but ASCII.

use crate::go::{unicode, utf8};

/// Builds a text character by character, broken bytes as U+FFFD (`strings.Map`).
fn map(text: &[u8], mut change: impl FnMut(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (_, rune, _) in utf8::runes(text) {
        utf8::append_rune(&mut out, change(rune));
    }
    out
}

/// Returns the text in upper case (`strings.ToUpper`).
pub fn to_upper(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_uppercase() } else { map(text, unicode::to_upper) }
}

/// Returns the text in lower case (`strings.ToLower`).
pub fn to_lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_lowercase() } else { map(text, unicode::to_lower) }
}

/// Returns the text with the first letter of each word in title case (`strings.Title`).
pub fn title(text: &[u8]) -> Vec<u8> {
    let mut previous = ' ';
    map(text, |rune| {
        let starts = is_separator(previous);
        previous = rune;
        if starts { unicode::to_title(rune) } else { rune }
    })
}

fn is_separator(rune: char) -> bool {
    if rune.is_ascii() {
        return !rune.is_ascii_alphanumeric() && rune != '_';
    }
    !unicode::is_letter(rune) && !unicode::is_digit(rune) && unicode::is_space(rune)
}

/// Removes white space at both ends (`strings.TrimSpace`).
pub fn trim_space(text: &[u8]) -> &[u8] {
    trim_where(text, unicode::is_space)
}

/// Removes the characters of a set at both ends (`strings.Trim`).
pub fn trim<'t>(text: &'t [u8], cutset: &[u8]) -> &'t [u8] {
    let cutset: Vec<char> = utf8::runes(cutset).map(|(_, rune, _)| rune).collect();
    trim_where(text, |rune| cutset.contains(&rune))
}

fn trim_where(mut text: &[u8], remove: impl Fn(char) -> bool) -> &[u8] {
    loop {
        let (rune, width) = utf8::decode_rune(text);
        if width == 0 || !remove(rune) {
            break;
        }
        text = &text[width..];
    }
    loop {
        let (rune, width) = utf8::decode_last_rune(text);
        if width == 0 || !remove(rune) {
            return text;
        }
        text = &text[..text.len() - width];
    }
}

/// Returns the offset of the first `needle` (`strings.Index`).
pub fn index(text: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => Some(0),
        [byte] => text.iter().position(|other| other == byte),
        _ => text.windows(needle.len()).position(|window| window == needle),
    }
}

/// Cuts at every separator (`strings.Split`); an empty separator cuts between characters.
pub fn split<'t>(text: &'t [u8], separator: &[u8]) -> Vec<&'t [u8]> {
    split_n(text, separator, -1)
}

/// Cuts into at most `limit` pieces, all if it is negative, none if it is 0 (`strings.SplitN`).
pub fn split_n<'t>(text: &'t [u8], separator: &[u8], limit: i64) -> Vec<&'t [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    let mut rest = text;
    if separator.is_empty() {
        while pieces.len() < most - 1 && !rest.is_empty() {
            let (piece, tail) = rest.split_at(utf8::decode_rune(rest).1.min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        if !rest.is_empty() {
            pieces.push(rest);
        }
        return pieces;
    }
    while pieces.len() < most - 1
        && let Some(at) = index(rest, separator)
    {
        pieces.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    pieces.push(rest);
    pieces
}

/// Replaces every `old` (`strings.ReplaceAll`); an empty one stands before each character and at the end.
pub fn replace(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    if old.is_empty() {
        let mut out = new.to_vec();
        for (offset, _, width) in utf8::runes(text) {
            out.extend_from_slice(&text[offset..offset + width]);
            out.extend_from_slice(new);
        }
        return out;
    }
    split(text, old).join(new)
}

/// Returns how often `old` stands in the text without overlap (`strings.Count`).
pub fn count(text: &[u8], old: &[u8]) -> usize {
    if old.is_empty() { utf8::rune_count(text) + 1 } else { split(text, old).len() - 1 }
}

/// Cuts to a number of bytes, from the end if it is negative (sprig `trunc`).
pub fn trunc(length: i64, text: &[u8]) -> &[u8] {
    let size = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if size >= text.len() {
        text
    } else if length < 0 {
        &text[text.len() - size..]
    } else {
        &text[..size]
    }
}

/// Returns the bytes from `start` to `end` (sprig `substr`).
///
/// # Errors
/// The message of Go's panic when the bounds do not fit.
pub fn substring(start: i64, end: i64, text: &[u8]) -> Result<&[u8], String> {
    let length = text.len();
    let whole = i64::try_from(length).unwrap_or(i64::MAX);
    let at = |offset: i64| usize::try_from(offset).unwrap_or(0);
    if start < 0 {
        return match usize::try_from(end) {
            Ok(end) if end <= length => Ok(&text[..end]),
            Ok(_) => Err(format!("runtime error: slice bounds out of range [:{end}] with length {length}")),
            Err(_) => Err(format!("runtime error: slice bounds out of range [:{end}]")),
        };
    }
    if end < 0 || end > whole {
        if start > whole {
            return Err(format!("runtime error: slice bounds out of range [{start}:{length}]"));
        }
        return Ok(&text[at(start)..]);
    }
    if start > end {
        return Err(format!("runtime error: slice bounds out of range [{start}:{end}]"));
    }
    Ok(&text[at(start)..at(end)])
}

/// Cuts to a width with three dots at the end (sprig `abbrev`).
pub fn abbreviate(width: i64, text: &[u8]) -> Vec<u8> {
    abbreviate_both(0, width, text)
}

/// Cuts to a width with three dots at the end and, from an offset above 4 on, at the start (sprig
/// `abbrevboth`). Too small a width leaves the text as it is.
pub fn abbreviate_both(offset: i64, width: i64, text: &[u8]) -> Vec<u8> {
    if width < 4 || (offset > 0 && width < 7) {
        return text.to_vec();
    }
    let Ok(width) = usize::try_from(width) else { return text.to_vec() };
    if text.len() <= width {
        return text.to_vec();
    }
    const DOTS: &[u8] = b"...";
    let kept = width - 3;
    let offset = usize::try_from(offset).unwrap_or(0).min(text.len() - kept);
    if offset <= 4 {
        return [&text[..kept], DOTS].concat();
    }
    if offset + kept < text.len() {
        // What is left after the leading dots is abbreviated in turn.
        return [DOTS, &abbreviate(i64::try_from(kept).unwrap_or(0), &text[offset..])].concat();
    }
    [DOTS, &text[text.len() - kept..]].concat()
}

/// Returns the first byte of each word, each taken for a character (sprig `initials`).
pub fn initials(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut after_gap = true;
    for &byte in text {
        let gap = unicode::is_space(char::from(byte));
        if after_gap && !gap {
            utf8::append_rune(&mut out, char::from(byte));
        }
        after_gap = gap;
    }
    out
}

/// Removes white space. If there is any, each byte is taken for a character (sprig `nospace`).
pub fn delete_space(text: &[u8]) -> Vec<u8> {
    let is_gap = |byte: &u8| unicode::is_space(char::from(*byte));
    if !text.iter().any(is_gap) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for &byte in text.iter().filter(|byte| !is_gap(byte)) {
        utf8::append_rune(&mut out, char::from(byte));
    }
    out
}

/// Puts the first letter of each word in lower case (sprig `untitle`).
pub fn untitle(text: &[u8]) -> Vec<u8> {
    let mut after_gap = true;
    map(text, |rune| {
        if unicode::is_space(rune) {
            after_gap = true;
            return rune;
        }
        if std::mem::take(&mut after_gap) { unicode::to_lower(rune) } else { rune }
    })
}

/// Turns the case of each letter round; what starts a word in lower case gets title case (sprig `swapcase`).
pub fn swap_case(text: &[u8]) -> Vec<u8> {
    let mut after_gap = true;
    map(text, |rune| {
        if unicode::is_upper(rune) || unicode::is_title(rune) {
            after_gap = false;
            unicode::to_lower(rune)
        } else if unicode::is_lower(rune) {
            if std::mem::take(&mut after_gap) { unicode::to_title(rune) } else { unicode::to_upper(rune) }
        } else {
            after_gap = unicode::is_space(rune);
            rune
        }
    })
}

/// Breaks a line at blanks so that its pieces have at most `width` bytes, where that is possible (sprig
/// `wrap` and `wrapWith`). With `break_words` longer words are cut.
pub fn wrap(text: &[u8], width: i64, line_break: &[u8], break_words: bool) -> Vec<u8> {
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let line_break = if line_break.is_empty() { b"\n" } else { line_break };
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > width {
        if let Some(tail) = rest.strip_prefix(b" ") {
            rest = tail;
            continue;
        }
        let is_blank = |byte: &u8| *byte == b' ';
        let (line, tail) = if let Some(blank) = rest[..=width].iter().rposition(is_blank) {
            (&rest[..blank], &rest[blank + 1..])
        } else if break_words {
            rest.split_at(width)
        } else if let Some(blank) = rest[width..].iter().position(is_blank) {
            (&rest[..width + blank], &rest[width + blank + 1..])
        } else {
            break;
        };
        out.extend_from_slice(line);
        out.extend_from_slice(line_break);
        rest = tail;
    }
    out.extend_from_slice(rest);
    out
}

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || unicode::is_space(rune)
}

/// Joins words with capitals (xstrings `ToPascalCase`, sprig `camelcase`); connectors at the ends stay.
pub fn pascal_case(text: &[u8]) -> Vec<u8> {
    let runes: Vec<char> = utf8::runes(text).map(|(_, rune, _)| rune).collect();
    let leading = runes.iter().take_while(|&&rune| is_connector(rune)).count();
    let mut out: Vec<char> = runes.iter().take(leading).copied().collect();
    let mut rest = runes.iter().skip(leading).copied();
    let Some(first) = rest.next() else {
        // A text of connectors alone gets its last one twice, by a slip there.
        out.extend(runes.last());
        return encode(&out);
    };
    // Letters after a capital are put in lower case until one is small already.
    let mut in_capitals = unicode::is_upper(first);
    let mut pending = unicode::to_upper(first);
    for rune in rest {
        if is_connector(pending) {
            if is_connector(rune) {
                out.push(pending);
                pending = rune;
                continue;
            }
            in_capitals = unicode::is_upper(rune);
            pending = unicode::to_upper(rune);
            continue;
        }
        out.push(pending);
        pending = rune;
        if in_capitals {
            if unicode::is_upper(rune) {
                pending = unicode::to_lower(rune);
            } else {
                in_capitals = false;
            }
        }
    }
    out.push(pending);
    encode(&out)
}

fn encode(runes: &[char]) -> Vec<u8> {
    runes.iter().collect::<String>().into_bytes()
}

/// Joins words in lower case with `_` (xstrings `ToSnakeCase`).
pub fn snake_case(text: &[u8]) -> Vec<u8> {
    join_words(text, b'_')
}

/// Joins words in lower case with `-` (xstrings `ToKebabCase`).
pub fn kebab_case(text: &[u8]) -> Vec<u8> {
    join_words(text, b'-')
}

/// Kinds of words, by their characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// Broken bytes, or the end.
    Invalid,
    Number,
    /// Capitals, or one capital and small letters.
    Capital,
    /// Letters that start small.
    Letters,
    Connector,
    Punctuation,
    Other,
}

/// Reads words one after another.
struct Words<'t> {
    rest: &'t [u8],
    connector: u8,
    out: Vec<u8>,
}

/// A word that was read and not written yet.
type Word<'t> = (WordKind, &'t [u8]);

fn join_words(text: &[u8], connector: u8) -> Vec<u8> {
    let mut words = Words { rest: text, connector, out: Vec::with_capacity(text.len() + 8) };
    let mut current = words.next();
    while !words.rest.is_empty() {
        if current.0 != WordKind::Connector {
            words.write(current);
        }
        let (previous, last) = (current.0, current);
        current = words.next();
        current = match previous {
            WordKind::Number => words.after_number(current),
            WordKind::Connector => {
                words.write(last);
                current
            }
            WordKind::Punctuation => current,
            _ => words.after_letters(current),
        };
    }
    words.write(current);
    words.out
}

impl<'t> Words<'t> {
    fn next(&mut self) -> Word<'t> {
        let (kind, length) = word(self.rest);
        let (head, tail) = self.rest.split_at_checked(length).unwrap_or((self.rest, b""));
        self.rest = tail;
        (kind, head)
    }

    fn write(&mut self, (kind, word): Word<'_>) {
        if !matches!(kind, WordKind::Capital | WordKind::Connector) {
            self.out.extend_from_slice(word);
            return;
        }
        for (_, rune, _) in utf8::runes(word) {
            if is_connector(rune) {
                self.out.push(self.connector);
            } else {
                let rune = if unicode::is_upper(rune) { unicode::to_lower(rune) } else { rune };
                utf8::append_rune(&mut self.out, rune);
            }
        }
    }

    /// Small letters and numbers go on with a number; anything else is parted from it.
    fn after_number(&mut self, mut current: Word<'t>) -> Word<'t> {
        while matches!(current.0, WordKind::Letters | WordKind::Number) {
            self.write(current);
            current = self.next();
        }
        self.part(current.0, true);
        current
    }

    /// A number behind letters belongs to them, unless small letters follow it.
    fn after_letters(&mut self, current: Word<'t>) -> Word<'t> {
        if current.0 != WordKind::Number {
            self.part(current.0, false);
            return current;
        }
        if self.rest.is_empty() {
            return current;
        }
        let number = current;
        let mut current = self.next();
        if current.0 != WordKind::Letters {
            self.write(number);
            self.part(current.0, false);
            return current;
        }
        self.out.push(self.connector);
        self.write(number);
        while matches!(current.0, WordKind::Letters | WordKind::Number) {
            self.write(current);
            current = self.next();
        }
        self.part(current.0, true);
        current
    }

    /// Writes a connector, unless the next word is one, or is punctuation. Only after a run of words does the
    /// end of the text count as well.
    fn part(&mut self, next: WordKind, after_run: bool) {
        let joined = matches!(next, WordKind::Connector | WordKind::Punctuation)
            || (after_run && next == WordKind::Invalid);
        if !joined {
            self.out.push(self.connector);
        }
    }
}

/// The next character that is no broken byte, with the length of all that was passed; `previous` if there is
/// none.
fn valid_rune(text: &[u8], previous: char) -> (char, usize) {
    let mut passed = 0;
    for (_, rune, width) in utf8::runes(text) {
        passed += width;
        if rune != utf8::RUNE_ERROR {
            return (rune, passed);
        }
    }
    (previous, passed)
}

/// The kind and the length of the word at the start of a text.
fn word(text: &[u8]) -> (WordKind, usize) {
    let (first, length) = valid_rune(text, utf8::RUNE_ERROR);
    let run = |from: usize, start: char, accept: &dyn Fn(char) -> bool| {
        let (mut offset, mut rune) = (from, start);
        while offset < text.len() {
            let (next, size) = valid_rune(&text[offset..], rune);
            rune = next;
            if !accept(next) {
                break;
            }
            offset += size;
        }
        offset
    };
    let small = |rune: char| is_alphabet(rune) && !unicode::is_upper(rune);
    if first == utf8::RUNE_ERROR {
        (WordKind::Invalid, length)
    } else if is_connector(first) {
        (WordKind::Connector, run(length, first, &is_connector))
    } else if unicode::is_punct(first) {
        (WordKind::Punctuation, run(length, first, &unicode::is_punct))
    } else if unicode::is_upper(first) {
        (WordKind::Capital, capital_word(text, first, length))
    } else if is_alphabet(first) {
        (WordKind::Letters, run(length, first, &small))
    } else if unicode::is_number(first) {
        (WordKind::Number, run(length, first, &unicode::is_number))
    } else {
        let other = |rune: char| {
            !(is_connector(rune) || is_alphabet(rune) || unicode::is_number(rune) || unicode::is_punct(rune))
        };
        (WordKind::Other, run(length, first, &other))
    }
}

/// The length of a word that starts with a capital.
fn capital_word(text: &[u8], first: char, length: usize) -> usize {
    if length >= text.len() {
        return length;
    }
    let (mut rune, mut size) = valid_rune(&text[length..], first);
    let mut offset = length;
    if unicode::is_upper(rune) {
        let mut last_size = size;
        offset += size;
        while offset < text.len() {
            (rune, size) = valid_rune(&text[offset..], rune);
            if !unicode::is_upper(rune) {
                break;
            }
            last_size = size;
            offset += size;
        }
        // In "HTTPStatus" the last capital starts the next word.
        if offset < text.len() && is_alphabet(rune) { offset - last_size } else { offset }
    } else if is_alphabet(rune) {
        offset += size;
        while offset < text.len() {
            (rune, size) = valid_rune(&text[offset..], rune);
            if !is_alphabet(rune) || unicode::is_upper(rune) {
                break;
            }
            offset += size;
        }
        offset
    } else {
        offset
    }
}

/// Letters of scripts that have words; Chinese characters are not.
fn is_alphabet(rune: char) -> bool {
    unicode::is_letter(rune)
        && !matches!(rune, '\u{4E00}'..='\u{9FCC}' | '\u{3400}'..='\u{4D85}' | '\u{20000}'..='\u{2B81D}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of Go 1.26, goutils 1.1.1 and xstrings 1.5.0.
    fn check(change: impl Fn(&[u8]) -> Vec<u8>, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&change(text.as_bytes())), *expected, "{text:?}");
        }
    }

    #[test]
    fn case_is_changed_character_by_character() {
        check(to_upper, &[("aé ß ǆ1", "AÉ ß Ǆ1"), ("", "")]);
        check(to_lower, &[("AÉ İ", "aé i")]);
        check(title, &[("o'neil foo_bar 2nd", "O'Neil Foo_bar 2nd"), ("ǆ é-ü", "ǅ É-Ü"), ("日é", "日é")]);
        check(untitle, &[("Foo BAR\u{a0}Éa", "foo bAR\u{a0}éa")]);
        check(swap_case, &[("Hello wORLD ǅ x", "hELLO World ǆ X")]);
        assert_eq!(to_upper("é\u{0}".as_bytes()), "É\u{0}".as_bytes());
        assert_eq!(to_upper(b"\xe9a\xc3\xa9"), "\u{FFFD}AÉ".as_bytes());
    }

    #[test]
    fn words_are_joined_in_other_cases() {
        for (text, snake, kebab, pascal) in [
            ("", "", "", ""),
            ("HTTPServer2", "http_server2", "http-server2", "Httpserver2"),
            ("userID", "user_id", "user-id", "UserID"),
            ("http_server", "http_server", "http-server", "HttpServer"),
            ("_x__y", "_x__y", "-x--y", "_X_Y"),
            ("GO PATH", "go_path", "go-path", "GoPath"),
            ("http2xx", "http_2xx", "http-2xx", "Http2xx"),
            ("HTTP20xOK", "http_20x_ok", "http-20x-ok", "Http20xOK"),
            ("Bld4Floor3rd", "bld4_floor_3rd", "bld4-floor-3rd", "Bld4Floor3rd"),
            ("Duration2m3s", "duration_2m3s", "duration-2m3s", "Duration2m3s"),
            ("GOLANG_IS_GREAT", "golang_is_great", "golang-is-great", "GolangIsGreat"),
            ("a.bC/D", "a.b_c/d", "a.b-c/d", "A.bC/D"),
            ("日本Foo", "日本_foo", "日本-foo", "日本Foo"),
            ("-_", "__", "--", "-__"),
        ] {
            check(snake_case, &[(text, snake)]);
            check(kebab_case, &[(text, kebab)]);
            check(pascal_case, &[(text, pascal)]);
        }
    }

    #[test]
    fn bytes_are_taken_for_characters_where_goutils_does() {
        check(initials, &[("John doe  Foo", "JdF"), ("é x", "Ãx"), ("", "")]);
        check(delete_space, &[(" a b\tc ", "abc"), ("é", "é"), ("é ", "Ã©")]);
    }

    #[test]
    fn texts_are_cut_by_bytes() {
        for (length, expected) in
            [(2, "ab"), (9, "abcdef"), (-2, "ef"), (-9, "abcdef"), (0, ""), (-6, "abcdef")]
        {
            assert_eq!(trunc(length, b"abcdef"), expected.as_bytes());
        }
        for (start, end, expected) in [
            (1, 3, "bc"),
            (-1, 2, "ab"),
            (2, -1, "cdef"),
            (2, 9, "cdef"),
            (6, 6, ""),
            (4, 2, "!runtime error: slice bounds out of range [4:2]"),
            (7, 9, "!runtime error: slice bounds out of range [7:6]"),
            (-1, 9, "!runtime error: slice bounds out of range [:9] with length 6"),
            (-1, -1, "!runtime error: slice bounds out of range [:-1]"),
        ] {
            let shown = substring(start, end, b"abcdef")
                .map_or_else(|error| format!("!{error}"), |text| String::from_utf8_lossy(text).into_owned());
            assert_eq!(shown, expected);
        }
        let long = b"Now is the time for all good men";
        assert_eq!(abbreviate(10, long), b"Now is ...");
        assert_eq!(abbreviate(3, long), long);
        assert_eq!(abbreviate_both(5, 10, long), b"...s th...");
        assert_eq!(abbreviate_both(50, 10, long), b"...ood men");
        assert_eq!(abbreviate_both(4, 10, long), b"Now is ...");
        assert_eq!(abbreviate_both(5, 6, long), long);
    }

    #[test]
    fn lines_are_wrapped_at_blanks() {
        let wrapped = |text: &str, width, line_break: &str, long| {
            String::from_utf8(wrap(text.as_bytes(), width, line_break.as_bytes(), long)).unwrap()
        };
        assert_eq!(wrapped("a bc  def ghijklmno p", 5, "", false), "a bc \ndef\nghijklmno\np");
        assert_eq!(wrapped("a bc  def ghijklmno p", 5, "|", true), "a bc |def|ghijk|lmno|p");
        assert_eq!(wrapped("abc", -3, "", true), "a\nb\nc");
        assert_eq!(wrapped("", 5, "", true), "");
    }

    #[test]
    fn texts_are_split_replaced_and_trimmed() {
        let pieces = |text: &str, separator: &str, limit| {
            let text = text.as_bytes().to_vec();
            let pieces = split_n(&text, separator.as_bytes(), limit);
            pieces
                .iter()
                .map(|piece| String::from_utf8_lossy(piece).into_owned())
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(pieces("a,b,,c", ",", -1), "a|b||c");
        assert_eq!(pieces("a,b,,c", ",", 2), "a|b,,c");
        assert_eq!(pieces("aéb", "", -1), "a|é|b");
        assert_eq!(pieces("aéb", "", 2), "a|éb");
        assert_eq!(split(b"", b",").len(), 1);
        assert_eq!(split(b"", b"").len(), 0);
        assert_eq!(split_n(b"a", b",", 0).len(), 0);
        assert_eq!(replace(b"aXbX", b"X", b"--"), b"a--b--");
        assert_eq!(replace("é".as_bytes(), b"", b"-"), "-é-".as_bytes());
        assert_eq!(count(b"aaa", b"aa"), 1);
        assert_eq!(count("é".as_bytes(), b""), 2);
        assert_eq!(trim_space("\u{a0} a b\u{2028}\n".as_bytes()), b"a b");
        assert_eq!(trim("éaxaé".as_bytes(), "aé".as_bytes()), b"x");
        assert_eq!(trim(b"a", b""), b"a");
    }
}
