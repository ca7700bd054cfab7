//! `statectl fmt`: lays files out in one style. Nothing that they say changes. Needs no cluster.

use std::path::{Path, PathBuf};

use super::{Ending, load};
use crate::dsf;
use crate::failure::{Failure, FailureClass};
use crate::host::files;
use crate::text::plural;
use crate::ui;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The files; `-` is the standard input, whose layout goes to stdout.
    pub files: Vec<PathBuf>,
    /// Nothing is written: what would change is told, and counts as a failure.
    pub check: bool,
    /// What the standard input would be called: the ending tells the syntax.
    pub stdin_name: String,
}

/// Lays the files out and prints the names of those that changed, or would.
///
/// # Errors
/// A file cannot be read, is not well formed, or cannot be written. All files are read before one is written.
pub fn run(request: &Request) -> Result<Ending, Failure> {
    if request.files.is_empty() {
        let failure = Failure::new(FailureClass::Usage, "fmt: no file is named");
        return Err(failure.hint("name the files, or `-` for the standard input: `statectl fmt shop.toml`"));
    }
    let mut changed = Vec::new();
    let mut wrong = Vec::new();
    for path in &request.files {
        let bytes = files::read(path).map_err(|error| {
            Failure::of(format!("{}: the file cannot be read", path.display()), &error).usage()
        })?;
        let stdin = path == Path::new("-");
        let name = if stdin { request.stdin_name.clone() } else { path.display().to_string() };
        match dsf::laid_out(&name, &bytes) {
            Err(problems) => wrong.push(problems),
            Ok(text) if stdin && !request.check => ui::document(&text),
            Ok(text) if text.as_bytes() != bytes => changed.push((path, name, text)),
            Ok(_) => {}
        }
    }
    // One file with problems must not leave the others half done.
    if let Some(first) = wrong.first() {
        for problems in wrong.iter().skip(1) {
            ui::message(&load::refused(problems).to_string());
        }
        return Err(load::refused(first));
    }
    for (path, name, text) in &changed {
        if !request.check {
            files::replace(path, text.as_bytes())
                .map_err(|error| Failure::of(format!("{name}: the file cannot be written"), &error))?;
        }
        ui::result(&format!("{name}\n"));
    }
    if request.check && !changed.is_empty() {
        let (count, verb) = (plural(changed.len(), "file"), if changed.len() == 1 { "is" } else { "are" });
        ui::message(&format!("{count} {verb} not laid out; `statectl fmt` without --check does it"));
        return Ok(Ending { failed: true, ..Ending::default() });
    }
    Ok(Ending::default())
}
