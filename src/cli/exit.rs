//! The exit codes, all of them.

use crate::failure::FailureClass;

/// How the process ends. The numbers are a contract with scripts and CI systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// 0: done, or nothing to do.
    Done,
    /// 1: something that was tried did not work.
    Failed,
    /// 2: changes are pending; only with `--detailed-exit-code`.
    ChangesPending,
    /// 3: the selection matched nothing.
    NothingSelected,
    /// 4: a guard refuses at least one release.
    Refused,
    /// 5: held back: failure budget, freeze or window.
    Held,
    /// 64: usage, or an error in a desired-state file.
    Usage,
    /// 75: another runner holds the lock.
    Locked,
    /// 129: ended by SIGHUP.
    HungUp,
    /// 130: ended by SIGINT.
    Interrupted,
    /// 143: ended by SIGTERM.
    Terminated,
}

impl ExitCode {
    /// Every code, in the order in which one of several outcomes decides: the first that occurs.
    pub const BY_PRECEDENCE: [ExitCode; 11] = [
        ExitCode::HungUp,
        ExitCode::Interrupted,
        ExitCode::Terminated,
        ExitCode::Usage,
        ExitCode::Failed,
        ExitCode::Locked,
        ExitCode::Refused,
        ExitCode::Held,
        ExitCode::NothingSelected,
        ExitCode::ChangesPending,
        ExitCode::Done,
    ];

    /// Returns the number that the process ends with.
    pub fn number(self) -> u8 {
        match self {
            ExitCode::Done => 0,
            ExitCode::Failed => 1,
            ExitCode::ChangesPending => 2,
            ExitCode::NothingSelected => 3,
            ExitCode::Refused => 4,
            ExitCode::Held => 5,
            ExitCode::Usage => 64,
            ExitCode::Locked => 75,
            ExitCode::HungUp => 129,
            ExitCode::Interrupted => 130,
            ExitCode::Terminated => 143,
        }
    }

    /// Returns what it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            ExitCode::Done => "Done, or nothing to do.",
            ExitCode::Failed => {
                "Failed: something that was tried did not work, as a cluster that cannot be reached or a hook that failed."
            }
            ExitCode::ChangesPending => {
                "Changes are pending; only with `--detailed-exit-code`, of `plan`, `diff` and `drift`."
            }
            ExitCode::NothingSelected => "The selection (`--target`, `-l`, `--group`) matched nothing.",
            ExitCode::Refused => {
                "Refused: a guard blocks at least one release, or a saved plan or an approval no longer fits. Nothing of that \
                 release was changed."
            }
            ExitCode::Held => "Held: the failure budget is spent, or it is outside of the window.",
            ExitCode::Usage => {
                "A mistake on the command line, in the configuration, or in a desired-state file."
            }
            ExitCode::Locked => "Another run holds the lock of at least one release, and `lockWait` is over.",
            ExitCode::HungUp => "Ended by SIGHUP.",
            ExitCode::Interrupted => "Ended by SIGINT.",
            ExitCode::Terminated => "Ended by SIGTERM.",
        }
    }

    /// Returns the code that stands for several outcomes of one run; none is [`ExitCode::Done`].
    pub fn of_all(outcomes: &[ExitCode]) -> ExitCode {
        let first = Self::BY_PRECEDENCE.iter().find(|code| outcomes.contains(code));
        first.copied().unwrap_or(ExitCode::Done)
    }
}

impl From<FailureClass> for ExitCode {
    fn from(class: FailureClass) -> Self {
        match class {
            FailureClass::Failed => ExitCode::Failed,
            FailureClass::NothingSelected => ExitCode::NothingSelected,
            FailureClass::Refused => ExitCode::Refused,
            FailureClass::Usage => ExitCode::Usage,
            FailureClass::Locked => ExitCode::Locked,
            FailureClass::HungUp => ExitCode::HungUp,
            FailureClass::Interrupted => ExitCode::Interrupted,
            FailureClass::Terminated => ExitCode::Terminated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_a_refusal_and_a_refusal_outweighs_changes() {
        use ExitCode::{ChangesPending, Done, Failed, Locked, Refused, Usage};
        for (outcomes, expected) in [
            (vec![], Done),
            (vec![Done, ChangesPending], ChangesPending),
            (vec![ChangesPending, Refused], Refused),
            (vec![Refused, Locked], Locked),
            (vec![Locked, Failed, Refused], Failed),
            (vec![Failed, Usage], Usage),
        ] {
            assert_eq!(ExitCode::of_all(&outcomes), expected, "{outcomes:?}");
        }
    }
}
