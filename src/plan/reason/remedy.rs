//! The way past each reason, where there is one.

use super::Reason;
use crate::model::ObjectKey;

impl Reason {
    /// Returns the line or command that gets past this reason, where there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Reason::Immutable { app: Some(app), stays: true, .. } => Some(format!(
                "to re-create it around its pods and claims, write `force = [\"replace\"]` in [apps.{app}]"
            )),
            Reason::Immutable { app: Some(app), object, field, .. } => {
                let force = format!("write `force = [\"replace\"]` in [apps.{app}]");
                Some(match leave_out(object, field) {
                    Some(field) => format!("leave {field} out, the server fills it in; or to delete and re-create it, {force}"),
                    None => format!("to delete and re-create it, {force}"),
                })
            }
            Reason::NobodysRelease { app, .. } => {
                Some(format!("to take it over, `statectl adopt`, or `adopt = \"unowned\"` in [apps.{app}]"))
            }
            Reason::BackingOff { .. } => Some("add `--retry` to try at once".to_owned()),
            Reason::OlderCommit { .. } => Some(
                "run the pipeline of the newer commit; to go back on purpose, revert in the repository, or add `--allow-older`"
                    .to_owned(),
            ),
            Reason::BeyondPolicy { .. } => {
                Some("`statectl apply`, or `--only all`, does it after somebody has looked".to_owned())
            }
            Reason::RolledBack { held: true, app, .. } => Some(format!(
                "change the chart or the values of [apps.{app}]; or add `--retry` to roll it out once more"
            )),
            Reason::Held { app, .. } => Some(format!(
                "change the chart or the values of [apps.{app}], or add `--retry`; `helm history` tells why it failed"
            )),
            Reason::PendingSkipped { .. } => {
                Some("without `skipPendingApps` what was interrupted is finished".to_owned())
            }
            Reason::ExecNotAllowed { .. } => {
                Some("if you trust the file and what it names, add `--allow-exec`".to_owned())
            }
            Reason::Interrupted(found) => found.remedy(),
            Reason::RecordUnreadable { record, .. } => {
                Some(format!("look at the Secret {record}; once it is repaired or removed, plan again"))
            }
            Reason::OtherContext { owner, .. } => {
                let other = format!("or manage it in the file whose context is `{owner}`");
                Some(format!("remove the app here, {other}; `statectl adopt --from-context {owner}` takes it over"))
            }
            Reason::NotOurs { owner, .. } if owner == "no release" => Some(
                "to take it over, write `adopt = \"unowned\"` in the app; else rename the object, or remove it".to_owned(),
            ),
            Reason::Flapping { field, manager, app, .. } => Some(format!(
                "find out what writes it; or write `fieldConflicts = [{{ path = {}, manager = {}, action = \"keep\" }}]` in \
                 [apps.{app}]; `take` goes on for ever",
                quoted(field),
                quoted(manager.split(' ').next().unwrap_or_default())
            )),
            Reason::FieldConflict { field, manager, app, .. } => Some(format!(
                "to take the field, write `fieldConflicts = [{{ path = {}, manager = {}, action = \"take\" }}]` in \
                 [apps.{app}]; `keep` leaves it to that manager",
                quoted(field),
                quoted(manager.split(' ').next().unwrap_or_default())
            )),
            Reason::StaleConfig { app, .. } => {
                Some(format!("`restartOnConfig = true` in [apps.{app}] restarts them"))
            }
            Reason::AdoptionSpent { object, release, .. } => {
                let space = object.namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
                let what = format!("{} {}{space}", object.gvk.kind.to_lowercase(), object.name);
                Some(format!(
                    "rename it, or mark it for this release: `kubectl label {what} app.kubernetes.io/managed-by=Helm` \
                     and `kubectl annotate {what} meta.helm.sh/release-name={} meta.helm.sh/release-namespace={}`",
                    release.name, release.namespace
                ))
            }
            Reason::NotOurs { .. } => Some(
                "rename the object, or remove it where it is managed now; to take it over as it is, write `adopt = \"any\"` in \
                 the app"
                    .to_owned(),
            ),
            Reason::BeingDeleted { .. } => {
                Some("plan again when it is gone; `kubectl get -o yaml` shows the finalizers that hold it".to_owned())
            }
            Reason::AppliedTwice { .. } => Some("let one release have it, or give it another name".to_owned()),
            Reason::DefinitionNarrows { object, app: Some(app), .. } => Some(format!(
                "if that is meant, write `allowDataLoss = [\"{}\"]` in [apps.{app}]",
                object.short()
            )),
            Reason::DataWouldGo(risk) | Reason::DataKept(risk) => risk.remedy(),
            Reason::NoEffect { .. } => {
                Some("undo the change, or give the object another name".to_owned())
            }
            Reason::TooManyRemovals { .. } => {
                Some("if they are all meant to go, add `--allow-prune`".to_owned())
            }
            Reason::MoveDeletes { app, .. } => Some(format!(
                "keep the names of the objects (many charts: `fullnameOverride`), or write `force = [\"move\"]` in [apps.{app}]"
            )),
            Reason::LooksLikeMove { from, to, .. } => Some(format!(
                "if it was renamed, write [[moved]] with `from = \"{from}\"` and `to = \"{to}\"`; if not, add `--really-new`"
            )),
            Reason::HoldsUnselected { .. } => {
                Some("run without `--target`, `--group` and `-l`, so that all of it is seen".to_owned())
            }
            Reason::HookMeets { .. } => Some("give the hook's object another name in the chart".to_owned()),
            Reason::AsksOnRemove { release } => Some(format!(
                "to uninstall {release}, put its entry back with `enabled = false`; to keep it, put it back as it was"
            )),
            _ => None,
        }
    }
}

/// Returns the field if it is one that a manifest need not set, because the server fills it in.
fn leave_out<'a>(object: &ObjectKey, field: &'a str) -> Option<&'a str> {
    let filled = match object.gvk.kind.as_str() {
        "Service" => ["spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies"]
            .iter()
            .any(|name| field.starts_with(name)),
        _ => false,
    };
    filled.then_some(field)
}

/// Returns a text as TOML writes it, in single quotes where it holds double ones.
fn quoted(text: &str) -> String {
    if text.contains('"') && !text.contains('\'') { format!("'{text}'") } else { format!("{text:?}") }
}
