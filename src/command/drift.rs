//! `statectl drift`: what was changed in the cluster since the last revision. Writes nothing, and renders no chart.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cluster::Cluster;
use super::output::Outputs;
use super::{Console, Ending, Session};
use crate::diff::Masker;
use crate::dsf::state::{Adopt, Release};
use crate::failure::Failure;
use crate::history::{Record, Status};
use crate::host::random;
use crate::model::GroupVersionKind;
use crate::observe::{self, Scalers, Target, Verify};
use crate::plan::{self, Drift, FieldRules, ReleaseDrift};
use crate::report;
use crate::ui::{self, Style};

/// Compares each release of the file with its record, and shows what differs.
pub async fn run(
    session: &Session,
    console: Console,
    outputs: &Outputs,
    strict: bool,
) -> Result<Ending, Failure> {
    let drift = session.until_stopped(look(session, strict)).await?;
    let text = |terminal: bool| {
        let style = if terminal { console.out } else { Style::plain(console.out.width) };
        ui::drift_view::render(&drift, style)
    };
    outputs.write(text, || report::drift_json(&drift))?;
    let failed = drift.releases.iter().any(ReleaseDrift::is_unknown);
    Ok(Ending { changes: drift.is_drift(), failed, ..Ending::default() })
}

async fn look(session: &Session, strict: bool) -> Result<Drift, Failure> {
    let loaded = session.load()?;
    let cluster = session.open(&loaded.state).await?;
    let selected = loaded.state.releases.iter().filter(|release| loaded.selected.contains(&release.key));
    let selected: Vec<&Release> = selected.filter(|release| release.enabled).collect();
    let namespaces: BTreeSet<String> = selected.iter().map(|release| release.key.namespace.clone()).collect();
    let mut histories = observe::histories(&cluster.reader, namespaces).await;
    let mut releases = Vec::new();
    let mut targets = Vec::new();
    for release in selected {
        let mut found = ReleaseDrift::new(release.key.clone(), release.app.clone());
        match histories.take(&release.key) {
            Err(message) => found.problem = Some(message),
            Ok(history) => {
                found.newest = history.latest().map(|latest| latest.release.version);
                let gone =
                    history.latest().is_none_or(|latest| latest.release.info.status == Status::Uninstalled);
                if let Some(record) = history.baseline().filter(|_| !gone) {
                    found.revision = Some(record.release.version);
                    let own = recorded(&cluster, release, record);
                    found.count = own.len();
                    targets.extend(own);
                }
            }
        }
        releases.push((release, found));
    }
    let (reader, discovery) = (&cluster.reader, &cluster.discovery);
    let scalers = Scalers::new(discovery);
    let mut seen = observe::objects(reader, discovery, &scalers, targets, Verify::Unproven).await.into_iter();
    let salt = random::bytes::<16>();
    let mut drift = Drift {
        cluster: cluster.identity.clone(),
        context: loaded.state.context.clone(),
        strict,
        releases: Vec::new(),
    };
    for (release, mut found) in releases {
        let rules = rules(release);
        for object in seen.by_ref().take(found.count) {
            match object {
                Ok(object) => found.objects.push(plan::drift_of(&object, &rules, Masker::new(&salt))),
                Err((key, error)) => {
                    found.problem.get_or_insert_with(|| format!("{key} cannot be read: {error}"));
                }
            }
        }
        drift.releases.push(found);
    }
    Ok(drift)
}

/// Nothing is taken over by looking.
fn rules(release: &Release) -> FieldRules {
    FieldRules::new(release, Adopt::Never, false).listing_extras()
}

/// Returns the objects of a recorded manifest, with the marks of its release.
fn recorded(cluster: &Cluster, release: &Release, record: &Record) -> Vec<Target> {
    let mut objects = plan::body::stored_objects(&record.release.manifest);
    if release.restart_on_config {
        plan::add_digests(&mut objects);
    }
    let rules = Arc::new(rules(release).with_autoscalers(&objects));
    let served = |gvk: &GroupVersionKind| cluster.discovery.in_any_version(gvk).ok();
    let namespaced = |gvk: &GroupVersionKind| served(gvk).is_some_and(|resource| resource.namespaced);
    objects
        .into_iter()
        .filter_map(|mut object| {
            let mut key = plan::body::key_of(&object, namespaced, &release.key.namespace)?;
            // The version may be gone since, and the object is there in another one.
            if let Some(resource) = served(&key.gvk) {
                key.gvk = resource.gvk.clone();
                object["apiVersion"] = key.gvk.api_version().into();
            }
            let body = plan::body::stamped(object, &release.key);
            Some(Target { key, body, arrives: None, rules: Arc::clone(&rules) })
        })
        .collect()
}
