//! `statectl template` against `helm template`: the same bytes, and the same exit code where both refuse.

use std::path::Path;
use std::process::Command;

use crate::support::cluster::tools;
use crate::support::repository;
use crate::support::statectl::{Output, offline};

/// The charts to render. `scripts/compare-template` does the same with any folder of charts.
const CHARTS: [&str; 5] = [
    "tests/cases/charts/whole",
    "tests/cases/records/rich-1.2.3.tgz",
    "examples/charts/web",
    "examples/charts/store",
    "examples/charts/migrate",
];

fn helm(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(tools().join("helm4"))
        .args(arguments)
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Fails the test unless both print the same for a chart and flags; returns what they print.
fn same(chart: &Path, flags: &[&str]) -> String {
    let arguments = [&["template", "demo", chart.to_str().unwrap()], flags].concat();
    let (helm, ours) = (helm(&arguments).expect(0), offline(&arguments).expect(0));
    assert_eq!(helm.stdout, ours.stdout, "{}", arguments.join(" "));
    ours.stdout
}

#[test]
fn every_chart_renders_as_by_helm() {
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    std::fs::write(&values, "replicas: 3\ngreeting: from a file\n---\nextra: {colour: null}\n").unwrap();
    for chart in CHARTS {
        let chart = repository(chart);
        for flags in [
            &[][..],
            &["--include-crds"],
            &["--no-hooks"],
            &["--skip-tests"],
            &["--skip-tests", "--include-crds", "-n", "elsewhere"],
            &["--is-upgrade"],
            &["--kube-version", "1.25.3"],
            &["--kube-version", "v1.31.0-gke.1", "--api-versions", "example.com/v1/Thing"],
            &["-a", "example.com/v1/Thing,example.com/v1/Other"],
            &["-f", values.to_str().unwrap()],
            &["--set", "replicas=2,extra.enabled=false", "--set-string", "octal=0644"],
            &["--set-json", "limits={\"cpu\":1.50,\"pods\":10000000}", "--set-literal", "greeting=a,b\\"],
            &["--set", "extra=null"],
            &["--skip-schema-validation", "--set", "replicas=-1"],
        ] {
            same(&chart, flags);
        }
    }
}

#[test]
fn show_only_prints_the_same_documents_in_the_same_order() {
    let chart = repository(CHARTS[0]);
    for flags in [
        &["-s", "templates/deployment.yaml"][..],
        &["-s", "templates/many.yaml"],
        &["-s", "templates/many.yaml", "-s", "templates/files.yaml"],
        &["-s", "templates/*.yaml"],
        &["-s", "charts/extra/templates/*"],
        &["-s", "templates/hooks/jobs.yaml"],
        &["-s", "templates/hooks/*", "--skip-tests"],
        &["-s", "crds/gadgets.yaml", "--include-crds"],
    ] {
        let text = same(&chart, flags);
        assert!(text.contains("# Source: whole/"), "{flags:?}: {text}");
    }
}

#[test]
fn what_both_refuse_ends_with_the_same_code() {
    let chart = repository(CHARTS[0]);
    let chart = chart.to_str().unwrap();
    for (arguments, why) in [
        (&["demo", chart, "--set", "fails=enough is enough"][..], "enough is enough"),
        (&["demo", chart, "--set", "replicas=null"], "how many?"),
        (&["demo", chart, "--set", "replicas=-1"], "replicas"),
        (&["demo", chart, "--kube-version", "1.21.9"], "1.22.0-0"),
        (&["demo", chart, "-s", "templates/nowhere.yaml"], "could not find template"),
        (&["demo", chart, "-s", "templates/hooks/jobs.yaml", "--no-hooks"], "could not find template"),
        (&["demo", chart, "-f", "nowhere.yaml"], "nowhere.yaml"),
        (&["demo", chart, "--set", "replicas"], "has no value"),
        (&["demo", "tests/cases/charts/whole/charts/lib"], "not installable"),
        (&["demo", "nowhere/at-all"], "nowhere/at-all"),
    ] {
        let arguments = [&["template"], arguments].concat();
        let (helm, ours) = (helm(&arguments), offline(&arguments));
        assert_eq!((helm.code, ours.code), (1, 1), "{}: {}{}", arguments.join(" "), helm.stderr, ours.stderr);
        assert!(ours.stderr.contains(why), "{why:?} is said: {}", ours.stderr);
        assert_eq!(ours.stdout, "", "{}", arguments.join(" "));
    }
}

/// What is wrong with the command line itself has a code of its own here.
#[test]
fn wrong_flags_are_told_from_wrong_charts() {
    let chart = repository(CHARTS[0]);
    let chart = chart.to_str().unwrap();
    for arguments in [
        &["template", "demo", chart, "--kube-version", "latest"][..],
        &["template", "demo", chart, "--bogus"],
    ] {
        assert_eq!((helm(arguments).code, offline(arguments).code), (1, 64), "{}", arguments.join(" "));
    }
}
