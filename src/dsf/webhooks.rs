//! Where results are posted. The address is a secret as a whole.

use super::fields::{Context, Fields};
use super::problems::{Code, Problem};
use std::fmt;

/// Who reads what is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookKind {
    /// Slack.
    Slack,
    /// Microsoft Teams.
    Teams,
    /// A program.
    Generic,
}

impl WebhookKind {
    const ALL: [(&'static str, WebhookKind); 3] = [
        ("slackWebhook", WebhookKind::Slack),
        ("msTeamsWebhook", WebhookKind::Teams),
        ("webhook", WebhookKind::Generic),
    ];

    /// Returns its name for messages.
    pub fn name(self) -> &'static str {
        match self {
            WebhookKind::Slack => "Slack",
            WebhookKind::Teams => "Microsoft Teams",
            WebhookKind::Generic => "`settings.webhook`",
        }
    }
}

/// Where results are posted.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Who reads them.
    pub kind: WebhookKind,
    url: String,
}

impl Webhook {
    /// Returns the address, which no message may show.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Reads the webhooks of the settings.
pub(super) fn webhooks(settings: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<Webhook> {
    let mut out = Vec::new();
    for (key, kind) in WebhookKind::ALL {
        let Some((url, (entry, path))) = settings.text(key, cx).zip(settings.get(key)) else { continue };
        let text = url.value.value.trim();
        let is_url = ["https://", "http://"]
            .iter()
            .any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
        if text.is_empty() {
            continue;
        }
        if !is_url {
            let problem = Problem::new(Code::BadValue, path, "not a URL", entry.key_span).conceal(true);
            cx.report.problem(problem.hint("it starts with https://"));
            continue;
        }
        out.push(Webhook { kind, url: text.to_owned() });
    }
    out
}
