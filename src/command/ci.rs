//! What a CI system is told of a result besides the result.

use std::path::Path;

use serde_json::Value as Json;

use crate::failure::Failure;
use crate::host::{clock, env, files, secrets};
use crate::report::forms;
use crate::ui::{self, ci::Ci};

/// Takes the outputs of a step, as lines `NAME=VALUE`.
const OUTPUT: &str = "GITHUB_OUTPUT";
/// Takes the summary of a job, as Markdown.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Returns the text of parts, folded where a CI system can.
pub(super) fn folded(parts: &[(String, String)]) -> String {
    let mut out = String::new();
    for (at, (title, body)) in parts.iter().enumerate() {
        let (title, body) = (ui::told(title), ui::told(body));
        let title = title.replace('\n', " ");
        match ui::ci::current() {
            Ci::GitHub if !title.is_empty() => {
                // Only the end of the line ends the title.
                out.extend([format!("::group::{}\n{body}::endgroup::\n", title.replace('%', "%25"))]);
            }
            Ci::GitLab if !title.is_empty() => {
                let now = clock::now().as_second();
                let head = format!("\u{1b}[0Ksection_start:{now}:statectl_{at}[collapsed=true]\r\u{1b}[0K");
                out.extend([format!(
                    "{head}{title}\n{body}\u{1b}[0Ksection_end:{now}:statectl_{at}\r\u{1b}[0K\n"
                )]);
            }
            Ci::None | Ci::GitHub | Ci::GitLab => out.push_str(&body),
        }
    }
    out
}

/// Writes the summary of the job and the outputs of the step, where the runner says where.
///
/// # Errors
/// A file that the runner named cannot be written.
pub(super) fn tell_github(report: &Json, most: usize) -> Result<(), Failure> {
    append(SUMMARY, &format!("{}\n", forms::markdown(report, most)))?;
    append(OUTPUT, &forms::github_outputs(report))
}

/// Shows the problems of a report of `validate` where they are, on GitHub.
pub(super) fn annotate(report: &str) {
    if ui::ci::current() == Ci::GitHub {
        let report: Json = serde_json::from_str(&secrets::redact(report)).unwrap_or_default();
        ui::commands(&forms::github_annotations(&report));
    }
}

/// Tells a step of GitHub how the process ends.
///
/// # Errors
/// The file that the runner named cannot be written.
pub fn ended(code: u8) -> Result<(), Failure> {
    if ui::ci::current() == Ci::GitHub { append(OUTPUT, &format!("exit-code={code}\n")) } else { Ok(()) }
}

fn append(variable: &str, text: &str) -> Result<(), Failure> {
    let Some(path) = env::variables().remove(variable).filter(|path| !path.is_empty()) else { return Ok(()) };
    let written = files::append(Path::new(&path), secrets::redact(text).as_bytes());
    written.map_err(|error| {
        Failure::of(format!("what {variable} names cannot be written"), &error)
            .hint("`--ci none` leaves it alone")
    })
}
