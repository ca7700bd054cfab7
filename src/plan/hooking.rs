//! Hooks whose object is one of the release itself.
//!
//! Helm deletes whatever has the name of a hook before it creates the hook (`pkg/action/hooks.go`). An object that left
//! the manifest and became a hook goes that way too, as the plan shows. One that is still in the manifest would be taken
//! from the release by its own hook: that is refused.

use super::guard;
use super::input::ObservedObject;
use super::judge::Judged;
use super::reason::Reason;
use super::steps::{Delete, DeployKind};
use super::{HookPlan, ObjectAction};
use crate::history::Hook;
use crate::manifest::{Document, Head};
use crate::model::{ObjectKey, ReleaseKey, split_api_version};

/// A hook that runs with the new revision.
struct Runs<'a> {
    hook: &'a Hook,
    event: &'a str,
    head: Head,
}

/// The hooks that run with a new revision.
pub(super) struct Hooking<'a> {
    runs: Vec<Runs<'a>>,
    release: &'a ReleaseKey,
}

impl<'a> Hooking<'a> {
    pub(super) fn new(hooks: &'a [Hook], kind: DeployKind, run: bool, release: &'a ReleaseKey) -> Self {
        let events = kind.events();
        let runs = hooks.iter().filter(|_| run).filter_map(|hook| {
            let event = hook.events.iter().find(|event| events.contains(&event.as_str()))?;
            Some(Runs { hook, event, head: Document::parse(&hook.manifest).ok()?.head })
        });
        Self { runs: runs.collect(), release }
    }

    fn of(&self, key: &ObjectKey) -> Option<&Runs<'a>> {
        self.runs.iter().find(|runs| {
            let head = &runs.head;
            let space = if head.namespace.is_empty() { &self.release.namespace } else { &head.namespace };
            split_api_version(&head.api_version).0 == key.gvk.group
                && head.kind == key.gvk.kind
                && head.name == key.name
                && key.namespace.as_ref().is_none_or(|namespace| namespace == space)
        })
    }

    /// Returns a reason for each object of the release that one of its hooks would take.
    pub(super) fn refusals(&self, objects: &[ObservedObject]) -> Vec<Reason> {
        let refusal = |object: &ObservedObject| {
            let runs = self.of(&object.key)?;
            // A hook that is gone before the object is created does not meet it.
            let passes = runs.event.starts_with("pre-")
                && object.live.is_none()
                && runs.hook.delete_policies.iter().any(|policy| policy == "hook-succeeded");
            let reason = || Reason::HookMeets { object: object.key.clone(), event: runs.event.to_owned() };
            (!passes).then(reason)
        };
        objects.iter().filter_map(refusal).collect()
    }

    /// Hands an object that left the manifest over to the hook that it became; what holds data stays as it is, and the
    /// hook changes it.
    pub(super) fn hand_over(&self, judged: Judged) -> (Judged, Option<Delete>) {
        let Some(runs) = self.of(&judged.plan.key) else { return (judged, None) };
        let mut judged = judged;
        let delete = judged.delete.take();
        let kept = judged.plan.reasons.iter().any(|reason| matches!(reason, Reason::DataKept(_)));
        if delete.is_none() && !kept {
            return (judged, None);
        }
        let (object, event) = (judged.plan.key.clone(), runs.event.to_owned());
        let delete = delete.filter(|delete| delete.permit.is_none() && !guard::holds_data(&delete.key));
        let stays = delete.is_none();
        if stays {
            judged.plan.action = ObjectAction::Keep;
        }
        judged.plan.reasons = vec![Reason::BecomesHook { object, event, stays }];
        (judged, delete)
    }
}

/// Returns the hooks that run at these events.
pub(super) fn shown(all: &[Hook], events: &[&str]) -> Vec<HookPlan> {
    let mut plans = Vec::new();
    for event in events {
        let runs = all.iter().filter(|hook| hook.events.iter().any(|name| name == *event));
        plans.extend(runs.map(|hook| HookPlan {
            event: (*event).to_owned(),
            kind: hook.kind.clone(),
            name: hook.name.clone(),
            file: None,
        }));
    }
    plans
}
