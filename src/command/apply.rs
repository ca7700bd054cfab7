//! `statectl apply` and `statectl destroy`: plans, asks, and carries the plan out.

use super::output::{Format, Outputs};
use super::{Console, Ending, Session, errors, saved};
use crate::cluster::Writer;
use crate::dsf::state::OnError;
use crate::execute::{self, Event, Outcome, Outcomes};
use crate::failure::{Failure, FailureClass};
use crate::plan::{Action, Operation, Plan};
use crate::report;
use crate::ui::{self, Style};

/// What the flags say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Uninstall everything in the file.
    pub destroy: bool,
    /// Do not ask.
    pub yes: bool,
    /// The server's warnings in the plan keep it from being carried out.
    pub warnings_as_errors: bool,
    /// Releases at once; wins over the file.
    pub parallel: Option<usize>,
}

/// Plans, shows the plan, asks for consent where it is due, and carries the plan out.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    options: Options,
) -> Result<Ending, Failure> {
    let opened = saved::open(session)?;
    if let Some(opened) = &opened
        && options.destroy
    {
        let failure = Failure::new(FailureClass::Usage, "a saved plan is carried out by `apply`");
        let made = if opened.destroy { "destroys" } else { "does not destroy" };
        return Err(failure.hint(format!("this one {made}")));
    }
    // Whoever saved a plan has looked at it: that is the consent.
    let yes = options.yes || opened.is_some();
    let (session, destroy) =
        opened.as_ref().map_or((session, options.destroy), |opened| (&opened.session, opened.destroy));
    if !yes && !ui::ask::can_ask() {
        let failure = Failure::new(FailureClass::Usage, "there is no terminal to ask for consent on");
        return Err(failure.hint("add `--yes` to go ahead without a question"));
    }
    let operation = if destroy { Operation::Destroy } else { Operation::Reconcile };
    let (loaded, cluster, plan) = session.planned(operation).await?;
    errors::checked(&plan)?;
    if let Some(opened) = &opened {
        opened.check(&plan)?;
    }
    // With a machine-readable result on stdout the plan is progress.
    let style = if outputs.stdout == Format::Text { console.out } else { console.err };
    let shown = ui::plan_view::render(&plan, style, None);
    if outputs.stdout == Format::Text {
        ui::result(&shown);
    } else {
        ui::message(shown.trim_end());
    }
    let unfit = errors::show(&plan);
    if errors::not_rendered(&plan) {
        // Nothing is written before every selected release is known: what cannot be rendered may be what the
        // others rest on.
        let why = "not every release could be rendered";
        ui::message(&format!("nothing was applied, because {why}"));
        outputs.write(|_| String::new(), || report::run_json(&plan, &left(&plan, why)))?;
        return Ok(Ending {
            changes: plan.has_changes(),
            blocked: plan.has_blocked(),
            failed: true,
            signal: None,
        });
    }
    if !plan.has_changes() {
        outputs
            .write(|_| String::new(), || report::run_json(&plan, &left(&plan, "there is nothing to do")))?;
        return Ok(Ending {
            changes: false,
            blocked: plan.has_blocked(),
            failed: unfit,
            signal: session.stop.asked(),
        });
    }
    if options.warnings_as_errors && errors::warned(&plan) {
        ui::message("nothing was applied");
        outputs.write(|_| String::new(), || report::run_json(&plan, &left(&plan, "the server warns")))?;
        return Ok(Ending { changes: true, blocked: true, failed: unfit, signal: None });
    }
    if !yes && !agreed(session, &plan).await {
        let signal = session.stop.asked();
        ui::message("nothing was applied");
        outputs
            .write(|_| String::new(), || report::run_json(&plan, &left(&plan, "consent was not given")))?;
        return Ok(Ending { changes: true, blocked: plan.has_blocked(), failed: signal.is_none(), signal });
    }
    let writer = Writer::new(cluster.reader.clone());
    let progress = ui::progress::Progress::new(console.err, console.live);
    let show = |event: Event| progress.show(&event);
    let outcomes = execute::run(
        &plan,
        execute::Run {
            writer: &writer,
            discovery: cluster.discovery,
            parallel: options.parallel.unwrap_or(loaded.state.settings.parallel),
            stop_on_error: loaded.state.settings.on_error == OnError::Stop,
            stop: &session.stop,
            events: &show,
        },
    )
    .await;
    let text = |terminal: bool| {
        let style = if terminal { console.out } else { Style::plain(console.out.width) };
        ui::run_view::render(&outcomes, style)
    };
    outputs.write(text, || report::run_json(&plan, &outcomes))?;
    let failed = outcomes.has_failed();
    let signal = session.stop.asked();
    Ok(Ending { changes: true, blocked: plan.has_blocked(), failed: failed || unfit, signal })
}

/// What a run that did nothing says of each release.
fn left(plan: &Plan, because: &str) -> Outcomes {
    let outcome = |action: &Action| match action {
        Action::Blocked => Outcome::Blocked,
        Action::None => Outcome::Unchanged,
        _ => Outcome::Skipped { because: because.to_owned() },
    };
    let releases =
        plan.releases.iter().map(|release| (release.key.clone(), outcome(&release.action))).collect();
    Outcomes { releases, ..Outcomes::default() }
}

/// Asks on the terminal; a signal meanwhile is a no.
async fn agreed(session: &Session, plan: &Plan) -> bool {
    let question = question(plan);
    let asked = tokio::task::spawn_blocking(move || ui::ask::consent(&question));
    tokio::select! {
        answer = asked => answer.unwrap_or(false),
        _ = session.stop.wait() => false,
    }
}

fn question(plan: &Plan) -> String {
    let names = |wanted: fn(&Action) -> bool| {
        let chosen = plan.releases.iter().filter(|release| wanted(&release.action));
        chosen.map(|release| release.key.to_string()).collect::<Vec<_>>().join(", ")
    };
    let gone = names(|action| *action == Action::Uninstall);
    let replaced = names(|action| matches!(action, Action::Reinstall(_)));
    let mut text = format!("Carry this out on {}?", plan.cluster);
    if !gone.is_empty() {
        text = format!("{text} It uninstalls {gone}.");
    }
    if !replaced.is_empty() {
        text = format!("{text} It deletes and re-creates objects of {replaced}.");
    }
    text
}
