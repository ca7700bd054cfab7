//! Helmsman's own desired-state files, where `STATECTL_HELMSMAN` names a folder with its `examples` and `tests`: each
//! loads with the result that Helmsman acts on, or is refused for what Helmsman refuses it for as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support;
use crate::support::statectl::{Output, command, finish};

fn given() -> Option<PathBuf> {
    let given = std::env::var_os("STATECTL_HELMSMAN").map(PathBuf::from);
    if given.is_none() {
        support::say("STATECTL_HELMSMAN names no folder: Helmsman's own files are not read");
    }
    given
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    let env = [("ORG_PATH", "o"), ("VALUE", "v"), ("MY_SLACK_WEBHOOK", "https://hooks.example.org/x")];
    finish(command.current_dir(folder).envs(env))
}

/// What each file, or combination of files, is: the releases with chart and version, or a part of the refusal.
#[test]
fn each_file_loads_as_in_helmsman() {
    let Some(folder) = given() else { return };
    let argo = "staging/argo argo/argo 0.8.5";
    let artifactory = "production/artifactory jfrog/artifactory 8.3.2";
    let minimal = ["staging/jenkins jenkins/jenkins 2.15.1", "staging/artifactory jfrog/artifactory 11.4.2"];
    let kyverno = [
        "kyverno/kyverno kyverno/kyverno 2.4.1",
        "kyverno/kyverno-policies kyverno/kyverno-policies 2.4.0",
        "kyverno/kyverno-reporter kyverno/kyverno-reporter 2.9.0",
    ];
    let templates = [
        "testing/testing-puppetserver puppet/puppetserver-helm-chart 3.0.2",
        "testing/testing-tomcat bitnami/tomcat 6.5.3",
        "development/development-puppetserver puppet/puppetserver-helm-chart 3.0.2",
        "development/development-tomcat bitnami/tomcat 6.5.3",
    ];
    let mut composed = vec![argo, artifactory];
    composed.extend(kyverno);
    for (arguments, expected) in [
        (&["examples/example.yaml"][..], Ok(vec![argo, artifactory])),
        (&["examples/example.toml"], Ok(vec!["production/argo argo/argo 0.8.5", artifactory])),
        (&["examples/minimal-example.yaml"], Ok(minimal.to_vec())),
        (&["examples/minimal-example.toml"], Ok(minimal.to_vec())),
        (
            &["examples/minimal-example.yaml", "examples/minimal-example-overwrite.yaml"],
            Ok(vec!["staging/jenkins jenkins/jenkins 2.15.1 disabled", minimal[1]]),
        ),
        (&["--spec", "examples/composition/spec.yaml"], Ok(composed)),
        (&["examples/composition/kyverno.yaml"], Ok(kyverno.to_vec())),
        (&["examples/composition/argo.yaml"], Ok(vec![argo])),
        // Its valuesFiles are in the folder above: in a git work tree they need no flag.
        (&["examples/appsTemplates/config/helmsman.yaml", "--allow-outside-paths"], Ok(templates.to_vec())),
        // Helmsman refuses each of these as well.
        (&["examples/minimal-example-overwrite.yaml"], Err("`namespaces` is missing")),
        (&["examples/composition/main.yaml"], Err("`namespaces` is missing")),
        (&["examples/composition/artifactory.yaml"], Err("`jfrog` is no repository of the file")),
        (&["tests/invalid_example.yaml"], Err("namespaces.staging: expected a table, found text")),
        (&["tests/invalid_example.toml"], Err("not valid TOML")),
        (&["--spec", "tests/Invalid_example_spec.yaml"], Err("stateFiles: expected a list, found a table")),
        (&["examples/job.yaml"], Err("this is a Kubernetes manifest")),
        (&["examples/example-spec.yaml"], Err("this is a spec file")),
        (&["tests/overlay.sample.yaml"], Err("a second document starts here")),
        (&["tests/values.yaml"], Err("the file holds no keys")),
        (&["tests/values2.yaml"], Err("the file holds no keys")),
        (&["tests/values.xml"], Err("does not end in .toml")),
        (&["tests/secrets/valid_eyaml_secrets.yaml"], Err("value: unknown key")),
    ] {
        let mut all = vec!["validate"];
        all.extend(arguments);
        let output = run(&folder, &all);
        match expected {
            Err(text) => drop(output.expect(64).complains(text)),
            Ok(releases) => {
                drop(output.expect(0));
                all[0] = "config";
                all.extend(["-o", "json"]);
                let config = run(&folder, &all).expect(0).json();
                let found: BTreeSet<String> = releases_of(&config["config"]).into_iter().collect();
                let expected: BTreeSet<String> = releases.iter().map(|text| (*text).to_owned()).collect();
                assert_eq!(found, expected, "{arguments:?}");
            }
        }
    }
}

fn releases_of(config: &Json) -> Vec<String> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let apps = config["apps"].as_object().unwrap();
    let release = |(name, app): (&String, &Json)| {
        let disabled = if app["enabled"] == true { "" } else { " disabled" };
        format!(
            "{}/{name} {} {}{disabled}",
            text(&app["namespace"]),
            text(&app["chart"]),
            text(&app["version"])
        )
    };
    apps.iter().map(release).collect()
}

/// The details that Helmsman acts on: priorities, protection, limits, quotas, escapes.
#[test]
fn the_large_example_means_what_it_means_in_helmsman() {
    let Some(folder) = given() else { return };
    for file in ["examples/example.yaml", "examples/example.toml"] {
        let report = run(&folder, &["config", file, "-o", "json"]).expect(0).json();
        let config = &report["config"];
        assert_eq!(config["context"], "test-infra", "{file}");
        assert_eq!(config["settings"]["globalMaxHistory"], 5);
        let argo = &config["apps"]["argo"];
        assert_eq!(argo["priority"], -3);
        assert_eq!(argo["protected"], true);
        assert_eq!(argo["set"]["images.tag"], "$TAG");
        assert_eq!(argo["hooks"]["successTimeout"], "90s");
        let spaces = &config["namespaces"];
        assert_eq!(spaces["production"]["limits"][0]["default"]["memory"], "200Mi");
        assert_eq!(spaces["staging"]["quotas"]["limits.cpu"], "10");
        assert_eq!(spaces["staging"]["quotas"]["customQuotas"][0]["value"], "2");
    }
    // Helmsman starts at the working folder.
    let spec = run(&folder, &["validate", "--spec", "examples/example-spec.yaml"]).expect(0);
    spec.says("found in the working folder, not beside the spec file");
}

/// Every key of Helmsman's published schema is in the table of keys.
#[test]
fn every_key_of_the_schema_is_known() {
    use statectl::dsf::keys::{KEYS, Section};
    let Some(folder) = given() else { return };
    let schema: Json = serde_json::from_slice(&std::fs::read(folder.join("schema.json")).unwrap()).unwrap();
    let definitions = schema["$defs"].as_object().or(schema["definitions"].as_object()).unwrap();
    let mut looked = 0;
    for (name, section) in [
        ("State", Section::File),
        ("Config", Section::Settings),
        ("Namespace", Section::Namespace),
        ("Release", Section::App),
        ("Quotas", Section::Quotas),
    ] {
        let Some(properties) = definitions.get(name).and_then(|found| found["properties"].as_object()) else {
            continue;
        };
        for property in properties.keys() {
            looked += 1;
            let known = KEYS
                .iter()
                .any(|key| key.section == section && key.helmsman && key.name.eq_ignore_ascii_case(property));
            assert!(known, "{name}.{property}");
        }
    }
    assert!(looked > 60, "{looked}");
}
