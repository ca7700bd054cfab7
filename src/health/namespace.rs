//! Namespaces: open for new objects.

use serde_json::Value as Json;

use super::Health;
use super::read::{list, text};

pub(super) fn health(object: &Json) -> Health {
    if text(object, "/status/phase") != "Terminating" {
        return Health::ready();
    }
    let stuck =
        list(object, "/status/conditions").iter().find(|condition| text(condition, "/status") == "True");
    Health::Progressing(match stuck {
        Some(condition) => format!("is being deleted: {}", text(condition, "/message")),
        None => "is being deleted".to_owned(),
    })
}
