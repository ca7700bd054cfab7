//! Manifests of hooks of the file: read, and looked at, where the plan runs them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::cluster::Cluster;
use super::given::error_text;
use super::prepare::{Loaded, Session};
use crate::dsf::state::{AppHook, HookWork, ManifestSource, Release};
use crate::dsf::substituted_values;
use crate::failure::Failure;
use crate::fetch::http::{self, Access, Http};
use crate::go::encoding::hex_encode;
use crate::host::commands::ContextFile;
use crate::host::{files, random};
use crate::manifest::{self, Document, SplitRule};
use crate::model::{GroupVersionKind, ReleaseKey};
use crate::observe::{self, HookTarget};
use crate::plan::app_hooks::{self, HookStepWork, SeenObject};
use crate::plan::{self, Plan, PlanInput, Reason, Wanted};
use crate::value::Value;
use crate::value::json::{self, Escape};

/// Where `kubectl` looks for clusters.
const KUBECONFIG: &str = "KUBECONFIG";
/// The most that a manifest may hold: an object that is larger is refused by every server.
const MOST: usize = 4 << 20;

/// Looks at the manifests of the hooks that `plan` runs, and returns whether there was one: then it has to be planned
/// again.
pub(super) async fn look(
    session: &Session,
    loaded: &Loaded,
    cluster: &Cluster,
    input: &mut PlanInput,
    plan: &Plan,
) -> bool {
    let mut seen = Vec::new();
    for (wanted, hook) in app_hooks::unseen(input, plan) {
        let found = one(session, loaded, cluster, input, wanted, hook).await;
        seen.push(((wanted.release.key.clone(), hook.moment), found));
    }
    let any = !seen.is_empty();
    input.hooks.manifests.extend(seen);
    any
}

/// What programs of hooks run with.
pub(super) struct Programs {
    /// Their environment: that of the run, with what `.env` and `-e` say over it, as in Helmsman.
    pub(super) environment: BTreeMap<String, String>,
    /// What makes `kubectl` in them talk to the cluster of the run; it goes with this.
    _context: Option<ContextFile>,
}

impl Programs {
    /// Returns it for the programs that a plan runs.
    ///
    /// # Errors
    /// The file that names the cluster to `kubectl` cannot be written.
    pub(super) fn of(session: &Session, loaded: &Loaded, plan: &Plan) -> Result<Self, Failure> {
        let mut environment = loaded.values.secrets.variables().clone();
        if let Some(path) = &session.connect.kubeconfig {
            environment.insert(KUBECONFIG.to_owned(), path.display().to_string());
        }
        let mut steps = plan.releases.iter().flat_map(app_hooks::steps_of);
        let runs = steps.any(|step| matches!(step.work, HookStepWork::Command(_)));
        let mut file = None;
        if let Some(name) = plan.cluster.context.as_deref().filter(|_| runs) {
            let made = ContextFile::new(&environment, name, &hex_encode(&random::bytes::<8>()));
            let made = made.map_err(|error| {
                Failure::of("the file that names the cluster to hooks cannot be written", &error)
            })?;
            // Of several files kubectl takes the current context from the first that has one.
            let home = environment.get("HOME").map(|home| format!("{home}/.kube/config"));
            let rest = environment.get(KUBECONFIG).filter(|list| !list.is_empty()).cloned().or(home);
            let list: Vec<String> = std::iter::once(made.path()).chain(rest).collect();
            environment.insert(KUBECONFIG.to_owned(), list.join(":"));
            file = Some(made);
        }
        Ok(Self { environment, _context: file })
    }
}

async fn one(
    session: &Session,
    loaded: &Loaded,
    cluster: &Cluster,
    input: &PlanInput,
    wanted: &Wanted,
    hook: &AppHook,
) -> Result<Vec<SeenObject>, Reason> {
    let HookWork::Manifest { source, shown, .. } = &hook.work else { return Ok(Vec::new()) };
    let unreadable = |message: String| Reason::Unreadable {
        what: format!("the manifest {shown} of the hook {}", hook.key),
        message,
    };
    let text = text(session, source).await.map_err(unreadable)?;
    let objects = objects(&text, shown, loaded).map_err(unreadable)?;
    let release = &wanted.release.key;
    let is_new =
        |namespace: &str| input.namespaces.iter().any(|space| space.name == namespace && !space.exists);
    let coming = coming_kinds(wanted);
    let mut targets = Vec::new();
    for object in objects {
        let target = target(cluster, release, object, &coming, is_new).map_err(unreadable)?;
        targets.push(target);
    }
    let seen = observe::hook_objects(&cluster.reader, &cluster.discovery, release, targets).await;
    seen.map_err(|(key, error)| Reason::Unreadable { what: key.to_string(), message: error.to_string() })
}

/// Returns the objects of every hook of a release, whenever it runs.
///
/// # Errors
/// A manifest cannot be read.
pub(super) async fn manifests(
    session: &Session,
    loaded: &Loaded,
    release: &Release,
) -> Result<Vec<Json>, String> {
    let mut all = Vec::new();
    for hook in &release.hooks {
        let HookWork::Manifest { source, shown, .. } = &hook.work else { continue };
        let failed = |why: String| format!("the manifest {shown} of the hook {}: {why}", hook.key);
        let text = text(session, source).await.map_err(failed)?;
        all.extend(objects(&text, shown, loaded).map_err(failed)?);
    }
    Ok(all)
}

async fn text(session: &Session, source: &ManifestSource) -> Result<String, String> {
    let url = match source {
        ManifestSource::File(path) => {
            return files::read_text(path).map_err(|error| error_text(&error));
        }
        ManifestSource::Url(url) => url,
    };
    if session.files.fetching.offline {
        return Err("it would have to be downloaded, and `--offline` was said".to_owned());
    }
    let mut access = Access::default();
    let url = http::address(url, &mut access).map_err(|error| error_text(&error))?;
    let reply = Http::default().get(&url, &access, &[], MOST).await.map_err(|error| error_text(&error))?;
    if reply.status != 200 {
        return Err(format!("{} answers {}", http::shown(&url), reply.status));
    }
    String::from_utf8(reply.body).map_err(|_| "it is no text".to_owned())
}

/// The objects of a manifest; lists are taken apart. Variables are replaced where the same was asked for values files.
fn objects(text: &str, shown: &str, loaded: &Loaded) -> Result<Vec<Json>, String> {
    let mut out = Vec::new();
    for document in manifest::split(text, SplitRule::default()) {
        let document = match &loaded.values.environment {
            Some(environment) => {
                let replaced = substituted_values(shown, document, environment, loaded.values.recursive);
                let map = replaced.map_err(|problems| problems.join("; "))?;
                json::to_string(&Value::Map(map), Escape::Raw).map_err(|error| error_text(&error))?
            }
            None => document.to_owned(),
        };
        let object = Document::parse(&document).map_err(|error| error_text(&error))?.object;
        if object.get("sops").is_some() {
            return Err("it is encrypted with sops, which is read in `secretsFiles` only".to_owned());
        }
        out.extend(Some(object).filter(Json::is_object).into_iter().flat_map(manifest::flatten));
    }
    if out.is_empty() { Err("it holds no object".to_owned()) } else { Ok(out) }
}

/// The kinds that definitions of the release bring along.
fn coming_kinds(wanted: &Wanted) -> BTreeSet<(String, String)> {
    let content = wanted.content.as_ref().and_then(|content| content.as_ref().ok());
    let bodies = content.into_iter().flat_map(|content| content.objects.iter().chain(&content.crds));
    let definitions = bodies.filter(|object| object.key.gvk.kind == "CustomResourceDefinition");
    let kinds = definitions.filter_map(|object| {
        let spec = &object.body["spec"];
        Some((spec["group"].as_str()?.to_owned(), spec["names"]["kind"].as_str()?.to_owned()))
    });
    kinds.collect()
}

fn target(
    cluster: &Cluster,
    release: &ReleaseKey,
    object: Json,
    coming: &BTreeSet<(String, String)>,
    is_new: impl Fn(&str) -> bool,
) -> Result<HookTarget, String> {
    let namespaced =
        |gvk: &GroupVersionKind| cluster.discovery.resource(gvk).map_or(true, |resource| resource.namespaced);
    let Some(key) = plan::body::key_of(&object, namespaced, &release.namespace) else {
        return Err(plan::body::nameless(&object));
    };
    if let Some(namespace) = key.namespace.as_deref().filter(|namespace| *namespace != release.namespace) {
        return Err(format!(
            "{key} is in namespace {namespace}, and the hooks of a release are in its own, {}",
            release.namespace
        ));
    }
    let kind = (key.gvk.group.clone(), key.gvk.kind.clone());
    let arrives = key.namespace.as_deref().is_some_and(is_new)
        || (cluster.discovery.resource(&key.gvk).is_err() && coming.contains(&kind));
    let body = plan::body::applicable(object);
    Ok(HookTarget { key, body, arrives })
}
