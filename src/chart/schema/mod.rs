//! Checks the values of a chart and of the charts inside against their `values.schema.json`.
//!
//! Source: Helm `pkg/chart/common/util/jsonschema.go`, which uses santhosh-tekuri/jsonschema v6. The checker
//! here is another one; [`report`] gives its findings in the words of that library.

mod report;

use std::sync::Arc;

use jsonschema::{PatternOptions, Retrieve, Uri};
use serde_json::Value as Json;

use super::Chart;
use super::error::ChartError;
use crate::value::{Map, Value};

/// Fetches the document that a schema refers to by its URL. The core knows no network: whoever renders hands
/// this in.
pub type Fetch = Arc<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync>;

/// Checks `values`, which are those that `chart` is rendered with.
///
/// # Errors
/// Fails with the findings for every chart, in Helm's words. A schema that cannot be used is a finding, too.
pub fn check(chart: &Chart, values: &Map, fetch: Option<&Fetch>) -> Result<(), ChartError> {
    let mut findings = Vec::new();
    check_chart(chart, values, fetch, &mut findings);
    if findings.is_empty() { Ok(()) } else { Err(ChartError::Schema(findings.concat())) }
}

fn check_chart(chart: &Chart, values: &Map, fetch: Option<&Fetch>, findings: &mut Vec<String>) {
    let checked = chart.schema.as_ref().map_or(Ok(()), |schema| check_one(schema, values, fetch));
    if let Err(text) = checked {
        findings.push(format!("{}:\n{text}", chart.name()));
    }
    for inner in &chart.dependencies {
        match values.get(inner.name()) {
            None | Some(Value::Null) => {}
            Some(Value::Map(values)) => check_chart(inner, values, fetch, findings),
            Some(other) => findings.push(format!(
                "{}:\ninvalid type for values: expected object (map), got {}\n",
                inner.name(),
                go_type(other)
            )),
        }
    }
}

/// Checks against one schema. The text of a finding ends its line; that of an unusable schema does not.
fn check_one(schema: &[u8], values: &Map, fetch: Option<&Fetch>) -> Result<(), String> {
    let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
    let validator = jsonschema::options()
        .with_retriever(Remote(fetch.cloned()))
        // Go's regular expressions have no look-around either, and take linear time.
        .with_pattern_options(PatternOptions::regex())
        // Contents of strings are only looked into where Helm's checker is told to, which it is not.
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        .build(&schema)
        .map_err(|error| error.to_string())?;
    let values = Json::Object(values.iter().map(|(key, value)| (key.clone(), to_json(value))).collect());
    let errors: Vec<_> = validator.iter_errors(&values).collect();
    if errors.is_empty() { Ok(()) } else { Err(report::text(&errors)) }
}

/// Returns what a schema refers to: URNs stand for anything, everything else is fetched.
struct Remote(Option<Fetch>);

impl Retrieve for Remote {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Json, Box<dyn std::error::Error + Send + Sync>> {
        let url = uri.as_str();
        if url.starts_with("urn:") {
            return Ok(Json::Bool(true));
        }
        let fetch =
            self.0.as_ref().ok_or_else(|| format!("failing loading {url:?}: there is no network here"))?;
        let bytes = fetch(url).map_err(|error| format!("failing loading {url:?}: {error}"))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

/// Returns a value as JSON. Whole floats become integers: every number of a values file is a float to Helm, and
/// its checker takes `1.0` for an integer.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Uint(number) => (*number).into(),
        Value::Float(number) => from_float(*number),
        Value::Str(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => {
            Json::Object(map.iter().map(|(key, value)| (key.clone(), to_json(value))).collect())
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only whole numbers below 2^53 are cast")]
fn from_float(number: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT { Json::from(number as i64) } else { Json::from(number) }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}
