//! What a person should know about files that are fine.

use crate::text::Location;
use std::fmt;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Probably not meant so, or dangerous.
    Warning,
}

/// The kind of a note. Its name is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteCode {
    /// A later file replaces a value.
    Override,
    /// A later file takes a protection away.
    Unprotected,
    /// A key is not spelled as it should be.
    KeySpelling,
    /// A key is given twice; the last one counts.
    DuplicateKey,
    /// A key does not exist and is ignored.
    UnknownKey,
    /// A key means nothing here.
    NoEffect,
    /// A value that is not text is taken as text.
    ReadAsText,
    /// A release is disabled because nobody says that it should exist.
    NotEnabled,
    /// A chart version is not fixed.
    Latest,
    /// A file is not beside the file that names it, but in the working folder.
    FromWorkingFolder,
    /// The value of a variable holds variables, which are left as they are.
    NotExpanded,
    /// Two sources give a variable different values.
    EnvironmentDiffers,
    /// A key or form is checked here, and refused by the verbs that would need it.
    NotSupportedYet,
    /// Helmsman does something else.
    DiffersFromHelmsman,
}

impl NoteCode {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            NoteCode::Override => "override",
            NoteCode::Unprotected => "unprotected",
            NoteCode::KeySpelling => "key-spelling",
            NoteCode::DuplicateKey => "duplicate-key",
            NoteCode::UnknownKey => "unknown-key",
            NoteCode::NoEffect => "no-effect",
            NoteCode::ReadAsText => "read-as-text",
            NoteCode::NotEnabled => "not-enabled",
            NoteCode::Latest => "latest",
            NoteCode::FromWorkingFolder => "from-working-folder",
            NoteCode::NotExpanded => "not-expanded",
            NoteCode::EnvironmentDiffers => "environment-differs",
            NoteCode::NotSupportedYet => "not-supported-yet",
            NoteCode::DiffersFromHelmsman => "differs-from-helmsman",
        }
    }

    /// Returns how much notes of this kind matter.
    pub fn level(self) -> Level {
        match self {
            NoteCode::Unprotected
            | NoteCode::DuplicateKey
            | NoteCode::UnknownKey
            | NoteCode::Latest
            | NoteCode::FromWorkingFolder
            | NoteCode::NotSupportedYet => Level::Warning,
            NoteCode::Override
            | NoteCode::KeySpelling
            | NoteCode::NoEffect
            | NoteCode::ReadAsText
            | NoteCode::NotEnabled
            | NoteCode::NotExpanded
            | NoteCode::EnvironmentDiffers
            | NoteCode::DiffersFromHelmsman => Level::Info,
        }
    }
}

/// One note. Prints as `file:line:column: path: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What kind of note.
    pub code: NoteCode,
    /// The path of the key.
    pub path: String,
    /// What to know. Never a value.
    pub message: String,
    /// Where.
    pub location: Location,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.location)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
