//! `statectl rollback`: goes back to an earlier revision, under the same guards as every other change.
//!
//! What is applied is what the record of that revision holds; nothing is rendered. How it is applied (its lock, waits, the
//! guards) is what the file says of the release now.

use std::collections::{BTreeMap, BTreeSet};

use super::content::Rendered;
use super::given::user_values;
use super::output::Outputs;
use super::prepare::Loaded;
use super::recovery::is_under_way;
use super::{Console, Ending, Selection, Session, apply, plan, remote_secrets, secrets};
use crate::dsf::state::Release;
use crate::failure::{Failure, FailureClass};
use crate::history::{History, Record, Status};
use crate::model::ReleaseKey;
use crate::observe::{self, Histories};
use crate::plan::Reason;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The release.
    pub release: ReleaseKey,
    /// The revision; without one, the newest before the current one that was deployed.
    pub to: Option<u64>,
    /// Whether the plan is only shown.
    pub dry_run: bool,
}

/// Plans the way back, shows it, asks, and goes.
///
/// # Errors
/// The file does not have the release or does not want it, there is no such revision, or an operation is under way.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    options: apply::Options,
    request: &Request,
) -> Result<Ending, Failure> {
    let selection = Selection { targets: vec![request.release.to_string()], ..Selection::default() };
    let session = Session { selection, ..session.clone() };
    let (loaded, cluster) = session.connected().await?;
    let key = &request.release;
    let refused = |message: String| Failure::new(FailureClass::Refused, message);
    let release = loaded.state.release(key).filter(|release| release.enabled);
    let Some(release) = release else {
        let failure = refused(format!("the file does not want {key}"));
        return Err(failure.hint("`enabled = true` in its app; or `helm rollback`"));
    };
    let mut histories = observe::histories(&cluster.reader, [key.namespace.clone()]).await;
    let history = histories.take(key).map_err(|message| {
        Failure::new(FailureClass::Failed, format!("the records of {key} cannot be read")).cause(message)
    })?;
    if is_under_way(&history) {
        let failure = refused(format!("an operation on {key} is under way, or was interrupted"));
        return Err(failure.hint(format!("finish it first: `statectl recover --release {key}`")));
    }
    let target = target(&history, request.to).map_err(|why| {
        let known: Vec<String> =
            history.records().iter().map(|record| record.release.version.to_string()).collect();
        let failure = refused(format!("{key}: {why}"));
        failure.hint(format!("`statectl history {key}` shows the revisions; there are {}", known.join(", ")))
    })?;
    let revision = target.release.version;
    learn_secrets(&session, &loaded, release, &history).await;
    let session = Session { back_to: Some(revision), ..session };
    if request.dry_run {
        let options =
            plan::Options { destroy: false, warnings_as_errors: options.warnings_as_errors, out: None };
        return plan::run(&session, console, outputs, options).await;
    }
    apply::run(&session, console, outputs, options).await
}

/// Returns the revision to go back to.
fn target(history: &History, wanted: Option<u64>) -> Result<&Record, String> {
    let Some(latest) = history.latest() else { return Err("there is no record".to_owned()) };
    if latest.release.info.status == Status::Uninstalled {
        return Err("it was uninstalled; `statectl apply` installs it".to_owned());
    }
    let found = match wanted {
        Some(wanted) => history.revision(wanted).ok_or_else(|| format!("there is no revision {wanted}"))?,
        None => {
            let before = history.records().iter().rev();
            let mut before = before.filter(|record| record.release.version < latest.release.version);
            let good = before
                .find(|record| matches!(record.release.info.status, Status::Deployed | Status::Superseded));
            good.ok_or_else(|| "no earlier revision was deployed".to_owned())?
        }
    };
    match found.release.info.status {
        Status::Deployed | Status::Superseded => Ok(found),
        ref other => {
            Err(format!("revision {} is {other}: it never was what should be", found.release.version))
        }
    }
}

/// Learns what to mask: what secrets of the file are now, and what they were in the revisions.
async fn learn_secrets(session: &Session, loaded: &Loaded, release: &Release, history: &History) {
    let (values, environment) = (&loaded.values, &session.environment);
    let values = remote_secrets::gathered(values, environment, None, std::iter::once(release)).await;
    // A vault that does not answer must not keep anybody from going back.
    if let Ok(config) = user_values(&release.values, &values) {
        for record in history.records() {
            secrets::learn_former(&config, &record.release.config);
        }
    }
}

/// Returns what the record of a revision holds, as if it had been rendered.
pub(super) fn recorded(
    selected: &BTreeSet<ReleaseKey>,
    histories: &Histories,
    revision: u64,
) -> BTreeMap<ReleaseKey, Result<Rendered, Reason>> {
    let one = |key: &ReleaseKey| {
        let record = histories.get(key).and_then(|history| history.revision(revision));
        let rendered = record.and_then(Rendered::recorded).ok_or_else(|| Reason::NotRendered {
            message: format!("revision {revision} has no record that can be gone back to"),
        });
        (key.clone(), rendered)
    };
    selected.iter().map(one).collect()
}
