//! Releases that leave the file, or come back under another name.

use super::*;

fn stray(name: &str, labels: &[(&str, &str)], remnants: Vec<Remnant>) -> Stray {
    let mut history = recorded(name, Status::Deployed, Some("ours"));
    if !labels.is_empty() {
        let release = history.latest().unwrap().release.clone();
        let mut marks = history::labels_for("ours", "shop");
        marks.extend(labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())));
        let mut object =
            history::new_object(Storage::Secret, &release, &marks, Timestamp::UNIX_EPOCH).unwrap();
        object["metadata"]["uid"] = json!("record-uid");
        object["metadata"]["resourceVersion"] = json!("7");
        history = history::group(Storage::Secret, [&object]).remove(&key(name)).unwrap();
    }
    Stray { key: key(name), protected_by: None, history, remnants: Ok(remnants) }
}

fn wanted(name: &str, more: &str, history: History, objects: Vec<ObservedObject>) -> Wanted {
    Wanted {
        release: state(&app(name, more)).releases.remove(0),
        protected_by: None,
        history: Ok(history),
        content: Some(Ok(content("1.0.0", objects))),
        remnants: Ok(Vec::new()),
        moved_from: None,
    }
}

/// The live ConfigMap `a`, as release `owner` made it.
fn left(owner: &str) -> Remnant {
    Remnant {
        lost: Ok(Vec::new()),
        key: object_key("ConfigMap"),
        live: Some(config_map("1", Some(owner))),
        keep_in_manifest: false,
    }
}

/// Checks the action and codes of each release, by name.
#[track_caller]
fn check_all(input: &PlanInput, expected: &[(&str, &str, &[&str])]) -> Plan {
    let plan = plan(input);
    let found: Vec<(String, &str, Vec<&str>)> = plan
        .releases
        .iter()
        .map(|release| {
            let codes = release.reasons.iter().map(Reason::code).collect();
            (release.key.name.clone(), release.action.name(), codes)
        })
        .collect();
    let expected: Vec<(String, &str, Vec<&str>)> =
        expected.iter().map(|(name, action, codes)| ((*name).to_owned(), *action, codes.to_vec())).collect();
    assert_eq!(found, expected);
    assert_eq!(check(&plan), [""; 0]);
    plan
}

#[test]
fn what_was_chosen_for_the_day_it_leaves_is_done() {
    for (label, action, codes) in [
        (None, "uninstall", &["left-file"][..]),
        (Some("orphan"), "orphan", &["left-file", "orphaned"]),
        (Some("ask"), "blocked", &["removal-asks", "left-file"]),
        (Some("word of a later version"), "blocked", &["removal-asks", "left-file"]),
    ] {
        let labels: Vec<_> = label.map(|word| (history::ON_REMOVE_LABEL, word)).into_iter().collect();
        let strays = vec![stray("old", &labels, vec![left("old")])];
        let plan = check_all(&input(Vec::new(), strays, Operation::Reconcile), &[("old", action, codes)]);
        if let Work::Disown(work) = &plan.releases[0].work {
            assert_eq!(history::without_owner(&work.latest.labels).get(history::CONTEXT_LABEL), None);
        }
    }
    // Asked for by name, it goes.
    let strays = vec![stray("old", &[(history::ON_REMOVE_LABEL, "ask")], vec![left("old")])];
    check_all(&input(Vec::new(), strays, Operation::Destroy), &[("old", "uninstall", &["destroy-asked"])]);
}

#[test]
fn the_choice_is_stored_with_the_release() {
    let wanted = wanted("web", "onRemove = \"orphan\"", deployed(), vec![as_desired()]);
    let plan = check_all(
        &input(vec![wanted], Vec::new(), Operation::Reconcile),
        &[("web", "upgrade", &["on-remove-changed"])],
    );
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!(work.labels[history::ON_REMOVE_LABEL], "orphan");
}

#[test]
fn a_release_that_looks_renamed_is_neither_removed_nor_installed() {
    let renamed = |really_new: bool| {
        let wanted = wanted("new", "", History::new(key("new")), vec![missing()]);
        let strays = vec![stray("old", &[], vec![left("old")])];
        PlanInput { really_new, ..input(vec![wanted], strays, Operation::Reconcile) }
    };
    let codes = ["looks-like-a-move", "not-installed"];
    let gone = ["looks-like-a-move", "left-file"];
    check_all(&renamed(false), &[("new", "blocked", &codes), ("old", "blocked", &gone)]);
    check_all(
        &renamed(true),
        &[("new", "install", &["not-installed"]), ("old", "uninstall", &["left-file"])],
    );
    // Nothing in common: another chart, or no object of the same name.
    let mut other = renamed(false);
    other.strays[0].remnants = Ok(Vec::new());
    check_all(&other, &[("new", "install", &["not-installed"]), ("old", "uninstall", &["left-file"])]);
}

#[test]
fn a_move_takes_objects_over_and_deletes_only_with_consent() {
    let moving = |more: &str, remnants: Vec<Remnant>| {
        let live = observed(Some(config_map("1", Some("old"))), accepted(config_map("1", Some("new"))));
        let mut wanted = wanted("new", more, History::new(key("new")), vec![live]);
        wanted.moved_from = Some(MovedFrom {
            key: key("old"),
            history: Ok(recorded("old", Status::Deployed, Some("ours"))),
            remnants: Ok(remnants),
        });
        input(vec![wanted], Vec::new(), Operation::Reconcile)
    };
    let plan = check_all(&moving("", Vec::new()), &[("new", "install", &["moved-from", "not-installed"])]);
    assert_eq!(plan.releases[0].objects[0].action, ObjectAction::Adopt);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!(work.retired.len(), 1);
    let extra = || {
        let mut extra = left("old");
        extra.key.name = "extra".to_owned();
        vec![extra]
    };
    check_all(&moving("", extra()), &[("new", "blocked", &["move-deletes"])]);
    let plan = check_all(
        &moving("force = [\"move\"]", extra()),
        &[("new", "install", &["moved-from", "not-installed"])],
    );
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!(work.prunes.len(), 1);
    // Under way, or somebody else's: it stays where it is.
    for (status, owner, code) in
        [(Status::PendingUpgrade, "ours", "move-from-busy"), (Status::Deployed, "theirs", "other-context")]
    {
        let mut input = moving("", Vec::new());
        input.wanted[0].moved_from.as_mut().unwrap().history = Ok(recorded("old", status, Some(owner)));
        check_all(&input, &[("new", "blocked", &[code])]);
    }
}

#[test]
fn marks_alone_do_not_make_an_object_ours_to_remove() {
    let mut copied = left("web");
    copied.live.as_mut().unwrap()["metadata"]["managedFields"][0]["manager"] = json!("kubectl");
    let mut untraced = left("web");
    untraced.live.as_mut().unwrap()["metadata"]["managedFields"] = json!([]);
    let mut owned = left("web");
    owned.live.as_mut().unwrap()["metadata"]["ownerReferences"] =
        json!([{"kind": "Cluster", "name": "db", "controller": true, "uid": "u"}]);
    for (remnant, code) in [(copied, "no-trace"), (untraced, "no-trace"), (owned, "owned-by-object")] {
        let mut case = Case::new(deployed(), vec![missing()]);
        case.remnants = vec![remnant];
        let plan = case.check("upgrade", &["object-missing"]);
        let kept = plan.releases[0].objects.last().unwrap();
        assert_eq!((kept.action, kept.reasons[0].code()), (ObjectAction::Keep, code));
    }
}

/// A selection sees only some of what may be in a namespace or of a kind.
#[test]
fn with_a_selection_nothing_goes_that_others_are_in() {
    for (kind, api_version, action) in [
        ("Namespace", "v1", "blocked"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1", "blocked"),
        ("ConfigMap", "v1", "upgrade"),
    ] {
        for partial in [true, false] {
            let mut gone = left("web");
            gone.key.gvk = GroupVersionKind::new(api_version, kind);
            gone.key.name = "gone".to_owned();
            let keys: &'static str =
                "force = true\nallowDataLoss = [\"Namespace/gone\", \"CustomResourceDefinition/gone\"]";
            let mut case = Case { more: keys, ..Case::new(deployed(), vec![missing()]) };
            case.remnants = vec![gone];
            let input = PlanInput { partial, ..case.input() };
            let plan = plan(&input);
            let release = &plan.releases[0];
            let expected = if partial { action } else { "upgrade" };
            assert_eq!(release.action.name(), expected, "{kind} {partial}: {:?}", release.reasons);
            assert!(release.action.is_change() || release.reasons[0].code() == "holds-unselected");
            assert_eq!(check(&plan), [""; 0]);
        }
    }
}

/// However often a release failed, the answer is another revision.
#[test]
fn no_number_of_failures_leads_to_a_removal() {
    for failures in [1, 3, 50] {
        let objects: Vec<Json> = (1..=failures)
            .map(|version| {
                let mut release =
                    recorded("web", Status::Failed, Some("ours")).latest().unwrap().release.clone();
                release.version = version;
                let labels = history::labels_for("ours", "shop");
                history::new_object(Storage::Secret, &release, &labels, Timestamp::UNIX_EPOCH).unwrap()
            })
            .collect();
        for object in [as_desired(), missing()] {
            let history = history::group(Storage::Secret, &objects).remove(&key("web")).unwrap();
            let plan = plan(&Case::new(history, vec![object]).input());
            let release = &plan.releases[0];
            assert!(matches!(release.action, Action::Install | Action::Upgrade), "{failures}: {release:?}");
            let Work::Deploy(work) = &release.work else { panic!("it is deployed") };
            assert!(work.prunes.is_empty() && work.retired.is_empty());
        }
    }
}
