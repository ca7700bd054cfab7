//! The rights that carrying a plan out takes.

use super::*;
use crate::plan::rights::{Locked, built_in, of_plan};

/// Returns each right as `VERB RESOURCE`, without locks.
fn rights_of(case: Case) -> Vec<String> {
    let rights = of_plan(&plan(&case.input()), None, &built_in);
    assert!(rights.unknown.is_empty());
    rights.needs.keys().map(|right| format!("{} {}", right.verb, right.resource)).collect()
}

#[test]
fn a_plan_takes_what_it_writes_and_no_more() {
    let records = ["create secrets", "get secrets", "update secrets"];
    let with = |more: &[&str]| -> Vec<String> {
        let mut all: Vec<String> = more.iter().chain(&records).map(|text| (*text).to_owned()).collect();
        all.sort_by_key(|right| {
            let (verb, resource) = right.split_once(' ').unwrap();
            (resource.to_owned(), verb.to_owned())
        });
        all
    };
    // Nothing is written.
    assert_eq!(rights_of(Case::new(deployed(), vec![as_desired()])), [""; 0]);
    let changed = observed(Some(config_map("9", Some("web"))), accepted(config_map("1", Some("web"))));
    assert_eq!(
        rights_of(Case::new(deployed(), vec![changed])),
        with(&["get configmaps", "patch configmaps"])
    );
    let new = with(&["create configmaps", "get configmaps", "patch configmaps"]);
    assert_eq!(rights_of(Case::new(none(), vec![missing()])), new);
    // A release that the server forbids counts as if it did not.
    let message = "configmaps \"a\" is forbidden: User \"u\" cannot patch resource".to_owned();
    let forbidden = ServerAnswer::Refused { verdict: Verdict::Forbidden { message } };
    let mut blocked = rights_of(Case::new(none(), vec![observed(None, forbidden)]));
    blocked.retain(|right| right != "list secrets");
    assert_eq!(blocked, new);
}

#[test]
fn locks_take_rights_where_something_is_written() {
    let locked = Some(Locked { kind: crate::lock::Kind::Lease, context: Some("first") });
    let namespaces = |case: Case| -> Vec<String> {
        let rights = of_plan(&plan(&case.input()), locked, &built_in);
        let leases = rights.needs.keys().filter(|right| right.resource == "leases" && right.verb == "create");
        leases.filter_map(|right| right.namespace.clone()).collect()
    };
    assert_eq!(namespaces(Case::new(none(), vec![missing()])), ["first", "shop"]);
    assert_eq!(namespaces(Case::new(deployed(), vec![as_desired()])), [""; 0]);
}
