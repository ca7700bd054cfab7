//! Live objects, and what the server would make of the desired ones.
//!
//! For each kind and namespace the objects are listed once, whatever releases they belong to. What the live object
//! itself proves to be as desired is not asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use serde_json::Value as Json;

use super::settle::{self, Scalers};
use super::{SIDE_BY_SIDE, Verify, ask, losses};
use crate::cluster::{ApiError, Discovery, ListOptions, Reader, Resource};
use crate::diff::{self, Proof, Verdict};
use crate::model::{FIELD_MANAGER, GroupVersionKind, MANAGED_BY_HELM, MANAGED_BY_LABEL, ObjectKey};
use crate::plan::{Around, FieldRules, ObservedObject, Remnant, ServerAnswer, Settled};

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
    /// What the file says about fields that others own.
    pub rules: Arc<FieldRules>,
}

/// An object that could not be read, and why. A list that cannot be read is one error of many objects.
pub type Unread = (ObjectKey, Arc<ApiError>);

type Place = (GroupVersionKind, Option<String>);

/// Returns for each target what is there and what the server would make of it, in the order of the targets.
///
/// # Errors
/// A live object that cannot be read: the error names it, and nothing is known about its release.
pub async fn objects(
    reader: &Reader,
    discovery: &Discovery,
    scalers: &Scalers,
    targets: Vec<Target>,
    verify: Verify,
) -> Vec<Result<ObservedObject, Unread>> {
    let count = targets.len();
    let mut seen: Vec<(usize, Result<ObservedObject, Unread>)> = Vec::with_capacity(count);
    let mut places: BTreeMap<Place, Vec<(usize, Target)>> = BTreeMap::new();
    for (index, target) in targets.into_iter().enumerate() {
        if let Some(arrives) = target.arrives {
            let answer = ServerAnswer::Later { arrives };
            seen.push((index, Ok(unseen(target.key, target.body, answer))));
            continue;
        }
        let place = (target.key.gvk.clone(), target.key.namespace.clone());
        places.entry(place).or_default().push((index, target));
    }
    let view = View { reader, scalers, verify };
    let looks = places.into_iter().map(|(place, targets)| look_at(view, discovery, place, targets));
    let looks: Vec<_> = futures::stream::iter(looks).buffer_unordered(SIDE_BY_SIDE).collect().await;
    seen.extend(looks.into_iter().flatten());
    seen.sort_by_key(|(index, _)| *index);
    seen.into_iter().map(|(_, result)| result).collect()
}

/// What the looks at objects share.
#[derive(Clone, Copy)]
struct View<'a> {
    reader: &'a Reader,
    scalers: &'a Scalers,
    verify: Verify,
}

/// Returns an object that was not looked at.
fn unseen(key: ObjectKey, body: Json, answer: ServerAnswer) -> ObservedObject {
    ObservedObject { key, body, live: None, answer, around: Around::default(), settled: Settled::default() }
}

/// Looks at the targets of one kind and namespace.
async fn look_at(
    view: View<'_>,
    discovery: &Discovery,
    place: Place,
    targets: Vec<(usize, Target)>,
) -> Vec<(usize, Result<ObservedObject, Unread>)> {
    let resource = match discovery.resource(&place.0) {
        Ok(resource) => resource,
        Err(ApiError::UnknownKind { .. }) => {
            let unknown = targets.into_iter().map(|(index, Target { key, body, .. })| {
                let answer = ServerAnswer::Refused { verdict: Verdict::KindMissing };
                (index, Ok(unseen(key, body, answer)))
            });
            return unknown.collect();
        }
        Err(error) => return unread(targets, error),
    };
    let names = targets.iter().map(|(_, target)| target.key.name.as_str()).collect();
    let mut listed = match list(view.reader, resource, &place, &names).await {
        Ok(listed) => listed,
        Err(error) => return unread(targets, error),
    };
    let looks = targets.into_iter().map(|(index, target)| {
        let listed = match &mut listed {
            Listed::Whole(objects) => {
                objects.remove(&target.key.name).map_or(Found::NotListed, Found::Object)
            }
            Listed::Not => Found::NotAsked,
        };
        async move { (index, look(view, resource, target, listed).await) }
    });
    futures::stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await
}

fn unread(targets: Vec<(usize, Target)>, error: ApiError) -> Vec<(usize, Result<ObservedObject, Unread>)> {
    let error = Arc::new(error);
    targets.into_iter().map(|(index, target)| (index, Err((target.key, Arc::clone(&error))))).collect()
}

/// The objects of a kind and namespace.
enum Listed {
    /// Those among the wanted ones that Helm manages, by name.
    Whole(BTreeMap<String, Json>),
    /// There was no list to be had, or it was not worth it: each object is read by itself.
    Not,
}

/// What is known of one object before it is looked at.
enum Found {
    /// It is this.
    Object(Json),
    /// It is not there, or not marked as Helm's.
    NotListed,
    /// Nothing.
    NotAsked,
}

/// Lists the objects that Helm manages, if several are wanted. A user who may not list may still get.
async fn list(
    reader: &Reader,
    resource: &Resource,
    place: &Place,
    names: &BTreeSet<&str>,
) -> Result<Listed, ApiError> {
    let can = resource.verbs.is_empty() || resource.verbs.iter().any(|verb| verb == "list");
    if names.len() < LIST_FROM || !can {
        return Ok(Listed::Not);
    }
    let options =
        ListOptions { labels: format!("{MANAGED_BY_LABEL}={MANAGED_BY_HELM}"), ..ListOptions::default() };
    match reader.list_where(resource, place.1.as_deref(), &options, |name| names.contains(name)).await {
        Ok(objects) => {
            let by_name = objects.into_iter().map(|object| {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                (name, with_kind(object, &place.0))
            });
            Ok(Listed::Whole(by_name.collect()))
        }
        Err(error) if error.is_status(403) || error.is_status(405) => Ok(Listed::Not),
        Err(error) => Err(error),
    }
}

/// Items of a LIST come without their kind.
fn with_kind(mut object: Json, gvk: &GroupVersionKind) -> Json {
    object["apiVersion"] = Json::from(gvk.api_version());
    object["kind"] = Json::from(gvk.kind.as_str());
    object
}

/// Looks at one object. One that is not listed is most probably not there: the dry run itself tells, because it
/// answers 201 when it would create. Only otherwise the object, which lacks Helm's label, is read.
async fn look(
    view: View<'_>,
    resource: &Resource,
    target: Target,
    found: Found,
) -> Result<ObservedObject, Unread> {
    let View { reader, scalers, verify } = view;
    let Target { key, mut body, rules, .. } = target;
    let live = match found {
        Found::Object(object) => Some(object),
        Found::NotAsked => read(reader, resource, &key).await?,
        Found::NotListed => {
            let attempt = ask::apply(reader, resource, &key, &body).await;
            let creates = matches!(&attempt, Ok(answer) if answer.status == 201);
            let live = if creates { None } else { read(reader, resource, &key).await? };
            if live.is_none() {
                let answer = ask::interpret(reader, resource, &key, &body, None, attempt).await;
                return Ok(unseen(key, body, answer));
            }
            // What is there decides which of its fields are applied: it is asked about again.
            live
        }
    };
    let settled = settle::settle(reader, scalers, &key, &mut body, live.as_ref(), &rules).await;
    let mut settled = settled.map_err(|error| (key.clone(), Arc::new(error)))?;
    if let Some(result) = live.as_ref().filter(|_| settled.left_alone).cloned() {
        let answer = ServerAnswer::Accepted { result, warnings: Vec::new() };
        return Ok(ObservedObject { key, body, live, answer, around: Around::default(), settled });
    }
    let proof = live.as_ref().filter(|_| settled.from.is_empty()).and_then(|live| proof(&body, live, verify));
    if let Some(proof) = proof {
        let answer = ServerAnswer::Unasked { proof };
        let live = live.map(without_managers);
        return Ok(ObservedObject { key, body, live, answer, around: Around::default(), settled });
    }
    let attempt = ask::apply(reader, resource, &key, &body).await;
    let mut answer = ask::interpret(reader, resource, &key, &body, live.as_ref(), attempt).await;
    if let Some(live) = &live {
        settle::simulate(reader, resource, &key, &body, live, &mut settled, &mut answer).await;
    }
    Ok(ObservedObject { key, body, live, answer, around: Around::default(), settled })
}

fn proof(body: &Json, live: &Json, verify: Verify) -> Option<Proof> {
    match verify {
        Verify::Unproven => diff::prove_unchanged(body, live, FIELD_MANAGER).ok(),
        Verify::All => None,
    }
}

/// The owners of fields are half of an object, and of no more use once it is proven to be as desired.
fn without_managers(mut live: Json) -> Json {
    if let Some(metadata) = live["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    live
}

async fn read(reader: &Reader, resource: &Resource, key: &ObjectKey) -> Result<Option<Json>, Unread> {
    let found = reader.get(resource, key.namespace.as_deref(), &key.name).await;
    found.map_err(|error| (key.clone(), Arc::new(error)))
}

/// An object that a release had or has, and whether its manifest says that it stays.
pub type Recorded = (ObjectKey, bool);

/// Returns what is left of the objects of each release. A kind that the server no longer knows took its objects with
/// it.
///
/// # Errors
/// An object that cannot be read: whether it is there is not known.
pub async fn remnants(
    reader: &Reader,
    discovery: &Discovery,
    releases: Vec<Vec<Recorded>>,
) -> Vec<Result<Vec<Remnant>, Unread>> {
    let mut places: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
    for (key, _) in releases.iter().flatten() {
        let place = (key.gvk.clone(), key.namespace.clone());
        places.entry(place).or_default().insert(key.name.clone());
    }
    let reads = places.into_iter().map(|(place, names)| async move {
        let found = find(reader, discovery, &place, names).await;
        (place, found)
    });
    let reads = futures::stream::iter(reads).buffer_unordered(SIDE_BY_SIDE);
    let found: BTreeMap<Place, Names> = reads.collect().await;
    let release = |objects: Vec<Recorded>| {
        objects
            .into_iter()
            .map(|(key, keep_in_manifest)| {
                let place = (key.gvk.clone(), key.namespace.clone());
                match found.get(&place).and_then(|names| names.get(&key.name)) {
                    Some(Ok(live)) => {
                        Ok(Remnant { live: live.clone(), keep_in_manifest, key, lost: Ok(Vec::new()) })
                    }
                    Some(Err(error)) => Err((key, Arc::clone(error))),
                    None => Ok(Remnant { live: None, keep_in_manifest, key, lost: Ok(Vec::new()) }),
                }
            })
            .collect()
    };
    let mut remnants: Vec<Result<Vec<Remnant>, Unread>> = releases.into_iter().map(release).collect();
    for remnant in remnants.iter_mut().flatten().flatten() {
        if let Some(live) = &remnant.live {
            remnant.lost = losses::of(reader, discovery, &remnant.key, live).await;
        }
    }
    remnants
}

type Names = BTreeMap<String, Result<Option<Json>, Arc<ApiError>>>;

/// Returns the objects of these names. What is not listed is read by itself: it may only lack Helm's label.
async fn find(reader: &Reader, discovery: &Discovery, place: &Place, names: BTreeSet<String>) -> Names {
    let all = |error: ApiError| {
        let error = Arc::new(error);
        names.iter().map(|name| (name.clone(), Err(Arc::clone(&error)))).collect()
    };
    let resource = match discovery.in_any_version(&place.0) {
        Ok(resource) => resource,
        Err(ApiError::UnknownKind { .. }) => return names.into_iter().map(|name| (name, Ok(None))).collect(),
        Err(error) => return all(error),
    };
    let listed = match list(reader, resource, place, &names.iter().map(String::as_str).collect()).await {
        Ok(Listed::Whole(objects)) => objects,
        Ok(Listed::Not) => BTreeMap::new(),
        Err(error) => return all(error),
    };
    let missing: Vec<String> = names.into_iter().filter(|name| !listed.contains_key(name)).collect();
    let reads = missing.into_iter().map(|name| async move {
        let live = reader.get(resource, place.1.as_deref(), &name).await;
        (name, live.map_err(Arc::new))
    });
    let reads: Vec<_> = futures::stream::iter(reads).buffer_unordered(SIDE_BY_SIDE).collect().await;
    listed.into_iter().map(|(name, object)| (name, Ok(Some(object)))).chain(reads).collect()
}
