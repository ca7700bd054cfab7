//! Looks at all releases of a run at once: one list for each kind and namespace serves them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::arrivals::Arrivals;
use super::cluster::Cluster;
use super::content::{self, Rendered};
use crate::dsf::state::{DesiredState, Release};
use crate::history::{History, Status};
use crate::model::{GroupVersionKind, ReleaseKey};
use crate::observe::{self, Histories, Recorded, Scalers, Target, Unread, Verify};
use crate::plan::{self, Content, FieldRules, ObservedObject, Reason, Remnant, ServerAnswer, Wanted};

/// What the looks at the releases of a run share.
pub(super) struct Observer<'a> {
    pub(super) cluster: &'a Cluster,
    /// Namespaces of the file that do not exist yet.
    pub(super) missing: &'a BTreeSet<String>,
    pub(super) arrivals: &'a Arrivals,
    pub(super) verify: Verify,
    pub(super) scalers: &'a Scalers,
}

/// A release whose objects are still to be looked at: how many of the targets are its own.
struct Draft {
    rendered: Rendered,
    objects: usize,
    crds: usize,
}

impl Observer<'_> {
    /// Returns what the cluster holds of each release of the file, in their order.
    pub(super) async fn wanted(
        &self,
        state: &DesiredState,
        releases: &[&Release],
        histories: &mut Histories,
        rendered: &mut BTreeMap<ReleaseKey, Result<Rendered, Reason>>,
    ) -> Vec<Wanted> {
        let mut targets = Vec::new();
        let mut drafts = Vec::new();
        for release in releases {
            let rendered = rendered.remove(&release.key);
            let history = histories.get(&release.key);
            drafts.push(rendered.map(|rendered| {
                let rendered = rendered?;
                let rules = rules(&state.context, release, history, &rendered);
                self.draft(&release.key, rendered, &rules, &mut targets)
            }));
        }
        let (reader, discovery) = (&self.cluster.reader, &self.cluster.discovery);
        let seen = observe::objects(reader, discovery, self.scalers, targets, self.verify).await;
        let mut seen = observe::look_around(reader, discovery, seen).await.into_iter();

        let mut wanted = Vec::new();
        let mut recorded = Vec::new();
        let mut doubtful = Vec::new();
        for (release, draft) in releases.iter().zip(drafts) {
            doubtful.push(matches!(&draft, Some(Ok(draft)) if draft.rendered.asks_for_apis));
            let content = draft.map(|draft| self.content(draft?, &mut seen));
            let history = histories.take(&release.key).map_err(|message| Reason::Unreadable {
                what: format!("the records of namespace {}", release.key.namespace),
                message,
            });
            let kept = match &content {
                Some(Ok(content)) => Kept { objects: &content.objects, manifest: Some(&content.manifest) },
                _ => Kept::default(),
            };
            recorded.push(match (&history, &content) {
                (Ok(history), None | Some(Ok(_))) => {
                    recorded_objects(self.cluster, &release.key, history, &kept)
                }
                _ => Vec::new(),
            });
            wanted.push(Wanted {
                release: (*release).clone(),
                protected_by: protected_by(state, release),
                history,
                content,
                remnants: Ok(Vec::new()),
                moved_from: None,
            });
        }
        let remnants = remnants(self.cluster, recorded).await;
        for ((wanted, remnants), doubtful) in wanted.iter_mut().zip(remnants).zip(doubtful) {
            wanted.remnants = if doubtful { self.certain(remnants) } else { remnants };
        }
        wanted
    }

    /// A chart that asks which APIs there are may render less while one of them does not answer. What it no longer
    /// renders is then no proof that the object is to go.
    fn certain(&self, remnants: Result<Vec<Remnant>, Reason>) -> Result<Vec<Remnant>, Reason> {
        let silent = self.cluster.discovery.stale();
        let remnants = remnants?;
        let Some(gone) = remnants.iter().find(|remnant| remnant.live.is_some()) else { return Ok(remnants) };
        if silent.is_empty() {
            return Ok(remnants);
        }
        let message = format!(
            "it does not answer at present, and the chart, which no longer renders {}, asks which APIs there are",
            gone.key
        );
        Err(Reason::Unreadable { what: format!("API {}", silent.join(", ")), message })
    }

    /// Adds what a release wants to the targets: its objects, then its definitions.
    fn draft(
        &self,
        release: &ReleaseKey,
        mut rendered: Rendered,
        rules: &Arc<FieldRules>,
        targets: &mut Vec<Target>,
    ) -> Result<Draft, Reason> {
        let (mut objects, crds) = (std::mem::take(&mut rendered.objects), std::mem::take(&mut rendered.crds));
        if rules.restarts_on_config() {
            plan::add_digests(&mut objects);
        }
        let counts = (objects.len(), crds.len());
        let marked = objects.into_iter().map(|body| (body, true));
        let all = marked.chain(crds.into_iter().map(|body| (body, false)));
        let target = |(at, (body, marked)): (usize, (serde_json::Value, bool))| {
            self.target(release, body, marked, rules).map_err(|why| {
                let file = rendered.place(at).filter(|_| marked).map(|place| format!("{}: ", place.file));
                Reason::NotRendered { message: format!("{}{why}", file.unwrap_or_default()) }
            })
        };
        let own: Vec<Target> = all.enumerate().map(target).collect::<Result<_, _>>()?;
        targets.extend(own);
        Ok(Draft { rendered, objects: counts.0, crds: counts.1 })
    }

    fn content(
        &self,
        draft: Draft,
        seen: &mut impl Iterator<Item = Result<ObservedObject, Unread>>,
    ) -> Result<Content, Reason> {
        let Draft { rendered, objects, crds } = draft;
        // All of them are taken before any error ends this: the next release's come after.
        let objects: Vec<_> = seen.by_ref().take(objects).collect();
        let crds: Vec<_> = seen.by_ref().take(crds).collect();
        let objects = objects.into_iter().enumerate().map(|(at, object)| {
            let mut object = self.arrivals.wait_for(object?);
            if matches!(object.answer, ServerAnswer::Refused { .. }) {
                object.around.place = rendered.place(at);
            }
            Ok(object)
        });
        let objects = objects.collect::<Result<_, _>>().map_err(unreadable)?;
        Ok(Content {
            back_to: rendered.back_to,
            chart: rendered.chart,
            config: rendered.config,
            manifest: rendered.manifest,
            notes: rendered.notes,
            hooks: rendered.hooks,
            objects,
            crds: crds.into_iter().collect::<Result<_, _>>().map_err(unreadable)?,
        })
    }

    fn target(
        &self,
        release: &ReleaseKey,
        body: serde_json::Value,
        marked: bool,
        rules: &Arc<FieldRules>,
    ) -> Result<Target, String> {
        let namespaced = |gvk: &GroupVersionKind| match self.cluster.discovery.resource(gvk) {
            Ok(resource) => resource.namespaced,
            // A kind that is still to come: its definition tells.
            Err(_) => self.arrivals.is_namespaced(gvk),
        };
        let Some(key) = plan::body::key_of(&body, namespaced, &release.namespace) else {
            return Err(plan::body::nameless(&body));
        };
        let known = self.cluster.discovery.resource(&key.gvk).is_ok();
        let kind_arrives = self.arrivals.has_kind(&key.gvk);
        let arrives = if !known && !kind_arrives {
            // Whatever else arrives, the server would refuse it, or its API does not answer.
            None
        } else if key.namespace.as_ref().is_some_and(|namespace| self.missing.contains(namespace)) {
            key.namespace.as_ref().map(|namespace| format!("namespace {namespace}"))
        } else {
            (!known && kind_arrives).then(|| format!("the CustomResourceDefinition of {}", key.gvk.kind))
        };
        let body = if marked { plan::body::stamped(body, release) } else { plan::body::applicable(body) };
        Ok(Target { key, body, arrives, rules: Arc::clone(rules) })
    }
}

/// Returns what a release says about the fields of its objects. Without records nothing is taken over that a first
/// revision could not take over.
fn rules(
    context: &str,
    release: &Release,
    history: Option<&History>,
    rendered: &Rendered,
) -> Arc<FieldRules> {
    let none = History::new(release.key.clone());
    let adoption = plan::adoption(context, release, history.unwrap_or(&none));
    let rules = FieldRules::new(release, adoption.allowed, adoption.takes_over);
    Arc::new(rules.with_autoscalers(&rendered.objects))
}

fn protected_by(state: &DesiredState, release: &Release) -> Option<String> {
    if release.protected {
        return Some(format!("app `{}`", release.app));
    }
    state.is_protected(release).then(|| format!("namespace `{}`", release.key.namespace))
}

/// Objects that stay, whatever the records say.
#[derive(Default)]
pub(super) struct Kept<'a> {
    pub(super) objects: &'a [ObservedObject],
    /// The manifest that these are the objects of, if it is of the same release: a record with the same text names no
    /// other.
    pub(super) manifest: Option<&'a str>,
}

/// Returns the objects that a release's records name: all of them, or those that are not `kept`.
///
/// A failed revision can have made objects that no deployed one names: every revision since the last good one
/// counts.
pub(super) fn recorded_objects(
    cluster: &Cluster,
    key: &ReleaseKey,
    history: &History,
    kept: &Kept<'_>,
) -> Vec<Recorded> {
    let Some(latest) = history.latest().filter(|latest| latest.release.info.status != Status::Uninstalled)
    else {
        return Vec::new();
    };
    let good = history.baseline().map_or(latest.release.version, |record| record.release.version);
    // Failed ones right before the good one count too: a rollback, and Helm's next upgrade, leave what they made.
    let failed = history.records().iter().rev().skip_while(|record| record.release.version >= good);
    let failed = failed.take_while(|record| record.release.info.status == Status::Failed);
    let base = failed.last().map_or(good, |record| record.release.version);
    let mut objects: Vec<Recorded> = Vec::new();
    // The newest first: what it says about `keep` counts.
    let records = history.records().iter().rev().filter(|record| record.release.version >= base);
    for record in records.filter(|record| kept.manifest != Some(record.release.manifest.as_str())) {
        for object in plan::body::stored_objects(&record.release.manifest) {
            let served = |gvk: &GroupVersionKind| cluster.discovery.in_any_version(gvk).ok();
            let namespaced = |gvk: &GroupVersionKind| served(gvk).is_some_and(|resource| resource.namespaced);
            let Some(mut found) = plan::body::key_of(&object, namespaced, &key.namespace) else { continue };
            if let Some(resource) = served(&found.gvk) {
                found.gvk = resource.gvk.clone();
            }
            let known = objects.iter().any(|(other, _)| other.same_object(&found));
            if !known && !kept.objects.iter().any(|object| object.key.same_object(&found)) {
                objects.push((found, content::says_keep(&object)));
            }
        }
    }
    objects
}

/// Returns what is left of the recorded objects of each release.
pub(super) async fn remnants(
    cluster: &Cluster,
    recorded: Vec<Vec<Recorded>>,
) -> Vec<Result<Vec<Remnant>, Reason>> {
    let found = observe::remnants(&cluster.reader, &cluster.discovery, recorded).await;
    found.into_iter().map(|remnants| remnants.map_err(unreadable)).collect()
}

fn unreadable((key, error): Unread) -> Reason {
    Reason::Unreadable { what: key.to_string(), message: error.to_string() }
}

/// Returns the existing namespaces in which something comes that a quota may count.
pub(super) fn quota_namespaces(wanted: &[Wanted], missing: &BTreeSet<String>) -> BTreeSet<String> {
    let contents = wanted.iter().filter_map(|wanted| wanted.content.as_ref()?.as_ref().ok());
    let comes = |object: &&ObservedObject| match &object.answer {
        ServerAnswer::Accepted { .. } | ServerAnswer::Later { .. } => {
            object.live.is_none()
                || matches!(object.key.gvk.kind.as_str(), "PersistentVolumeClaim" | "Service" | "Pod")
        }
        ServerAnswer::Unasked { .. } | ServerAnswer::Refused { .. } | ServerAnswer::Unknown { .. } => false,
    };
    let namespaces = contents.flat_map(|content| content.objects.iter().filter(comes));
    let namespaces = namespaces.filter_map(|object| object.key.namespace.clone());
    namespaces.filter(|namespace| !missing.contains(namespace)).collect()
}
