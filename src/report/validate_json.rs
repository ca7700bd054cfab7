//! What `validate` found, as JSON.

use serde::Serialize;

use super::plan_json::pretty;
use crate::dsf::{Level, Note, Problems};
use crate::text::Location;

/// The tag of the format.
const FORMAT: &str = "statectl.validate/v1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    format: &'static str,
    valid: bool,
    files: Vec<&'a str>,
    problems: Vec<Finding<'a>>,
    notes: Vec<Finding<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct Place {
    file: String,
    line: usize,
    column: usize,
}

/// Returns the report of one run: what is wrong, and what a person should know.
pub fn validate_json(
    files: &[&str],
    problems: Option<&Problems>,
    notes: &[Note],
    plain: &[String],
) -> String {
    let found = problems.into_iter().flat_map(|problems| {
        problems.iter().map(|problem| Finding {
            code: problem.code.as_str(),
            level: None,
            path: &problem.path,
            message: &problem.message,
            location: Some(place(&problems.sources().location(problem.span))),
            hint: problem.hint.as_deref(),
        })
    });
    let told = notes.iter().map(|note| Finding {
        code: note.code.as_str(),
        level: Some(match note.code.level() {
            Level::Info => "info",
            Level::Warning => "warning",
        }),
        path: &note.path,
        message: &note.message,
        location: Some(place(&note.location)),
        hint: None,
    });
    let plain = plain.iter().map(|note| Finding {
        code: "environment-differs",
        level: Some("info"),
        path: "",
        message: note,
        location: None,
        hint: None,
    });
    let problems: Vec<Finding<'_>> = found.collect();
    let report = Report {
        format: FORMAT,
        valid: problems.is_empty(),
        files: files.to_vec(),
        problems,
        notes: told.chain(plain).collect(),
    };
    pretty(&report)
}

fn place(location: &Location) -> Place {
    Place { file: location.file.to_string(), line: location.line, column: location.column }
}
