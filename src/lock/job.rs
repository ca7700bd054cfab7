//! The address of the CI job that runs this process.

use std::collections::BTreeMap;

/// Returns the address, from the variables that each CI system documents for it.
pub fn job_url(environment: &BTreeMap<String, String>) -> Option<String> {
    let get = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
    let github = || {
        let (server, repository) = (get("GITHUB_SERVER_URL")?, get("GITHUB_REPOSITORY")?);
        Some(format!("{server}/{repository}/actions/runs/{}", get("GITHUB_RUN_ID")?))
    };
    let azure = || {
        let (server, project) = (get("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI")?, get("SYSTEM_TEAMPROJECT")?);
        let server = server.trim_end_matches('/');
        Some(format!("{server}/{project}/_build/results?buildId={}", get("BUILD_BUILDID")?))
    };
    let bitbucket = || {
        let origin = get("BITBUCKET_GIT_HTTP_ORIGIN")?;
        Some(format!("{origin}/pipelines/results/{}", get("BITBUCKET_BUILD_NUMBER")?))
    };
    github().or_else(azure).or_else(bitbucket).or_else(|| {
        // GitLab, CircleCI, Buildkite, Drone, Travis, Woodpecker; Jenkins last, since its name is the most common.
        ["CI_JOB_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "DRONE_BUILD_LINK", "TRAVIS_JOB_WEB_URL"]
            .into_iter()
            .chain(["CI_PIPELINE_URL", "BUILD_URL"])
            .find_map(get)
    })
}

/// Returns the number of the run that this process belongs to, from the variables that each CI system documents for it.
/// Runs of one pipeline count up, and a job that is run again keeps the number of its run.
pub fn run_number(environment: &BTreeMap<String, String>) -> Option<u64> {
    // GitHub, GitLab, Azure, Buildkite, CircleCI, Bitbucket, Drone, Travis; Jenkins last, as above.
    [
        "GITHUB_RUN_ID",
        "CI_PIPELINE_ID",
        "BUILD_BUILDID",
        "BUILDKITE_BUILD_NUMBER",
        "CIRCLE_BUILD_NUM",
        "BITBUCKET_BUILD_NUMBER",
        "DRONE_BUILD_NUMBER",
        "TRAVIS_BUILD_NUMBER",
        "BUILD_NUMBER",
    ]
    .into_iter()
    .find_map(|name| environment.get(name)?.parse().ok())
}
