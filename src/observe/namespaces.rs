//! Namespaces: whether they exist, their labels and annotations, and their LimitRange and ResourceQuota.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde_json::{Value as Json, json};

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, ListOptions, Reader, Resource};
use crate::model::NAMESPACE_MANAGER;
use crate::plan::{ObservedNamespace, ObservedSpaceObject, SPACE_MARK, SpaceKind, space_object};

/// From how many namespaces on one LIST is cheaper than a GET for each.
const LIST_NAMESPACES_FROM: usize = 4;

/// A namespace to look at, with what the file asks for.
#[derive(Clone, Debug, Default)]
pub struct NamespaceMarks {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Whether other labels go.
    pub authoritative: bool,
    /// The specs of its objects, as far as the file asks for them.
    pub specs: BTreeMap<SpaceKind, Json>,
}

/// Returns which namespaces exist and what they carry. A user who may not read namespaces sees 403 for those
/// that exist and those that do not: they are taken for existing, and the server refuses later if they do not.
pub async fn namespaces(
    reader: &Reader,
    wanted: &BTreeMap<String, NamespaceMarks>,
) -> Result<Vec<ObservedNamespace>, ApiError> {
    let listed =
        if wanted.len() < LIST_NAMESPACES_FROM { None } else { list_namespaces(reader, wanted).await? };
    let look = |(name, marks): (&String, &NamespaceMarks)| {
        let known = listed.as_ref().map(|listed| listed.get(name).cloned());
        let (name, marks) = (name.clone(), marks.clone());
        async move {
            let found = match known {
                Some(found) => found,
                None => match reader.get(&Resource::namespaces(), None, &name).await {
                    Ok(found) => found,
                    Err(error) if error.is_status(403) => Some(Json::Null),
                    Err(error) => return Err(error),
                },
            };
            let object = found.as_ref().unwrap_or(&Json::Null);
            let objects = objects(reader, &name, &marks, found.is_some(), object).await?;
            Ok(ObservedNamespace {
                exists: found.is_some(),
                uid: object["metadata"]["uid"].as_str().map(str::to_owned),
                live_labels: texts(&object["metadata"]["labels"]),
                live_annotations: texts(&object["metadata"]["annotations"]),
                owned: owned(object),
                name,
                labels: marks.labels,
                annotations: marks.annotations,
                authoritative: marks.authoritative,
                objects,
            })
        }
    };
    let looks = futures::stream::iter(wanted.iter().map(look)).buffered(SIDE_BY_SIDE);
    looks.collect::<Vec<_>>().await.into_iter().collect()
}

fn texts(object: &Json) -> BTreeMap<String, String> {
    let entries = object.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The labels and annotations that an earlier run set, each as `labels/KEY` or `annotations/KEY`.
fn owned(object: &Json) -> Vec<String> {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let ours = managers
        .filter(|entry| entry["manager"] == NAMESPACE_MANAGER && entry["operation"] == "Apply")
        .map(|entry| &entry["fieldsV1"]["f:metadata"]);
    let mut owned = Vec::new();
    for fields in ours {
        for part in ["labels", "annotations"] {
            let keys = fields[format!("f:{part}")].as_object().into_iter().flatten();
            owned.extend(keys.filter_map(|(key, _)| Some(format!("{part}/{}", key.strip_prefix("f:")?))));
        }
    }
    owned
}

/// Looks at the objects that the file asks for, and at those that an earlier run left a mark of.
async fn objects(
    reader: &Reader,
    namespace: &str,
    marks: &NamespaceMarks,
    exists: bool,
    object: &Json,
) -> Result<Vec<ObservedSpaceObject>, ApiError> {
    let left = object["metadata"]["annotations"][SPACE_MARK].as_str().unwrap_or_default();
    let mut out = Vec::new();
    for kind in [SpaceKind::LimitRange, SpaceKind::ResourceQuota] {
        let spec = marks.specs.get(&kind);
        if spec.is_none() && !left.split(' ').any(|word| word == kind.name()) {
            continue;
        }
        let mut found = ObservedSpaceObject { kind, spec: spec.cloned(), live: None, answer: None };
        if exists {
            let resource = resource(kind);
            match reader.get(&resource, Some(namespace), kind.name()).await {
                Ok(live) => found.live = live,
                Err(error) => {
                    found.answer = Some(Err(format!("it cannot be read: {error}")));
                    out.push(found);
                    continue;
                }
            }
            if let Some(spec) = spec {
                let body = space_object(kind, namespace, spec, found.live.as_ref());
                let answer = match found.live {
                    Some(_) => reader.dry_run_replace(&resource, Some(namespace), kind.name(), &body).await,
                    None => {
                        let options =
                            crate::cluster::ApplyOptions { force: false, manager: NAMESPACE_MANAGER };
                        reader.dry_run_apply(&resource, Some(namespace), kind.name(), &body, options).await
                    }
                };
                found.answer =
                    Some(answer.map(|answer| answer.body["spec"].clone()).map_err(|e| e.to_string()));
            }
        }
        out.push(found);
    }
    Ok(out)
}

fn resource(kind: SpaceKind) -> Resource {
    match kind {
        SpaceKind::LimitRange => Resource::limit_ranges(),
        SpaceKind::ResourceQuota => Resource::quotas(),
    }
}

/// Returns the wanted namespaces that exist; nothing for a user who may not list them.
async fn list_namespaces(
    reader: &Reader,
    wanted: &BTreeMap<String, NamespaceMarks>,
) -> Result<Option<BTreeMap<String, Json>>, ApiError> {
    let options = ListOptions { metadata_only: true, ..ListOptions::default() };
    let listed =
        reader.list_where(&Resource::namespaces(), None, &options, |name| wanted.contains_key(name)).await;
    match listed {
        Ok(objects) => {
            let name = |object: &Json| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            Ok(Some(objects.into_iter().map(|object| (name(&object), object)).collect()))
        }
        Err(error) if error.is_status(403) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns what the file asks for as the spec of a LimitRange.
pub fn limit_range_spec(limits: &[crate::dsf::state::Limit]) -> Json {
    let items: Vec<Json> = limits
        .iter()
        .map(|limit| {
            let mut item = serde_json::Map::from_iter([("type".to_owned(), json!(limit.kind))]);
            item.extend(limit.parts.iter().map(|(part, amounts)| (part.clone(), json!(amounts))));
            Json::Object(item)
        })
        .collect();
    json!({ "limits": items })
}
