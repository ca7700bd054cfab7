//! `--timings`: where the time went, beside the result and without a change to it.

use crate::support::scene::{Scene, chart};
use crate::support::statectl::offline;

/// The names of the rows, and the seconds of each.
fn rows(stderr: &str) -> Vec<(String, f64)> {
    let lines = stderr.lines().skip_while(|line| !line.starts_with("TIMINGS"));
    let row = |line: &str| {
        let (name, seconds) = line.strip_suffix(" s")?.rsplit_once(' ')?;
        Some((name.trim().to_owned(), seconds.parse().ok()?))
    };
    lines.filter_map(row).collect()
}

#[test]
fn the_time_of_each_part_is_told_on_stderr() {
    let scene = Scene::new("timings");
    let template =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: \"{{ .Release.Name }}\" }\ndata: { a: b }\n";
    chart(scene.folder.path(), &[("templates/a.yaml", template)]);
    let app = "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
    let state = scene.write(app);
    let state = state.to_str().unwrap();
    let plain = scene.cluster.statectl(["plan", state]).expect(0);
    let timed = scene.cluster.statectl(["plan", state, "--timings"]).expect(0);
    assert_eq!(timed.stdout, plain.stdout);
    assert!(!plain.stderr.contains("TIMINGS"), "{}", plain.stderr);
    let names = |found: &[(String, f64)]| found.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let parts = ["load", "connect", "fetch", "render", "observe", "plan"];
    let found = rows(&timed.stderr);
    assert_eq!(names(&found), [&parts[..], &["in all"]].concat(), "{}", timed.stderr);
    let told = scene.cluster.statectl(["--timings", "apply", state, "--yes"]).expect(0);
    let found = rows(&told.stderr);
    let release = format!("{}/r", scene.namespace);
    assert_eq!(names(&found), [&parts[..], &["execute", "in all", &release]].concat(), "{}", told.stderr);
    let all = found.iter().find(|(name, _)| name == "in all").unwrap().1;
    let sum: f64 = found.iter().take_while(|(name, _)| name != "in all").map(|(_, seconds)| seconds).sum();
    assert!(all > 0.0 && sum <= all + 0.01, "no part is counted twice: {}", told.stderr);
    // Also where nothing comes of it.
    offline(["validate", "/nonexistent/a.toml", "--timings"]).expect(64).complains("TIMINGS");
}
