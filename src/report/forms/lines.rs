//! Reports and events as lines of JSON: one object a line, the summary last.

use serde_json::{Map, Value as Json, json};

use super::{kind, parts};
use crate::execute::{Event, Phase};

/// The lists of a report of which each member is a line of its own.
const LISTS: [&str; 5] = ["releases", "problems", "notes", "locks", "revisions"];

/// Returns a report as lines: one for each member of its list, and last a summary with everything else.
///
/// Each line carries the tag of the report with `-line`, and says in `line` what it is.
pub fn lines(document: &Json) -> String {
    let mut out = String::new();
    for part in parts(document) {
        let mut write = |line: &str, report: &str, content: &Json| {
            let mut object = Map::new();
            object.insert("format".to_owned(), format!("statectl.{report}-line/v1").into());
            object.insert("line".to_owned(), line.into());
            object.extend(part.context.map(|context| ("kubeContext".to_owned(), context.into())));
            for (key, value) in content.as_object().into_iter().flatten() {
                if key != "format" {
                    object.insert(key.clone(), value.clone());
                }
            }
            out.push_str(&Json::Object(object).to_string());
            out.push('\n');
        };
        let Some(report) = part.report else {
            write("failure", "clusters", &json!({ "failure": part.failure }));
            continue;
        };
        let mut rest = report.clone();
        for list in LISTS {
            let Some(members) = report[list].as_array().filter(|all| all.iter().all(Json::is_object)) else {
                continue;
            };
            for member in members {
                write(list.trim_end_matches('s'), kind(report), member);
            }
            if let Some(rest) = rest.as_object_mut() {
                rest.remove(list);
            }
        }
        write("summary", kind(report), &rest);
    }
    out
}

/// Returns an event of a run as a line: `statectl.event/v1`. `number` counts the events of the run from 1, `time` is an
/// instant in UTC.
pub fn event_line(event: &Event, number: u64, time: &str) -> String {
    let (name, release, content) = told(event);
    let mut object = Map::new();
    object.insert("format".to_owned(), "statectl.event/v1".into());
    object.insert("number".to_owned(), number.into());
    object.insert("time".to_owned(), time.into());
    object.insert("event".to_owned(), name.into());
    object.extend(release.map(|release| ("release".to_owned(), release.into())));
    object.extend(content.as_object().cloned().unwrap_or_default());
    format!("{}\n", Json::Object(object))
}

fn told(event: &Event) -> (&'static str, Option<String>, Json) {
    match event {
        Event::NamespaceApplied { name } => ("namespace-applied", None, json!({ "namespace": name })),
        Event::BatchStarted { index, batches, releases } => {
            ("batch-started", None, json!({ "batch": index + 1, "batches": batches, "releases": releases }))
        }
        Event::ReleaseStarted { key, action } => {
            ("release-started", Some(key.to_string()), json!({ "action": action }))
        }
        Event::Entered { key, phase } => ("phase", Some(key.to_string()), phase_of(phase)),
        Event::Warned { key, text } => ("server-warning", Some(key.to_string()), json!({ "message": text })),
        Event::HookLog { key, hook, text } => {
            ("hook-log", Some(key.to_string()), json!({ "hook": hook, "message": text }))
        }
        Event::Noted { key, text } => ("note", Some(key.to_string()), json!({ "message": text })),
        Event::ReleaseEnded { key, outcome } => {
            ("release-ended", Some(key.to_string()), json!({ "state": outcome.word() }))
        }
    }
}

fn phase_of(phase: &Phase) -> Json {
    match phase {
        Phase::Locked { holder } => json!({ "phase": "locked", "holder": holder }),
        Phase::Recording { revision } => json!({ "phase": "recording", "revision": revision }),
        Phase::Hook { event, name } => json!({ "phase": "hook", "moment": event, "hook": name }),
        Phase::Applying { object, number, total } => {
            json!({ "phase": "applying", "object": object, "count": number, "total": total })
        }
        Phase::Replacing { object } => json!({ "phase": "replacing", "object": object }),
        Phase::Waiting { ready, total, on } => {
            let on =
                on.iter().map(|one| json!({ "object": one.object, "why": one.why, "seconds": one.seconds }));
            json!({ "phase": "waiting", "ready": ready, "total": total, "on": on.collect::<Vec<_>>() })
        }
        Phase::Removing { object } => json!({ "phase": "removing", "object": object }),
        Phase::RollingBack { to } => json!({ "phase": "rolling-back", "to": to }),
        Phase::Finishing => json!({ "phase": "finishing" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_line_a_release_and_a_summary() {
        let report = json!({"format": "statectl.plan/v1", "changes": true, "notes": ["text"],
            "releases": [{"name": "a"}, {"name": "b"}]});
        let text = lines(&report);
        let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], json!({"format": "statectl.plan-line/v1", "line": "release", "name": "b"}));
        let summary =
            json!({"format": "statectl.plan-line/v1", "line": "summary", "changes": true, "notes": ["text"]});
        assert_eq!(lines[2], summary);
    }
}
