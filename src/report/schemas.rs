//! The published JSON Schemas of the formats.

/// Each tag without `statectl.` and version, and its schema.
pub const SCHEMAS: [(&str, &str); 23] = [
    ("affected", include_str!("../../docs/reference/schemas/affected.json")),
    ("clusters", include_str!("../../docs/reference/schemas/clusters.json")),
    ("config", include_str!("../../docs/reference/schemas/config.json")),
    ("diff", include_str!("../../docs/reference/schemas/diff.json")),
    ("doctor", include_str!("../../docs/reference/schemas/doctor.json")),
    ("drift", include_str!("../../docs/reference/schemas/drift.json")),
    ("event", include_str!("../../docs/reference/schemas/event.json")),
    ("graph", include_str!("../../docs/reference/schemas/graph.json")),
    ("history", include_str!("../../docs/reference/schemas/history.json")),
    ("lock", include_str!("../../docs/reference/schemas/lock.json")),
    ("locks", include_str!("../../docs/reference/schemas/locks.json")),
    ("notification", include_str!("../../docs/reference/schemas/notification.json")),
    ("plan", include_str!("../../docs/reference/schemas/plan.json")),
    ("rbac", include_str!("../../docs/reference/schemas/rbac.json")),
    ("run", include_str!("../../docs/reference/schemas/run.json")),
    ("run-record", include_str!("../../docs/reference/schemas/run-record.json")),
    ("runs", include_str!("../../docs/reference/schemas/runs.json")),
    ("runs-diff", include_str!("../../docs/reference/schemas/runs-diff.json")),
    ("saved-plan", include_str!("../../docs/reference/schemas/saved-plan.json")),
    ("status", include_str!("../../docs/reference/schemas/status.json")),
    ("test", include_str!("../../docs/reference/schemas/test.json")),
    ("unlock", include_str!("../../docs/reference/schemas/unlock.json")),
    ("validate", include_str!("../../docs/reference/schemas/validate.json")),
];

/// Returns the schema of a format, named `plan` or `statectl.plan/v1`.
pub fn schema_of(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("statectl.").unwrap_or(name);
    let name = name.strip_suffix("/v1").unwrap_or(name);
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, schema)| *schema)
}
