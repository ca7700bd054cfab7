//! Pages of the reference that are made from the program itself, so that they cannot be wrong.

use std::fmt::Write as _;

use clap::{ArgAction, Command, CommandFactory as _};

use super::args::Cli;
use super::configuration::{SETTINGS, VARIABLES};
use super::exit::ExitCode;
use crate::dsf;
use crate::plan::known_reasons;
use crate::plan::recover::TABLE;
use crate::report::METRICS;

/// A page: its name without `.md`, and its text.
pub struct Page {
    /// The name.
    pub name: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    /// The text, in Markdown.
    pub text: String,
}

/// Returns every page.
pub fn pages() -> Vec<Page> {
    let page = |name, about, text| Page { name, about, text };
    vec![
        page("cli", "every verb and flag", verbs()),
        page("configuration", "the configuration file and the variables of the environment", configuration()),
        page("dsf", "every key of the desired-state file", dsf::reference_page()),
        page("exit-codes", "what the process ends with", exit_codes()),
        page("metrics", "the metrics that `reconcile` tells", metrics()),
        page("reasons", "the code of each reason, and what to do about it", reasons()),
    ]
}

fn metrics() -> String {
    let mut out = heading(
        "Metrics",
        "`statectl reconcile` writes them with `--metrics-file FILE`, for the text file collector of Prometheus' node \
         exporter, and sends them with `--metrics-push URL` to a group of a Pushgateway. A run that finds nothing to do, or \
         fails before it has a plan, tells them too: `statectl_last_run_timestamp_seconds` that stands still is the alarm. \
         What cannot be written or sent is a warning, and changes nothing of the run. All are gauges; where one run has several \
         clusters, each has the label `cluster` too.",
    );
    out.push_str("| metric | labels | what it tells |\n|---|---|---|\n");
    for (name, labels, about) in METRICS {
        let _ = writeln!(out, "| `{name}` | {labels} | {} |", cell(about));
    }
    out
}

fn exit_codes() -> String {
    let mut out = heading("Exit codes", "");
    out.push_str("| code | meaning |\n|---|---|\n");
    let mut codes = ExitCode::BY_PRECEDENCE;
    codes.sort_by_key(|code| code.number());
    for code in codes {
        let _ = writeln!(out, "| {} | {} |", code.number(), code.meaning());
    }
    let order: Vec<String> = ExitCode::BY_PRECEDENCE.iter().map(|code| code.number().to_string()).collect();
    let _ = writeln!(
        out,
        "\nOne release that is blocked, failed, locked or held never stops others that do not need it. The code of a run \
         with several outcomes is the first of them in this order: {}.",
        order.join(", ")
    );
    out
}

fn reasons() -> String {
    let mut out = heading(
        "Reasons",
        "Each decision of a plan has at least one reason, with a stable code: `-o json` has it in `reasons[].code`. \
         `statectl explain CODE` shows one of them.",
    );
    out.push_str("| code | what was found | what to do |\n|---|---|---|\n");
    for reason in known_reasons() {
        let _ = writeln!(out, "| `{}` | {} | {} |", reason.code, cell(reason.means), cell(reason.todo));
    }
    out.push_str("\n## Interrupted operations\n\n");
    out.push_str("The rows of the decision table of [recovery](../concepts/recovery.md).\n\n");
    out.push_str("| row | code | when | what is done | what it takes otherwise |\n|---|---|---|---|---|\n");
    for row in &TABLE {
        let (when, does, needs) = (cell(row.when), cell(row.does), cell(row.needs));
        let _ = writeln!(out, "| {} | `{}` | {when} | {does} | {needs} |", row.id, row.code);
    }
    out
}

fn configuration() -> String {
    let mut out = heading(
        "Configuration",
        "These flags may stand in a variable of the environment, or in a configuration file. A flag wins over the variable, \
         the variable over the file. What selects, removes or forces is said on each command line, or in the desired-state \
         file.\n\nThe file is `$STATECTL_CONFIG`, else `$XDG_CONFIG_HOME/statectl/config.toml`, else \
         `~/.config/statectl/config.toml`. It is the user's own: none is read from a repository. A key that is not \
         known is an error.\n\n```toml\ncolor = \"never\"\nparallel = 4\nlock-wait = \"10m\"\n```",
    );
    out.push_str("| key of the file | variable | what it is for |\n|---|---|---|\n");
    for setting in &SETTINGS {
        let _ = writeln!(out, "| `{}` | `{}` | {} |", setting.flag, setting.variable(), cell(setting.about));
    }
    out.push_str("\n## Other variables\n\n| variable | what it is for |\n|---|---|\n");
    for (name, about) in VARIABLES {
        let _ = writeln!(out, "| `{name}` | {} |", cell(about));
    }
    out.push_str(
        "\nVariables that a desired-state file names as `${NAME}` are read from the environment, `.env` and `-e FILE` besides. \
         What commands of hooks get is in [hooks](hooks.md).\n",
    );
    out
}

fn verbs() -> String {
    let mut command = Cli::command();
    command.build();
    let mut out = heading("Command line", "`statectl VERB --help` shows the same.");
    let globals: Vec<_> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let _ = writeln!(out, "## Flags of every verb\n");
    table(&mut out, globals.iter());
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set()) {
        describe(&mut out, verb, "statectl", 2);
    }
    out
}

fn describe(out: &mut String, verb: &Command, parent: &str, level: usize) {
    let name = format!("{parent} {}", verb.get_name());
    let about =
        verb.get_long_about().or_else(|| verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "\n{} `{name}`\n", "#".repeat(level));
    for paragraph in about.split("\n\n") {
        match paragraph.strip_prefix("Example: ") {
            Some(example) => {
                let _ = writeln!(out, "```sh\n{example}\n```\n");
            }
            None => {
                let _ = writeln!(out, "{}\n", paragraph.replace('\n', " "));
            }
        }
    }
    table(
        out,
        verb.get_arguments()
            .filter(|arg| !arg.is_global_set() && arg.get_id() != "help" && arg.get_id() != "version"),
    );
    for inner in verb.get_subcommands().filter(|verb| verb.get_name() != "help") {
        describe(out, inner, &name, level + 1);
    }
}

fn table<'a>(out: &mut String, arguments: impl Iterator<Item = &'a clap::Arg>) {
    let rows: Vec<String> = arguments.filter(|arg| !arg.is_hide_set()).map(row).collect();
    if !rows.is_empty() {
        let _ = writeln!(out, "| argument | meaning |\n|---|---|\n{}", rows.join("\n"));
    }
}

fn row(arg: &clap::Arg) -> String {
    let mut names = Vec::new();
    if let Some(short) = arg.get_short() {
        names.push(format!("-{short}"));
    }
    if let Some(long) = arg.get_long() {
        names.push(format!("--{long}"));
    }
    for alias in arg.get_visible_aliases().unwrap_or_default() {
        names.push(format!("--{alias}"));
    }
    let values: Vec<String> = match arg.get_action() {
        ArgAction::Set | ArgAction::Append => {
            let names = arg.get_value_names().unwrap_or_default();
            names.iter().map(|name| name.to_string()).collect()
        }
        _ => Vec::new(),
    };
    let mut shown = names.join(", ");
    if !values.is_empty() {
        let gap = if shown.is_empty() { "" } else { " " };
        let _ = write!(shown, "{gap}{}", values.join(" "));
    }
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let choices = if choices.is_empty() || choices.len() == 2 && choices[0] == "`true`" {
        String::new()
    } else {
        format!(" One of {}.", choices.join(", "))
    };
    format!("| `{shown}` | {}{} |", cell(&help), cell(&choices))
}

/// Text that stands in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn heading(title: &str, about: &str) -> String {
    let about = if about.is_empty() { String::new() } else { format!("{about}\n\n") };
    format!("# {title}\n\n{about}")
}
