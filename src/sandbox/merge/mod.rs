//! What a write makes of an object: server-side apply, the fields that managers own, and patches.
//!
//! Pure: the instant is passed in. It knows types, and no kind by its name but for the fields that a path may not write.

mod fieldset;
mod managed;
mod patch;
mod strategic;
mod walk;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::fieldset::FieldSet;
use self::managed::{Manager, Managers, Owned};
pub use self::patch::{patch_json, patch_merge};
pub use self::strategic::patch_strategic;
use crate::sandbox::rules;
use crate::sandbox::schema::{Type, Types};
use crate::sandbox::status::{Cause, Failure};

/// Applies an object server-side and returns what is stored: merged, with defaults and `managedFields`. An apply that
/// changes nothing returns the live object as it is.
///
/// `live` is nothing where the object is created. `subresource` is empty, or such as `status`.
///
/// # Errors
///
/// Returns the refusal of the real server: a conflict with other managers (409), a body that its types do not admit
/// (500, without a reason), or one that says `managedFields` (400).
pub fn apply(
    types: &Types,
    live: Option<&Value>,
    applied: &Value,
    manager: &str,
    force: bool,
    subresource: &str,
    now: Timestamp,
) -> Result<Value, Failure> {
    if !applied["metadata"]["managedFields"].is_null() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let kind = kind_of(types, applied)?;
    let work = Work::new(types, kind, applied, subresource);
    let errors = walk::validate(kind, applied, false);
    if !errors.is_empty() {
        let text = format!("failed to create typed patch object ({}): {}", named(applied), listed(&errors));
        return Err(untold(text));
    }
    let empty = work.empty();
    let mut managers = live.map(managed::decode).unwrap_or_default().unwrap_or_default();
    let live = live.cloned().unwrap_or_else(|| empty.clone());
    let bare_live = without_managers(&live);
    let errors = walk::validate(kind, &bare_live, true);
    if !errors.is_empty() {
        let text = format!("failed to create typed live object ({}): {}", named(&live), listed(&errors));
        return Err(untold(text));
    }
    if managers.is_empty() {
        let before = Manager::new("before-first-apply", false, &work.api_version, subresource);
        work.update(&empty, &bare_live, &mut managers, &before, now);
    }
    let own = Manager::new(manager, true, &work.api_version, subresource);
    let merged = walk::merge(kind, Some(&bare_live), Some(applied))
        .map_err(|why| untold(format!("failed to merge config: {why}")))?
        .unwrap_or(Value::Null);
    let last = managers.get(&own).cloned();
    let time = last.as_ref().and_then(|last| last.time);
    let fields = walk::fields(kind, applied).without(&work.reset);
    managers.insert(own.clone(), Owned { fields, api_version: work.api_version.clone(), time });
    let pruned = work.prune(merged, &managers, last.as_ref());
    let conflicts = work.take_over(&bare_live, &pruned, &mut managers, Some(&own));
    if !conflicts.is_empty() && !force {
        return Err(conflict(&conflicts));
    }
    let mut new = if fieldset::same(&bare_live, &pruned) {
        bare_live
    } else {
        if let Some(owned) = managers.get_mut(&own) {
            owned.time = Some(now);
        }
        pruned
    };
    strip(&mut managers, &own);
    finish(types, &mut new, Some(&live))?;
    managed::encode(&mut new, &managers);
    Ok(settle(&live, new))
}

/// Returns a new state of an object, after a create, update or patch, with its `managedFields`. What the request says of
/// them counts as at the real server. `live` is nothing where the object is created.
#[must_use]
pub fn update(
    types: &Types,
    live: Option<&Value>,
    mut new: Value,
    manager: &str,
    subresource: &str,
    now: Timestamp,
) -> Value {
    let Some(kind) = types.of(&new) else { return new };
    let mut managers = if subresource.is_empty() && managed::is_reset(&new) {
        Managers::new()
    } else {
        let given = Some(&new).filter(|_| subresource.is_empty()).and_then(managed::decode);
        let kept = || live.and_then(managed::decode).unwrap_or_default();
        given.filter(|given| !given.is_empty()).unwrap_or_else(kept)
    };
    let is_created = live.is_none();
    if managers.is_empty() && !is_created {
        managed::encode(&mut new, &managers);
        return live.map_or_else(|| new.clone(), |live| settle(live, new.clone()));
    }
    let work = Work::new(types, kind, &new, subresource);
    let empty = work.empty();
    let old = live.map_or(empty, without_managers);
    let bare = without_managers(&new);
    let own = Manager::new(manager, false, &work.api_version, subresource);
    work.update(&old, &bare, &mut managers, &own, now);
    managed::bound(&mut managers);
    new = bare;
    managed::encode(&mut new, &managers);
    match live {
        Some(live) => settle(live, new),
        None => new,
    }
}

/// Returns the live object where the new one differs from it in nothing but the times of its managers. The last step
/// before a write.
#[must_use]
pub fn settle(live: &Value, new: Value) -> Value {
    let timeless = |object: &Value| {
        let mut object = object.clone();
        for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
        object
    };
    let entries = |object: &Value| object["metadata"]["managedFields"].as_array().map_or(0, Vec::len);
    if entries(live) != entries(&new) {
        return new;
    }
    let (mut old, mut changed) = (timeless(live), timeless(&new));
    for object in [&mut old, &mut changed] {
        if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
            entries.sort_by_key(ToString::to_string);
        }
    }
    if old == changed { live.clone() } else { new }
}

fn kind_of<'a>(types: &'a Types, object: &Value) -> Result<Type<'a>, Failure> {
    types
        .of(object)
        .ok_or_else(|| Failure::new(404, "NotFound", "the server could not find the requested resource"))
}

/// Decodes and defaults a merged object, as the server does.
fn finish(types: &Types, new: &mut Value, live: Option<&Value>) -> Result<(), Failure> {
    if types.is_custom(new) {
        types.prune_and_default(new);
    }
    let decoded = types.round_trip(new);
    decoded.map_err(|why| {
        let version = new["apiVersion"].as_str().unwrap_or_default();
        untold(format!("failed to convert new object ({}) to proper version ({version}): {why}", named(new)))
    })?;
    rules::default(types, new, live);
    Ok(())
}

/// A refusal for which the server gives no reason.
fn untold(message: String) -> Failure {
    Failure::new(500, "", message)
}

fn listed(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        all => format!("errors:\n  {}", all.join("\n  ")),
    }
}

/// An object as errors of the merge name it: `ns/name; apps/v1, Kind=Deployment`.
fn named(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let api_version = match word(&object["apiVersion"]) {
        version if version.contains('/') => version,
        version => format!("/{version}"),
    };
    format!(
        "{}/{}; {api_version}, Kind={}",
        word(&metadata["namespace"]),
        word(&metadata["name"]),
        word(&object["kind"])
    )
}

fn without_managers(object: &Value) -> Value {
    let mut bare = object.clone();
    if let Some(metadata) = bare.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    bare
}

fn conflict(conflicts: &[(Manager, FieldSet)]) -> Failure {
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    let mut single = String::new();
    for (manager, fields) in conflicts {
        let told = manager.told();
        lines.push(format!("conflicts with {told}:"));
        for path in fields.paths() {
            let path: String = path.iter().map(ToString::to_string).collect();
            lines.push(format!("- {path}"));
            single = format!("conflict with {told}: {path}");
            causes.push(Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: format!("conflict with {told}"),
                field: path,
            });
        }
    }
    let message = match causes.len() {
        1 => format!("Apply failed with 1 conflict: {single}"),
        count => format!("Apply failed with {count} conflicts: {}", lines.join("\n")),
    };
    Failure { code: 409, reason: "Conflict".to_owned(), message, causes }
}

/// Takes out of a manager's entry what nobody owns.
fn strip(managers: &mut Managers, own: &Manager) {
    let nobodys = FieldSet::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ]);
    if let Some(owned) = managers.get_mut(own) {
        owned.fields = owned.fields.difference(&nobodys);
        if owned.fields.is_empty() {
            managers.remove(own);
        }
    }
}

/// The fields that a path does not write, by its subresource.
fn reset_fields(types: &Types, kind: &str, api_version: &str, subresource: &str) -> FieldSet {
    let has_status = || types.resource(api_version, kind).is_some_and(|one| one.has("status"));
    let is_custom = types.is_custom(&json!({"apiVersion": api_version, "kind": kind}));
    match (subresource, kind) {
        ("", "CertificateSigningRequest") => FieldSet::of(&[&["spec"], &["status"]]),
        ("", _) if has_status() => FieldSet::of(&[&["status"]]),
        ("status", "CertificateSigningRequest") => FieldSet::of(&[&["spec"], &["status", "conditions"]]),
        ("approval", _) => FieldSet::of(&[&["spec"], &["status", "certificate"]]),
        ("status", "Deployment") => FieldSet::of(&[&["spec"], &["metadata", "labels"]]),
        ("status", "Pod") => {
            FieldSet::of(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
        }
        (
            "status",
            "ServiceCIDR"
            | "ResourceClaim"
            | "VolumeAttachment"
            | "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ValidatingAdmissionPolicy",
        ) => FieldSet::of(&[&["metadata"], &["spec"]]),
        ("status", _) if is_custom => FieldSet::of(&[&["metadata"], &["spec"]]),
        ("status", _) => FieldSet::of(&[&["spec"]]),
        _ => FieldSet::default(),
    }
}

/// A write of one object by one path.
struct Work<'a> {
    types: &'a Types,
    kind: Type<'a>,
    kind_name: String,
    api_version: String,
    reset: FieldSet,
}

impl<'a> Work<'a> {
    fn new(types: &'a Types, kind: Type<'a>, object: &Value, subresource: &str) -> Self {
        let word = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let (kind_name, api_version) = (word("kind"), word("apiVersion"));
        let reset = reset_fields(types, &kind_name, &api_version, subresource);
        Self { types, kind, kind_name, api_version, reset }
    }

    /// What an object is before it is created: structs that are always there count as there.
    fn empty(&self) -> Value {
        let mut empty = json!({"apiVersion": self.api_version, "kind": self.kind_name});
        if !self.types.is_custom(&empty) {
            // Nothing in it can be of a wrong type.
            drop(self.types.round_trip(&mut empty));
        }
        empty
    }

    /// Notes who changed what by an update.
    fn update(&self, old: &Value, new: &Value, managers: &mut Managers, own: &Manager, now: Timestamp) {
        self.take_over(old, new, managers, None);
        let compared = walk::compare(self.kind, old, new).without(&self.reset);
        let fields = compared.modified.union(&compared.added);
        let mut entry = Managers::new();
        if !fields.is_empty() {
            let api_version = self.api_version.clone();
            entry.insert(own.clone(), Owned { fields, api_version, time: Some(now) });
        }
        if let Some(mut changed) = entry.remove(own) {
            if let Some(before) = managers.get(own) {
                changed.fields = changed.fields.union(&before.fields);
            }
            managers.insert(own.clone(), changed);
        }
        strip(managers, own);
    }

    /// Takes what changes between two objects from all managers but one; returns what they lose by changed values.
    fn take_over(
        &self,
        old: &Value,
        new: &Value,
        managers: &mut Managers,
        own: Option<&Manager>,
    ) -> Vec<(Manager, FieldSet)> {
        let compared = walk::compare(self.kind, old, new).without(&self.reset);
        let changed = compared.modified.union(&compared.added);
        let mut conflicts = Vec::new();
        for (manager, owned) in managers.iter_mut().filter(|(manager, _)| Some(*manager) != own) {
            let lost = owned.fields.intersection(&changed);
            owned.fields = owned.fields.difference(&lost).difference(&compared.removed);
            if !lost.is_empty() {
                conflicts.push((manager.clone(), lost));
            }
        }
        managers.retain(|_, owned| !owned.fields.is_empty());
        conflicts
    }

    /// Takes out of a merged object what its manager applied before, does no longer, and nobody else owns.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<&Owned>) -> Value {
        let Some(last) = last.filter(|last| !last.fields.is_empty()) else { return merged };
        let kind = self.kind;
        let last = last.fields.with_enclosing(kind);
        let fields = |value: &Value| walk::fields(kind, value).with_enclosing(kind);
        let cut = |value: &Value, gone: &FieldSet| walk::remove(kind, value, gone).unwrap_or(Value::Null);
        let mut pruned = cut(&merged, &last);
        let mut owned = FieldSet::default();
        for one in managers.values() {
            owned = owned.union(&one.fields);
        }
        let merged_fields = fields(&merged);
        let kept = fields(&pruned).union(&owned.with_enclosing(kind));
        pruned = cut(&merged, &merged_fields.difference(&kept));
        // What was never applied by this manager, and is owned by nobody, stays.
        cut(&merged, &merged_fields.difference(&fields(&pruned)).intersection(&last))
    }
}
