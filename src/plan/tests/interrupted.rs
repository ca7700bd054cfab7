//! Interrupted operations: from records to a row of the table, and to the work.

use super::*;
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
    let mut plan = interrupted("1.0.0");
    plan.releases[0].objects[0].action = ObjectAction::Update;
    assert!(check(&plan).iter().any(|found| found.contains("objects would change")), "{:?}", check(&plan));
}
