//! CronJobs do their work by being there.

use serde_json::Value as Json;

use super::Health;

pub(super) fn health(object: &Json) -> Health {
    if object.pointer("/spec/suspend").and_then(Json::as_bool) == Some(true) {
        return Health::noted("suspended");
    }
    Health::ready()
}
