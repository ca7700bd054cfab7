//! `statectl config`: what the files say together, and where each key was given. Needs no cluster.

use std::collections::BTreeMap;

use super::load::{self, Files, Look};
use super::{Ending, Outputs};
use crate::failure::Failure;
use crate::report;
use crate::ui;

/// Reads the files and shows the result.
///
/// # Errors
/// The files have problems, or the output cannot be written.
pub fn run(
    files: &Files,
    environment: &BTreeMap<String, String>,
    outputs: &Outputs,
) -> Result<Ending, Failure> {
    let read = files.read(environment, Look { check_only: true, skip_charts: true })?;
    let loaded = read.loaded.map_err(|problems| load::refused(&problems))?;
    let config = loaded.config();
    let names: Vec<&str> = loaded.files().collect();
    outputs.write(
        |_| ui::config_view::render(&config),
        || report::config_json(&config, &names, files.environment.as_deref()),
    )?;
    Ok(Ending::default())
}
