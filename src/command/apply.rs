//! `statectl apply` and `statectl destroy`: plans, asks, and carries the plan out.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cluster::Cluster;
use super::locking::Locking;
use super::output::{Format, Outputs};
use super::prepare::Loaded;
use super::saved::Opened;
use super::{Console, Ending, Session, errors, saved};
use crate::cluster::Writer;
use crate::dsf::state::OnError;
use crate::execute::{self, Event, Outcome, Outcomes};
use crate::failure::{Failure, FailureClass};
use crate::model::ReleaseKey;
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
    /// Show what hooks that ended well say, too.
    pub hook_logs: bool,
    /// How long a lock of another run is waited for; wins over the file.
    pub lock_wait: Option<Duration>,
}

/// How far a run came under the lock of its file.
enum Way {
    /// To its end.
    Ended(Ending),
    /// Another run was at work meanwhile: what was planned may no longer hold.
    Again,
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
    let verb = if destroy { "destroy" } else { "apply" };
    let mut locking = None;
    let mut done = Done::default();
    let ending = loop {
        let (loaded, cluster) = session.connected().await?;
        let writer = Writer::new(cluster.reader.clone());
        let locking =
            locking.get_or_insert_with(|| Locking::of(session, &loaded, &writer, verb, options.lock_wait));
        let work = Work { session, opened: opened.as_ref(), console, outputs, options, yes, operation };
        match work.once(&loaded, cluster, &writer, locking, &mut done).await {
            Ok(Way::Ended(ending)) => break Ok(ending),
            Ok(Way::Again) => ui::message("the cluster was changed meanwhile: plans again"),
            Err(failure) => break Err(failure),
        }
    };
    // Whatever happened, nobody has to wait for this run any more.
    if let Some(locking) = locking {
        locking.close().await;
    }
    ending
}

/// How often a plan is made anew, because somebody was faster.
const MOST_PLANS: u32 = 3;

/// What was done by earlier plans of the same run.
#[derive(Default)]
struct Done {
    plans: u32,
    releases: BTreeMap<ReleaseKey, Outcome>,
}

impl Done {
    /// Adds what earlier plans did to what the last one says.
    fn merged(&self, mut outcomes: Outcomes) -> Outcomes {
        for (key, outcome) in &self.releases {
            let now = outcomes.releases.get(key);
            if now.is_none_or(|now| matches!(now, Outcome::Unchanged)) {
                outcomes.releases.insert(key.clone(), outcome.clone());
            }
        }
        outcomes
    }
}

/// One run.
struct Work<'a> {
    session: &'a Session,
    opened: Option<&'a Opened>,
    console: Console,
    outputs: &'a Outputs,
    options: Options,
    yes: bool,
    operation: Operation,
}

impl Work<'_> {
    /// Plans, shows, asks, takes the lock and carries out. The lock comes last: nothing is written, not even that, where
    /// nothing is to be done, and nobody has to wait while a person thinks.
    async fn once(
        &self,
        loaded: &Loaded,
        cluster: Cluster,
        writer: &Writer,
        locking: &mut Locking,
        done: &mut Done,
    ) -> Result<Way, Failure> {
        let Work { session, opened, console, outputs, options, yes, operation } = *self;
        let plan = session.planned_on(loaded, &cluster, operation).await?;
        errors::checked(&plan)?;
        if let Some(opened) = opened {
            opened.check(&plan)?;
        }
        // With a machine-readable result on stdout the plan is progress.
        let style = if outputs.stdout == Format::Text { console.out } else { console.err };
        let shown = ui::plan_view::render(&plan, style, None);
        if outputs.stdout == Format::Text {
            ui::result(&ui::told(&shown));
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
            return Ok(Way::Ended(Ending {
                changes: plan.has_changes(),
                blocked: plan.has_blocked(),
                failed: true,
                ..Ending::default()
            }));
        }
        if !plan.has_changes() {
            outputs.write(
                |_| String::new(),
                || report::run_json(&plan, &done.merged(left(&plan, "there is nothing to do"))),
            )?;
            return Ok(Way::Ended(Ending {
                blocked: plan.has_blocked(),
                failed: unfit,
                signal: session.stop.asked(),
                ..Ending::default()
            }));
        }
        if options.warnings_as_errors && errors::warned(&plan) {
            ui::message("nothing was applied");
            outputs.write(|_| String::new(), || report::run_json(&plan, &left(&plan, "the server warns")))?;
            return Ok(Way::Ended(Ending {
                changes: true,
                blocked: true,
                failed: unfit,
                ..Ending::default()
            }));
        }
        if !yes && !agreed(session, &plan).await {
            let signal = session.stop.asked();
            ui::message("nothing was applied");
            outputs.write(
                |_| String::new(),
                || report::run_json(&plan, &left(&plan, "consent was not given")),
            )?;
            let (blocked, failed) = (plan.has_blocked(), signal.is_none());
            return Ok(Way::Ended(Ending { changes: true, blocked, failed, signal, ..Ending::default() }));
        }
        let mut waited = locking.take().await?;
        if locking.is_open() {
            // It is kept in a namespace that is still to come.
            execute::make_namespaces(&plan, writer).await;
            waited = locking.take().await?;
        }
        if waited {
            return Ok(Way::Again);
        }
        let writer = locking.behind(writer);
        let progress = ui::progress::Progress::new(console.err, console.live);
        let show = |event: Event| progress.show(&event);
        let outcomes = execute::run(
            &plan,
            execute::Run {
                writer: &writer,
                locks: locking.locks(),
                discovery: cluster.discovery,
                parallel: options.parallel.unwrap_or(loaded.state.settings.parallel),
                hook_logs: options.hook_logs,
                stop_on_error: loaded.state.settings.on_error == OnError::Stop,
                stop: &session.stop,
                events: &show,
            },
        )
        .await;
        done.plans += 1;
        if outcomes.overtaken && yes && opened.is_none() && done.plans < MOST_PLANS {
            let good = outcomes.releases.into_iter().filter(|(_, outcome)| !outcome.is_failure());
            done.releases.extend(good.filter(|(_, outcome)| !matches!(outcome, Outcome::Unchanged)));
            return Ok(Way::Again);
        }
        let outcomes = done.merged(outcomes);
        let text = |terminal: bool| {
            let style = if terminal { console.out } else { Style::plain(console.out.width) };
            ui::run_view::render(&outcomes, style)
        };
        outputs.write(text, || report::run_json(&plan, &outcomes))?;
        let failed = outcomes.has_failed();
        let signal = session.stop.asked();
        Ok(Way::Ended(Ending {
            changes: true,
            blocked: plan.has_blocked(),
            failed: failed || unfit,
            locked: outcomes.has_locked(),
            signal,
        }))
    }
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
