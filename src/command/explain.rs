//! `statectl explain`: what the program knows, in words.

use std::fmt::Write as _;

use super::Ending;
use crate::failure::{Failure, FailureClass};
use crate::health::{KNOWN_RULES_VERSION, KnownRule, known_rules};
use crate::plan::known_reasons;
use crate::plan::recover::TABLE;
use crate::text;
use crate::ui;

/// When objects of the kinds of Kubernetes itself are ready.
const BUILT_IN: [(&str, &str); 14] = [
    ("APIService", "its condition Available is True"),
    ("CronJob", "at once"),
    ("CustomResourceDefinition", "Established; NamesAccepted=False fails it"),
    ("DaemonSet", "a pod of the newest template is available on every node that wants one"),
    (
        "Deployment",
        "all replicas are of the newest template, available, and no old one is left; at once while paused",
    ),
    ("Job", "complete; a Job that runs, or is suspended, is not"),
    ("Namespace", "not being deleted"),
    ("PersistentVolumeClaim", "bound; at once if its class waits for a first pod and none mounts it"),
    ("Pod", "its condition Ready is True, or it has succeeded"),
    ("ReplicaSet", "as many pods available as wanted"),
    ("ReplicationController", "as many pods available as wanted"),
    ("Service", "it has a cluster IP and, as LoadBalancer, an address; ExternalName at once"),
    ("StatefulSet", "all replicas ready, and updated as far as partition and OnDelete let them be"),
    ("other kinds of Kubernetes", "at once"),
];

/// Explains a topic.
///
/// # Errors
/// There is no such topic.
pub fn run(topic: Option<&str>, name: Option<&str>) -> Result<Ending, Failure> {
    let text = match (topic, name) {
        (None, _) => topics(),
        (Some("ready"), None) => all(),
        (Some("ready"), Some(kind)) => about(kind),
        (Some("reasons"), None) => reasons(),
        (Some(topic), None) if code(topic).is_some() => code(topic).unwrap_or_default(),
        (Some(topic), _) => {
            let failure = Failure::new(FailureClass::Usage, format!("there is no topic `{topic}`"));
            let codes = known_reasons().iter().map(|reason| reason.code);
            let known = ["ready", "reasons"].into_iter().chain(codes).chain(TABLE.iter().map(|row| row.code));
            return Err(match text::closest(topic, known) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None if topic.contains("exit") => failure.hint("`statectl docs exit-codes` has them"),
                None => failure.hint("`statectl explain` lists the topics"),
            });
        }
    };
    ui::result(&text);
    Ok(Ending::default())
}

fn topics() -> String {
    let rows = [
        ["explain ready [KIND]", "when objects are ready"],
        ["explain reasons", "the codes of all reasons"],
        ["explain CODE", "what a reason means, and what to do about it"],
        ["docs exit-codes", "what the process ends with"],
        ["docs", "other pages"],
    ];
    text::table(&rows.map(|row| row.map(|cell| cell.to_owned()).to_vec()))
}

/// Lists the codes of all reasons.
fn reasons() -> String {
    let mut rows = vec![["CODE", "WHAT WAS FOUND"].map(str::to_owned).to_vec()];
    rows.extend(known_reasons().iter().map(|reason| vec![reason.code.to_owned(), reason.means.to_owned()]));
    rows.extend(TABLE.iter().map(|row| vec![row.code.to_owned(), sentence(row.when)]));
    text::table(&rows)
}

/// Explains a code; nothing if there is none of this name. Some stand for a row of the decision table of recovery, too.
fn code(name: &str) -> Option<String> {
    let mut out = String::new();
    for reason in known_reasons().iter().filter(|reason| reason.code == name) {
        let _ = writeln!(out, "{name}\n  found    {}", reason.means);
        if !reason.todo.is_empty() {
            let _ = writeln!(out, "  to do    {}", reason.todo);
        }
    }
    for row in TABLE.iter().filter(|row| row.code == name) {
        let _ = writeln!(out, "{name} (row {} of recovery)\n  found    {}", row.id, sentence(row.when));
        let _ = writeln!(out, "  done     {}", sentence(row.does));
        if !row.needs.is_empty() {
            let _ = writeln!(out, "  it takes {}", row.needs);
        }
    }
    (!out.is_empty()).then_some(out)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Lists every rule.
fn all() -> String {
    let mut rows = vec![["KIND", "READY WHEN"].map(str::to_owned).to_vec()];
    rows.extend(BUILT_IN.iter().map(|(kind, when)| vec![(*kind).to_owned(), (*when).to_owned()]));
    let mut out = text::table(&rows);
    let mut rows = vec![["GROUP", "KINDS", "READY WHEN"].map(str::to_owned).to_vec()];
    rows.extend(
        known_rules()
            .iter()
            .map(|rule| vec![rule.group.to_owned(), rule.kinds.join(", "), rule.current.to_owned()]),
    );
    let _ = write!(out, "\nCustom resources, table version {KNOWN_RULES_VERSION}:\n\n{}", text::table(&rows));
    let _ = write!(out, "\n{OTHERS}\n\n{OWN}\n");
    out
}

const OTHERS: &str = "Other custom resources: Ready, Reconciling and Stalled among their conditions count, and \
                      observedGeneration;\none without a status is ready, after ten seconds if its kind has the \
                      subresource `status` and it is new.";
const OWN: &str = "A rule of the file comes first: ready = [{ kind = \"Kind.group\", current = \"CEL\", failed = \"CEL\" }]";

/// Explains one kind, written `Kind` or `Kind.group`, in any case.
fn about(kind: &str) -> String {
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let mut out = String::new();
    for (name, when) in BUILT_IN.iter().filter(|(name, _)| same(name, kind)) {
        let _ = writeln!(out, "{name}: ready when {when}");
    }
    for rule in known_rules() {
        let fits = |name: &&&str| same(name, kind) || same(&format!("{name}.{}", rule.group), kind);
        for name in rule.kinds.iter().filter(fits) {
            out.push_str(&described(name, rule));
        }
    }
    if out.is_empty() {
        let names = known_rules().iter().flat_map(|rule| rule.kinds.iter().copied());
        let names = BUILT_IN.iter().map(|(name, _)| *name).chain(names);
        let near = text::closest(kind, names);
        let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        let _ = write!(out, "There is no rule for {kind}.{near}\n{OTHERS}\n");
    }
    let _ = writeln!(out, "{OWN}");
    out
}

fn described(name: &str, rule: &KnownRule) -> String {
    let mut out = format!("{name}.{}\n  ready when    {}\n", rule.group, rule.current);
    if let Some(failed) = rule.failed {
        let _ = writeln!(out, "  failing when  {failed}");
        out.push_str("                (failed if that lasts for 20 seconds)\n");
    }
    let _ = writeln!(out, "  described at  {}", rule.docs);
    out
}
