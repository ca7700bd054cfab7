//! Which releases a run is about.

use std::collections::BTreeSet;

use crate::dsf::state::Release;
use crate::failure::{Failure, FailureClass};
use crate::model::{ReleaseKey, Selector};

/// What was asked for on the command line; nothing asked for means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// NAME or NAMESPACE/NAME.
    pub targets: Vec<String>,
    /// NAME or NAMESPACE/NAME.
    pub exclude_targets: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
    /// Groups.
    pub exclude_groups: Vec<String>,
    /// `key=value,key!=value`.
    pub labels: Option<String>,
    /// Whether what the selected releases need is selected too.
    pub with_needs: bool,
}

impl Selection {
    /// Tells whether everything is meant. Only then releases that left the file are looked for: nothing
    /// outside a selection is removed.
    pub fn is_everything(&self) -> bool {
        let Self { targets, exclude_targets, groups, exclude_groups, labels, with_needs: _ } = self;
        targets.is_empty()
            && exclude_targets.is_empty()
            && groups.is_empty()
            && exclude_groups.is_empty()
            && labels.is_none()
    }

    /// Returns the selected ones of `releases`.
    ///
    /// # Errors
    /// The selection matches nothing, or its label expression is malformed.
    pub fn choose(&self, releases: &[Release]) -> Result<BTreeSet<ReleaseKey>, Failure> {
        let selector = self.labels.as_deref().map(parse_labels).transpose()?;
        let mut chosen: BTreeSet<ReleaseKey> = releases
            .iter()
            .filter(|release| self.matches(release, selector.as_ref()))
            .map(|release| release.key.clone())
            .collect();
        if chosen.is_empty() && !self.is_everything() {
            let known: Vec<String> = releases.iter().map(|release| release.key.to_string()).collect();
            let failure =
                Failure::new(FailureClass::NothingSelected, "the selection matches no release of the file");
            return Err(failure.hint(format!("the file has {}", known.join(", "))));
        }
        if self.with_needs {
            add_needs(&mut chosen, releases);
        }
        Ok(chosen)
    }

    fn matches(&self, release: &Release, selector: Option<&Selector>) -> bool {
        let named = |names: &[String]| names.iter().any(|name| names_release(name, &release.key));
        let grouped = |groups: &[String]| release.group.as_ref().is_some_and(|group| groups.contains(group));
        (self.targets.is_empty() || named(&self.targets))
            && !named(&self.exclude_targets)
            && (self.groups.is_empty() || grouped(&self.groups))
            && !grouped(&self.exclude_groups)
            && selector.is_none_or(|selector| selector.matches(&release.labels))
    }
}

fn names_release(name: &str, key: &ReleaseKey) -> bool {
    name == key.name || name.split_once('/') == Some((key.namespace.as_str(), key.name.as_str()))
}

fn add_needs(chosen: &mut BTreeSet<ReleaseKey>, releases: &[Release]) {
    let mut open: Vec<ReleaseKey> = chosen.iter().cloned().collect();
    while let Some(key) = open.pop() {
        let needs = releases.iter().filter(|release| release.key == key).flat_map(|release| &release.needs);
        for need in needs {
            if chosen.insert(need.release.clone()) {
                open.push(need.release.clone());
            }
        }
    }
}

fn parse_labels(text: &str) -> Result<Selector, Failure> {
    Selector::parse(text).map_err(|part| {
        let failure = Failure::new(FailureClass::Usage, format!("-l {text}: `{part}` is not a label term"));
        failure.hint("write `key=value` or `key!=value`, several joined by commas")
    })
}
