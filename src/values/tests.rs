//! Values that a user gives.

use super::*;
use crate::value::json::{Escape, to_string};

/// The tree that arguments are written into.
fn tree() -> Map {
    let text = br#"{"s":"x","m":{"a":1},"l":["p",{"q":"r"},null],"n":null}"#;
    json::map_from_slice(text, Numbers::Float).expect("the tree is valid")
}

fn shown(values: Map, result: Result<(), SetError>) -> String {
    let values = to_string(&Value::Map(values), Escape::Html).unwrap_or_default();
    format!("{values} {}", result.map_or_else(|error| error.to_string(), |()| "<nil>".to_owned()))
}

/// Each line of the cases: flag, argument, and the tree with the error after it, as Helm 4.3.1 leaves them.
#[test]
fn arguments_are_used_as_helm_uses_them() {
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/cases/values/set.jsonl").lines() {
        let case = json::list_from_slice(line.as_bytes(), Numbers::Typed).expect("a case is JSON");
        let [Value::Str(flag), Value::Str(argument), Value::Str(expected)] = case.as_slice() else {
            panic!("not a case: {line}")
        };
        let mut values = tree();
        let result = match flag.as_str() {
            "set" => set(&mut values, argument),
            "setstring" => set_string(&mut values, argument),
            "setjson" => set_json(&mut values, argument),
            "setliteral" => set_literal(&mut values, argument),
            _ => set_file(&mut values, argument, &mut |name| match name.contains("missing") {
                true => Err(format!("open {name}: no such file")),
                false => Ok(format!("<{name}>").into_bytes()),
            }),
        };
        let answer = shown(values, result);
        if answer != *expected {
            wrong.push(format!("{flag} {argument}\n  expected {expected}\n  got      {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn many_large_indexes_are_refused() {
    for between in ["=1,", "[0]=1,", "[", ".k=1,"] {
        let key = |number: usize| match between {
            "[" => "65536][".to_owned(),
            _ => format!("k{number}[65536]{between}"),
        };
        let argument: String = (0..40).map(key).collect();
        let argument = if between == "[" { format!("k[{argument}0]=1") } else { argument };
        assert_eq!(set(&mut Map::new(), &argument), Err(SetError::TooManyElements), "{between}");
    }
}

#[test]
fn a_long_list_can_be_written_to_many_times() {
    let mut values = Map::new();
    set(&mut values, &format!("a[0][65535]=x{}", ",a[0][0]=y".repeat(20_000)))
        .expect("the argument is valid");
    let Value::List(list) = &values["a"] else { panic!("a list") };
    assert_eq!(list[0].as_list().map(|list| (list.len(), list[0].as_str())), Some((65_536, Some("y"))));
}

#[test]
fn integers_of_set_are_integers_and_numbers_of_json_are_floats() {
    let mut values = Map::new();
    set(&mut values, "a=1").expect("the argument is valid");
    set_json(&mut values, "b=1").expect("the argument is valid");
    assert_eq!(values["a"], Value::Int(1));
    assert_eq!(values["b"], Value::Float(1.0));
}

#[test]
fn sources_are_merged_from_the_lowest_to_the_highest() {
    let sources = Sources {
        inline: Map::new(),
        files: vec![
            ("a.yaml".into(), b"a: {x: 1, w: 1}\nk: file\n---\na: {w: 2}\n".to_vec()),
            ("b.yaml".into(), b"a: {z: [1]}\nj: null".to_vec()),
        ],
        set_json: vec![r#"{"a":{"x":{"deep":true}},"k":"json"}"#.into(), "j=[1]".into()],
        set: vec!["k=set,a.z[0]=2".into()],
        set_string: vec!["k=5".into()],
        set_file: vec!["f=name".into()],
        set_literal: vec!["l={a,b}".into()],
    };
    let values = merge(&sources, &mut |name| Ok(format!("content of {name}").into_bytes()));
    let expected =
        br#"{"a":{"x":{"deep":true},"w":2,"z":[2]},"f":"content of name","j":[1],"k":"5","l":"{a,b}"}"#;
    let mut expected = json::map_from_slice(expected, Numbers::Float).expect("the answer is valid");
    // `--set` writes an integer.
    set(&mut expected, "a.z[0]=2").expect("the argument is valid");
    assert_eq!(values.expect("the sources are valid"), expected);
}

#[test]
fn broken_sources_are_named() {
    use std::error::Error as _;
    let check = |sources: Sources, message: &str, cause: &str| {
        let error = merge(&sources, &mut |_| Err("no".into())).expect_err("the source is broken");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some(cause));
    };
    let file = |text: &str| Sources { files: vec![("v.yaml".into(), text.into())], ..Sources::default() };
    check(
        file("a: 1\n--- {b: 2}\n"),
        "failed to parse v.yaml",
        "error reading yaml document: invalid Yaml document separator: {b: 2}",
    );
    check(
        file("a: 1\n---\n- b"),
        "failed to parse v.yaml",
        "cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: \
         json: cannot unmarshal array into Go value of type map[string]interface {}",
    );
    check(
        Sources { set_json: vec!["{a}".into()], ..Sources::default() },
        "failed parsing --set-json data JSON: {a}",
        "invalid character 'a' looking for beginning of object key string",
    );
    check(
        Sources { set_json: vec!["a=x".into()], ..Sources::default() },
        "failed parsing --set-json data a=x",
        "invalid character 'x' looking for beginning of value",
    );
    check(
        Sources { set_file: vec!["a=x".into()], ..Sources::default() },
        "failed parsing --set-file data",
        "no",
    );
    check(
        Sources { set: vec!["a".into()], ..Sources::default() },
        "failed parsing --set data",
        "key \"a\" has no value",
    );
}

#[test]
fn documents_are_split_as_kubernetes_splits_them() {
    let check = |text: &str, expected: &str| {
        let values = load(text.as_bytes()).expect("the text is valid");
        assert_eq!(to_string(&Value::Map(values), Escape::Html).as_deref(), Ok(expected), "{text:?}");
    };
    check("", "{}");
    check("---\n---\n# x\na: 1", r#"{"a":1}"#);
    check("a: 1\r\n--- # next\r\nb: 2\r\n", r#"{"a":1,"b":2}"#);
    check("a: {b: 1}\n---\na: {c: 2}\n---\na: null", r#"{"a":null}"#);
    check("a: 1\n...\nb: 2\n---\nc: 3", r#"{"a":1,"c":3}"#);
}
