//! Each row of the table, and what holds for everything that can be known.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn latest(status: Status, ours: bool) -> Latest {
    Latest { revision: 2, status, ours, age: Some(HOUR), controller: None }
}

fn records(latest: Option<Latest>, deployed: usize) -> Records {
    Records {
        latest,
        readable: true,
        deployed,
        previous_superseded: false,
        older_pending: false,
        interrupted: 0,
    }
}

fn facts(status: Status, deployed: usize) -> Facts {
    Facts {
        lock: LockSight::Ours,
        records: records(Some(latest(status, true)), deployed),
        objects: Objects::Some,
        wanted: Wanted::Present {
            as_desired: false,
            same_input: true,
            hooks_done: true,
            was_complete: false,
        },
        settings: Settings {
            recover: Recover::Auto,
            foreign_pending_after: Patience::For(2 * HOUR),
            on_interrupted: OnInterrupted::RollForward,
            retry: false,
            fence_taken_over: false,
        },
    }
}

const COMPLETE: Wanted =
    Wanted::Present { as_desired: true, same_input: true, hooks_done: true, was_complete: true };

/// What changes in the facts, and the row and act that follow.
type Case = (Row, Act, Facts);

fn with(mut facts: Facts, change: impl FnOnce(&mut Facts)) -> Facts {
    change(&mut facts);
    facts
}

fn of_latest(facts: &mut Facts, change: impl FnOnce(&mut Latest)) {
    if let Some(latest) = &mut facts.records.latest {
        change(latest);
    }
}

fn cases() -> Vec<Case> {
    use Status::{
        Deployed, Failed, PendingInstall, PendingRollback, PendingUpgrade, Superseded, Uninstalling,
    };
    let live = LockSight::Live { holder: "ann@ci".to_owned() };
    let denied = LockSight::Unreadable { why: "forbidden".to_owned() };
    let not_done =
        Wanted::Present { as_desired: true, same_input: true, hooks_done: false, was_complete: true };
    let other_input =
        Wanted::Present { as_desired: true, same_input: false, hooks_done: true, was_complete: true };
    vec![
        (Row::R0, Act::Wait, with(facts(PendingUpgrade, 1), |f| f.lock = live.clone())),
        (Row::R0, Act::Wait, with(facts(Deployed, 1), |f| f.lock = live.clone())),
        (Row::R1, Act::Refuse, with(facts(PendingUpgrade, 1), |f| f.lock = denied)),
        (Row::R2, Act::Wait, with(facts(PendingUpgrade, 1), |f| of_latest(f, |l| l.ours = false))),
        (Row::R2, Act::Wait, with(facts(Uninstalling, 0), |f| of_latest(f, |l| l.ours = false))),
        // A record whose age is not known is never old enough.
        (
            Row::R2,
            Act::Wait,
            with(facts(PendingInstall, 0), |f| {
                of_latest(f, |l| {
                    l.ours = false;
                    l.age = None;
                });
            }),
        ),
        (
            Row::R2,
            Act::Wait,
            with(facts(PendingUpgrade, 1), |f| {
                of_latest(f, |l| {
                    l.ours = false;
                    l.age = Some(1000 * HOUR);
                });
                f.settings.foreign_pending_after = Patience::Forever;
            }),
        ),
        (
            Row::R9,
            Act::RollForward,
            with(facts(PendingUpgrade, 1), |f| {
                of_latest(f, |l| {
                    l.ours = false;
                    l.age = Some(2 * HOUR);
                });
            }),
        ),
        (
            Row::R3,
            Act::Refuse,
            with(facts(PendingUpgrade, 1), |f| {
                of_latest(f, |l| l.controller = Some("helm-controller".to_owned()));
            }),
        ),
        (Row::R4, Act::Install, with(facts(PendingInstall, 0), |f| f.objects = Objects::None)),
        (Row::R5, Act::Install, facts(PendingInstall, 0)),
        (Row::R6, Act::Refuse, with(facts(PendingInstall, 0), |f| f.objects = Objects::NotOurs)),
        (Row::R6, Act::Refuse, with(facts(PendingUpgrade, 1), |f| f.objects = Objects::NotOurs)),
        (Row::R7, Act::Seal, with(facts(PendingInstall, 0), |f| f.wanted = COMPLETE)),
        // A hook that may not have ended runs again.
        (Row::R5, Act::Install, with(facts(PendingInstall, 0), |f| f.wanted = not_done)),
        (Row::R5, Act::Install, with(facts(PendingInstall, 0), |f| f.wanted = other_input)),
        (Row::R8, Act::RollForward, with(facts(PendingUpgrade, 1), |f| f.objects = Objects::None)),
        (Row::R9, Act::RollForward, facts(PendingUpgrade, 1)),
        (Row::R9, Act::RollForward, with(facts(PendingUpgrade, 1), |f| f.wanted = not_done)),
        (
            Row::R9b,
            Act::RollBack,
            with(facts(PendingUpgrade, 1), |f| f.settings.on_interrupted = OnInterrupted::Rollback),
        ),
        // Without a good revision there is nothing to go back to.
        (
            Row::R5,
            Act::Install,
            with(facts(PendingInstall, 0), |f| f.settings.on_interrupted = OnInterrupted::Rollback),
        ),
        (Row::R10, Act::Seal, with(facts(PendingUpgrade, 1), |f| f.wanted = COMPLETE)),
        (
            Row::R10,
            Act::Seal,
            with(facts(PendingUpgrade, 0), |f| {
                f.wanted = not_done;
                f.records.previous_superseded = true;
            }),
        ),
        (Row::R10, Act::Seal, with(facts(PendingRollback, 0), |f| f.wanted = COMPLETE)),
        // The file says something else by now; that revision came to its end all the same.
        (
            Row::R10,
            Act::SealFirst,
            with(facts(PendingUpgrade, 0), |f| {
                f.wanted = other_input;
                f.records.previous_superseded = true;
            }),
        ),
        // With a deployed revision beside it nothing says so.
        (Row::R9, Act::RollForward, with(facts(PendingUpgrade, 1), |f| f.wanted = other_input)),
        // A rollback that was interrupted is not rolled back.
        (
            Row::R11,
            Act::RollForward,
            with(facts(PendingRollback, 1), |f| f.settings.on_interrupted = OnInterrupted::Rollback),
        ),
        (Row::R11, Act::RollForward, facts(PendingRollback, 1)),
        (Row::R12, Act::RollForward, facts(Uninstalling, 0)),
        (Row::R13, Act::Resume, with(facts(Uninstalling, 0), |f| f.wanted = Wanted::Absent)),
        (Row::R13, Act::Resume, with(facts(PendingInstall, 0), |f| f.wanted = Wanted::Absent)),
        (Row::R14, Act::Plan, facts(Failed, 1)),
        (Row::R15, Act::Plan, facts(Failed, 0)),
        (Row::R16, Act::Plan, facts(Superseded, 0)),
        (Row::R17, Act::Plan, facts(Deployed, 2)),
        (Row::R18, Act::Plan, with(facts(Deployed, 0), |f| f.records.latest = None)),
        (Row::R19, Act::Refuse, with(facts(Deployed, 1), |f| f.records.readable = false)),
        (Row::R19, Act::Refuse, facts(Status::Other("odd".to_owned()), 1)),
        (Row::R19, Act::Refuse, facts(Status::Unknown, 0)),
        (Row::R20, Act::Plan, with(facts(Deployed, 1), |f| f.records.older_pending = true)),
        (Row::R21, Act::Refuse, with(facts(PendingUpgrade, 1), |f| f.records.interrupted = 3)),
        (Row::R9, Act::RollForward, with(facts(PendingUpgrade, 1), |f| f.records.interrupted = 2)),
        (
            Row::R9,
            Act::RollForward,
            with(facts(PendingUpgrade, 1), |f| {
                f.records.interrupted = 3;
                f.settings.retry = true;
            }),
        ),
        // Only shown, not carried out.
        (Row::R9, Act::Refuse, with(facts(PendingUpgrade, 1), |f| f.settings.recover = Recover::Report)),
        (Row::R9, Act::Refuse, with(facts(PendingUpgrade, 1), |f| f.settings.recover = Recover::Off)),
    ]
}

#[test]
fn each_row_is_reached() {
    let mut reached = BTreeSet::new();
    for (row, act, facts) in cases() {
        assert_eq!(decide(&facts), Verdict { row: Some(row), act }, "{facts:#?}");
        reached.insert(row);
    }
    let all: BTreeSet<Row> = TABLE.iter().map(|entry| entry.row).collect();
    assert_eq!(reached, all);
}

#[test]
fn the_table_has_each_row_once_with_a_number_and_a_code_of_its_own() {
    let ids: BTreeSet<&str> = TABLE.iter().map(|entry| entry.id).collect();
    let codes: BTreeSet<&str> = TABLE.iter().map(|entry| entry.code).collect();
    assert_eq!((ids.len(), codes.len()), (TABLE.len(), TABLE.len()));
    for known in &TABLE {
        assert_eq!(entry(known.row).id, known.id);
        assert_eq!(format!("{:?}", known.row), known.id);
    }
    for (row, act, _) in cases() {
        // Whoever is stopped is told what it takes.
        let stopped = matches!(act, Act::Wait | Act::Refuse);
        let told = !entry(row).needs.is_empty();
        assert!(told || !stopped || row == Row::R9, "{row:?}");
    }
}

#[test]
fn a_release_that_is_as_it_should_be_fits_no_row() {
    assert_eq!(decide(&facts(Status::Deployed, 1)), Verdict { row: None, act: Act::Plan });
    assert_eq!(decide(&facts(Status::Uninstalled, 0)), Verdict { row: None, act: Act::Plan });
    let nothing = with(facts(Status::Deployed, 0), |f| {
        f.records.latest = None;
        f.objects = Objects::None;
    });
    assert_eq!(decide(&nothing), Verdict { row: None, act: Act::Plan });
}

fn any_status() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Unknown),
        Just(Status::Deployed),
        Just(Status::Uninstalled),
        Just(Status::Superseded),
        Just(Status::Failed),
        Just(Status::Uninstalling),
        Just(Status::PendingInstall),
        Just(Status::PendingUpgrade),
        Just(Status::PendingRollback),
        Just(Status::Other("odd".to_owned())),
    ]
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let lock = prop_oneof![
        Just(LockSight::NotAsked),
        Just(LockSight::Ours),
        Just(LockSight::Live { holder: "a".to_owned() }),
        Just(LockSight::Unreadable { why: "no".to_owned() }),
    ];
    let age = prop_oneof![Just(None), (0_u64..100_000).prop_map(|s| Some(Duration::from_secs(s)))];
    let controller = prop_oneof![4 => Just(None), 1 => Just(Some("helm-controller".to_owned()))];
    let newest = prop_oneof![
        1 => Just(None),
        9 => (any_status(), any::<bool>(), age, controller).prop_map(|(status, ours, age, controller)| {
            Some(Latest { revision: 3, status, ours, age, controller })
        }),
    ];
    let records = (newest, prop::bool::weighted(0.9), 0_usize..3, any::<bool>(), any::<bool>(), 0_usize..5)
        .prop_map(|(latest, readable, deployed, previous_superseded, older_pending, interrupted)| Records {
            latest,
            readable,
            deployed,
            previous_superseded,
            older_pending,
            interrupted,
        });
    let objects = prop_oneof![Just(Objects::None), Just(Objects::Some), Just(Objects::NotOurs)];
    let wanted = prop_oneof![
        1 => Just(Wanted::Absent),
        4 => (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(as_desired, same_input, hooks_done, was_complete)| {
                Wanted::Present { as_desired, same_input, hooks_done, was_complete }
            },
        ),
    ];
    let recover = prop_oneof![3 => Just(Recover::Auto), 1 => Just(Recover::Report), 1 => Just(Recover::Off)];
    let patience = prop_oneof![Just(Patience::Forever), Just(Patience::For(2 * HOUR))];
    let interrupted = prop_oneof![Just(OnInterrupted::RollForward), Just(OnInterrupted::Rollback)];
    let settings = (recover, patience, interrupted, any::<bool>()).prop_map(
        |(recover, foreign_pending_after, on_interrupted, retry)| Settings {
            recover,
            foreign_pending_after,
            on_interrupted,
            retry,
            fence_taken_over: false,
        },
    );
    (lock, records, objects, wanted, settings).prop_map(|(lock, records, objects, wanted, settings)| Facts {
        lock,
        records,
        objects,
        wanted,
        settings,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_holds_for_everything_that_can_be_known(facts in any_facts()) {
        let verdict = decide(&facts);
        let latest = facts.records.latest.as_ref();
        let writes = !matches!(verdict.act, Act::Wait | Act::Refuse);
        let recovers = writes && verdict.act != Act::Plan;
        // Nothing is written beside somebody who is at work, or over what cannot be read.
        if matches!(facts.lock, LockSight::Live { .. } | LockSight::Unreadable { .. }) {
            prop_assert!(!writes || latest.is_none());
        }
        prop_assert!(!writes || facts.records.readable);
        let under_way = latest.is_some_and(|latest| latest.status.is_pending() || latest.status == Status::Uninstalling);
        // Only what was interrupted is recovered from, and everything that was has a row.
        prop_assert!(!recovers || under_way);
        prop_assert!(!under_way || verdict.row.is_some());
        if under_way {
            prop_assert!(verdict.act != Act::Plan);
        }
        // A record is only called deployed when everything it says is there.
        if verdict.act == Act::Seal {
            let complete = matches!(facts.wanted, Wanted::Present { as_desired: true, same_input: true, .. });
            prop_assert!(complete);
        }
        // Nothing is uninstalled unless it should go.
        if verdict.act == Act::Resume {
            prop_assert_eq!(facts.wanted, Wanted::Absent);
        }
        // What another tool wrote a moment ago is left alone.
        let fresh = latest.is_some_and(|latest| !latest.ours && latest.age.is_none_or(|age| age < 2 * HOUR));
        prop_assert!(!(fresh && recovers));
        // A release of a controller is never recovered, and nothing is where the file says so.
        let controlled = latest.is_some_and(|latest| latest.controller.is_some());
        prop_assert!(!(controlled && recovers));
        prop_assert!(!(recovers && facts.settings.recover != Recover::Auto));
    }
}
