//! The state machine of a lock, as tables and as properties.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

const LEASE: Duration = Duration::from_secs(30);

fn at(seconds: f64) -> Moment {
    Moment(Duration::from_secs_f64(seconds))
}

fn version(number: u32) -> Version {
    Version { uid: "u".to_owned(), resource_version: number.to_string() }
}

fn sight(number: u32, holder: &str, seq: u64) -> Sight {
    let version = version(number);
    Sight { version, holder: holder.to_owned(), seconds: 30, seq, transitions: 0, info: None }
}

fn info() -> Info {
    Info { format: LOCK_FORMAT.to_owned(), id: "me".to_owned(), who: "ann@ci".to_owned(), ..Info::default() }
}

#[test]
fn a_write_that_is_started_at_the_last_moment_is_over_before_anybody_takes_over() {
    for milliseconds in [1000, 1500, 2000, 3000, 15_000, 30_000, 600_000] {
        let times = Times::of(Duration::from_millis(milliseconds));
        assert!(times.renew_within + times.write + times.margin <= times.lease, "{times:?}");
        assert!(times.margin >= times.lease / 20, "clocks may differ by a twentieth: {times:?}");
        assert!(times.renew_within > 3 * times.retry, "one lost renewal is not the end: {times:?}");
        assert!(Duration::from_secs(times.lease_seconds().into()) >= times.lease);
    }
    let usual = Times::of(LEASE);
    let seconds = [usual.renew_within, usual.retry, usual.write, usual.margin].map(|time| time.as_secs());
    assert_eq!(seconds, [18, 4, 10, 2]);
}

#[test]
fn silence_is_counted_from_the_first_answer_to_the_last_question() {
    let mut watch = Watch::default();
    let held = |silence: f64| Standing::Held { silence: Duration::from_secs_f64(silence) };
    assert_eq!(watch.look(&sight(1, "a", 1), at(0.0), at(5.0)), held(0.0));
    assert_eq!(watch.look(&sight(1, "a", 1), at(34.0), at(90.0)), held(29.0));
    assert_eq!(watch.look(&sight(1, "a", 1), at(35.0), at(35.1)), Standing::Silent);
    // Any change is a sign of life, even one that says nothing new.
    assert_eq!(watch.look(&sight(2, "a", 1), at(36.0), at(36.1)), held(0.0));
    assert_eq!(watch.look(&sight(2, "", 1), at(80.0), at(80.1)), Standing::Free);
    // A lock that was given back and taken again begins anew.
    assert_eq!(watch.look(&sight(2, "a", 1), at(99.0), at(99.1)), held(0.0));
    // The duration is the holder's, not ours.
    let mut watch = Watch::default();
    let long = Sight { seconds: 300, ..sight(1, "a", 1) };
    assert_eq!(watch.look(&long, at(0.0), at(0.0)), held(0.0));
    assert_eq!(watch.look(&long, at(299.0), at(299.0)), held(299.0));
    assert_eq!(watch.look(&long, at(300.0), at(300.0)), Standing::Silent);
}

#[test]
fn a_holder_that_is_too_late_once_never_writes_again() {
    let mut hold = Hold::new(Times::of(LEASE), "me", at(0.0), version(1), 1);
    assert_eq!(hold.may_write(at(17.9)), Ok(Duration::from_secs(10)));
    hold.renewed(at(4.0), version(2));
    assert!(hold.may_write(at(21.9)).is_ok());
    // The time counts from the sending, whenever the answer comes.
    assert_eq!(hold.may_write(at(22.0)), Err(Loss::TooLate));
    hold.renewed(at(22.5), version(3));
    hold.found(Some(&sight(3, "me", 3)));
    assert_eq!(hold.begin(at(22.6)), Err(Loss::TooLate));
    assert_eq!(hold.may_write(at(22.6)), Err(Loss::TooLate));
}

#[test]
fn what_is_found_after_an_unknown_renewal_decides() {
    let other = |uid: &str, holder: &str| {
        let version = Version { uid: uid.to_owned(), resource_version: "9".to_owned() };
        Sight { version, ..sight(0, holder, 1) }
    };
    for (found, expected) in [
        // Our own renewal, whose answer was lost.
        (Some(sight(2, "me", 2)), None),
        // It was not carried out.
        (Some(sight(1, "me", 1)), None),
        // Somebody writes under our name.
        (Some(sight(4, "me", 7)), Some(Loss::TakenBy(String::new()))),
        (Some(sight(3, "you", 2)), Some(Loss::TakenBy("you".to_owned()))),
        (Some(sight(3, "", 2)), Some(Loss::TakenBy(String::new()))),
        (Some(other("v", "you")), Some(Loss::TakenBy("you".to_owned()))),
        (Some(other("v", "me")), Some(Loss::TakenBy("me".to_owned()))),
        (Some(other("v", "")), Some(Loss::Gone)),
        (None, Some(Loss::Gone)),
    ] {
        let mut hold = Hold::new(Times::of(LEASE), "me", at(0.0), version(1), 1);
        hold.begin(at(10.0)).unwrap();
        hold.found(found.as_ref());
        assert_eq!(hold.lost(), expected.as_ref(), "{found:?}");
        // Its time counts from the first sending, whichever attempt was carried out.
        let renewed = found.as_ref().is_some_and(|found| found.seq == 2 && found.holder == "me");
        assert_eq!(hold.may_write(at(20.0)).is_ok(), renewed, "{found:?}");
    }
}

#[test]
fn both_kinds_of_locks_say_the_same() {
    let times = Times::of(LEASE);
    let name = Name::release("shop", "web");
    for kind in [Kind::Lease, Kind::Secret] {
        let stored = |mut object: Json, number: &str| {
            object["metadata"]["uid"] = "u".into();
            object["metadata"]["resourceVersion"] = number.into();
            object
        };
        let created = created_object(kind, &name, &times, &info(), "now");
        assert_eq!(created["metadata"].get("uid"), None);
        let first = read(kind, &stored(created, "1"));
        let expected = Sight { version: version(1), info: Some(info()), ..sight(1, "me", 1) };
        assert_eq!(first, expected);
        assert!(!first.is_foreign());
        let renewed =
            renewed_object(kind, &name, &times, &info(), (&first.version, 2, first.transitions), "later");
        assert_eq!(renewed["metadata"]["uid"], "u", "a removed lock is never made anew");
        assert_eq!(renewed["metadata"]["resourceVersion"], "1");
        assert_eq!(read(kind, &stored(renewed, "2")).seq, 2);
        let free = read(kind, &stored(released_object(kind, &name, (&first.version, 3, 0), "now"), "3"));
        assert_eq!((free.holder.as_str(), free.seconds), ("", 1));
        let mut watch = Watch::default();
        assert_eq!(watch.look(&free, at(0.0), at(0.0)), Standing::Free);
        let taken = read(kind, &stored(acquired_object(kind, &name, &times, &info(), &free, "now"), "4"));
        assert_eq!((taken.holder.as_str(), taken.seq, taken.transitions), ("me", 4, 1));
    }
    // A lock of somebody else, or of another version, is held and not understood.
    let plain = serde_json::json!({"metadata": {}, "spec": {"holderIdentity": "controller"}});
    let found = read(Kind::Lease, &plain);
    assert!(found.is_foreign());
    assert_eq!(found.seconds, 60);
}

#[test]
fn no_two_contexts_share_a_lock() {
    for (context, object) in [
        ("shop", "statectl-context.shop"),
        ("Shop", "statectl-context.x.53686f70"),
        ("a_b", "statectl-context.x.615f62"),
        ("-a", "statectl-context.x.2d61"),
    ] {
        assert_eq!(Name::context("n", context).object, object);
    }
    assert_eq!(Name::subject("statectl.web"), Some(("release", "web")));
    assert_eq!(Name::subject("statectl-context.shop"), Some(("context", "shop")));
    assert_eq!(Name::subject("web"), None);
}

#[test]
fn the_job_is_found_in_the_environment_of_each_ci_system() {
    for (variables, expected) in [
        (&[][..], None),
        (
            &[
                ("GITHUB_SERVER_URL", "https://github.com"),
                ("GITHUB_REPOSITORY", "a/b"),
                ("GITHUB_RUN_ID", "7"),
            ],
            Some("https://github.com/a/b/actions/runs/7"),
        ),
        (&[("CI_JOB_URL", "https://gitlab/j/1")], Some("https://gitlab/j/1")),
        (&[("BUILD_URL", "https://jenkins/1/")], Some("https://jenkins/1/")),
        (&[("CIRCLE_BUILD_URL", "https://circle/1")], Some("https://circle/1")),
        (&[("BUILDKITE_BUILD_URL", "https://buildkite/1")], Some("https://buildkite/1")),
        (
            &[
                ("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI", "https://azure/"),
                ("SYSTEM_TEAMPROJECT", "p"),
                ("BUILD_BUILDID", "3"),
            ],
            Some("https://azure/p/_build/results?buildId=3"),
        ),
        (
            &[("BITBUCKET_GIT_HTTP_ORIGIN", "https://bb/a"), ("BITBUCKET_BUILD_NUMBER", "2")],
            Some("https://bb/a/pipelines/results/2"),
        ),
        (&[("GITHUB_RUN_ID", "7")], None),
    ] {
        let environment: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(job_url(&environment).as_deref(), expected);
    }
}

/// One thing that happens to a holder.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It renews; the request takes so long, and is carried out or not, and its answer comes or not.
    Renew { takes: u16, done: bool, answered: bool },
    /// It stands still.
    Sleep(u16),
    /// It wants to write.
    Write,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0_u16..4000, any::<bool>(), any::<bool>()).prop_map(|(takes, done, answered)| Step::Renew {
            takes,
            done,
            answered
        }),
        (0_u16..20_000).prop_map(Step::Sleep),
        Just(Step::Write),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// The heart of it: whatever the holder's requests do, and however the two clocks differ in origin and, within a
    /// twentieth, in rate: no write of the holder can still be under way when a challenger takes over.
    #[test]
    fn a_challenger_never_meets_a_write(steps in steps(), rate in 0.95_f64..1.0, offset in 0.0_f64..1e6, poll in 100_u64..5000) {
        let times = Times::of(LEASE);
        // True time in milliseconds; the holder's clock is slow, which is the dangerous side.
        let holder_clock = |now: u64| at(now as f64 / 1000.0 * rate + offset);
        let mut now = 0_u64;
        let mut stored = vec![(0_u64, 1_u32)];
        let mut seq = 1_u64;
        let mut hold = Hold::new(times, "me", holder_clock(0), version(1), 1);
        let mut last_write_end = 0_u64;
        for step in steps {
            match step {
                Step::Sleep(time) => now += u64::from(time),
                Step::Write => {
                    if let Ok(limit) = hold.may_write(holder_clock(now)) {
                        last_write_end = now + limit.as_millis() as u64;
                    }
                }
                Step::Renew { takes, done, answered } => {
                    let sent = holder_clock(now);
                    if hold.begin(sent).is_err() {
                        continue;
                    }
                    let number = stored.last().map_or(0, |(_, number)| *number) + u32::from(done);
                    now += u64::from(takes);
                    if done {
                        // It is carried out at the end of its way at the earliest moment that hurts: when it was sent.
                        stored.push((now - u64::from(takes), number));
                        seq += 1;
                    }
                    if done && answered {
                        hold.renewed(sent, version(number));
                    } else {
                        hold.found(Some(&sight(number, "me", seq)));
                    }
                }
            }
        }
        // A challenger that watched all the time.
        let mut watch = Watch::default();
        let mut taken = None;
        let mut look = 0_u64;
        while taken.is_none() {
            let current = stored.iter().rev().find(|(when, _)| *when <= look).map_or(1, |(_, number)| *number);
            let moment = at(look as f64 / 1000.0);
            if watch.look(&sight(current, "me", 1), moment, moment) == Standing::Silent {
                taken = Some(look);
            }
            look += poll;
        }
        let taken = taken.unwrap_or_default();
        // Writes that were started before the takeover are over by then.
        if let Some(last) = stored.last() && taken >= last.0 {
            prop_assert!(last_write_end <= taken, "a write until {last_write_end}, taken over at {taken}");
        }
    }
}
