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
                again(&value, read, yaml::to_yaml);
                again(&value, read, yaml::to_yaml_pretty);
            }
            Err(error) => {
                let _ = (error.to_string(), error.go_yaml(), error.position());
            }
        }
    }
});

fn again(
    value: &Value,
    read: fn(&[u8]) -> Result<Value, yaml::YamlError>,
    write: fn(&Value) -> Result<String, yaml::EmitError>,
) {
    let Ok(text) = write(value) else { return };
    assert_eq!(read(text.as_bytes()).as_ref(), Ok(value), "written as\n{text}");
}
