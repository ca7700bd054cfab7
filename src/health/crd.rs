//! CustomResourceDefinitions: served under the names they ask for.

use serde_json::Value as Json;

use super::Health;
use super::read::condition;

pub(super) fn health(object: &Json) -> Health {
    if let Some(names) = condition(object, "NamesAccepted").filter(|names| names.is_false()) {
        return Health::Failed(names.words());
    }
    match condition(object, "Established") {
        Some(established) if established.is_true() => Health::ready(),
        // `Installing` lasts for a few seconds; any other reason is a refusal.
        Some(established) if established.is_false() && established.reason != "Installing" => {
            Health::Failed(established.words())
        }
        _ => Health::progressing("not served yet"),
    }
}
