//! JSON as Go reads and writes it.

use super::*;
use crate::value::{Map, Value};

fn float(text: &str) -> Value {
    from_slice(text.as_bytes(), Numbers::Float).expect("the case is valid JSON")
}

#[test]
fn values_are_written_as_go_writes_them() {
    // Answers of Go 1.26: json.Marshal, an Encoder with SetEscapeHTML(false).
    let check = |value: Value, html: &str, raw: &str| {
        assert_eq!(to_string(&value, Escape::Html).as_deref(), Ok(html));
        assert_eq!(to_string(&value, Escape::Raw).as_deref(), Ok(raw));
    };
    check(Value::from("<a & b>"), r#""\u003ca \u0026 b\u003e""#, r#""<a & b>""#);
    check(
        Value::from("\u{2028}\u{2029}\u{7f}é😀"),
        "\"\\u2028\\u2029\u{7f}é😀\"",
        "\"\\u2028\\u2029\u{7f}é😀\"",
    );
    check(
        Value::from("\0\u{1}\u{8}\u{c}\n\r\t\"\\/"),
        r#""\u0000\u0001\b\f\n\r\t\"\\/""#,
        r#""\u0000\u0001\b\f\n\r\t\"\\/""#,
    );
    check(Value::Int(i64::MIN), "-9223372036854775808", "-9223372036854775808");
    check(Value::Uint(u64::MAX), "18446744073709551615", "18446744073709551615");
    check(Value::Float(1e21), "1e+21", "1e+21");
    check(
        float(r#"{"b":[],"a":{},"B":[1,null,true,false]}"#),
        r#"{"B":[1,null,true,false],"a":{},"b":[]}"#,
        r#"{"B":[1,null,true,false],"a":{},"b":[]}"#,
    );
    assert_eq!(
        to_string(&Value::Float(f64::NEG_INFINITY), Escape::Html).map_err(|e| e.to_string()),
        Err("json: unsupported value: -Inf".to_owned())
    );
}

#[test]
fn the_pretty_form_is_indented_by_two_spaces() {
    let value = float(r#"{"a":[1,{"b":"<"}],"c":{},"d":[]}"#);
    let text =
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"\\u003c\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}";
    assert_eq!(to_string_pretty(&value).as_deref(), Ok(text));
}

#[test]
fn texts_are_read_as_go_reads_them() {
    let check = |text: &str, expected: Value| assert_eq!(float(text), expected, "{text}");
    check(" 1 ", Value::Float(1.0));
    check(r#""\u00e9\ud83d\ude00\/\"""#, Value::from("é😀/\""));
    check(r#""\ud800x\ud800\u0041\udc00""#, Value::from("\u{fffd}x\u{fffd}A\u{fffd}"));
    check(r#"{"a":1,"a":{"b":2}}"#, Value::Map(Map::from([("a".into(), float(r#"{"b":2}"#))])));
    check("[]", Value::List(Vec::new()));
    check("-0", Value::Float(-0.0));
    assert_eq!(
        from_slice(b"\"a\xff\xe2\x82z\"", Numbers::Float),
        Ok(Value::from("a\u{fffd}\u{fffd}\u{fffd}z"))
    );
    let typed = |text: &str| from_slice(text.as_bytes(), Numbers::Typed);
    assert_eq!(typed("12"), Ok(Value::Int(12)));
    assert_eq!(typed("9223372036854775808"), Ok(Value::Uint(9_223_372_036_854_775_808)));
    assert_eq!(typed("18446744073709551616"), Ok(Value::Float(18_446_744_073_709_552_000.0)));
    assert_eq!(typed("1.0"), Ok(Value::Float(1.0)));
}

#[test]
fn errors_carry_gos_words() {
    // Answers of Go 1.26: json.Unmarshal into an any.
    for (text, expected) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[1", "unexpected end of JSON input"),
        ("\"a", "unexpected end of JSON input"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("-", "invalid character ' ' in numeric literal"),
        ("[1.", "invalid character ' ' after decimal point in numeric literal"),
        ("\"\\", "invalid character ' ' in string escape code"),
        ("\"\\u12", "invalid character ' ' in \\u hexadecimal character escape"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("1 2", "invalid character '2' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("\"\\q\"", "invalid character 'q' in string escape code"),
        ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("nul ", "invalid character ' ' in literal null (expecting 'l')"),
        ("1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ] {
        let error = from_slice(text.as_bytes(), Numbers::Float).map_err(|error| error.to_string());
        assert_eq!(error, Err(expected.to_owned()), "{text}");
    }
    let error = map_from_slice(b"[1]", Numbers::Float).map_err(|error| error.to_string());
    assert_eq!(
        error,
        Err("json: cannot unmarshal array into Go value of type map[string]interface {}".to_owned())
    );
    let error = list_from_slice(b"{}", Numbers::Float).map_err(|error| error.to_string());
    assert_eq!(error, Err("json: cannot unmarshal object into Go value of type []interface {}".to_owned()));
    let deep = "[".repeat(100_000);
    assert_eq!(from_slice(deep.as_bytes(), Numbers::Float), Err(JsonError::Depth));
}

#[test]
fn a_stream_gives_its_first_value_and_its_length() {
    assert_eq!(from_prefix(b" {\"a\":1} , b", Numbers::Float).map(|(_, used)| used), Ok(8));
    assert_eq!(from_prefix(b"1,2", Numbers::Float), Ok((Value::Float(1.0), 1)));
    assert_eq!(from_prefix(b" ", Numbers::Float), Err(JsonError::Eof));
    assert_eq!(from_prefix(b"[1", Numbers::Float), Err(JsonError::UnexpectedEof));
    assert_eq!(from_prefix(b"tru", Numbers::Float), Err(JsonError::UnexpectedEof));
}
