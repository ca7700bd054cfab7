//! Selectors by label, such as `tier=db,env!=prod`.

use std::collections::BTreeMap;

/// What labels have to be like. An empty selector does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    key: String,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads `key=value` and `key!=value`, joined by commas.
    ///
    /// # Errors
    /// Returns the part that is no term.
    pub fn parse(text: &str) -> Result<Self, &str> {
        let terms = text.split(',').map(|part| Term::parse(part).ok_or(part)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Tells whether labels are like that. A label that is not there has no value.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.terms.iter().all(|term| (labels.get(&term.key) == Some(&term.value)) == term.equal)
    }
}

impl Term {
    fn parse(part: &str) -> Option<Self> {
        let (key, value, equal) = match part.split_once("!=") {
            Some((key, value)) => (key, value, false),
            None => {
                let (key, value) = part.split_once('=')?;
                (key, value.trim_start_matches('='), true)
            }
        };
        let key = key.trim();
        (!key.is_empty()).then(|| Self { key: key.to_owned(), value: value.trim().to_owned(), equal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_hold_together() {
        let labels: BTreeMap<String, String> =
            [("tier", "db"), ("env", "prod")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        for (text, expected) in [
            ("tier=db", Ok(true)),
            (" tier == db , env!=dev", Ok(true)),
            ("tier=db,env!=prod", Ok(false)),
            ("other!=x", Ok(true)),
            ("other=", Ok(false)),
            ("tier", Err("tier")),
            ("tier=db,", Err("")),
            ("=db", Err("=db")),
        ] {
            assert_eq!(Selector::parse(text).map(|selector| selector.matches(&labels)), expected, "{text}");
        }
    }
}
