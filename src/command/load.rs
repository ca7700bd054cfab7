//! Reads the desired-state files of a run, with the environment that they ask for.

use super::ci;
use super::sources::Fetching;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::dsf::{self, Problems};
use crate::failure::{Failure, FailureClass};
use crate::host::{env, files};
use crate::plan::Policy;
use crate::report;

/// Helmsman reads it from the working folder, without being asked.
const ENV_FILE: &str = ".env";

/// The files of a run, and how they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Desired-state files, later ones over earlier ones.
    pub states: Vec<PathBuf>,
    /// Files of environment variables; they win over the environment, as in Helmsman.
    pub env_files: Vec<PathBuf>,
    /// Helmsman's lists of state files.
    pub specs: Vec<PathBuf>,
    /// The environment of the files that is laid over them.
    pub environment: Option<String>,
    /// `APP.KEY=VALUE`, over everything else.
    pub set_app: Vec<String>,
    /// Whether files are read as leniently as Helmsman does.
    pub helmsman_compat: bool,
    /// Whether paths in files may lead out of their repository.
    pub allow_outside_paths: bool,
    /// Whether programs may run that the files name.
    pub allow_exec: bool,
    /// Whether variables of the environment are left as they are written.
    pub no_env_subst: bool,
    /// Whether variables in values files are replaced too.
    pub subst_env_values: bool,
    /// How charts are fetched.
    pub fetching: Fetching,
    /// Whether releases with a pending operation are left alone.
    pub skip_pending: bool,
    /// Whether an older commit than the one that was rolled out may be.
    pub allow_older: bool,
    /// Whether a schedule started the run, so that windows and failure budgets count.
    pub scheduled: bool,
    /// What a reconciliation may do; nothing with every other verb.
    pub policy: Option<Policy>,
    /// Whether releases that left the files stay.
    pub keep_untracked: bool,
}

/// How thorough a look is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    /// What has no behaviour yet is a note.
    pub(super) check_only: bool,
    /// Charts are not looked for.
    pub(super) skip_charts: bool,
}

/// Files that were read, with or without problems.
pub(super) struct Read {
    pub(super) loaded: Result<dsf::Loaded, Problems>,
    /// What a person should know of the environment.
    pub(super) notes: Vec<String>,
    /// The variables that were replaced with.
    pub(super) environment: BTreeMap<String, String>,
    /// The folders that paths may not leave.
    pub(super) roots: Option<Vec<PathBuf>>,
}

impl Files {
    /// Reads the files.
    ///
    /// # Errors
    /// A file that was named cannot be read. What is wrong inside of it is in the result.
    pub(super) fn read(&self, environment: &BTreeMap<String, String>, look: Look) -> Result<Read, Failure> {
        let states = self.states.iter().map(|path| source(path)).collect::<Result<Vec<_>, _>>()?;
        self.read_sources(states, environment, look)
    }

    /// Reads a text as if it stood in a file of this name.
    ///
    /// # Errors
    /// A file of variables cannot be read.
    pub(super) fn read_text(
        &self,
        path: &Path,
        text: String,
        environment: &BTreeMap<String, String>,
        look: Look,
    ) -> Result<Read, Failure> {
        let dir = path.parent().map(PathBuf::from).unwrap_or_default();
        let source = dsf::Source { name: path.display().to_string(), bytes: text.into_bytes(), dir };
        self.read_sources(vec![source], environment, look)
    }

    fn read_sources(
        &self,
        states: Vec<dsf::Source>,
        environment: &BTreeMap<String, String>,
        look: Look,
    ) -> Result<Read, Failure> {
        let (environment, notes) = self.variables(environment)?;
        let sources =
            |paths: &[PathBuf]| paths.iter().map(|path| source(path)).collect::<Result<Vec<_>, _>>();
        let specs = sources(&self.specs)?;
        let given = states.iter().chain(&specs).map(|source| files::repository_of(&source.dir));
        let roots: Option<Vec<PathBuf>> = (!self.allow_outside_paths).then(|| given.collect());
        let options = dsf::Options {
            helmsman_compat: self.helmsman_compat,
            check_only: look.check_only,
            skip_charts: look.skip_charts,
            no_substitution: self.no_env_subst,
            environment: self.environment.clone(),
            set_app: self.set_app.clone(),
            roots: roots.clone(),
            allow_exec: self.allow_exec,
            specs,
        };
        let loaded = dsf::load(&states, &environment, &HostFiles, &options);
        Ok(Read { loaded, notes, environment, roots })
    }

    /// The environment of the process, with `.env` and then the given files over it.
    fn variables(
        &self,
        process: &BTreeMap<String, String>,
    ) -> Result<(BTreeMap<String, String>, Vec<String>), Failure> {
        let mut environment = process.clone();
        let mut notes = Vec::new();
        let own = PathBuf::from(ENV_FILE);
        let own = (files::kind(&own) == files::PathKind::File).then_some(own);
        for path in own.iter().chain(&self.env_files) {
            let text = files::read_text(path)
                .map_err(|error| Failure::of("the environment file cannot be read", &error).usage())?;
            let variables = env::parse_env_file(&text, &environment)
                .map_err(|why| Failure::new(FailureClass::Usage, format!("{}: {why}", path.display())))?;
            for (name, value) in variables {
                if process.get(&name).is_some_and(|other| *other != value) {
                    let place = path.display();
                    notes.push(format!(
                        "{place}: `{name}` has another value in the environment; the file's counts"
                    ));
                }
                environment.insert(name, value);
            }
        }
        Ok((environment, notes))
    }
}

/// Reads one file.
///
/// # Errors
/// It cannot be read.
pub(super) fn source(path: &Path) -> Result<dsf::Source, Failure> {
    let bytes = files::read(path).map_err(|error| unreadable_state(path, &error))?;
    let dir = path.parent().map(PathBuf::from).unwrap_or_default();
    Ok(dsf::Source { name: path.display().to_string(), bytes, dir })
}

/// Returns repositories that the command line names, as a file would declare them.
///
/// # Errors
/// A name or an address that a file could not have either.
pub(super) fn repositories(
    named: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, dsf::state::Repository>, Failure> {
    let lines: String = named.iter().map(|(name, url)| format!("{name:?} = {url:?}\n")).collect();
    let text = format!("[namespaces.default]\n[helmRepos]\n{lines}");
    let source =
        dsf::Source { name: "--repo.toml".to_owned(), bytes: text.into_bytes(), dir: PathBuf::new() };
    let options = dsf::Options { no_substitution: true, ..dsf::Options::default() };
    let loaded = dsf::load(&[source], &BTreeMap::new(), &HostFiles, &options);
    loaded.map(|loaded| loaded.state.repositories).map_err(|problems| refused(&problems))
}

/// Returns the failure for a desired-state file that cannot be read.
pub(super) fn unreadable_state(path: &Path, error: &files::FileError) -> Failure {
    Failure::of(format!("{}: the desired-state file cannot be read", path.display()), error).usage()
}

/// Returns the failure for files with problems.
pub(super) fn refused(problems: &Problems) -> Failure {
    ci::annotate(&report::validate_json(&[], Some(problems), &[], &[]));
    Failure::block(FailureClass::Usage, problems.to_string().trim_end().to_owned())
}

/// The real file tree.
pub(super) struct HostFiles;

impl dsf::Files for HostFiles {
    fn kind(&self, path: &Path) -> dsf::PathKind {
        match files::kind(path) {
            files::PathKind::File => dsf::PathKind::File,
            files::PathKind::Folder => dsf::PathKind::Folder,
            files::PathKind::Missing => dsf::PathKind::Missing,
            files::PathKind::Unreadable(why) => dsf::PathKind::Unreadable(why),
        }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        files::read(path).map_err(|error| error.reason())
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, String> {
        files::names(folder).map_err(|error| error.reason())
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        files::real(path)
    }
}
