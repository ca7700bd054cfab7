//! The fields of an object that a pattern names, and the fields that a field consists of.

use serde_json::Value as Json;

use super::compare;
use super::path::{FieldPath, Step};
use crate::model::{FieldPattern, PatternStep, glob};

/// Returns the fields of an object that the pattern names, outermost first: what is below them is not listed.
pub fn matching_fields(object: &Json, pattern: &FieldPattern) -> Vec<FieldPath> {
    let mut found = Vec::new();
    collect(object, pattern.steps(), &FieldPath::default(), &mut found);
    found
}

fn collect(value: &Json, steps: &[PatternStep], path: &FieldPath, found: &mut Vec<FieldPath>) {
    let Some((first, rest)) = steps.split_first() else {
        found.push(path.clone());
        return;
    };
    match (value, first) {
        (Json::Object(members), PatternStep::Name(pattern)) => {
            for (key, below) in members.iter().filter(|(key, _)| glob(pattern, key)) {
                collect(below, rest, &path.key(key), found);
            }
        }
        (Json::Array(elements), first) => {
            for (index, (step, below)) in compare::steps(elements).into_iter().zip(elements).enumerate() {
                let fits = match first {
                    PatternStep::Name(pattern) => pattern == "*",
                    PatternStep::AnyElement => true,
                    PatternStep::Index(wanted) => *wanted == index,
                    PatternStep::Value(pattern) => below
                        .as_str()
                        .map_or_else(|| glob(pattern, &below.to_string()), |text| glob(pattern, text)),
                    PatternStep::Match(wanted) => wanted.iter().all(|(key, pattern)| {
                        let found = key.split(['.', '/']).try_fold(below, |value, key| value.get(key));
                        found.is_some_and(|value| match value {
                            Json::String(text) => glob(pattern, text),
                            other => glob(pattern, &other.to_string()),
                        })
                    }),
                };
                if fits {
                    collect(below, rest, &path.join(step), found);
                }
            }
        }
        _ => {}
    }
}

/// Returns the fields below `path` that are no tables, nor lists of tables; the field itself if it is none. What
/// tells the elements of a list apart is no field of its own.
pub fn leaves(object: &Json, path: &FieldPath) -> Vec<FieldPath> {
    let mut found = Vec::new();
    if let Some(value) = path.find(object) {
        descend(value, path, &mut found);
    }
    found.retain(|leaf| !tells_apart(leaf));
    found
}

fn descend(value: &Json, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, below) in members {
                descend(below, &path.key(key), found);
            }
        }
        Json::Array(elements) if elements.iter().any(Json::is_object) => {
            for (step, below) in compare::steps(elements).into_iter().zip(elements) {
                descend(below, &path.join(step), found);
            }
        }
        _ => found.push(path.clone()),
    }
}

fn tells_apart(leaf: &FieldPath) -> bool {
    let Some(at) = leaf.0.iter().rposition(|step| !matches!(step, Step::Key(_))) else { return false };
    let Step::Match(members) = &leaf.0[at] else { return false };
    let inside = FieldPath(leaf.0[at + 1..].to_vec());
    let name = inside.keys().collect::<Vec<_>>().join(".");
    members.iter().any(|(key, _)| *key == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_find_fields() {
        let object = json!({"metadata": {"annotations": {"a.b/c": "1", "a.b/d": "2"}}, "spec": {"paused": true, "containers": [
            {"name": "web", "image": "x", "ports": [{"containerPort": 80}]}, {"name": "db", "image": "y"}], "list": ["a", "b"]}});
        for (pattern, fields, below) in [
            ("spec.paused", vec!["spec.paused"], vec!["spec.paused"]),
            (
                "metadata.annotations[a.b/c]",
                vec!["metadata.annotations[\"a.b/c\"]"],
                vec!["metadata.annotations[\"a.b/c\"]"],
            ),
            (
                "metadata.annotations",
                vec!["metadata.annotations"],
                vec!["metadata.annotations[\"a.b/c\"]", "metadata.annotations[\"a.b/d\"]"],
            ),
            (
                "spec.containers[*].image",
                vec!["spec.containers[name=web].image", "spec.containers[name=db].image"],
                vec!["spec.containers[name=web].image", "spec.containers[name=db].image"],
            ),
            (
                "spec.containers[name=web]",
                vec!["spec.containers[name=web]"],
                vec!["spec.containers[name=web].image"],
            ),
            (
                "spec.containers[1].image",
                vec!["spec.containers[name=db].image"],
                vec!["spec.containers[name=db].image"],
            ),
            ("spec.list", vec!["spec.list"], vec!["spec.list"]),
            ("spec.list[=a]", vec!["spec.list[0]"], vec!["spec.list[0]"]),
            ("spec.nothing", vec![], vec![]),
        ] {
            let found = matching_fields(&object, &FieldPattern::parse(pattern).unwrap());
            let names = |paths: &[FieldPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(names(&found), fields, "{pattern}");
            let all: Vec<FieldPath> = found.iter().flat_map(|path| leaves(&object, path)).collect();
            assert_eq!(names(&all), below, "{pattern}");
        }
    }
}
