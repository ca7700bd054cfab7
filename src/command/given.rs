//! The values of a release: files, inline values and the `set` family, in the order of the desired-state file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dsf::state::{SetEntry, Values};
use crate::dsf::{Reference, substituted_values};
use crate::failure;
use crate::host::{files, programs, secrets};
use crate::value::json::{self, Escape};
use crate::value::number::format_g;
use crate::value::{Map, Value};
use crate::values::{self, Sources};
use crate::yaml;

/// What values are read with.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueContext {
    /// The variables that are replaced in values files; nothing where nobody asked for it.
    pub(super) environment: Option<BTreeMap<String, String>>,
    /// Whether variables in the values of variables are replaced too.
    pub(super) recursive: bool,
    /// Every variable, for references.
    pub(super) variables: BTreeMap<String, String>,
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
        sources.files.push((path.display().to_string(), content(path, context)?));
    }
    for path in &values.secrets {
        sources.files.push((path.display().to_string(), decrypted(path)?));
    }
    let entry = |path: &str, text: &str| format!("{path}={}", text.replace('\\', "\\\\").replace(',', "\\,"));
    let entries = |sets: &[SetEntry]| {
        sets.iter()
            .map(|set| Ok(entry(&set.path, &resolved(&set.text, context)?)))
            .collect::<Result<_, String>>()
    };
    sources.set = entries(&values.set)?;
    sources.set_string = entries(&values.set_string)?;
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

/// Replaces references to secrets below a value.
fn resolve(value: &mut Value, context: &ValueContext) -> Result<(), String> {
    match value {
        Value::Str(text) => *text = resolved(text, context)?,
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

/// The secret that a text refers to, or the text itself. What was read is masked in every output from then on.
fn resolved(text: &str, context: &ValueContext) -> Result<String, String> {
    let Some(reference) = Reference::parse(text) else { return Ok(text.to_owned()) };
    let (secret, key) = match &reference {
        Reference::Variable(name) => {
            let found = context.variables.get(name).cloned();
            (found.ok_or_else(|| format!("{text}: the environment variable `{name}` is not set"))?, &None)
        }
        Reference::File(path, key) => {
            (files::read_text(path).map_err(|error| format!("{text}: {}", error_text(&error)))?, key)
        }
        Reference::Sops(path, key) => {
            let bytes = decrypted(path)?;
            (String::from_utf8(bytes).map_err(|_| format!("{text}: what it holds is no text"))?, key)
        }
    };
    let secret = match key {
        Some(key) => part(&secret, key).ok_or_else(|| format!("{text}: there is no value at this key"))?,
        None => secret.strip_suffix('\n').unwrap_or(&secret).to_owned(),
    };
    secrets::learn(&secret);
    Ok(secret)
}

/// The value at a path of a YAML or JSON text; `/` or `.` stand between the parts.
fn part(text: &str, key: &str) -> Option<String> {
    let root = yaml::read_typed(text.as_bytes()).ok()?;
    let mut at = &root;
    let divider = if key.contains('/') { '/' } else { '.' };
    for step in key.split(divider).filter(|step| !step.is_empty()) {
        at = match at {
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    match at {
        Value::Str(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Uint(number) => Some(number.to_string()),
        Value::Float(number) => Some(format_g(*number)),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Decrypts a file in memory. Every value in it is masked in every output from then on.
fn decrypted(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = programs::decrypt(path).map_err(|error| {
        let hint = match error {
            programs::SopsError::Missing => "; install it from https://getsops.io",
            _ => "",
        };
        format!("the secrets file {} cannot be decrypted: {error}{hint}", path.display())
    })?;
    if let Ok(value) = yaml::read_typed(&bytes) {
        learn_all(&value);
    }
    Ok(bytes)
}

fn learn_all(value: &Value) {
    match value {
        Value::Str(text) => secrets::learn(text),
        Value::Int(number) => secrets::learn(&number.to_string()),
        Value::Uint(number) => secrets::learn(&number.to_string()),
        Value::List(items) => items.iter().for_each(learn_all),
        Value::Map(map) => map.iter().for_each(|(_, value)| learn_all(value)),
        Value::Null | Value::Bool(_) | Value::Float(_) => {}
    }
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
