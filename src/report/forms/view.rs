//! What all forms show of a report: releases, what becomes of each, why, and its objects; the worst first.

use serde_json::Value as Json;

use super::{kind, list, text};

/// A report as the forms show it.
pub(super) struct View<'a> {
    /// `plan`, `diff`, `drift`, `run`, `test` or `validate`.
    pub(super) kind: &'a str,
    /// The cluster, as its context and address.
    pub(super) cluster: String,
    /// The context of the file, which owns the releases.
    pub(super) context: &'a str,
    /// Releases, the worst first; then in the order of the report.
    pub(super) releases: Vec<Release<'a>>,
    /// What is said of the whole: namespaces, notes.
    pub(super) notes: Vec<String>,
    /// The digest of the effect of a plan.
    pub(super) effect: Option<&'a str>,
}

/// A release, or a problem of a file.
pub(super) struct Release<'a> {
    pub(super) key: String,
    /// What becomes of it, or how it ended.
    pub(super) word: &'a str,
    /// What was planned, in the report of a run.
    pub(super) action: &'a str,
    pub(super) grade: Grade,
    /// The chart, or the step from one to another.
    pub(super) chart: String,
    pub(super) reasons: Vec<String>,
    pub(super) needs: Vec<&'a str>,
    /// Objects with which something is done.
    pub(super) objects: Vec<Object<'a>>,
}

/// An object.
pub(super) struct Object<'a> {
    pub(super) name: String,
    pub(super) word: &'a str,
    pub(super) grade: Grade,
    pub(super) reasons: Vec<String>,
    pub(super) diff: &'a str,
}

/// How much a reader has to look at something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// It did not work, or is refused.
    Bad,
    /// Something is removed.
    Destroys,
    /// Something changes.
    Changes,
    /// Something is new.
    Adds,
    /// Nothing.
    Quiet,
}

impl Grade {
    /// Returns the name that stylesheets use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Grade::Bad => "bad",
            Grade::Destroys => "destroys",
            Grade::Changes => "changes",
            Grade::Adds => "adds",
            Grade::Quiet => "quiet",
        }
    }

    /// Returns the mark before a line: the meaning never hangs on colour alone.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Grade::Bad => "!",
            Grade::Destroys => "-",
            Grade::Changes => "~",
            Grade::Adds => "+",
            Grade::Quiet => "·",
        }
    }

    fn of(word: &str) -> Grade {
        match word {
            "none" | "unchanged" | "clean" | "keep" | "not-installed" | "passed" | "no tests" => Grade::Quiet,
            "install" | "create" | "adopt" | "adopted" | "deployed" => Grade::Adds,
            "uninstall" | "uninstalled" | "reinstall" | "replace" | "delete" | "missing" => Grade::Destroys,
            "upgrade" | "update" | "recover" | "orphan" | "orphaned" | "changed" | "drifted" | "drift"
            | "rollback" | "skipped" | "waiting" | "warning" | "info" => Grade::Changes,
            _ => Grade::Bad,
        }
    }
}

impl<'a> View<'a> {
    /// Reads a report.
    pub(super) fn of(report: &'a Json) -> Self {
        let kind = kind(report);
        let mut releases: Vec<Release<'_>> = match kind {
            "validate" => problems(report),
            _ => list(report, "releases").iter().map(|one| release(one, kind)).collect(),
        };
        releases.sort_by_key(|release| release.grade);
        let namespaces = list(report, "namespaceChanges").iter().map(|one| {
            let refused = one["refused"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            format!("namespace {}: {}{refused}", text(one, "name"), text(one, "action"))
        });
        let notes = list(report, "notes").iter().filter(|_| kind != "validate").filter_map(Json::as_str);
        let cluster = &report["cluster"];
        let server = text(cluster, "server");
        Self {
            kind,
            cluster: match cluster["context"].as_str() {
                Some(context) => format!("{context} ({server})"),
                None => server.to_owned(),
            },
            context: text(report, "context"),
            releases,
            notes: namespaces.chain(notes.map(str::to_owned)).collect(),
            effect: report["effect"].as_str(),
        }
    }

    /// Returns how often each word occurs, the worst first.
    pub(super) fn counts(&self) -> Vec<(Grade, &'a str, usize)> {
        let mut counts: Vec<(Grade, &str, usize)> = Vec::new();
        for release in &self.releases {
            match counts.iter_mut().find(|(_, word, _)| *word == release.word) {
                Some((_, _, count)) => *count += 1,
                None => counts.push((release.grade, release.word, 1)),
            }
        }
        counts
    }

    /// Returns what a heading says.
    pub(super) fn title(&self) -> &'static str {
        match self.kind {
            "plan" => "Plan",
            "diff" => "Differences",
            "drift" => "Drift",
            "run" => "Run",
            "test" => "Tests",
            "validate" => "Validation",
            _ => "Report",
        }
    }

    /// Returns whether anything is removed.
    pub(super) fn destroys(&self) -> bool {
        // What is planned of a release that is refused does not happen.
        let object = |release: &Release<'_>| {
            release.grade != Grade::Bad && release.objects.iter().any(|one| one.grade == Grade::Destroys)
        };
        self.kind != "drift" && self.releases.iter().any(|one| one.grade == Grade::Destroys || object(one))
    }
}

fn release<'a>(release: &'a Json, kind: &str) -> Release<'a> {
    let word = match kind {
        "run" => text(release, "state"),
        "drift" => text(release, "standing"),
        "test" if release["passed"] == true => "passed",
        "test" => "failed",
        _ if release["action"] == "none" => "unchanged",
        _ => text(release, "action"),
    };
    let mut objects: Vec<Object<'_>> = list(release, "objects")
        .iter()
        .map(object)
        .filter(|object| object.grade != Grade::Quiet || !object.diff.is_empty())
        .collect();
    objects.sort_by_key(|object| object.grade);
    let of_objects = objects.iter().map(|object| object.grade).filter(|_| kind != "drift").min();
    let own = if kind == "drift" && word != "clean" { Grade::Changes } else { Grade::of(word) };
    let grade = match (own, of_objects) {
        (Grade::Changes | Grade::Adds, Some(Grade::Destroys)) => Grade::Destroys,
        _ => own,
    };
    let chart = |member: &str| {
        let chart = release.get(member)?;
        Some(format!("{} {}", text(chart, "name"), text(chart, "version")))
    };
    let chart = match (chart("chartFrom"), chart("chartTo")) {
        (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
        (from, to) => to.or(from).unwrap_or_default(),
    };
    let mut reasons = reasons(release);
    for member in ["message", "problem"] {
        reasons.extend(release[member].as_str().map(str::to_owned));
    }
    reasons.extend(
        list(release, "warnings").iter().filter_map(Json::as_str).map(|why| format!("warning: {why}")),
    );
    let tests = list(release, "tests").iter();
    reasons.extend(tests.map(|test| format!("{}: {}", text(test, "name"), text(test, "result"))));
    Release {
        key: format!("{}/{}", text(release, "namespace"), text(release, "name")),
        word,
        action: text(release, "action"),
        grade,
        chart,
        reasons,
        needs: list(release, "needs").iter().filter_map(Json::as_str).collect(),
        objects,
    }
}

fn object(object: &Json) -> Object<'_> {
    let word = object["action"].as_str().unwrap_or_else(|| text(object, "standing"));
    let namespace = object["namespace"].as_str().map(|name| format!("{name}/")).unwrap_or_default();
    let mut reasons = reasons(object);
    reasons.extend(object["problem"].as_str().map(str::to_owned));
    let warnings = list(object, "warnings").iter().filter_map(Json::as_str);
    reasons.extend(warnings.map(|warning| format!("server warning: {warning}")));
    Object {
        name: format!("{} {namespace}{}", text(object, "kind"), text(object, "name")),
        word,
        grade: Grade::of(word),
        reasons,
        diff: text(object, "diff"),
    }
}

fn reasons(value: &Json) -> Vec<String> {
    let reasons = list(value, "reasons").iter();
    reasons.map(|reason| format!("{} [{}]", text(reason, "message"), text(reason, "code"))).collect()
}

/// What is wrong with files, as rows.
fn problems(report: &Json) -> Vec<Release<'_>> {
    let rows = ["problems", "notes"].into_iter().flat_map(|member| {
        list(report, member).iter().map(move |problem| {
            let place = &problem["location"];
            let word = problem["level"].as_str().unwrap_or("error");
            let mut reasons = vec![text(problem, "message").to_owned()];
            if !text(problem, "path").is_empty() {
                reasons[0] = format!("{}: {}", text(problem, "path"), reasons[0]);
            }
            reasons.extend(problem["hint"].as_str().map(|hint| format!("hint: {hint}")));
            Release {
                key: match place["file"].as_str() {
                    Some(file) => format!("{file}:{}:{}", place["line"], place["column"]),
                    None => "the environment".to_owned(),
                },
                word,
                action: text(problem, "code"),
                grade: Grade::of(word),
                chart: String::new(),
                reasons,
                needs: Vec::new(),
                objects: Vec::new(),
            }
        })
    });
    rows.collect()
}
