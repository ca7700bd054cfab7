//! Collects problems and notes while files are read.

use super::notes::{Note, NoteCode};
use super::problems::{Code, Problem};
use crate::text::{Sources, Span, closest, printable};
use std::collections::HashSet;

/// Names that suggestions are looked for in, over a whole run: with many mistakes among many names, looking
/// would take longer than reading the files.
const MOST_COMPARISONS: usize = 100_000;

/// What was found so far, with the texts that positions refer to.
pub(super) struct Report<'a> {
    pub(super) sources: &'a Sources,
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
    said: HashSet<(NoteCode, Span, String)>,
    comparisons_left: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(sources: &'a Sources, problems: Vec<Problem>) -> Self {
        let comparisons_left = MOST_COMPARISONS;
        Report { sources, problems, notes: Vec::new(), said: HashSet::new(), comparisons_left }
    }

    /// Returns the candidate that `word` most likely stands for; nothing after very many questions.
    pub(super) fn closest<'n>(
        &mut self,
        word: &str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        let left = &mut self.comparisons_left;
        let bounded = candidates.into_iter().take_while(|_| {
            *left = left.saturating_sub(1);
            *left > 0
        });
        closest(word, bounded)
    }

    /// The same as a sentence.
    pub(super) fn did_you_mean<'n>(
        &mut self,
        word: &str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Option<String> {
        self.closest(word, candidates).map(|near| format!("did you mean `{near}`?"))
    }

    /// Turns the problems of a kind into notes.
    pub(super) fn downgrade(&mut self, code: Code) {
        let (found, kept) = std::mem::take(&mut self.problems).into_iter().partition(|p| p.code == code);
        self.problems = kept;
        for problem in Vec::from_iter(found) {
            self.note(NoteCode::NotSupportedYet, &problem.path, problem.message, problem.span);
        }
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
