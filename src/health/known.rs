//! Custom resources whose readiness is known here: see the table.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value as Json;

use super::Health;
use super::read::{condition, count, not_seen, text};
use super::table::RULES;
use crate::expression::{Expression, ExpressionError};

/// What tells best why an object is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The words of a condition.
    Condition(&'static str),
    /// A field, by its JSON pointer; empty if there is none.
    Field(&'static str),
}

/// When objects of some kinds are ready.
#[derive(Clone, Copy, Debug)]
pub struct KnownRule {
    /// The API group.
    pub group: &'static str,
    /// The kinds.
    pub kinds: &'static [&'static str],
    /// Holds for an object that is ready.
    pub current: &'static str,
    /// Holds for an object that does not work; it may still heal by itself.
    pub failed: Option<&'static str>,
    /// What tells best why it is not ready.
    pub says: Says,
    /// Where the kind is described.
    pub docs: &'static str,
}

/// Returns the rules, by group.
pub fn known_rules() -> &'static [KnownRule] {
    RULES
}

/// Returns the rule for a kind, if there is one.
pub(super) fn rule(group: &str, kind: &str) -> Option<&'static KnownRule> {
    RULES.iter().find(|rule| rule.group == group && rule.kinds.contains(&kind))
}

/// Returns the state of an object by its rule.
pub(super) fn health(object: &Json, rule: &KnownRule) -> Health {
    if let Says::Condition(kind) = rule.says
        && let Some(found) = condition(object, kind)
        && found.generation.is_some_and(|seen| seen < count(object, "/metadata/generation"))
    {
        return not_seen();
    }
    if rule.failed.is_some_and(|failed| holds(failed, object) == Ok(true)) {
        return Health::Failing(why(object, rule));
    }
    match holds(rule.current, object) {
        Ok(true) => Health::ready(),
        Ok(false) => Health::Progressing(why(object, rule)),
        Err(_) if is_bare(object) => Health::Progressing(why(object, rule)),
        // A status of a shape that nobody foresaw is no reason to fail.
        Err(error) => Health::Progressing(error.to_string()),
    }
}

fn is_bare(object: &Json) -> bool {
    object.get("status").and_then(Json::as_object).is_none_or(serde_json::Map::is_empty)
}

fn why(object: &Json, rule: &KnownRule) -> String {
    if is_bare(object) {
        return "its controller has written no status yet".to_owned();
    }
    match rule.says {
        Says::Condition(kind) => {
            let found = condition(object, kind).or_else(|| condition(object, "Ready"));
            match found.filter(|found| !found.is_true() && !found.words().is_empty()) {
                Some(found) => found.words(),
                None => format!("waits for {}", rule.current),
            }
        }
        Says::Field(pointer) => {
            let value = text(object, pointer);
            let name = pointer.trim_start_matches('/').replace('/', ".");
            if value.is_empty() {
                format!("waits for {}", rule.current)
            } else {
                format!("{name} is {value}")
            }
        }
    }
}

/// Asks a condition of the table; each is read once.
fn holds(source: &'static str, object: &Json) -> Result<bool, ExpressionError> {
    static READ: OnceLock<Mutex<BTreeMap<&'static str, Expression>>> = OnceLock::new();
    let expression = {
        let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        match read.get(source) {
            Some(expression) => expression.clone(),
            None => read.entry(source).or_insert(Expression::parse(source)?).clone(),
        }
    };
    expression.holds(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(group: &str, kind: &str, spec: &Json, status: &Json) -> Health {
        let object = json!({"apiVersion": format!("{group}/v1"), "kind": kind,
            "metadata": {"name": "x", "generation": 3}, "spec": spec, "status": status});
        super::super::health(&object, &super::super::Evidence::default())
    }

    #[test]
    fn every_rule_is_read_and_takes_no_object_without_a_status_for_ready() {
        let mut seen = std::collections::BTreeSet::new();
        for rule in RULES {
            for expression in [Some(rule.current), rule.failed].into_iter().flatten() {
                Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
            }
            assert!(rule.docs.starts_with("https://") && !rule.kinds.is_empty());
            for kind in rule.kinds {
                assert!(seen.insert((rule.group, *kind)), "{kind} has two rules");
                for status in [json!(null), json!({})] {
                    let health = told(rule.group, kind, &json!({}), &status);
                    let expected = Health::progressing("its controller has written no status yet");
                    assert_eq!(health, expected, "{kind}.{}", rule.group);
                }
                let strange = told(rule.group, kind, &json!({}), &json!({"conditions": [], "strange": 1}));
                assert!(!strange.is_ready(), "{kind}.{}: {strange:?}", rule.group);
            }
        }
        assert!(RULES.is_sorted_by_key(|rule| rule.group), "the rules are sorted by group");
    }

    #[test]
    fn rules_by_a_condition_follow_it() {
        for rule in RULES {
            let Says::Condition(kind) = rule.says else { continue };
            let conditions = |status: &str, generation: i64| {
                let one = |kind: &str| {
                    json!({"type": kind, "status": status, "reason": "Because", "message": "words",
                        "observedGeneration": generation})
                };
                json!({"conditions": [one(kind), one("Installed")]})
            };
            let health = |status: &str, generation| {
                told(rule.group, rule.kinds[0], &json!({}), &conditions(status, generation))
            };
            assert_eq!(health("True", 3), Health::ready(), "{}", rule.group);
            assert_eq!(health("Unknown", 3), Health::progressing("Because: words"), "{}", rule.group);
            assert_eq!(
                health("True", 2),
                Health::progressing("the controller has not seen the change yet"),
                "{}",
                rule.group
            );
        }
    }

    #[test]
    fn rules_by_fields_follow_them() {
        let none = json!({});
        let parent = |resolved: &str| {
            json!({"conditions": [{"type": "Accepted", "status": "True"},
            {"type": "ResolvedRefs", "status": resolved}]})
        };
        for (kind, spec, status, expected) in [
            ("Rollout.argoproj.io", &none, json!({"phase": "Healthy", "observedGeneration": "3"}), "ready"),
            (
                "Rollout.argoproj.io",
                &none,
                json!({"phase": "Healthy", "observedGeneration": "2"}),
                "progressing: status.phase is Healthy",
            ),
            (
                "Rollout.argoproj.io",
                &none,
                json!({"phase": "Degraded", "observedGeneration": "3"}),
                "failing: status.phase is Degraded",
            ),
            (
                "Application.argoproj.io",
                &none,
                json!({"health": {"status": "Healthy"}, "sync": {"status": "OutOfSync"}}),
                "progressing: status.health.status is Healthy",
            ),
            (
                "Application.argoproj.io",
                &none,
                json!({"health": {"status": "Healthy"}, "sync": {"status": "Synced"}}),
                "ready",
            ),
            ("HTTPRoute.gateway.networking.k8s.io", &none, json!({"parents": [parent("True")]}), "ready"),
            (
                "HTTPRoute.gateway.networking.k8s.io",
                &none,
                json!({"parents": [parent("True"), parent("False")]}),
                "progressing: waits for size(status.parents)",
            ),
            (
                "HTTPRoute.gateway.networking.k8s.io",
                &none,
                json!({"parents": []}),
                "progressing: waits for size(status.parents)",
            ),
            ("HelmRepository.source.toolkit.fluxcd.io", &json!({"type": "oci"}), json!(null), "ready"),
            ("Pooler.postgresql.cnpg.io", &json!({"instances": 2}), json!({"instances": 2}), "ready"),
            (
                "Pooler.postgresql.cnpg.io",
                &json!({"instances": 2}),
                json!({"instances": 1}),
                "progressing: waits for status.instances",
            ),
            (
                "Database.postgresql.cnpg.io",
                &none,
                json!({"applied": false, "message": "no such role"}),
                "failing: status.message is no such role",
            ),
            ("Database.postgresql.cnpg.io", &none, json!({"applied": true}), "ready"),
            ("VolumeSnapshot.snapshot.storage.k8s.io", &none, json!({"readyToUse": true}), "ready"),
            (
                "Service.serving.knative.dev",
                &none,
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "RevisionFailed", "message": "m"}]}),
                "failing: RevisionFailed: m",
            ),
            (
                "Cluster.cluster.x-k8s.io",
                &none,
                json!({"conditions": [{"type": "Ready", "status": "True"}]}),
                "ready",
            ),
            (
                "CertificateRequest.cert-manager.io",
                &none,
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Failed", "message": "no"}]}),
                "failing: Failed: no",
            ),
        ] {
            let (kind, group) = kind.split_once('.').unwrap();
            let told = match told(group, kind, spec, &status) {
                Health::Ready(_) => "ready".to_owned(),
                Health::Progressing(why) => format!("progressing: {why}"),
                Health::Failing(why) => format!("failing: {why}"),
                Health::Failed(why) => format!("failed: {why}"),
            };
            assert!(told.starts_with(expected), "{kind} {status}: {told}");
        }
    }
}
