//! The points at which something is killed: before and after each of its writes, side by side, with a table at the end.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::Child;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::proxy::{Fault, Proxy, Rule};
use super::signal::{self, Sent};
use super::statectl::{Output, wait};

/// So many points at once: most of their time is waiting.
const SIDE_BY_SIDE: usize = 6;

/// Where a process is killed.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What is killed.
    pub(crate) name: String,
    /// The number of the write.
    pub(crate) number: usize,
    /// Before it reaches the server, or after the server has done it.
    pub(crate) is_before: bool,
    /// The write.
    write: String,
}

impl Point {
    /// Returns the points of something that sends these writes.
    pub(crate) fn of(name: &str, writes: Vec<String>) -> Vec<Self> {
        let both = |(number, write): (usize, String)| {
            [true, false].map(|is_before| Self {
                name: name.to_owned(),
                number,
                is_before,
                write: write.clone(),
            })
        };
        writes.into_iter().enumerate().flat_map(both).collect()
    }

    /// Returns the rule that stops the write.
    pub(crate) fn rule(&self) -> Rule {
        Rule::write(self.number).fault(if self.is_before { Fault::Hang } else { Fault::HangReply })
    }

    /// Returns a name for a namespace.
    pub(crate) fn label(&self) -> String {
        let side = if self.is_before { "before" } else { "after" };
        format!("{}-{}-{side}", self.name.replace(' ', "-"), self.number)
    }
}

/// Returns the writes that came to a proxy, without what keeps locks, in short.
pub(crate) fn writes_of(proxy: &Proxy, namespace: &str) -> Vec<String> {
    let counted = proxy.seen().into_iter().filter(|seen| seen.is_write() && !seen.is_renewal());
    let name = |uri: &str| {
        let path = uri.split('?').next().unwrap_or_default().replace(namespace, "NS");
        path.rsplit_once("/NS/").map_or(path.clone(), |(_, rest)| rest.to_owned())
    };
    counted.map(|seen| format!("{} {}", seen.method, name(&seen.uri))).collect()
}

/// Kills a process at the write that will have no answer; one that ends before is left alone.
pub(crate) fn kill(proxy: &Proxy, mut run: Child) -> Result<Output, String> {
    let began = Instant::now();
    while proxy.hung() == 0 && run.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(90) {
            signal::send(&run, Sent::Kill);
            let output = wait(run);
            return Err(format!("the write does not come: {}{}", output.stdout, output.stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if run.try_wait().unwrap().is_none() {
        signal::send(&run, Sent::Kill);
    }
    Ok(wait(run))
}

/// Runs each point that `takes` names by its number, and returns the table, and how many did not converge.
pub(crate) fn table(
    points: Vec<Point>,
    takes: impl Fn(usize) -> bool,
    killed: impl Fn(usize, &Point) -> Result<(), String> + Sync,
) -> (String, usize) {
    let began = Instant::now();
    let all = points.len();
    let taken: VecDeque<(usize, Point)> =
        points.into_iter().enumerate().filter(|(at, _)| takes(*at)).collect();
    let queue = Mutex::new(taken);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let Some((at, point)) = queue.lock().unwrap().pop_front() else { return };
                    let result =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| killed(at, &point)));
                    let result =
                        result.unwrap_or_else(|_| Err("the test itself failed, see above".to_owned()));
                    rows.lock().unwrap().push((at, point, result));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(at, _, _)| *at);
    let mut text = String::new();
    let mut failed = 0;
    for (_, point, result) in &rows {
        let said = match result {
            Ok(()) => "converged".to_owned(),
            Err(why) => {
                failed += 1;
                format!("NOT converged: {why}")
            }
        };
        let Point { name, number, is_before, write } = point;
        let side = if *is_before { "before" } else { "after" };
        writeln!(text, "{name:<22} {number:>2} {side:<7} {write:<60} {said}").unwrap();
    }
    let seconds = began.elapsed().as_secs();
    writeln!(text, "{} of {all} points, {failed} did not converge, {seconds} s", rows.len()).unwrap();
    (text, failed)
}

/// Tells whether all points are asked for, and not a sample.
pub(crate) fn all_are_wanted() -> bool {
    std::env::var("STATECTL_KILL_MATRIX").is_ok_and(|value| value == "all")
}
