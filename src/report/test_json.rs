//! `statectl.test/v1`.

use serde::Serialize;

use super::plan_json::pretty;
use crate::execute::Tested;
use crate::model::ClusterIdentity;

#[derive(Serialize)]
struct TestReport<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    releases: Vec<ReleaseReport<'a>>,
}

#[derive(Serialize)]
struct ReleaseReport<'a> {
    namespace: &'a str,
    name: &'a str,
    passed: bool,
    tests: Vec<TestRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct TestRow<'a> {
    name: &'a str,
    result: &'a str,
}

/// Returns how the tests of each release ended, as one JSON document with a final newline.
pub fn test_json(cluster: &ClusterIdentity, context: &str, tested: &[Tested]) -> String {
    let releases = tested.iter().map(|release| ReleaseReport {
        namespace: &release.key.namespace,
        name: &release.key.name,
        passed: release.failure.is_none(),
        tests: release.tests.iter().map(|(name, result)| TestRow { name, result }).collect(),
        message: release.failure.as_deref(),
    });
    pretty(&TestReport { format: "statectl.test/v1", cluster, context, releases: releases.collect() })
}
