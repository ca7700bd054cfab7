//! Which fields differ between two objects, by meaning: list elements are matched by their keys, numbers and
//! quantities by value.

use serde_json::Value as Json;

use super::path::{FieldPath, Step};
use super::quantity;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Where.
    pub path: FieldPath,
    /// The value before, short and for display; nothing if the field is new.
    pub before: Option<String>,
    /// The value after; nothing if the field goes.
    pub after: Option<String>,
}

/// Longest value that is shown with a path.
const SHOWN: usize = 100;

/// Members by which elements of a list are told apart, tried in this order. A member in the second list may be
/// missing: the server fills it in.
const LIST_KEYS: [(&[&str], &[&str]); 10] = [
    (&["name"], &[]),
    (&["mountPath"], &[]),
    (&["devicePath"], &[]),
    (&["containerPort"], &["protocol"]),
    (&["port"], &["protocol"]),
    (&["topologyKey", "whenUnsatisfiable"], &[]),
    (&["uid"], &[]),
    (&["type"], &[]),
    (&["ip"], &[]),
    (&["metadata/name"], &[]),
];

/// Returns `after` with the spelling of `before` wherever both mean the same.
pub(super) fn respell(path: &FieldPath, before: &Json, after: Json) -> Json {
    match (before, after) {
        (Json::Object(old), Json::Object(new)) => Json::Object(
            new.into_iter()
                .map(|(key, value)| match old.get(&key) {
                    Some(previous) => (key.clone(), respell(&path.key(&key), previous, value)),
                    None => (key, value),
                })
                .collect(),
        ),
        (Json::Array(old), Json::Array(new)) => {
            let keys = list_keys(old, &new);
            let respelt = new.into_iter().enumerate().map(|(index, value)| {
                let step = step(keys, &value, index);
                let previous = match keys {
                    Some(_) => old.iter().enumerate().find(|(at, item)| self::step(keys, item, *at) == step),
                    None => old.get(index).map(|item| (index, item)),
                };
                match previous {
                    Some((_, previous)) => respell(&path.join(step), previous, value),
                    None => value,
                }
            });
            Json::Array(respelt.collect())
        }
        (old, new) if same_scalar(path, old, &new) => old.clone(),
        (_, new) => new,
    }
}

/// Returns `live` without what `desired` says nothing about, mostly defaults of the server.
pub(super) fn project(live: &Json, desired: &Json) -> Json {
    match (live, desired) {
        (Json::Object(live), Json::Object(desired)) => {
            let said = live.iter().filter_map(|(key, value)| Some((key, value, desired.get(key)?)));
            Json::Object(said.map(|(key, live, desired)| (key.clone(), project(live, desired))).collect())
        }
        (Json::Array(live), Json::Array(desired)) => {
            let keys = list_keys(live, desired);
            let projected = live.iter().enumerate().map(|(index, item)| {
                let own = step(keys, item, index);
                let other =
                    desired.iter().enumerate().find(|(index, other)| step(keys, other, *index) == own);
                other.map_or_else(|| item.clone(), |(_, other)| project(item, other))
            });
            Json::Array(projected.collect())
        }
        (live, _) => live.clone(),
    }
}

/// Appends the fields in which the two trees differ.
pub(super) fn changes(path: &FieldPath, before: &Json, after: &Json, found: &mut Vec<FieldChange>) {
    match (before, after) {
        (Json::Object(old), Json::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            let mut keys: Vec<&String> = old.keys().chain(added).collect();
            keys.sort();
            for key in keys {
                change(&path.key(key), old.get(key), new.get(key), found);
            }
        }
        (Json::Array(old), Json::Array(new)) if old != new => list_changes(path, old, new, found),
        (old, new) if old == new || same_scalar(path, old, new) => {}
        (old, new) => change_of(path, Some(old), Some(new), found),
    }
}

fn change(path: &FieldPath, before: Option<&Json>, after: Option<&Json>, found: &mut Vec<FieldChange>) {
    match (before, after) {
        (Some(before), Some(after)) => changes(path, before, after, found),
        (None, None) => {}
        (before, after) => change_of(path, before, after, found),
    }
}

fn change_of(path: &FieldPath, before: Option<&Json>, after: Option<&Json>, found: &mut Vec<FieldChange>) {
    found.push(FieldChange { path: path.clone(), before: before.map(show), after: after.map(show) });
}

fn list_changes(path: &FieldPath, old: &[Json], new: &[Json], found: &mut Vec<FieldChange>) {
    let Some(keys) = list_keys(old, new) else {
        let nested = |list: &[Json]| list.iter().any(|item| item.is_object() || item.is_array());
        if old.len() == new.len() && nested(old) && nested(new) {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                changes(&path.join(Step::Index(index)), old, new, found);
            }
        } else {
            change_of(path, Some(&Json::from(old)), Some(&Json::from(new)), found);
        }
        return;
    };
    let steps = |list: &[Json]| -> Vec<Step> { list.iter().map(|item| step(Some(keys), item, 0)).collect() };
    let (old_steps, new_steps) = (steps(old), steps(new));
    let count = found.len();
    for (step, item) in old_steps.iter().zip(old) {
        let after = new_steps.iter().position(|other| other == step).map(|at| &new[at]);
        change(&path.join(step.clone()), Some(item), after, found);
    }
    for (step, item) in new_steps.iter().zip(new).filter(|(step, _)| !old_steps.contains(step)) {
        change(&path.join(step.clone()), None, Some(item), found);
    }
    if found.len() == count && old_steps != new_steps {
        let order = |steps: &[Step]| {
            Some(steps.iter().map(|step| FieldPath(vec![step.clone()]).to_string()).collect())
        };
        found.push(FieldChange { path: path.clone(), before: order(&old_steps), after: order(&new_steps) });
    }
}

type ListKeys = &'static (&'static [&'static str], &'static [&'static str]);

/// Returns the members that tell apart the elements of both lists, if some do.
fn list_keys(old: &[Json], new: &[Json]) -> Option<ListKeys> {
    LIST_KEYS.iter().find(|keys| is_keyed(old, keys) && is_keyed(new, keys))
}

fn is_keyed(list: &[Json], keys: ListKeys) -> bool {
    let mut seen = Vec::new();
    list.iter().all(|item| {
        let complete = keys
            .0
            .iter()
            .all(|key| member(item, key).is_some_and(|value| !value.is_object() && !value.is_array()));
        let step = step(Some(keys), item, 0);
        let new = !seen.contains(&step);
        seen.push(step);
        complete && new
    })
}

/// Returns the step to each element of a list: by what tells it apart, else by position.
pub(super) fn steps(list: &[Json]) -> Vec<Step> {
    let keys = list_keys(list, list);
    list.iter().enumerate().map(|(index, item)| step(keys, item, index)).collect()
}

fn step(keys: Option<ListKeys>, item: &Json, index: usize) -> Step {
    let Some((required, optional)) = keys else { return Step::Index(index) };
    let members = required.iter().chain(*optional).filter_map(|key| {
        let value = member(item, key)?;
        // The protocol is told only where it is not the default.
        let default = *key == "protocol" && value == "TCP";
        (!default).then(|| (key.replace('/', "."), plain(value)))
    });
    Step::Match(members.collect())
}

fn member<'a>(item: &'a Json, key: &str) -> Option<&'a Json> {
    key.split('/').try_fold(item, |item, key| item.get(key)).filter(|value| !value.is_null())
}

fn same_scalar(path: &FieldPath, a: &Json, b: &Json) -> bool {
    let numbers = a.as_f64().is_some_and(|a| b.as_f64() == Some(a));
    numbers || (quantity::is_quantity(path) && quantity::equal(a, b))
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a short text of a value.
fn show(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
