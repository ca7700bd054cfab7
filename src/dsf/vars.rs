//! The variables that files declare under `vars`, and those of the chosen environment.

use super::read::Parsed;
use super::substitute::Substitution;
use super::tree::{Kind, Node, Table};
use super::{Options, find_last};
use crate::text::Sources;
use std::collections::BTreeMap;

/// Variables by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Vars(BTreeMap<String, Variable>);

/// One variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) value: String,
    /// Whether a part of it comes from the environment.
    pub(super) private: bool,
}

impl Vars {
    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn add(&mut self, name: &str, value: &str, private: bool) {
        self.0.insert(name.to_owned(), Variable { value: value.to_owned(), private });
    }

    /// Takes over the variables of a table; `null` removes one. What is no scalar is a problem elsewhere.
    fn take(&mut self, table: &Table, sources: &Sources) {
        for entry in table {
            let name = entry.key.value.clone();
            let (value, private) = match &entry.value.kind {
                Kind::Null => {
                    self.0.remove(&name);
                    continue;
                }
                Kind::Str(text) => (text.value.clone(), text.private),
                Kind::Bool(flag) => (flag.to_string(), false),
                // As it is written: 1.10 stays 1.10.
                Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => {
                    (sources.slice(entry.value.span).trim().to_owned(), false)
                }
                Kind::List(_) | Kind::Map(_) | Kind::Date => continue,
            };
            self.0.insert(name, Variable { value, private });
        }
    }
}

/// Returns the variables of all files, later ones over earlier ones, and of the chosen environment over them.
pub(super) fn collect(
    parsed: &[Parsed],
    env: &BTreeMap<String, String>,
    sources: &Sources,
    options: &Options,
) -> Vars {
    let mut vars = Vars::default();
    let mut take = |node: &Node| {
        let Kind::Map(table) = &node.kind else { return };
        let mut table = table.clone();
        // What is wrong with them is reported when the file itself is gone through.
        let mut unheard = Vec::new();
        Substitution::new(env, None, sources, &mut unheard)
            .recursive(options.helmsman_compat)
            .without_environment(options.no_substitution)
            .run(&mut table);
        vars.take(&table, sources);
    };
    for file in parsed {
        if let Some(entry) = find_last(&file.table, "vars") {
            take(&entry.value);
        }
    }
    for file in parsed {
        let Some(name) = options.environment.as_deref() else { break };
        let below = |node: &Node, key: &str| match &node.kind {
            Kind::Map(table) => find_last(table, key).map(|entry| entry.value.clone()),
            _ => None,
        };
        let chosen = find_last(&file.table, "environments").and_then(|entry| below(&entry.value, name));
        if let Some(node) = chosen.and_then(|chosen| below(&chosen, "vars")) {
            take(&node);
        }
    }
    vars
}
