//! What is asked before the first write of a run: whether this user has every right that it takes.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::Cluster;
use super::prepare::Loaded;
use super::{Session, locking};
use crate::cluster::Discovery;
use crate::dsf::state::DesiredState;
use crate::failure::{Failure, FailureClass};
use crate::model::GroupVersionKind;
use crate::observe::{self, Missing};
use crate::plan::rights::{self, KindName, Locked, Need, Right};
use crate::plan::{Action, Plan, Reason, ReleasePlan};
use crate::text::plural;
use crate::ui;

/// How many objects a line names.
const NAMED: usize = 3;

/// Returns why nothing may be written; nothing if everything may, or nobody can tell.
///
/// A run that writes nothing costs no request. Others cost one for each namespace, and one for each right that the
/// answers do not show.
pub(super) async fn check(
    session: &Session,
    loaded: &Loaded,
    cluster: &Cluster,
    plan: &Plan,
) -> Option<Failure> {
    let state = &loaded.state;
    let arriving = rights::of_definitions(rights::definitions(plan));
    let kinds = |gvk: &GroupVersionKind| name_of(gvk, &arriving, &cluster.discovery);
    let wanted = rights::of_plan(plan, locked_for(plan, state), &kinds);
    if wanted.needs.is_empty() {
        return None;
    }
    let missing = observe::missing(&cluster.reader, &wanted).await;
    let unread = unread(plan);
    for why in &missing.unknown {
        ui::message(&format!("note: not every right could be checked before the first write: {why}"));
    }
    (!missing.rights.is_empty() || !unread.is_empty()).then(|| failure(session, plan, &missing, &unread))
}

/// Returns what could not be read for want of a right: nothing more is known of those releases.
fn unread(plan: &Plan) -> Vec<String> {
    let blocked = plan.releases.iter().filter(|release| release.action == Action::Blocked);
    let forbidden = |release: &ReleasePlan| {
        let messages = release.reasons.iter().filter_map(|reason| match reason {
            // Who makes or binds a role has to have what it gives.
            Reason::RefusedByServer { object, message, .. } if message.contains("attempting to grant") => {
                Some(format!("{object} would be refused: {}", message.trim_end()))
            }
            Reason::Unreadable { what, message } if message.contains(" is forbidden: ") => {
                Some(format!("{what} cannot be read: {message}"))
            }
            _ => None,
        });
        messages.collect::<Vec<_>>()
    };
    let namespaces = plan.namespaces.iter().filter_map(|namespace| {
        let why = namespace.refused.as_ref().filter(|why| why.contains(" is forbidden: "))?;
        Some(format!("namespace {}: {why}", namespace.name))
    });
    blocked.flat_map(forbidden).chain(namespaces).collect()
}

/// Returns how the runs of a file lock.
pub(super) fn locked(state: &DesiredState) -> Option<Locked<'_>> {
    let kind = locking::kind(state.settings.lock)?;
    Some(Locked { kind, context: locking::namespace(state) })
}

/// Returns how a run that carries a plan out locks.
pub(super) fn locked_for<'a>(plan: &'a Plan, state: &'a DesiredState) -> Option<Locked<'a>> {
    let locked = locked(state)?;
    let context = locked.context.map(|usual| plan.lock_place.as_deref().unwrap_or(usual));
    Some(Locked { context, ..locked })
}

/// Returns what a kind is called: by a definition that arrives in the run, or by the server.
pub(super) fn name_of(
    gvk: &GroupVersionKind,
    arriving: &BTreeMap<(String, String), KindName>,
    discovery: &Discovery,
) -> Option<KindName> {
    let found = if gvk.version.is_empty() {
        discovery.by_kind(&gvk.kind, Some(gvk.group.as_str()).filter(|group| !group.is_empty()))
    } else {
        discovery.in_any_version(gvk).ok()
    };
    let known = found.map(|resource| KindName {
        group: resource.gvk.group.clone(),
        plural: resource.plural.clone(),
        namespaced: resource.namespaced,
    });
    known.or_else(|| arrives(gvk, arriving))
}

/// Returns what a kind is called whose definition a chart brings along.
pub(super) fn arrives(
    gvk: &GroupVersionKind,
    arriving: &BTreeMap<(String, String), KindName>,
) -> Option<KindName> {
    let in_group = |group: &str| group == gvk.group || (gvk.version.is_empty() && gvk.group.is_empty());
    let found = arriving.iter().find(|((group, kind), _)| *kind == gvk.kind && in_group(group));
    found.map(|(_, name)| name.clone())
}

fn failure(session: &Session, plan: &Plan, missing: &Missing, unread: &[String]) -> Failure {
    let count = missing.rights.len() + unread.len();
    let verb = if count == 1 { "is" } else { "are" };
    let count = plural(count, "right");
    let message = format!("{count} {verb} missing on {}; nothing was written", plan.cluster);
    let failure = Failure::new(FailureClass::Refused, message);
    let causes = lines(&missing.rights).into_iter().chain(unread.iter().cloned());
    let failure = causes.fold(failure, Failure::cause);
    let files: Vec<String> = session.files.states.iter().map(|path| path.display().to_string()).collect();
    let command = format!("statectl rbac {} --ask-server", files.join(" "));
    let failure = failure
        .hint(format!("`{command}` prints the roles that this file takes, for somebody who may make them"));
    if missing.rights.keys().any(|right| right.resource == "leases") {
        return failure.hint(
            "where leases are not to be had, write `settings.lock = \"secret\"` for every run of this file",
        );
    }
    failure
}

/// A resource in one place: namespace, name and group.
type Place<'a> = (&'a Option<String>, &'a str, &'a str);
/// What is missing of it: verbs, and what for.
type Lacks<'a> = (Vec<&'a str>, BTreeSet<&'a str>);

/// Returns one line for each resource and place.
fn lines(missing: &BTreeMap<Right, Need>) -> Vec<String> {
    let mut places: BTreeMap<Place<'_>, Lacks<'_>> = BTreeMap::new();
    for (right, need) in missing {
        let entry = places.entry((&right.namespace, &right.resource, &right.group)).or_default();
        entry.0.push(right.verb);
        entry.1.extend(need.why.iter().map(String::as_str));
    }
    let line = |((namespace, resource, group), (verbs, why)): (Place<'_>, Lacks<'_>)| {
        let place = match namespace {
            Some(namespace) => format!("namespace {namespace}"),
            None => "the whole cluster".to_owned(),
        };
        let what = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let mut named: Vec<String> = why.iter().take(NAMED).map(|why| (*why).to_owned()).collect();
        if why.len() > NAMED {
            named.push(format!("{} more", why.len() - NAMED));
        }
        format!("{place}: {} {what} ({})", verbs.join(", "), named.join(", "))
    };
    places.into_iter().map(line).collect()
}
