//! The command line: arguments in, exit code out.

pub mod args;
pub mod exit;
mod helmsman;
mod settings;

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Cli, Verb};
use exit::ExitCode;
use settings::{console, environment, lists};

use crate::command::{self, Console, Ending, Outputs};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::{self, Signal, Stop};
use crate::observe::Verify;
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
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Failure::of("the runtime cannot start", &error)),
    };
    let code = runtime.block_on(run(cli));
    // Threads that still render must not hold up the end.
    runtime.shutdown_background();
    code
}

/// clap ends with 2, which here means that changes are pending: a typo must not read as that.
fn usage(error: &clap::Error) -> ExitCode {
    // Help and version go to stdout, errors to stderr; a closed one is not worth another error.
    drop(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::Done,
        _ => ExitCode::Usage,
    }
}

async fn run(cli: Cli) -> ExitCode {
    let stop = match signals::listen() {
        Ok(stop) => stop,
        Err(error) => return fail(&Failure::of("signals cannot be listened to", &error)),
    };
    let console = console(cli.color);
    let verb = dispatch(cli.verb, console, &stop);
    tokio::select! {
        result = verb => match result {
            Ok((ending, detailed)) => code_of(ending, detailed),
            Err(failure) => fail(&failure),
        },
        signal = stop.insisted() => {
            ui::message("ended at once: a release that was under way may say pending; the next plan tells");
            code_of_signal(signal)
        }
    }
}

/// Runs a verb; also tells whether pending changes count in the exit code.
async fn dispatch(verb: Verb, console: Console, stop: &Stop) -> Result<(Ending, bool), Failure> {
    match verb {
        Verb::Plan(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
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
                stop: stop.clone(),
            };
            let options = command::plan::Options {
                destroy: args.destroy,
                warnings_as_errors: args.warnings_as_errors,
                out: args.out.as_deref(),
            };
            let ending = command::plan::run(&session, console, &outputs, options).await?;
            Ok((ending, args.detailed_exit_code))
        }
        Verb::Apply(args) => apply(args, console, stop, Way::Apply).await,
        Verb::Destroy(args) => apply(args, console, stop, Way::Destroy).await,
        Verb::Test(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let parallel = args.parallel.map(usize::from);
            Ok((command::test::run(&session, console, &outputs, parallel, args.logs).await?, false))
        }
        Verb::Diff(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let verify = lists::verify(args.verify);
            let session = reading(args.files, args.cluster, args.selection, verify, stop)?;
            Ok((command::diff::run(&session, console, &outputs).await?, args.detailed_exit_code))
        }
        Verb::Drift(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            let ending = command::drift::run(&session, console, &outputs, args.strict).await?;
            Ok((ending, args.detailed_exit_code))
        }
        Verb::Status(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            Ok((command::status::run(&session, console, &outputs).await?, false))
        }
        Verb::Validate(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let files = lists::files(args.files)?;
            Ok((command::validate::run(&files, &environment(), &outputs, args.skip_charts)?, false))
        }
        Verb::Config(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let files = lists::files(args.files)?;
            Ok((command::config::run(&files, &environment(), &outputs)?, false))
        }
        Verb::Explain(args) => Ok((command::explain::run(&args.topic, args.name.as_deref())?, false)),
        Verb::Lock(args) => {
            let files = lists::files(args.files)?;
            Ok((command::lock::run(&files, &environment(), console).await?, false))
        }
        Verb::Schema => Ok((command::schema::run(), false)),
        Verb::Locks(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let session = reading(args.files, args.cluster, args.selection, Verify::default(), stop)?;
            Ok((command::locks::run(&session, console, &outputs).await?, false))
        }
        Verb::Unlock(args) => {
            let outputs = Outputs::parse(&args.output.output)?;
            let request = command::unlock::Request {
                release: args.release,
                revision: args.revision,
                kind: lists::lock_kind(args.lock),
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
        Verb::Template(args) => Ok((command::template::run(&lists::template(*args))?, false)),
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
    Ok(command::Session {
        files: lists::files(files)?,
        connect: lists::cluster(cluster),
        selection: lists::selection(selection),
        environment: environment(),
        allow_prune: false,
        verify,
        really_new: false,
        retry: false,
        stop: stop.clone(),
    })
}

/// The verbs that carry a plan out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Apply,
    Destroy,
    Recover,
}

async fn apply(
    args: args::ApplyArgs,
    console: Console,
    stop: &Stop,
    way: Way,
) -> Result<(Ending, bool), Failure> {
    let outputs = Outputs::parse(&args.output.output)?;
    let session = command::Session {
        files: lists::files(args.files)?,
        connect: lists::cluster(args.cluster),
        selection: lists::selection(args.selection),
        environment: environment(),
        allow_prune: args.allow_prune,
        verify: lists::verify(args.verify),
        really_new: args.really_new,
        retry: args.retry,
        stop: stop.clone(),
    };
    let options = command::apply::Options {
        destroy: way == Way::Destroy,
        yes: args.yes,
        warnings_as_errors: args.warnings_as_errors,
        parallel: args.parallel.map(usize::from),
        hook_logs: args.hook_logs,
        lock_wait: args.lock_wait,
    };
    let ending = match way {
        Way::Recover => command::recover::run(&session, console, &outputs, options).await?,
        Way::Apply | Way::Destroy => command::apply::run(&session, console, &outputs, options).await?,
    };
    Ok((ending, false))
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
