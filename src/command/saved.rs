//! Saved plans: written by `plan --out`, carried out by `apply`.

use std::path::{Path, PathBuf};

use super::load::{self, Files};
use super::{Selection, Session};
use crate::cluster::ConnectOptions;
use crate::failure::{Failure, FailureClass};
use crate::host::{clock, files, git, random};
use crate::plan::{Operation, Plan};
use crate::report::saved_plan::{self, Asked, Made, SavedFile, SavedPlan};

/// Writes a plan to a file, in one step; only its owner may read it.
pub(super) fn save(session: &Session, plan: &Plan, operation: Operation, path: &Path) -> Result<(), Failure> {
    let mut asked = asked(session, operation);
    if !session.files.set_app.is_empty() {
        let failure = Failure::new(FailureClass::Usage, "a plan made with `--set-app` cannot be saved");
        return Err(failure.hint(
            "its values would stand in the file: write them into a file that is laid over the others",
        ));
    }
    for file in &session.files.states {
        if file.as_os_str() == "-" {
            let failure =
                Failure::new(FailureClass::Usage, "a plan made from standard input cannot be saved");
            return Err(failure.hint("whoever applies it plans again from the same files: name a file"));
        }
        asked.files.push(saved_file(file)?);
    }
    let first = session.files.states.first().and_then(|path| path.parent());
    let made = Made { at: clock::now().to_string(), commit: first.and_then(git::commit_of) };
    let saved = SavedPlan::of(plan, asked, made, random::bytes());
    files::write_atomic(path, saved.to_text().as_bytes())
        .map_err(|error| Failure::of("the plan could not be saved", &error))
}

fn saved_file(path: &Path) -> Result<SavedFile, Failure> {
    let bytes = files::read(path).map_err(|error| load::unreadable_state(path, &error))?;
    Ok(SavedFile::of(path.display().to_string(), &bytes))
}

fn asked(session: &Session, operation: Operation) -> Asked {
    let selection = &session.selection;
    Asked {
        destroy: operation == Operation::Destroy,
        files: Vec::new(),
        env_files: session.files.env_files.iter().map(|path| path.display().to_string()).collect(),
        specs: session.files.specs.iter().map(|path| path.display().to_string()).collect(),
        environment: session.files.environment.clone(),
        helmsman_compat: session.files.helmsman_compat,
        allow_outside_paths: session.files.allow_outside_paths,
        no_env_subst: session.files.no_env_subst,
        subst_env_values: session.files.subst_env_values,
        keep_untracked: session.files.keep_untracked,
        skip_pending: session.files.skip_pending,
        allow_older: session.files.allow_older,
        kube_context: session.connect.context.clone(),
        targets: selection.targets.clone(),
        exclude_targets: selection.exclude_targets.clone(),
        groups: selection.groups.clone(),
        exclude_groups: selection.exclude_groups.clone(),
        labels: selection.labels.clone(),
        with_needs: selection.with_needs,
        allow_prune: session.allow_prune,
        really_new: session.really_new,
    }
}

/// A saved plan that is to be carried out.
pub(super) struct Opened {
    saved: SavedPlan,
    path: PathBuf,
    /// What it was made with.
    pub(super) session: Session,
    /// What it was asked for.
    pub(super) destroy: bool,
}

/// Tells whether a saved plan was named instead of a desired-state file.
pub(super) fn is_saved(session: &Session) -> bool {
    bytes(session).is_some()
}

/// Returns the content of the saved plan that was named. What cannot be read is reported where desired-state files
/// are read.
fn bytes(session: &Session) -> Option<(&Path, Vec<u8>)> {
    let [path] = session.files.states.as_slice() else { return None };
    if path.as_os_str() == "-" {
        return None;
    }
    let bytes = files::read(path).ok()?;
    saved_plan::is_saved_plan(&bytes).then_some((path, bytes))
}

/// Returns the saved plan that was named instead of a desired-state file, if one was.
///
/// # Errors
/// It is not readable, flags say something besides it, or a file that it was made from is not the same any more.
pub(super) fn open(session: &Session) -> Result<Option<Opened>, Failure> {
    let Some((path, bytes)) = bytes(session) else { return Ok(None) };
    let saved = SavedPlan::read(&bytes).map_err(|error| {
        Failure::of(format!("{}: the saved plan cannot be read", path.display()), &error)
            .usage()
            .hint("make a new one with this version: `statectl plan FILE… --out PLAN`")
    })?;
    let asks_more = !session.selection.is_everything()
        || session.selection.with_needs
        // A file never permits that programs run: whoever carries the plan out does.
        || Files { states: Vec::new(), allow_exec: false, allow_older: false, scheduled: false, ..session.files.clone() } != Files::default()
        || session.allow_prune
        || session.really_new;
    if asks_more {
        let failure = Failure::new(FailureClass::Usage, "a saved plan is carried out as it is");
        return Err(
            failure.hint("selections, `-e`, `--allow-prune` and `--really-new` belong to `plan --out`, as does all that says how files are read")
        );
    }
    let asked = &saved.asked;
    for file in &asked.files {
        let now = saved_file(Path::new(&file.path))?;
        if now != *file {
            let failure = refused(path, &[format!("{} is not the same any more", file.path)]);
            return Err(failure);
        }
    }
    let session = Session {
        files: Files {
            policy: session.files.policy,
            states: asked.files.iter().map(|file| PathBuf::from(&file.path)).collect(),
            env_files: asked.env_files.iter().map(PathBuf::from).collect(),
            specs: asked.specs.iter().map(PathBuf::from).collect(),
            environment: asked.environment.clone(),
            set_app: Vec::new(),
            helmsman_compat: asked.helmsman_compat,
            allow_outside_paths: asked.allow_outside_paths,
            allow_exec: session.files.allow_exec,
            no_env_subst: asked.no_env_subst,
            subst_env_values: asked.subst_env_values,
            fetching: session.files.fetching,
            keep_untracked: asked.keep_untracked,
            skip_pending: asked.skip_pending,
            allow_older: asked.allow_older || session.files.allow_older,
            scheduled: session.files.scheduled,
        },
        connect: ConnectOptions {
            kubeconfig: session.connect.kubeconfig.clone(),
            context: session.connect.context.clone().or_else(|| asked.kube_context.clone()),
            described: None,
            user: session.connect.user.clone(),
            groups: session.connect.groups.clone(),
            request_timeout: session.connect.request_timeout,
        },
        selection: Selection {
            targets: asked.targets.clone(),
            exclude_targets: asked.exclude_targets.clone(),
            groups: asked.groups.clone(),
            exclude_groups: asked.exclude_groups.clone(),
            labels: asked.labels.clone(),
            with_needs: asked.with_needs,
        },
        allow_prune: asked.allow_prune,
        really_new: asked.really_new,
        ..session.clone()
    };
    let destroy = saved.asked.destroy;
    Ok(Some(Opened { saved, path: path.to_owned(), session, destroy }))
}

impl Opened {
    /// Makes sure that what is planned now is what was saved.
    ///
    /// # Errors
    /// Everything that moved.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), Failure> {
        let moved = self.saved.moved(plan);
        if moved.is_empty() { Ok(()) } else { Err(refused(&self.path, &moved)) }
    }
}

fn refused(path: &Path, moved: &[String]) -> Failure {
    let message = format!("the saved plan {} does not fit any more; nothing was applied", path.display());
    let mut failure = Failure::new(FailureClass::Refused, message);
    for what in moved {
        failure = failure.cause(what.clone());
    }
    failure.hint("look at a new plan: `statectl plan FILE… --out PLAN`")
}
