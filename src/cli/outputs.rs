//! The flags that say in which forms results go where, and which CI system reads them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::command::{Forms, MOST_BYTES, Outputs};
use crate::failure::Failure;
use crate::ui::ci::Ci;

/// What is printed.
#[derive(Args, Debug)]
pub struct OutputArgs {
    /// Output format, to stdout or to a file: `text`, `json`, `yaml`, `json=FILE`. Repeatable.
    #[arg(short = 'o', long, value_name = "FORMAT[=FILE]", action = ArgAction::Append)]
    pub output: Vec<String>,
}

/// Where the result of a verb with reports goes.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Output format, to stdout or to a file, such as `json`, `markdown=FILE`. Repeatable; `docs/reference/outputs.md` lists
    /// those of each verb.
    #[arg(short = 'o', long, value_name = "FORMAT[=FILE]", action = ArgAction::Append)]
    pub output: Vec<String>,
    /// How many bytes Markdown may have.
    #[arg(long, value_name = "N", default_value_t = MOST_BYTES as u64, value_parser = clap::value_parser!(u64).range(1024..))]
    pub max_bytes: u64,
}

impl ReportArgs {
    /// Returns the outputs of a verb that has these forms.
    ///
    /// # Errors
    /// A form that the verb has not, or two for stdout.
    pub(super) fn outputs(&self, forms: Forms) -> Result<Outputs, Failure> {
        Outputs::of(&self.output, forms, usize::try_from(self.max_bytes).unwrap_or(usize::MAX))
    }
}

/// The small report for GitLab.
#[derive(Args, Debug)]
pub struct WidgetArgs {
    /// Write how many objects are created, updated and deleted, for GitLab's `artifacts:reports:terraform`.
    #[arg(long, value_name = "FILE")]
    pub gitlab_report: Option<PathBuf>,
}

/// Arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The format, such as `plan` or `statectl.run/v1`; left out, the desired-state file.
    #[arg(value_name = "FORMAT")]
    pub format: Option<String>,
}

/// Which CI system reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CiChoice {
    /// What the environment says: `GITHUB_ACTIONS` or `GITLAB_CI`.
    Auto,
    /// None.
    None,
    /// GitHub Actions: annotations, groups, outputs of the step, summary of the job.
    Github,
    /// GitLab CI: sections of the log.
    Gitlab,
}

impl CiChoice {
    pub(super) fn decided(self, environment: &BTreeMap<String, String>) -> Ci {
        let set = |name: &str| environment.get(name).is_some_and(|value| value == "true");
        match self {
            CiChoice::None => Ci::None,
            CiChoice::Github => Ci::GitHub,
            CiChoice::Gitlab => Ci::GitLab,
            CiChoice::Auto if set("GITHUB_ACTIONS") => Ci::GitHub,
            CiChoice::Auto if set("GITLAB_CI") => Ci::GitLab,
            CiChoice::Auto => Ci::None,
        }
    }
}
