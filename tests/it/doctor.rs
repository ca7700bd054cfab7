//! `doctor`: what a run needs, and whether it is there.

use serde_json::Value as Json;

use crate::support::audit::writes_of_statectl;
use crate::support::scene::{Scene, chart};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const APPS: &str = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\n";

/// The state of each kind of check, the worst one where there are several.
fn states(report: &Json) -> Vec<(String, String)> {
    let text = |check: &Json, key: &str| check[key].as_str().unwrap().to_owned();
    report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (text(check, "check"), text(check, "state")))
        .collect()
}

fn has(report: &Json, check: &str, state: &str) -> bool {
    states(report).contains(&(check.to_owned(), state.to_owned()))
}

#[test]
fn each_thing_that_a_run_needs_is_looked_at_and_nothing_is_written() {
    let scene = Scene::new("doctored");
    chart(scene.folder.path(), &[("templates/a.yaml", MAP)]);
    let file = scene.write(APPS).to_str().unwrap().to_owned();
    let mark = scene.cluster.audit_mark();
    let look = |code: i32, more: &[&str]| {
        let arguments = [&["doctor", &file, "-o", "json"], more].concat();
        let report = scene.cluster.statectl(arguments).expect(code).json();
        crate::outputs::fits(&report);
        report
    };
    let well = look(0, &[]);
    for check in ["files", "cluster", "APIs", "charts", "rights", "releases"] {
        assert!(has(&well, check, "ok"), "{check}: {well}");
    }
    scene.cluster.statectl(["doctor", &file]).expect(0).says("all is well");
    // The cluster alone, without a file.
    scene.cluster.statectl(["doctor"]).expect(0).says("Kubernetes v1.").says("all is well");
    // A user without rights, a chart that is not there, and a release of somebody else.
    let nobody = format!("{}-nobody", scene.namespace);
    let report = look(1, &["--as", &nobody]);
    assert!(states(&report).iter().any(|(_, state)| state == "fail"), "{report}");
    scene.write(
        &APPS.replace(
            "chart = \"chart\"",
            "chart = \"https://127.0.0.1:1/none-1.0.0.tgz\"\nversion = \"1.0.0\"",
        ),
    );
    let report = look(1, &[]);
    assert!(has(&report, "charts", "fail"), "{report}");
    scene.write(&format!("{APPS}[apps.other]\nenabled = true\nnamespace = \"NS\"\nchart = \"none\"\n"));
    scene.cluster.statectl(["doctor", &file]).expect(64).complains("none");
    let writes = writes_of_statectl(scene.cluster, mark, &[&scene.namespace]);
    assert!(writes.is_empty(), "it writes nothing: {writes:?}");
    // One that was installed by plain Helm is nobody's.
    scene.write(APPS);
    let folder = scene.folder.path().join("chart");
    scene.cluster.tool("helm4", &["install", "web", folder.to_str().unwrap(), "-n", &scene.namespace]);
    let report = look(0, &[]);
    assert!(has(&report, "releases", "warn"), "{report}");
    scene
        .cluster
        .statectl(["doctor", &file])
        .expect(0)
        .says("→ to take it over, `statectl adopt`")
        .says("1 warning");
}

#[test]
fn a_cluster_that_is_away_is_told() {
    let scene = Scene::new("away");
    chart(scene.folder.path(), &[("templates/a.yaml", MAP)]);
    let file = scene.write(APPS).to_str().unwrap().to_owned();
    scene
        .cluster
        .statectl(["doctor", &file, "--kube-context", "nowhere"])
        .expect(1)
        .says("fail  cluster")
        .says("nowhere");
    scene.cluster.statectl(["doctor", "--kube-context", "nowhere"]).expect(1).says("1 failed");
}
