//! `statectl schema`: the JSON Schemas of the desired-state file and of the reports.

use super::Ending;
use crate::dsf;
use crate::failure::{Failure, FailureClass};
use crate::report;
use crate::text;
use crate::ui;

/// Prints the schema of a format; without a name that of the desired-state file.
///
/// # Errors
/// There is no such format.
pub fn run(format: Option<&str>) -> Result<Ending, Failure> {
    let Some(name) = format else {
        ui::result(&report::schema_json(&dsf::json_schema()));
        return Ok(Ending::default());
    };
    let Some(schema) = report::schema_of(name) else {
        let failure = Failure::new(FailureClass::Usage, format!("there is no format `{name}`"));
        let known = || report::SCHEMAS.iter().map(|(known, _)| *known);
        return Err(failure.hint(match text::closest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
        }));
    };
    ui::result(schema);
    Ok(Ending::default())
}
