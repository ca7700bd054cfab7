//! Sends an apply until it is known what became of it.
//!
//! A server-side apply says what should be, so that sending it twice does what sending it once does. It is sent again
//! after an answer that was lost, after an error of a server that passes, and while a webhook does not answer yet; each
//! for a bounded number of times, or a bounded time. Who may be overwritten does not change: every repetition carries the
//! preconditions of the first.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::event::Event;
use super::{Context, StepError};
use crate::cluster::{Answer, ApiError, ApplyOptions, Resource};
use crate::diff;
use crate::model::{
    FIELD_MANAGER, ObjectKey, RELEASE_NAME_ANNOTATION, RELEASE_NAMESPACE_ANNOTATION, ReleaseKey,
};

/// How often an object is sent whose answer is lost.
const ATTEMPTS: u32 = 5;
/// The wait before it is sent again; it grows each time.
const PAUSE: Duration = Duration::from_millis(300);
/// How long a webhook that does not answer is waited for: its pods may be starting.
const WEBHOOK_PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts meanwhile.
const WEBHOOK_PAUSE: Duration = Duration::from_secs(2);

/// An object, and how it is sent.
pub(super) struct Sending<'a> {
    pub(super) resource: &'a Resource,
    pub(super) key: &'a ObjectKey,
    pub(super) body: &'a Json,
    pub(super) options: ApplyOptions,
}

/// Why sending it again may work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    /// A webhook does not answer; nothing was done.
    Webhook,
    /// It is not known what was done.
    Unknown,
    /// Somebody wrote the object at the same moment; nothing was done.
    Moved,
}

fn passing(error: &ApiError) -> Option<Passing> {
    let Some(refusal) = error.refusal() else { return error.may_pass().then_some(Passing::Unknown) };
    match refusal.status {
        500 if refusal.reason == "InternalError" && refusal.message.contains("failed calling webhook") => {
            Some(Passing::Webhook)
        }
        // With causes it is about fields, and about a uid it is about another object.
        409 if refusal.causes.is_empty() && refusal.message.contains("the object has been modified") => {
            Some(Passing::Moved)
        }
        _ => error.may_pass().then_some(Passing::Unknown),
    }
}

/// Applies an object. Conflicts with other managers were settled in the plan.
///
/// # Errors
/// The server's last answer.
pub(super) async fn apply(
    context: &Context<'_>,
    release: Option<&ReleaseKey>,
    sending: &Sending<'_>,
) -> Result<Answer, ApiError> {
    repeat(context, release, sending).await.0
}

/// Also tells whether an answer was lost on the way.
async fn repeat(
    context: &Context<'_>,
    release: Option<&ReleaseKey>,
    sending: &Sending<'_>,
) -> (Result<Answer, ApiError>, bool) {
    let start = Instant::now();
    let mut attempts = 1;
    let mut is_open = false;
    let mut is_told = false;
    loop {
        let Sending { resource, key, body, options } = sending;
        let sent = context.writer.apply(resource, key.namespace.as_deref(), &key.name, body, *options).await;
        let error = match sent {
            Err(error) => error,
            answer => return (answer, is_open),
        };
        is_open |= error.leaves_open();
        let pause = match passing(&error) {
            Some(Passing::Webhook) if start.elapsed() < WEBHOOK_PATIENCE => {
                if let Some(release) = release.filter(|_| !is_told) {
                    let text = format!("{key}: {error}; tried again for {} s", WEBHOOK_PATIENCE.as_secs());
                    context.emit(Event::Noted { key: release.clone(), text });
                    is_told = true;
                }
                WEBHOOK_PAUSE
            }
            // A version in the body is a precondition that no longer holds, or never will.
            Some(Passing::Moved) if !body["metadata"]["resourceVersion"].is_null() => {
                return (Err(error), is_open);
            }
            Some(Passing::Unknown | Passing::Moved) if attempts < ATTEMPTS => {
                attempts += 1;
                PAUSE * (attempts - 1)
            }
            _ => return (Err(error), is_open),
        };
        if context.check_stop().is_err() {
            return (Err(error), is_open);
        }
        tokio::time::sleep(pause).await;
    }
}

/// Applies an object that must not exist yet. A resource version that no object can have any more makes the server
/// create a missing object and refuse an existing one (measured on Kubernetes 1.36), so that nobody is overwritten.
///
/// If the answer is lost and then the object is there, it is ours if it is as it was sent, or carries the marks of this
/// very release, which it did not have when the plan was made.
///
/// # Errors
/// The server's last answer; stale, when somebody else has created it.
pub(super) async fn create(
    context: &Context<'_>,
    release: &ReleaseKey,
    sending: &Sending<'_>,
) -> Result<Answer, StepError> {
    let key = sending.key;
    let mut body = sending.body.clone();
    body["metadata"]["resourceVersion"] = json!("1");
    let first = Sending { body: &body, ..*sending };
    let namespace = key.namespace.as_deref();
    let (sent, is_open) = repeat(context, Some(release), &first).await;
    let error = match sent {
        Ok(answer) => return Ok(answer),
        Err(error) if !error.is_status(409) => return Err(StepError::object(key, error)),
        Err(error) => error,
    };
    let stale = || StepError::Stale { what: format!("{key} was created by somebody else") };
    if !is_open {
        return Err(stale());
    }
    let read = context.writer.reader().get(sending.resource, namespace, &key.name).await;
    let Ok(Some(live)) = read else { return Err(StepError::object(key, error)) };
    if diff::prove_unchanged(sending.body, &live, FIELD_MANAGER).is_ok() {
        return Ok(Answer { status: 200, body: live, warnings: Vec::new() });
    }
    let mark = |name: &str| live["metadata"]["annotations"][name].as_str().unwrap_or_default();
    let is_ours = mark(RELEASE_NAME_ANNOTATION) == release.name
        && mark(RELEASE_NAMESPACE_ANNOTATION) == release.namespace;
    if !is_ours {
        return Err(stale());
    }
    let mut body = sending.body.clone();
    body["metadata"]["uid"] = live["metadata"]["uid"].clone();
    let again = Sending { body: &body, ..*sending };
    apply(context, Some(release), &again).await.map_err(|error| StepError::object(key, error))
}
