//! The flags of the verbs by which releases and files come from other tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};

use super::args::{ApplyArgs, ClusterArgs};
use super::settings::lists;
use crate::command::{convert, import};
use crate::convert::Syntax;
use crate::failure::{Failure, FailureClass};
use crate::host::signals::Stop;
use crate::model::ReleaseKey;

/// Arguments of `adopt`.
#[derive(Args, Debug)]
pub struct AdoptArgs {
    /// Take releases of this context over; without it, those that carry no context's label.
    #[arg(long, value_name = "NAME")]
    pub from_context: Option<String>,
    /// As for `apply`.
    #[command(flatten)]
    pub apply: ApplyArgs,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The releases of this namespace; repeatable.
    #[arg(short = 'n', long, value_name = "NAMESPACE", action = ArgAction::Append)]
    pub namespace: Vec<String>,
    /// The releases of all namespaces.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// This release, NAMESPACE/NAME; repeatable.
    #[arg(long, value_name = "RELEASE", action = ArgAction::Append)]
    pub release: Vec<ReleaseKey>,
    /// The context of the file; otherwise that of the releases, if it is one and has no others.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Where the file goes; it must not exist. Charts that are in no repository are written beside it.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How the file is written; otherwise as the ending of `--out` says, else YAML.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FileFormat>,
    /// Where values that look secret go, in clear: a file of variables for `-e`; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub secrets: Option<PathBuf>,
    /// Where a chart is: NAME=PATH, NAME=REPOSITORY/CHART or NAME=oci://…; repeatable.
    #[arg(long, value_name = "NAME=REFERENCE", action = ArgAction::Append)]
    pub chart: Vec<String>,
    /// A repository in which charts are looked for, besides those that Helm knows; repeatable.
    #[arg(long, value_name = "NAME=URL", action = ArgAction::Append)]
    pub repo: Vec<String>,
    /// Fetch no chart.
    #[arg(long)]
    pub offline: bool,
    /// Charts may be outside of the git repository of the file.
    #[arg(long)]
    pub allow_outside_paths: bool,
    /// Cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConvertFrom {
    /// A helmfile.
    Helmfile,
    /// Helmsman's files.
    Helmsman,
}

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// What is converted.
    #[arg(value_enum, value_name = "FROM")]
    pub from: ConvertFrom,
    /// The helmfile, or its folder; Helmsman's files, later ones over earlier ones.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Only this environment of the helmfile: the file then needs none.
    #[arg(long, value_name = "NAME")]
    pub environment: Option<String>,
    /// The context of a file that comes from a helmfile; otherwise the name of its folder.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Where the file goes; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How the file is written; otherwise as the ending of `--out` says, else YAML.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FileFormat>,
}

/// Returns what `convert` is asked for.
pub(super) fn convert(args: ConvertArgs) -> convert::Request {
    convert::Request {
        from: match args.from {
            ConvertFrom::Helmfile => convert::From::Helmfile,
            ConvertFrom::Helmsman => convert::From::Helmsman,
        },
        syntax: syntax(args.format, args.out.as_deref()),
        paths: args.files,
        environment: args.environment,
        context: args.context,
        out: args.out,
    }
}

/// Returns what `import` is asked for.
pub(super) fn import(
    args: ImportArgs,
    environment: BTreeMap<String, String>,
    stop: &Stop,
) -> Result<import::Request, Failure> {
    if args.namespace.is_empty() && !args.all_namespaces && args.release.is_empty() {
        let failure = Failure::new(FailureClass::Usage, "it is not said which releases are meant");
        return Err(failure.hint("`-n NAMESPACE`, `--release NAMESPACE/NAME`, or `-A` for all"));
    }
    Ok(import::Request {
        syntax: syntax(args.format, args.out.as_deref()),
        namespaces: args.namespace,
        all_namespaces: args.all_namespaces,
        releases: args.release,
        context: args.context,
        out: args.out,
        secrets: args.secrets,
        charts: pairs("--chart", &args.chart)?,
        repositories: pairs("--repo", &args.repo)?,
        offline: args.offline,
        allow_outside_paths: args.allow_outside_paths,
        connect: lists::cluster(args.cluster),
        environment,
        stop: stop.clone(),
    })
}

/// Returns how a file is written.
fn syntax(format: Option<FileFormat>, out: Option<&Path>) -> Syntax {
    let ending = out.and_then(Path::extension).and_then(|ending| ending.to_str());
    match (format, ending) {
        (Some(FileFormat::Toml), _) | (None, Some("toml" | "tml")) => Syntax::Toml,
        _ => Syntax::Yaml,
    }
}

fn pairs(flag: &str, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty())?;
        Some((name.to_owned(), value.to_owned()))
    };
    given
        .iter()
        .map(|text| {
            let wrong = || {
                Failure::new(FailureClass::Usage, format!("{flag} {text}: it is not of the form NAME=VALUE"))
            };
            pair(text).ok_or_else(wrong)
        })
        .collect()
}
