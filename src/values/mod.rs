//! The values that a user gives: files and the `--set` family, merged in Helm's order.
//!
//! Knows no charts: coalescing with chart defaults is the business of rendering. Files are read by the caller.

mod set;

use thiserror::Error;

pub use set::{SetError, set, set_file, set_json, set_literal, set_string};

use crate::value::json::{self, Numbers};
use crate::value::{Map, Value};
use crate::yaml::{self, DocumentsError};

/// What becomes of the values that the user gave to the last revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReuseValues {
    /// They are forgotten: only what is given now counts.
    #[default]
    Reset,
    /// They stay below what is given now, and the defaults of the chart that was deployed stay in force, even if the
    /// new chart has others.
    Reuse,
    /// They stay below what is given now, over the defaults of the new chart.
    ResetThenReuse,
}

/// Everything that a user gives for the values of one release, each list in the order given.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The name and content of each values file (`-f`).
    pub files: Vec<(String, Vec<u8>)>,
    /// Values that are there already; over the files, under everything else.
    pub inline: Map,
    /// `--set-json`: `key=JSON` pairs, or a JSON object.
    pub set_json: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub set_string: Vec<String>,
    /// `--set-file`: the values are names of files.
    pub set_file: Vec<String>,
    /// `--set-literal`.
    pub set_literal: Vec<String>,
}

/// Why values could not be put together.
#[derive(Debug, Error)]
pub enum ValuesError {
    /// A values file is not what it should be.
    #[error("failed to parse {name}")]
    File {
        /// The name of the file.
        name: String,
        /// What is wrong with it.
        #[source]
        source: DocumentsError,
    },
    /// The argument of `--set-json` starts like a JSON object and is none.
    #[error("failed parsing --set-json data JSON: {argument}")]
    JsonObject {
        /// The argument.
        argument: String,
        /// What is wrong with it.
        #[source]
        source: json::JsonError,
    },
    /// The argument of `--set-json` cannot be used.
    #[error("failed parsing --set-json data {argument}")]
    Json {
        /// The argument.
        argument: String,
        /// What is wrong with it.
        #[source]
        source: SetError,
    },
    /// An argument of another flag of the family cannot be used.
    #[error("failed parsing {flag} data")]
    Set {
        /// The flag.
        flag: &'static str,
        /// What is wrong with the argument.
        #[source]
        source: SetError,
    },
}

/// Merges all sources, the lowest first: files, inline values, `--set-json`, `--set`, `--set-string`, `--set-file`,
/// `--set-literal`. The order of flags of different kinds does not matter.
///
/// `read_file` gives the content of a file that `--set-file` names.
///
/// Source: Helm `pkg/cli/values/options.go`.
///
/// # Errors
/// The first argument or file that cannot be used.
pub fn merge(
    sources: &Sources,
    read_file: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Map, ValuesError> {
    let mut base = Map::new();
    for (name, content) in &sources.files {
        let source = |source| ValuesError::File { name: name.clone(), source };
        merge_maps(&mut base, load(content).map_err(source)?);
    }
    merge_maps(&mut base, sources.inline.clone());
    for argument in &sources.set_json {
        let trimmed = argument.trim();
        if trimmed.starts_with('{') {
            let map = json::map_from_slice(trimmed.as_bytes(), Numbers::Float);
            let map = map.map_err(|source| ValuesError::JsonObject { argument: argument.clone(), source })?;
            merge_maps(&mut base, map);
        } else {
            set_json(&mut base, argument)
                .map_err(|source| ValuesError::Json { argument: argument.clone(), source })?;
        }
    }
    for argument in &sources.set {
        set(&mut base, argument).map_err(|source| ValuesError::Set { flag: "--set", source })?;
    }
    for argument in &sources.set_string {
        set_string(&mut base, argument)
            .map_err(|source| ValuesError::Set { flag: "--set-string", source })?;
    }
    for argument in &sources.set_file {
        set_file(&mut base, argument, read_file)
            .map_err(|source| ValuesError::Set { flag: "--set-file", source })?;
    }
    for argument in &sources.set_literal {
        set_literal(&mut base, argument)
            .map_err(|source| ValuesError::Set { flag: "--set-literal", source })?;
    }
    Ok(base)
}

/// Reads a values file: its documents are merged in their order (Helm 4, `LoadValues`).
///
/// # Errors
/// The first document that is no mapping.
pub fn load(text: &[u8]) -> Result<Map, DocumentsError> {
    let mut values = Map::new();
    for document in yaml::read_documents(text)? {
        merge_maps(&mut values, document);
    }
    Ok(values)
}

/// Merges `over` into `base`: mappings merge, everything else replaces, null included.
///
/// Source: Helm `pkg/chart/v2/loader`, `MergeMaps`.
pub fn merge_maps(base: &mut Map, over: Map) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Map(below)), Value::Map(value)) => merge_maps(below, value),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
