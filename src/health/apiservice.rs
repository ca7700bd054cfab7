//! APIServices: the aggregated server answers.

use serde_json::Value as Json;

use super::Health;
use super::read::condition;

pub(super) fn health(object: &Json) -> Health {
    match condition(object, "Available") {
        Some(available) if available.is_true() => Health::ready(),
        Some(available) => Health::Progressing(available.words()),
        None => Health::progressing("not available yet"),
    }
}
