//! Texts of several documents, as Helm 4 reads values files.

use thiserror::Error;

use super::{YamlError, read_map};
use crate::value::Map;

/// Why a text of several documents could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentsError {
    /// Something stands behind the dashes of a separator line.
    #[error("error reading yaml document: invalid Yaml document separator: {0}")]
    Separator(String),
    /// A document is no mapping, or no YAML.
    #[error("cannot unmarshal yaml document: {0}")]
    Document(YamlError),
}

/// Reads every document as a mapping; empty ones give an empty mapping.
///
/// A text is split at lines that start with `---`. The separator stays with the document only where nothing
/// stands before it, and line ends become LF.
///
/// Source: Helm 4 `LoadValues` over apimachinery's `YAMLReader`.
///
/// # Errors
/// The first fault from the start of the text, in Helm's words.
pub fn read_documents(text: &[u8]) -> Result<Vec<Map>, DocumentsError> {
    let mut maps = Vec::new();
    let mut document = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = String::from_utf8_lossy(rest);
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(DocumentsError::Separator(rest.to_owned()));
            }
            if !document.is_empty() {
                maps.push(read_map(&document).map_err(DocumentsError::Document)?);
                document.clear();
                continue;
            }
        }
        document.extend_from_slice(line);
        document.push(b'\n');
    }
    if !document.is_empty() {
        maps.push(read_map(&document).map_err(DocumentsError::Document)?);
    }
    Ok(maps)
}
