//! What a plan costs: which requests are sent for releases that are as desired, and for those that are not.

use crate::support::proxy::{Proxy, Seen};
use crate::support::scene::Scene;

/// Returns the dry runs, and everything else, of one plan.
fn requests(proxy: &Proxy, arguments: &[&str]) -> (Vec<Seen>, Vec<Seen>) {
    proxy.clear();
    let output = proxy.cluster().statectl([&["plan"], arguments].concat());
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    proxy.seen().into_iter().partition(|seen| seen.uri.contains("dryRun=All"))
}

#[test]
fn a_plan_lists_each_kind_once_and_asks_only_about_what_may_change() {
    let scene = Scene::new("requests");
    let app = |name: &str, greeting: &str| {
        format!(
            "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\nset = {{ greeting = \
             \"{greeting}\" }}\n"
        )
    };
    let apps = |last: &str| app("one", "a") + &app("two", "b") + &app("three", last);
    let proxy = Proxy::start(scene.cluster);
    let file = scene.write(&apps("c"));
    let path = file.to_str().unwrap();

    // Nothing is there: the list says so for all, and the dry run itself that it would create.
    let (dry_runs, reads) = requests(&proxy, &[path]);
    assert_eq!(dry_runs.len(), 12);
    let gets = reads.iter().filter(|seen| seen.uri.contains("/namespaces/") && !seen.uri.contains('?'));
    let gets: Vec<&Seen> = gets.filter(|seen| seen.uri.matches('/').count() > 4).collect();
    assert!(gets.is_empty(), "no object is read by itself: {gets:#?}");

    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    // Discovery and version, what names the cluster, the namespace, records here and everywhere, and four kinds.
    let (dry_runs, reads) = requests(&proxy, &[path]);
    assert_eq!((dry_runs.len(), reads.len()), (0, 3 + 1 + 1 + 2 + 4), "{reads:#?}");
    let plan = scene.plan(&file);
    for object in plan["releases"][0]["objects"].as_array().unwrap() {
        assert_eq!(
            (object["action"].as_str(), object["reasons"][0]["code"].as_str()),
            (Some("none"), Some("proven"))
        );
    }
    let (dry_runs, _) = requests(&proxy, &[path, "--verify=all"]);
    assert_eq!(dry_runs.len(), 12);

    scene.write(&apps("changed"));
    let (dry_runs, _) = requests(&proxy, &[path]);
    let changed = dry_runs.iter().all(|seen| seen.uri.contains("/three"));
    assert!(changed && !dry_runs.is_empty() && dry_runs.len() < 4, "{dry_runs:#?}");
    scene.write(&apps("c"));

    // An object that lost Helm's label is not listed, and found all the same.
    let label = ["label", "configmap", "two-config", "-n", &scene.namespace, "app.kubernetes.io/managed-by-"];
    scene.cluster.tool("kubectl", &label);
    let (dry_runs, reads) = requests(&proxy, &[path]);
    let about_it = dry_runs.iter().all(|seen| seen.uri.contains("/configmaps/two-config?"));
    assert!(about_it && (1..=2).contains(&dry_runs.len()), "{dry_runs:#?}");
    assert!(reads.iter().any(|seen| seen.uri.ends_with("/configmaps/two-config")));
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "two")["reasons"][0]["code"], "drifted", "{plan}");
}
