//! Live objects, and the server's answers to dry runs.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde_json::Value as Json;

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, ApplyOptions, Discovery, ListOptions, Reader, Resource};
use crate::diff::{self, ServerError, Trial, Verdict};
use crate::model::{FIELD_MANAGER, GroupVersionKind, MANAGED_BY_HELM, MANAGED_BY_LABEL, ObjectKey};
use crate::plan::{ObservedObject, Remnant, ServerAnswer};

/// From how many objects of a kind and namespace on one LIST is cheaper than a GET for each.
const LIST_FROM: usize = 2;

/// A desired object to be looked at.
#[derive(Clone, Debug)]
pub struct Target {
    /// The object.
    pub key: ObjectKey,
    /// What would be applied.
    pub body: Json,
    /// What arrives in this run and has to be there first; nothing if the server can be asked now.
    pub arrives: Option<String>,
}

type Place = (GroupVersionKind, Option<String>);

/// Returns for each target what is there and what the server would make of it, in the order of the targets.
///
/// # Errors
/// A live object that cannot be read: the error names it, and nothing is known about the release.
pub async fn objects(
    reader: &Reader,
    discovery: &Discovery,
    targets: Vec<Target>,
) -> Vec<Result<ObservedObject, (ObjectKey, ApiError)>> {
    let listed = list_shared(reader, discovery, &targets).await;
    let looks = targets.into_iter().map(|target| look(reader, discovery, &listed, target));
    futures::stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await
}

/// Lists the objects that Helm manages, for each kind and namespace with several targets. A list that fails is
/// left out: each of its objects is then read by itself, and tells its own error.
async fn list_shared(
    reader: &Reader,
    discovery: &Discovery,
    targets: &[Target],
) -> BTreeMap<Place, BTreeMap<String, Json>> {
    let mut places: BTreeMap<Place, usize> = BTreeMap::new();
    for target in targets.iter().filter(|target| target.arrives.is_none()) {
        *places.entry((target.key.gvk.clone(), target.key.namespace.clone())).or_default() += 1;
    }
    let wanted = places.into_iter().filter(|(_, count)| *count >= LIST_FROM);
    let lists = wanted.filter_map(|(place, _)| {
        let resource = discovery.resource(&place.0).ok()?;
        Some(async move {
            let options = ListOptions {
                labels: format!("{MANAGED_BY_LABEL}={MANAGED_BY_HELM}"),
                ..ListOptions::default()
            };
            let listed = reader.list(resource, place.1.as_deref(), &options).await.ok()?;
            let by_name = listed.into_iter().map(|object| {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                (name, with_kind(object, &place.0))
            });
            Some((place.clone(), by_name.collect()))
        })
    });
    let lists = futures::stream::iter(lists).buffer_unordered(SIDE_BY_SIDE);
    lists.filter_map(std::future::ready).collect().await
}

/// Items of a LIST come without their kind.
fn with_kind(mut object: Json, gvk: &GroupVersionKind) -> Json {
    object["apiVersion"] = Json::from(gvk.api_version());
    object["kind"] = Json::from(gvk.kind.as_str());
    object
}

async fn look(
    reader: &Reader,
    discovery: &Discovery,
    listed: &BTreeMap<Place, BTreeMap<String, Json>>,
    target: Target,
) -> Result<ObservedObject, (ObjectKey, ApiError)> {
    let Target { key, body, arrives } = target;
    if let Some(arrives) = arrives {
        return Ok(ObservedObject { key, body, live: None, answer: ServerAnswer::Later { arrives } });
    }
    let resource = match discovery.resource(&key.gvk) {
        Ok(resource) => resource,
        Err(error @ ApiError::UnknownKind { .. }) => {
            let verdict = Verdict::Other { message: error.to_string() };
            let answer = ServerAnswer::Refused { verdict };
            return Ok(ObservedObject { key, body, live: None, answer });
        }
        Err(error) => return Err((key, error)),
    };
    let place = (key.gvk.clone(), key.namespace.clone());
    let known = listed.get(&place).and_then(|objects| objects.get(&key.name)).cloned();
    let live = match known {
        Some(object) => Some(object),
        None => match reader.get(resource, key.namespace.as_deref(), &key.name).await {
            Ok(found) => found,
            Err(error) => return Err((key, error)),
        },
    };
    let answer = ask(reader, resource, &key, &body, live.as_ref()).await;
    Ok(ObservedObject { key, body, live, answer })
}

/// Asks with force, since a conflict would be reported before anything else that is wrong. Where the refusal
/// cannot be told apart, the same object is tried under a fresh name, and as a replacement of the live one.
async fn ask(
    reader: &Reader,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
    live: Option<&Json>,
) -> ServerAnswer {
    let namespace = key.namespace.as_deref();
    let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
    let refusal = match reader.dry_run_apply(resource, namespace, &key.name, body, options).await {
        Ok(answer) => return ServerAnswer::Accepted { result: answer.body, warnings: answer.warnings },
        Err(ApiError::Refused { refusal, .. }) => refusal,
        Err(error) => return ServerAnswer::Unknown { message: error.to_string() },
    };
    let error = ServerError::new(refusal.status, &refusal.body, &refusal.message);
    let mut trial = Trial { desired: body, live, fresh_name: None, replace: None };
    loop {
        let verdict = diff::classify(&error, &trial);
        match verdict {
            Verdict::NeedsFreshName { .. } if trial.fresh_name.is_none() => {
                let (name, probe) = probe(body, &key.name);
                let options = ApplyOptions { force: false, ..options };
                let asked = reader.dry_run_apply(resource, namespace, &name, &probe, options).await;
                trial.fresh_name = Some(status_of(asked));
            }
            Verdict::NeedsReplace { .. } if trial.replace.is_none() => {
                let mut whole = body.clone();
                if let Some(live) = live {
                    whole["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                }
                let asked = reader.dry_run_replace(resource, namespace, &key.name, &whole).await;
                trial.replace = Some(status_of(asked));
            }
            verdict => return ServerAnswer::Refused { verdict },
        }
    }
}

/// Returns the status of a dry run; 0, which is none, where there was no answer.
fn status_of(asked: Result<crate::cluster::Answer, ApiError>) -> u16 {
    match asked {
        Ok(answer) => answer.status,
        Err(error) => error.refusal().map_or(0, |refusal| refusal.status),
    }
}

/// Returns the object under a name that no object has.
fn probe(body: &Json, name: &str) -> (String, Json) {
    // 63 characters is the shortest limit that kinds put on names.
    let short: String = name.chars().take(46).collect();
    let name = format!("{}-statectl-probe", short.trim_end_matches(['-', '.']));
    let mut body = body.clone();
    body["metadata"]["name"] = Json::from(name.as_str());
    (name, body)
}

/// Returns what is left of objects that a release had or has. A kind that the server no longer knows took its
/// objects with it.
///
/// # Errors
/// An object that cannot be read: whether it is there is not known.
pub async fn remnants(
    reader: &Reader,
    discovery: &Discovery,
    objects: Vec<(ObjectKey, bool)>,
) -> Result<Vec<Remnant>, (ObjectKey, ApiError)> {
    let looks = objects.into_iter().map(|(key, keep_in_manifest)| async move {
        let live = match discovery.resource(&key.gvk) {
            Ok(resource) => reader.get(resource, key.namespace.as_deref(), &key.name).await,
            Err(ApiError::UnknownKind { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        match live {
            Ok(live) => Ok(Remnant { key, live, keep_in_manifest }),
            Err(error) => Err((key, error)),
        }
    });
    let looks: Vec<_> = futures::stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await;
    looks.into_iter().collect()
}
