//! Walks over typed objects: validate, merge, compare, list the fields, take fields out.
//!
//! Source: Kubernetes structured-merge-diff (`typed`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fieldset::{FieldSet, Step, same};
use crate::sandbox::schema::{ListKind, Scalar, Shape, Type};

/// Returns the step to an element of a list whose elements are told apart.
fn step_of(kind: Type<'_>, element: &Value) -> Result<Step, String> {
    let keys = match kind.list_kind() {
        ListKind::Atomic => return Err("invalid indexing of non-associative list".to_owned()),
        ListKind::Map(keys) => keys,
        ListKind::Set => {
            return match element {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                value => Ok(Step::Value(value.clone())),
            };
        }
    };
    if element.is_null() {
        return Err("associative list with keys may not have a null element".to_owned());
    }
    let Some(members) = element.as_object() else {
        return Err("associative list with keys may not have non-map elements".to_owned());
    };
    let mut found = Vec::new();
    for key in &keys {
        let default = || kind.item().field(key).map(|field| field.says("default").clone());
        let value = members.get(*key).cloned();
        found.extend(
            value
                .or_else(|| default().filter(|value| !value.is_null()))
                .map(|value| ((*key).to_owned(), value)),
        );
    }
    if found.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Step::Key(found))
}

fn as_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn as_list(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}

/// Checks an object against its type. `twice` admits equal elements.
pub(super) fn validate(kind: Type<'_>, value: &Value, twice: bool) -> Vec<String> {
    let mut errors = Vec::new();
    check(kind, value, twice, "", &mut errors);
    errors
}

fn check(kind: Type<'_>, value: &Value, twice: bool, path: &str, errors: &mut Vec<String>) {
    let mut tell = |text: String| {
        errors.push(if path.is_empty() { text } else { format!("{path}: {text}") });
    };
    match (kind.shape(Some(value)), value) {
        (_, Value::Null) => {}
        (Shape::Map, Value::Object(members)) => {
            for (key, member) in members {
                let path = format!("{path}.{key}");
                match kind.member(key) {
                    Some(kind) => check(kind, member, twice, &path, errors),
                    None => {
                        errors.push(format!("{path}: field not declared in schema"));
                        return;
                    }
                }
            }
        }
        (Shape::List, Value::Array(elements)) => {
            let named = kind.list_kind() != ListKind::Atomic;
            let mut seen = Vec::new();
            for (at, element) in elements.iter().enumerate() {
                let step = if named { step_of(kind, element) } else { Ok(Step::Index(at)) };
                match step {
                    Ok(step) => {
                        if named && !twice && seen.contains(&step) {
                            let text = format!("duplicate entries for key {step}");
                            errors.push(if path.is_empty() { text } else { format!("{path}: {text}") });
                        }
                        check(kind.item(), element, twice, &format!("{path}{step}"), errors);
                        seen.push(step);
                    }
                    Err(why) => {
                        errors.push(format!("{path}: element {at}: {why}"));
                        return;
                    }
                }
            }
        }
        (Shape::Map, other) => tell(format!("expected map, got {}", go_value(other))),
        (Shape::List, other) => tell(format!("expected list, got {}", go_value(other))),
        (Shape::Scalar(scalar), value) => {
            let fits = match scalar {
                Scalar::Numeric => value.is_number(),
                Scalar::String => value.is_string(),
                Scalar::Boolean => value.is_boolean(),
                Scalar::Untyped => !value.is_object() && !value.is_array(),
            };
            if !fits {
                tell(match scalar {
                    Scalar::Numeric => format!("expected numeric (int or float), got {}", go_type(value)),
                    Scalar::String => {
                        format!(
                            "expected string, got &value.valueUnstructured{{Value:{}}}",
                            go_literal(value)
                        )
                    }
                    Scalar::Boolean => format!("expected boolean, got {}", go_value(value)),
                    Scalar::Untyped => format!("expected any scalar, got {}", go_value(value)),
                });
            }
        }
    }
}

/// The name of a value's type, as Go prints it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `%#v` prints it.
fn go_literal(value: &Value) -> String {
    match value {
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(go_literal).collect();
            format!("[]interface {{}}{{{}}}", elements.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key:?}:{}", go_literal(value))).collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// A value as Go's `%v` prints it inside the wrapper that the server uses.
fn go_value(value: &Value) -> String {
    fn inner(value: &Value) -> String {
        match value {
            Value::Null => "<nil>".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(elements) => {
                format!("[{}]", elements.iter().map(inner).collect::<Vec<_>>().join(" "))
            }
            Value::Object(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{key}:{}", inner(value))).collect();
                format!("map[{}]", members.join(" "))
            }
            other => other.to_string(),
        }
    }
    format!("&{{{}}}", inner(value))
}

/// Merges `rhs` over `lhs`; at least one is given. Nothing comes out where both are empty of anything.
///
/// # Errors
///
/// Returns what the server says of elements that cannot be told apart.
pub(super) fn merge(
    kind: Type<'_>,
    lhs: Option<&Value>,
    rhs: Option<&Value>,
) -> Result<Option<Value>, String> {
    let leaf = || rhs.or(lhs).cloned();
    let shape = if rhs.is_some() { kind.shape(rhs) } else { kind.shape(lhs) };
    match shape {
        Shape::Scalar(_) => Ok(leaf()),
        Shape::Map => {
            let (left, right) = (as_map(lhs), as_map(rhs));
            let both_empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
            if kind.is_atomic_map() || both_empty {
                return Ok(leaf());
            }
            let keys = left.into_iter().chain(right).flat_map(Map::keys);
            let mut out = Map::new();
            for key in keys {
                if out.contains_key(key) {
                    continue;
                }
                let below = kind.member(key).unwrap_or_else(Type::untyped);
                let (left, right) = (left.and_then(|map| map.get(key)), right.and_then(|map| map.get(key)));
                let merged = merge(below, left, right).map_err(|why| format!(".{key}{why}"))?;
                if let Some(value) = merged {
                    out.insert(key.clone(), value);
                }
            }
            Ok((!out.is_empty()).then_some(Value::Object(out)))
        }
        Shape::List => {
            let (left, right) = (as_list(lhs), as_list(rhs));
            let both_empty = left.is_none_or(Vec::is_empty) && right.is_none_or(Vec::is_empty);
            if kind.list_kind() == ListKind::Atomic || both_empty {
                return Ok(leaf());
            }
            let none = Vec::new();
            let out = merge_lists(kind, left.unwrap_or(&none), right.unwrap_or(&none))?;
            Ok((!out.is_empty()).then_some(Value::Array(out)))
        }
    }
}

fn steps_of(kind: Type<'_>, elements: &[Value]) -> Result<Vec<Step>, String> {
    let each = elements.iter().enumerate();
    each.map(|(at, element)| step_of(kind, element).map_err(|why| format!(": element {at}: {why}"))).collect()
}

/// Merges two lists: the order of the right one counts, and what only the left one has keeps its place between.
fn merge_lists(kind: Type<'_>, lhs: &[Value], rhs: &[Value]) -> Result<Vec<Value>, String> {
    let (left, right) = (steps_of(kind, lhs)?, steps_of(kind, rhs)?);
    // An element that stands there twice on the left cannot be merged with one of the right.
    let at_left = |step: &Step| {
        let mut places = left.iter().enumerate().filter(|(_, one)| *one == step);
        match (places.next(), places.next()) {
            (Some((at, _)), None) => Some(&lhs[at]),
            (Some(_), Some(_)) => Some(&Value::Null),
            (None, _) => None,
        }
    };
    let at_right = |step: &Step| right.iter().position(|one| one == step).map(|at| &rhs[at]);
    let in_right = |step: &Step| right.contains(step);
    let mut shared = right.iter().filter(|step| left.contains(step));
    let mut next_shared = shared.next();
    let mut merged: Vec<&Step> = Vec::new();
    let mut out = Vec::new();
    let mut add = |left: Option<&Value>, right: Option<&Value>, step: &Step| -> Result<(), String> {
        out.extend(merge(kind.item(), left, right).map_err(|why| format!("{step}{why}"))?);
        Ok(())
    };
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some(own), Some(new)) = (left.get(l), right.get(r)) {
            if own == new {
                merged.push(own);
                add(at_left(own), at_right(own), own)?;
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if in_right(own) && next_shared.is_some_and(|next| next != own) {
                l += 1;
                continue;
            }
        }
        if let Some(own) = left.get(l) {
            if !in_right(own) {
                add(Some(&lhs[l]), None, own)?;
                l += 1;
                continue;
            }
            if merged.contains(&own) {
                l += 1;
            }
        }
        if let Some(new) = right.get(r) {
            merged.push(new);
            add(at_left(new), at_right(new), new)?;
            r += 1;
            if next_shared == Some(new) {
                next_shared = shared.next();
            }
        }
    }
    Ok(out)
}

/// What differs between two objects.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Leaves out fields, with all that is below them.
    pub(super) fn without(self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.without(fields),
            modified: self.modified.without(fields),
            added: self.added.without(fields),
        }
    }
}

/// Compares two objects of one type.
pub(super) fn compare(kind: Type<'_>, lhs: &Value, rhs: &Value) -> Comparison {
    let mut found = Comparison::default();
    differ(kind, Some(lhs), Some(rhs), &mut Vec::new(), &mut found);
    found
}

fn differ(
    kind: Type<'_>,
    lhs: Option<&Value>,
    rhs: Option<&Value>,
    path: &mut Vec<Step>,
    found: &mut Comparison,
) {
    let (left, right) = (kind.shape(lhs), kind.shape(rhs));
    if lhs.is_some() && rhs.is_some() && left != right {
        differ_as(left, kind, lhs, rhs, path, found);
    }
    let shape = if rhs.is_some() { right } else { left };
    let is_leaf = differ_as(shape, kind, lhs, rhs, path, found);
    if !is_leaf {
        match (lhs, rhs) {
            (None, _) => found.added.insert(path),
            (_, None) => found.removed.insert(path),
            _ => {}
        }
    }
}

/// Compares values as a shape; tells whether they were taken as one value.
fn differ_as(
    shape: Shape,
    kind: Type<'_>,
    lhs: Option<&Value>,
    rhs: Option<&Value>,
    path: &mut Vec<Step>,
    found: &mut Comparison,
) -> bool {
    let leaf = |found: &mut Comparison| {
        match (lhs, rhs) {
            (None, _) => found.added.insert(path),
            (_, None) => found.removed.insert(path),
            (Some(lhs), Some(rhs)) if !same(lhs, rhs) => found.modified.insert(path),
            _ => {}
        }
        true
    };
    match shape {
        Shape::Scalar(_) => leaf(found),
        Shape::Map => {
            let (left, right) = (as_map(lhs), as_map(rhs));
            let both_empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
            if kind.is_atomic_map() || both_empty {
                return leaf(found);
            }
            let mut keys: Vec<&String> = left.into_iter().chain(right).flat_map(Map::keys).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let below = kind.member(key).unwrap_or_else(Type::untyped);
                path.push(Step::field(key));
                let (left, right) = (left.and_then(|map| map.get(key)), right.and_then(|map| map.get(key)));
                differ(below, left, right, path, found);
                path.pop();
            }
            false
        }
        Shape::List => {
            let (left, right) = (as_list(lhs), as_list(rhs));
            let both_empty = left.is_none_or(Vec::is_empty) && right.is_none_or(Vec::is_empty);
            if kind.list_kind() == ListKind::Atomic || both_empty {
                return leaf(found);
            }
            differ_in_lists(kind, left, right, path, found);
            false
        }
    }
}

fn differ_in_lists(
    kind: Type<'_>,
    lhs: Option<&Vec<Value>>,
    rhs: Option<&Vec<Value>>,
    path: &mut Vec<Step>,
    found: &mut Comparison,
) {
    let mut sides: BTreeMap<Step, [Vec<&Value>; 2]> = BTreeMap::new();
    for (side, list) in [lhs, rhs].into_iter().enumerate() {
        for element in list.into_iter().flatten() {
            if let Ok(step) = step_of(kind, element) {
                sides.entry(step).or_default()[side].push(element);
            }
        }
    }
    for (step, [left, right]) in sides {
        path.push(step);
        let first = |side: &[&'_ Value]| side.first().map(|value| (*value).clone());
        match (left.len(), right.len()) {
            (0 | 1, 0 | 1) => {
                let (left, right) = (first(&left), first(&right));
                differ(kind.item(), left.as_ref(), right.as_ref(), path, found);
            }
            (0 | 1, _) => {
                if let Some(left) = left.first() {
                    differ(kind.item(), Some(left), None, path, found);
                }
                found.added.insert(path);
            }
            (_, 0 | 1) => {
                if let Some(right) = right.first() {
                    differ(kind.item(), None, Some(right), path, found);
                }
                found.removed.insert(path);
            }
            _ => {
                let equal = left.len() == right.len() && left.iter().zip(&right).all(|(a, b)| same(a, b));
                if !equal {
                    found.modified.insert(path);
                }
            }
        }
        path.pop();
    }
}

/// Returns all fields of an object.
pub(super) fn fields(kind: Type<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    list_fields(kind, value, &mut Vec::new(), &mut set);
    set
}

fn list_fields(kind: Type<'_>, value: &Value, path: &mut Vec<Step>, set: &mut FieldSet) {
    match kind.shape(Some(value)) {
        Shape::Scalar(_) => set.insert(path),
        Shape::Map if kind.is_atomic_map() => set.insert(path),
        Shape::Map => {
            for (key, member) in value.as_object().into_iter().flatten() {
                path.push(Step::field(key));
                list_fields(kind.member(key).unwrap_or_else(Type::untyped), member, path, set);
                let is_empty = member.is_null() || member.as_object().is_some_and(Map::is_empty);
                if is_empty || kind.field(key).is_none() {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Shape::List if kind.list_kind() == ListKind::Atomic => set.insert(path),
        Shape::List => {
            let steps: Vec<Step> = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|element| step_of(kind, element).ok())
                .collect();
            for (element, step) in value.as_array().into_iter().flatten().zip(&steps) {
                let is_double = steps.iter().filter(|one| *one == step).count() > 1;
                path.push(step.clone());
                if !is_double {
                    list_fields(kind.item(), element, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
    }
}

/// Takes fields out of a value; nothing is left where all of it goes.
pub(super) fn remove(kind: Type<'_>, value: &Value, gone: &FieldSet) -> Option<Value> {
    let cut = |kind: Type<'_>, value: &Value, gone: &FieldSet| {
        remove(kind, value, gone).unwrap_or_else(|| match value {
            Value::Object(_) => Value::Object(Map::new()),
            Value::Array(_) => Value::Array(Vec::new()),
            _ => Value::Null,
        })
    };
    match (kind.shape(Some(value)), value) {
        (Shape::Scalar(_), value) => Some(value.clone()),
        (Shape::Map, Value::Object(members)) if !kind.is_atomic_map() => {
            let mut had = false;
            let mut kept = Map::new();
            for (key, member) in members {
                let step = Step::field(key);
                if gone.has(&step) {
                    continue;
                }
                let below = kind.member(key).unwrap_or_else(Type::untyped);
                let value = match gone.below(&step) {
                    Some(gone) => {
                        had = true;
                        cut(below, member, gone)
                    }
                    None => member.clone(),
                };
                kept.insert(key.clone(), value);
            }
            (had || !kept.is_empty()).then_some(Value::Object(kept))
        }
        (Shape::List, Value::Array(elements)) if kind.list_kind() != ListKind::Atomic => {
            let mut had = false;
            let mut kept = Vec::new();
            for element in elements {
                let Ok(step) = step_of(kind, element) else { continue };
                if gone.has(&step) {
                    continue;
                }
                kept.push(match gone.below(&step) {
                    Some(gone) => {
                        had = true;
                        cut(kind.item(), element, gone)
                    }
                    None => element.clone(),
                });
            }
            (had || !kept.is_empty()).then_some(Value::Array(kept))
        }
        (Shape::Map | Shape::List, _) => None,
    }
}
