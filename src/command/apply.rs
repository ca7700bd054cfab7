//! `statectl apply` and `statectl destroy`: plans, asks, and carries the plan out.

use std::collections::BTreeMap;
use std::time::Duration;

use super::app_hooks;
use super::cluster::Cluster;
use super::locking::Locking;
use super::output::{Format, Outputs};
use super::prepare::Loaded;
use super::saved::Opened;
use super::timings::{self, Step};
use super::{Console, Ending, Session, errors, notify, preflight, runs, saved};
use crate::cluster::Writer;
use crate::dsf::state::{OnError, Webhook};
use crate::execute::{self, Event, Outcome, Outcomes};
use crate::failure::{Failure, FailureClass};
use crate::host::{clock, env, secrets};
use crate::model::{ClusterIdentity, ReleaseKey};
use crate::plan::{Action, Operation, Plan, Reason};
use crate::report;
use crate::report::notification::{self, Digest, Standing};
use crate::ui::ask::Question;
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
    /// What was planned may no longer hold; why.
    Again(&'static str),
}

/// Makes sure, before anything is read, that consent can be had: by a flag, a saved plan or a question.
///
/// # Errors
/// There is no terminal to ask on.
pub fn consent(session: &Session, options: Options) -> Result<(), Failure> {
    if options.yes || ui::ask::can_ask() || saved::is_saved(session) {
        return Ok(());
    }
    let failure = Failure::new(FailureClass::Usage, "there is no terminal to ask for consent on");
    Err(failure.hint("add `--yes` to go ahead without a question"))
}

/// Plans, shows the plan, asks for consent where it is due, and carries the plan out.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    options: Options,
) -> Result<Ending, Failure> {
    let opened = saved::open(session)?;
    let adopts = session.adopts_from.is_some();
    if let Some(opened) = &opened
        && (options.destroy || adopts)
    {
        let failure = Failure::new(FailureClass::Usage, "a saved plan is carried out by `apply`");
        let made = if opened.destroy { "destroys" } else { "does not destroy" };
        return Err(failure.hint(format!("this one {made}")));
    }
    // Whoever saved a plan has looked at it: that is the consent.
    let yes = options.yes || opened.is_some();
    let (session, destroy) =
        opened.as_ref().map_or((session, options.destroy), |opened| (&opened.session, opened.destroy));
    let (operation, verb) = match (adopts, destroy) {
        (true, _) => (Operation::Adopt, "adopt"),
        (false, true) => (Operation::Destroy, "destroy"),
        (false, false) => (Operation::Reconcile, verb_of(session)),
    };
    let mut locking = None;
    let mut done = Done::default();
    let facts = runs::facts(session, verb);
    let ending = loop {
        let (loaded, cluster) = match session.connected().await {
            Ok(connected) => connected,
            Err(failure) => {
                // The files may be fine all the same, and say who wants to know.
                if let Some(loaded) = session.load().ok().filter(|_| done.plans == 0) {
                    done.meets(&loaded, None);
                }
                break Err(failure);
            }
        };
        done.meets(&loaded, Some(&cluster));
        let writer = Writer::new(cluster.reader.clone());
        let locking =
            locking.get_or_insert_with(|| Locking::of(session, &loaded, &writer, verb, options.lock_wait));
        let opened = opened.as_ref();
        let work = Work { session, opened, console, outputs, options, yes, operation, verb, facts: &facts };
        match work.once(&loaded, cluster, &writer, locking, &mut done).await {
            Ok(Way::Ended(ending)) => break Ok(ending),
            Ok(Way::Again(why)) => ui::message(&format!("{why}: plans again")),
            Err(failure) => break Err(failure),
        }
    };
    // Whatever happened, nobody has to wait for this run any more.
    if let Some(locking) = locking {
        if let (Some(run), Some(writer)) = (&done.run, &done.writer) {
            run.leave(writer).await;
        }
        locking.close().await;
    }
    let digest = match &ending {
        Ok(_) => done.digest.take(),
        Err(failure) => {
            if let Some(metrics) = &session.metrics {
                metrics.unplanned(&done.context, done.cluster.as_ref());
            }
            let run = notification::Run { verb: verb.to_owned(), who: env::who().0 };
            let cluster = done.cluster.as_ref();
            Some(Digest::of_failure(&run, &done.context, cluster, &failure.to_string()))
        }
    };
    if let Some(digest) = digest {
        notify::send(&done.webhooks, &digest).await;
    }
    ending
}

/// Returns what an apply is called in locks and messages.
fn verb_of(session: &Session) -> &'static str {
    match (session.files.policy, session.back_to) {
        (Some(_), _) => "reconcile",
        (None, Some(_)) => "rollback",
        (None, None) => "apply",
    }
}

/// How often a plan is made anew, because somebody was faster.
const MOST_PLANS: u32 = 3;

/// What was done by earlier plans of the same run.
#[derive(Default)]
struct Done {
    plans: u32,
    releases: BTreeMap<ReleaseKey, Outcome>,
    /// What is told at the end, to whom, and of which cluster.
    digest: Option<Digest>,
    webhooks: Vec<Webhook>,
    context: String,
    cluster: Option<ClusterIdentity>,
    /// What is kept of the run, once something was tried, and by whom.
    run: Option<runs::Keep>,
    writer: Option<Writer>,
}

impl Done {
    /// Takes in what is to be told about, and to whom. From then on no output shows where that is.
    fn meets(&mut self, loaded: &Loaded, cluster: Option<&Cluster>) {
        self.webhooks.clone_from(&loaded.state.settings.webhooks);
        self.webhooks.iter().for_each(|webhook| secrets::learn(webhook.url()));
        self.context.clone_from(&loaded.state.context);
        self.cluster = cluster.map(|cluster| cluster.identity.clone());
    }

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
    verb: &'static str,
    facts: &'a report::Facts,
}

impl Work<'_> {
    /// Ends the run, and keeps what is to be told of it.
    fn ended(&self, done: &mut Done, plan: &Plan, outcomes: &Outcomes, ending: Ending) -> Way {
        let standing = standing(&ending);
        let run = notification::Run { verb: self.verb.to_owned(), who: env::who().0 };
        done.digest = Digest::of(&run, plan, outcomes, standing);
        if let Some(metrics) = &self.session.metrics {
            metrics.planned(plan, outcomes);
        }
        Way::Ended(ending)
    }

    /// Returns why nothing may be changed now; a run that no schedule started always may.
    fn closed(&self, loaded: &Loaded) -> Option<String> {
        let windows = &loaded.state.settings.windows;
        let now = clock::now();
        if !self.session.files.scheduled || windows.is_empty() || windows.iter().any(|w| w.is_open(now)) {
            return None;
        }
        let next = windows
            .iter()
            .filter_map(|window| Some((window.opens_after(now)?, window)))
            .min_by_key(|(at, _)| *at);
        let next = next.map(|(at, window)| format!("; the next one opens at {at} ({})", window.shown));
        Some(format!("no window of `settings.windows` is open{}", next.unwrap_or_default()))
    }

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
        let Work { session, opened, console, outputs, options, yes, operation, .. } = *self;
        let plan = session.planned_on(loaded, &cluster, operation).await?;
        errors::checked(&plan)?;
        if let Some(opened) = opened {
            opened.check(&plan)?;
        }
        locking.put(plan.lock_place.as_deref());
        if !plan.has_changes() && locking.take_dead().await {
            return Ok(Way::Again("a run that is dead left its lock behind"));
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
            let outcomes = left(&plan, why);
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let (changes, blocked) = (plan.has_changes(), plan.has_blocked());
            let ending =
                Ending { changes, blocked, failed: true, held: plan.has_held(), ..Ending::default() };
            return Ok(self.ended(done, &plan, &outcomes, ending));
        }
        if let Some(failure) = preflight::check(session, loaded, &cluster, &plan).await {
            ui::message(&failure.to_string());
            let why = "rights are missing";
            let outcomes = left(&plan, why);
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let (changes, held) = (plan.has_changes(), plan.has_held());
            let ending = Ending { changes, blocked: true, failed: unfit, held, ..Ending::default() };
            return Ok(self.ended(done, &plan, &outcomes, ending));
        }
        if !plan.has_changes() {
            let outcomes = done.merged(left(&plan, "there is nothing to do"));
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let ending = Ending {
                blocked: plan.has_blocked(),
                held: plan.has_held(),
                failed: unfit,
                signal: session.stop.asked(),
                ..Ending::default()
            };
            return Ok(self.ended(done, &plan, &outcomes, ending));
        }
        if let Some(why) = unapproved(session, &plan) {
            ui::message(&why);
            let outcomes = left(&plan, "it is not what was approved");
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let ending = Ending { changes: true, blocked: true, failed: unfit, ..Ending::default() };
            return Ok(self.ended(done, &plan, &outcomes, ending));
        }
        if options.warnings_as_errors && errors::warned(&plan) {
            ui::message("nothing was applied");
            let outcomes = left(&plan, "the server warns");
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let ending = Ending { changes: true, blocked: true, failed: unfit, ..Ending::default() };
            return Ok(self.ended(done, &plan, &outcomes, ending));
        }
        if let Some(why) = self.closed(loaded) {
            ui::message(&format!("held: nothing was applied, because {why}"));
            let outcomes = left(&plan, &why);
            outputs.write(|_| String::new(), || report::run_json(&plan, &outcomes))?;
            let blocked = plan.has_blocked();
            let ending = Ending { changes: true, blocked, failed: unfit, held: true, ..Ending::default() };
            return Ok(self.ended(done, &plan, &outcomes, ending));
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
            return Ok(Way::Again("the cluster was changed meanwhile"));
        }
        let writer = locking.behind(writer);
        let programs = app_hooks::Programs::of(session, loaded, &plan)?;
        let progress = ui::progress::Progress::new(console.err, console.live);
        let show = |event: Event| {
            timings::event(&event);
            outputs.event(&event);
            progress.show(&event);
        };
        let watch = timings::watch(Step::Execute);
        let outcomes = execute::run(
            &plan,
            execute::Run {
                writer: &writer,
                locks: locking.locks(),
                discovery: cluster.discovery,
                parallel: options.parallel.unwrap_or(loaded.state.settings.parallel),
                hook_logs: options.hook_logs,
                stop_on_error: loaded.state.settings.on_error == OnError::Stop,
                environment: programs.environment.clone(),
                stop: &session.stop,
                events: &show,
            },
        )
        .await;
        drop(watch);
        done.plans += 1;
        done.writer = Some(writer.clone());
        done.run = runs::Keep::of(self.facts, loaded, &plan, &outcomes, "failed");
        if outcomes.overtaken && yes && opened.is_none() && done.plans < MOST_PLANS {
            let good = outcomes.releases.into_iter().filter(|(_, outcome)| !outcome.is_failure());
            done.releases.extend(good.filter(|(_, outcome)| !matches!(outcome, Outcome::Unchanged)));
            return Ok(Way::Again("the cluster was changed meanwhile"));
        }
        let outcomes = done.merged(outcomes);
        let text = |terminal: bool| {
            let style = if terminal { console.out } else { Style::plain(console.out.width) };
            ui::run_view::render(&outcomes, style)
        };
        outputs.write(text, || report::run_json(&plan, &outcomes))?;
        let ending = Ending {
            changes: true,
            blocked: plan.has_blocked(),
            failed: outcomes.has_failed() || unfit,
            locked: outcomes.has_locked(),
            held: plan.has_held(),
            signal: session.stop.asked(),
        };
        let result = standing(&ending).word();
        done.run = runs::Keep::of(self.facts, loaded, &plan, &outcomes, result);
        Ok(self.ended(done, &plan, &outcomes, ending))
    }
}

/// How a run ended, for people.
fn standing(ending: &Ending) -> Standing {
    if ending.failed || ending.locked || ending.signal.is_some() {
        Standing::Bad
    } else if ending.blocked || ending.held {
        Standing::Held
    } else {
        Standing::Good
    }
}

/// Why a plan is not the one that was approved, if one was and it is another.
fn unapproved(session: &Session, plan: &Plan) -> Option<String> {
    let approved = session.approved.as_ref()?;
    let effect = report::effect(plan);
    (*approved != effect).then(|| {
        format!(
            "nothing was applied: what would be done now is not what was approved\n  approved  {approved}\n  now       \
             {effect}\nhint: look at the plan above, and approve that one if it is meant"
        )
    })
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
    let questions = questions(plan);
    let asked = tokio::task::spawn_blocking(move || ui::ask::consent(&questions));
    tokio::select! {
        answer = asked => answer.unwrap_or(false),
        _ = session.stop.wait() => false,
    }
}

/// Says once more what is lost. Where data goes, a yes is the name of the release: no finger types it by habit.
fn questions(plan: &Plan) -> Vec<Question> {
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
    let losing = plan.releases.iter().filter_map(|release| {
        let reasons = release.reasons.iter().chain(release.objects.iter().flat_map(|object| &object.reasons));
        let mut lost: Vec<String> = reasons
            .filter(|reason| matches!(reason, Reason::DataGoes { .. }))
            .map(|reason| format!("  {reason}\n"))
            .collect();
        lost.sort();
        lost.dedup();
        (!lost.is_empty()).then(|| Question {
            text: format!("\nData of {} goes, for good:\n{}Delete it?", release.key, lost.concat()),
            yes: release.key.name.clone(),
        })
    });
    let mut questions = vec![Question { text, yes: "yes".to_owned() }];
    questions.extend(losing);
    questions
}
