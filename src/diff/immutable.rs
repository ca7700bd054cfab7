//! What a refused dry run means: a field that cannot change, a mistake, a policy, a conflict, or nothing yet.
//!
//! The server does not say which of its complaints are about the change and which about the object, so known
//! texts are matched and everything else is decided by two more dry runs: the same object under a fresh name,
//! and a replacement of the live one. The order of the tests, and the texts, were found on 509 changes of 54
//! kinds against Kubernetes 1.36; a wrong "immutable" would recommend destroying something for a typing error.

use serde_json::Value as Json;

use super::compare::{self, changes};
use super::managed;
use super::path::FieldPath;
use super::refusal::{Cause, Problem, ServerError};
use crate::model::FIELD_MANAGER;

/// What a refusal means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// These fields cannot change in place.
    Immutable {
        /// The fields, as far as they can be told.
        fields: Vec<String>,
    },
    /// Some fields cannot change, and there are mistakes besides: those first.
    Mixed {
        /// The fields that cannot change.
        fields: Vec<String>,
        /// The mistakes.
        problems: Vec<Problem>,
    },
    /// The object itself is wrong; it could not be created either.
    Invalid {
        /// The mistakes.
        problems: Vec<Problem>,
    },
    /// Fields that nobody sends any more are in the way. They must be removed; replacing the object is not
    /// called for.
    Leftover {
        /// The fields.
        fields: Vec<String>,
    },
    /// Cannot be told yet: dry-run the creation of the same object under a fresh name, and ask again.
    NeedsFreshName {
        /// What the server says.
        problems: Vec<Problem>,
    },
    /// Cannot be told yet: dry-run a PUT of the same object over the live one, and ask again.
    NeedsReplace {
        /// What the server says.
        problems: Vec<Problem>,
    },
    /// Cannot be told: the dry run under a fresh name failed for another reason.
    Unclear {
        /// What the server says.
        problems: Vec<Problem>,
    },
    /// A webhook, an admission policy or pod security says no. Never a reason to replace anything.
    Denied {
        /// The policy's words.
        message: String,
    },
    /// Others own fields with other values.
    Conflict {
        /// One for each field and owner.
        problems: Vec<Problem>,
    },
    /// The object was changed or replaced since it was read.
    Stale,
    /// A quota or a limit range.
    Quota {
        /// The server's words.
        message: String,
    },
    /// The storage class of this claim does not allow growth.
    VolumeCannotGrow,
    /// The user lacks a right.
    Forbidden {
        /// The server's words.
        message: String,
    },
    /// The manifest does not fit the schema: unknown field, wrong type, doubled list key.
    TypedMerge {
        /// The server's words.
        message: String,
    },
    /// An admission webhook could not be asked. Worth a retry.
    WebhookUnavailable {
        /// The server's words.
        message: String,
    },
    /// A webhook that does not support dry runs hides the answer.
    NoDryRun {
        /// The server's words.
        message: String,
    },
    /// The namespace does not exist yet.
    NamespaceMissing,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// The server does not know the kind.
    KindMissing,
    /// The request makes no sense to the server.
    BadRequest {
        /// The server's words.
        message: String,
    },
    /// The object is larger than the server takes.
    TooLarge {
        /// The server's words.
        message: String,
    },
    /// The server, or a part of it, is overloaded or away. Worth a retry.
    Unavailable {
        /// The server's words.
        message: String,
    },
    /// Anything else.
    Other {
        /// The server's words.
        message: String,
    },
}

/// What is known around a refused dry run.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The object that was sent.
    pub desired: &'a Json,
    /// The live object.
    pub live: Option<&'a Json>,
    /// The status of a dry run of the same object under a fresh name.
    pub fresh_name: Option<u16>,
    /// The status of a dry-run PUT of the same object over the live one.
    pub replace: Option<u16>,
}

/// Tells what a refusal of a server-side-apply dry run means.
pub fn classify(error: &ServerError, trial: &Trial<'_>) -> Verdict {
    let kind = trial.desired.get("kind").and_then(Json::as_str).unwrap_or(&error.kind);
    let text = &error.message;
    let message = || error.summary(kind);
    if error.is_policy() {
        return if text.starts_with("admission webhook \"") && text.contains("does not support dry run") {
            Verdict::NoDryRun { message: message() }
        } else {
            Verdict::Denied { message: message() }
        };
    }
    match error.status {
        400 => Verdict::BadRequest { message: message() },
        401 | 403 => forbidden(error, message()),
        404 => missing(error, message()),
        409 => conflict(error, kind),
        413 => Verdict::TooLarge { message: message() },
        422 => invalid(error, kind, trial),
        429 | 502..=504 => Verdict::Unavailable { message: message() },
        500 => internal(error, message()),
        _ => Verdict::Other { message: message() },
    }
}

fn forbidden(error: &ServerError, message: String) -> Verdict {
    let has = |part: &str| error.message.contains(part);
    let limit_range = ["maximum ", "minimum "].iter().any(|word| has(word)) && has(" usage per ");
    if error.causes.iter().any(|cause| cause.reason == "NamespaceTerminating") {
        Verdict::NamespaceTerminating
    } else if has("exceeded quota: ") || has("failed quota: ") || limit_range {
        Verdict::Quota { message }
    } else if has("violates PodSecurity ") {
        Verdict::Denied { message }
    } else if has("only dynamically provisioned pvc can be resized") {
        Verdict::VolumeCannotGrow
    } else {
        Verdict::Forbidden { message }
    }
}

fn missing(error: &ServerError, message: String) -> Verdict {
    let text = error.message.as_str();
    if error.kind == "namespaces" {
        Verdict::NamespaceMissing
    } else if text == "404 page not found" || text.contains("could not find the requested resource") {
        Verdict::KindMissing
    } else {
        Verdict::Other { message }
    }
}

fn conflict(error: &ServerError, kind: &str) -> Verdict {
    if error.causes.iter().any(|cause| cause.reason == "FieldManagerConflict") {
        return Verdict::Conflict { problems: error.problems(kind) };
    }
    // Counting against a quota races with other requests; the object itself is as it was.
    if error.kind == "resourcequotas" {
        return Verdict::Unavailable { message: error.summary(kind) };
    }
    Verdict::Stale
}

/// Beginnings of the answers that typed merging gives with status 500, although the manifest is at fault.
const TYPED_MERGE: [&str; 5] = [
    "failed to create typed patch object",
    "failed to convert new object",
    "failed to create typed live object",
    "failed to create manager for existing fields",
    "request to convert CR",
];

fn internal(error: &ServerError, message: String) -> Verdict {
    let text = error.message.as_str();
    if TYPED_MERGE.iter().any(|start| text.starts_with(start)) {
        Verdict::TypedMerge { message }
    } else if text.contains("failed calling webhook") {
        Verdict::WebhookUnavailable { message }
    } else if text.contains("etcdserver: request is too large") {
        Verdict::TooLarge { message }
    } else {
        Verdict::Other { message }
    }
}

fn invalid(error: &ServerError, kind: &str, trial: &Trial<'_>) -> Verdict {
    let (fixed, others): (Vec<&Cause>, Vec<&Cause>) =
        error.real_causes().partition(|cause| is_immutable(cause));
    // The uid only differs when the object was replaced in the meantime: read again, then decide.
    if others.is_empty() && !fixed.is_empty() && fixed.iter().all(|cause| cause.field == "metadata.uid") {
        return Verdict::Stale;
    }
    let fields = || {
        let mut fields: Vec<String> =
            fixed.iter().flat_map(|cause| changed_fields(kind, cause, trial)).collect();
        fields.dedup();
        fields
    };
    match (fixed.is_empty(), others.is_empty()) {
        (false, true) => return Verdict::Immutable { fields: fields() },
        (false, false) => {
            let fixed: Vec<String> = fixed.iter().map(|cause| cause.message.clone()).collect();
            let only = ServerError {
                causes: error
                    .causes
                    .iter()
                    .filter(|cause| !fixed.contains(&cause.message))
                    .cloned()
                    .collect(),
                ..error.clone()
            };
            return Verdict::Mixed { fields: fields(), problems: only.problems(kind) };
        }
        (true, _) => {}
    }
    let mut problems = error.problems(kind);
    if problems.is_empty() {
        problems.push(Problem { field: String::new(), message: error.summary(kind) });
    }
    let accepted = |status: u16| (200..300).contains(&status);
    let named = |problems: &[Problem]| problems.iter().map(|problem| problem.field.clone()).collect();
    match (trial.fresh_name, trial.replace) {
        (None, _) => Verdict::NeedsFreshName { problems },
        (Some(422 | 400), _) => Verdict::Invalid { problems },
        (Some(fresh), _) if !accepted(fresh) => Verdict::Unclear { problems },
        (Some(_), None) => Verdict::NeedsReplace { problems },
        // The object may be created, and may replace the live one: only what apply keeps is in the way.
        (Some(_), Some(replace)) if accepted(replace) => Verdict::Leftover { fields: named(&problems) },
        (Some(_), Some(_)) => Verdict::Immutable { fields: named(&problems) },
    }
}

/// Ends of texts that say that a field cannot change. Whole structs may stand before them.
const ENDS: [&str; 8] = [
    "field is immutable",
    "field is immutable when `immutable` is set",
    "field is immutable, except for updating from beta label to GA",
    "cannot change roleRef",
    "may not change once set",
    "may not be changed in an update.",
    "can only be modified in tandem with spec.parallelism",
    "field can not be less than status.capacity",
];

/// Beginnings of texts that say the same. Lists of fields or whole diffs may follow them.
const STARTS: [&str; 6] = [
    "Forbidden: updates to statefulset spec for fields other than ",
    "Forbidden: pod updates may not change fields other than ",
    "Forbidden: pod updates may not add or remove containers",
    "Forbidden: only deletion is allowed, but found new scheduling gate ",
    "Forbidden: spec is immutable after creation",
    "Forbidden: spec.persistentvolumesource is immutable after creation",
];

fn is_immutable(cause: &Cause) -> bool {
    let text = cause.message.trim_end();
    // Storage classes of older servers, volume attribute classes of all.
    let updates = text.starts_with("Forbidden: updates to ") && text.ends_with(" are forbidden.");
    // A CRD version that stored objects still use.
    let stored =
        cause.field.starts_with("status.storedVersions") && text.contains("missing from spec.versions");
    ENDS.iter().any(|end| text.ends_with(end))
        || STARTS.iter().any(|start| text.starts_with(start))
        || updates
        || stored
}

/// Returns the fields that a cause is about. The server often names only the outermost one; then the live object
/// and the manifest are compared below it.
fn changed_fields(kind: &str, cause: &Cause, trial: &Trial<'_>) -> Vec<String> {
    let field = field_name(kind, &cause.field);
    let below = |object: &'_ Json| -> Option<Json> {
        let mut part = field.split('.').try_fold(object, |part, key| part.get(key))?.clone();
        // A StatefulSet's refusal lists what may change; the rest of the spec is what may not.
        if let Some(members) = part.as_object_mut().filter(|_| kind == "StatefulSet") {
            members.retain(|key, _| !cause.message.contains(&format!("'{key}'")));
        }
        Some(part)
    };
    let mut found = Vec::new();
    if let Some((live, desired)) = trial.live.and_then(below).zip(below(trial.desired)) {
        let path = field.split('.').fold(FieldPath::default(), |path, key| path.key(key));
        let desired = compare::respell(&path, &live, desired);
        changes(&path, &compare::project(&live, &desired), &desired, &mut found);
    }
    let found: Vec<String> = found.into_iter().map(|change| change.path.to_string()).collect();
    let found = if found.is_empty() { dropped_fields(&field, below, trial) } else { found };
    if found.is_empty() { vec![field] } else { found }
}

/// Returns what stands below a field in the live object, is ours by an apply, and is not in the manifest.
fn dropped_fields(field: &str, below: impl Fn(&Json) -> Option<Json>, trial: &Trial<'_>) -> Vec<String> {
    let Some(live) = trial.live else { return Vec::new() };
    let root = field.split('.').fold(FieldPath::default(), |path, key| path.key(key));
    let (Some(there), Some(desired)) = (below(live), below(trial.desired)) else { return Vec::new() };
    let owned =
        managed::applied_fields(live, FIELD_MANAGER).map(|fields| fields.leaves()).unwrap_or_default();
    let gone = owned.into_iter().filter(|leaf| leaf.find_below(&root, &there).is_some());
    let mut found: Vec<String> = gone
        .filter_map(|leaf| {
            // The outermost member that went says most.
            let ways = (root.0.len() + 1..=leaf.0.len()).map(|depth| FieldPath(leaf.0[..depth].to_vec()));
            ways.into_iter().find(|path| path.find_below(&root, &desired).is_none())
        })
        .map(|path| path.to_string())
        .collect();
    found.dedup();
    found
}

/// Returns the field as a manifest spells it.
fn field_name(kind: &str, field: &str) -> String {
    match (kind, field) {
        ("CSIDriver", "spec.attachedRequired") => "spec.attachRequired".to_owned(),
        ("PersistentVolume", "spec.persistentvolumesource") => "spec".to_owned(),
        ("PersistentVolume" | "PersistentVolumeClaim", "nodeAffinity" | "volumeMode") => {
            format!("spec.{field}")
        }
        _ => field.to_owned(),
    }
}

#[cfg(test)]
mod tests;
