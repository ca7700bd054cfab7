//! Names of fields inside an object, such as `spec.template.spec.containers[name=web].image`.

use std::fmt;

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
    use super::*;

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
