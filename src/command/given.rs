//! The values of a release: files, inline values and the `set` family, in the order of the desired-state file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dsf::state::Values;
use crate::dsf::substituted_values;
use crate::failure;
use crate::host::files;
use crate::value::json::{self, Escape};
use crate::value::{Map, Value};
use crate::values::{self, Sources};

/// What values are read with.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueContext {
    /// The variables that are replaced in values files; nothing where nobody asked for it.
    pub(super) environment: Option<BTreeMap<String, String>>,
    /// Whether variables in the values of variables are replaced too.
    pub(super) recursive: bool,
}

/// Merges the values of a release as the file orders them: files, inline, `set`, `setString`, `setFile`.
pub(super) fn user_values(values: &Values, context: &ValueContext) -> Result<Map, String> {
    let mut sources = Sources { inline: values.inline.clone(), ..Sources::default() };
    for path in &values.files {
        sources.files.push((path.display().to_string(), content(path, context)?));
    }
    let entry = |path: &str, text: &str| format!("{path}={}", text.replace('\\', "\\\\").replace(',', "\\,"));
    sources.set = values.set.iter().map(|set| entry(&set.path, &set.text)).collect();
    sources.set_string = values.set_string.iter().map(|set| entry(&set.path, &set.text)).collect();
    sources.set_file =
        values.set_file.iter().map(|set| entry(&set.path, &set.file.display().to_string())).collect();
    let mut read = |path: &str| files::read(path.as_ref()).map_err(|error| error_text(&error));
    let flags = &values.flags;
    sources.set_json.extend_from_slice(&flags.set_json);
    sources.set.extend_from_slice(&flags.set);
    sources.set_string.extend_from_slice(&flags.set_string);
    sources.set_file.extend_from_slice(&flags.set_file);
    sources.set_literal.extend_from_slice(&flags.set_literal);
    values::merge(&sources, &mut read).map_err(|error| error_text(&error))
}

fn content(path: &Path, context: &ValueContext) -> Result<Vec<u8>, String> {
    let Some(environment) = &context.environment else {
        return files::read(path).map_err(|error| error_text(&error));
    };
    let text = files::read_text(path).map_err(|error| error_text(&error))?;
    let replaced = substituted_values(&path.display().to_string(), &text, environment, context.recursive);
    // Every JSON text is YAML as well.
    let map = replaced.map_err(|problems| problems.join("; "))?;
    let text = json::to_string(&Value::Map(map), Escape::Raw).map_err(|error| error_text(&error))?;
    Ok(text.into_bytes())
}

/// Returns an error with its causes in one line.
pub(super) fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    let causes = failure::chain(&text, error.source());
    std::iter::once(text).chain(causes).collect::<Vec<_>>().join(": ")
}
