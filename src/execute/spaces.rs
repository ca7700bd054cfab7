//! Makes namespaces and keeps their labels, LimitRange and ResourceQuota as the plan says.

use std::collections::BTreeMap;

use serde_json::json;

use super::error::StepError;
use super::send::{self, Sending};
use super::{Context, Event};
use crate::cluster::{ApplyOptions, Propagation, Resource, Writer};
use crate::model::{GroupVersionKind, NAMESPACE_MANAGER, ObjectKey};
use crate::plan::{LabelsRemoved, NamespacePlan, Plan, SpaceChange, SpaceKind, SpaceObjectPlan};

/// Creates the namespaces of a plan ahead of it, for what has to be there before the run. What goes wrong is told by the
/// run, which does the same.
pub async fn make_namespaces(plan: &Plan, writer: &Writer) {
    for namespace in plan.namespaces.iter().filter(|namespace| namespace.is_new) {
        let Some(body) = namespace.body.as_ref().filter(|_| namespace.refused.is_none()) else { continue };
        let options = ApplyOptions { force: true, manager: NAMESPACE_MANAGER };
        drop(writer.apply(&Resource::namespaces(), None, &namespace.name, body, options).await);
    }
}

/// Prepares every namespace of the plan; returns what went wrong, by name.
pub(super) async fn prepare(context: &Context<'_>, plan: &Plan) -> BTreeMap<String, StepError> {
    let mut problems = BTreeMap::new();
    for namespace in &plan.namespaces {
        match prepare_one(context, namespace).await {
            Ok(()) => context.emit(Event::NamespaceApplied { name: namespace.name.clone() }),
            Err(error) => drop(problems.insert(namespace.name.clone(), error)),
        }
    }
    problems
}

async fn prepare_one(context: &Context<'_>, namespace: &NamespacePlan) -> Result<(), StepError> {
    if let Some(why) = &namespace.refused {
        return Err(StepError::NotReady { what: format!("namespace {}", namespace.name), why: why.clone() });
    }
    if let Some(body) = &namespace.body {
        // What the file says of labels counts, whoever set them before: Helmsman overwrites them too.
        let options = ApplyOptions { force: true, manager: NAMESPACE_MANAGER };
        let gvk = GroupVersionKind::new("v1", "Namespace");
        let key = ObjectKey { gvk, namespace: None, name: namespace.name.clone() };
        let sending = Sending { resource: &Resource::namespaces(), key: &key, body, options };
        send::apply(context, None, &sending).await?;
    }
    if let Some(LabelsRemoved { uid, keys }) = &namespace.labels_removed {
        let mut patch = vec![json!({ "op": "test", "path": "/metadata/uid", "value": uid })];
        patch.extend(keys.iter().map(|key| {
            let step = key.replace('~', "~0").replace('/', "~1");
            json!({ "op": "remove", "path": format!("/metadata/labels/{step}") })
        }));
        let patch = serde_json::Value::Array(patch);
        context.writer.json_patch(&Resource::namespaces(), None, &namespace.name, &patch).await?;
    }
    for object in &namespace.objects {
        keep(context, &namespace.name, object).await?;
    }
    Ok(())
}

async fn keep(context: &Context<'_>, namespace: &str, object: &SpaceObjectPlan) -> Result<(), StepError> {
    let resource = match object.kind {
        SpaceKind::LimitRange => Resource::limit_ranges(),
        SpaceKind::ResourceQuota => Resource::quotas(),
    };
    let (space, name) = (Some(namespace), object.kind.name());
    match &object.change {
        SpaceChange::Create(body) => drop(context.writer.create(&resource, space, body).await?),
        SpaceChange::Replace(body) => drop(context.writer.replace(&resource, space, name, body).await?),
        SpaceChange::Delete { uid } => {
            context.writer.delete(&resource, space, name, uid, Propagation::Background).await?;
        }
    }
    Ok(())
}
