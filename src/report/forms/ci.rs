//! What CI systems take: GitHub's workflow commands and outputs, GitLab's reports.

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::view::{Grade, View};
use super::{kind, list, parts, text};
use crate::go::encoding::hex_encode;

/// Returns the problems of a report of `validate` as workflow commands, one a line.
pub fn github_annotations(document: &Json) -> String {
    let mut out = String::new();
    for member in ["problems", "notes"] {
        for problem in list(document, member).iter().filter(|_| kind(document) == "validate") {
            let level = match problem["level"].as_str() {
                None => "error",
                Some("warning") => "warning",
                Some(_) => "notice",
            };
            let mut message = text(problem, "message").to_owned();
            if !text(problem, "path").is_empty() {
                message = format!("{}: {message}", text(problem, "path"));
            }
            if let Some(hint) = problem["hint"].as_str() {
                message = format!("{message}\nhint: {hint}");
            }
            let place = &problem["location"];
            let mut properties = Vec::new();
            if let Some(file) = place["file"].as_str() {
                properties.push(format!("file={}", property(file)));
                let (line, column) = (&place["line"], &place["column"]);
                properties.push(format!("line={line},col={column},endLine={line}"));
            }
            properties.push(format!("title=statectl {}", property(text(problem, "code"))));
            out.extend([format!("::{level} {}::{}\n", properties.join(","), data(&message))]);
        }
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns the lines that a step's outputs are made of: `changes`, `blocked`, `destroys` and, of a plan, `effect`.
/// Nothing for reports that have none of it.
pub fn github_outputs(document: &Json) -> String {
    let (mut changes, mut blocked, mut destroys) = (false, false, false);
    let mut effects = Vec::new();
    let mut any = false;
    for report in parts(document).iter().filter_map(|part| part.report) {
        let view = View::of(report);
        any |= matches!(view.kind, "plan" | "diff" | "drift" | "run");
        changes |= report["changes"] == true || report["drift"] == true;
        changes |= view.kind == "run"
            && view.releases.iter().any(|one| one.grade != Grade::Quiet && one.word != "blocked");
        blocked |= report["blocked"] == true || view.releases.iter().any(|one| one.word == "blocked");
        destroys |= view.destroys();
        effects.extend(view.effect);
    }
    if !any {
        return String::new();
    }
    let mut out = format!("changes={changes}\nblocked={blocked}\ndestroys={destroys}\n");
    if !effects.is_empty() {
        out.extend([format!("effect={}\n", effects.join(","))]);
    }
    out
}

/// Returns the small report that GitLab shows on a merge request: how many objects are created, updated and deleted.
/// One that is deleted and created again counts as both.
pub fn gitlab_widget(document: &Json) -> String {
    let (mut create, mut update, mut delete) = (0_u64, 0_u64, 0_u64);
    for report in parts(document).iter().filter_map(|part| part.report) {
        let releases = list(report, "releases").iter().filter(|release| text(release, "action") != "blocked");
        for object in releases.flat_map(|release| list(release, "objects")) {
            match text(object, "action") {
                "create" => create += 1,
                "update" | "adopt" => update += 1,
                "delete" => delete += 1,
                "replace" => (create, delete) = (create + 1, delete + 1),
                _ => {}
            }
        }
    }
    format!("{}\n", json!({ "create": create, "update": update, "delete": delete }))
}

/// Returns the problems of a report of `validate` as GitLab's code quality report.
pub fn gitlab_quality(document: &Json) -> String {
    let mut issues = Vec::new();
    for member in ["problems", "notes"] {
        for problem in list(document, member) {
            let place = &problem["location"];
            let (file, line) = (place["file"].as_str().unwrap_or("."), place["line"].as_u64().unwrap_or(1));
            let severity = match problem["level"].as_str() {
                None => "critical",
                Some("warning") => "minor",
                Some(_) => "info",
            };
            let (code, path, message) =
                (text(problem, "code"), text(problem, "path"), text(problem, "message"));
            // The line is not part of it: a problem that moves is the same one.
            let print = Sha256::digest(format!("{file}\0{code}\0{path}\0{message}"));
            issues.push(json!({
                "description": if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") },
                "check_name": code,
                "fingerprint": hex_encode(&print),
                "severity": severity,
                "location": { "path": file, "lines": { "begin": line } },
            }));
        }
    }
    super::super::plan_json::pretty(&issues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_says_where_and_escapes_what_would_end_it() {
        let report = json!({"format": "statectl.validate/v1", "notes": [], "problems": [{
            "code": "unknown-key", "path": "apps.web", "message": "100%\r\n::error::no", "hint": "did you mean `a`?",
            "location": {"file": "a,b:c.toml", "line": 7, "column": 2}}]});
        assert_eq!(
            github_annotations(&report),
            "::error file=a%2Cb%3Ac.toml,line=7,col=2,endLine=7,title=statectl unknown-key::apps.web: 100%25%0D%0A::error::no\
             %0Ahint: did you mean `a`?\n"
        );
        let quality: Json = serde_json::from_str(&gitlab_quality(&report)).unwrap();
        assert_eq!(quality[0]["location"], json!({"path": "a,b:c.toml", "lines": {"begin": 7}}));
    }

    #[test]
    fn what_is_replaced_counts_as_created_and_deleted() {
        let objects: Vec<Json> = ["create", "replace", "update", "delete", "none"]
            .iter()
            .map(|word| json!({ "action": word }))
            .collect();
        let report = json!({"format": "statectl.plan/v1", "changes": true, "effect": "sha256:a",
            "releases": [{"namespace": "a", "name": "b", "action": "upgrade", "objects": objects}]});
        assert_eq!(gitlab_widget(&report), "{\"create\":2,\"delete\":2,\"update\":1}\n");
        assert_eq!(github_outputs(&report), "changes=true\nblocked=false\ndestroys=true\neffect=sha256:a\n");
    }
}
