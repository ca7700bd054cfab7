//! Moving the ownership of others into our apply entry, and what an object becomes by it.
//!
//! The move is that of client-go's `csaupgrade`. An entry that an ordinary update left under our name, or that
//! whoever made the object left under another one, keeps every field it owns alive when the manifest drops it;
//! so such entries are folded into our apply entry before anything is applied.

use serde_json::Value as Json;

use super::fieldset::{FieldSet, resolve};
use super::managed::{Operation, Owner, is_ours, managed_entries, owner, raw_entries};
use crate::model::split_api_version;

/// Whose fields are moved: every entry of this manager that was written in this way, but not through a subresource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Former {
    /// The manager.
    pub manager: String,
    /// How it wrote.
    pub operation: Operation,
}

impl Former {
    /// Returns the ordinary updates of a manager.
    pub fn updates_of(manager: &str) -> Self {
        Self { manager: manager.to_owned(), operation: Operation::Update }
    }

    /// Tells whether an entry is one of these.
    pub fn is(&self, owner: &Owner) -> bool {
        is_ours(owner, &self.manager, self.operation)
    }
}

/// Returns the `managedFields` in which everything that `from` own belongs to the apply entry of `manager`;
/// nothing if there is nothing to move.
///
/// Entries of another version of the same group are moved too: the names of fields hardly change between
/// versions, and the server drops names it does not know. Entries of other groups are removed, as `csaupgrade`
/// does. The apply entry of `manager` may itself be in `from`: then it is brought to the version of the object,
/// because the server cannot read entries of a version that was removed.
pub fn fold_updates(object: &Json, manager: &str, from: &[Former]) -> Option<Vec<Json>> {
    let entries = raw_entries(object);
    let is_apply = |entry: &Json| is_ours(&owner(entry), manager, Operation::Apply);
    let is_old = |entry: &Json| from.iter().any(|former| former.is(&owner(entry))) && !is_apply(entry);
    let apply = entries.iter().position(is_apply);
    let moves_version = from.contains(&Former { manager: manager.to_owned(), operation: Operation::Apply });
    let newest = entries.iter().rposition(is_old);
    let target = match (apply, newest) {
        (Some(apply), Some(_)) => apply,
        (None, Some(newest)) => newest,
        (Some(apply), None) if moves_version && entries[apply]["apiVersion"] != object["apiVersion"] => apply,
        (_, None) => return None,
    };
    let mut folded = entries[target].clone();
    let version = owner(&folded).api_version;
    let group = |version: &str| split_api_version(version).0.to_owned();
    let same_group = |entry: &&Json| group(&owner(entry).api_version) == group(&version);
    let fields = entries
        .iter()
        .filter(|entry| is_old(entry))
        .filter(same_group)
        .fold(FieldSet::parse(&folded["fieldsV1"]), |set, entry| {
            set.union(&FieldSet::parse(&entry["fieldsV1"]))
        });
    folded["manager"] = manager.into();
    folded["operation"] = "Apply".into();
    folded["fieldsV1"] = fields.to_json();
    if let Some(current) = object["apiVersion"].as_str().filter(|_| moves_version)
        && group(current) == group(&version)
    {
        folded["apiVersion"] = current.into();
    }
    let kept = entries.iter().enumerate().filter(|(at, entry)| *at == target || !is_old(entry));
    Some(kept.map(|(at, entry)| if at == target { folded.clone() } else { entry.clone() }).collect())
}

/// Returns the object that is there once the ownership of `from` was moved to `manager`, and `desired` applied by
/// it: what `manager` owns then, nobody else does and `desired` lacks is gone. The server's defaults are still to
/// come: a dry run of a replacement by this object tells what it would store.
///
/// Dry runs do not build on each other, so the server cannot be asked for the two steps.
pub fn after_fold(live: &Json, desired: &Json, manager: &str, from: &[Former]) -> Json {
    let (mut ours, mut others) = (FieldSet::default(), FieldSet::default());
    for entry in managed_entries(live) {
        let moved = from.iter().any(|former| former.is(&entry.owner));
        if moved || is_ours(&entry.owner, manager, Operation::Apply) {
            ours = ours.union(&entry.fields);
        } else {
            others = others.union(&entry.fields);
        }
    }
    let mut result = live.clone();
    drop_owned(&ours, Some(&others), &mut result, Some(desired));
    overlay(&mut result, desired, [Some(&ours), Some(&others)]);
    if let Some(metadata) = result.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.remove("managedFields");
    }
    result
}

/// Removes what is owned here, nowhere else, and not desired.
fn drop_owned(owned: &FieldSet, others: Option<&FieldSet>, live: &mut Json, desired: Option<&Json>) {
    for (name, child) in owned.children() {
        let wanted = desired.and_then(|desired| resolve(desired, name));
        let foreign = others.and_then(|others| others.below(&[name]));
        let unwanted = wanted.is_none() && foreign.is_none();
        if unwanted && child.is_member() {
            take_out(live, name);
            continue;
        }
        let Some(below) = resolve_mut(live, name) else { continue };
        drop_owned(child, foreign, below, wanted);
        let is_empty = match below {
            Json::Object(members) => members.is_empty(),
            Json::Array(elements) => elements.is_empty(),
            _ => false,
        };
        if unwanted && is_empty {
            take_out(live, name);
        }
    }
}

fn resolve_mut<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    match place(json, name)? {
        Place::Member => json.get_mut(&name[2..]),
        Place::Element(index) => json.get_mut(index),
    }
}

fn take_out(json: &mut Json, name: &str) {
    match (place(json, name), json) {
        (Some(Place::Member), Json::Object(members)) => drop(members.remove(&name[2..])),
        (Some(Place::Element(index)), Json::Array(elements)) => drop(elements.remove(index)),
        _ => {}
    }
}

enum Place {
    Member,
    Element(usize),
}

fn place(json: &Json, name: &str) -> Option<Place> {
    let found = resolve(json, name)?;
    match json {
        Json::Object(_) => Some(Place::Member),
        Json::Array(items) => items.iter().position(|item| std::ptr::eq(item, found)).map(Place::Element),
        _ => None,
    }
}

/// Lays the desired fields over an object. Which lists are merged by element is told by who owns elements of them.
fn overlay(live: &mut Json, desired: &Json, sets: [Option<&FieldSet>; 2]) {
    let known = || sets.iter().copied().flatten();
    let atomic = known().any(FieldSet::is_leaf) && !known().any(FieldSet::has_members);
    match (live, desired) {
        (Json::Object(live), Json::Object(desired)) if !atomic => {
            for (key, wanted) in desired {
                match live.get_mut(key) {
                    Some(below) => overlay(below, wanted, sets.map(|set| set.and_then(|set| set.field(key)))),
                    None => drop(live.insert(key.clone(), wanted.clone())),
                }
            }
        }
        (Json::Array(live), Json::Array(desired)) if known().any(FieldSet::has_members) => {
            merge_lists(live, desired, sets);
        }
        (live, desired) => *live = desired.clone(),
    }
}

/// Merges lists whose elements have an owner each: in the order of the desired one, with what only the live one has
/// where it was.
fn merge_lists(live: &mut Vec<Json>, desired: &[Json], sets: [Option<&FieldSet>; 2]) {
    let old = Json::Array(std::mem::take(live));
    let items = old.as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> =
        sets.iter().copied().flatten().flat_map(FieldSet::children).map(|(name, _)| name).collect();
    let keys: Vec<String> = names
        .iter()
        .find_map(|name| serde_json::from_str::<serde_json::Map<String, Json>>(name.strip_prefix("k:")?).ok())
        .map(|keys| keys.into_iter().map(|(key, _)| key).collect())
        .unwrap_or_default();
    let partner = |wanted: &Json| items.iter().position(|item| is_same_element(item, wanted, &keys));
    let partners: Vec<Option<usize>> = desired.iter().map(partner).collect();
    let mut next = 0;
    for (wanted, partner) in desired.iter().zip(&partners) {
        let Some(at) = *partner else {
            live.push(wanted.clone());
            continue;
        };
        let before = (next..at).filter(|index| !partners.contains(&Some(*index)));
        live.extend(before.map(|index| items[index].clone()));
        next = next.max(at + 1);
        let mut merged = items[at].clone();
        let below = sets.map(|set| {
            let mut children = set?.children();
            children
                .find(|(name, _)| resolve(&old, name).is_some_and(|found| std::ptr::eq(found, &items[at])))
                .map(|(_, child)| child)
        });
        overlay(&mut merged, wanted, below);
        live.push(merged);
    }
    let rest = (next..items.len()).filter(|index| !partners.contains(&Some(*index)));
    live.extend(rest.map(|index| items[index].clone()));
}

/// A key that one of the two leaves to the server does not tell them apart, as long as another one is the same.
fn is_same_element(a: &Json, b: &Json, keys: &[String]) -> bool {
    if keys.is_empty() {
        return a == b;
    }
    let same = |key: &String| match (a.get(key), b.get(key)) {
        (Some(a), Some(b)) => Some(a == b),
        _ => None,
    };
    keys.iter().filter_map(same).all(|same| same) && keys.iter().any(|key| same(key) == Some(true))
}

#[cfg(test)]
mod tests;
