//! Releases that are left alone: pending ones where the file says so, and those that failed too often.

use super::*;

const MOST: &str = "maxFailures = 2";

#[test]
fn what_failed_too_often_with_the_same_input_is_held_in_scheduled_runs() {
    use Status::{Deployed, Failed, Superseded};
    // The chart that is wanted is 1.0.0.
    for (states, scheduled, held) in [
        (&[(Failed, "1.0.0"), (Failed, "1.0.0")][..], true, true),
        (&[(Failed, "1.0.0"), (Failed, "1.0.0")], false, false),
        (&[(Failed, "1.0.0")], true, false),
        (&[(Failed, "0.9.0"), (Failed, "1.0.0")], true, false),
        // Rolled back each time: what stands between has another input.
        (
            &[
                (Superseded, "0.9.0"),
                (Failed, "1.0.0"),
                (Superseded, "0.9.0"),
                (Failed, "1.0.0"),
                (Deployed, "0.9.0"),
            ],
            true,
            true,
        ),
        // It worked in between.
        (&[(Failed, "1.0.0"), (Superseded, "1.0.0"), (Failed, "1.0.0")], true, false),
    ] {
        let make = |retry: bool| {
            let mut input = Case { more: MOST, ..Case::new(history_of(states), vec![missing()]) }.input();
            input.scheduled = scheduled;
            input.recovery.settings.retry = retry;
            plan(&input)
        };
        let found = make(false);
        assert_eq!((found.has_held(), found.has_blocked()), (held, false), "{states:?}");
        assert_eq!(check(&found), [""; 0]);
        if held {
            let reason = &found.releases[0].reasons[0];
            assert_eq!(reason.to_string(), "held: the last 2 tries with the same input failed");
            assert!(reason.remedy().unwrap().contains("--retry"));
            assert!(!make(true).has_held(), "`--retry` lets it go on");
        }
    }
}

#[test]
fn pending_releases_are_left_alone_where_that_is_said() {
    for (status, skipped) in [
        (Status::PendingInstall, true),
        (Status::PendingUpgrade, true),
        (Status::Uninstalling, true),
        (Status::Failed, false),
        (Status::Deployed, false),
    ] {
        let mut input = Case::new(history_of(&[(status.clone(), "0.9.0")]), vec![missing()]).input();
        input.skip_pending = true;
        let found = plan(&input);
        let release = &found.releases[0];
        let is_skipped = release.reasons[0].code() == "pending-skipped";
        assert_eq!((is_skipped, release.action == Action::None), (skipped, skipped), "{status}");
        assert_eq!(check(&found), [""; 0]);
        // What should go goes, as in Helmsman.
        input.operation = Operation::Destroy;
        assert_ne!(plan(&input).releases[0].reasons[0].code(), "pending-skipped");
    }
}
