//! Answers of Go 1.26.

use super::*;

fn shown<T: ToString, E: ToString>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[test]
fn text_is_quoted_as_go_quotes_it() {
    for (text, quoted, ascii, backquote) in [
        (&b""[..], r#""""#, r#""""#, true),
        (b"a b", r#""a b""#, r#""a b""#, true),
        (b"\"\\`'", r#""\"\\`'""#, r#""\"\\`'""#, false),
        (b"\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#, r#""\a\b\f\n\r\t\v""#, false),
        (b"a\tb", r#""a\tb""#, r#""a\tb""#, true),
        (b"\x00\x1f\x7f", r#""\x00\x1f\x7f""#, r#""\x00\x1f\x7f""#, false),
        ("é😀".as_bytes(), r#""é😀""#, r#""\u00e9\U0001f600""#, true),
        ("\u{a0}\u{2028}".as_bytes(), r#""\u00a0\u2028""#, r#""\u00a0\u2028""#, true),
        ("\u{feff}\u{e0001}".as_bytes(), r#""\ufeff\U000e0001""#, r#""\ufeff\U000e0001""#, false),
        (b"a\xe2\x82z", r#""a\xe2\x82z""#, r#""a\xe2\x82z""#, false),
        ("\u{fffd}".as_bytes(), "\"\u{fffd}\"", r#""\ufffd""#, true),
    ] {
        assert_eq!(quote(text), quoted);
        assert_eq!(quote_to_ascii(text), ascii);
        assert_eq!(can_backquote(text), backquote, "{quoted}");
    }
    for (code_point, quoted) in
        [(65, "'A'"), (39, r"'\''"), (34, "'\"'"), (10, r"'\n'"), (0x1F600, "'😀'"), (0xD800, "'\u{FFFD}'")]
    {
        assert_eq!(quote_rune(code_point), quoted);
    }
    assert_eq!(quote_rune_to_ascii(0xE9), r"'\u00e9'");
    assert_eq!(quote_rune_to_ascii(0x11_0000), r"'\ufffd'");
}

#[test]
fn literals_are_read_as_go_reads_them() {
    let check = |literal: &str, expected: Option<&[u8]>| {
        assert_eq!(unquote(literal.as_bytes()).ok().as_deref(), expected, "{literal}");
    };
    check(r#""""#, Some(b""));
    check(r#""a\tb\x41\101\u00e9\U0001F600""#, Some("a\tbAAé😀".as_bytes()));
    check(r#""\xff\377""#, Some(b"\xff\xff"));
    check(r"'\''", Some(b"'"));
    check("'é'", Some("é".as_bytes()));
    check("''", Some(b""));
    check("`a\r\nb\\n`", Some(b"a\nb\\n"));
    for bad in [
        "",
        "a",
        "\"",
        "\"a",
        "a\"",
        r#""\""#,
        r#""\'""#,
        r#"'\"'"#,
        r#""\400""#,
        r#""\08""#,
        r#""\ud800""#,
        r#""\U00110000""#,
        r#""\q""#,
        r#""\x4""#,
        "'ab'",
        "\"a\nb\"",
        "'\n'",
        "`a`b`",
        r#"""""#,
        "'''",
    ] {
        check(bad, None);
    }
    assert_eq!(
        unquote_char(br"\xffz", b'\'').map(|(value, rest)| (value.code(), rest)),
        Ok((255, &b"z"[..]))
    );
    assert_eq!(unquote_char(b"'", b'\''), Err(SyntaxError));
}

#[test]
fn integers_are_read_by_their_prefix() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("+5", "5"),
        ("010", "8"),
        ("0x1F", "31"),
        ("0O7", "7"),
        ("0b101", "5"),
        ("1_000", "1000"),
        ("0x_1", "1"),
        ("0_1", "1"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("", r#"strconv.ParseInt: parsing "": invalid syntax"#),
        ("08", r#"strconv.ParseInt: parsing "08": invalid syntax"#),
        ("0x", r#"strconv.ParseInt: parsing "0x": invalid syntax"#),
        ("_1", r#"strconv.ParseInt: parsing "_1": invalid syntax"#),
        ("1__0", r#"strconv.ParseInt: parsing "1__0": invalid syntax"#),
        (" 5", r#"strconv.ParseInt: parsing " 5": invalid syntax"#),
        ("1.0", r#"strconv.ParseInt: parsing "1.0": invalid syntax"#),
        ("9223372036854775808", r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#),
        ("99999999999999999999x", r#"strconv.ParseInt: parsing "99999999999999999999x": value out of range"#),
    ] {
        assert_eq!(shown(parse_int(text, 0)), expected);
    }
    assert_eq!(shown(parse_uint("18446744073709551615", 0)), "18446744073709551615");
    assert_eq!(shown(parse_uint("-1", 0)), r#"strconv.ParseUint: parsing "-1": invalid syntax"#);
    assert_eq!(shown(atoi("010")), "10");
    assert_eq!(shown(atoi("1_0")), r#"strconv.Atoi: parsing "1_0": invalid syntax"#);
    assert_eq!(shown(parse_bool("T")), "true");
    assert_eq!(shown(parse_bool("yes")), r#"strconv.ParseBool: parsing "yes": invalid syntax"#);
}

#[test]
fn conversion_to_int_drops_a_tail_of_zeros() {
    for (text, expected) in [
        ("010", Some(8)),
        ("0x10", Some(16)),
        ("1_000", Some(1000)),
        ("1.0", Some(1)),
        ("1.000", Some(1)),
        ("1.5", None),
        ("1.", None),
        ("08", None),
        ("1e3", None),
        (" 5", None),
        ("", None),
    ] {
        assert_eq!(cast_int(text), expected, "{text}");
    }
}

#[test]
fn floats_are_read_in_decimal_and_hexadecimal() {
    for (text, expected) in [
        ("1e5", Some(1e5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1_0.5", Some(10.5)),
        ("0x1p3", Some(8.0)),
        ("0x1.8p1", Some(3.0)),
        ("0x_1p1", Some(2.0)),
        ("0x1.fffffffffffff8p0", Some(2.0)),
        ("0x1p-1075", Some(0.0)),
        ("0x1.8p-1075", Some(5e-324)),
        ("-Infinity", Some(f64::NEG_INFINITY)),
        ("1e-400", Some(0.0)),
        ("1e400", None),
        ("0x1p1024", None),
        ("0x1", None),
        ("infi", None),
        ("+nan", None),
        ("1e", None),
        (".", None),
        ("1__0", None),
        ("1 ", None),
    ] {
        assert_eq!(parse_float(text).ok(), expected, "{text}");
    }
    assert!(parse_float("NaN").is_ok_and(f64::is_nan));
    assert_eq!(shown(parse_float("1e400")), r#"strconv.ParseFloat: parsing "1e400": value out of range"#);
}

#[test]
fn floats_are_written_with_a_verb_and_a_precision() {
    for (number, verb, precision, expected) in [
        (0.0, b'e', Some(2), "0.00e+00"),
        (2.5, b'f', Some(0), "2"),
        (0.125, b'f', Some(2), "0.12"),
        (123_456.789, b'e', Some(3), "1.235e+05"),
        (123_456.789, b'E', Some(3), "1.235E+05"),
        (123_456.789, b'g', Some(3), "1.23e+05"),
        (123_456.789, b'g', Some(10), "123456.789"),
        (100_000.0, b'g', Some(10), "100000"),
        (1e20, b'g', Some(30), "100000000000000000000"),
        (0.000_012_3, b'g', Some(2), "1.2e-05"),
        (0.000_123, b'G', Some(0), "0.0001"),
        (-0.0, b'g', Some(4), "-0"),
        (1.0, b'x', None, "0x1p+00"),
        (-3.75, b'x', None, "-0x1.ep+01"),
        (1.999, b'x', Some(1), "0x1.0p+01"),
        (5e-324, b'X', None, "0X1P-1074"),
        (1.0, b'b', None, "4503599627370496p-52"),
        (1.0, b'z', None, "%z"),
        (f64::INFINITY, b'f', Some(2), "+Inf"),
    ] {
        assert_eq!(format_float(number, verb, precision), expected);
    }
    assert_eq!(format_float(0.1, b'f', Some(70_000)).len(), 70_002);
    for (number, expected) in
        [(12_345_678.9, "1.2345679e+07"), (0.1, "0.1"), (-309.453_125, "-309.45312"), (1e40, "+Inf")]
    {
        assert_eq!(format_float32(number, b'g'), expected);
    }
}
