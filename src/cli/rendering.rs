//! The flags of `template`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// Arguments of `template`, as in `helm template`.
#[derive(Args, Debug)]
pub struct TemplateArgs {
    /// The release's name.
    pub name: String,
    /// The chart: a folder or a .tgz archive.
    pub chart: PathBuf,
    /// The release's namespace.
    #[arg(short = 'n', long, default_value = "default")]
    pub namespace: String,
    /// Values files; later ones win. `-` reads stdin.
    #[arg(short = 'f', long, value_name = "FILE", action = ArgAction::Append, value_delimiter = ',')]
    pub values: Vec<PathBuf>,
    /// A value: `key=value`, several joined by commas.
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,
    /// A value that stays text.
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set_string: Vec<String>,
    /// A value that is the content of a file.
    #[arg(long, value_name = "KEY=FILE", action = ArgAction::Append)]
    pub set_file: Vec<String>,
    /// A JSON value.
    #[arg(long, value_name = "KEY=JSON", action = ArgAction::Append)]
    pub set_json: Vec<String>,
    /// A text in which no character has a meaning.
    #[arg(long, value_name = "KEY=TEXT", action = ArgAction::Append)]
    pub set_literal: Vec<String>,
    /// Print only these templates; repeatable, patterns allowed.
    #[arg(short = 's', long, value_name = "TEMPLATE", action = ArgAction::Append)]
    pub show_only: Vec<String>,
    /// Print the CRDs of the chart too.
    #[arg(long)]
    pub include_crds: bool,
    /// Leave tests out.
    #[arg(long)]
    pub skip_tests: bool,
    /// Leave hooks out.
    #[arg(long)]
    pub no_hooks: bool,
    /// Render as for an upgrade.
    #[arg(long)]
    pub is_upgrade: bool,
    /// The Kubernetes version to render for.
    #[arg(long, value_name = "VERSION")]
    pub kube_version: Option<String>,
    /// API versions to render for, besides the default ones.
    #[arg(short = 'a', long, value_name = "VERSION", action = ArgAction::Append, value_delimiter = ',')]
    pub api_versions: Vec<String>,
    /// Do not check the values against the chart's schema.
    #[arg(long)]
    pub skip_schema_validation: bool,
}
