//! Where the time of a run went (`--timings`). It is told at the end, on stderr, and decides nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::execute::Event;
use crate::model::ReleaseKey;
use crate::text;

/// The parts of a run, in their order. What else a run does is in none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The desired-state files are read.
    Load,
    /// The cluster is asked who it is and what it has.
    Connect,
    /// Charts, and values that are elsewhere, are fetched.
    Fetch,
    /// Charts are rendered.
    Render,
    /// Records and objects are read, and changes are tried out.
    Observe,
    /// It is decided what is done.
    Plan,
    /// It is done.
    Execute,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Load => "load",
            Step::Connect => "connect",
            Step::Fetch => "fetch",
            Step::Render => "render",
            Step::Observe => "observe",
            Step::Plan => "plan",
            Step::Execute => "execute",
        }
    }
}

/// The slowest releases that are named.
const MOST_RELEASES: usize = 5;

/// What is known so far.
#[derive(Debug)]
struct Kept {
    since: Instant,
    parts: BTreeMap<Step, Duration>,
    started: BTreeMap<ReleaseKey, Instant>,
    releases: BTreeMap<ReleaseKey, Duration>,
}

/// Nothing where nobody asked.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn with(work: impl FnOnce(&mut Kept)) {
    if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        work(kept);
    }
}

/// Begins to take times.
pub fn begin() {
    let kept = Kept {
        since: Instant::now(),
        parts: BTreeMap::new(),
        started: BTreeMap::new(),
        releases: BTreeMap::new(),
    };
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
}

/// Takes the time of a part until it is dropped.
#[must_use = "the part ends where it is dropped"]
pub(super) struct Watch {
    part: Step,
    since: Instant,
}

/// Begins with a part; where a run comes to it again, the times are added up.
pub(super) fn watch(part: Step) -> Watch {
    Watch { part, since: Instant::now() }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        with(|kept| *kept.parts.entry(self.part).or_default() += took);
    }
}

/// Takes the times of releases from what happens.
pub(super) fn event(event: &Event) {
    match event {
        Event::ReleaseStarted { key, .. } => {
            with(|kept| {
                kept.started.insert(key.clone(), Instant::now());
            });
        }
        Event::ReleaseEnded { key, .. } => with(|kept| {
            if let Some(since) = kept.started.remove(key) {
                *kept.releases.entry(key.clone()).or_default() += since.elapsed();
            }
        }),
        _ => {}
    }
}

/// Returns the table, if somebody asked for it.
pub fn told() -> Option<String> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    Some(table(kept.since.elapsed(), &kept.parts, &kept.releases))
}

fn table(
    total: Duration,
    parts: &BTreeMap<Step, Duration>,
    releases: &BTreeMap<ReleaseKey, Duration>,
) -> String {
    let row = |name: &str, took: Duration| vec![name.to_owned(), format!("{:>9.3} s", took.as_secs_f64())];
    let mut rows = vec![vec!["TIMINGS".to_owned(), String::new()]];
    rows.extend(parts.iter().map(|(part, took)| row(part.name(), *took)));
    rows.push(row("in all", total));
    if !releases.is_empty() {
        rows.push(vec!["SLOWEST RELEASES".to_owned(), String::new()]);
        let mut slowest: Vec<_> = releases.iter().collect();
        slowest.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let slowest = slowest.into_iter().take(MOST_RELEASES);
        rows.extend(slowest.map(|(key, took)| row(&key.to_string(), *took)));
    }
    text::table(&rows).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_and_the_slowest_releases_first() {
        let time = Duration::from_millis;
        let parts = BTreeMap::from([(Step::Execute, time(12_345)), (Step::Load, time(7))]);
        let releases = (0..7).map(|n| (ReleaseKey::new("shop", format!("r{n}")), time(n * 10))).collect();
        assert_eq!(
            table(time(12_400), &parts, &releases),
            "TIMINGS\n\
             load                  0.007 s\n\
             execute              12.345 s\n\
             in all               12.400 s\n\
             SLOWEST RELEASES\n\
             shop/r6               0.060 s\n\
             shop/r5               0.050 s\n\
             shop/r4               0.040 s\n\
             shop/r3               0.030 s\n\
             shop/r2               0.020 s"
        );
    }
}
