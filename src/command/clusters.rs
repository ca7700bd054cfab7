//! Several clusters in one run: each has its own plan, batches and lock, and they come one after the other.

use std::collections::BTreeSet;

use super::{Ending, Outputs, Session, saved};
use crate::dsf::state::{DesiredState, Release};
use crate::failure::{Failure, FailureClass};
use crate::host::signals::Signal;
use crate::model::ReleaseKey;
use crate::text::plural;
use crate::ui;

/// The releases of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// The kubeconfig context that its releases name. None: the cluster that the command line or the settings name.
    pub(super) context: Option<String>,
}

impl Part {
    /// How it is called in messages.
    fn name(&self) -> &str {
        self.context.as_deref().unwrap_or("the cluster of the settings")
    }
}

/// What a part leaves out.
pub(super) struct LeftOut {
    /// The releases of other clusters.
    pub(super) releases: BTreeSet<ReleaseKey>,
    /// Namespaces that only they use.
    pub(super) namespaces: BTreeSet<String>,
}

/// Returns the context that a release names, unless it is the one that is meant anyway.
fn context_of<'r>(release: &'r Release, main: Option<&str>) -> Option<&'r str> {
    release.kube_context.as_deref().filter(|context| Some(*context) != main)
}

/// Returns the parts of a state, in the order of the files. `flag` is the context on the command line: whoever names a
/// cluster means that one, and no other is touched.
pub(super) fn parts(state: &DesiredState, flag: Option<&str>) -> Vec<Part> {
    if flag.is_some() {
        return vec![Part::default()];
    }
    let main = state.settings.kube_context.as_deref();
    let mut parts: Vec<Part> = Vec::new();
    // The cluster of the settings is looked at even when its last release has left the file.
    if main.is_some() || state.releases.is_empty() {
        parts.push(Part::default());
    }
    for release in &state.releases {
        let part = Part { context: context_of(release, main).map(str::to_owned) };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

/// Takes everything out of a state that does not belong to one part.
pub(super) fn restrict(state: &mut DesiredState, part: &Part, flag: Option<&str>) -> LeftOut {
    let named = state.settings.kube_context.clone();
    let main = flag.map(str::to_owned).or_else(|| named.clone());
    // Where the files tell clusters apart, the flag chooses one of them. Else it says where all releases are.
    let apart = state.releases.iter().any(|release| release.kube_context.is_some());
    let chosen = flag.filter(|_| apart && named.is_some());
    let is_own = |release: &Release| match chosen {
        Some(flag) => release.kube_context.as_deref().or(named.as_deref()) == Some(flag),
        None => context_of(release, main.as_deref()) == part.context.as_deref(),
    };
    let (own, others): (Vec<Release>, Vec<Release>) =
        std::mem::take(&mut state.releases).into_iter().partition(is_own);
    state.releases = own;
    let used = |releases: &[Release]| -> BTreeSet<String> {
        releases.iter().map(|release| release.key.namespace.clone()).collect()
    };
    let here = used(&state.releases);
    // A namespace that nobody uses belongs to the cluster of the settings.
    let namespaces = match part.context {
        None => used(&others).difference(&here).cloned().collect(),
        Some(_) => state.namespaces.keys().filter(|name| !here.contains(*name)).cloned().collect(),
    };
    LeftOut { releases: others.into_iter().map(|release| release.key).collect(), namespaces }
}

/// Makes sure that no release is there twice: two of one name are two as long as their clusters are.
///
/// # Errors
/// One is.
pub(super) fn each_once(state: &DesiredState) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match state.releases.iter().find(|release| !seen.insert(&release.key)) {
        None => Ok(()),
        Some(twice) => {
            let message = format!("{} would be there twice on this cluster", twice.key);
            let failure = Failure::new(FailureClass::Usage, message);
            Err(failure.hint("name the cluster of each with `kubeContext`, or in `settings.kubeContext`"))
        }
    }
}

/// Runs a verb once for each cluster that the files name. What happens on one cluster does not keep the verb from the
/// next one; only a signal does, and `settings.onError = "stop"`.
///
/// # Errors
/// The files cannot be read, or there is one cluster and the verb failed.
pub async fn each(
    session: &Session,
    outputs: &Outputs,
    verb: impl AsyncFn(&Session, &Outputs) -> Result<Ending, Failure>,
) -> Result<Ending, Failure> {
    if saved::is_saved(session) {
        // It was made for one cluster.
        return verb(session, outputs).await;
    }
    let (parts, stops) = session.parts()?;
    if let [part] = parts.as_slice() {
        return verb(&session.of_part(part), outputs).await;
    }
    ui::message(&format!(
        "the files name {}: {}",
        plural(parts.len(), "cluster"),
        parts.iter().map(Part::name).collect::<Vec<_>>().join(", ")
    ));
    let mut all = Ending::default();
    let gathering = outputs.gathering();
    for part in &parts {
        gathering.next(part.context.as_deref());
        match verb(&session.of_part(part), &gathering).await {
            Ok(ending) => all = all.and(ending),
            Err(failure) => {
                ui::message(&format!("{}: {failure}", part.name()));
                gathering.failed(&failure);
                all = all.and(ending_of(failure.class));
            }
        }
        if all.signal.is_some() || (stops && all.failed) {
            break;
        }
    }
    gathering.finish()?;
    Ok(all)
}

/// What a failure on one of several clusters means for the whole run.
fn ending_of(class: FailureClass) -> Ending {
    let ending = Ending::default();
    match class {
        FailureClass::Refused => Ending { blocked: true, ..ending },
        FailureClass::Locked => Ending { locked: true, ..ending },
        FailureClass::HungUp => Ending { signal: Some(Signal::Hangup), ..ending },
        FailureClass::Interrupted => Ending { signal: Some(Signal::Interrupt), ..ending },
        FailureClass::Terminated => Ending { signal: Some(Signal::Terminate), ..ending },
        _ => Ending { failed: true, ..ending },
    }
}
