//! Decides about an object that the server refuses: the cheapest remedy that is safe, or the reason why there is none.
//!
//! In this order: a field that nobody sends any more is removed; a StatefulSet is re-created around its pods and
//! claims; an object is deleted and created again, if its release permits it and the server would take it back; it is
//! refused. What the server says decides, never a list of fields of ours.

use serde_json::Value as Json;

use super::guard::{self, ImmutableChange};
use super::input::{ObservedObject, Probe};
use super::judge::{self, Judged, Owner, difference};
use super::loss::{self, Lost};
use super::reason::{Reason, RefusalKind};
use super::steps::{ApplyMode, Dependents, Grow, Replace};
use super::{ObjectAction, leftover, ownership, place};
use crate::diff::{FieldPath, Masker, Problem, Verdict};

/// Longest value that is shown in a reason.
const LONGEST_VALUE: usize = 80;

/// Returns the decision about an object that the server refuses.
pub(super) fn refused(
    object: &ObservedObject,
    owner: &Owner,
    verdict: &Verdict,
    masker: Masker<'_>,
) -> Judged {
    let key = &object.key;
    let server = |kind: RefusalKind, message: String| {
        let reason = Reason::RefusedByServer { object: key.clone(), kind, message };
        Judged::refused(key, vec![reason])
    };
    match verdict {
        Verdict::Immutable { fields } => immutable(object, owner, fields, masker),
        Verdict::Mixed { fields, problems } => {
            let told = texts(object, problems);
            let message = format!("{told} (besides, {} cannot change)", fields.join(", "));
            server(RefusalKind::Invalid, message)
        }
        Verdict::Invalid { problems }
        | Verdict::Unclear { problems }
        | Verdict::NeedsFreshName { problems }
        | Verdict::NeedsReplace { problems } => server(RefusalKind::Invalid, texts(object, problems)),
        Verdict::Leftover { fields } => leftover(object, owner, fields, masker),
        Verdict::Denied { message } | Verdict::Forbidden { message } => {
            server(RefusalKind::Denied, message.clone())
        }
        Verdict::Conflict { problems } => server(RefusalKind::Conflict, texts(object, problems)),
        Verdict::Stale => {
            server(RefusalKind::Conflict, "it changed while it was looked at; plan again".to_owned())
        }
        Verdict::Quota { message } => server(RefusalKind::Quota, message.clone()),
        Verdict::VolumeCannotGrow => {
            server(RefusalKind::Invalid, "the storage class does not allow volumes to grow".to_owned())
        }
        Verdict::TypedMerge { message } => server(RefusalKind::Invalid, placed(object, message)),
        Verdict::BadRequest { message } | Verdict::TooLarge { message } => {
            server(RefusalKind::Invalid, message.clone())
        }
        Verdict::WebhookUnavailable { message } => server(RefusalKind::Webhook, message.clone()),
        Verdict::NoDryRun { message } => {
            let mut reasons = vec![Reason::Unverified { object: key.clone(), message: message.clone() }];
            if object.live.as_ref().is_some_and(|live| judge::has_old_entries(object, live)) {
                let managers = ownership::managers(&object.settled.from);
                reasons.push(Reason::OwnershipFolded { managers, fields: Vec::new() });
            }
            let mode = match object.live.as_ref().and_then(|live| live["metadata"]["uid"].as_str()) {
                Some(uid) => {
                    let fold = object.live.as_ref().and_then(|live| judge::fold(object, live, Vec::new()));
                    ApplyMode::Update { uid: uid.to_owned(), fold }
                }
                None => ApplyMode::Create,
            };
            let action = if object.live.is_some() { ObjectAction::Update } else { ObjectAction::Create };
            Judged::new(key, action, reasons).applying(object, mode)
        }
        Verdict::NamespaceMissing => server(RefusalKind::Invalid, "its namespace does not exist".to_owned()),
        Verdict::NamespaceTerminating => {
            server(RefusalKind::Denied, "its namespace is being deleted".to_owned())
        }
        Verdict::KindMissing => {
            let message = format!(
                "the server does not know the kind {}; what defines it has to be there first (`needs`)",
                key.gvk
            );
            server(RefusalKind::Invalid, message)
        }
        Verdict::Unavailable { message } | Verdict::Other { message } => {
            Judged::refused(key, vec![Reason::Unreadable { what: key.to_string(), message: message.clone() }])
        }
    }
}

/// Fields that nobody sends any more are in the way. They are made ours, and the apply removes them.
fn leftover(object: &ObservedObject, owner: &Owner, fields: &[String], masker: Masker<'_>) -> Judged {
    let key = &object.key;
    let live = object.live.clone().unwrap_or_default();
    let claims = leftover::in_the_way(fields, &object.body, &live);
    let (Some(fold), Some(replaced)) = (judge::fold(object, &live, claims.clone()), &object.around.replaced)
    else {
        let message = format!(
            "{} is left from an earlier apply and is in the way; remove it by hand once",
            fields.join(", ")
        );
        let reason = Reason::RefusedByServer { object: key.clone(), kind: RefusalKind::Leftover, message };
        return Judged::refused(key, vec![reason]);
    };
    // A PUT of the manifest tells what is left when all of ours goes; what others own stays in an apply.
    let mut result = replaced.clone();
    for change in difference(Some(&live), replaced, masker).changes {
        if leftover::is_foreign(&live, &change.path)
            && let Some(value) = change.path.find(&live)
        {
            change.path.set(&mut result, value.clone());
        }
    }
    let diff = difference(Some(&live), &result, masker);
    let mut reasons = vec![Reason::Changed { fields: diff.paths() }];
    if judge::has_old_entries(object, &live) {
        reasons.push(Reason::OwnershipFolded {
            managers: ownership::managers(&object.settled.from),
            fields: Vec::new(),
        });
    }
    if !claims.is_empty() {
        reasons.push(Reason::LeftoversGo { fields: claims.iter().map(ToString::to_string).collect() });
    }
    let is_ours = judge::owner_of(&live).as_ref() == Some(&owner.release);
    let action = if is_ours { ObjectAction::Update } else { ObjectAction::Adopt };
    let mode = ApplyMode::Update { uid: uid_of(&live), fold: Some(fold) };
    Judged::new(key, action, reasons).applying(object, mode).showing(diff)
}

/// A field cannot change in place: replaced with a permit, else blocked with the line that would permit it.
fn immutable(object: &ObservedObject, owner: &Owner, fields: &[String], masker: Masker<'_>) -> Judged {
    let key = &object.key;
    let live = object.live.clone().unwrap_or_default();
    let named: &[String] = if fields.is_empty() { &["spec".to_owned()] } else { fields };
    let field = named.join(", ");
    let diff = difference(Some(&live), &merged(&live, &object.body), masker);
    let changes = named.iter().map(|field| ImmutableChange {
        field: field.clone(),
        from: shown_value(&live, &FieldPath::parse(field), masker),
        to: shown_value(&object.body, &FieldPath::parse(field), masker),
    });
    let Fate { dependents, new_claims } = fate(&live, &object.body);
    let stays = dependents == Dependents::Orphan;
    let around = &object.around;
    let behind = loss::behind(key);
    let goes = guard::holds_data(key) || (loss::takes_its_claims(&live) && !stays) || behind.is_some();
    let known = around.lost.as_deref().unwrap_or_default();
    let lost: Vec<Lost> = match goes {
        true => loss::own(key, &live).into_iter().chain(known.iter().cloned()).chain(behind).collect(),
        false => Vec::new(),
    };
    let permit = match guard::permit_replace(&owner.keys, key, (goes, &lost), changes.collect(), stays) {
        Err(reasons) => return Judged::refused(key, reasons).showing(diff),
        Ok(permit) => permit,
    };
    let refuse = |reason: Reason| Judged::refused(key, vec![reason]).showing(diff.clone());
    let invalid = |message: String| {
        refuse(Reason::RefusedByServer { object: key.clone(), kind: RefusalKind::Invalid, message })
    };
    if let (true, Err(message)) = (goes, &around.lost) {
        let what = format!("what would go with {key}");
        return refuse(Reason::Unreadable { what, message: message.clone() });
    }
    let mut reasons = vec![Reason::ReplaceForced { object: key.clone(), field, stays }];
    if goes {
        reasons.push(Reason::DataGoes { object: key.clone(), lost: lost.clone() });
    }
    // Nothing is deleted that the server would not take back.
    let probe = match &around.probe {
        Some(Probe::Accepted) => Probe::Accepted,
        Some(probe @ Probe::Untold { why }) if !goes => {
            reasons.push(Reason::Unverified { object: key.clone(), message: why.clone() });
            probe.clone()
        }
        Some(Probe::Untold { why: message } | Probe::Refused { message }) => {
            return invalid(format!("it could not be created again: {message}"));
        }
        None => return invalid("it is not known whether it could be created again".to_owned()),
    };
    let mut grow = Vec::new();
    if stays {
        for claim in &around.claims {
            let Some(growth) = &claim.growth else { continue };
            if let Some(why) = &growth.refused {
                return invalid(format!("its claim {} cannot grow to {}: {why}", claim.key.name, growth.to));
            }
            let (from, to) = (claim.size.clone(), growth.to.clone());
            grow.push(Grow { claim: claim.key.clone(), uid: claim.uid.clone(), from, to });
        }
    }
    if !grow.is_empty() {
        let claims =
            grow.iter().map(|grow| format!("{} {} → {}", grow.claim.name, grow.from, grow.to)).collect();
        reasons.push(Reason::ClaimsGrow { object: key.clone(), claims });
    }
    let replace_pods = stays && !new_claims.is_empty();
    if replace_pods {
        reasons.push(Reason::PodsReplaced { object: key.clone(), claims: new_claims });
    }
    let replace = Replace { uid: uid_of(&live), permit, dependents, probe, lost, grow, replace_pods };
    Judged::new(key, ObjectAction::Replace, reasons)
        .applying(object, ApplyMode::Replace(Box::new(replace)))
        .showing(diff)
}

/// What happens to what an object made, if it is replaced.
struct Fate {
    dependents: Dependents,
    /// Claim templates that the live pods lack and the new ones mount.
    new_claims: Vec<String>,
}

/// Returns what happens to the dependents of an object that is replaced.
///
/// The pods of a StatefulSet, and its claims, survive when they are orphaned, and the new one adopts them, as long as
/// selector and pod labels are the same. With another selector the new one waits for ever for the names of the old
/// pods, so these have to go; the claims stay, unless they are set to go with the set. Pods that lack a newly mounted
/// claim are adopted and never replaced by the controller. A DaemonSet takes adopted pods for up to date, so its pods
/// are never orphaned (all measured on Kubernetes 1.36).
fn fate(live: &Json, desired: &Json) -> Fate {
    let (from, to) = (&live["spec"], &desired["spec"]);
    let adoptable = live["kind"] == "StatefulSet"
        && from["selector"] == to["selector"]
        && from["template"]["metadata"]["labels"] == to["template"]["metadata"]["labels"];
    if !adoptable {
        return Fate { dependents: Dependents::Background, new_claims: Vec::new() };
    }
    let pod = &to["template"]["spec"];
    let containers =
        ["containers", "initContainers"].iter().filter_map(|list| pod[*list].as_array()).flatten();
    let mounts: Vec<&str> = containers
        .flat_map(|container| {
            let lists = [("volumeMounts", "name"), ("volumeDevices", "name")];
            lists.into_iter().flat_map(move |(list, name)| {
                let mounts = container[list].as_array().into_iter().flatten();
                mounts.filter_map(move |mount| mount[name].as_str())
            })
        })
        .collect();
    let new = loss::claim_templates(desired)
        .filter(|name| !loss::claim_templates(live).any(|old| old == *name) && mounts.contains(name));
    Fate { dependents: Dependents::Orphan, new_claims: new.map(str::to_owned).collect() }
}

fn uid_of(live: &Json) -> String {
    live["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

/// Lays the desired fields over the live object, for a picture of what was asked for.
fn merged(live: &Json, desired: &Json) -> Json {
    match (live, desired) {
        (Json::Object(live), Json::Object(desired)) => {
            let mut all = live.clone();
            for (key, value) in desired {
                let below = live.get(key).unwrap_or(&Json::Null);
                all.insert(key.clone(), merged(below, value));
            }
            Json::Object(all)
        }
        // Elements get the server's defaults too; lists of other lengths are shown as they were asked for.
        (Json::Array(live), Json::Array(desired)) if live.len() == desired.len() => {
            live.iter().zip(desired).map(|(live, desired)| merged(live, desired)).collect()
        }
        (_, desired) => desired.clone(),
    }
}

/// Returns the value at a field as the server names it, short and without secrets.
pub(super) fn shown_value(object: &Json, field: &FieldPath, masker: Masker<'_>) -> String {
    let mut object = object.clone();
    masker.mask(&mut object);
    let value = field.find(&object).unwrap_or(&Json::Null);
    let text = match value {
        Json::Null => "(none)".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST_VALUE {
        return text;
    }
    text.chars().take(LONGEST_VALUE).chain(std::iter::once('…')).collect()
}

/// Returns the words of a typed merge as one line, each complaint with the place in the template that it is about.
fn placed(object: &ObservedObject, message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(place) = &object.around.place else { return lines.join("; ") };
    // Several complaints stand below a line that only says so.
    let (head, complaints) = match lines.as_slice() {
        [head, complaints @ ..] if head.ends_with("errors:") => (Some(*head), complaints),
        all => (None, all),
    };
    let told =
        complaints.iter().map(|line| format!("{line}{}", place::of_message(place, &format!(" {line}"))));
    // The server gives them in any order, and the same plan reads the same.
    let mut told: Vec<String> = told.collect();
    told.sort();
    let told = told.join("; ");
    head.map_or(told.clone(), |head| format!("{head} {told}"))
}

/// Returns the complaints as one text, each with the place in the template that it is about.
fn texts(object: &ObservedObject, problems: &[Problem]) -> String {
    let place = object.around.place.as_ref();
    let text = |problem: &Problem| {
        let place = place.map(|place| place::of_field(place, &problem.field)).unwrap_or_default();
        match problem.field.as_str() {
            "" => format!("{}{place}", problem.message),
            field => format!("{field}: {}{place}", problem.message),
        }
    };
    problems.iter().map(text).collect::<Vec<_>>().join("; ")
}
