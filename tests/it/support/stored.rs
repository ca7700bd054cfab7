//! Release records as the API server holds them, taken apart without the code under test.

use std::io::Read as _;

use base64::Engine as _;
use serde_json::Value as Json;

use super::cluster::Cluster;

/// A record.
pub(crate) struct Stored {
    /// The Secret.
    pub(crate) secret: Json,
    /// The text inside it, members in the order in which they were written.
    pub(crate) text: String,
    /// The same.
    pub(crate) json: Json,
}

impl Stored {
    /// Reads the record of a revision, which must be there.
    pub(crate) fn read(cluster: &Cluster, namespace: &str, name: &str, revision: u64) -> Self {
        let object = format!("sh.helm.release.v1.{name}.v{revision}");
        let secret = cluster
            .get(namespace, "secret", &object)
            .unwrap_or_else(|| panic!("{namespace} has the record {object}"));
        let decode = |text: &[u8]| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let inner = decode(secret["data"]["release"].as_str().unwrap().as_bytes());
        let mut text = String::new();
        flate2::read::GzDecoder::new(decode(&inner).as_slice()).read_to_string(&mut text).unwrap();
        let json = serde_json::from_str(&text).unwrap();
        Self { secret, text, json }
    }

    /// Returns a label; empty if there is none.
    pub(crate) fn label(&self, key: &str) -> &str {
        self.secret["metadata"]["labels"][key].as_str().unwrap_or_default()
    }
}

/// Returns every member in which two values differ, with both values.
pub(crate) fn differences(helm: &Json, ours: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk("", helm, ours, &mut found);
    found
}

fn walk(path: &str, helm: &Json, ours: &Json, found: &mut Vec<(String, String)>) {
    match (helm, ours) {
        (Json::Object(a), Json::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => walk(&format!("{path}.{key}"), a, b, found),
                    (a, b) => found.push((format!("{path}.{key}"), format!("{a:?} {b:?}"))),
                }
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&format!("{path}[{index}]"), a, b, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push((path.to_owned(), format!("{a} {b}"))),
    }
}
