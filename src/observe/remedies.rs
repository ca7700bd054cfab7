//! What a decision about an object that the server refuses rests on: could it be created again, what would go with it,
//! what would a replacement of it look like. Only refused objects cost anything here.

use futures::StreamExt as _;
use serde_json::{Value as Json, json};

use super::ask::{self, probe};
use super::{SIDE_BY_SIDE, Unread, losses, quotas};
use crate::cluster::{ApiError, ApplyOptions, Discovery, Reader, Resource};
use crate::diff::{self, FieldPath, ServerError, Trial, Verdict};
use crate::model::{FIELD_MANAGER, ObjectKey};
use crate::plan::{
    self, Around, Fit, Growth, ObservedObject, Probe, ServerAnswer, SetClaim, definition, loss,
};

/// Fields that the server or a controller fills in once, and that no manifest has to repeat: one that drops them, or
/// leaves them empty, means the value that is there.
/// Empty text means the same, but for a class: there it asks for a volume without one.
const FILLED_ONCE: [(&str, &str, bool); 3] = [
    ("PersistentVolumeClaim", "spec.volumeName", true),
    ("PersistentVolumeClaim", "spec.storageClassName", false),
    ("PersistentVolumeClaim", "spec.volumeMode", true),
];

/// Kinds whose names are part of what they say, so that there is no other name to try.
const NAMED_BY_CONTENT: [(&str, &str); 2] =
    [("networking.k8s.io", "IPAddress"), ("apiregistration.k8s.io", "APIService")];

type Observed = Result<ObservedObject, Unread>;

/// Adds to each refused object what its remedy rests on, in the order of the objects.
pub async fn look_around(reader: &Reader, discovery: &Discovery, objects: Vec<Observed>) -> Vec<Observed> {
    let looks = objects.into_iter().map(|object| async move { Ok(look(reader, discovery, object?).await) });
    futures::stream::iter(looks).buffered(SIDE_BY_SIDE).collect().await
}

async fn look(reader: &Reader, discovery: &Discovery, object: ObservedObject) -> ObservedObject {
    if let (ServerAnswer::Accepted { result, .. }, Some(live)) = (&object.answer, &object.live)
        && definition::is_definition(&object.key)
        && !definition::narrows(live, result).is_empty()
    {
        let lost = losses::of(reader, discovery, &object.key, live).await;
        return ObservedObject { around: Around { lost, ..object.around.clone() }, ..object };
    }
    let ServerAnswer::Refused { verdict } = &object.answer else { return object };
    let (Some(live), Ok(resource)) = (object.live.clone(), discovery.resource(&object.key.gvk)) else {
        return object;
    };
    match verdict {
        Verdict::Immutable { .. } => {
            if let Some(kept) = keeping(reader, resource, &object, &live).await {
                return kept;
            }
            // What is created anew starts with all that the chart says.
            let body = object.settled.rendered.clone().unwrap_or_else(|| object.body.clone());
            let object = ObservedObject { body, ..object };
            let probe = probe_creation(reader, resource, &object, &live).await;
            let lost = losses::of(reader, discovery, &object.key, &live).await;
            let claims = set_claims(reader, &object, &live).await;
            // A claim that cannot be read could go, or fail to grow, unseen.
            let (lost, claims) = match claims {
                Ok(claims) => (lost, claims),
                Err(error) => (Err(error.to_string()), Vec::new()),
            };
            let around = Around { probe: Some(probe), lost, claims, ..object.around };
            ObservedObject { around, ..object }
        }
        Verdict::Leftover { .. } => {
            let mut whole = object.body.clone();
            whole["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            let (namespace, name) = (object.key.namespace.as_deref(), object.key.name.as_str());
            let asked = reader.dry_run_replace(resource, namespace, name, &whole).await;
            let around = Around { replaced: asked.ok().map(|answer| answer.body), ..object.around };
            ObservedObject { around, ..object }
        }
        _ => object,
    }
}

/// Returns the object with the live values of fields that its manifest leaves empty or no longer sets, if nothing else
/// is refused.
async fn keeping(
    reader: &Reader,
    resource: &Resource,
    object: &ObservedObject,
    live: &Json,
) -> Option<ObservedObject> {
    let mut body = object.body.clone();
    let owned = diff::managed_entries(live);
    let is_owned = |path: &FieldPath| {
        let ours = owned.iter().filter(|entry| entry.owner.manager == FIELD_MANAGER);
        ours.flat_map(|entry| entry.fields.leaves()).any(|leaf| leaf == *path)
    };
    let mut kept = Vec::new();
    for (kind, field, empty_means_unset) in FILLED_ONCE {
        let path = FieldPath::parse(field);
        let unset = match path.find(&body) {
            None => is_owned(&path),
            Some(value) => value.is_null() || (empty_means_unset && value == ""),
        };
        if kind == object.key.gvk.kind
            && unset
            && let Some(value) = path.find(live)
        {
            path.set(&mut body, value.clone());
            kept.push(field.to_owned());
        }
    }
    if kept.is_empty() {
        return None;
    }
    let attempt = ask::apply(reader, resource, &object.key, &body).await;
    let answer = ask::interpret(reader, resource, &object.key, &body, Some(live), attempt).await;
    let accepted = matches!(answer, ServerAnswer::Accepted { .. });
    let around = Around { kept, ..Around::default() };
    let (key, live) = (object.key.clone(), Some(live.clone()));
    let settled = object.settled.clone();
    accepted.then_some(ObservedObject { key, body, live, answer, around, settled })
}

/// Asks whether the object could be created, if it were not there.
async fn probe_creation(reader: &Reader, resource: &Resource, object: &ObservedObject, live: &Json) -> Probe {
    let gvk = &object.key.gvk;
    if NAMED_BY_CONTENT.contains(&(gvk.group.as_str(), gvk.kind.as_str())) {
        let why = format!(
            "whether another {} could be created cannot be tried: its name is what it says",
            gvk.kind
        );
        return Probe::Untold { why };
    }
    let (name, body) = match definition_probe(&object.body) {
        Some(probe) => probe,
        None => probe(&object.body, Some(live), &object.key.name),
    };
    let options = ApplyOptions { force: false, manager: FIELD_MANAGER };
    let namespace = object.key.namespace.as_deref();
    let refusal = match reader.dry_run_apply(resource, namespace, &name, &body, options).await {
        Ok(_) => return Probe::Accepted,
        Err(ApiError::Refused { refusal, .. }) => refusal,
        Err(error) => return Probe::Refused { message: error.to_string() },
    };
    let error = ServerError::new(refusal.status, &refusal.body, &refusal.message);
    let trial = Trial { desired: &body, live: None, fresh_name: Some(refusal.status), replace: None };
    match diff::classify(&error, &trial) {
        Verdict::NoDryRun { message } => Probe::Untold { why: message },
        // The old object is counted too, and makes room when it goes.
        Verdict::Quota { message } if message.contains("exceeded quota: ") => {
            let quotas = quotas::of(reader, namespace.unwrap_or_default()).await;
            match quotas.map(|quotas| plan::fits_instead(&quotas, live, &object.body)) {
                Ok(Fit::Fits) => Probe::Accepted,
                Ok(Fit::Untold { why }) => Probe::Untold { why },
                Ok(Fit::Exceeds { why }) => Probe::Refused { message: why },
                Err(_) => Probe::Refused { message },
            }
        }
        _ => Probe::Refused { message: error.summary(&gvk.kind) },
    }
}

/// Returns a definition under a fresh name: its name follows from its plural and its group.
fn definition_probe(body: &Json) -> Option<(String, Json)> {
    if body["kind"] != "CustomResourceDefinition" {
        return None;
    }
    let plural = format!("{}probe", body["spec"]["names"]["plural"].as_str()?);
    let name = format!("{plural}.{}", body["spec"]["group"].as_str()?);
    let mut body = body.clone();
    body["spec"]["names"]["plural"] = Json::from(plural);
    body["metadata"]["name"] = Json::from(name.as_str());
    Some((name, body))
}

/// Returns the claims that a StatefulSet made, and how those grow whose template asks for more.
async fn set_claims(
    reader: &Reader,
    object: &ObservedObject,
    live: &Json,
) -> Result<Vec<SetClaim>, ApiError> {
    if object.key.gvk.group != "apps" || object.key.gvk.kind != "StatefulSet" {
        return Ok(Vec::new());
    }
    let mut claims = Vec::new();
    for claim in losses::claims_of(reader, &object.key, live).await? {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let name = text(&claim["metadata"]["name"]);
        let size = text(&claim["spec"]["resources"]["requests"]["storage"]);
        let templates = object.body["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
        let wanted = templates
            .filter(|template| {
                let template = template["metadata"]["name"].as_str().unwrap_or_default();
                loss::claim_ordinal(&name, template, &object.key.name).is_some()
            })
            .find_map(|template| template.pointer("/spec/resources/requests/storage"))
            .map(|wanted| wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned));
        let more =
            |wanted: &String| diff::compare_quantities(wanted, &size) == Some(std::cmp::Ordering::Greater);
        let growth = match wanted.filter(more) {
            None => None,
            Some(to) => {
                let refused = refused_growth(reader, &claim, &name, &to).await;
                Some(Growth { to, refused })
            }
        };
        let key = ObjectKey { gvk: Resource::claims().gvk, namespace: object.key.namespace.clone(), name };
        claims.push(SetClaim { key, uid: text(&claim["metadata"]["uid"]), size, growth });
    }
    Ok(claims)
}

/// Returns why a claim would not grow; nothing if it would.
async fn refused_growth(reader: &Reader, claim: &Json, name: &str, to: &str) -> Option<String> {
    let patch = json!([{"op": "replace", "path": "/spec/resources/requests/storage", "value": to}]);
    let namespace = claim["metadata"]["namespace"].as_str();
    match reader.dry_run_json_patch(&Resource::claims(), namespace, name, &patch).await {
        Ok(_) => None,
        Err(ApiError::Refused { refusal, .. }) => {
            let error = ServerError::new(refusal.status, &refusal.body, &refusal.message);
            let trial = Trial { desired: claim, live: Some(claim), fresh_name: None, replace: None };
            Some(match diff::classify(&error, &trial) {
                Verdict::VolumeCannotGrow => {
                    "its storage class does not say `allowVolumeExpansion: true`".to_owned()
                }
                _ => error.summary("PersistentVolumeClaim"),
            })
        }
        Err(error) => Some(error.to_string()),
    }
}
