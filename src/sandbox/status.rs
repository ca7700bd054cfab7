//! What the server says when it refuses: the error bodies of a real API server.

/// One reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Such as `FieldValueInvalid`.
    pub reason: String,
    /// The text after the field.
    pub message: String,
    /// The path of the field; empty for none.
    pub field: String,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// Such as `Conflict`; empty where the server gives none.
    pub reason: String,
    /// What people read.
    pub message: String,
    /// The reasons one by one.
    pub causes: Vec<Cause>,
}

impl Failure {
    /// Returns a refusal without causes.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { code, reason: reason.to_owned(), message: message.into(), causes: Vec::new() }
    }

    /// A request that makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }
}
