//! The flags of the verbs around files that need no cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::{FileArgs, SelectionArgs};
use crate::command::fmt;
use crate::command::graph::GraphForm;

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

/// Arguments of `graph`.
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Selection.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output format.
    #[arg(short = 'o', long, value_enum, value_name = "FORMAT", default_value_t = GraphFormat::Text)]
    pub output: GraphFormat,
}

/// The forms of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
    /// For Markdown on code hosts.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// Returns the form of a graph.
pub(super) fn graph_form(format: GraphFormat) -> GraphForm {
    match format {
        GraphFormat::Text => GraphForm::Text,
        GraphFormat::Json => GraphForm::Json,
        GraphFormat::Mermaid => GraphForm::Mermaid,
        GraphFormat::Dot => GraphForm::Dot,
    }
}

/// Returns what `fmt` is asked for.
pub(super) fn fmt(args: FmtArgs) -> fmt::Request {
    fmt::Request { files: args.files, check: args.check, stdin_name: args.stdin_name }
}
