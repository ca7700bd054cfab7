//! `statectl reconcile`: the run of a schedule. Locks, recovers, plans and applies within a policy, asks nobody, and tells
//! how it went where machines look.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Ending;
use crate::execute::Outcomes;
use crate::failure::Failure;
use crate::fetch::http::{self, Access, Http};
use crate::host::signals::Stop;
use crate::host::{clock, files, random};
use crate::model::ClusterIdentity;
use crate::plan::Plan;
use crate::report::{self, RunEnd, RunMetrics};
use crate::ui;

/// How long the gateway may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where the metrics of a run go, and those that were gathered.
#[derive(Debug, Default)]
pub struct Metrics {
    /// A file that Prometheus' node exporter reads.
    pub file: Option<PathBuf>,
    /// The address of a group of a gateway, such as `https://push.example.org/metrics/job/statectl`.
    pub gateway: Option<String>,
    gathered: Mutex<Vec<RunMetrics>>,
}

impl Metrics {
    /// Returns a place for the metrics of a run.
    pub fn new(file: Option<PathBuf>, gateway: Option<String>) -> Self {
        Self { file, gateway, ..Self::default() }
    }

    /// Takes in a plan and what became of it.
    pub(super) fn planned(&self, plan: &Plan, outcomes: &Outcomes) {
        self.add(RunMetrics::of(plan, outcomes));
    }

    /// Takes in that a run came to no plan.
    pub(super) fn unplanned(&self, context: &str, cluster: Option<&ClusterIdentity>) {
        self.add(RunMetrics::unplanned(context, cluster));
    }

    fn add(&self, run: RunMetrics) {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }

    /// Writes and sends what was gathered. What cannot be written is said, and changes nothing.
    pub async fn tell(&self, code: u8, started: Instant) {
        if self.file.is_none() && self.gateway.is_none() {
            return;
        }
        let runs = std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        // A run that did not even read its files is one, too.
        let runs = if runs.is_empty() { vec![RunMetrics::unplanned("", None)] } else { runs };
        let end = RunEnd { code, at: clock::now().as_second(), seconds: started.elapsed().as_secs_f64() };
        if let Some(path) = &self.file {
            let before = match files::kind(path) {
                files::PathKind::File => files::read_text(path).ok(),
                _ => None,
            };
            let text = report::metrics_text(&runs, end, before.as_deref());
            if let Err(error) = files::write_public(path, text.as_bytes()) {
                ui::message(&Failure::of("warning: the metrics were not written", &error).to_string());
            }
        }
        if let Some(address) = &self.gateway {
            // POST leaves other metrics of the group as they are: the time of the last success.
            let text = report::metrics_text(&runs, end, None);
            if let Err(why) = push(address, text).await {
                ui::message(&format!("warning: the metrics were not sent: {why}"));
            }
        }
    }
}

async fn push(address: &str, text: String) -> Result<(), String> {
    let mut access = Access::default();
    let url = http::address(address, &mut access).map_err(|_| "their address is none of a web server")?;
    match Http::default().post_text(&url, &access, text, TIMEOUT).await {
        Ok(status) if (200..300).contains(&status) => Ok(()),
        Ok(status) => Err(format!("the gateway answers {status}")),
        Err(error) => Err(error.reason()),
    }
}

/// Waits a random part of `most`, so that many schedules do not start at once. A signal ends it.
pub async fn jitter(most: Duration, stop: &Stop) -> Option<Ending> {
    if most.is_zero() {
        return None;
    }
    let part = f64::from(u32::from_le_bytes(random::bytes())) / f64::from(u32::MAX);
    let wait = most.mul_f64(part);
    ui::message(&format!("starts in {} s", wait.as_secs()));
    tokio::select! {
        () = tokio::time::sleep(wait) => None,
        signal = stop.wait() => Some(Ending { signal: Some(signal), ..Ending::default() }),
    }
}
