//! `statectl convert`: a desired-state file made of a helmfile, or of Helmsman's files. Needs no cluster.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::Ending;
use super::load::{self, Files, HostFiles, Look};
use crate::convert::{self, Converted, NoNull, Syntax, Tree};
use crate::dsf;
use crate::failure::{Failure, FailureClass};
use crate::host::files;
use crate::text::plural;
use crate::ui;

/// What is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// A helmfile.
    Helmfile,
    /// Helmsman's files.
    Helmsman,
}

/// What the flags say.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is the flag of the same name")]
pub struct Request {
    pub from: From,
    pub paths: Vec<PathBuf>,
    pub environment: Option<String>,
    pub context: Option<String>,
    pub out: Option<PathBuf>,
    pub syntax: Syntax,
}

/// Makes the file, and looks at it as `validate` would.
pub fn run(request: &Request) -> Result<Ending, Failure> {
    if let Some(path) = request.out.as_ref().filter(|path| files::kind(path) != files::PathKind::Missing) {
        let failure = Failure::new(FailureClass::Usage, format!("{} exists already", path.display()));
        return Err(failure.hint("name a file that does not exist: nothing is written over another one"));
    }
    let converted = match request.from {
        From::Helmfile => helmfile(request)?,
        From::Helmsman => helmsman(request)?,
    };
    if converted.is_empty() {
        let failure = Failure::new(FailureClass::NothingSelected, "there is no release to convert");
        let failure = converted.findings.into_iter().fold(failure, Failure::cause);
        return Err(failure
            .hint("`helmfile build` shows a helmfile without template code, and that can be converted"));
    }
    let names: Vec<String> = request.paths.iter().map(|path| path.display().to_string()).collect();
    let mut comment = vec![format!("Converted from {} by `statectl convert`.", names.join(", "))];
    if !converted.environments.is_empty() {
        comment.push(format!(
            "Name an environment on every run: `--environment {}`.",
            converted.environments.join("|")
        ));
    }
    if !converted.findings.is_empty() {
        comment.push(String::new());
        comment.push("Not converted, or to be looked at:".to_owned());
        comment.extend(converted.findings.iter().map(|finding| format!("- {finding}")));
    }
    let no_null = |error: NoNull| {
        Failure::new(FailureClass::Usage, error.to_string())
            .hint("write YAML: `--format yaml`, or a name that ends in .yaml")
    };
    let text = convert::write(&comment, &converted.file, request.syntax).map_err(no_null)?;
    match &request.out {
        Some(path) => files::write_new(path, text.as_bytes(), false)
            .map_err(|error| Failure::of(format!("{} could not be written", path.display()), &error))?,
        None => ui::document(&text),
    }
    for finding in &converted.findings {
        ui::message(finding);
    }
    if !converted.findings.is_empty() {
        let count = plural(converted.findings.len(), "thing");
        ui::message(&format!("{count} to be looked at; the list stands at the top of the file too"));
    }
    check(request, &converted, text)?;
    Ok(Ending { blocked: !converted.findings.is_empty(), ..Ending::default() })
}

/// The file must be one that we read.
fn check(request: &Request, converted: &Converted, text: String) -> Result<(), Failure> {
    let ending = if request.syntax == Syntax::Toml { "toml" } else { "yaml" };
    let folder = folder_of(request.paths.first().map_or(Path::new(""), PathBuf::as_path));
    let name = request.out.clone().unwrap_or_else(|| folder.join(format!("converted.{ending}")));
    let environments: Vec<Option<String>> = match converted.environments.as_slice() {
        [] => vec![None],
        names => names.iter().cloned().map(Some).collect(),
    };
    for environment in environments {
        let files = Files { environment, allow_outside_paths: true, ..Files::default() };
        let look = Look { check_only: true, skip_charts: true };
        let read = files.read_text(&name, text.clone(), &variables(&text), look)?;
        if let Err(problems) = read.loaded {
            ui::message("the file needs to be completed:");
            return Err(load::refused(&problems));
        }
    }
    Ok(())
}

/// The variables of a file, each with a value that may stand everywhere: what they will be is not known yet.
fn variables(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('{').unwrap_or(rest);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        if end > 0 {
            found.insert(name[..end].to_owned(), "1".to_owned());
        }
    }
    found
}

fn helmfile(request: &Request) -> Result<Converted, Failure> {
    let [path] = request.paths.as_slice() else {
        let failure = Failure::new(FailureClass::Usage, "one helmfile is converted at a time");
        return Err(failure.hint("name the helmfile, or its folder"));
    };
    let mut path: PathBuf = path.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    let mut out = request.out.as_deref().map_or_else(|| folder_of(&path), |out| plain(out.parent()));
    if !folder_of(&path).starts_with(&out) {
        if let (Some(real), Some(folder)) = (files::real(&path), files::real(&out)) {
            (path, out) = (real, folder);
        }
        if !folder_of(&path).starts_with(&out) {
            let failure =
                Failure::new(FailureClass::Usage, "the paths of the helmfile do not start at the new file");
            return Err(failure.hint("write it into the folder of the helmfile, or one above"));
        }
    }
    let folder = folder_of(&path);
    let folder = files::real(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder });
    let context = request.context.clone().or_else(|| Some(folder?.file_name()?.to_str()?.to_owned()));
    // A context is stored as a label.
    let label = |name: String| -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
        let name: String = name.chars().map(word).take(63).collect();
        name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
    };
    let context = match &request.context {
        Some(name) => name.clone(),
        None => context.map(label).filter(|name| !name.is_empty()).unwrap_or_else(|| "helmfile".to_owned()),
    };
    convert::helmfile(&HostFiles, &path, &out, &context, request.environment.as_deref()).map_err(|why| {
        Failure::new(FailureClass::Usage, why)
            .hint("`helmfile build` shows it without template code, and that can be converted")
    })
}

fn helmsman(request: &Request) -> Result<Converted, Failure> {
    let folder = folder_of(request.paths.first().map_or(Path::new(""), PathBuf::as_path));
    let out = request.out.as_deref().map_or_else(|| folder.clone(), |out| plain(out.parent()));
    if request.paths.iter().any(|path| folder_of(path) != out) {
        let failure = Failure::new(
            FailureClass::Usage,
            "the paths of the files start at other folders than the new file",
        );
        return Err(
            failure.hint("write it into the folder of the files, and convert those of one folder at a time")
        );
    }
    if request.paths.is_empty() {
        return Err(Failure::new(FailureClass::Usage, "no file is given"));
    }
    let sources = request.paths.iter().map(|path| load::source(path)).collect::<Result<Vec<_>, _>>()?;
    let found = dsf::canonical(&sources, &HostFiles).map_err(|problems| load::refused(&problems))?;
    let file = found.table.into_iter().map(|(key, value)| (key, tree(value))).collect();
    Ok(Converted { file, findings: found.findings, environments: Vec::new() })
}

fn tree(plain: dsf::Plain) -> Tree {
    match plain {
        dsf::Plain::Scalar(value) => Tree::Leaf(value),
        dsf::Plain::List(items) => Tree::List(items.into_iter().map(tree).collect()),
        dsf::Plain::Table(table) => {
            Tree::Table(table.into_iter().map(|(key, value)| (key, tree(value))).collect())
        }
    }
}

/// The folder of a file, or the folder itself.
fn folder_of(path: &Path) -> PathBuf {
    if files::kind(path) == files::PathKind::Folder { plain(Some(path)) } else { plain(path.parent()) }
}

fn plain(path: Option<&Path>) -> PathBuf {
    path.unwrap_or(Path::new("")).components().filter(|part| !matches!(part, Component::CurDir)).collect()
}
