//! The YAML reader and writers against recorded answers of the Go libraries inside Helm, and their properties
//! on arbitrary input.

use proptest::prelude::*;
use statectl::manifest::{self, SplitRule};
use statectl::value::json::{self, Escape, Numbers};
use statectl::value::{Map, Value};
use statectl::{values, yaml};

/// Runs `answer` over the cases of a file and reports every difference.
fn check(cases: &str, answer: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let pair = json::list_from_slice(line.as_bytes(), Numbers::Typed).unwrap_or_default();
        let (Some(case), Some(expected)) =
            (pair.first().and_then(Value::as_str), pair.get(1).and_then(Value::as_str))
        else {
            wrong.push(format!("not a case: {line}"));
            continue;
        };
        let answer = answer(case);
        if answer != expected {
            wrong.push(format!("{case:?}\n  expected {expected:?}\n  got      {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_are_read_as_go_yaml_reads_them() {
    check(include_str!("../cases/yaml/read.jsonl"), |text| {
        let value = match yaml::read_typed(text.as_bytes()) {
            Ok(value) => json::to_string(&value, Escape::Html),
            Err(error) => return format!("ERR {}", error.go_yaml()),
        };
        value.map_or_else(|error| format!("ERR {error}"), |text| format!("OK {text}"))
    });
}

#[test]
fn values_are_written_as_sigs_yaml_writes_them() {
    check(include_str!("../cases/yaml/to-yaml.jsonl"), |text| written(text, yaml::to_yaml));
}

#[test]
fn values_are_written_as_go_yaml_v3_writes_them() {
    check(include_str!("../cases/yaml/to-yaml-pretty.jsonl"), |text| written(text, yaml::to_yaml_pretty));
}

fn written(text: &str, write: fn(&Value) -> Result<String, yaml::EmitError>) -> String {
    match json::from_slice(text.as_bytes(), Numbers::Float) {
        Ok(value) => write(&value).map_or_else(|error| format!("ERR {error}"), |text| format!("OK {text}")),
        Err(error) => format!("not JSON: {error}"),
    }
}

/// Text of the characters that decide something in YAML.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~é日😀\n\t:#'\"|>-]{0,12}",
        "(y|no|null|~|0x1F|1e3|2020-1-1|1:30|- a|a: b|a #b|k{120,140}|(word ){20}){1,2}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::Float),
        text().prop_map(Value::Str),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(Value::Map),
        ]
    })
}

/// The value with every number a float, as Helm reads it; zero has no sign in YAML.
fn as_floats(value: &Value) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "that is what Helm does to large integers")]
    match value {
        Value::Int(number) => Value::Float(*number as f64),
        Value::Uint(number) => Value::Float(*number as f64),
        Value::Float(float) => Value::Float(float + 0.0),
        Value::List(list) => Value::List(list.iter().map(as_floats).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.clone(), as_floats(value))).collect::<Map>())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_the_same(value in value()) {
        for write in [yaml::to_yaml, yaml::to_yaml_pretty] {
            let text = write(&value).map_err(|error| TestCaseError::fail(error.to_string()))?;
            // Version 3 writes tabs into literal blocks, where version 2 does not take them for content.
            if text.contains('\t') {
                continue;
            }
            let back = yaml::read(text.as_bytes());
            prop_assert_eq!(back.as_ref().map(as_floats), Ok(as_floats(&value)), "{}", text);
        }
    }

    #[test]
    fn reading_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = yaml::read(&bytes);
        let _ = yaml::read_spanned(&bytes);
        let _ = json::from_slice(&bytes, Numbers::Float);
    }

    #[test]
    fn set_arguments_never_panic(argument in "([a-c]|[.,={}\\[\\]\\\\]|[0-9]|null|\\PC){0,30}") {
        let mut values = Map::new();
        let _ = values::set(&mut values, &argument);
        let _ = values::set_string(&mut values, &argument);
        let _ = values::set_json(&mut values, &argument);
        let _ = values::set_literal(&mut values, &argument);
        let _ = values::set_file(&mut values, &argument, &mut |_| Err(String::new()));
    }

    #[test]
    fn splitting_keeps_every_character_of_a_document(text in "(---|[ \t\n]|a: 1|- b|#){0,30}") {
        for rule in [SplitRule::Keep, SplitRule::Trim] {
            for document in manifest::split(&text, rule) {
                prop_assert!(text.contains(document));
                let _ = manifest::Document::parse(document);
            }
        }
    }

    #[test]
    fn both_readers_agree(text in "([a-c]|[ \n]|: |- |\\[|\\]|\\{|\\}|, |'|\"|&a |\\*a|<<|# |\\||>|\\? |\t|é){0,40}") {
        let values = yaml::read_typed(text.as_bytes());
        let nodes = yaml::read_spanned(text.as_bytes()).map(|node| node.to_value());
        match values {
            // A null key is a fault of the conversion to JSON only.
            Err(error) if error.problem().starts_with("unsupported map key") => prop_assert!(nodes.is_ok()),
            values => prop_assert_eq!(values, nodes),
        }
    }
}
