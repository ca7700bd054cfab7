//! Objects whose readiness the desired-state file defines: `ready = [{ kind, current, failed }]`.

use serde_json::Value as Json;

use super::Health;
use crate::dsf::state::ReadyRule;
use crate::expression::Expression;

/// Returns the state of an object by its rule.
pub(super) fn health(object: &Json, rule: &ReadyRule) -> Health {
    let asked = |expression: &Expression| expression.holds(object);
    match rule.failed.as_ref().map(asked) {
        Some(Ok(true)) => {
            let condition = rule.failed.as_ref().map(ToString::to_string).unwrap_or_default();
            return Health::failed(format!("it has failed: {condition}"));
        }
        Some(Err(error)) => return Health::failed(error.to_string()),
        Some(Ok(false)) | None => {}
    }
    match asked(&rule.current) {
        Ok(true) => Health::ready(),
        Ok(false) => Health::progressing(format!("waits for {}", rule.current)),
        Err(error) => Health::failed(error.to_string()),
    }
}

/// Returns the rule for an object, if the file has one.
pub(super) fn rule<'a>(rules: &'a [ReadyRule], group: &str, kind: &str) -> Option<&'a ReadyRule> {
    rules.iter().find(|rule| match rule.kind.split_once('.') {
        Some((wanted, in_group)) => wanted == kind && in_group == group,
        None => rule.kind == kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rules_of_the_file_come_before_the_built_in_ones() {
        let parse = |text: &str| Expression::parse(text).unwrap();
        let rules = [
            ReadyRule {
                kind: "Cluster.db.example.org".to_owned(),
                current: parse("status.phase == 'Healthy'"),
                failed: Some(parse("status.phase == 'Broken'")),
            },
            ReadyRule { kind: "Strange".to_owned(), current: parse("status.phase"), failed: None },
        ];
        let health = |api_version: &str, kind: &str, phase: &str| {
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2},
                "status": {"phase": phase, "observedGeneration": 2}});
            let evidence = super::super::Evidence { rules: &rules, ..Default::default() };
            super::super::health(&object, &evidence)
        };
        let group = "db.example.org/v1";
        assert_eq!(health(group, "Cluster", "Healthy"), Health::ready());
        assert_eq!(
            health(group, "Cluster", "Starting"),
            Health::progressing("waits for status.phase == 'Healthy'")
        );
        assert_eq!(
            health(group, "Cluster", "Broken"),
            Health::failed("it has failed: status.phase == 'Broken'")
        );
        // Another group of the same kind has its own rules, or none.
        assert_eq!(health("other.example.org/v1", "Cluster", "Starting"), Health::ready());
        let strange = health("other.example.org/v1", "Strange", "x");
        assert_eq!(strange, Health::failed("`status.phase` cannot be asked: it is neither true nor false"));
    }
}
