//! References to secrets that somebody has to be asked for: a vault, the cluster, a program. Each is asked for once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;

use super::cluster::Cluster;
use super::given::{ValueContext, error_text};
use super::secrets;
use crate::dsf::state::{Release, Repository};
use crate::dsf::{ObjectValue, Reference, VaultValue};
use crate::fetch::vault::{self, Vault};
use crate::host::{files, programs, secrets as known};
use crate::model::GroupVersionKind;
use crate::value::Value;

/// Questions that are open side by side.
const SIDE_BY_SIDE: usize = 8;

type Asked = BTreeMap<Reference, Result<String, String>>;
/// A secret of a vault: its path, version and namespace.
type VaultPlace = (String, Option<u64>, Option<String>);

/// Returns the context with every secret that the releases refer to.
pub(super) async fn gathered<'r>(
    context: &Arc<ValueContext>,
    environment: &BTreeMap<String, String>,
    cluster: Option<&Cluster>,
    releases: impl Iterator<Item = &'r Release>,
) -> Arc<ValueContext> {
    let wanted = references(releases);
    let asked = ask(wanted, environment, cluster, context.secrets.allow_exec).await;
    if asked.is_empty() {
        return Arc::clone(context);
    }
    let secrets = Arc::new(context.secrets.with(asked));
    Arc::new(ValueContext { secrets, ..ValueContext::clone(context) })
}

fn references<'r>(releases: impl Iterator<Item = &'r Release>) -> BTreeSet<Reference> {
    let mut wanted = BTreeSet::new();
    for release in releases {
        let values = &release.values;
        values.inline.values().for_each(|value| collect(value, &mut wanted));
        let sets = values.set.iter().chain(&values.set_string);
        wanted.extend(sets.filter_map(|set| Reference::parse(&set.text)));
    }
    wanted
}

/// Returns the objects of the cluster that the values of releases refer to: resource, namespace and name.
pub(super) fn objects<'r>(
    releases: impl Iterator<Item = &'r Release>,
) -> BTreeSet<(&'static str, String, String)> {
    let object = |reference: Reference| match reference {
        Reference::Object(ObjectValue { secret, namespace, name, .. }, _) => {
            Some((if secret { "secrets" } else { "configmaps" }, namespace, name))
        }
        _ => None,
    };
    references(releases).into_iter().filter_map(object).collect()
}

/// Returns the secrets with those that repositories refer to.
pub(super) async fn of_repositories(
    secrets: &secrets::Secrets,
    environment: &BTreeMap<String, String>,
    cluster: Option<&Cluster>,
    repositories: impl Iterator<Item = &Repository>,
) -> secrets::Secrets {
    let texts = repositories.flat_map(|known| known.username_from.iter().chain(&known.password_from));
    let wanted = texts.filter_map(|text| Reference::parse(text)).collect();
    secrets.with(ask(wanted, environment, cluster, secrets.allow_exec).await)
}

fn collect(value: &Value, wanted: &mut BTreeSet<Reference>) {
    match value {
        Value::Str(text) => wanted.extend(Reference::parse(text)),
        Value::List(items) => items.iter().for_each(|item| collect(item, wanted)),
        Value::Map(map) => map.values().for_each(|value| collect(value, wanted)),
        _ => {}
    }
}

async fn ask(
    wanted: BTreeSet<Reference>,
    environment: &BTreeMap<String, String>,
    cluster: Option<&Cluster>,
    allow_exec: bool,
) -> Asked {
    let (mut vaults, mut objects, mut commands) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for reference in wanted {
        match &reference {
            Reference::Vault(VaultValue { path, version, namespace, .. }) => {
                let place: VaultPlace = (path.clone(), *version, namespace.clone());
                vaults.entry(place).or_insert_with(Vec::new).push(reference);
            }
            Reference::Object(ObjectValue { secret, namespace, name, .. }, _) => {
                let place = (*secret, namespace.clone(), name.clone());
                objects.entry(place).or_insert_with(Vec::new).push(reference);
            }
            Reference::Command(words, _) => {
                commands.entry(words.clone()).or_insert_with(Vec::new).push(reference);
            }
            Reference::Variable(_) | Reference::File(..) | Reference::Sops(..) => {}
        }
    }
    let mut asked = Asked::new();
    if !vaults.is_empty() {
        asked.extend(from_vault(vaults, environment).await);
    }
    let objects = objects.into_iter().map(|((secret, namespace, name), references)| async move {
        let data = object_data(cluster, secret, &namespace, &name).await;
        references.into_iter().map(move |reference| {
            let value = data.clone().and_then(|data| of_object(&data, &reference));
            (reference, value)
        })
    });
    let objects: Vec<_> = futures::stream::iter(objects).buffer_unordered(SIDE_BY_SIDE).collect().await;
    asked.extend(objects.into_iter().flatten());
    let commands = commands.into_iter().map(|(words, references)| async move {
        // Verbs that only look take files that ask for what they may not do.
        let text = if allow_exec {
            let ran = tokio::task::spawn_blocking(move || output_of(&words)).await;
            ran.unwrap_or_else(|error| Err(error.to_string()))
        } else {
            Err("it runs a program, and only `--allow-exec` permits that".to_owned())
        };
        references.into_iter().map(move |reference| {
            let key = match &reference {
                Reference::Command(_, key) => key.as_deref(),
                _ => None,
            };
            let value = text.clone().and_then(|text| secrets::wanted(&text, key));
            (reference, value)
        })
    });
    let commands: Vec<_> = futures::stream::iter(commands).buffer_unordered(SIDE_BY_SIDE).collect().await;
    asked.extend(commands.into_iter().flatten());
    asked
}

fn output_of(words: &[String]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or_else(|| "it names no program".to_owned())?;
    let bytes = programs::run(program, arguments).map_err(|error| error_text(&error))?;
    String::from_utf8(bytes).map_err(|_| "what it writes is no text".to_owned())
}

async fn from_vault(
    wanted: BTreeMap<VaultPlace, Vec<Reference>>,
    environment: &BTreeMap<String, String>,
) -> Asked {
    let vault = match client(environment) {
        Ok(vault) => vault,
        Err(why) => {
            return wanted.into_values().flatten().map(|reference| (reference, Err(why.clone()))).collect();
        }
    };
    let vault = &vault;
    let answers = wanted.into_iter().map(|((path, version, namespace), references)| async move {
        let secret = vault.secret(&path, version, namespace.as_deref()).await;
        let secret = secret.map_err(|error| error_text(&error));
        references.into_iter().map(move |reference| {
            let value = secret.clone().and_then(|secret| of_vault(&secret, &reference));
            (reference, value)
        })
    });
    let answers: Vec<_> = futures::stream::iter(answers).buffer_unordered(SIDE_BY_SIDE).collect().await;
    answers.into_iter().flatten().collect()
}

/// Makes a client of the vault that the environment names: that of the process alone, as a `.env` file may be somebody
/// else's, and would say who gets the token.
fn client(environment: &BTreeMap<String, String>) -> Result<Vault, String> {
    let named = vault::files(environment);
    let read = |path: &Path| files::read(path).map_err(|error| error_text(&error));
    let token = named.token.filter(|path| files::kind(path) == files::PathKind::File);
    let token = token.map(|path| files::read_text(&path).map_err(|error| error_text(&error))).transpose()?;
    let authorities = named.authorities.map(|path| read(&path)).transpose()?;
    let identity = named.identity.map(|(certificate, key)| {
        let mut pem = read(&certificate)?;
        pem.push(b'\n');
        pem.extend(read(&key)?);
        Ok::<_, String>(pem)
    });
    let vault = Vault::new(environment, token, authorities, identity.transpose()?);
    let vault = vault.map_err(|error| error_text(&error))?;
    known::learn(vault.token());
    Ok(vault)
}

fn of_vault(secret: &serde_json::Value, reference: &Reference) -> Result<String, String> {
    let Reference::Vault(wanted) = reference else { return Err("it is in no vault".to_owned()) };
    match secret.get(&wanted.key) {
        Some(serde_json::Value::String(text)) => Ok(text.clone()),
        Some(serde_json::Value::Null) | None => Err(format!("the secret has no key `{}`", wanted.key)),
        Some(other) => Ok(other.to_string()),
    }
}

/// Returns the data of a Secret or ConfigMap, as bytes.
async fn object_data(
    cluster: Option<&Cluster>,
    secret: bool,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let kind = if secret { "Secret" } else { "ConfigMap" };
    let cluster = cluster.ok_or("no cluster is asked here")?;
    let gvk = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: kind.to_owned() };
    let resource = cluster.discovery.resource(&gvk).map_err(|error| error_text(&error))?;
    let found = cluster.reader.get(resource, Some(namespace), name).await;
    let found = found.map_err(|error| error_text(&error))?;
    let found = found.ok_or_else(|| format!("there is no {kind} {namespace}/{name}"))?;
    let mut data = BTreeMap::new();
    for (field, encoded) in [("data", secret), ("binaryData", true)] {
        for (key, value) in found[field].as_object().into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let bytes = if encoded { STANDARD.decode(text).ok() } else { Some(text.as_bytes().to_vec()) };
            data.extend(bytes.map(|bytes| (key.clone(), bytes)));
        }
    }
    Ok(data)
}

fn of_object(data: &BTreeMap<String, Vec<u8>>, reference: &Reference) -> Result<String, String> {
    let Reference::Object(wanted, key) = reference else { return Err("it is in no object".to_owned()) };
    let bytes = data.get(&wanted.key).ok_or_else(|| format!("it has no key `{}`", wanted.key))?;
    let text = String::from_utf8(bytes.clone()).map_err(|_| "its value is no text".to_owned())?;
    match key {
        Some(key) => secrets::wanted(&text, Some(key)),
        None => Ok(text),
    }
}
