//! Settles whose field is whose before the server is asked: what of an object is applied, what is left to others,
//! and what blocks the release.
//!
//! Sees one object at a time, as it is rendered and as it is live. What comes out is asked in the dry run and applied
//! as it is: nothing is left out afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::input::ObservedObject;
use super::judge::owner_of;
use super::reason::Reason;
use super::refused;
use crate::diff::{self, FieldPath, Former, ManagerClass, Masker, Operation, Owner, Step};
use crate::dsf::state::{Adopt, ConflictAction, ConflictRule, IgnoreRule, ObjectName, Release};
use crate::model::{FIELD_MANAGER, ObjectKey, ReleaseKey};

/// What a release says about the fields of its objects.
#[derive(Clone, Debug)]
pub struct FieldRules {
    release: ReleaseKey,
    conflicts: Vec<ConflictRule>,
    ignore: Vec<IgnoreRule>,
    create_only: Vec<ObjectName>,
    adopt: Adopt,
    takes_over: bool,
    restarts: bool,
    lists_extras: bool,
    scaled: BTreeSet<(Option<String>, String, String)>,
}

impl FieldRules {
    /// Returns the rules of a release. `adopt` is what may be taken over in this run; `takes_over` says that the
    /// release itself is.
    pub fn new(release: &Release, adopt: Adopt, takes_over: bool) -> Self {
        Self {
            release: release.key.clone(),
            conflicts: release.field_conflicts.clone(),
            ignore: release.ignore.clone(),
            create_only: release.create_only.clone(),
            adopt,
            takes_over,
            restarts: release.restart_on_config,
            lists_extras: false,
            scaled: BTreeSet::new(),
        }
    }

    /// Returns the rules of a release that has none.
    #[cfg(test)]
    pub(super) fn none(release: &ReleaseKey) -> Self {
        Self {
            release: release.clone(),
            conflicts: Vec::new(),
            ignore: Vec::new(),
            create_only: Vec::new(),
            adopt: Adopt::Never,
            takes_over: false,
            restarts: false,
            lists_extras: false,
            scaled: BTreeSet::new(),
        }
    }

    /// Lists what others have besides, as for an object that is taken over.
    #[must_use]
    pub fn listing_extras(self) -> Self {
        Self { lists_extras: true, ..self }
    }

    /// Adds what an autoscaler among the rendered objects scales.
    #[must_use]
    pub fn with_autoscalers<'a>(mut self, objects: impl IntoIterator<Item = &'a Json>) -> Self {
        for object in objects {
            if let Some((namespace, kind, name)) = scale_target(object) {
                let namespace = namespace.unwrap_or_else(|| self.release.namespace.clone());
                self.scaled.insert((Some(namespace), kind, name));
            }
        }
        self
    }

    /// Tells whether pods are restarted that read a changed ConfigMap or Secret.
    pub fn restarts_on_config(&self) -> bool {
        self.restarts
    }

    /// Tells whether an object is made once and then left alone.
    pub fn is_create_only(&self, object: &ObjectKey) -> bool {
        self.create_only.iter().any(|name| name.names(object))
    }

    /// Returns the object without the fields that are ignored, to compare two rendered forms of it.
    pub fn without_ignored(&self, key: &ObjectKey, object: &Json) -> Json {
        let mut object = object.clone();
        for rule in self.ignore.iter().filter(|rule| rule.covers(key)) {
            for path in diff::matching_fields(&object, &rule.path).into_iter().rev() {
                path.cut(&mut object);
            }
        }
        object
    }

    /// Tells whether a field is ignored.
    pub fn ignores(&self, key: &ObjectKey, path: &FieldPath) -> bool {
        self.ignore.iter().any(|rule| rule.covers(key) && path.is_below(&rule.path))
    }

    /// Tells whether it may matter that an autoscaler of the cluster scales the object: its manifest says how many
    /// replicas it wants, it has another number, and no autoscaler of the run is known to have made it so.
    pub fn asks_for_autoscaler(&self, key: &ObjectKey, body: &Json, live: &Json) -> bool {
        let (wanted, current) = (&body["spec"]["replicas"], &live["spec"]["replicas"]);
        wanted.is_number() && current.is_number() && wanted != current && !self.is_scaled(key)
    }

    fn is_scaled(&self, key: &ObjectKey) -> bool {
        self.scaled.contains(&(key.namespace.clone(), key.gvk.kind.clone(), key.name.clone()))
    }

    fn rule(&self, path: &FieldPath, manager: &str) -> Option<ConflictAction> {
        let fits = |rule: &&ConflictRule| {
            crate::model::glob(&rule.manager, manager)
                && rule.path.as_ref().is_none_or(|pattern| path.is_below(pattern))
        };
        self.conflicts.iter().find(fits).map(|rule| rule.action)
    }

    /// Tells whether a rule of the file decides about a field of this manager by taking it.
    pub fn takes(&self, path: &FieldPath, manager: &str) -> bool {
        self.rule(path, manager) == Some(ConflictAction::Take)
    }

    fn action(&self, path: &FieldPath, owner: &Owner) -> ConflictAction {
        if let Some(action) = self.rule(path, &owner.manager) {
            return action;
        }
        match diff::manager_class(owner, path) {
            ManagerClass::Ours | ManagerClass::Human => ConflictAction::Take,
            ManagerClass::System | ManagerClass::Controller => ConflictAction::Keep,
            ManagerClass::Deployer => ConflictAction::Fail,
        }
    }

    /// Tells whether an existing object is taken over.
    fn adopts(&self, live: &Json) -> bool {
        let foreign = match owner_of(live) {
            Some(release) if release == self.release => false,
            Some(_) => self.adopt == Adopt::Any,
            None => self.adopt != Adopt::Never,
        };
        self.takes_over || foreign
    }
}

/// Returns namespace, kind and name of what an autoscaler scales; nothing for any other object.
pub fn scale_target(object: &Json) -> Option<(Option<String>, String, String)> {
    let target = match object["kind"].as_str()? {
        "HorizontalPodAutoscaler" => &object["spec"]["scaleTargetRef"],
        // KEDA makes the autoscaler itself.
        "ScaledObject" => &object["spec"]["scaleTargetRef"],
        _ => return None,
    };
    let kind = target["kind"].as_str().unwrap_or("Deployment").to_owned();
    let namespace = object["metadata"]["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    Some((namespace.map(str::to_owned), kind, target["name"].as_str()?.to_owned()))
}

/// Why a field is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftTo {
    /// This manager owns it.
    Manager(String),
    /// An autoscaler scales the object.
    Autoscaler,
}

/// A field that somebody else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// The field.
    pub path: FieldPath,
    /// The manager, with its subresource.
    pub manager: String,
    /// When it wrote last; empty where the server does not say.
    pub since: String,
}

/// An object whose fields are settled.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// It exists, and is made only once: nothing is sent.
    pub left_alone: bool,
    /// Fields that are left as they are.
    pub kept: Vec<(FieldPath, LeftTo)>,
    /// Fields that are taken from others.
    pub taken: Vec<Contested>,
    /// Fields whose owner blocks the release.
    pub refused: Vec<Contested>,
    /// How many fields of the manifest others own with the same value.
    pub shared: usize,
    /// Whose entries become part of ours before the object is applied.
    pub from: Vec<Former>,
    /// Fields that the manifest does not have and that stay with their managers, of an object that is taken over or
    /// where they are asked for.
    pub stays: Vec<Contested>,
    /// The server was asked for the object as it is after [`Settled::from`] was moved; otherwise its answer still
    /// has what only they own.
    pub is_simulated: bool,
    /// The object as it was rendered, where it is not what is applied.
    pub rendered: Option<Json>,
}

/// Settles the fields of an object. Changes `body` to what is to be applied.
///
/// A field that is left to others is left out where somebody else owns it. Where only we do, leaving it out would
/// reset it: then the live value is sent again.
pub fn settle(
    key: &ObjectKey,
    body: &mut Json,
    live: Option<&Json>,
    rules: &FieldRules,
    autoscaled: bool,
) -> Settled {
    let mut settled = Settled::default();
    let Some(live) = live else { return settled };
    if rules.is_create_only(key) {
        settled.left_alone = true;
        return settled;
    }
    let adopts = rules.adopts(live);
    settled.from = formers(live, adopts);
    let entries = diff::managed_entries(live);
    let others: Vec<FieldPath> = entries
        .iter()
        .filter(|entry| !is_own(&entry.owner) && !settled.from.iter().any(|former| former.is(&entry.owner)))
        .flat_map(|entry| entry.fields.leaves())
        .collect();
    for field in diff::foreign_fields(live, body, FIELD_MANAGER) {
        let moved = settled.from.iter().any(|former| former.is(&field.owner));
        if field.equal {
            settled.shared += usize::from(!moved);
            continue;
        }
        if rules.ignores(key, &field.path) {
            continue;
        }
        let since = entries.iter().find(|entry| entry.owner == field.owner);
        let contested = Contested {
            path: field.path.clone(),
            manager: field.owner.to_string(),
            since: since.map(|entry| entry.time.clone()).unwrap_or_default(),
        };
        let is_replicas = field.path.to_string() == "spec.replicas";
        let ruled = rules.rule(&field.path, &field.owner.manager).is_some();
        if is_replicas && !ruled && (autoscaled || rules.is_scaled(key)) {
            continue;
        }
        // Whoever made the object has no say any more once it is taken over.
        let action = if moved { ConflictAction::Take } else { rules.action(&field.path, &field.owner) };
        match action {
            ConflictAction::Take => settled.taken.push(contested),
            ConflictAction::Keep => settled.kept.push((field.path, LeftTo::Manager(contested.manager))),
            ConflictAction::Fail => settled.refused.push(contested),
        }
    }
    // Of several owners the strictest one decides.
    let blocked: Vec<FieldPath> = settled.refused.iter().map(|field| field.path.clone()).collect();
    settled.kept.retain(|(path, _)| !blocked.contains(path));
    let kept: Vec<FieldPath> = settled.kept.iter().map(|(path, _)| path.clone()).collect();
    settled.taken.retain(|field| !blocked.contains(&field.path) && !kept.contains(&field.path));
    let rendered = body.clone();
    for path in &kept {
        path.cut(body);
    }
    leave_replicas(key, body, live, rules, autoscaled, &others, &mut settled);
    for rule in rules.ignore.iter().filter(|rule| rule.covers(key)) {
        for path in diff::matching_fields(body, &rule.path) {
            for leaf in diff::leaves(body, &path) {
                leave(body, live, &leaf, &others);
            }
        }
    }
    settled.rendered = (rendered != *body).then_some(rendered);
    if adopts || rules.lists_extras {
        settled.stays = staying(live, body, &entries, &settled.from);
    }
    settled
}

/// The number of replicas belongs to the autoscaler of the object.
fn leave_replicas(
    key: &ObjectKey,
    body: &mut Json,
    live: &Json,
    rules: &FieldRules,
    autoscaled: bool,
    others: &[FieldPath],
    settled: &mut Settled,
) {
    let path = FieldPath::default().key("spec").key("replicas");
    let wanted = path.find(body).cloned();
    let decided = settled.taken.iter().chain(&settled.refused).any(|field| field.path == path);
    let (Some(wanted), Some(current)) = (wanted, path.find(live)) else { return };
    let scaled = autoscaled || rules.is_scaled(key);
    if !scaled || decided || wanted == *current || rules.takes(&path, "horizontal-pod-autoscaler") {
        return;
    }
    leave(body, live, &path, others);
    settled.kept.push((path, LeftTo::Autoscaler));
}

/// Leaves one field as it is in the cluster.
fn leave(body: &mut Json, live: &Json, path: &FieldPath, others: &[FieldPath]) {
    let owned = others.iter().any(|other| same_field(other, path));
    match (owned, path.find(live)) {
        (false, Some(value)) => {
            if let Some(place) = path.find_mut(body) {
                *place = value.clone();
            }
        }
        _ => path.cut(body),
    }
}

/// Tells whether a field that somebody owns is this one, or holds it. Elements of lists are named by more members in
/// `managedFields` than elsewhere.
fn same_field(owned: &FieldPath, path: &FieldPath) -> bool {
    owned.0.len() <= path.0.len()
        && owned.0.iter().zip(&path.0).all(|(owned, step)| match (owned, step) {
            (Step::Match(owned), Step::Match(step)) => step.iter().all(|member| owned.contains(member)),
            (owned, step) => owned == step,
        })
}

fn is_own(owner: &Owner) -> bool {
    owner.manager == FIELD_MANAGER && owner.subresource.is_empty()
}

/// Returns whose entries become part of ours: what client-side Helm left, and with an object that is taken over what
/// its maker left.
fn formers(live: &Json, adopts: bool) -> Vec<Former> {
    let entries = diff::managed_entries(live);
    let old = |owner: &Owner| is_own(owner) && owner.operation == Operation::Update;
    let makers = entries.iter().any(|entry| diff::is_maker(&entry.owner));
    let unknown = if adopts && !makers { unknown_maker(live, &entries) } else { None };
    let mut found = Vec::new();
    for entry in entries {
        let makes = diff::is_maker(&entry.owner) || unknown.as_ref() == Some(&entry.owner);
        if old(&entry.owner) || (adopts && makes) {
            let former = Former { manager: entry.owner.manager, operation: entry.owner.operation };
            if !found.contains(&former) {
                found.push(former);
            }
        }
    }
    found
}

/// Returns the manager of no known kind that made the object, if it can be told: the only one that has not written
/// since.
fn unknown_maker(live: &Json, entries: &[diff::ManagedEntry]) -> Option<Owner> {
    let since = live["metadata"]["creationTimestamp"].as_str()?;
    let mut made = entries.iter().filter(|entry| {
        let class = diff::manager_class(&entry.owner, &FieldPath::default());
        class == ManagerClass::Controller && entry.owner.subresource.is_empty() && entry.time == since
    });
    let first = made.next()?;
    made.next().is_none().then(|| first.owner.clone())
}

/// Returns the fields of others that stay on an object that is taken over, and that its manifest does not have.
fn staying(live: &Json, body: &Json, entries: &[diff::ManagedEntry], from: &[Former]) -> Vec<Contested> {
    let mut found = Vec::new();
    for entry in entries {
        let moved = from.iter().any(|former| former.is(&entry.owner));
        let class = diff::manager_class(&entry.owner, &FieldPath::default());
        if moved
            || !entry.owner.subresource.is_empty()
            || matches!(class, ManagerClass::Ours | ManagerClass::System)
        {
            continue;
        }
        let extra = entry.fields.leaves().into_iter();
        let extra = extra.filter(|path| path.find(live).is_some() && path.find(body).is_none());
        let (manager, since) = (entry.owner.to_string(), &entry.time);
        found.extend(extra.map(|path| Contested { path, manager: manager.clone(), since: since.clone() }));
    }
    found
}

/// Returns what the plan says about fields that others have, besides what blocks it.
pub(super) fn reasons(settled: &Settled) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = by_manager(settled.taken.iter())
        .map(|(manager, fields)| Reason::FieldsTaken { manager, fields })
        .collect();
    let mut left: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    for (path, to) in &settled.kept {
        let manager = match to {
            LeftTo::Manager(manager) => Some(manager.clone()),
            LeftTo::Autoscaler => None,
        };
        left.entry(manager).or_default().push(path.to_string());
    }
    reasons.extend(left.into_iter().map(|(manager, fields)| match manager {
        Some(manager) => Reason::FieldsLeft { manager, fields },
        None => Reason::LeftToAutoscaler { fields },
    }));
    let stays = by_manager(settled.stays.iter());
    reasons.extend(stays.map(|(manager, fields)| Reason::ForeignFieldsStay { manager, fields }));
    if settled.shared > 0 {
        reasons.push(Reason::FieldsShared { count: settled.shared });
    }
    reasons
}

fn by_manager<'a>(
    fields: impl Iterator<Item = &'a Contested>,
) -> impl Iterator<Item = (String, Vec<String>)> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for field in fields {
        all.entry(field.manager.clone()).or_default().push(field.path.to_string());
    }
    all.into_iter()
}

/// Returns a reason for each field whose owner blocks the release, with both values.
pub(super) fn conflicts(object: &ObservedObject, app: &str, masker: Masker<'_>) -> Vec<Reason> {
    let Some(live) = &object.live else { return Vec::new() };
    let conflict = |field: &Contested| Reason::FieldConflict {
        object: object.key.clone(),
        field: field.path.to_string(),
        manager: field.manager.clone(),
        live: refused::shown_value(live, &field.path, masker),
        desired: refused::shown_value(&object.body, &field.path, masker),
        app: app.to_owned(),
    };
    object.settled.refused.iter().map(conflict).collect()
}

/// Returns the managers of entries, each once.
pub(super) fn managers(from: &[Former]) -> Vec<String> {
    from.iter().map(|former| former.manager.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests;
