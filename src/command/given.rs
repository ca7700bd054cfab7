//! The values of a release: files, inline values and the `set` family, in the order of the desired-state file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::remote_values::{self, RemoteValues};
use super::secrets::Secrets;
use crate::dsf::state::{SetEntry, Values};
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
    /// The values files behind addresses.
    pub(super) remote: RemoteValues,
    /// The folders that files may be in; nothing: anywhere.
    pub(super) roots: Option<Vec<PathBuf>>,
    /// Where secrets come from.
    pub(super) secrets: Arc<Secrets>,
}

/// Merges the values of a release as the file orders them: files, inline, `set`, `setString`, `setFile`.
pub(super) fn user_values(values: &Values, context: &ValueContext) -> Result<Map, String> {
    let mut inline = Value::Map(values.inline.clone());
    resolve(&mut inline, context)?;
    let mut sources = Sources::default();
    if let Value::Map(inline) = inline {
        sources.inline = inline;
    }
    for path in &values.files {
        sources.files.push((remote_values::shown(path), content(path, context)?));
    }
    for path in &values.secrets {
        sources.files.push((path.display().to_string(), context.secrets.values_of(path)?));
    }
    let entry = |path: &str, text: &str| format!("{path}={}", text.replace('\\', "\\\\").replace(',', "\\,"));
    let entries = |sets: &[SetEntry]| {
        sets.iter()
            .map(|set| Ok(entry(&set.path, &context.secrets.resolved(&set.text)?)))
            .collect::<Result<_, String>>()
    };
    sources.set = entries(&values.set)?;
    sources.set_string = entries(&values.set_string)?;
    sources.set_file =
        values.set_file.iter().map(|set| entry(&set.path, &set.file.display().to_string())).collect();
    let mut read = |path: &str| {
        if !is_inside(path.as_ref(), context.roots.as_deref()) {
            return Err(format!("`{path}` is outside the repository; `--allow-outside-paths` permits it"));
        }
        files::read(path.as_ref()).map_err(|error| error_text(&error))
    };
    let flags = &values.flags;
    sources.set_json.extend_from_slice(&flags.set_json);
    sources.set.extend_from_slice(&flags.set);
    sources.set_string.extend_from_slice(&flags.set_string);
    sources.set_file.extend_from_slice(&flags.set_file);
    sources.set_literal.extend_from_slice(&flags.set_literal);
    values::merge(&sources, &mut read).map_err(|error| error_text(&error))
}

/// Tells whether a file may be read. One that is not there is told of as such.
fn is_inside(path: &Path, roots: Option<&[PathBuf]>) -> bool {
    let (Some(roots), Some(real)) = (roots, files::real(path)) else { return true };
    roots.iter().filter_map(|root| files::real(root)).any(|root| real.starts_with(root))
}

/// Replaces references to secrets below a value.
fn resolve(value: &mut Value, context: &ValueContext) -> Result<(), String> {
    match value {
        Value::Str(text) => *text = context.secrets.resolved(text)?,
        Value::List(items) => items.iter_mut().try_for_each(|item| resolve(item, context))?,
        Value::Map(map) => {
            let mut changed = Map::new();
            for (key, value) in map.iter() {
                let mut value = value.clone();
                resolve(&mut value, context)?;
                changed.insert(key.clone(), value);
            }
            *map = changed;
        }
        _ => {}
    }
    Ok(())
}

fn content(path: &Path, context: &ValueContext) -> Result<Vec<u8>, String> {
    let bytes = match context.remote.get(path) {
        Some(remote) => remote.clone()?,
        None => files::read(path).map_err(|error| error_text(&error))?,
    };
    let Some(environment) = &context.environment else { return Ok(bytes) };
    let shown = remote_values::shown(path);
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8 text"))?;
    let replaced = substituted_values(&shown, &text, environment, context.recursive);
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
