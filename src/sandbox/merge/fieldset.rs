//! Sets of fields, as `managedFields` stores them.
//!
//! Source: Kubernetes structured-merge-diff (`fieldpath`): a set has members, and children with sets of their own.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::sandbox::schema::{Shape, Type};

/// One step into an object.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A member.
    Field(String),
    /// The element with these members.
    Key(Vec<(String, Value)>),
    /// The element that equals this.
    Value(Value),
    /// An element by position.
    Index(usize),
}

impl Step {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// Returns the step as `managedFields` spells it.
    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(members) => {
                let members: Map<String, Value> = members.iter().cloned().collect();
                format!("k:{}", Value::Object(members))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (tag, rest) = text.split_once(':')?;
        Some(match tag {
            "f" => Self::field(rest),
            "k" => {
                let members: Map<String, Value> = serde_json::from_str(rest).ok()?;
                Self::Key(members.into_iter().collect())
            }
            "v" => Self::Value(serde_json::from_str(rest).ok()?),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

/// As conflicts and errors name a step.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "[{}]", members.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let each = a.iter().zip(b).map(|(a, b)| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1)));
                each.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

/// The order of values: numbers, text, booleans, lists, objects, null.
fn order(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.as_f64().partial_cmp(&y.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Array(x), Value::Array(y)) => {
            let each = x.iter().zip(y).map(|(x, y)| order(x, y));
            each.fold(Ordering::Equal, Ordering::then).then(x.len().cmp(&y.len()))
        }
        (Value::Object(x), Value::Object(y)) => {
            let each = x.iter().zip(y).map(|(x, y)| x.0.cmp(y.0).then_with(|| order(x.1, y.1)));
            each.fold(Ordering::Equal, Ordering::then).then(x.len().cmp(&y.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Tells whether two values mean the same: `1` and `1.0` do.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    a == b || order(a, b) == Ordering::Equal
}

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    members: BTreeSet<Step>,
    children: BTreeMap<Step, FieldSet>,
}

impl FieldSet {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds a field; the root is none.
    pub(super) fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Returns the set of fields that are given by names, such as `["metadata", "labels"]`.
    pub(super) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| Step::field(name)).collect::<Vec<_>>());
        }
        set
    }

    pub(super) fn has(&self, step: &Step) -> bool {
        self.members.contains(step)
    }

    pub(super) fn below(&self, step: &Step) -> Option<&Self> {
        self.children.get(step).filter(|set| !set.is_empty())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.members.extend(other.members.iter().cloned());
        for (step, set) in &other.children {
            let joined = all.children.get(step).map_or_else(|| set.clone(), |own| own.union(set));
            all.children.insert(step.clone(), joined);
        }
        all
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(step, set)| {
            let both = set.intersection(other.children.get(step)?);
            (!both.is_empty()).then(|| (step.clone(), both))
        });
        Self { members, children: children.collect() }
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(step, set)| {
            let rest = other.children.get(step).map_or_else(|| set.clone(), |gone| set.difference(gone));
            (!rest.is_empty()).then(|| (step.clone(), rest))
        });
        Self { members, children: children.collect() }
    }

    /// Takes out fields with all that is below them.
    pub(super) fn without(&self, gone: &Self) -> Self {
        let members = self.members.difference(&gone.members).cloned().collect();
        let kept = self.children.iter().filter(|(step, _)| !gone.members.contains(step));
        let children = kept.filter_map(|(step, set)| {
            let rest = gone.children.get(step).map_or_else(|| set.clone(), |gone| set.without(gone));
            (!rest.is_empty()).then(|| (step.clone(), rest))
        });
        Self { members, children: children.collect() }
    }

    /// Adds the fields that enclose others, where the type names them.
    pub(super) fn with_enclosing(&self, kind: Type<'_>) -> Self {
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (step, set) in &self.children {
            let below = match step {
                Step::Field(name) => {
                    if kind.field(name).is_some() {
                        members.insert(step.clone());
                    }
                    kind.member(name).unwrap_or_else(Type::untyped)
                }
                Step::Key(_) if kind.shape(Some(&Value::Array(Vec::new()))) == Shape::List => kind.item(),
                Step::Key(_) | Step::Value(_) | Step::Index(_) => kind,
            };
            children.insert(step.clone(), set.with_enclosing(below));
        }
        Self { members, children }
    }

    /// Returns all paths: those of the members before those below.
    pub(super) fn paths(&self) -> Vec<Vec<Step>> {
        let mut found: Vec<Vec<Step>> = self.members.iter().map(|step| vec![step.clone()]).collect();
        for (step, set) in &self.children {
            let below = set.paths().into_iter().map(|rest| [vec![step.clone()], rest].concat());
            found.extend(below);
        }
        found
    }

    /// Returns the set as `fieldsV1`.
    pub(super) fn encode(&self) -> Value {
        let mut all = Map::new();
        for step in &self.members {
            all.insert(step.encode(), Value::Object(Map::new()));
        }
        for (step, set) in self.children.iter().filter(|(_, set)| !set.is_empty()) {
            let mut below = set.encode();
            if self.members.contains(step) {
                below["."] = Value::Object(Map::new());
            }
            all.insert(step.encode(), below);
        }
        Value::Object(all)
    }

    /// Reads `fieldsV1`; nothing if it is none.
    pub(super) fn decode(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (text, below) in fields.as_object()? {
            if text == "." {
                continue;
            }
            let step = Step::decode(text)?;
            let inner = Self::decode(below)?;
            if inner.is_empty() || below.get(".").is_some() {
                set.members.insert(step.clone());
            }
            if !inner.is_empty() {
                set.children.insert(step, inner);
            }
        }
        Some(set)
    }
}
