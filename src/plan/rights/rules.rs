//! From rights to the rules of roles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::{Right, Rights};

/// The order in which verbs are written.
const VERBS: [&str; 9] = ["get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"];
/// How many reasons a rule tells.
const MOST_REASONS: usize = 4;

/// One rule of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The rule as Kubernetes spells it.
    pub rule: Json,
    /// Whether it only makes messages better.
    pub optional: bool,
    /// What it is for.
    pub why: String,
}

/// The rules of one namespace, or of the whole cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSet {
    /// The namespace; nothing for the whole cluster.
    pub namespace: Option<String>,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// One resource: whether it is optional, its group, its name, and the names that are enough.
type Asked<'a> = (bool, &'a str, &'a str, Option<Vec<String>>);
/// What the resources of one rule have in common.
type Alike = (bool, String, Vec<&'static str>, Option<Vec<String>>);

impl Rights {
    /// Returns the rules that give exactly these rights: those of the whole cluster first, then by namespace.
    pub fn rules(&self) -> Vec<RuleSet> {
        let mut scopes: BTreeSet<Option<String>> =
            self.needs.keys().map(|right| right.namespace.clone()).collect();
        scopes.extend(self.granted.iter().map(|granted| granted.namespace.clone()));
        scopes.into_iter().map(|namespace| RuleSet { rules: self.rules_of(&namespace), namespace }).collect()
    }

    /// Returns the same rules for one role that holds in all namespaces.
    #[must_use]
    pub fn everywhere(&self) -> Rights {
        let mut wide = Rights { unknown: self.unknown.clone(), ..Rights::default() };
        for (right, need) in &self.needs {
            let right = Right { namespace: None, ..right.clone() };
            let one = Rights { needs: BTreeMap::from([(right, need.clone())]), ..Rights::default() };
            wide.join(one);
        }
        for granted in &self.granted {
            let granted = super::Granted { namespace: None, ..granted.clone() };
            wide.join(Rights { granted: vec![granted], ..Rights::default() });
        }
        wide
    }

    fn rules_of(&self, namespace: &Option<String>) -> Vec<Rule> {
        // By resource first: what is to be done with it decides which others it shares a rule with.
        let mut verbs: BTreeMap<Asked<'_>, Vec<&'static str>> = BTreeMap::new();
        let mut why: BTreeMap<(bool, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        for (right, need) in self.needs.iter().filter(|(right, _)| right.namespace == *namespace) {
            let names = need.limited.then(|| need.names.iter().cloned().collect());
            let (group, resource) = (right.group.as_str(), right.resource.as_str());
            verbs.entry((need.optional, group, resource, names)).or_default().push(right.verb);
            let told = why.entry((need.optional, group, resource)).or_default();
            told.extend(need.why.iter().map(String::as_str));
        }
        let mut alike: BTreeMap<Alike, (Vec<&str>, BTreeSet<&str>)> = BTreeMap::new();
        for ((optional, group, resource, names), mut verbs) in verbs {
            verbs.sort_by_key(|verb| VERBS.iter().position(|known| known == verb));
            let entry = alike.entry((optional, group.to_owned(), verbs, names)).or_default();
            entry.0.push(resource);
            entry.1.extend(why.get(&(optional, group, resource)).into_iter().flatten());
        }
        let mut rules: Vec<Rule> = Vec::new();
        for ((optional, group, verbs, names), (resources, why)) in alike {
            let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
            if let Some(names) = names {
                rule["resourceNames"] = json!(names);
            }
            rules.push(Rule { rule, optional, why: told(&why) });
        }
        let granted = self.granted.iter().filter(|granted| granted.namespace == *namespace);
        rules.extend(granted.map(|granted| Rule {
            rule: granted.rule.clone(),
            optional: false,
            why: format!("{} gives it, and who makes a role has to have what it gives", granted.why),
        }));
        rules
    }
}

fn told(why: &BTreeSet<&str>) -> String {
    let mut told: Vec<&str> = why.iter().copied().take(MOST_REASONS).collect();
    let rest = why.len().saturating_sub(MOST_REASONS);
    let rest = format!("{rest} more");
    if why.len() > MOST_REASONS {
        told.push(&rest);
    }
    told.join(", ")
}
