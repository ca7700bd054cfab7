//! The flags of the verbs about the records of one release.

use clap::{Args, Subcommand, ValueEnum};

use super::args::{ApplyArgs, ClusterArgs, OutputArgs, StatusArgs};
use crate::model::ReleaseKey;

/// Arguments of `history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// The release.
    #[arg(value_name = "NAMESPACE/NAME")]
    pub release: ReleaseKey,
    /// Only so many of the newest revisions.
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `rollback`.
#[derive(Args, Debug)]
pub struct RollbackArgs {
    /// The release.
    #[arg(value_name = "NAMESPACE/NAME")]
    pub release: ReleaseKey,
    /// The revision to go back to.
    #[arg(long, value_name = "REVISION")]
    pub to: Option<u64>,
    /// Show what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// As for `apply`.
    #[command(flatten)]
    pub apply: ApplyArgs,
}

/// Arguments of `unlock`.
#[derive(Args, Debug)]
pub struct UnlockArgs {
    /// The release.
    #[arg(value_name = "NAMESPACE/NAME")]
    pub release: ReleaseKey,
    /// The revision that was left, as `plan` and `helm history` show it.
    #[arg(long, value_name = "N")]
    pub revision: u64,
    /// What the locks of its file are made of; otherwise its record tells.
    #[arg(long, value_enum, value_name = "KIND")]
    pub lock: Option<LockKind>,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What locks are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LockKind {
    /// Leases.
    Lease,
    /// Secrets.
    Secret,
}

/// Arguments of `runs`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RunsArgs {
    /// What of the runs.
    #[command(subcommand)]
    pub part: Option<RunsPart>,
    /// Without anything else: a list.
    #[command(flatten)]
    pub list: StatusArgs,
}

/// What is shown of runs.
#[derive(Debug, Subcommand)]
pub enum RunsPart {
    /// Show one run: its releases, objects and fields.
    Show(ShowRunArgs),
    /// Show the releases with which two runs did not do the same.
    Diff(DiffRunsArgs),
}

/// Arguments of `runs show`.
#[derive(Args, Debug)]
pub struct ShowRunArgs {
    /// The number of the run, as `statectl runs` shows it; without it the newest one.
    #[arg(long, value_name = "N")]
    pub run: Option<u64>,
    /// Which file and cluster.
    #[command(flatten)]
    pub of: StatusArgs,
}

/// Arguments of `runs diff`.
#[derive(Args, Debug)]
pub struct DiffRunsArgs {
    /// The first run; without it the one before the second.
    #[arg(long, value_name = "N")]
    pub from: Option<u64>,
    /// The second run; without it the newest one.
    #[arg(long, value_name = "N")]
    pub to: Option<u64>,
    /// Which file and cluster.
    #[command(flatten)]
    pub of: StatusArgs,
}
