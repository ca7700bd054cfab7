//! What is read, written and read again is what was read first.

#![no_main]

use libfuzzer_sys::fuzz_target;
use statectl::value::Value;
use statectl::yaml;

fuzz_target!(|text: &[u8]| {
    let _ = yaml::read_documents(text);
    if let Ok(node) = yaml::read_spanned(text) {
        let _ = node.to_value();
    }
    for read in [yaml::read, yaml::read_typed] {
        match read(text) {
            Ok(value) => {
                again(&value, read);
                // Written by the rules of another generation: a tab at the start of a block cannot be read back.
                let _ = yaml::to_yaml_pretty(&value).map(|text| read(text.as_bytes()).is_ok());
            }
            Err(error) => {
                let _ = (error.to_string(), error.go_yaml(), error.position());
            }
        }
    }
});

fn again(value: &Value, read: fn(&[u8]) -> Result<Value, yaml::YamlError>) {
    // go-yaml writes these as line breaks, and reads those as spaces or as ordinary line breaks. A text that is the key
    // `<<` is written without quotes, and read as a merge.
    if contains(value, &['\u{85}', '\u{2028}', '\u{2029}']) {
        return;
    }
    let Ok(text) = yaml::to_yaml(value) else { return };
    let again = read(text.as_bytes());
    assert!(
        again.as_ref().is_ok_and(|again| same(again, value)),
        "{value:?}\nis written as\n{text}\nand read as {again:?}"
    );
}

fn contains(value: &Value, characters: &[char]) -> bool {
    match value {
        Value::Str(text) => text.contains(characters),
        Value::List(items) => items.iter().any(|item| contains(item, characters)),
        Value::Map(map) => {
            let lost = |key: &str| key == "<<" || key.contains(characters);
            map.iter().any(|(key, value)| lost(key) || contains(value, characters))
        }
        _ => false,
    }
}

/// Equal, but for the kinds of numbers: `1.0` is written as `1`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (Value::Float(float), Value::Int(int)) | (Value::Int(int), Value::Float(float)) => {
            *int as f64 == *float
        }
        (Value::Float(float), Value::Uint(int)) | (Value::Uint(int), Value::Float(float)) => {
            *int as f64 == *float
        }
        _ => a == b,
    }
}
