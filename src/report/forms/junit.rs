//! JUnit's XML, as CI systems read it: one case a release, a test or a problem.

use serde_json::Value as Json;

use super::html::escaped;
use super::view::{Grade, View};
use super::{list, parts, text};

/// A case: its name, and why it failed or was skipped.
struct Case {
    class: String,
    name: String,
    failure: Option<String>,
    skipped: Option<String>,
}

/// Returns a report as JUnit's XML.
pub fn junit(document: &Json) -> String {
    let mut suites = String::new();
    for part in parts(document) {
        let (name, cases) = match part.report {
            Some(report) => suite(report),
            None => {
                let failure = Some(part.failure.unwrap_or("there is no report").to_owned());
                let case = Case { class: "cluster".into(), name: "report".into(), failure, skipped: None };
                ("cluster".to_owned(), vec![case])
            }
        };
        let name = part.context.map_or(name.clone(), |context| format!("{name} on {context}"));
        let failures = cases.iter().filter(|case| case.failure.is_some()).count();
        let skipped = cases.iter().filter(|case| case.skipped.is_some()).count();
        let cases: String = cases.iter().map(Case::xml).collect();
        suites.extend([format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n{cases}  </testsuite>\n",
            attribute(&name),
            cases.matches("<testcase ").count(),
        )]);
    }
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

fn suite(report: &Json) -> (String, Vec<Case>) {
    let view = View::of(report);
    let name = format!("statectl {}", view.kind);
    let mut cases = Vec::new();
    if view.kind == "test" {
        for release in list(report, "releases") {
            let class = format!("{}/{}", text(release, "namespace"), text(release, "name"));
            let tests = list(release, "tests");
            for test in tests {
                let result = text(test, "result");
                let bad = !matches!(result, "passed" | "Succeeded" | "succeeded");
                let failure = bad.then(|| result.to_owned());
                cases.push(Case {
                    class: class.clone(),
                    name: text(test, "name").to_owned(),
                    failure,
                    skipped: None,
                });
            }
            // A release that could not be tested, or whose failure no single test shows, is a case of its own.
            let shown = cases.iter().any(|case| case.class == class && case.failure.is_some());
            if tests.is_empty() || (release["passed"] != true && !shown) {
                let failure = release["message"].as_str().map(str::to_owned);
                let none = (failure.is_none()).then(|| "no tests".to_owned());
                cases.push(Case { class, name: "release".to_owned(), failure, skipped: none });
            }
        }
        return (name, cases);
    }
    if view.kind == "validate" && !view.releases.iter().any(|one| one.grade == Grade::Bad) {
        let files = list(report, "files").iter().filter_map(Json::as_str);
        cases.extend(files.map(|file| Case {
            class: "file".to_owned(),
            name: file.to_owned(),
            failure: None,
            skipped: None,
        }));
    }
    for release in &view.releases {
        if view.kind == "validate" && release.grade != Grade::Bad {
            continue;
        }
        let why =
            || if release.reasons.is_empty() { release.word.to_owned() } else { release.reasons.join("\n") };
        let skipped = matches!(release.word, "skipped" | "waiting" | "blocked" | "held");
        cases.push(Case {
            class: if view.kind == "validate" { release.action.to_owned() } else { "release".to_owned() },
            name: release.key.clone(),
            failure: (release.grade == Grade::Bad && !skipped || release.word == "blocked").then(why),
            skipped: (skipped && release.word != "blocked").then(why),
        });
    }
    (name, cases)
}

impl Case {
    fn xml(&self) -> String {
        let head = format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            attribute(&self.class),
            attribute(&self.name)
        );
        let first = |why: &str| attribute(why.lines().next().unwrap_or_default());
        match (&self.failure, &self.skipped) {
            (Some(why), _) => format!(
                "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                first(why),
                escaped(why)
            ),
            (None, Some(why)) => {
                format!("{head}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", first(why))
            }
            (None, None) => format!("{head}/>\n"),
        }
    }
}

/// A text in an attribute. What XML has no character for was made visible before.
fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;").replace('\t', "&#9;")
}
