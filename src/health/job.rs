//! Jobs: ready means complete. A Job that merely runs is not ready.

use serde_json::Value as Json;

use super::read::{condition, count, integer, of, text};
use super::workload::{Newest, belongs};
use super::{Evidence, Health, pod};

pub(super) fn health(object: &Json, evidence: &Evidence<'_>) -> Health {
    let holds = |kind: &str| condition(object, kind).filter(|found| found.is_true());
    if holds("Complete").is_some() {
        return Health::ready();
    }
    if let Some(failed) = holds("Failed") {
        return Health::Failed(failed.words());
    }
    if object.pointer("/spec/suspend").and_then(Json::as_bool) == Some(true) {
        return Health::progressing("suspended");
    }
    let newest = Newest { owner: text(object, "/metadata/uid"), label: None };
    let pods = || evidence.pods.iter().copied().filter(|pod| belongs(pod, &newest));
    // A container that fails to start never uses up the backoff limit, so the Job would run for ever. Crashes
    // are counted by the Job itself.
    let stuck =
        pods().find_map(|found| Some((found, pod::trouble(found).filter(|trouble| !trouble.crashes)?)));
    let progress = progress(object);
    if let Some((found, trouble)) = stuck {
        let name = text(found, "/metadata/name");
        return trouble.health(format!("{progress}; pod {name}: {}", trouble.text));
    }
    let waiting = pods()
        .filter(|found| !matches!(text(found, "/status/phase"), "Succeeded" | "Failed"))
        .filter(|found| !pod::health(found).is_ready())
        .find_map(|found| {
            Some((found, pod::trouble(found).map(|trouble| trouble.text).or_else(|| pod::waiting(found))?))
        });
    Health::Progressing(match waiting {
        Some((found, why)) => format!("{progress}; pod {}: {why}", text(found, "/metadata/name")),
        None => progress,
    })
}

fn progress(object: &Json) -> String {
    if object.pointer("/status/startTime").is_none() {
        return "not started yet".to_owned();
    }
    // A work queue has no number of completions; then one pod that succeeds ends it.
    let wanted = integer(object, "/spec/completions").unwrap_or(1);
    let mut text = of(count(object, "/status/succeeded"), wanted, "pods", "completed");
    for (pointer, what) in [("/status/active", "running"), ("/status/failed", "failed")] {
        let number = count(object, pointer);
        if number > 0 {
            text = format!("{text}, {number} {what}");
        }
    }
    if condition(object, "FailureTarget").is_some_and(|target| target.is_true()) {
        format!("{text}, failing")
    } else {
        text
    }
}
