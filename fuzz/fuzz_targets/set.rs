//! Arguments of the `--set` family, one after the other, on one tree.
//!
//! Each line is an argument; its first character says of which flag: `s`et, set-`t`ext, `j`son, `f`ile,
//! `l`iteral. Any other line is a values file of one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use statectl::value::Map;
use statectl::values::{self, Sources};

fn read(name: &str) -> Result<Vec<u8>, String> {
    if name.starts_with("missing") { Err("no such file".to_owned()) } else { Ok(name.repeat(2).into_bytes()) }
}

fuzz_target!(|text: &str| {
    let mut tree = Map::new();
    let mut sources = Sources::default();
    for line in text.split('\n').take(64) {
        let mut chars = line.chars();
        let flag = chars.next();
        let argument = chars.as_str();
        let told = match flag {
            Some('s') => {
                sources.set.push(argument.to_owned());
                values::set(&mut tree, argument)
            }
            Some('t') => {
                sources.set_string.push(argument.to_owned());
                values::set_string(&mut tree, argument)
            }
            Some('j') => {
                sources.set_json.push(argument.to_owned());
                values::set_json(&mut tree, argument)
            }
            Some('f') => {
                sources.set_file.push(argument.to_owned());
                values::set_file(&mut tree, argument, &mut read)
            }
            Some('l') => {
                sources.set_literal.push(argument.to_owned());
                values::set_literal(&mut tree, argument)
            }
            _ => {
                sources.files.push(("values.yaml".to_owned(), line.as_bytes().to_vec()));
                Ok(())
            }
        };
        if let Err(error) = told {
            let _ = error.to_string();
        }
    }
    if let Err(error) = values::merge(&sources, &mut read) {
        let _ = error.to_string();
    }
});
