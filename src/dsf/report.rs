//! Collects problems and notes while files are read.

use super::notes::{Note, NoteCode};
use super::problems::Problem;
use crate::text::{Sources, Span, printable};
use std::collections::HashSet;

/// What was found so far, with the texts that positions refer to.
pub(super) struct Report<'a> {
    pub(super) sources: &'a Sources,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
    said: HashSet<(NoteCode, Span, String)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(sources: &'a Sources, problems: Vec<Problem>) -> Self {
        Report { sources, problems, notes: Vec::new(), said: HashSet::new() }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub(super) fn note(&mut self, code: NoteCode, path: &str, message: String, span: Span) {
        // A file is looked at more than once; what is said about one place in it is said once.
        if self.said.insert((code, span, message.clone())) {
            let path = printable(path);
            self.notes.push(Note {
                code,
                path,
                message: printable(&message),
                location: self.sources.location(span),
            });
        }
    }
}
