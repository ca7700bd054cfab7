//! YAML as go-yaml reads and writes it.

use super::*;
use crate::value::json::{self, Escape};

/// Reads `text` with Helm's eyes and returns JSON or the error text.
fn helm(text: &str) -> String {
    match read(text.as_bytes()) {
        Ok(value) => json::to_string(&value, Escape::Raw).unwrap_or_else(|error| error.to_string()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn numbers_become_floats_in_helms_view() {
    assert_eq!(
        read(b"a: 9007199254740993").map(|v| v.get("a").cloned()),
        Ok(Some(Value::Float(9007199254740992.0)))
    );
    assert_eq!(
        read_typed(b"a: 9007199254740993").map(|v| v.get("a").cloned()),
        Ok(Some(Value::Int(9007199254740993)))
    );
}

#[test]
fn keys_without_a_json_form_are_refused() {
    assert_eq!(
        helm("null: a"),
        "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\""
    );
    assert_eq!(helm("1: a\n'1': b"), r#"{"1":"a"}"#);
    assert_eq!(helm("123456789.5: a"), r#"{"1.2345679e+08":"a"}"#);
}

#[test]
fn documents_of_another_kind_are_refused_in_gos_words() {
    let expected = "error unmarshaling JSON: while decoding JSON: \
                    json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(read_map(b"- a").map_err(|error| error.to_string()), Err(expected.to_owned()));
    assert_eq!(read_map(b"").map(|map| map.len()), Ok(0));
    let expected = "error unmarshaling JSON: while decoding JSON: \
                    json: cannot unmarshal object into Go value of type []interface {}";
    assert_eq!(read_list(b"a: b").map_err(|error| error.to_string()), Err(expected.to_owned()));
}

#[test]
fn errors_know_their_true_place() {
    let check = |text: &str, told: &str, line: u32, column: u32| {
        let error = read(text.as_bytes()).expect_err("the case is broken");
        assert_eq!(error.go_yaml(), told);
        assert_eq!(error.position(), Some(Position { line, column }));
    };
    check("a: 1\nb: [1\nc: 2", "yaml: line 2: did not find expected ',' or ']'", 3, 2);
    check("a:\n\tb: 1", "yaml: line 2: found character that cannot start any token", 2, 1);
    check("é: *x", "yaml: unknown anchor 'x' referenced", 1, 4);
    check("a: b\nc: \u{1}", "yaml: control characters are not allowed", 2, 4);
}

#[test]
fn a_forbidden_character_hides_behind_earlier_faults_and_later_documents() {
    let filler = "# a comment that fills the first block of the decoder\n".repeat(20);
    assert_eq!(
        helm(&format!("a: b: c\n{filler}\u{1}")),
        "error converting YAML to JSON: yaml: mapping values are not allowed in this context"
    );
    assert_eq!(helm(&format!("a: 1\n---\n{filler}\u{1}")), r#"{"a":1}"#);
    assert_eq!(
        helm(&format!("a: 1\n{filler}\u{1}")),
        "error converting YAML to JSON: yaml: control characters are not allowed"
    );
}

#[test]
fn utf16_is_read() {
    let mut text = vec![0xff, 0xfe];
    text.extend("a: é😀".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(read(&text).map(|v| v.get("a").cloned()), Ok(Some(Value::from("é😀"))));
}

#[test]
fn bombs_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let m = n - 1;
        let alias = format!("*a{m}, ").repeat(8);
        text.extend([format!(
            "a{n}: &a{n} [{alias}]
"
        )]);
    }
    assert_eq!(helm(&text), "error converting YAML to JSON: yaml: document contains excessive aliasing");
    assert_eq!(helm("a: &x [*x]"), "error converting YAML to JSON: yaml: anchor 'x' value contains itself");
    for deep in ["[", "- ", "{a: ", "? "] {
        let error = helm(&deep.repeat(100_000));
        assert!(error.ends_with("exceeded max depth of 256"), "{error}");
    }
}

#[test]
fn a_spanned_document_keeps_places_and_repeated_keys() {
    let text = "\u{feff}a: 1.10\nb: &x\n  c: [é, 'f']\na: 2\nd:\n  <<: *x\n  yes: z\n";
    let node = read_spanned(text.as_bytes()).expect("the text is valid");
    let entries = node.entries().expect("a mapping");
    let names: Vec<_> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.key.span.position.line)).collect();
    assert_eq!(names, [("a", 1), ("b", 2), ("a", 4), ("d", 5)]);
    let Content::Scalar { value, text: written, plain } = &entries[0].value.content else {
        panic!("a scalar")
    };
    assert_eq!((value, written.as_str(), *plain), (&Value::Float(1.1), "1.10", true));
    let span = entries[0].value.span;
    assert_eq!(&text[span.start..span.end], "1.10");
    let list = entries[1].value.get("c").and_then(Node::items).expect("a list");
    assert_eq!(list[1].span.position, Position { line: 3, column: 10 });
    assert_eq!(&text[list[1].span.start..list[1].span.end], "'f'");
    let merged = entries[3].value.entries().expect("a mapping");
    assert_eq!((merged[0].name.as_str(), merged[0].merged), ("c", true));
    assert_eq!((merged[1].name.as_str(), merged[1].merged), ("true", false));
    assert_eq!(node.get("a").map(Node::to_value), Some(Value::Int(2)));
}
