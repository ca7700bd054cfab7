//! What has to be read, besides the object, to settle whose field is whose, and the dry run of a change of owners.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use tokio::sync::Mutex;

use crate::cluster::{ApiError, Discovery, ListOptions, Reader, Resource};
use crate::diff::{self, Former, Operation, Verdict};
use crate::model::{FIELD_MANAGER, GroupVersionKind, ObjectKey};
use crate::plan::{self, FieldRules, ServerAnswer, Settled};

/// Kind and name of each object that an autoscaler of a namespace scales.
type Scaled = BTreeSet<(String, String)>;

/// The autoscalers of the cluster, listed for a namespace when the first question comes.
pub struct Scalers {
    resource: Option<Resource>,
    by_namespace: Mutex<BTreeMap<String, Scaled>>,
    forbidden: Mutex<BTreeSet<String>>,
}

impl Scalers {
    /// Returns the autoscalers of a cluster; none is read yet.
    pub fn new(discovery: &Discovery) -> Self {
        let kinds = ["autoscaling/v2", "autoscaling/v1"];
        let mut kinds = kinds.iter().map(|version| GroupVersionKind::new(version, "HorizontalPodAutoscaler"));
        let resource = kinds.find_map(|gvk| discovery.resource(&gvk).ok().cloned());
        Self { resource, by_namespace: Mutex::default(), forbidden: Mutex::default() }
    }

    /// Returns a note for each namespace whose autoscalers were asked for and may not be listed.
    pub async fn notes(&self) -> Vec<String> {
        let note = |namespace: &String| {
            format!(
                "the HorizontalPodAutoscalers of namespace {namespace} may not be listed: a number of replicas is left to \
                 one of them only if it wrote it already"
            )
        };
        self.forbidden.lock().await.iter().map(note).collect()
    }

    /// Tells whether an autoscaler scales the object. A user who may not list them is answered with no: the fields
    /// still tell who wrote the number, and the plan says so.
    ///
    /// # Errors
    /// They could not be listed for another reason.
    async fn scale(&self, reader: &Reader, key: &ObjectKey) -> Result<bool, ApiError> {
        let (Some(resource), Some(namespace)) = (&self.resource, &key.namespace) else { return Ok(false) };
        let mut known = self.by_namespace.lock().await;
        if !known.contains_key(namespace) {
            let listed = reader.list(resource, Some(namespace), &ListOptions::default()).await;
            let objects = match listed {
                Ok(objects) => objects,
                Err(error) if error.is_status(403) => {
                    self.forbidden.lock().await.insert(namespace.clone());
                    Vec::new()
                }
                Err(error) => return Err(error),
            };
            let targets = objects.into_iter().filter_map(|mut object| {
                // Items of a LIST come without their kind.
                object["kind"] = Json::from("HorizontalPodAutoscaler");
                plan::scale_target(&object).map(|(_, kind, name)| (kind, name))
            });
            known.insert(namespace.clone(), targets.collect());
        }
        let target = (key.gvk.kind.clone(), key.name.clone());
        Ok(known.get(namespace).is_some_and(|scaled| scaled.contains(&target)))
    }
}

/// Settles the fields of an object; `body` becomes what is to be applied.
pub(super) async fn settle(
    reader: &Reader,
    scalers: &Scalers,
    key: &ObjectKey,
    body: &mut Json,
    live: Option<&Json>,
    rules: &FieldRules,
) -> Result<Settled, ApiError> {
    let autoscaled = match live {
        Some(live) if rules.asks_for_autoscaler(key, body, live) => scalers.scale(reader, key).await?,
        _ => false,
    };
    Ok(plan::settle(key, body, live, rules, autoscaled))
}

/// Asks what becomes of an object whose fields change their owner first: what only the former owner had, and nobody
/// sends, goes then. Where that cannot be asked, the answer to the plain dry run stands.
pub(super) async fn simulate(
    reader: &Reader,
    resource: &Resource,
    key: &ObjectKey,
    body: &Json,
    live: &Json,
    settled: &mut Settled,
    answer: &mut ServerAnswer,
) {
    let is_version = matches!(&answer, ServerAnswer::Refused { verdict: Verdict::TypedMerge { message } }
        if message.contains("request to convert CR"));
    if is_version {
        // Our entry is of a version that the definition no longer has.
        settled.from.push(Former { manager: FIELD_MANAGER.to_owned(), operation: Operation::Apply });
    }
    let worth_asking = match answer {
        ServerAnswer::Accepted { .. } => true,
        // A field that only the former owner had may be what is in the way.
        ServerAnswer::Refused { verdict } => {
            matches!(
                verdict,
                Verdict::Leftover { .. }
                    | Verdict::Invalid { .. }
                    | Verdict::Unclear { .. }
                    | Verdict::Immutable { .. }
            ) || is_version
        }
        ServerAnswer::Unasked { .. } | ServerAnswer::Later { .. } | ServerAnswer::Unknown { .. } => false,
    };
    if !worth_asking || diff::fold_updates(live, FIELD_MANAGER, &settled.from).is_none() {
        return;
    }
    let after = diff::after_fold(live, body, FIELD_MANAGER, &settled.from);
    let asked = reader.dry_run_replace(resource, key.namespace.as_deref(), &key.name, &after).await;
    let Ok(replaced) = asked else { return };
    let mut warnings = match answer {
        ServerAnswer::Accepted { warnings, .. } => std::mem::take(warnings),
        _ => Vec::new(),
    };
    warnings.extend(replaced.warnings);
    warnings.sort();
    warnings.dedup();
    *answer = ServerAnswer::Accepted { result: replaced.body, warnings };
    settled.is_simulated = true;
}
