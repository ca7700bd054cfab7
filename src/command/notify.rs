//! Tells chats how a run ended. A message that does not arrive is said, and changes nothing.

use std::time::Duration;

use serde_json::Value as Json;

use crate::dsf::state::{Webhook, WebhookKind};
use crate::fetch::http::{self, Access, Http};
use crate::host::secrets;
use crate::report::notification::Digest;
use crate::ui;

/// How long one message may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends what a run tells to each webhook of the file, side by side.
pub(super) async fn send(webhooks: &[Webhook], digest: &Digest) {
    let sent = webhooks.iter().map(|webhook| async move {
        let name = webhook.kind.name();
        let (host, result) = post(webhook, digest).await;
        if let Err(why) = result {
            ui::message(&format!("warning: the message to {name}{host} was not sent: {why}"));
        }
    });
    futures::future::join_all(sent).await;
}

/// Posts a message; also returns the host, which alone of the address is no secret.
async fn post(webhook: &Webhook, digest: &Digest) -> (String, Result<(), String>) {
    let mut access = Access::default();
    let Ok(url) = http::address(webhook.url(), &mut access) else {
        return (String::new(), Err("its address is none of a web server".to_owned()));
    };
    let host = url.host_str().map(|host| format!(" ({host})")).unwrap_or_default();
    let body = match webhook.kind {
        WebhookKind::Slack => digest.slack(),
        // Connectors of Office 365 take the old form of cards, workflows the new one only.
        WebhookKind::Teams if url.host_str().is_some_and(|host| host.ends_with("webhook.office.com")) => {
            digest.message_card()
        }
        WebhookKind::Teams => digest.adaptive_card(),
        WebhookKind::Generic => digest.plain(),
    };
    let result = Http::default().post_json(&url, &access, masked(body).to_string(), TIMEOUT).await;
    let result = match result {
        Ok(status) if (200..300).contains(&status) => Ok(()),
        Ok(status) => Err(format!("it answers {status}")),
        Err(error) => Err(error.reason()),
    };
    (host, result)
}

/// Masks secrets in each text by itself, so that what is sent is still JSON.
fn masked(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(secrets::redact(&text).into_owned()),
        Json::Array(items) => items.into_iter().map(masked).collect(),
        Json::Object(members) => members.into_iter().map(|(key, value)| (key, masked(value))).collect(),
        other => other,
    }
}
