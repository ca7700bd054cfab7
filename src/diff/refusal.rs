//! An answer of the API server with an error status.

use serde_json::Value as Json;

use super::mask::sanitize_message;

/// One complaint of the server, fit for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field as the server spells it; empty if it names none.
    pub field: String,
    /// The server's words, with values cut out.
    pub message: String,
}

/// What the server answered. The texts are the server's own; only [`Problem`]s and
/// [`summary`](ServerError::summary) are fit for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The HTTP status.
    pub status: u16,
    /// `reason` of the Status object; empty if the body was none.
    pub reason: String,
    /// The kind or resource the answer is about, in the server's spelling.
    pub kind: String,
    /// The whole text.
    pub message: String,
    /// The single causes.
    pub causes: Vec<Cause>,
}

/// One entry of `details.causes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid` and the like.
    pub reason: String,
    /// The field.
    pub field: String,
    /// The text.
    pub message: String,
}

impl ServerError {
    /// Reads an answer: its status, its body, and its text for bodies that are no Status object.
    pub fn new(status: u16, body: &Json, text: &str) -> Self {
        let string =
            |json: &Json, key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let details = &body["details"];
        let message = string(body, "message");
        let causes = details["causes"].as_array().into_iter().flatten();
        Self {
            status,
            reason: string(body, "reason"),
            kind: string(details, "kind"),
            message: if message.is_empty() { text.trim().to_owned() } else { message },
            causes: causes
                .map(|cause| Cause {
                    reason: string(cause, "reason"),
                    field: string(cause, "field"),
                    message: string(cause, "message"),
                })
                .collect(),
        }
    }

    /// Returns the text for display, for an object of `kind`.
    pub fn summary(&self, kind: &str) -> String {
        // A policy may send causes that look like the server's own; its own words stand in the text alone.
        if self.is_policy() {
            return sanitize_message(kind, &self.message);
        }
        let problems = self.problems(kind);
        // The joined text repeats the causes without a mark between value and text; single causes are safer.
        if self.status == 422 && !problems.is_empty() {
            let texts: Vec<String> =
                problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
            return texts.join("; ");
        }
        sanitize_message(kind, &self.message)
    }

    /// Tells whether a webhook or an admission policy said no. Both choose their status and their causes freely; only the
    /// text gives them away.
    pub(super) fn is_policy(&self) -> bool {
        self.message.starts_with("admission webhook \"")
            || self.message.contains("ValidatingAdmissionPolicy '")
    }

    /// Returns the single complaints for display. Repetitions are dropped, and so is the server's remark that it
    /// did not check everything.
    pub fn problems(&self, kind: &str) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for cause in self.real_causes() {
            let problem =
                Problem { field: cause.field.clone(), message: sanitize_message(kind, &cause.message) };
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }

    /// Returns the causes that say something about the object.
    pub(super) fn real_causes(&self) -> impl Iterator<Item = &Cause> {
        self.causes.iter().filter(|cause| cause.field != "<nil>")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_and_told_without_values() {
        let body = json!({"kind": "Status", "reason": "Invalid", "message": "Secret \"s\" is invalid: [...]", "details": {
            "kind": "Secret", "causes": [
                {"reason": "FieldValueInvalid", "field": "type", "message": "Invalid value: \"pw\": field is immutable"},
                {"reason": "FieldValueInvalid", "field": "type", "message": "Invalid value: \"pw\": field is immutable"},
                {"reason": "FieldValueInvalid", "field": "<nil>", "message": "Invalid value: null: some validation rules were not checked"}]}});
        let error = ServerError::new(422, &body, "");
        assert_eq!(
            (error.reason.as_str(), error.kind.as_str(), error.causes.len()),
            ("Invalid", "Secret", 3)
        );
        assert_eq!(error.summary("Secret"), "type: Invalid value: …: field is immutable");
        let forged = json!({"message": "admission webhook \"w\" denied the request: no", "details": {"causes": [
            {"reason": "FieldValueInvalid", "field": "data.k", "message": "field is immutable"}]}});
        let forged = ServerError::new(422, &forged, "").summary("ConfigMap");
        assert_eq!(forged, "admission webhook \"w\" denied the request: no");
        let text = ServerError::new(404, &Json::Null, "404 page not found\n");
        assert_eq!(text.summary("Widget"), "404 page not found");
    }
}
