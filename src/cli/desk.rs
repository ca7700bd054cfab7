//! The verbs around files and the program itself, which need no cluster.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _, ValueEnum};

use super::args::{Cli, FileArgs, OutputArgs, SelectionArgs};
use super::reference;
use crate::command::graph::GraphForm;
use crate::command::{Ending, fmt};
use crate::failure::{Failure, FailureClass};
use crate::host::files;
use crate::text;
use crate::ui;

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

/// Arguments of `affected`.
#[derive(Args, Debug)]
pub struct AffectedArgs {
    /// Files.
    #[command(flatten)]
    pub files: FileArgs,
    /// What is compared with: a branch, a tag, a commit, or `auto`.
    #[arg(long, value_name = "REVISION", default_value = "auto")]
    pub base: String,
    /// What is compared; without it the files as they are.
    #[arg(long, value_name = "REVISION")]
    pub head: Option<String>,
    /// Also releases that need an affected one.
    #[arg(long)]
    pub with_dependents: bool,
    /// Print the matrix of a GitHub workflow instead: one job a release.
    #[arg(long, conflicts_with = "output")]
    pub matrix: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
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

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// What is explained: `ready`, `reasons`, or the code of a reason; left out, the topics are listed.
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,
    /// The kind, written `Kind` or `Kind.group`; all kinds if it is left out.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `docs`.
#[derive(Args, Debug)]
pub struct DocsArgs {
    /// The page; left out, the pages are listed.
    #[arg(value_name = "PAGE")]
    pub page: Option<String>,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder for the pages; left out, the page of the program itself goes to stdout.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Prints a page of the reference, or their list.
///
/// # Errors
/// There is no such page.
pub(super) fn docs(args: &DocsArgs) -> Result<Ending, Failure> {
    let pages = reference::pages();
    let Some(name) = &args.page else {
        let rows: Vec<[&str; 2]> = pages.iter().map(|page| [page.name, page.about]).collect();
        ui::result(&text::table(&rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>()));
        return Ok(Ending::default());
    };
    let Some(page) = pages.iter().find(|page| page.name == name) else {
        let failure = Failure::new(FailureClass::Usage, format!("there is no page `{name}`"));
        return Err(match text::closest(name, pages.iter().map(|page| page.name)) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`statectl docs` lists them"),
        });
    };
    ui::result(&page.text);
    Ok(Ending::default())
}

/// Prints what a shell completes.
pub(super) fn completions(args: &CompletionsArgs) -> Ending {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "statectl", &mut script);
    ui::document(&String::from_utf8_lossy(&script));
    Ending::default()
}

/// Writes the man pages.
///
/// # Errors
/// A page cannot be written.
pub(super) fn man(args: &ManArgs) -> Result<Ending, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.out else {
        ui::document(&rendered(&command)?);
        return Ok(Ending::default());
    };
    write_pages(folder, "statectl", &command)?;
    Ok(Ending::default())
}

fn write_pages(folder: &Path, name: &str, command: &Command) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.1"));
    let page = rendered(&command.clone().name(name.to_owned()).bin_name(name.to_owned()))?;
    files::create_folder(folder)
        .and_then(|()| files::write_public(&path, page.as_bytes()))
        .map_err(|error| Failure::of("a man page could not be written", &error))?;
    ui::result(&format!("{}\n", path.display()));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        write_pages(folder, &format!("{name}-{}", verb.get_name()), verb)?;
    }
    Ok(())
}

fn rendered(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::of("a man page could not be made", &error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
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
