//! The summary of a run.

use std::collections::BTreeMap;

use crate::execute::{Outcome, Outcomes};
use crate::ui::Style;

/// Returns one line for each release that the run touched or had to leave, and the counts.
pub fn render(run: &Outcomes, style: Style) -> String {
    let outcomes = &run.releases;
    let width = outcomes.keys().map(|key| key.to_string().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, why) in &run.namespaces {
        text.push_str("  namespace ");
        text.push_str(&[name.as_str(), &style.danger("failed"), why].join("  "));
        text.push('\n');
    }
    for (key, outcome) in outcomes {
        let (word, detail) = match outcome {
            Outcome::Unchanged => continue,
            Outcome::Deployed { revision } => (style.good("deployed"), format!("revision {revision}")),
            Outcome::Uninstalled => (style.good("uninstalled"), String::new()),
            Outcome::Orphaned => (style.good("orphaned"), "belongs to nobody now".to_owned()),
            Outcome::Adopted => (style.good("adopted"), "belongs to this file now".to_owned()),
            Outcome::Blocked => (style.danger("blocked"), "see the plan".to_owned()),
            Outcome::Failed { message } => (style.danger("failed"), message.clone()),
            Outcome::RolledBack { message, .. } => (style.danger("rolled back"), message.clone()),
            Outcome::Stale { message } => (style.danger("stale"), message.clone()),
            Outcome::Interrupted { message } => (style.danger("interrupted"), message.clone()),
            Outcome::Waiting { on } => (style.change("waiting"), on.clone()),
            Outcome::Locked { message } => (style.change("locked"), message.clone()),
            Outcome::LockLost { message } => (style.danger("lock lost"), message.clone()),
            Outcome::Skipped { because } => (style.change("skipped"), because.clone()),
        };
        let detail = detail.replace('\n', "\n      ");
        let line = format!("  {:<width$}  {word}  {detail}", key.to_string());
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in outcomes.values() {
        *counts.entry(outcome.word()).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let counts = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    text.push_str(&style.bold(&format!("{counts}.")));
    text.push('\n');
    text
}
