//! What a run tells in a chat: one short text, in the forms of Slack, Microsoft Teams and anybody else.
//!
//! Every text of a cluster or a chart that gets in here is cut short; secrets are masked by whoever sends it.

use serde_json::{Value as Json, json};

use crate::execute::{Outcome, Outcomes};
use crate::model::ClusterIdentity;
use crate::plan::Plan;

/// How many releases are named; the others are counted.
const NAMED: usize = 20;
/// The longest text of one release.
const LONGEST: usize = 300;

/// How a run ended, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Everything that was tried worked.
    Good,
    /// Something was refused or left out.
    Held,
    /// Something did not work.
    Bad,
}

impl Standing {
    /// Returns the state as one word.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Good => "succeeded",
            Standing::Held => "refused",
            Standing::Bad => "failed",
        }
    }

    /// Colours of Slack's own, and of cards.
    fn colours(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Standing::Good => ("good", "2EB886", "Good"),
            Standing::Held => ("warning", "DAA038", "Warning"),
            Standing::Bad => ("danger", "A30200", "Attention"),
        }
    }
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    release: (String, String),
    action: &'static str,
    state: &'static str,
    message: String,
}

/// What a run tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    verb: String,
    standing: Standing,
    context: String,
    cluster: ClusterIdentity,
    who: String,
    /// Why the run ended before anything was tried.
    failure: Option<String>,
    lines: Vec<Line>,
}

/// What is the same for every end of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The verb.
    pub verb: String,
    /// Who runs it.
    pub who: String,
}

impl Digest {
    /// Returns what a run tells whose outcomes are known; nothing where there was nothing to do, and nothing was refused.
    pub fn of(run: &Run, plan: &Plan, outcomes: &Outcomes, standing: Standing) -> Option<Self> {
        let mut lines = Vec::new();
        for (key, outcome) in &outcomes.releases {
            let planned = plan.release(key);
            if matches!(outcome, Outcome::Unchanged) {
                continue;
            }
            let message = match outcome {
                Outcome::Failed { message }
                | Outcome::RolledBack { message, .. }
                | Outcome::Stale { message }
                | Outcome::Locked { message }
                | Outcome::LockLost { message }
                | Outcome::Interrupted { message } => message.clone(),
                Outcome::Skipped { because } => because.clone(),
                Outcome::Waiting { on } => on.clone(),
                Outcome::Blocked => {
                    let reason = planned.and_then(|release| release.reasons.first());
                    reason.map(ToString::to_string).unwrap_or_default()
                }
                Outcome::Deployed { revision } => format!("revision {revision}"),
                _ => String::new(),
            };
            let action = planned.map_or("none", |release| release.action.name());
            lines.push(Line {
                release: (key.namespace.clone(), key.name.clone()),
                action,
                state: outcome.word(),
                message: short(&message),
            });
        }
        for (name, why) in &outcomes.namespaces {
            lines.push(Line {
                release: (name.clone(), String::new()),
                action: "namespace",
                state: "failed",
                message: short(why),
            });
        }
        (!lines.is_empty() || standing != Standing::Good).then(|| Self {
            verb: run.verb.clone(),
            standing,
            context: plan.context.clone(),
            cluster: plan.cluster.clone(),
            who: run.who.clone(),
            failure: None,
            lines,
        })
    }

    /// Returns what a run tells that came to its end before anything was tried.
    pub fn of_failure(run: &Run, context: &str, cluster: Option<&ClusterIdentity>, failure: &str) -> Self {
        Self {
            verb: run.verb.clone(),
            standing: Standing::Bad,
            context: context.to_owned(),
            cluster: cluster.cloned().unwrap_or_default(),
            who: run.who.clone(),
            failure: Some(short(failure)),
            lines: Vec::new(),
        }
    }

    fn title(&self) -> String {
        let counts = self.counts();
        let rest = if counts.is_empty() { String::new() } else { format!(": {counts}") };
        format!("statectl {} of {} {}{rest}", self.verb, self.context, self.standing.word())
    }

    fn counts(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for line in &self.lines {
            match counts.iter_mut().find(|(state, _)| *state == line.state) {
                Some((_, count)) => *count += 1,
                None => counts.push((line.state, 1)),
            }
        }
        counts.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
    }

    /// The lines of the text, without a mark-up of their own.
    fn text(&self) -> Vec<String> {
        let place = format!("cluster {}, by {}", self.cluster, self.who);
        let line = |line: &Line| {
            let name = match line.release.1.as_str() {
                "" => format!("namespace {}", line.release.0),
                name => format!("{}/{name}", line.release.0),
            };
            let colon = if line.message.is_empty() { "" } else { ": " };
            format!("{name} {}{colon}{}", line.state, line.message)
        };
        // What went wrong first.
        let bad = |line: &&Line| matches!(line.state, "deployed" | "uninstalled" | "orphaned");
        let ordered = self.lines.iter().filter(|l| !bad(l)).chain(self.lines.iter().filter(bad));
        let mut out: Vec<String> = std::iter::once(place).chain(self.failure.clone()).collect();
        out.extend(ordered.take(NAMED).map(line));
        let rest = self.lines.len().saturating_sub(NAMED);
        out.extend((rest > 0).then(|| format!("and {rest} more")));
        out
    }

    /// Returns a message of Slack's incoming webhooks.
    pub fn slack(&self) -> Json {
        // Slack's three signs (https://api.slack.com/reference/surfaces/formatting#escaping).
        let plain = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = plain(&self.title());
        json!({
            "text": title,
            "attachments": [{
                "color": self.standing.colours().0,
                "fallback": title,
                "text": plain(&self.text().join("\n")),
                "mrkdwn_in": [],
            }],
        })
    }

    /// Returns a card for a connector of Office 365, which takes the old form.
    pub fn message_card(&self) -> Json {
        json!({
            "@type": "MessageCard",
            "@context": "https://schema.org/extensions",
            "themeColor": self.standing.colours().1,
            "summary": self.title(),
            "title": self.title(),
            "text": self.text().iter().map(|line| without_marks(line)).collect::<Vec<_>>().join("\n\n"),
        })
    }

    /// Returns an adaptive card, which workflows of Teams take.
    pub fn adaptive_card(&self) -> Json {
        let block = |text: String| json!({"type": "TextBlock", "text": text, "wrap": true});
        let mut body = vec![json!({
            "type": "TextBlock",
            "text": without_marks(&self.title()),
            "weight": "Bolder",
            "color": self.standing.colours().2,
            "wrap": true,
        })];
        body.extend(self.text().iter().map(|line| block(without_marks(line))));
        json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": body,
                },
            }],
        })
    }

    /// Returns `statectl.notification/v1`.
    pub fn plain(&self) -> Json {
        let releases = self.lines.iter().map(|line| {
            json!({
                "namespace": line.release.0,
                "name": line.release.1,
                "action": line.action,
                "state": line.state,
                "message": line.message,
            })
        });
        json!({
            "format": "statectl.notification/v1",
            "verb": self.verb,
            "result": self.standing.word(),
            "context": self.context,
            "cluster": self.cluster,
            "who": self.who,
            "summary": self.title(),
            "failure": self.failure,
            "releases": releases.collect::<Vec<_>>(),
        })
    }
}

/// A text as one short line, without signs that only move a cursor.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(std::iter::once('…')).collect()
}

/// A text whose signs mean nothing in Markdown.
fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(lines: usize) -> Digest {
        let line = |at: usize| Line {
            release: ("shop".to_owned(), format!("r{at}")),
            action: "upgrade",
            state: if at == 1 { "failed" } else { "deployed" },
            message: short("a \"quoted\"\nline & <b>*bold*</b>\u{1b}[31m"),
        };
        Digest {
            verb: "apply".to_owned(),
            standing: Standing::Bad,
            context: "shop".to_owned(),
            cluster: ClusterIdentity {
                server: "https://example.org".to_owned(),
                ..ClusterIdentity::default()
            },
            who: "ann@ci".to_owned(),
            failure: None,
            lines: (0..lines).map(line).collect(),
        }
    }

    #[test]
    fn each_form_is_what_its_reader_takes() {
        let digest = digest(25);
        let slack = digest.slack();
        assert_eq!(slack["text"], "statectl apply of shop failed: 24 deployed, 1 failed");
        let text = slack["attachments"][0]["text"].as_str().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "cluster https://example.org, by ann@ci");
        assert_eq!(lines[1], "shop/r1 failed: a \"quoted\" line &amp; &lt;b&gt;*bold*&lt;/b&gt;[31m");
        assert_eq!((lines.len(), lines[21]), (22, "and 5 more"));
        let card = digest.message_card();
        assert_eq!((&card["@type"], &card["themeColor"]), (&"MessageCard".into(), &"A30200".into()));
        assert!(card["text"].as_str().unwrap().contains("& \\<b\\>\\*bold\\*\\</b\\>\\[31m"), "{card}");
        let adaptive = digest.adaptive_card();
        assert_eq!(adaptive["attachments"][0]["content"]["body"].as_array().unwrap().len(), 23);
        let plain = digest.plain();
        assert_eq!((&plain["result"], plain["releases"].as_array().unwrap().len()), (&"failed".into(), 25));
        let run = Run { verb: "apply".to_owned(), who: "ann@ci".to_owned() };
        let failed = Digest::of_failure(&run, "shop", None, &"x ".repeat(500));
        assert!(failed.plain()["failure"].as_str().unwrap().ends_with('…'));
    }
}
