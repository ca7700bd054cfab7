//! `statectl schema`: the JSON Schema of the desired-state file.

use super::Ending;
use crate::dsf;
use crate::report;
use crate::ui;

/// Prints the schema.
pub fn run() -> Ending {
    ui::result(&report::schema_json(&dsf::json_schema()));
    Ending::default()
}
