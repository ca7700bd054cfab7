//! `helm template` against recorded output of real Helm.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use statectl::chart::helm_text;
use statectl::fetch::dir;
use statectl::render::capabilities::{Capabilities, KubeVersion};
use statectl::render::lookup::Lookups;
use statectl::render::output::{View, text};
use statectl::render::{Options, ReleaseInfo, Request, render};
use statectl::value::Map;
use statectl::values;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/render")
}

fn helm_template(case: &Json) -> Result<String, String> {
    let flag = |key: &str| case[key].as_bool().unwrap_or_default();
    let list =
        |key: &str| case[key].as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned());
    let chart = dir::load(&cases().join("charts").join(case["chart"].as_str().unwrap())).unwrap();
    let mut capabilities = Capabilities::offline();
    if let Some(version) = case["kube_version"].as_str() {
        capabilities.kube_version = KubeVersion::parse(version).unwrap();
    }
    capabilities.api_versions.extend(list("api_versions"));
    let values = case["values"].as_str().map_or_else(Map::new, |yaml| values::load(yaml.as_bytes()).unwrap());
    let request = Request {
        chart: &chart,
        values: &values,
        release: ReleaseInfo {
            name: "demo".to_owned(),
            namespace: "default".to_owned(),
            revision: 1,
            is_install: !flag("is_upgrade"),
            is_upgrade: flag("is_upgrade"),
        },
        capabilities: &capabilities,
        options: Options::default(),
        now: jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC),
        seed: [1; 32],
    };
    let view = View {
        show_only: list("show_only").collect(),
        include_crds: flag("include_crds"),
        skip_tests: flag("skip_tests"),
        no_hooks: flag("no_hooks"),
    };
    let rendered = render(&request, &mut Lookups::offline()).map_err(|error| helm_text(&error))?;
    text(&rendered, &view).map_err(|error| helm_text(&error))
}

#[test]
fn output_and_errors_equal_those_of_helm_template() {
    let cases_file = fs::read(cases().join("cases.json")).unwrap();
    let list: Vec<Json> = serde_json::from_slice(&cases_file).unwrap();
    assert!(!list.is_empty());
    for case in &list {
        let name = case["name"].as_str().unwrap();
        match (helm_template(case), case["error"].as_str()) {
            (Ok(text), None) => {
                let expected = fs::read_to_string(cases().join(format!("expected/{name}.yaml"))).unwrap();
                assert_eq!(text, expected, "{name}");
            }
            (Err(error), Some(expected)) => assert_eq!(error, expected, "{name}"),
            (Ok(text), Some(expected)) => panic!("{name}: expected the error {expected}, got\n{text}"),
            (Err(error), None) => panic!("{name}: {error}"),
        }
    }
}
