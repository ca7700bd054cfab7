//! `adopt`: the labels of another owner's releases.

use super::*;

type Break = fn(&mut Own, &mut Vec<Reason>);

fn asked(from: OwnerBefore, more: &str, history: History, protected_by: Option<&str>) -> PlanInput {
    let wanted = Wanted {
        release: state(&app("web", more)).releases.remove(0),
        protected_by: protected_by.map(str::to_owned),
        history: Ok(history),
        content: None,
        remnants: Ok(Vec::new()),
        moved_from: None,
    };
    PlanInput { adopts_from: Some(from), ..input(vec![wanted], Vec::new(), Operation::Adopt) }
}

#[test]
fn only_what_was_asked_for_changes_hands() {
    let nobody = OwnerBefore::Nobody;
    let from = |name: &str| OwnerBefore::Context(name.to_owned());
    let deployed_by = |owner| recorded("web", Status::Deployed, owner);
    let rows: [(OwnerBefore, History, Option<&str>, &str, &str); 11] = [
        (from("theirs"), deployed_by(Some("theirs")), None, "adopt", "changes-owner"),
        (from("theirs"), deployed_by(Some("others")), None, "blocked", "other-context"),
        (from("theirs"), deployed_by(None), None, "blocked", "nobodys-release"),
        (from("theirs"), deployed_by(Some("ours")), None, "none", "already-ours"),
        (nobody.clone(), deployed_by(None), None, "adopt", "changes-owner"),
        (nobody.clone(), deployed_by(Some("theirs")), None, "blocked", "other-context"),
        (nobody.clone(), none(), None, "none", "not-installed"),
        (nobody.clone(), recorded("web", Status::Uninstalled, None), None, "none", "only-history"),
        (nobody.clone(), recorded("web", Status::PendingUpgrade, None), None, "blocked", "pending"),
        (nobody.clone(), recorded("web", Status::Failed, None), None, "adopt", "changes-owner"),
        (nobody, deployed_by(None), Some("app `web`"), "none", "protected"),
    ];
    for (from, history, protected_by, action, code) in rows {
        let plan = plan(&asked(from.clone(), "", history, protected_by));
        let release = &plan.releases[0];
        let found = (release.action.name(), release.reasons[0].code());
        assert_eq!(found, (action, code), "{from:?}: {:?}", release.reasons);
        assert_eq!(check(&plan), [""; 0]);
        assert!(plan.namespaces.is_empty());
        assert_eq!(matches!(release.work, Work::Own(_)), action == "adopt");
    }
}

#[test]
fn the_labels_say_whose_it_is_and_what_its_end_will_be() {
    let history = recorded("web", Status::Deployed, Some("theirs"));
    let plan = plan(&asked(OwnerBefore::Context("theirs".to_owned()), "onRemove = \"ask\"\n", history, None));
    let Work::Own(own) = &plan.releases[0].work else { panic!("{:?}", plan.releases[0].work) };
    let labels = &own.records[0].labels;
    assert_eq!(history::context_of(labels), Some("ours"));
    assert_eq!(labels.get(history::ON_REMOVE_LABEL).map(String::as_str), Some("ask"));
    assert_eq!(labels.get("MANAGED-BY").map(String::as_str), Some("HELMSMAN"));
}

#[test]
fn a_change_of_hands_that_is_not_sound_is_found() {
    let breaks: [(&str, Break); 4] = [
        ("records of another release", |own, _| own.records.clear()),
        ("records of another release", |own, _| own.records[0].namespace = "other".to_owned()),
        ("another owner than this file", |own, _| {
            own.records[0].labels.insert(history::CONTEXT_LABEL.to_owned(), "theirs".to_owned());
        }),
        ("the plan does not show it", |_, reasons| *reasons = vec![Reason::NotInstalled]),
    ];
    let sound = || plan(&asked(OwnerBefore::Nobody, "", recorded("web", Status::Deployed, None), None));
    for (expected, break_it) in breaks {
        let mut plan = sound();
        let release = &mut plan.releases[0];
        let Work::Own(own) = &mut release.work else { panic!("it changes hands") };
        break_it(own, &mut release.reasons);
        let findings = check(&plan);
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
    let mut plan = sound();
    plan.releases[0].app = None;
    assert!(check(&plan).iter().any(|finding| finding.contains("does not have gets an owner")));
}
