//! Which rights of a list this user lacks.
//!
//! One question for each namespace tells most: the rules that hold there for the user. They may be incomplete, and they
//! do not tell whether a right holds in the whole cluster; so what they do not show is asked about by itself, and only
//! the answer to that is a no. Source: Kubernetes, `SelfSubjectRulesReview` ("should NOT be used to drive authorization
//! decisions") and `SelfSubjectAccessReview`.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use serde_json::{Value as Json, json};

use super::SIDE_BY_SIDE;
use crate::cluster::{ApiError, Reader};
use crate::plan::rights::{Need, Right, Rights};

/// What is missing.
#[derive(Debug, Default)]
pub struct Missing {
    /// Rights that the server says this user does not have.
    pub rights: BTreeMap<Right, Need>,
    /// Why it is not known of others.
    pub unknown: BTreeSet<String>,
}

/// Whether a right is there.
enum Told {
    Yes,
    No,
    Unknown(String),
}

/// Asks the server about rights; those that only make messages better are left out.
pub async fn missing(reader: &Reader, wanted: &Rights) -> Missing {
    let needs: Vec<(&Right, &Need)> = wanted.needs.iter().filter(|(_, need)| !need.optional).collect();
    let namespaces: BTreeSet<&String> =
        needs.iter().filter_map(|(right, _)| right.namespace.as_ref()).collect();
    let reviews = namespaces.into_iter().map(|namespace| async move {
        let asked = reader.review("selfsubjectrulesreviews", json!({"namespace": namespace})).await;
        (namespace, asked.map(|status| status["resourceRules"].clone()).unwrap_or_default())
    });
    let rules: BTreeMap<&String, Json> =
        futures::stream::iter(reviews).buffer_unordered(SIDE_BY_SIDE).collect().await;
    let shown = |(right, need): &(&Right, &Need)| {
        let rules = right.namespace.as_ref().and_then(|namespace| rules.get(namespace));
        rules.and_then(Json::as_array).is_some_and(|rules| covers(rules, right, need))
    };
    let open: Vec<(&Right, &Need)> = needs.into_iter().filter(|need| !shown(need)).collect();
    if open.is_empty() {
        return Missing::default();
    }
    // Administrators may do everything everywhere: one question instead of many.
    if open.len() > 2 && matches!(ask(reader, &all(), None).await, Told::Yes) {
        return Missing::default();
    }
    let questions =
        open.into_iter().map(|(right, need)| async move { (right, need, of(reader, right, need).await) });
    let answers: Vec<_> = futures::stream::iter(questions).buffered(SIDE_BY_SIDE).collect().await;
    let mut missing = Missing::default();
    for (right, need, told) in answers {
        match told {
            Told::Yes => {}
            Told::No => drop(missing.rights.insert(right.clone(), need.clone())),
            Told::Unknown(why) => drop(missing.unknown.insert(why)),
        }
    }
    missing
}

fn all() -> Right {
    Right { namespace: None, group: "*".to_owned(), resource: "*".to_owned(), verb: "*" }
}

/// Asks about a right; where it is denied for all objects, about each of them by name.
async fn of(reader: &Reader, right: &Right, need: &Need) -> Told {
    let told = ask(reader, right, None).await;
    if !matches!(told, Told::No) || need.names.is_empty() || right.verb == "list" {
        return told;
    }
    for name in &need.names {
        match ask(reader, right, Some(name)).await {
            Told::Yes => {}
            told => return told,
        }
    }
    Told::Yes
}

async fn ask(reader: &Reader, right: &Right, name: Option<&String>) -> Told {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    let attributes = json!({
        "namespace": right.namespace.as_deref().unwrap_or_default(),
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "name": name.map(String::as_str).unwrap_or_default(),
    });
    let asked = reader.review("selfsubjectaccessreviews", json!({"resourceAttributes": attributes})).await;
    match asked {
        Ok(status) if status["allowed"] == true => Told::Yes,
        // An authorizer that does not answer says nothing.
        Ok(status) => match status["evaluationError"].as_str().filter(|error| !error.is_empty()) {
            Some(error) if status["denied"] != true => Told::Unknown(error.to_owned()),
            _ => Told::No,
        },
        Err(error) => Told::Unknown(unasked(&error)),
    }
}

fn unasked(error: &ApiError) -> String {
    format!("this user may not ask which rights it has: {error}")
}

/// Tells whether rules show that a right is there for all the objects that it is about.
fn covers(rules: &[Json], right: &Right, need: &Need) -> bool {
    let has = |list: &Json, wanted: &str| {
        list.as_array().into_iter().flatten().any(|entry| entry == "*" || entry == wanted)
    };
    let resource = |list: &Json| {
        let any_of = right.resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
        has(list, &right.resource) || any_of.is_some_and(|any| has(list, &any))
    };
    let fitting: Vec<&Json> = rules
        .iter()
        .filter(|rule| {
            has(&rule["verbs"], right.verb)
                && has(&rule["apiGroups"], &right.group)
                && resource(&rule["resources"])
        })
        .collect();
    let names = |rule: &Json| rule["resourceNames"].as_array().cloned().unwrap_or_default();
    if fitting.iter().any(|rule| names(rule).is_empty()) {
        return true;
    }
    let named =
        |name: &String| fitting.iter().any(|rule| names(rule).iter().any(|entry| entry == name.as_str()));
    !need.names.is_empty()
        && !matches!(right.verb, "create" | "list" | "watch")
        && need.names.iter().all(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_show_a_right_or_do_not() {
        let right = |group: &str, resource: &str, verb: &'static str| Right {
            namespace: Some("shop".to_owned()),
            group: group.to_owned(),
            resource: resource.to_owned(),
            verb,
        };
        let need = |names: &[&str]| Need {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Need::default()
        };
        let rule = |groups: &str, resources: &str, verbs: &str, names: &[&str]| {
            let list = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let groups: Vec<String> =
                list(groups).into_iter().map(|group| group.replace("core", "")).collect();
            json!({"apiGroups": groups, "resources": list(resources), "verbs": list(verbs), "resourceNames": names})
        };
        for (rules, right, names, expected) in [
            (vec![rule("core", "secrets", "get list", &[])], right("", "secrets", "get"), vec!["a"], true),
            (
                vec![rule("core", "secrets", "get list", &[])],
                right("", "secrets", "update"),
                vec!["a"],
                false,
            ),
            (vec![rule("apps", "secrets", "*", &[])], right("", "secrets", "get"), vec!["a"], false),
            (vec![rule("*", "*", "*", &[])], right("x.io", "things", "delete"), vec!["a"], true),
            (vec![rule("core", "secrets", "get", &["a"])], right("", "secrets", "get"), vec!["a"], true),
            (
                vec![rule("core", "secrets", "get", &["a"])],
                right("", "secrets", "get"),
                vec!["a", "b"],
                false,
            ),
            (vec![rule("core", "secrets", "get", &["a"])], right("", "secrets", "get"), vec![], false),
            (
                vec![rule("core", "secrets", "get", &["a"]), rule("core", "*", "get", &["b"])],
                right("", "secrets", "get"),
                vec!["a", "b"],
                true,
            ),
            // What is to be made has no name yet that a rule could know.
            (
                vec![rule("core", "secrets", "create", &["a"])],
                right("", "secrets", "create"),
                vec!["a"],
                false,
            ),
            (vec![rule("core", "pods", "get", &[])], right("", "pods/log", "get"), vec![], false),
            (vec![rule("core", "*/log", "get", &[])], right("", "pods/log", "get"), vec![], true),
        ] {
            assert_eq!(covers(&rules, &right, &need(&names)), expected, "{rules:?} {right:?} {names:?}");
        }
    }
}
