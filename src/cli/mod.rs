//! The command line: arguments in, exit code out.

pub mod args;
mod configuration;
mod desk;
pub mod exit;
mod helmsman;
mod moving;
mod outputs;
mod reconcile;
mod records;
pub mod reference;
mod rendering;
mod settings;

use std::ffi::OsString;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use args::{Cli, Verb};
use exit::ExitCode;
use records::RunsPart;
use settings::{console, environment, lists};

use crate::command::{self, Console, Ending, Outputs, Session};
use crate::failure::{Failure, FailureClass};
use crate::host::commands;
use crate::host::signals::{self, Signal, Stop};
use crate::observe::Verify;
use crate::plan::{OwnerBefore, Policy};
use crate::ui;

/// Runs the process's own arguments and returns how it ends.
pub fn main() -> ExitCode {
    let translated = match helmsman::translate(settings::arguments()) {
        Ok(translated) => translated,
        Err(failure) => return fail(&failure),
    };
    for note in &translated.notes {
        ui::message(&format!("note: {note}"));
    }
    let arguments: Vec<OsString> = translated.arguments;
    let given = configuration::given(&environment());
    let configured = given.and_then(|given| Ok((configuration::configured(Cli::command(), &given)?, given)));
    let (command, given) = match configured {
        Ok(configured) => configured,
        Err(failure) => return fail(&failure),
    };
    let parsed = command.try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &given),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Failure::of("the runtime cannot start", &error)),
    };
    let code = runtime.block_on(run(cli));
    // Threads that still render must not hold up the end.
    runtime.shutdown_background();
    commands::end_all();
    code
}

/// clap ends with 2, which here means that changes are pending: a typo must not read as that.
fn usage(error: &clap::Error, given: &[configuration::Given]) -> ExitCode {
    // Help and version go to stdout, errors to stderr; a closed one is not worth another error.
    drop(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::Done,
        _ => {
            if let Some(note) = configuration::note(given) {
                ui::message(&note);
            }
            ExitCode::Usage
        }
    }
}

async fn run(cli: Cli) -> ExitCode {
    let stop = match signals::listen() {
        Ok(stop) => stop,
        Err(error) => return fail(&Failure::of("signals cannot be listened to", &error)),
    };
    let console = console(cli.color);
    ui::ci::begin(cli.ci.decided(&environment()));
    if cli.timings {
        command::timings::begin();
    }
    let verb = dispatch(cli.verb, console, &stop);
    let code = tokio::select! {
        result = verb => match result {
            Ok((ending, detailed)) => code_of(ending, detailed),
            Err(failure) => fail(&failure),
        },
        signal = stop.insisted() => {
            ui::message("ended at once: a release that was under way may say pending; the next plan tells");
            code_of_signal(signal)
        }
    };
    if let Some(table) = command::timings::told() {
        ui::message(&table);
    }
    match command::ci_ended(code.number()) {
        Ok(()) => code,
        Err(failure) => ExitCode::of_all(&[code, fail(&failure)]),
    }
}

/// Runs a verb; also tells whether pending changes count in the exit code.
async fn dispatch(verb: Verb, console: Console, stop: &Stop) -> Result<(Ending, bool), Failure> {
    match verb {
        Verb::Plan(args) => {
            let outputs = args.output.outputs(command::CHANGES)?.with_widget(args.widget.gitlab_report);
            let files = lists::files(args.files)?;
            let session = command::Session {
                files,
                connect: lists::cluster(args.cluster),
                selection: lists::selection(args.selection),
                environment: environment(),
                allow_prune: args.allow_prune,
                verify: lists::verify(args.verify),
                really_new: args.really_new,
                retry: args.retry,
                adopts_from: None,
                as_if_owned: false,
                back_to: None,
                metrics: None,
                approved: None,
                stop: stop.clone(),
                part: command::Chosen::default(),
            };
            let options = command::plan::Options {
                destroy: args.destroy,
                warnings_as_errors: args.warnings_as_errors,
                out: args.out.as_deref(),
            };
            let plan = async |session: &Session, outputs: &Outputs| {
                command::plan::run(session, console, outputs, options).await
            };
            // A saved plan is that of one cluster.
            let ending = match args.out {
                None => command::each(&session, &outputs, plan).await?,
                Some(_) => plan(&session, &outputs).await?,
            };
            Ok((ending, args.detailed_exit_code))
        }
        Verb::Apply(args) => apply(args, console, stop, Way::Apply).await,
        Verb::Destroy(args) => apply(args, console, stop, Way::Destroy).await,
        Verb::Test(args) => {
            let outputs = args.output.outputs(command::TESTS)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let parallel = args.parallel.map(usize::from);
            let test = async |session: &Session, outputs: &Outputs| {
                command::test::run(session, console, outputs, parallel, args.logs).await
            };
            Ok((command::each(&session, &outputs, test).await?, false))
        }
        Verb::Diff(args) => {
            let outputs = args.output.outputs(command::CHANGES)?;
            let verify = lists::verify(args.verify);
            let session = reading(args.files, args.cluster, args.selection, verify, stop)?;
            let diff = async |session: &Session, outputs: &Outputs| {
                command::diff::run(session, console, outputs).await
            };
            Ok((command::each(&session, &outputs, diff).await?, args.detailed_exit_code))
        }
        Verb::Drift(args) => {
            let outputs = args.output.outputs(command::CHANGES)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let drift = async |session: &Session, outputs: &Outputs| {
                command::drift::run(session, console, outputs, args.strict).await
            };
            Ok((command::each(&session, &outputs, drift).await?, args.detailed_exit_code))
        }
        Verb::Status(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let status = async |session: &Session, outputs: &Outputs| {
                command::status::run(session, console, outputs).await
            };
            Ok((command::each(&session, &outputs, status).await?, false))
        }
        Verb::Doctor(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let files = lists::any_files(args.files);
            let alone = files.states.is_empty() && files.specs.is_empty();
            let session = reading_of(files, args.cluster, args.selection, Verify::default(), stop);
            let doctor =
                async |session: &Session, outputs: &Outputs| command::doctor::run(session, outputs).await;
            let ending = match alone {
                true => doctor(&session, &outputs).await?,
                false => command::each(&session, &outputs, doctor).await?,
            };
            Ok((ending, false))
        }
        Verb::Validate(args) => {
            let outputs = args.output.outputs(command::CHECKS)?;
            let files = lists::files(args.files)?;
            Ok((command::validate::run(&files, &environment(), &outputs, args.skip_charts)?, false))
        }
        Verb::Config(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let files = lists::files(args.files)?;
            Ok((command::config::run(&files, &environment(), &outputs)?, false))
        }
        Verb::Explain(args) => {
            Ok((command::explain::run(args.topic.as_deref(), args.name.as_deref())?, false))
        }
        Verb::Lock(args) => {
            let files = lists::files(args.files)?;
            Ok((command::lock::run(&files, &environment(), console).await?, false))
        }
        Verb::Affected(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let request = command::affected::Request {
                files: lists::files(args.files)?,
                environment: environment(),
                base: args.base,
                head: args.head,
                with_dependents: args.with_dependents,
                matrix: args.matrix,
                stop: stop.clone(),
            };
            Ok((command::affected::run(&request, &outputs).await?, false))
        }
        Verb::Graph(args) => {
            let form = desk::graph_form(args.output);
            let selection = lists::selection(args.selection);
            let files = lists::files(args.files)?;
            Ok((command::graph::run(&files, &environment(), &selection, form)?, false))
        }
        Verb::Fmt(args) => Ok((command::fmt::run(&desk::fmt(args))?, false)),
        Verb::Docs(args) => Ok((desk::docs(&args)?, false)),
        Verb::Completions(args) => Ok((desk::completions(&args), false)),
        Verb::Man(args) => Ok((desk::man(&args)?, false)),
        Verb::Schema(args) => Ok((command::schema::run(args.format.as_deref())?, false)),
        Verb::Locks(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let locks = async |session: &Session, outputs: &Outputs| {
                command::locks::run(session, console, outputs).await
            };
            Ok((command::each(&session, &outputs, locks).await?, false))
        }
        Verb::Unlock(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let request = command::unlock::Request {
                release: args.release,
                revision: args.revision,
                kind: args.lock.map(lists::lock_kind),
                connect: lists::cluster(args.cluster),
                environment: environment(),
                stop: stop.clone(),
            };
            Ok((command::unlock::run(&request, console, &outputs).await?, false))
        }
        Verb::Recover(args) => {
            let mut apply_args = args.apply;
            apply_args.selection.target.extend(args.release);
            apply(apply_args, console, stop, Way::Recover).await
        }
        Verb::History(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let request = command::history::Request {
                release: args.release,
                max: args.max,
                connect: lists::cluster(args.cluster),
                stop: stop.clone(),
            };
            Ok((command::history::run(&request, &outputs).await?, false))
        }
        Verb::Runs(args) => {
            let args = *args;
            let (of, wanted) = match args.part {
                None => (args.list, command::runs::Wanted::List),
                Some(RunsPart::Show(args)) => (args.of, command::runs::Wanted::Show(args.run)),
                Some(RunsPart::Diff(args)) => (args.of, command::runs::Wanted::Diff(args.from, args.to)),
            };
            let outputs = Outputs::parse(&of.output.output)?;
            let session = reading(of.files, of.cluster, of.selection, Verify::default(), stop)?;
            let runs = async |session: &Session, outputs: &Outputs| {
                command::runs::run(session, outputs, wanted).await
            };
            Ok((command::each(&session, &outputs, runs).await?, false))
        }
        Verb::Reconcile(args) => reconcile::run(args, console, stop).await,
        Verb::Rollback(args) => {
            let request =
                command::rollback::Request { release: args.release, to: args.to, dry_run: args.dry_run };
            apply(args.apply, console, stop, Way::Rollback(request)).await
        }
        Verb::Adopt(args) => {
            let from = args.from_context.map_or(OwnerBefore::Nobody, OwnerBefore::Context);
            apply(args.apply, console, stop, Way::Adopt(from)).await
        }
        Verb::Convert(args) => Ok((command::convert::run(&moving::convert(args))?, false)),
        Verb::Import(args) => {
            let request = moving::import(args, environment(), stop)?;
            Ok((command::import::run(&request, console).await?, false))
        }
        Verb::Rbac(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let (ask_server, cluster_wide) = (args.ask_server, args.cluster_wide);
            let options = command::rbac::Options { ask_server, cluster_wide, subject: args.subject };
            let rbac = async |session: &Session, outputs: &Outputs| {
                command::rbac::run(session, outputs, &options).await
            };
            Ok((command::each(&session, &outputs, rbac).await?, false))
        }
        Verb::Template(args) => {
            let request = lists::template(*args);
            // Rendering looks at no clock and at no signal; what is asked for meanwhile must be heard.
            let rendering = tokio::task::spawn_blocking(move || command::template::run(&request));
            tokio::select! {
                done = rendering => {
                    let done = done.map_err(|error| Failure::of("the chart cannot be rendered", &error))?;
                    Ok((done?, false))
                }
                signal = stop.wait() => Ok((Ending { signal: Some(signal), ..Ending::default() }, false)),
            }
        }
    }
}

/// What a verb works on that only shows something.
fn reading(
    files: args::FileArgs,
    cluster: args::ClusterArgs,
    selection: args::SelectionArgs,
    verify: Verify,
    stop: &Stop,
) -> Result<command::Session, Failure> {
    Ok(reading_of(lists::files(files)?, cluster, selection, verify, stop))
}

fn reading_of(
    files: command::Files,
    cluster: args::ClusterArgs,
    selection: args::SelectionArgs,
    verify: Verify,
    stop: &Stop,
) -> command::Session {
    command::Session {
        files,
        connect: lists::cluster(cluster),
        selection: lists::selection(selection),
        environment: environment(),
        allow_prune: false,
        verify,
        really_new: false,
        retry: false,
        adopts_from: None,
        as_if_owned: false,
        back_to: None,
        metrics: None,
        approved: None,
        stop: stop.clone(),
        part: command::Chosen::default(),
    }
}

/// The verbs that carry a plan out.
#[derive(Clone)]
enum Way {
    Apply,
    Destroy,
    Recover,
    Adopt(OwnerBefore),
    Rollback(command::rollback::Request),
}

async fn apply(
    args: args::ApplyArgs,
    console: Console,
    stop: &Stop,
    way: Way,
) -> Result<(Ending, bool), Failure> {
    apply_with(args, console, stop, way, None).await
}

/// Carries a plan out; `reconciles` is the policy and the metrics of a reconciliation.
async fn apply_with(
    args: args::ApplyArgs,
    console: Console,
    stop: &Stop,
    way: Way,
    reconciles: Option<(Policy, Arc<command::reconcile::Metrics>)>,
) -> Result<(Ending, bool), Failure> {
    let outputs = args.output.outputs(command::RUNS)?;
    let adopts_from = if let Way::Adopt(from) = &way { Some(from.clone()) } else { None };
    let mut files = lists::files(args.files)?;
    files.scheduled = args.scheduled;
    files.policy = reconciles.as_ref().map(|(policy, _)| *policy);
    let session = command::Session {
        files,
        connect: lists::cluster(args.cluster),
        selection: lists::selection(args.selection),
        environment: environment(),
        allow_prune: args.allow_prune,
        verify: lists::verify(args.verify),
        really_new: args.really_new,
        retry: args.retry,
        adopts_from,
        as_if_owned: false,
        back_to: None,
        metrics: reconciles.map(|(_, metrics)| metrics),
        approved: args.approved,
        stop: stop.clone(),
        part: command::Chosen::default(),
    };
    let options = command::apply::Options {
        destroy: matches!(way, Way::Destroy),
        yes: args.yes,
        warnings_as_errors: args.warnings_as_errors,
        parallel: args.parallel.map(usize::from),
        hook_logs: args.hook_logs,
        lock_wait: args.lock_wait,
    };
    let shows = matches!(&way, Way::Rollback(request) if request.dry_run);
    if !shows {
        command::apply::consent(&session, options)?;
    }
    let verb = async |session: &Session, outputs: &Outputs| match &way {
        Way::Rollback(request) => command::rollback::run(session, console, outputs, options, request).await,
        Way::Recover => command::recover::run(session, console, outputs, options).await,
        Way::Apply | Way::Destroy | Way::Adopt(_) => {
            command::apply::run(session, console, outputs, options).await
        }
    };
    Ok((command::each(&session, &outputs, verb).await?, false))
}

fn fail(failure: &Failure) -> ExitCode {
    ui::message(&failure.to_string());
    failure.class.into()
}

fn code_of(ending: Ending, detailed: bool) -> ExitCode {
    let mut outcomes = Vec::new();
    if let Some(signal) = ending.signal {
        outcomes.push(code_of_signal(signal));
    }
    if ending.failed {
        outcomes.push(ExitCode::Failed);
    }
    if ending.locked {
        outcomes.push(ExitCode::Locked);
    }
    if ending.blocked {
        outcomes.push(FailureClass::Refused.into());
    }
    if ending.held {
        outcomes.push(ExitCode::Held);
    }
    if ending.changes && detailed {
        outcomes.push(ExitCode::ChangesPending);
    }
    ExitCode::of_all(&outcomes)
}

fn code_of_signal(signal: Signal) -> ExitCode {
    match signal {
        Signal::Hangup => ExitCode::HungUp,
        Signal::Interrupt => ExitCode::Interrupted,
        Signal::Terminate => ExitCode::Terminated,
    }
}
