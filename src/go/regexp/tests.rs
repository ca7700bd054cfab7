//! Answers of Go 1.26.

use super::*;

fn compiled(pattern: &str) -> Rc<Regexp> {
    compile(pattern.as_bytes()).unwrap()
}

fn shown(pieces: &[&[u8]]) -> String {
    pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect::<Vec<_>>().join("|")
}

#[test]
fn patterns_find_what_go_finds() {
    // Pattern, text, all matches joined by a bar.
    for (pattern, text, expected) in [
        ("", "ab", "||"),
        ("a*", "baaac", "|aaa|"),
        ("a*?", "aa", "||"),
        ("a|ab", "ab", "a"),
        ("(|a)*", "aa", "||"),
        ("(?U)a+", "aaa", "a|a|a"),
        ("(?U)a+?", "aaa", "aaa"),
        // ASCII only, unlike in Rust.
        (r"\d+", "1٣2", "1|2"),
        (r"\w+", "éa_1", "a_1"),
        (r"\s", "a\x0B\t\u{a0}", "\t"),
        (r"\bb", "éb", "b"),
        (r"[[:word:]-]+", "a-b.c", "a-b|c"),
        (r"\pL+", "aé1", "aé"),
        (r"\p{Greek}", "aβ", "β"),
        (r"\P{^Lu}", "aB", "B"),
        (r"\p{letter}", "1x", "x"),
        // Fold by Unicode: the Kelvin sign and the long s.
        ("(?i)k", "kK\u{212a}", "k|K|\u{212a}"),
        (r"(?i)[^\w]", "\u{17f}-", "-"),
        (r"\Qa.b\E+", "a.bb", "a.bb"),
        (r"a\Q\E+", "aa", "aa"),
        (r"\07\x41\x{42}\101", "\x07ABA", "\x07ABA"),
        ("a{,2}", "a{,2}aa", "a{,2}"),
        ("a{2", "a{2", "a{2"),
        ("[a[]", "[a", "[|a"),
        ("[a&&b]+", "a&b", "a&b"),
        ("[]a]+", "a]", "a]"),
        ("[^]a]", "a]b", "b"),
        (r"[a\-z]+", "a-z", "a-z"),
        ("(?m)^.$", "a\nb", "a|b"),
        ("a$", "a\n", ""),
        ("(?s)a.b", "a\nb", "a\nb"),
        ("a.b", "a\nb", ""),
        ("a(?i)b|c", "aBC", "aB|C"),
        ("(?i:a)b", "AB Ab", "Ab"),
        ("a(?i)*", "aa", "aa"),
        ("[^\\x00-\\x{10FFFF}]", "a", ""),
        (r"\x{D800}", "a", ""),
    ] {
        assert_eq!(shown(&compiled(pattern).find_all(text.as_bytes(), -1)), expected, "{pattern}");
    }
    assert_eq!(shown(&compiled("a").find_all(b"aaa", 2)), "a|a");
    assert_eq!(compiled("b*").find(b"abb"), Some(&b""[..]));
    assert_eq!(compiled("c").find(b"abb"), None);
    assert!(compiled("^a").is_match(b"ab") && !compiled("^a").is_match(b"ba"));
}

#[test]
fn broken_bytes_match_as_replacement_characters() {
    assert_eq!(compiled(".").find_all(b"a\xffb\xe2\x82", -1), [&b"a"[..], b"\xff", b"b", b"\xe2", b"\x82"]);
    assert_eq!(compiled("\u{fffd}").replace_all(b"a\xffb", b"?"), b"a?b");
    assert_eq!(compiled("b").replace_all(b"a\xffb\xfe", b"<$0>"), b"a\xff<b>\xfe");
    assert_eq!(compiled("[^a]").split(b"a\xffa", -1), [b"a", b"a"]);
}

#[test]
fn bad_patterns_are_refused_in_go_s_words() {
    for (pattern, expected) in [
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a+??", "invalid nested repetition operator: `+??`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{10}){101}", "invalid repeat count: `{101}`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|+?", "missing argument to repetition operator: `+?`"),
        ("[a", "missing closing ]: `[a`"),
        ("[a--b]", "invalid character class range: `a--`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("[[:[:alpha:]]", "invalid character class range: `[:[:alpha:]`"),
        (r"\p{Foo}x", r"invalid character class range: `\p{Foo}`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\18", r"invalid escape sequence: `\1`"),
        (r"\xg1", r"invalid escape sequence: `\xg1`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"a\", "trailing backslash at end of expression: ``"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ("(?P<n-x>a)", "invalid named capture: `(?P<n-x>`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
    ] {
        let error = compile(pattern.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("error parsing regexp: {expected}"), "{pattern}");
    }
    let error = compile(b"a\xff").unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidUtf8);
    for (pattern, quoted) in [("[", "`[`"), ("`[", r#""`[""#)] {
        let error = compile(pattern.as_bytes()).unwrap_err();
        let message = must_compile_message(pattern.as_bytes(), &error);
        assert_eq!(
            message,
            format!("regexp: Compile({quoted}): error parsing regexp: missing closing ]: `[`")
        );
    }
}

#[test]
fn deep_and_large_patterns_end_in_an_answer() {
    // Well below the stack of any thread that renders.
    let small_stack = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(compile(nested(200).as_bytes()).unwrap().is_match(b"a"));
        assert_eq!(compile(nested(201).as_bytes()).unwrap_err().code, ErrorCode::NestingDepth);
        assert_eq!(compile("(".repeat(100_000).as_bytes()).unwrap_err().code, ErrorCode::NestingDepth);
        assert!(compile(br"^[\pL\pN]{1,253}$").is_ok_and(|pattern| pattern.is_match("é".as_bytes())));
        assert!(compile(br"^([a-z0-9]{1,63}\.){1,15}x{1000}$").is_ok());
    });
    small_stack.unwrap().join().unwrap();
    assert_eq!(compile(r"\pL{1000}".repeat(20).as_bytes()).unwrap_err().code, ErrorCode::Large);
}

#[test]
fn replacements_expand_references() {
    for (pattern, text, template, expected) in [
        ("a(x*)b", "-ab-axxb-", "T", "-T-T-"),
        ("a(x*)b", "-ab-axxb-", "$1", "--xx-"),
        // The longest name counts: this is the group "1W", which does not exist.
        ("a(x*)b", "-ab-axxb-", "$1W", "---"),
        ("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-"),
        ("a(x*)b", "ab", "$$1 $0 $9 $01 $", "$1 ab   $"),
        ("(?P<first>\\w+) (?P<second>\\w+)", "a b", "$second-${first}", "b-a"),
        ("(?P<n>a)|(?P<n>b)", "ab", "<$n>", "<a><b>"),
        ("a", "a", "${ ${1 $é$", "${ ${1 $"),
        ("a*", "baaac", "x", "xbxcx"),
        ("", "éa", "-", "-é-a-"),
        ("^", "ab", "x", "xab"),
        ("$", "ab", "x", "abx"),
    ] {
        let replaced = compiled(pattern).replace_all(text.as_bytes(), template.as_bytes());
        assert_eq!(String::from_utf8_lossy(&replaced), expected, "{pattern} {template}");
    }
    assert_eq!(compiled("a").replace_all_literal(b"bab", b"$0"), b"b$0b");
}

#[test]
fn texts_are_split_as_go_splits_them() {
    for (pattern, text, limit, expected) in [
        ("a", "banana", -1, "b|n|n|"),
        ("a", "banana", 0, ""),
        ("a", "banana", 1, "banana"),
        ("a", "banana", 2, "b|nana"),
        ("z+", "pizza", -1, "pi|a"),
        ("", "abc", -1, "a|b|c"),
        ("a*", "baaac", -1, "b|c"),
        (",", "", -1, ""),
        ("[,;] *", "a, b;c", -1, "a|b|c"),
    ] {
        assert_eq!(shown(&compiled(pattern).split(text.as_bytes(), limit)), expected, "{pattern} {limit}");
    }
    assert_eq!(compiled(",").split(b"", -1).len(), 1);
    assert_eq!(compiled("").split(b"", -1).len(), 0);
}

#[test]
fn special_characters_are_escaped() {
    assert_eq!(quote_meta(br"a.b-[c]\{1}^$|?*+()#"), br"a\.b-\[c\]\\\{1\}\^\$\|\?\*\+\(\)#");
}
