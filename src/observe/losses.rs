//! What would go with an object that is deleted, counted. What cannot be counted is an error, never nothing.

use futures::StreamExt as _;
use serde_json::Value as Json;

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, Discovery, ListOptions, Reader, Resource};
use crate::model::{GroupVersionKind, ObjectKey};
use crate::plan::{Lost, loss};

/// Returns what would go with a live object, besides what its own content tells.
///
/// # Errors
/// The reason why it cannot be counted.
pub(super) async fn of(
    reader: &Reader,
    discovery: &Discovery,
    key: &ObjectKey,
    live: &Json,
) -> Result<Vec<Lost>, String> {
    match (key.gvk.group.as_str(), key.gvk.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            custom_resources(reader, discovery, live).await
        }
        ("", "Namespace") => contents(reader, discovery, &key.name).await,
        ("apps", "StatefulSet") if loss::takes_its_claims(live) => {
            let claims = claims_of(reader, key, live).await.map_err(|error| error.to_string())?;
            Ok(claims.iter().map(lost_claim).collect())
        }
        // Operators make claims belong to the resource that they are for, and those go with it.
        _ if !key.gvk.is_built_in() && key.namespace.is_some() => {
            let claims = owned_claims(reader, key, live).await.map_err(|error| error.to_string())?;
            Ok(claims.iter().map(lost_claim).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns the claims that name the object as an owner.
async fn owned_claims(reader: &Reader, key: &ObjectKey, live: &Json) -> Result<Vec<Json>, ApiError> {
    let namespace = key.namespace.as_deref();
    let mut claims = reader.list(&Resource::claims(), namespace, &ListOptions::default()).await?;
    claims.retain(|claim| {
        let mut owners = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.any(|owner| owner["uid"] == live["metadata"]["uid"])
    });
    Ok(claims)
}

fn lost_claim(claim: &Json) -> Lost {
    let name = claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Lost::Claim { name, size: loss::size_of(claim) }
}

/// Returns the claims that a StatefulSet made, by their names or because it owns them.
pub(super) async fn claims_of(reader: &Reader, key: &ObjectKey, set: &Json) -> Result<Vec<Json>, ApiError> {
    let namespace = key.namespace.as_deref();
    let mut claims = reader.list(&Resource::claims(), namespace, &ListOptions::default()).await?;
    let uid = &set["metadata"]["uid"];
    claims.retain(|claim| {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        let mut owners = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.any(|owner| owner["uid"] == *uid)
            || loss::claim_templates(set)
                .any(|template| loss::claim_ordinal(name, template, &key.name).is_some())
    });
    Ok(claims)
}

async fn custom_resources(
    reader: &Reader,
    discovery: &Discovery,
    definition: &Json,
) -> Result<Vec<Lost>, String> {
    let spec = &definition["spec"];
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    let mut resources = served.filter_map(|version| {
        let gvk = GroupVersionKind {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            kind: text(&spec["names"]["kind"]),
        };
        discovery.resource(&gvk).ok()
    });
    let Some(resource) = resources.next() else {
        return Err("the server serves no version of its objects, so that they cannot be counted".to_owned());
    };
    let count = reader.count(resource, None).await.map_err(|error| error.to_string())?;
    let kind = format!("{}.{}", resource.gvk.kind, resource.gvk.group);
    Ok((count > 0).then_some(Lost::Objects { kind, count }).into_iter().collect())
}

/// Counts what is in a namespace, kind by kind. Events tell about others and do not count.
async fn contents(reader: &Reader, discovery: &Discovery, namespace: &str) -> Result<Vec<Lost>, String> {
    if let Some(stale) = discovery.stale().first() {
        return Err(format!("the server of {stale} does not answer"));
    }
    let kinds = discovery.listable_in_namespaces().filter(|resource| resource.gvk.kind != "Event");
    let counts = kinds.map(|resource| async move {
        let count = match reader.count(resource, Some(namespace)).await {
            Ok(count) => count,
            // The kind went since discovery, and with it its objects.
            Err(error) if error.is_status(404) => 0,
            Err(error) => return Err(error.to_string()),
        };
        Ok((count > 0).then(|| Lost::Objects { kind: resource.gvk.kind.clone(), count }))
    });
    let counts: Vec<Result<Option<Lost>, String>> =
        futures::stream::iter(counts).buffered(SIDE_BY_SIDE).collect().await;
    Ok(counts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
