//! What the files of a run say together, as JSON: the keys, and beside them where each was given.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::plan_json::pretty;
use crate::dsf::Config;
use crate::dsf::config::Content;
use crate::value::Value;

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'a str>,
    files: Vec<&'a str>,
    config: Json,
    origins: BTreeMap<String, String>,
}

/// Returns the report. The paths of `origins` are JSON pointers into `config`.
pub fn config_json(config: &Config, files: &[&str], environment: Option<&str>) -> String {
    let mut origins = BTreeMap::new();
    let json = value(config, "", &mut origins);
    pretty(&Report {
        format: "statectl.config/v1",
        environment,
        files: files.to_vec(),
        config: json,
        origins,
    })
}

fn value(config: &Config, path: &str, origins: &mut BTreeMap<String, String>) -> Json {
    match &config.content {
        Content::Scalar(scalar) => {
            origins.extend(config.origin.as_ref().map(|origin| (path.to_owned(), origin.to_string())));
            json_scalar(scalar)
        }
        Content::List(items) => {
            let items = items.iter().enumerate();
            Json::Array(items.map(|(at, item)| value(item, &format!("{path}/{at}"), origins)).collect())
        }
        Content::Map(entries) => {
            let entries = entries.iter().map(|(key, entry)| {
                let step = key.replace('~', "~0").replace('/', "~1");
                (key.clone(), value(entry, &format!("{path}/{step}"), origins))
            });
            Json::Object(entries.collect::<Map<_, _>>())
        }
    }
}

fn json_scalar(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => Json::from(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Uint(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Null | Value::List(_) | Value::Map(_) => Json::Null,
    }
}
