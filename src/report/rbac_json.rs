//! Roles and bindings as manifests, and `statectl.rbac/v1`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::plan_json::pretty;
use crate::plan::rights::RuleSet;

const API_GROUP: &str = "rbac.authorization.k8s.io";

/// Who gets rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(Json);

impl Subject {
    /// The account of a pod.
    pub fn account(namespace: &str, name: &str) -> Self {
        Self(json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}))
    }
}

impl FromStr for Subject {
    type Err = String;

    /// Reads `serviceaccount:NAMESPACE/NAME`, `user:NAME` or `group:NAME`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, name) = text.split_once(':').unwrap_or(("", text));
        let named = |kind: &str| json!({"apiGroup": API_GROUP, "kind": kind, "name": name});
        match (kind, name.split_once('/')) {
            (_, _) if name.is_empty() => {}
            ("user", _) => return Ok(Self(named("User"))),
            ("group", _) => return Ok(Self(named("Group"))),
            ("serviceaccount", Some((namespace, name))) if !namespace.is_empty() && !name.is_empty() => {
                return Ok(Self::account(namespace, name));
            }
            _ => {}
        }
        Err("it is not of the form `serviceaccount:NAMESPACE/NAME`, `user:NAME` or `group:NAME`".to_owned())
    }
}

/// The roles that a file takes.
#[derive(Debug)]
pub struct Roles {
    /// What they are called.
    pub name: String,
    /// The context of the file.
    pub context: String,
    /// Who gets them.
    pub subject: Subject,
    /// Their rules, by namespace.
    pub sets: Vec<RuleSet>,
    /// Namespaces that have to be there before the roles.
    pub namespaces: BTreeSet<String>,
}

impl Roles {
    /// Returns the role and the binding of one place.
    fn manifests(&self, set: &RuleSet) -> [Json; 2] {
        let rules: Vec<&Json> = set.rules.iter().map(|rule| &rule.rule).collect();
        let (role, binding) = match set.namespace {
            Some(_) => ("Role", "RoleBinding"),
            None => ("ClusterRole", "ClusterRoleBinding"),
        };
        let mut metadata = json!({"name": self.name, "labels": {"app.kubernetes.io/part-of": "statectl"}});
        if let Some(namespace) = &set.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        let version = format!("{API_GROUP}/v1");
        [
            json!({"apiVersion": version, "kind": role, "metadata": metadata, "rules": rules}),
            json!({
                "apiVersion": version,
                "kind": binding,
                "metadata": metadata,
                "roleRef": {"apiGroup": API_GROUP, "kind": role, "name": self.name},
                "subjects": [self.subject.0],
            }),
        ]
    }
}

/// Returns the manifests as YAML documents; comments say what each rule is for.
pub fn rbac_yaml(roles: &Roles) -> String {
    let mut text = format!("# What the context {} takes.\n", one_line(&roles.context));
    if !roles.namespaces.is_empty() {
        let names: Vec<&str> = roles.namespaces.iter().map(String::as_str).collect();
        let _ = writeln!(text, "# The namespace has to be there first: {}.", names.join(", "));
    }
    for set in &roles.sets {
        let place = match &set.namespace {
            Some(namespace) => format!("namespace {namespace}"),
            None => "the whole cluster".to_owned(),
        };
        let _ = writeln!(text, "#\n# In {place}:");
        for (number, rule) in set.rules.iter().enumerate() {
            let optional = if rule.optional { " (may be left out: then messages say less)" } else { "" };
            let _ = writeln!(text, "#   rule {}{optional}: {}", number + 1, one_line(&rule.why));
        }
        for manifest in roles.manifests(set) {
            // A manifest is JSON that was just made, and every JSON document has a YAML form.
            text.push_str("---\n");
            text.push_str(&serde_yaml::to_string(&manifest).unwrap_or_default());
        }
    }
    text
}

/// Nothing of a name may leave its comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    context: &'a str,
    scopes: Vec<Scope<'a>>,
    manifests: Vec<Json>,
}

#[derive(Serialize)]
struct Scope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    rules: Vec<RuleReport<'a>>,
}

#[derive(Serialize)]
struct RuleReport<'a> {
    rule: &'a Json,
    optional: bool,
    why: &'a str,
}

/// Returns the rules with what they are for, and the manifests, as one JSON document with a final newline.
pub fn rbac_json(roles: &Roles) -> String {
    let scope = |set: &'_ RuleSet| -> Vec<Json> { roles.manifests(set).to_vec() };
    pretty(&Report {
        format: "statectl.rbac/v1",
        context: &roles.context,
        scopes: roles
            .sets
            .iter()
            .map(|set| Scope {
                namespace: set.namespace.as_deref(),
                rules: set
                    .rules
                    .iter()
                    .map(|rule| RuleReport { rule: &rule.rule, optional: rule.optional, why: &rule.why })
                    .collect(),
            })
            .collect(),
        manifests: roles.sets.iter().flat_map(scope).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_read_as_kubectl_spells_it() {
        for (text, kind) in [
            ("serviceaccount:ci/deployer", Some("ServiceAccount")),
            ("user:ann@example.com", Some("User")),
            ("group:system:masters", Some("Group")),
            ("user:", None),
            ("serviceaccount:deployer", None),
            ("deployer", None),
        ] {
            let read = Subject::from_str(text).ok();
            assert_eq!(read.as_ref().and_then(|subject| subject.0["kind"].as_str()), kind, "{text}");
        }
    }
}
