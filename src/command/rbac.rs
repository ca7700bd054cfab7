//! `statectl rbac`: prints the roles that a file takes, and nothing that it does not.

use std::collections::{BTreeMap, BTreeSet};

use super::content::{self, Past, Rendered};
use super::output::Outputs;
use super::{Ending, Session, app_hooks, locking, preflight, remote_secrets};
use crate::dsf::state::Release;
use crate::failure::{Failure, FailureClass};
use crate::host::random;
use crate::lock::Name;
use crate::model::{GroupVersionKind, ReleaseKey};
use crate::plan::rights::{self, FileRelease, KindName, Rights};
use crate::plan::{Operation, Reason};
use crate::report::{self, Roles, Subject};
use crate::ui;

/// What the flags say.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the server tells which kinds and APIs there are, and what the next run would do.
    pub ask_server: bool,
    /// One role for all namespaces, for a user who makes namespaces.
    pub cluster_wide: bool,
    /// Who gets the rights.
    pub subject: Option<Subject>,
}

/// Prints the manifests.
///
/// # Errors
/// A chart cannot be rendered, or a kind is not known.
pub async fn run(session: &Session, outputs: &Outputs, options: &Options) -> Result<Ending, Failure> {
    session.until_stopped(print(session, outputs, options)).await
}

async fn print(session: &Session, outputs: &Outputs, options: &Options) -> Result<Ending, Failure> {
    let loaded = session.load()?;
    let state = &loaded.state;
    let cluster = if options.ask_server { Some(session.open(state).await?) } else { None };
    let mut releases: Vec<&Release> = state.releases.iter().collect();
    releases.retain(|release| release.enabled && loaded.selected.contains(&release.key));
    let jobs = session.jobs(&releases, &loaded, cluster.as_ref(), |_| Past::default()).await;
    let rendered = match &cluster {
        Some(cluster) => content::render_all(cluster, jobs).await,
        None => content::render_offline(jobs, random::bytes()),
    };
    let rendered = all_rendered(rendered)?;
    let objects = rendered.values().flat_map(|rendered| rendered.crds.iter().chain(&rendered.objects));
    let arriving = rights::of_definitions(objects);
    let kinds = |gvk: &GroupVersionKind| -> Option<KindName> {
        match &cluster {
            Some(cluster) => preflight::name_of(gvk, &arriving, &cluster.discovery),
            None => rights::built_in(gvk).or_else(|| preflight::arrives(gvk, &arriving)),
        }
    };
    let mut hooks = BTreeMap::new();
    for release in &releases {
        let found = app_hooks::manifests(session, &loaded, release).await.map_err(|why| {
            Failure::new(FailureClass::Failed, format!("what release {} takes is not known", release.key))
                .cause(why)
        })?;
        hooks.insert(&release.key, found);
    }
    let of_file: Vec<FileRelease<'_>> = releases
        .iter()
        .filter_map(|release| {
            let rendered = rendered.get(&release.key)?;
            let Rendered { objects, crds, hooks: chart_hooks, .. } = rendered;
            let file_hooks = hooks.get(&release.key)?;
            Some(FileRelease { release, objects, crds, hooks: chart_hooks, file_hooks })
        })
        .collect();
    let used: BTreeSet<String> = releases.iter().map(|release| release.key.namespace.clone()).collect();
    let makes = if options.cluster_wide { used.clone() } else { BTreeSet::new() };
    let mut rights = rights::of_file(state, &of_file, &makes, preflight::locked(state), &kinds);
    if let Some(namespace) = locking::namespace(state).filter(|_| state.settings.run_history > 0) {
        rights.keeps_runs(namespace);
    }
    for (resource, namespace, name) in remote_secrets::objects(releases.iter().copied()) {
        rights.reads(resource, &namespace, &name);
    }
    if let Some(cluster) = &cluster {
        // What the next run does besides: objects and releases that left the file.
        match session.planned_on(&loaded, cluster, Operation::Reconcile).await {
            Ok(plan) => rights.join(rights::of_plan(&plan, preflight::locked_for(&plan, state), &kinds)),
            Err(failure) => {
                ui::message(&format!("note: what is to be removed is not known: {}", failure.message));
            }
        }
    }
    known(&rights, options.ask_server)?;
    let rights = if options.cluster_wide { rights.everywhere() } else { rights };
    let first = used.first().map_or("default", String::as_str);
    let subject = options.subject.clone().unwrap_or_else(|| Subject::account(first, "statectl"));
    let roles = Roles {
        // The name of the lock is a name that objects may have, and no other context's.
        name: Name::context(first, &state.context).object,
        context: state.context.clone(),
        subject,
        sets: rights.rules(),
        namespaces: if options.cluster_wide { BTreeSet::new() } else { used },
    };
    outputs.write(|_| report::rbac_yaml(&roles), || report::rbac_json(&roles))?;
    Ok(Ending::default())
}

fn all_rendered(
    rendered: BTreeMap<ReleaseKey, Result<Rendered, Reason>>,
) -> Result<BTreeMap<ReleaseKey, Rendered>, Failure> {
    let mut done = BTreeMap::new();
    let mut failure: Option<Failure> = None;
    for (key, rendered) in rendered {
        match rendered {
            Ok(rendered) => drop(done.insert(key, rendered)),
            Err(reason) => {
                let all = failure.unwrap_or_else(|| {
                    Failure::new(FailureClass::Failed, "what the file takes is not known")
                });
                failure = Some(all.cause(format!("release {key}: {reason}")));
            }
        }
    }
    failure.map_or(Ok(done), Err)
}

/// Every kind has to be known: a role that lacks one would not be what the file takes.
fn known(rights: &Rights, asked: bool) -> Result<(), Failure> {
    if rights.unknown.is_empty() {
        return Ok(());
    }
    let kinds: Vec<String> = rights.unknown.iter().map(ToString::to_string).collect();
    let message = format!("the resources of these kinds are not known: {}", kinds.join(", "));
    let hint = if asked {
        "the server does not know them either: install their CustomResourceDefinitions first"
    } else {
        "they are none of Kubernetes itself, and no chart of the file brings their definition: `--ask-server` asks the \
         cluster"
    };
    Err(Failure::new(FailureClass::Failed, message).hint(hint))
}
