//! The server's answer to a dry run, and what more has to be asked to understand a refusal.

use serde_json::Value as Json;

use crate::cluster::{Answer, ApiError, ApplyOptions, Reader, Resource};
use crate::diff::{self, ServerError, Trial, Verdict};
use crate::model::{FIELD_MANAGER, ObjectKey};
use crate::plan::ServerAnswer;

/// With force, since a conflict would be reported before anything else that is wrong.
const FORCED: ApplyOptions = ApplyOptions { force: true, manager: FIELD_MANAGER };

/// Asks what applying the object would do.
pub(super) async fn apply(
    reader: &Reader,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
) -> Result<Answer, ApiError> {
    reader.dry_run_apply(resource, key.namespace.as_deref(), &key.name, body, FORCED).await
}

/// Returns what the answer means. Where a refusal cannot be told apart, the same object is tried under a fresh name,
/// and as a replacement of the live one.
pub(super) async fn interpret(
    reader: &Reader,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
    live: Option<&Json>,
    attempt: Result<Answer, ApiError>,
) -> ServerAnswer {
    let namespace = key.namespace.as_deref();
    let refusal = match attempt {
        Ok(answer) => return ServerAnswer::Accepted { result: answer.body, warnings: answer.warnings },
        Err(ApiError::Refused { refusal, .. }) => refusal,
        Err(error) => return ServerAnswer::Unknown { message: error.to_string() },
    };
    let error = ServerError::new(refusal.status, &refusal.body, &refusal.message);
    let mut trial = Trial { desired: body, live, fresh_name: None, replace: None };
    loop {
        let verdict = diff::classify(&error, &trial);
        match verdict {
            // What is not there yet cannot be in the way of itself: the object is wrong.
            Verdict::NeedsFreshName { problems } if live.is_none() => {
                return ServerAnswer::Refused { verdict: Verdict::Invalid { problems } };
            }
            Verdict::NeedsFreshName { .. } if trial.fresh_name.is_none() => {
                let (name, probe) = probe(body, live, &key.name);
                let options = ApplyOptions { force: false, ..FORCED };
                let asked = reader.dry_run_apply(resource, namespace, &name, &probe, options).await;
                trial.fresh_name = Some(if is_full(&asked) { 201 } else { status_of(asked) });
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

/// Tells whether nothing but a full quota was in the way: the server counts only what passed everything else.
fn is_full(asked: &Result<Answer, ApiError>) -> bool {
    let refusal = asked.as_ref().err().and_then(ApiError::refusal);
    refusal.is_some_and(|refusal| refusal.status == 403 && refusal.message.contains("exceeded quota: "))
}

/// Returns the status of a dry run; 0, which is none, where there was no answer.
fn status_of(asked: Result<Answer, ApiError>) -> u16 {
    match asked {
        Ok(answer) => answer.status,
        Err(error) => error.refusal().map_or(0, |refusal| refusal.status),
    }
}

/// Returns the object under a name that no object has, without what the live one occupies.
pub(super) fn probe(body: &Json, live: Option<&Json>, name: &str) -> (String, Json) {
    // 63 characters is the shortest limit that kinds put on names.
    let short: String = name.chars().take(46).collect();
    let name = format!("{}-statectl-probe", short.trim_end_matches(['-', '.']));
    let mut body = body.clone();
    body["metadata"]["name"] = Json::from(name.as_str());
    if body["kind"] == "Service" {
        let live = live.and_then(|live| live.get("spec"));
        for key in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            free(&mut body["spec"], live.filter(|spec| spec["clusterIP"] != "None"), key);
        }
        for port in body["spec"]["ports"].as_array_mut().into_iter().flatten() {
            let ports = live.and_then(|spec| spec["ports"].as_array()).into_iter().flatten();
            for taken in ports {
                free(port, Some(taken), "nodePort");
            }
        }
    }
    (name, body)
}

/// Takes a member out that the live object has with the same value.
fn free(members: &mut Json, live: Option<&Json>, key: &str) {
    if let (Some(members), Some(taken)) = (members.as_object_mut(), live.and_then(|live| live.get(key)))
        && members.get(key) == Some(taken)
    {
        members.remove(key);
    }
}
