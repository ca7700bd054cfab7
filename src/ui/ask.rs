//! The question before something is changed.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Tells whether there is somebody to ask.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A question whose answer is one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// The only answer that is a yes.
    pub yes: String,
}

/// Asks on the terminal, one question after the other, and returns whether all were answered with a yes. Anything else is
/// a no, and ends it.
pub fn consent(questions: &[Question]) -> bool {
    questions.iter().all(|question| {
        let mut err = std::io::stderr().lock();
        let text = super::told(&question.text);
        let asked = write!(err, "{text} Only `{}` is a yes: ", question.yes).and_then(|()| err.flush());
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        asked.is_ok() && read.is_ok() && answer.trim() == question.yes
    })
}
