//! The sentence of each reason.

use std::fmt;

use super::{DataAtRisk, Reason};
use crate::model::FIELD_MANAGER;
use crate::plan::loss;
use crate::text::plural;

/// The beginning of a commit's id, as people know it.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unchanged { objects: 1 } => f.write_str("1 object is as desired"),
            Reason::Unchanged { objects } => write!(f, "all {objects} objects are as desired"),
            Reason::NotInstalled => f.write_str("not installed yet"),
            Reason::OnlyHistory { revision } => {
                write!(f, "uninstalled, only its history up to revision {revision} is kept")
            }
            Reason::Disabled => f.write_str("not to be there, and not installed"),
            Reason::DisabledInFile => f.write_str("`enabled = false` in the file"),
            Reason::LeftFile { context } => {
                write!(f, "belongs to context `{context}` and is no longer in the file")
            }
            Reason::DestroyAsked => f.write_str("destroy was asked for"),
            Reason::Protected { by, withheld } => write!(f, "{by} is protected; withheld: {withheld}"),
            Reason::ChartChanged { from, to } => write!(f, "chart changes from {from} to {to}"),
            Reason::VersionChanged { from, to } => write!(f, "chart version {from} becomes {to}"),
            Reason::ValuesChanged { keys } if keys.is_empty() => f.write_str("values change"),
            Reason::ValuesChanged { keys } => write!(f, "values change: {}", list(keys)),
            Reason::ManifestChanged { changed, added, removed } => {
                write!(f, "manifest changes: {changed} changed, {added} added, {removed} removed")
            }
            Reason::HooksChanged => f.write_str("hooks change"),
            Reason::LastFailed { revision, description } => {
                write!(f, "revision {revision} failed: {}", first_line(description))
            }
            Reason::ObjectMissing { object } => write!(f, "{object} is missing in the cluster"),
            Reason::Drifted { object, fields } => {
                write!(f, "{object} was changed in the cluster: {}", list(fields))
            }
            Reason::Proven { fields } => write!(
                f,
                "as desired: {} of the live object have the value that would be applied, and no other field is \
                 owned, so the server was not asked",
                plural(*fields, "field"),
            ),
            Reason::Created => f.write_str("does not exist yet"),
            Reason::CreatedAfterGone => {
                f.write_str("an interrupted uninstall has deleted it; it is created when the old one is gone")
            }
            Reason::Restored { revision } => write!(f, "is applied as revision {revision} has it"),
            Reason::Changed { fields } => write!(f, "changes {}", list(fields)),
            Reason::FieldsTaken { manager, fields } => {
                write!(f, "takes {} from field manager `{manager}`", list(fields))
            }
            Reason::OwnershipFolded { managers, fields } => {
                match managers.as_slice() {
                    [only] if only == FIELD_MANAGER => {
                        f.write_str("takes over the field ownership that client-side Helm left")?;
                    }
                    managers => write!(f, "takes over the field ownership of {}", list(managers))?,
                }
                if fields.is_empty() { Ok(()) } else { write!(f, "; goes with it: {}", list(fields)) }
            }
            Reason::FieldsLeft { manager, fields } => {
                write!(f, "leaves {} to field manager `{manager}`", list(fields))
            }
            Reason::LeftToAutoscaler { fields } => write!(f, "leaves {} to its autoscaler", list(fields)),
            Reason::FieldsShared { count: 1 } => f.write_str("1 field has other owners with the same value"),
            Reason::FieldsShared { count } => {
                write!(f, "{count} fields have other owners with the same values")
            }
            Reason::ForeignFieldsStay { manager, fields } => {
                write!(f, "{} of field manager `{manager}` stay", list(fields))
            }
            Reason::FieldConflict { object, field, manager, live, desired, .. } => {
                let (live, desired) = (in_line(live), in_line(desired));
                write!(f, "{object}: field {field} is owned by `{manager}`: {live} there, {desired} here")
            }
            Reason::Flapping { object, field, manager, times, .. } => write!(
                f,
                "{object}: field {field} was taken back from `{manager}` {times} times in a row, and is changed again"
            ),
            Reason::StaleConfig { object, configs, .. } => write!(
                f,
                "{object}: its pods go on with the old {}, because nothing in their template changes",
                list(configs)
            ),
            Reason::CreateOnly => f.write_str("exists, and is left alone (`createOnly`)"),
            Reason::LeftManifest => f.write_str("no longer in the chart's output"),
            Reason::GoesWithRelease => f.write_str("goes with its release"),
            Reason::KeptByPolicy => f.write_str("stays: `helm.sh/resource-policy: keep`"),
            Reason::AlreadyGone => f.write_str("is gone already"),
            Reason::Immutable { object, field, from, to, .. } => {
                write!(f, "{object}: field {field} is immutable: {} → {}", in_line(from), in_line(to))
            }
            Reason::ReplaceForced { object, field, stays: true } => write!(
                f,
                "{object} is re-created around its pods and claims (`force`), because field {field} is immutable"
            ),
            Reason::ReplaceForced { object, field, .. } => {
                write!(f, "{object} is deleted and re-created (`force`), because field {field} is immutable")
            }
            Reason::DataWouldGo(DataAtRisk { object, lost, .. }) => {
                write!(f, "{object} is not deleted, because this would go with it: {}", loss::list(lost))
            }
            Reason::DataGoes { object, lost } => write!(
                f,
                "{object}: this goes with it, as `force` and `allowDataLoss` say: {}",
                loss::list(lost)
            ),
            Reason::DefinitionNarrows { object, changes, lost, app } => {
                let verb = if app.is_some() { "would take" } else { "takes" };
                let from = match lost {
                    Ok(lost) => loss::list(lost),
                    Err(why) => format!("objects that cannot be counted ({why})"),
                };
                write!(f, "{object}: its new form {verb} something from {from}: {}", list(changes))
            }
            Reason::ClaimsGrow { object, claims } => {
                write!(f, "{object}: its claims are grown first: {}", claims.join(", "))
            }
            Reason::PodsReplaced { object, claims } => write!(
                f,
                "{object}: its pods are replaced one by one, because they lack the new volume {}",
                claims.join(", ")
            ),
            Reason::FieldKept { object, fields } => {
                write!(f, "{object}: {} cannot change and keeps its value", list(fields))
            }
            Reason::LeftoversGo { fields } => {
                write!(f, "removes what nobody sends any more: {}", list(fields))
            }
            Reason::NoEffect { object, fields } => {
                write!(f, "{object}: the server accepts the change of {} and does not make it", list(fields))
            }
            Reason::RefusedByServer { object, message, .. } => {
                write!(f, "{object} would be refused: {}", first_line(message))
            }
            Reason::KnownAfterApply { object, arrives } => {
                write!(f, "{object} is checked when it is applied: {arrives} arrives in this run")
            }
            Reason::Unverified { object, message } => {
                write!(f, "{object} could not be checked: {}", first_line(message))
            }
            Reason::Unreadable { what, message } => {
                write!(f, "{what} cannot be read: {}", first_line(message))
            }
            Reason::NoOrder { message } => f.write_str(message),
            Reason::NotRendered { message } => f.write_str(message.trim_end()),
            Reason::Interrupted(found) => found.fmt(f),
            Reason::Pending { revision, status, since } => {
                write!(
                    f,
                    "revision {revision} is {status} since {since}: another operation is under way or was killed"
                )
            }
            Reason::RecordUnreadable { record, message } => {
                write!(f, "the newest record {record} cannot be read: {}", first_line(message))
            }
            Reason::OtherContext { owner, context } => {
                write!(f, "belongs to context `{owner}`, not to `{context}`")
            }
            Reason::NobodysRelease { context, .. } => {
                write!(f, "exists and does not carry the label of context `{context}`")
            }
            Reason::Adopted => f.write_str("exists without a label and is taken over (`adopt`)"),
            Reason::ChangesOwner { from: Some(from), context } => {
                write!(f, "goes from context `{from}` to `{context}`; nothing else of it changes")
            }
            Reason::ChangesOwner { from: None, context } => {
                write!(f, "belongs to nobody and goes to context `{context}`; nothing else of it changes")
            }
            Reason::AlreadyOurs { context } => write!(f, "belongs to context `{context}` already"),
            Reason::NotOurs { object, owner } => write!(f, "{object} exists and belongs to {owner}"),
            Reason::AdoptionSpent { object, owner, revision, .. } => write!(
                f,
                "{object} exists and belongs to {owner}; `adopt` counted until revision {revision} and takes nothing \
                 over that came later"
            ),
            Reason::MovesTo { object, release } => {
                write!(f, "{object} stays: the chart of release {release} has it now")
            }
            Reason::RemovalWithheld { message } => write!(f, "not removed: {message}"),
            Reason::CrdsChange => f.write_str("custom resource definitions of the chart change"),
            Reason::TooManyRemovals { count, limit } => {
                write!(f, "{count} releases left the file, and one run removes at most {limit} (`maxPrune`)")
            }
            Reason::CrdExists => f.write_str("exists; definitions of the `crds` folder are never changed"),
            Reason::DataKept(DataAtRisk { object, lost, .. }) => {
                write!(f, "{object} stays, because this would go with it: {}", loss::list(lost))
            }
            Reason::BeingDeleted { object } => write!(f, "{object} is being deleted, and not gone yet"),
            Reason::AppliedTwice { object, by } => write!(f, "{object} is also applied by {by}"),
            Reason::EndedAndGone => f.write_str("ended, and was removed by its own time to live"),
            Reason::WaitsForBlocked { release } => write!(f, "waits for {release}, which is blocked"),
            Reason::MovedFrom { from } => write!(f, "was {from} before, and takes over its objects"),
            Reason::MoveFromBusy { from, why } => write!(f, "cannot take over from {from}: {why}"),
            Reason::MoveDeletes { from, objects, .. } if objects.is_empty() => {
                write!(f, "{from} is in another namespace: its objects would be made anew there")
            }
            Reason::MoveDeletes { from, objects, .. } => {
                write!(f, "taking over from {from} would delete {}", list(objects))
            }
            Reason::LooksLikeMove { from, to, shared } => {
                write!(f, "{to} would be installed and {from} uninstalled, and they look like one release")?;
                match shared {
                    Some(object) => write!(f, ": same chart, and both have {object}"),
                    None => f.write_str(": same chart, same name"),
                }
            }
            Reason::OnRemoveChanged => f.write_str("`onRemove` changes"),
            Reason::OrphanedOnRemove => {
                f.write_str("stays as it is and belongs to nobody from now on (`onRemove = \"orphan\"`)")
            }
            Reason::AsksOnRemove { release } => {
                write!(f, "{release} left the file, and was applied with `onRemove = \"ask\"`")
            }
            Reason::HoldsUnselected { object } => {
                write!(
                    f,
                    "{object} would be deleted, and objects of releases outside the selection may be in it"
                )
            }
            Reason::OwnedByObject { object, owner } => {
                write!(f, "{object} belongs to {owner}, which removes it or not")
            }
            Reason::BecomesHook { object, event, stays: false } => {
                write!(
                    f,
                    "{object} is a {event} hook now, and is deleted and created anew when the hook runs"
                )
            }
            Reason::BecomesHook { object, event, .. } => {
                write!(f, "{object} stays, and is a {event} hook now")
            }
            Reason::HookMeets { object, event } => {
                write!(
                    f,
                    "{object} is in the manifest and is a {event} hook as well, which would take it from the release"
                )
            }
            Reason::PendingSkipped { revision, status, since } => {
                write!(
                    f,
                    "revision {revision} says {status} since {since}, and pending releases are left alone"
                )
            }
            Reason::BackingOff { failures, until } => {
                write!(f, "held until {until}: {} with the same input", plural(*failures, "failure"))
            }
            Reason::OlderCommit { ours, theirs } => write!(
                f,
                "the files are of commit {}, and the newer commit {} was rolled out",
                short(ours),
                short(theirs)
            ),
            Reason::BeyondPolicy { policy, why } => write!(f, "held by `--only {policy}`: {why}"),
            Reason::RollbackAsked { revision } => write!(f, "goes back to revision {revision}"),
            Reason::RolledBack { left, to, held, .. } => {
                let held = if *held { "held: " } else { "" };
                write!(f, "{held}revision {left}, which is what the file says, was rolled back to {to}")
            }
            Reason::Held { failures: 1, .. } => f.write_str("held: the last try with the same input failed"),
            Reason::Held { failures, .. } => {
                write!(f, "held: the last {failures} tries with the same input failed")
            }
            Reason::ExecNotAllowed { what, command } => {
                write!(f, "{what} would run a program, which is not allowed: `{command}`")
            }
            Reason::HookRefused { hook, object, message } => {
                write!(f, "the hook {hook} cannot have {object}: {message}")
            }
            Reason::NoTrace { object } => {
                write!(
                    f,
                    "{object} carries the marks of the release, but no field of it was set by Helm or statectl"
                )
            }
        }
    }
}

/// Names up to three items and counts the rest.
fn list(items: &[String]) -> String {
    let shown = items.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(3) {
        0 => shown,
        rest => format!("{shown} and {rest} more"),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// A value within a sentence: one of several lines could look like a line of a plan.
fn in_line(value: &str) -> String {
    value.trim_end_matches('\n').replace('\n', "⏎")
}
