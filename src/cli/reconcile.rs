//! The flags of `reconcile`, and how it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use clap::{Args, ValueEnum};

use super::args::ApplyArgs;
use super::exit::ExitCode;
use super::{Way, apply_with, code_of};
use crate::command::reconcile::{Metrics, jitter};
use crate::command::{Console, Ending};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::Stop;
use crate::plan::Policy;
use crate::ui;

/// Arguments of `reconcile`.
#[derive(Args, Debug)]
pub struct ReconcileArgs {
    /// What may be changed without anybody looking.
    #[arg(long, value_enum, default_value_t = Only::All, value_name = "POLICY")]
    pub only: Only,
    /// Exit with 75 when another run is at work on a release.
    #[arg(long)]
    pub fail_if_locked: bool,
    /// Wait a random part of this time first, so that many schedules do not start at once.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = super::settings::duration)]
    pub jitter: Duration,
    /// Write the metrics of the run to this file, for Prometheus' node exporter.
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    /// Send the metrics of the run to this group of a gateway: `https://HOST/metrics/job/NAME`.
    #[arg(long, value_name = "URL")]
    pub metrics_push: Option<String>,
    /// As for `apply`.
    #[command(flatten)]
    pub apply: ApplyArgs,
}

/// What a reconciliation may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// What moved since the last revision, and what was interrupted.
    Drift,
    /// All but what deletes, re-creates or uninstalls something.
    Safe,
    /// What `apply` does.
    All,
}

/// Reconciles, and tells the metrics however it ends.
pub(super) async fn run(
    args: ReconcileArgs,
    console: Console,
    stop: &Stop,
) -> Result<(Ending, bool), Failure> {
    let started = Instant::now();
    let metrics = Arc::new(Metrics::new(args.metrics_file, args.metrics_push));
    let policy = match args.only {
        Only::Drift => Policy::Drift,
        Only::Safe => Policy::Safe,
        Only::All => Policy::All,
    };
    if let Some(ending) = jitter(args.jitter, stop).await {
        return Ok((ending, false));
    }
    let mut apply = args.apply;
    apply.yes = true;
    apply.scheduled = true;
    let asked = Some((policy, Arc::clone(&metrics)));
    let result = apply_with(apply, console, stop, Way::Apply, asked).await;
    let result = match result {
        Ok((ending, detailed)) => Ok((forgiving(ending, args.fail_if_locked), detailed)),
        // All of it is locked: nothing of it was even looked at again.
        Err(failure) if failure.class == FailureClass::Locked => {
            ui::message(&failure.to_string());
            Ok((forgiving(Ending { locked: true, ..Ending::default() }, args.fail_if_locked), false))
        }
        Err(failure) => Err(failure),
    };
    let code: ExitCode = match &result {
        Ok((ending, detailed)) => code_of(*ending, *detailed),
        Err(failure) => failure.class.into(),
    };
    metrics.tell(code.number(), started).await;
    result
}

/// A release that another run works on is in good hands.
fn forgiving(ending: Ending, fail_if_locked: bool) -> Ending {
    if !ending.locked || fail_if_locked {
        return ending;
    }
    ui::message("another run is at work on what is locked: it is left to that one");
    Ending { locked: false, ..ending }
}
