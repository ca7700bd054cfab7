//! Names of fields inside an object, such as `spec.template.spec.containers[name=web].image`.

use std::fmt;

use serde_json::Value as Json;

use crate::model::{FieldPattern, PatternStep, glob};

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A member.
    Key(String),
    /// An element by position.
    Index(usize),
    /// The element with these members.
    Match(Vec<(String, String)>),
    /// The element that equals this value (JSON text).
    Value(String),
}

/// The way from an object's root to a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(pub Vec<Step>);

impl FieldPath {
    /// Returns the path one step further.
    #[must_use]
    pub fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns the path to a member.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.join(Step::Key(key.to_owned()))
    }

    /// Returns the names of the members on the way, without positions in lists.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) | Step::Match(_) | Step::Value(_) => None,
        })
    }
}

impl FieldPath {
    /// Reads a path as the server, or [`Display`](fmt::Display) here, writes it.
    pub fn parse(text: &str) -> Self {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first == '[' {
                let length = bracket_length(rest);
                steps.push(bracket(rest[1..length].trim_end_matches(']')));
                rest = &rest[length..];
            } else {
                let name = rest.trim_start_matches('.');
                let end = name.find(['.', '[']).unwrap_or(name.len());
                if end > 0 {
                    steps.push(Step::Key(name[..end].to_owned()));
                }
                rest = &name[end..];
            }
        }
        Self(steps)
    }

    /// Returns the field of an object, if it is there.
    pub fn find<'a>(&self, object: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(object, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(index),
            Step::Match(_) | Step::Value(_) => value.as_array()?.iter().find(|element| step.fits(element)),
        })
    }

    /// Returns the field of a part of an object that stands at `root`.
    pub(super) fn find_below<'a>(&self, root: &Self, part: &'a Json) -> Option<&'a Json> {
        Self(self.0.strip_prefix(root.0.as_slice())?.to_vec()).find(part)
    }

    /// Puts a value at a field of an object, if what encloses the field is there.
    pub fn set(&self, object: &mut Json, value: Json) {
        let Some((last, way)) = self.0.split_last() else { return };
        match (find_mut(object, way), last) {
            (Some(Json::Object(members)), Step::Key(key)) => drop(members.insert(key.clone(), value)),
            (Some(Json::Array(elements)), step) => {
                let place = elements.iter().enumerate().position(|(at, element)| match step {
                    Step::Index(index) => *index == at,
                    step => step.fits(element),
                });
                match place {
                    Some(at) => elements[at] = value,
                    None => elements.push(value),
                }
            }
            _ => {}
        }
    }

    /// Returns the field of an object for a change, if it is there.
    pub fn find_mut<'a>(&self, object: &'a mut Json) -> Option<&'a mut Json> {
        find_mut(object, &self.0)
    }

    /// Tells whether a pattern names the field, or one that it is in.
    pub fn is_below(&self, pattern: &FieldPattern) -> bool {
        let steps = pattern.steps();
        steps.len() <= self.0.len()
            && steps.iter().zip(&self.0).all(|(wanted, step)| step.is_meant_by(wanted))
    }

    /// Tells whether the field is in another one, or is that one.
    pub fn is_in(&self, other: &FieldPath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Takes the field out of an object, and what becomes empty by that around it; elements behind it move up.
    /// A field that is not there leaves the object as it is.
    pub fn cut(&self, object: &mut Json) {
        cut(&self.0, object);
    }

    /// Takes the field out of an object; elements behind it move up.
    pub fn remove(&self, object: &mut Json) {
        let Some((last, way)) = self.0.split_last() else { return };
        match (find_mut(object, way), last) {
            (Some(Json::Object(members)), Step::Key(key)) => drop(members.remove(key)),
            (Some(Json::Array(elements)), Step::Index(index)) if *index < elements.len() => {
                elements.remove(*index);
            }
            (Some(Json::Array(elements)), step) => elements.retain(|element| !step.fits(element)),
            _ => {}
        }
    }
}

fn cut(way: &[Step], value: &mut Json) {
    let Some((first, rest)) = way.split_first() else { return };
    let own = FieldPath(vec![first.clone()]);
    if rest.is_empty() {
        own.remove(value);
        return;
    }
    // Found before: the element may lose what it is found by.
    let place = value.as_array().and_then(|elements| match first {
        Step::Index(index) => Some(*index),
        step => elements.iter().position(|element| step.fits(element)),
    });
    let Some(below) = own.find_mut(value) else { return };
    cut(rest, below);
    let is_empty = match below {
        Json::Object(members) => members.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        _ => false,
    };
    if !is_empty {
        return;
    }
    match (value, place) {
        (Json::Array(elements), Some(place)) => drop(elements.remove(place)),
        (value, _) => own.remove(value),
    }
}

fn find_mut<'a>(object: &'a mut Json, way: &[Step]) -> Option<&'a mut Json> {
    way.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
        Step::Match(_) | Step::Value(_) => {
            value.as_array_mut()?.iter_mut().find(|element| step.fits(element))
        }
    })
}

impl Step {
    /// Tells whether a step of a pattern stands for this one.
    fn is_meant_by(&self, wanted: &PatternStep) -> bool {
        match (wanted, self) {
            (PatternStep::Name(pattern), _) if pattern == "*" => true,
            (PatternStep::Name(pattern), Step::Key(key)) => glob(pattern, key),
            (PatternStep::AnyElement, Step::Index(_) | Step::Match(_) | Step::Value(_)) => true,
            (PatternStep::Index(wanted), Step::Index(index)) => wanted == index,
            (PatternStep::Match(wanted), Step::Match(members)) => wanted
                .iter()
                .all(|(key, pattern)| members.iter().any(|(own, value)| own == key && glob(pattern, value))),
            (PatternStep::Value(pattern), Step::Value(json)) => glob(pattern, json.trim_matches('"')),
            (
                PatternStep::Name(_)
                | PatternStep::AnyElement
                | PatternStep::Index(_)
                | PatternStep::Match(_)
                | PatternStep::Value(_),
                _,
            ) => false,
        }
    }

    /// Tells whether an element of a list is the one that the step means.
    fn fits(&self, element: &Json) -> bool {
        match self {
            Step::Match(members) => members.iter().all(|(key, wanted)| {
                let found = key.split(['.', '/']).try_fold(element, |value, key| value.get(key));
                match found {
                    Some(Json::String(text)) => text == wanted,
                    Some(other) => same_text(other, wanted),
                    // A manifest may leave out what the server fills in.
                    None => wanted.is_empty() || (key == "protocol" && wanted == "TCP"),
                }
            }),
            Step::Value(json) => same_text(element, json),
            Step::Key(_) | Step::Index(_) => false,
        }
    }
}

/// Tells whether a value is written as this JSON text.
fn same_text(value: &Json, text: &str) -> bool {
    let written = value.to_string();
    written == text
}

/// Returns the length of the bracket that `text` begins with; quotes may hold brackets.
fn bracket_length(text: &str) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn bracket(text: &str) -> Step {
    if let Ok(index) = text.parse() {
        return Step::Index(index);
    }
    if let Some(value) = text.strip_prefix('=') {
        return Step::Value(value.to_owned());
    }
    if text.starts_with('"') {
        return Step::Key(serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned()));
    }
    let member = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (key.to_owned(), value.trim_matches('"').to_owned())
    };
    Step::Match(text.split(',').map(member).collect())
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if is_plain(key) => write!(f, "{}{key}", if at == 0 { "" } else { "." })?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Match(members) => {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    write!(f, "[{}]", members.join(","))?;
                }
                Step::Value(json) => write!(f, "[={json}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_that_was_written_is_found_again() {
        let object = serde_json::json!({"spec": {"containers": [{"name": "a"}, {"name": "web", "image": "x"}],
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "size": 1}], "ports": [1, 2]}, "data": {"a.b": "c"}});
        for (path, expected) in [
            ("spec.containers[name=web].image", Some("\"x\"")),
            ("spec.containers[1].image", Some("\"x\"")),
            ("spec.volumeClaimTemplates[metadata.name=data].size", Some("1")),
            ("data[\"a.b\"]", Some("\"c\"")),
            ("spec.ports[=2]", Some("2")),
            ("spec.containers[name=none].image", None),
            ("spec.nothing", None),
        ] {
            let parsed = FieldPath::parse(path);
            assert_eq!(parsed.find(&object).map(ToString::to_string).as_deref(), expected, "{path}");
            assert_eq!(parsed.to_string(), path);
            let mut without = object.clone();
            parsed.remove(&mut without);
            assert_eq!(without != object, expected.is_some(), "{path}");
            assert_eq!(parsed.find(&without), None, "{path}");
        }
        for odd in ["", "[", "[]", "..", "a[\"", "a]b"] {
            drop(FieldPath::parse(odd).to_string());
        }
    }

    #[test]
    fn patterns_name_fields_and_what_is_below() {
        let below = |path: &str, pattern: &str| {
            FieldPath::parse(path).is_below(&FieldPattern::parse(pattern).unwrap())
        };
        for (path, pattern, expected) in [
            ("spec.replicas", "spec.replicas", true),
            ("spec.replicas", "spec", true),
            ("spec.replicas", "spec.repl*", true),
            ("spec", "spec.replicas", false),
            ("spec.containers[name=web].image", "spec.containers[name=web].image", true),
            ("spec.containers[name=web].image", "spec.containers[name=w*]", true),
            ("spec.containers[name=web].image", "spec.containers[*].image", true),
            ("spec.containers[name=web].image", "spec.containers.*.image", true),
            ("spec.containers[name=web].image", "spec.containers[name=db].image", false),
            ("spec.ports[containerPort=80,protocol=TCP].name", "spec.ports[containerPort=80].name", true),
            ("metadata.annotations[\"a.b/c\"]", "metadata.annotations[a.b/*]", true),
            ("metadata.annotations[\"a.b/c\"]", "metadata.annotations.*", true),
            ("metadata.finalizers[=\"x\"]", "metadata.finalizers[=x]", true),
            ("metadata.finalizers[=\"x\"]", "metadata.finalizers[0]", false),
        ] {
            assert_eq!(below(path, pattern), expected, "{path} {pattern}");
        }
    }

    #[test]
    fn what_becomes_empty_goes_along() {
        for (path, expected) in [
            ("metadata.annotations.a", json!({"spec": {"ports": [{"port": 1}]}})),
            ("spec.ports[port=1,protocol=TCP].port", json!({"metadata": {"annotations": {"a": "1"}}})),
            (
                "spec.nothing",
                json!({"metadata": {"annotations": {"a": "1"}}, "spec": {"ports": [{"port": 1}]}}),
            ),
        ] {
            let mut object =
                json!({"metadata": {"annotations": {"a": "1"}}, "spec": {"ports": [{"port": 1}]}});
            FieldPath::parse(path).cut(&mut object);
            assert_eq!(object, expected, "{path}");
        }
    }

    #[test]
    fn a_path_reads_like_the_manifest() {
        let containers = FieldPath::default().key("spec").key("containers");
        for (path, expected) in [
            (FieldPath::default(), ""),
            (
                containers.join(Step::Match(vec![("name".into(), "web".into())])).key("image"),
                "spec.containers[name=web].image",
            ),
            (containers.join(Step::Index(0)), "spec.containers[0]"),
            (FieldPath::default().key("data").key("a.txt"), "data[\"a.txt\"]"),
            (FieldPath::default().key("finalizers").join(Step::Value("\"x\"".into())), "finalizers[=\"x\"]"),
        ] {
            assert_eq!(path.to_string(), expected);
        }
    }
}
