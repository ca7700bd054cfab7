//! The flags of the verbs around files that need no cluster.

use std::path::PathBuf;

use clap::Args;

use crate::command::fmt;

/// Arguments of `fmt`.
#[derive(Args, Debug)]
pub struct FmtArgs {
    /// Files in TOML or YAML: desired-state files, or values. `-` reads the standard input and writes to stdout.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing: exit with 1 when a file is not laid out, and name it.
    #[arg(long)]
    pub check: bool,
    /// What the standard input would be called; the ending tells its syntax.
    #[arg(long, value_name = "NAME", default_value = "stdin.toml")]
    pub stdin_name: String,
}

/// Returns what `fmt` is asked for.
pub(super) fn fmt(args: FmtArgs) -> fmt::Request {
    fmt::Request { files: args.files, check: args.check, stdin_name: args.stdin_name }
}
