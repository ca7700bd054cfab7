//! The question before something is changed.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Tells whether there is somebody to ask.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on the terminal and returns whether the answer is `yes`. Anything else is a no.
pub fn consent(question: &str) -> bool {
    let mut err = std::io::stderr().lock();
    let asked = write!(err, "{question} Only `yes` is a yes: ").and_then(|()| err.flush());
    let mut answer = String::new();
    asked.is_ok() && std::io::stdin().lock().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}
