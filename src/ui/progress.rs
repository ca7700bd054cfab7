//! Progress on stderr: live rows on a terminal, plain lines elsewhere.
//!
//! Off a terminal a line is written when a release starts, enters a new kind of phase and ends, and a
//! heartbeat while it waits, so that a CI job that is silent for minutes is one that hangs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use super::Style;
use crate::execute::{Event, Outcome, Phase, WaitingOn};
use crate::model::ReleaseKey;

/// Between two lines about the same wait, off a terminal.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Shows events.
pub struct Progress {
    style: Style,
    live: Option<MultiProgress>,
    rows: Mutex<BTreeMap<ReleaseKey, Row>>,
}

struct Row {
    bar: Option<ProgressBar>,
    started: Instant,
    said: String,
    said_at: Instant,
}

impl Progress {
    /// Returns a sink that writes to stderr; `terminal` tells whether rows may move.
    pub fn new(style: Style, terminal: bool) -> Self {
        let live = terminal.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Self { style, live, rows: Mutex::new(BTreeMap::new()) }
    }

    /// Shows an event.
    pub fn show(&self, event: &Event) {
        // A panic elsewhere is reported by itself; the rows are only for show.
        let mut rows = self.rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            Event::NamespaceApplied { name } => self.line(&format!("namespace {name} is there")),
            Event::BatchStarted { index, batches, releases } => {
                if *batches > 1 {
                    let text = format!("batch {} of {batches}: {releases} to do", index + 1);
                    self.line(&self.style.dim(&text));
                }
            }
            Event::ReleaseStarted { key, action } => {
                drop(rows.insert(key.clone(), self.started(key, action)))
            }
            Event::Entered { key, phase } => {
                if let Some(row) = rows.get_mut(key) {
                    self.entered(key, phase, row);
                }
            }
            Event::Warned { key, text } => self.line(&format!("{key}: server warning: {text}")),
            Event::HookLog { key, hook, text } => self.line(&format!("{key}: hook {hook}: {text}")),
            Event::Noted { key, text } => self.line(&format!("{key}: {text}")),
            Event::ReleaseEnded { key, outcome } => {
                let row = rows.remove(key);
                let seconds = row.as_ref().map(|row| row.started.elapsed().as_secs_f32());
                if let Some(bar) = row.and_then(|row| row.bar) {
                    bar.finish_and_clear();
                }
                self.line(&self.ended(key, outcome, seconds));
            }
        }
    }

    fn started(&self, key: &ReleaseKey, action: &str) -> Row {
        let bar = self.live.as_ref().map(|live| {
            let bar = live.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar.set_message(format!("{key}  {action}"));
            bar
        });
        if bar.is_none() {
            self.line(&format!("{key}: {action} starts"));
        }
        let now = Instant::now();
        Row { bar, started: now, said: String::new(), said_at: now }
    }

    fn entered(&self, key: &ReleaseKey, phase: &Phase, row: &mut Row) {
        let text = phase_text(phase);
        let waited = row.started.elapsed().as_secs();
        if let Some(bar) = &row.bar {
            bar.set_message(super::told(&format!("{key}  {text}  ({waited} s)")).into_owned());
            return;
        }
        let kind = phase_kind(phase);
        if row.said != kind || row.said_at.elapsed() >= HEARTBEAT {
            let since = if waited > 0 { format!(" ({waited} s)") } else { String::new() };
            self.line(&format!("{key}: {text}{since}"));
            row.said = kind;
            row.said_at = Instant::now();
        }
    }

    fn ended(&self, key: &ReleaseKey, outcome: &Outcome, seconds: Option<f32>) -> String {
        let time = seconds.map(|seconds| format!(" ({seconds:.1} s)")).unwrap_or_default();
        let word = match outcome {
            Outcome::Deployed { revision } => self.style.good(&format!("deployed, revision {revision}")),
            Outcome::Uninstalled => self.style.good("uninstalled"),
            Outcome::Orphaned => self.style.good("orphaned"),
            Outcome::Adopted => self.style.good("adopted"),
            Outcome::Unchanged => self.style.dim("unchanged"),
            Outcome::Waiting { on } => self.style.change(&format!("still waiting: {on}")),
            Outcome::Skipped { because } => self.style.change(&format!("skipped: {because}")),
            Outcome::Blocked
            | Outcome::Failed { .. }
            | Outcome::RolledBack { .. }
            | Outcome::Stale { .. }
            | Outcome::Locked { .. }
            | Outcome::LockLost { .. }
            | Outcome::Interrupted { .. } => self.style.danger(outcome.word()),
        };
        format!("{key}: {word}{time}")
    }

    fn line(&self, text: &str) {
        match &self.live {
            // Printed above the moving rows; the error of a closed stderr helps nobody.
            Some(live) => drop(live.println(super::told(text))),
            None => super::message(text),
        }
    }
}

fn phase_text(phase: &Phase) -> String {
    match phase {
        Phase::Locked { holder } => format!("waits for its lock, held by {holder}"),
        Phase::Recording { revision } => format!("writes the record of revision {revision}"),
        Phase::Hook { event, name } => format!("runs {event} hook {name}"),
        Phase::Applying { object, number, total } => format!("applies {object} ({number} of {total})"),
        Phase::Replacing { object } => format!("deletes and re-creates {object}"),
        Phase::Waiting { ready, total, on } => format!("{ready} of {total} ready; {}", waiting_text(on)),
        Phase::Removing { object } => format!("removes {object}"),
        Phase::RollingBack { to } => format!("failed, rolls back to revision {to}"),
        Phase::Finishing => "settles the record".to_owned(),
    }
}

/// Says what is not ready: the first object with what it lacks, and the names of some others.
fn waiting_text(on: &[WaitingOn]) -> String {
    let Some((first, others)) = on.split_first() else { return String::new() };
    let since = if first.seconds > 0 { format!(" (for {} s)", first.seconds) } else { String::new() };
    let text = format!("{}: {}{since}", first.object, first.why);
    if others.is_empty() {
        return text;
    }
    let names: Vec<&str> = others.iter().take(3).map(|other| other.object.as_str()).collect();
    let more = if others.len() > names.len() { ", …" } else { "" };
    format!("{text}; also {}{more}", names.join(", "))
}

/// What has to differ for a new line off a terminal.
fn phase_kind(phase: &Phase) -> String {
    match phase {
        Phase::Locked { .. } => "lock".to_owned(),
        Phase::Recording { .. } | Phase::Finishing => "record".to_owned(),
        Phase::Hook { event, name } => format!("hook {event} {name}"),
        Phase::Applying { .. } => "apply".to_owned(),
        Phase::Replacing { object } => format!("replace {object}"),
        Phase::Waiting { on, .. } => match on.first() {
            Some(first) => format!("wait {} {}", first.object, first.why),
            None => "wait".to_owned(),
        },
        Phase::Removing { .. } => "remove".to_owned(),
        Phase::RollingBack { .. } => "rollback".to_owned(),
    }
}
