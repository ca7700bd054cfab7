//! The secrets of a run: encrypted files and references, read in memory, each once, and masked in every output from then
//! on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::given::error_text;
use crate::dsf::Reference;
use crate::dsf::state::Eyaml;
use crate::encrypted::age::Identities;
use crate::encrypted::sops::{Format, SopsError};
use crate::encrypted::{Decrypted, eyaml, sops};
use crate::host::{files, programs, secrets};
use crate::value::json::{self, Escape};
use crate::value::{Map, Value};
use crate::yaml;

/// Where `sops` looks for age keys by itself, below the folder for configuration.
const AGE_KEYS: &str = "sops/age/keys.txt";
/// Files with this ending were decrypted by somebody else, as helm-secrets leaves them.
const DECRYPTED: &str = "dec";

type Once<T> = Arc<OnceLock<Result<Arc<T>, String>>>;

/// Where secrets come from.
#[derive(Default)]
pub(super) struct Secrets {
    /// Every variable, those of `.env` and `-e` too.
    variables: BTreeMap<String, String>,
    /// How secrets files are decrypted, if not by sops.
    eyaml: Option<Eyaml>,
    /// Whether programs may run that references name.
    pub(super) allow_exec: bool,
    identities: OnceLock<Result<Identities, String>>,
    opened: Mutex<BTreeMap<PathBuf, Once<Decrypted>>>,
    /// What references lead to that had to be asked for.
    asked: BTreeMap<Reference, Result<String, String>>,
}

impl std::fmt::Debug for Secrets {
    /// Leaves everything out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    pub(super) fn new(variables: BTreeMap<String, String>, eyaml: Option<Eyaml>, allow_exec: bool) -> Self {
        Self { variables, eyaml, allow_exec, ..Self::default() }
    }

    /// Returns every variable of the run, those of `.env` and `-e` too.
    pub(super) fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// Returns the same with what was asked for.
    pub(super) fn with(&self, asked: BTreeMap<Reference, Result<String, String>>) -> Self {
        Self {
            variables: self.variables.clone(),
            eyaml: self.eyaml.clone(),
            allow_exec: self.allow_exec,
            identities: self.identities.clone(),
            opened: Mutex::new(self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            asked,
        }
    }

    /// Returns the secret that a text refers to, or the text itself.
    pub(super) fn resolved(&self, text: &str) -> Result<String, String> {
        let Some(reference) = Reference::parse(text) else { return Ok(text.to_owned()) };
        let secret = self.followed(&reference).map_err(|why| format!("{text}: {why}"))?;
        secrets::learn(&secret);
        Ok(secret)
    }

    fn followed(&self, reference: &Reference) -> Result<String, String> {
        match reference {
            Reference::Variable(name) => {
                let found = self.variables.get(name).cloned();
                found.ok_or_else(|| format!("the environment variable `{name}` is not set"))
            }
            Reference::File(path, key) => {
                let text = files::read_text(path).map_err(|error| error_text(&error))?;
                wanted(&text, key.as_deref())
            }
            Reference::Sops(path, key) => {
                let file = self.of_sops(path).map_err(|why| format!("it cannot be decrypted: {why}"))?;
                match key {
                    Some(key) => part(&file.value, key).ok_or_else(no_value),
                    None => {
                        let text = String::from_utf8(file.text.clone());
                        let text = text.map_err(|_| "what it holds is no text".to_owned())?;
                        wanted(&text, None)
                    }
                }
            }
            Reference::Vault(_) | Reference::Object(..) | Reference::Command(..) => {
                let asked = self.asked.get(reference).cloned();
                asked.unwrap_or_else(|| Err("it cannot be asked for here".to_owned()))
            }
        }
    }

    /// Returns the values in an encrypted values file.
    pub(super) fn values_of(&self, path: &Path) -> Result<Vec<u8>, String> {
        let failed = |why: String| format!("the secrets file {} cannot be decrypted: {why}", path.display());
        let as_json = |value: &Value| {
            // Every JSON text is YAML as well.
            json::to_string(value, Escape::Raw).map(String::into_bytes).map_err(|error| error_text(&error))
        };
        if path.extension().is_some_and(|ending| ending == DECRYPTED) {
            let bytes = files::read(path).map_err(|error| error_text(&error))?;
            if let Ok(value) = yaml::read_typed(&bytes) {
                learn_all(&value);
            }
            return Ok(bytes);
        }
        if let Some(settings) = &self.eyaml {
            let file = self.once(path, || of_eyaml(path, settings)).map_err(failed)?;
            return as_json(&file.value);
        }
        let file = self.of_sops(path).map_err(failed)?;
        match Format::of(path) {
            // What is in it is YAML as well, or Helm could not use it.
            Format::Binary => Ok(file.text.clone()),
            _ => as_json(&file.value),
        }
    }

    fn of_sops(&self, path: &Path) -> Result<Arc<Decrypted>, String> {
        self.once(path, || self.open(path))
    }

    /// Decrypts a file that was not decrypted yet, and learns what was secret in it.
    fn once(
        &self,
        path: &Path,
        open: impl FnOnce() -> Result<Decrypted, String>,
    ) -> Result<Arc<Decrypted>, String> {
        let cell = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(opened.entry(path.to_owned()).or_default())
        };
        let file = cell.get_or_init(|| {
            let file = open()?;
            file.secrets.iter().for_each(|secret| secrets::learn(secret));
            Ok(Arc::new(file))
        });
        file.clone()
    }

    /// Decrypts a file of sops: with age keys here, with any others by the program.
    fn open(&self, path: &Path) -> Result<Decrypted, String> {
        let bytes = files::read(path).map_err(|error| error_text(&error))?;
        let format = Format::of(path);
        let (why, keys, age_alone) = match sops::parse(format, &bytes) {
            Ok(sealed) => {
                let keys = sealed.keys();
                let age_alone = keys.iter().all(|key| key.starts_with("age "));
                let opened = if sealed.has_age() {
                    let identities = self.identities()?;
                    sealed.open(&identities.known)
                } else {
                    Err(SopsError::Unsupported("needs keys of other kinds than age"))
                };
                match opened {
                    Ok(file) => return Ok(file),
                    Err(why) => (why, keys, age_alone),
                }
            }
            Err(why @ SopsError::NotSops) => return Err(why.to_string()),
            Err(why) => (why, Vec::new(), false),
        };
        // It makes sure itself that nothing was changed.
        match programs::decrypt(path) {
            Ok(bytes) => Ok(of_program(format, bytes)),
            Err(programs::ProgramError::Missing(_)) => {
                let mut said = vec![why.to_string()];
                if !keys.is_empty() {
                    said.push(format!("it is encrypted to {}", keys.join(", ")));
                }
                if why == SopsError::NoKey {
                    said.push(format!("keys are looked for in {}", self.key_places().join(", ")));
                    said.extend(self.other_identities());
                }
                if !(age_alone && matches!(why, SopsError::NoKey | SopsError::Changed(_))) {
                    let install = "the program `sops` is not on PATH: install it from https://getsops.io";
                    said.push(install.to_owned());
                }
                Err(said.join("; "))
            }
            Err(error) => Err(format!("{why}; {error}")),
        }
    }

    /// The places where age keys may be: variables, then a file.
    fn key_places(&self) -> Vec<String> {
        let file = self.default_keys().map(|path| path.display().to_string());
        ["SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE"].map(str::to_owned).into_iter().chain(file).collect()
    }

    fn default_keys(&self) -> Option<PathBuf> {
        let folder =
            |name: &str| self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let configuration = folder("XDG_CONFIG_HOME").or_else(|| {
            let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
            Some(folder("HOME")?.join(below))
        });
        Some(configuration?.join(AGE_KEYS))
    }

    fn identities(&self) -> Result<&Identities, String> {
        self.identities.get_or_init(|| self.read_identities()).as_ref().map_err(Clone::clone)
    }

    fn read_identities(&self) -> Result<Identities, String> {
        let mut all = Identities::default();
        let mut add = |place: &str, text: &str| {
            let found = Identities::parse(text).map_err(|why| format!("the age keys of {place}: {why}"))?;
            all.known.extend(found.known);
            all.others.extend(found.others);
            text.lines().filter(|line| !line.starts_with('#')).for_each(secrets::learn);
            Ok::<_, String>(())
        };
        if let Some(text) = self.variables.get("SOPS_AGE_KEY") {
            add("SOPS_AGE_KEY", text)?;
        }
        let named = self.variables.get("SOPS_AGE_KEY_FILE").filter(|path| !path.is_empty());
        let default = self.default_keys().filter(|path| files::kind(path) == files::PathKind::File);
        for path in named.map(PathBuf::from).into_iter().chain(default) {
            let text = files::read_text(&path);
            let text = text.map_err(|error| format!("the age keys: {}", error_text(&error)))?;
            add(&path.display().to_string(), &text)?;
        }
        Ok(all)
    }

    /// Names the keys that only the program can use.
    fn other_identities(&self) -> Option<String> {
        let all = self.identities().ok().filter(|all| !all.others.is_empty())?;
        let kinds: BTreeSet<&str> = all.others.iter().map(String::as_str).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        Some(format!("what was found there needs the program `sops`: {}", kinds.join(", ")))
    }
}

/// Reads what the program decrypted. It does not tell what of it was encrypted, so all of it counts as secret.
fn of_program(format: Format, bytes: Vec<u8>) -> Decrypted {
    let mut secrets = Vec::new();
    let value = match format {
        Format::Variables | Format::Ini => {
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let entry = |(name, value): (&str, &str)| {
                (name.trim().to_owned(), Value::Str(value.trim().replace("\\n", "\n")))
            };
            Value::Map(lines.map(entry).collect::<Map>())
        }
        _ => yaml::read_typed(&bytes).unwrap_or_default(),
    };
    leaves(&value, &mut |text| secrets.push(text));
    if format == Format::Binary {
        secrets.extend(String::from_utf8(bytes.clone()));
    }
    Decrypted { value, text: bytes, secrets }
}

fn of_eyaml(path: &Path, settings: &Eyaml) -> Result<Decrypted, String> {
    let bytes = files::read(path).map_err(|error| error_text(&error))?;
    let failed = |why: String| format!("the private key of eyaml, {}: {why}", settings.private_key.display());
    let pem = files::read(&settings.private_key).map_err(|error| failed(error.reason()))?;
    let key = eyaml::PrivateKey::parse(&pem).map_err(|error| failed(error.to_string()))?;
    eyaml::decrypt(&bytes, &key).map_err(|error| error.to_string())
}

/// The text of a file, or the value at a key in it.
pub(super) fn wanted(text: &str, key: Option<&str>) -> Result<String, String> {
    match key {
        Some(key) => {
            let value = yaml::read_typed(text.as_bytes()).map_err(|error| error.to_string())?;
            part(&value, key).ok_or_else(no_value)
        }
        None => Ok(text.strip_suffix('\n').unwrap_or(text).to_owned()),
    }
}

fn no_value() -> String {
    "there is no value at this key".to_owned()
}

/// The value at a path; `/` or `.` stand between the parts.
fn part(root: &Value, key: &str) -> Option<String> {
    let mut at = root;
    let divider = if key.contains('/') { '/' } else { '.' };
    for step in key.split(divider).filter(|step| !step.is_empty()) {
        at = match at {
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    at.scalar_text()
}

/// Everything without parts below a value, but for truth values, which say nothing.
fn leaves(value: &Value, take: &mut impl FnMut(String)) {
    match value {
        Value::List(items) => items.iter().for_each(|item| leaves(item, take)),
        Value::Map(map) => map.iter().for_each(|(_, value)| leaves(value, take)),
        Value::Null | Value::Bool(_) => {}
        other => other.scalar_text().into_iter().for_each(take),
    }
}

fn learn_all(value: &Value) {
    leaves(value, &mut |text| secrets::learn(&text));
}

/// Learns the values that the last revision had where there are secrets now: what a secret was before is shown beside
/// what it is.
pub(super) fn learn_former(config: &Map, former: &Map) {
    for (key, value) in config {
        if let Some(before) = former.get(key) {
            former_value(value, before);
        }
    }
}

fn former_value(value: &Value, before: &Value) {
    match (value, before) {
        (Value::Map(now), Value::Map(then)) => learn_former(now, then),
        (Value::List(now), Value::List(then)) => {
            now.iter().zip(then).for_each(|(now, then)| former_value(now, then));
        }
        (now, then) => {
            let known = now.scalar_text().is_some_and(|text| secrets::redact(&text) != text);
            if known {
                learn_all(then);
            }
        }
    }
}
