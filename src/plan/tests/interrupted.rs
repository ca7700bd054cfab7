//! Interrupted operations: from records to a row of the table, and to the work.

use super::*;
use crate::dsf::state::{OnInterrupted, Patience};
use crate::history::{OPERATION_ANNOTATION, Operation};

/// The history of a release whose only revision was left in this state by statectl, made of `version` of the chart.
fn left(status: Status, version: &str) -> History {
    let release = history::Release {
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
        version: 1,
        info: Info { status, ..Info::default() },
        chart: Some(chart(version)),
        manifest: MANIFEST.to_owned(),
        apply_method: "ssa".to_owned(),
        ..history::Release::default()
    };
    let labels = history::labels_for("ours", "shop");
    let mut object = history::new_object(Storage::Secret, &release, &labels, Timestamp::UNIX_EPOCH).unwrap();
    let operation = Operation::new("id", "ann@ci", ("lock-uid", 0), 30);
    object["metadata"]["annotations"] =
        json!({OPERATION_ANNOTATION: operation.at(Some("x".to_owned())).to_text()});
    object["metadata"]["uid"] = json!("record-uid");
    object["metadata"]["resourceVersion"] = json!("7");
    history::group(Storage::Secret, [&object]).remove(&key("web")).unwrap()
}

#[test]
fn what_was_complete_is_sealed_and_everything_else_rolls_forward() {
    for (status, object, version, code, seals) in [
        (Status::PendingInstall, as_desired(), "1.0.0", "sealed", true),
        (Status::PendingInstall, missing(), "1.0.0", "interrupted-before-objects", false),
        (Status::PendingInstall, as_desired(), "0.9.0", "interrupted-install", false),
        (Status::PendingUpgrade, as_desired(), "1.0.0", "sealed-upgrade", true),
        (Status::PendingUpgrade, missing(), "1.0.0", "interrupted-before-changes", false),
        (Status::PendingUpgrade, as_desired(), "0.9.0", "interrupted-upgrade", false),
        (Status::PendingRollback, as_desired(), "0.9.0", "interrupted-rollback", false),
        (Status::Uninstalling, as_desired(), "1.0.0", "interrupted-uninstall", false),
    ] {
        let case = Case::new(left(status.clone(), version), vec![object]);
        let plan = plan(&case.input());
        let release = &plan.releases[0];
        assert_eq!((release.action.name(), release.reasons[0].code()), ("recover", code), "{status:?}");
        let told = release.reasons[0].to_string();
        assert!(told.contains("ann@ci") && told.contains("about to x"), "{told}");
        match &release.work {
            Work::Seal(work) => {
                assert!(seals, "{code}");
                assert_eq!(work.record.release.version, 1);
            }
            Work::Deploy(work) => {
                assert!(!seals, "{code}");
                assert_eq!(work.interrupted.as_ref().map(|record| record.release.version), Some(1), "{code}");
                assert_eq!(work.record.version, 2, "{code}");
            }
            _ => panic!("{code}: it is finished"),
        }
        assert_eq!(check(&plan), [""; 0], "{code}");
    }
}

/// The history of a release of which these revisions say so; the newest is as desired.
fn kept(states: &[Status]) -> History {
    let states: Vec<_> = states.iter().map(|status| (status.clone(), "1.0.0")).collect();
    history_of(&states)
}

#[test]
fn of_several_that_say_deployed_the_newest_stays() {
    use Status::{Deployed, Failed, Superseded};
    for (states, superseded) in [
        (vec![Deployed], None),
        (vec![Superseded, Deployed], None),
        (vec![Deployed, Deployed], Some(vec![1])),
        (vec![Deployed, Failed, Deployed, Superseded, Deployed], Some(vec![1, 3])),
    ] {
        let case = Case::new(kept(&states), vec![as_desired()]);
        let plan = plan(&case.input());
        let release = &plan.releases[0];
        let found = match &release.work {
            Work::Nothing => None,
            Work::Seal(seal) => {
                assert_eq!(release.reasons[0].code(), "several-deployed");
                assert_eq!(seal.record.release.version, states.len() as u64);
                Some(seal.superseded.iter().map(|record| record.release.version).collect::<Vec<_>>())
            }
            _ => panic!("{states:?}"),
        };
        assert_eq!(found, superseded, "{states:?}");
        assert_eq!(check(&plan), [""; 0], "{states:?}");
    }
    // Where nothing is to be recovered from, nothing is settled either.
    let mut input = Case::new(kept(&[Deployed, Deployed]), vec![as_desired()]).input();
    input.recovery.settings.recover = crate::dsf::state::Recover::Report;
    assert!(matches!(plan(&input).releases[0].work, Work::Nothing));
}

/// The history of a release whose first revision is in one state, and whose second was left in another.
fn left_after(first: Status, second: Status, manifest: &str) -> History {
    let objects: Vec<Json> = [(1, first, MANIFEST), (2, second, manifest)]
        .into_iter()
        .map(|(version, status, manifest)| {
            let release = history::Release {
                name: "web".to_owned(),
                namespace: "shop".to_owned(),
                version,
                info: Info { status, ..Info::default() },
                chart: Some(chart("0.9.0")),
                manifest: manifest.to_owned(),
                ..history::Release::default()
            };
            let labels = history::labels_for("ours", "shop");
            let mut object =
                history::new_object(Storage::Secret, &release, &labels, Timestamp::UNIX_EPOCH).unwrap();
            object["metadata"]["uid"] = json!(format!("uid-{version}"));
            object["metadata"]["resourceVersion"] = json!("7");
            let operation = Operation::new("id", "ann@ci", ("lock-uid", 0), 30);
            if version == 2 {
                object["metadata"]["annotations"] = json!({OPERATION_ANNOTATION: operation.to_text()});
            }
            object
        })
        .collect();
    history::group(Storage::Secret, &objects).remove(&key("web")).unwrap()
}

fn planned(history: History, object: ObservedObject, settings: fn(&mut recover::Settings)) -> Plan {
    let mut input = Case::new(history, vec![object]).input();
    settings(&mut input.recovery.settings);
    let plan = plan(&input);
    assert_eq!(check(&plan), [""; 0]);
    plan
}

#[test]
fn an_interrupted_upgrade_goes_back_where_the_file_says_so() {
    let back = |settings: &mut recover::Settings| settings.on_interrupted = OnInterrupted::Rollback;
    let changed = || observed(Some(config_map("9", Some("web"))), accepted(config_map("1", Some("web"))));
    let mut plan = planned(left_after(Status::Deployed, Status::PendingUpgrade, MANIFEST), changed(), back);
    let release = &plan.releases[0];
    assert_eq!((release.action.name(), release.reasons[0].code()), ("recover", "interrupted-goes-back"));
    let Work::GoBack(work) = &release.work else { panic!("it goes back") };
    assert_eq!((work.rollback.to, work.rollback.record.version), (1, 3));
    assert_eq!(work.record.release.version, 2);
    assert_eq!(release.objects[0].reasons, [Reason::Restored { revision: 1 }]);
    // Without a good revision it goes forward.
    let forward = planned(left_after(Status::Failed, Status::PendingUpgrade, MANIFEST), changed(), back);
    assert!(matches!(forward.releases[0].work, Work::Deploy(_)));
    for (says, harm) in [
        ("not older", (|back| back.rollback.to = 2) as fn(&mut GoBack)),
        ("does not follow", |back| back.rollback.record.version = 2),
        ("not the newest", |back| back.record.release.version = 1),
        ("not interrupted", |back| back.record.release.info.status = Status::Deployed),
        ("replaces an object", |back| back.rollback.applies[0].mode = ApplyMode::Create),
        ("does not show", |back| back.rollback.applies[0].key.name = "other".to_owned()),
    ] {
        let Work::GoBack(work) = &mut plan.releases[0].work else { panic!("it goes back") };
        harm(work);
        assert!(check(&plan).iter().any(|found| found.contains(says)), "{says}: {:?}", check(&plan));
        plan = planned(left_after(Status::Deployed, Status::PendingUpgrade, MANIFEST), changed(), back);
    }
}

#[test]
fn a_revision_that_came_to_its_end_is_sealed_before_what_the_file_says_now() {
    let none = |_: &mut recover::Settings| {};
    let there = || observed(Some(config_map("1", Some("web"))), accepted(config_map("1", Some("web"))));
    for (first, manifest, settled_as, code) in [
        (Status::Superseded, MANIFEST, SettledAs::Deployed, "sealed-upgrade"),
        // Something of it is not there.
        (
            Status::Superseded,
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: b}\n",
            SettledAs::Failed,
            "interrupted-upgrade",
        ),
        (
            Status::Superseded,
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {x: '2'}\n",
            SettledAs::Failed,
            "interrupted-upgrade",
        ),
        // Nothing says that it ended.
        (Status::Deployed, MANIFEST, SettledAs::Failed, "interrupted-upgrade"),
    ] {
        let plan = planned(left_after(first.clone(), Status::PendingUpgrade, manifest), there(), none);
        let release = &plan.releases[0];
        assert_eq!(release.reasons[0].code(), code, "{first:?}");
        let Work::Deploy(work) = &release.work else { panic!("another revision follows") };
        assert_eq!((work.interrupted_as, work.record.version), (settled_as, 3), "{first:?} {manifest}");
    }
}

#[test]
fn what_an_interrupted_uninstall_deletes_is_waited_for() {
    let going = || {
        let mut live = config_map("1", Some("web"));
        live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        observed(Some(live), accepted(config_map("1", Some("web"))))
    };
    let none = |_: &mut recover::Settings| {};
    let mut plan = planned(left(Status::Uninstalling, "1.0.0"), going(), none);
    let release = &plan.releases[0];
    assert_eq!((release.action.name(), release.reasons[0].code()), ("recover", "interrupted-uninstall"));
    assert_eq!(release.objects[0].reasons, [Reason::CreatedAfterGone]);
    let Work::Deploy(work) = &mut plan.releases[0].work else { panic!("it is deployed") };
    assert!(matches!(&work.applies[0].mode, ApplyMode::AfterGone { uid } if uid == "live-uid"));
    work.applies[0].mode = ApplyMode::AfterGone { uid: String::new() };
    assert!(check(&plan).iter().any(|found| found.contains("no uid")), "{:?}", check(&plan));
    plan.releases[0].objects[0].reasons = vec![Reason::Created];
    assert!(check(&plan).iter().any(|found| found.contains("does not say so")), "{:?}", check(&plan));
    // Elsewhere somebody else deletes it, and is not waited for.
    let plan = planned(deployed(), going(), none);
    assert_eq!(plan.releases[0].reasons[0].code(), "being-deleted");
}

#[test]
fn only_the_record_of_another_tool_is_fenced() {
    let fence = |settings: &mut recover::Settings| {
        settings.fence_taken_over = true;
        settings.foreign_pending_after = Patience::For(std::time::Duration::ZERO);
    };
    for (ours, settled_as) in [(true, SettledAs::Failed), (false, SettledAs::Fenced)] {
        let mut history = left(Status::PendingInstall, "0.9.0");
        if !ours {
            let mut object =
                history::updated_object(history.latest().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
            object["metadata"]["annotations"] = json!({});
            object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
            history = history::group(Storage::Secret, [&object]).remove(&key("web")).unwrap();
        }
        let mut input = Case::new(history, vec![as_desired()]).input();
        input.recovery.server_now = Some("2026-01-01T01:00:00Z".parse().unwrap());
        fence(&mut input.recovery.settings);
        let plan = plan(&input);
        let Work::Deploy(work) = &plan.releases[0].work else { panic!("{:?}", plan.releases[0].reasons) };
        assert_eq!(work.interrupted_as, settled_as, "{ours}");
    }
}

#[test]
fn a_broken_recovery_is_found() {
    let interrupted =
        |version: &str| plan(&Case::new(left(Status::PendingInstall, version), vec![as_desired()]).input());
    fn deploy(plan: &mut Plan) -> &mut Deploy {
        match &mut plan.releases[0].work {
            Work::Deploy(deploy) => deploy,
            _ => panic!("it is deployed"),
        }
    }
    let mut plan = interrupted("0.9.0");
    let record = deploy(&mut plan).interrupted.take();
    assert!(check(&plan).iter().any(|found| found.contains("recovers from nothing")), "{:?}", check(&plan));
    let mut settled = record.clone().unwrap();
    settled.release.info.status = Status::Deployed;
    deploy(&mut plan).interrupted = Some(settled);
    assert!(check(&plan).iter().any(|found| found.contains("was not interrupted")), "{:?}", check(&plan));
    let mut older = record.unwrap();
    older.release.version = 0;
    deploy(&mut plan).interrupted = Some(older);
    assert!(check(&plan).iter().any(|found| found.contains("not the newest")), "{:?}", check(&plan));

    let mut plan = interrupted("1.0.0");
    let Work::Seal(seal) = &mut plan.releases[0].work else { panic!("it is sealed") };
    seal.record.release.info.status = Status::Failed;
    assert!(check(&plan).iter().any(|found| found.contains("is sealed")), "{:?}", check(&plan));
    let both = [Status::Deployed, Status::Deployed];
    let settled = || super::plan(&Case::new(kept(&both), vec![as_desired()]).input());
    let mut plan = settled();
    let Work::Seal(seal) = &mut plan.releases[0].work else { panic!("it is settled") };
    // The newest is marked superseded instead of the older one.
    std::mem::swap(&mut seal.record, &mut seal.superseded[0]);
    assert!(check(&plan).iter().any(|found| found.contains("not older")), "{:?}", check(&plan));
    let mut plan = settled();
    let Work::Seal(seal) = &mut plan.releases[0].work else { panic!("it is settled") };
    seal.superseded.clear();
    assert!(check(&plan).iter().any(|found| found.contains("is sealed")), "{:?}", check(&plan));
    let mut plan = interrupted("1.0.0");
    plan.releases[0].objects[0].action = ObjectAction::Update;
    assert!(check(&plan).iter().any(|found| found.contains("objects would change")), "{:?}", check(&plan));
}
