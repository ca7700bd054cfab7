//! Conditions on objects, in the Common Expression Language: `status.phase == 'Healthy'`.
//!
//! The members of the object are the variables; `self` is the object itself. What an expression asks for and the object
//! does not have yet makes it not hold, as in the health checks of other deployers.

use std::fmt;
use std::sync::Arc;

use cel::{Context, ExecutionError, Program, Value as CelValue};
use serde_json::Value as Json;

/// Longer ones are mistakes, and a bound keeps their parts from nesting without end.
const LONGEST: usize = 2_000;
/// How many signs (operators, dots, parentheses) one may have: each can nest the rest once more, and the interpreter
/// takes stack for it.
const MOST_SIGNS: usize = 150;

/// Stack for them; the operating system hands out the part that is touched.
const STACK: usize = 64 << 20;

/// A condition that was read without a problem.
#[derive(Clone)]
pub struct Expression {
    source: String,
    program: Arc<Program>,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.source)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It is too long, or has too many parts.
    #[error(
        "an expression has at most {LONGEST} characters, and {MOST_SIGNS} operators, dots and parentheses"
    )]
    TooLarge,
    /// It is not of the language.
    #[error("not an expression: {0}")]
    Syntax(String),
    /// What it asks for cannot be asked of this object.
    #[error("`{expression}` cannot be asked: {why}")]
    Wrong {
        /// The expression.
        expression: String,
        /// The finding of the interpreter.
        why: String,
    },
}

impl Expression {
    /// Reads a condition.
    ///
    /// # Errors
    /// The text is too large, or no expression.
    pub fn parse(source: &str) -> Result<Self, ExpressionError> {
        let signs = source.chars().filter(char::is_ascii_punctuation).count();
        if source.len() > LONGEST || signs > MOST_SIGNS {
            return Err(ExpressionError::TooLarge);
        }
        let compiled = with_room(|| Program::compile(source).map_err(|errors| errors.to_string()));
        let program = compiled.unwrap_or_else(Err).map_err(|text| ExpressionError::Syntax(finding(&text)))?;
        Ok(Self { source: source.to_owned(), program: Arc::new(program) })
    }

    /// Tells whether the condition holds for an object.
    ///
    /// # Errors
    /// The expression is not true or false, or compares what cannot be compared.
    pub fn holds(&self, object: &Json) -> Result<bool, ExpressionError> {
        let wrong = |why: String| ExpressionError::Wrong { expression: self.source.clone(), why };
        with_room(|| self.ask(object)).unwrap_or_else(|why| Err(wrong(why)))
    }

    fn ask(&self, object: &Json) -> Result<bool, ExpressionError> {
        let wrong = |why: String| ExpressionError::Wrong { expression: self.source.clone(), why };
        let mut context = Context::default();
        for (name, value) in object.as_object().into_iter().flatten() {
            context.add_variable(name.as_str(), value.clone()).map_err(|error| wrong(error.to_string()))?;
        }
        context.add_variable("self", object.clone()).map_err(|error| wrong(error.to_string()))?;
        match self.program.execute(&context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(_) => Err(wrong("it is neither true nor false".to_owned())),
            Err(ExecutionError::NoSuchKey(_) | ExecutionError::UndeclaredReference(_)) => Ok(false),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

/// Runs the parser or the interpreter with room to nest: each level takes many kilobytes of stack.
///
/// # Errors
/// There is no thread to be had, or the work panicked.
fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| error.to_string())?;
        thread.join().map_err(|_| "the reader of expressions gave up".to_owned())
    })
}

/// Returns what is wrong, and at which character, from the parser's text: `ERROR: <input>:1:16: Syntax error: WHAT
/// expecting {…}` with a picture of the place below.
fn finding(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (place, what) = first.split_once(" Syntax error: ").unwrap_or(("", first));
    let what = what.split(" expecting ").next().unwrap_or(what).replace("'<EOF>'", "the end");
    let column = place.trim_end_matches(':').rsplit(':').next().filter(|column| !column.is_empty());
    column.map_or_else(|| what.trim().to_owned(), |column| format!("{} at character {column}", what.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_are_asked_of_the_members_of_an_object() {
        let object = json!({
            "metadata": {"name": "db", "generation": 3},
            "spec": {"instances": 3},
            "status": {"phase": "Healthy", "readyInstances": 3, "observedGeneration": 3, "conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "False"}]},
        });
        for (text, expected) in [
            ("status.phase == 'Healthy'", Ok(true)),
            ("status.phase != 'Healthy'", Ok(false)),
            (
                "status.readyInstances == spec.instances && status.observedGeneration == metadata.generation",
                Ok(true),
            ),
            ("status.readyInstances > 3 || status.phase in ['Healthy', 'Ready']", Ok(true)),
            ("status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", Ok(true)),
            ("status.conditions.filter(c, c.type == 'Stalled').all(c, c.status == 'True')", Ok(false)),
            ("has(status.failure)", Ok(false)),
            ("!has(status.failure) && self.metadata.name.startsWith('d')", Ok(true)),
            // What is not there yet.
            ("status.missing == 'x'", Ok(false)),
            ("nowhere.at.all == 'x'", Ok(false)),
            ("status.phase", Err("neither true nor false")),
        ] {
            let found = Expression::parse(text).unwrap().holds(&object).map_err(|error| error.to_string());
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                _ => panic!("{text}: {found:?}"),
            }
        }
    }

    /// On half the stack of an ordinary thread.
    #[test]
    fn the_largest_expressions_are_answered_and_larger_ones_refused() {
        let ask = || {
            let object = json!({"a": true, "n": 1});
            for (part, end) in [
                ("!", "a"),
                ("- ", "n < 9"),
                ("a || ", "a"),
                ("n + ", "n < 9"),
                ("a ? a : ", "a"),
                ("[", "a"),
                ("self.", "a"),
            ] {
                let signs = part.chars().filter(char::is_ascii_punctuation).count();
                let fits = (MOST_SIGNS - 1) / signs;
                for count in [fits, fits / 2] {
                    if let Ok(expression) = Expression::parse(&(part.repeat(count) + end)) {
                        drop(expression.holds(&object));
                    }
                }
                let larger = part.repeat(MOST_SIGNS + 1) + end;
                assert_eq!(Expression::parse(&larger), Err(ExpressionError::TooLarge), "{part}");
            }
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(ask).unwrap().join().unwrap();
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["", "status.", "a ==", "'open", "(", ")", "a b", "a = 'b'", "\u{0}", "@"] {
            assert!(matches!(Expression::parse(text), Err(ExpressionError::Syntax(_))), "{text:?}");
        }
        for text in ["(".repeat(500), "a".repeat(5_000)] {
            assert_eq!(Expression::parse(&text), Err(ExpressionError::TooLarge));
        }
    }
}
