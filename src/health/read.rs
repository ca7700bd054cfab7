//! Reading status: conditions, counts and generations, the same in every kind.

use serde_json::Value as Json;

use super::Health;

/// Returns the text at a JSON pointer; empty if there is none.
pub(super) fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// Returns the integer at a JSON pointer.
pub(super) fn integer(object: &Json, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}

/// Returns the count at a JSON pointer; controllers leave zeros out.
pub(super) fn count(object: &Json, pointer: &str) -> i64 {
    integer(object, pointer).unwrap_or(0)
}

/// Returns the elements of the list at a JSON pointer.
pub(super) fn list<'a>(object: &'a Json, pointer: &str) -> &'a [Json] {
    object.pointer(pointer).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// One entry of `status.conditions`.
pub(super) struct Condition<'a> {
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
    /// The generation it was written for, where a controller says so.
    pub(super) generation: Option<i64>,
}

impl Condition<'_> {
    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(super) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// Returns the words of the controller: reason and message, or what there is of them.
    pub(super) fn words(&self) -> String {
        join(self.reason, self.message)
    }
}

/// Joins a reason and its message.
pub(super) fn join(reason: &str, message: &str) -> String {
    match (reason, message.trim()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Returns a condition by type.
pub(super) fn condition<'a>(object: &'a Json, kind: &str) -> Option<Condition<'a>> {
    list(object, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind).map(
        |condition| Condition {
            status: text(condition, "/status"),
            reason: text(condition, "/reason"),
            message: text(condition, "/message"),
            generation: integer(condition, "/observedGeneration"),
        },
    )
}

/// Returns the state of an object that is being deleted: never ready, whatever its status says, because it
/// will vanish.
pub(super) fn deletion(object: &Json) -> Option<Health> {
    object.pointer("/metadata/deletionTimestamp").filter(|time| !time.is_null())?;
    let finalizers: Vec<&str> =
        list(object, "/metadata/finalizers").iter().filter_map(Json::as_str).collect();
    Some(Health::Progressing(if finalizers.is_empty() {
        "is being deleted".to_owned()
    } else {
        format!("is being deleted, held by {}", finalizers.join(", "))
    }))
}

/// Returns the state of an object whose controller has not seen the last change.
pub(super) fn unseen_change(object: &Json) -> Option<Health> {
    let seen = integer(object, "/status/observedGeneration")?;
    (seen < count(object, "/metadata/generation")).then(not_seen)
}

/// As [`unseen_change`], for kinds whose controller always writes the generation.
pub(super) fn never_seen(object: &Json) -> Option<Health> {
    let generation = count(object, "/metadata/generation");
    (generation > 0 && integer(object, "/status/observedGeneration").is_none()).then(not_seen)
}

pub(super) fn not_seen() -> Health {
    Health::progressing("the controller has not seen the change yet")
}

/// Says how many of how many: `2 of 3 replicas ready`. `noun` is plural.
pub(super) fn of(done: i64, wanted: i64, noun: &str, what: &str) -> String {
    let noun = if wanted == 1 { noun.strip_suffix('s').unwrap_or(noun) } else { noun };
    format!("{done} of {wanted} {noun} {what}")
}
