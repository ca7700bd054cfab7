//! Charts built in memory, checked against answers of Helm.

mod archives;
mod merging;
mod reading;
mod schemas;

use super::{Chart, File, load};
use crate::template::convert::to_value;
use crate::template::value::{Map, Val};
use crate::value::Value;
use crate::value::json::{Escape, to_string};
use crate::yaml;

/// Returns the chart made of `(path, text)` pairs.
fn chart(files: &[(&str, &str)]) -> Chart {
    load::from_files(files_of(files)).unwrap()
}

fn files_of(files: &[(&str, &str)]) -> Vec<File> {
    files.iter().map(|(name, text)| File::new(*name, text.as_bytes())).collect()
}

fn table(yaml: &str) -> Map {
    super::tables::from_map(&yaml::read_map(yaml.as_bytes()).unwrap())
}

fn json(value: &Value) -> String {
    to_string(value, Escape::Raw).unwrap()
}

fn table_json(table: &Map) -> String {
    json(&to_value(&Val::Map(table.clone())).unwrap())
}
