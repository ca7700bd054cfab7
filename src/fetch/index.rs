//! The index of a chart repository: finds the versions of one chart without reading those of all others.
//!
//! Source: Helm `pkg/repo/v1/index.go`. An index of a large repository has tens of thousands of entries; Helm reads all
//! of them to find one. Indexes that are written as `helm repo index` writes them, and those in JSON, are read as far as
//! they are about the chart; any other YAML is read as a whole.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};

use crate::semver::{Constraint, Version};
use crate::value::{Map, Value};
use crate::yaml;

/// A version of a chart in an index.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Entry {
    /// The version.
    pub version: String,
    /// Where the archive is; the first one counts.
    pub urls: Vec<String>,
    /// The SHA-256 of the archive; empty where the index does not say.
    pub digest: String,
}

/// Why an index does not help.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It is no index.
    #[error("the index cannot be read: {0}")]
    Malformed(String),
    /// The chart is not in it.
    #[error("no chart `{0}` in the index")]
    NoChart(String),
    /// No version fits.
    #[error("no version of `{chart}` fits {wanted}; the newest are {newest}")]
    NoVersion {
        /// The chart.
        chart: String,
        /// What was asked for.
        wanted: String,
        /// Some that there are.
        newest: String,
    },
}

/// Returns every version of a chart, in the order of the index.
///
/// # Errors
/// It is no index, or has no such chart.
pub fn entries(index: &str, chart: &str) -> Result<Vec<Entry>, IndexError> {
    let found =
        if index.trim_start().starts_with('{') { of_json(index, chart)? } else { of_yaml(index, chart)? };
    found.ok_or_else(|| IndexError::NoChart(chart.to_owned()))
}

/// Returns the version that is meant: the very one that is named, else the newest that fits the constraint. Versions
/// without a place are passed over, as in Helm.
///
/// # Errors
/// None fits.
pub fn choose(entries: &[Entry], chart: &str, wanted: &str) -> Result<Entry, IndexError> {
    let usable = || entries.iter().filter(|entry| !entry.urls.is_empty());
    if let Some(same) = usable().find(|entry| entry.version == wanted) {
        return Ok(same.clone());
    }
    let mut known: Vec<(Version, &Entry)> =
        usable().filter_map(|entry| Some((Version::parse(&entry.version).ok()?, entry))).collect();
    known.sort_by(|(a, _), (b, _)| b.cmp(a));
    let constraint = Constraint::parse(if wanted.is_empty() { "*" } else { wanted }).ok();
    let fits = constraint.and_then(|constraint| known.iter().find(|(version, _)| constraint.check(version)));
    fits.map(|(_, entry)| (*entry).clone()).ok_or_else(|| {
        let newest: Vec<&str> = known.iter().take(5).map(|(_, entry)| entry.version.as_str()).collect();
        let newest = if newest.is_empty() { "none".to_owned() } else { newest.join(", ") };
        IndexError::NoVersion { chart: chart.to_owned(), wanted: wanted.to_owned(), newest }
    })
}

fn of_yaml(index: &str, chart: &str) -> Result<Option<Vec<Entry>>, IndexError> {
    match slice(index, chart) {
        Slice::Found(text) => {
            // An entry may refer to an anchor that stands elsewhere: then all has to be read.
            match yaml::read(text.as_bytes()) {
                Ok(Value::Map(map)) if map.len() == 1 => {
                    map.into_iter().next().map(|(_, list)| of_list(&list)).transpose()
                }
                _ => whole(index, chart),
            }
        }
        Slice::Missing => Ok(None),
        Slice::Unusual => whole(index, chart),
    }
}

fn whole(index: &str, chart: &str) -> Result<Option<Vec<Entry>>, IndexError> {
    let malformed = |error: yaml::YamlError| IndexError::Malformed(error.to_string());
    let nothing = || IndexError::Malformed("it has no `entries`".to_owned());
    let Value::Map(map) = yaml::read(index.as_bytes()).map_err(malformed)? else { return Err(nothing()) };
    let Some(Value::Map(charts)) = map.get("entries") else { return Err(nothing()) };
    charts.get(chart).map(of_list).transpose()
}

fn of_list(list: &Value) -> Result<Vec<Entry>, IndexError> {
    let Value::List(items) = list else {
        return Err(IndexError::Malformed("the versions of a chart are no list".to_owned()));
    };
    let text = |map: &Map, key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let entry = |item: &Value| match item {
        Value::Map(map) => {
            let urls = match map.get("urls") {
                Some(Value::List(urls)) => {
                    urls.iter().filter_map(|url| url.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            };
            Some(Entry { version: text(map, "version"), urls, digest: text(map, "digest") })
        }
        // Helm drops entries that are null.
        _ => None,
    };
    Ok(items.iter().filter_map(entry).collect())
}

enum Slice<'a> {
    /// The key of the chart with its versions.
    Found(&'a str),
    Missing,
    /// It is not laid out as Helm does.
    Unusual,
}

/// Cuts the lines of one chart out of an index in Helm's layout: `entries:` at the margin, names two columns in.
fn slice<'a>(index: &'a str, chart: &str) -> Slice<'a> {
    let Some(from) = line_at(index, "entries:") else { return Slice::Unusual };
    let body = &index[from..];
    let mut start = None;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim_end();
        let indent = text.len() - text.trim_start().len();
        let content = text.trim_start();
        let blank = content.is_empty() || content.starts_with('#');
        if !blank && indent == 0 && at > 0 {
            break;
        }
        // Items of a list may stand in the column of their key.
        if !blank && indent == 2 && !content.starts_with("- ") && content != "-" {
            let Some(name) = content.strip_suffix(':') else { return Slice::Unusual };
            if let Some(start) = start {
                return Slice::Found(&body[start..at]);
            }
            if name.trim_matches(['"', '\'']) == chart {
                start = Some(at);
            }
        } else if !blank && indent < 2 && at > 0 {
            return Slice::Unusual;
        }
        at += line.len();
    }
    match start {
        Some(start) => Slice::Found(&body[start..at]),
        None => Slice::Missing,
    }
}

/// Returns where the line that consists of `wanted` starts.
fn line_at(text: &str, wanted: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == wanted {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn of_json(index: &str, chart: &str) -> Result<Option<Vec<Entry>>, IndexError> {
    let mut reader = serde_json::Deserializer::from_str(index);
    let found = Level { key: "entries", below: Some(chart) }.deserialize(&mut reader);
    found.map_err(|error| IndexError::Malformed(error.to_string()))
}

/// Reads one member of an object, and of that another one, and passes over the rest.
struct Level<'a> {
    key: &'a str,
    below: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Option<Vec<Entry>>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Option<Vec<Entry>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the index of a chart repository")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != self.key {
                map.next_value::<IgnoredAny>()?;
            } else if let Some(chart) = self.below {
                found = map.next_value_seed(Level { key: chart, below: None })?;
            } else {
                found = Some(map.next_value::<Vec<Option<Entry>>>()?.into_iter().flatten().collect());
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "apiVersion: v1\nentries:\n  alpine:\n  - created: \"2016\"\n    digest: aa\n    urls:\n    - charts/alpine-0.1.0.tgz\n    \
                         version: 0.1.0\n  - urls: [u2]\n    version: 0.2.0\n  - version: 0.9.0\n  \"web\":\n    - version: 1.0.0-rc.1\n      urls:\n      - w\n      \
                         description: |\n        nginx:\n        - x\n\n    - version: 1.2.3\n      urls: [w2]\n      digest: sha256:bb\ngenerated: \"2016\"\n";

    fn check(index: &str, chart: &str, wanted: &str, expected: &str) {
        let found = entries(index, chart).and_then(|entries| choose(&entries, chart, wanted));
        let told = match found {
            Ok(entry) => format!("{} {} {}", entry.version, entry.urls.join(","), entry.digest),
            Err(error) => error.to_string(),
        };
        assert_eq!(told.trim_end(), expected, "{chart} {wanted}");
    }

    #[test]
    fn one_chart_is_found_and_its_version_chosen() {
        let json = r#"{"apiVersion":"v1","entries":{"other":[{"version":"9.9.9","urls":["o"]}],"alpine":[null,{"version":"0.1.0","urls":["charts/alpine-0.1.0.tgz"],"digest":"aa","extra":{"a":[1]}},{"version":"0.2.0","urls":["u2"]}],"web":[{"version":"1.2.3","urls":["w2"],"digest":"sha256:bb"},{"version":"1.0.0-rc.1","urls":["w"]}]}}"#;
        let flow = "entries: {alpine: [{version: 0.1.0, urls: [charts/alpine-0.1.0.tgz], digest: aa}, {version: 0.2.0, urls: [u2]}], web: [{version: 1.2.3, urls: [w2], digest: \"sha256:bb\"}, {version: 1.0.0-rc.1, urls: [w]}]}\n";
        let windows = INDEX.replace('\n', "\r\n");
        for index in [INDEX, json, flow, &windows] {
            check(index, "alpine", "0.1.0", "0.1.0 charts/alpine-0.1.0.tgz aa");
            check(index, "alpine", ">=0.1", "0.2.0 u2");
            check(index, "alpine", "", "0.2.0 u2");
            check(index, "web", "^1", "1.2.3 w2 sha256:bb");
            check(index, "web", "1.0.0-rc.1", "1.0.0-rc.1 w");
            check(index, "nginx", "1", "no chart `nginx` in the index");
            check(index, "alpine", "^3", "no version of `alpine` fits ^3; the newest are 0.2.0, 0.1.0");
        }
        // A version without a place is none.
        check(INDEX, "alpine", "0.9.0", "no version of `alpine` fits 0.9.0; the newest are 0.2.0, 0.1.0");
    }

    #[test]
    fn what_is_no_index_is_told() {
        check("<html>", "a", "", "the index cannot be read: it has no `entries`");
        check(
            "{\"entries\":3}",
            "a",
            "",
            "the index cannot be read: invalid type: integer `3`, expected the index of a chart repository at line 1 column 12",
        );
        check(
            "entries:\n  a:\n  b: 3\n",
            "b",
            "",
            "the index cannot be read: the versions of a chart are no list",
        );
        check("entries: {}\n", "a", "", "no chart `a` in the index");
        check("a: [", "a", "", &format!("the index cannot be read: {}", yaml::read(b"a: [").unwrap_err()));
        check("entries:\n  a:\n  - &x {version: 1.0.0, urls: [u]}\n  b:\n  - *x\n", "b", "", "1.0.0 u");
    }
}
