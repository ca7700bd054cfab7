//! Namespaces on the real API server: labels, limits and quotas become what the file says, and nothing else is lost.

use serde_json::{Value as Json, json};

use crate::support::scene::{Scene, chart};
use crate::support::statectl::Output;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\n";

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    chart(scene.folder.path(), &[("templates/a.yaml", MAP)]);
    scene
}

const APP: &str = "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";

/// What follows the head of the namespace in a file with one release.
fn with(space: &str) -> String {
    format!("{space}{APP}")
}

fn plan(scene: &Scene, text: &str, code: i32) -> Output {
    let file = scene.write(text);
    scene.cluster.statectl(["plan", file.to_str().unwrap(), "--detailed-exit-code"]).expect(code)
}

fn apply(scene: &Scene, text: &str, code: i32) -> Output {
    let file = scene.write(text);
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(code)
}

fn spec(scene: &Scene, kind: &str, name: &str) -> Option<Json> {
    scene.cluster.get(&scene.namespace, kind, name).map(|object| object["spec"].clone())
}

fn space(scene: &Scene) -> Json {
    let text = scene.cluster.tool("kubectl", &["get", "namespace", &scene.namespace, "-o", "json"]);
    serde_json::from_str(&text).unwrap()
}

const LIMITS: &str = "[[namespaces.NS.limits]]\ntype = \"Container\"\nmax = { cpu = \"2000m\" }\ndefault = { cpu = \"500m\" }\n";
const QUOTAS: &str = "[namespaces.NS.quotas]\npods = 25\n\"limits.cpu\" = \"10000m\"\n";

#[test]
fn limits_and_quotas_are_kept_and_go_with_their_entries() {
    let scene = scene("space-objects");
    let full = with(&format!("{LIMITS}{QUOTAS}"));
    plan(&scene, &full, 2)
        .says("LimitRange limit-range is made")
        .says("ResourceQuota resource-quota is made");
    apply(&scene, &full, 0);
    assert_eq!(spec(&scene, "limitrange", "limit-range").unwrap()["limits"][0]["max"]["cpu"], "2");
    assert_eq!(
        spec(&scene, "resourcequota", "resource-quota"),
        Some(json!({"hard": {"limits.cpu": "10", "pods": "25"}}))
    );
    // The server writes amounts in its own way: that is no change.
    plan(&scene, &full, 0);
    let less = with(&format!("{LIMITS}[namespaces.NS.quotas]\npods = 20\n"));
    plan(&scene, &less, 2).says("ResourceQuota resource-quota changes");
    apply(&scene, &less, 0);
    assert_eq!(spec(&scene, "resourcequota", "resource-quota"), Some(json!({"hard": {"pods": "20"}})));
    plan(&scene, &less, 0);
    // An object of somebody else in the same namespace is nobody's business here.
    scene.cluster.tool("kubectl", &["create", "quota", "theirs", "-n", &scene.namespace, "--hard=pods=50"]);
    let none = with("");
    plan(&scene, &none, 2).says("LimitRange limit-range goes").says("ResourceQuota resource-quota goes");
    apply(&scene, &none, 0);
    assert_eq!(spec(&scene, "limitrange", "limit-range"), None);
    assert_eq!(spec(&scene, "resourcequota", "resource-quota"), None);
    assert!(spec(&scene, "resourcequota", "theirs").is_some());
    plan(&scene, &none, 0);
}

#[test]
fn what_helmsman_left_is_taken_over_in_place_and_not_removed() {
    let scene = scene("space-takeover");
    apply(&scene, &with(""), 0);
    let write = |object: Json| {
        let file = scene.folder.path().join("object.json");
        std::fs::write(&file, object.to_string()).unwrap();
        scene.cluster.tool("kubectl", &["apply", "-n", &scene.namespace, "-f", file.to_str().unwrap()]);
    };
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "resource-quota"},
        "spec": {"hard": {"pods": "25", "limits.cpu": "10", "services": "3"}}});
    write(quota);
    let uid = scene.cluster.uid(&scene.namespace, "resourcequota", "resource-quota");
    // Without an entry Helmsman leaves its own, and so does statectl.
    plan(&scene, &with(""), 0);
    let same = with(&format!("{QUOTAS}customQuotas = [{{ name = \"services\", value = \"3\" }}]\n"));
    apply(&scene, &same, 0);
    apply(&scene, &with(QUOTAS), 0);
    assert_eq!(
        spec(&scene, "resourcequota", "resource-quota"),
        Some(json!({"hard": {"limits.cpu": "10", "pods": "25"}}))
    );
    assert_eq!(scene.cluster.uid(&scene.namespace, "resourcequota", "resource-quota"), uid);
    // One that another deployer marks as its own is left alone.
    write(json!({"apiVersion": "v1", "kind": "LimitRange",
        "metadata": {"name": "limit-range", "labels": {"app.kubernetes.io/managed-by": "argocd"}},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "9"}}]}}));
    plan(&scene, &with(&format!("{LIMITS}{QUOTAS}")), 4).says("it belongs to `argocd`");
}

#[test]
fn what_the_server_refuses_of_a_namespace_is_known_before_anything_is_done() {
    let scene = scene("space-refused");
    apply(&scene, &with(""), 0);
    let bad = with("[namespaces.NS.quotas]\n\"limits.cpu\" = \"-1\"\n");
    plan(&scene, &bad, 4).says("refused: ResourceQuota resource-quota");
    let changed = format!("{bad}set = {{ a = \"1\" }}\n");
    let output = apply(&scene, &changed, 1);
    assert!(
        output.stderr.contains("limits.cpu") || output.stdout.contains("limits.cpu"),
        "{}",
        output.stderr
    );
    assert_eq!(spec(&scene, "resourcequota", "resource-quota"), None);
}

#[test]
fn labels_of_a_namespace_follow_the_file() {
    let scene = scene("space-labels");
    let labelled = |labels: &str| with(&format!("labels = {{ {labels} }}\n"));
    apply(&scene, &labelled("env = \"test\", old = \"1\""), 0);
    scene
        .cluster
        .tool("kubectl", &["label", "namespace", &scene.namespace, "mesh=on", "env=other", "--overwrite"]);
    plan(&scene, &labelled("env = \"prod\""), 2).says("label env: other → prod").says("label old goes");
    apply(&scene, &labelled("env = \"prod\""), 0);
    let labels = space(&scene)["metadata"]["labels"].clone();
    assert_eq!(
        (&labels["env"], &labels["mesh"], &labels["old"]),
        (&json!("prod"), &json!("on"), &Json::Null)
    );
    plan(&scene, &labelled("env = \"prod\""), 0);
    let strict = format!("{}[settings]\nnamespaceLabelsAuthoritative = true\n", labelled("env = \"prod\""));
    plan(&scene, &strict, 2).says("label mesh goes");
    apply(&scene, &strict, 0);
    let name = scene.namespace.as_str();
    assert_eq!(
        space(&scene)["metadata"]["labels"],
        json!({"env": "prod", "kubernetes.io/metadata.name": name})
    );
    plan(&scene, &strict, 0);
}

#[test]
fn a_saved_plan_fits_only_the_same_quotas() {
    let scene = scene("space-saved");
    let file = scene.write(&with(QUOTAS));
    let saved = scene.folder.path().join("plan.json");
    let (file, saved) = (file.to_str().unwrap(), saved.to_str().unwrap());
    scene.cluster.statectl(["plan", file, "--out", saved]).expect(0);
    scene.cluster.statectl(["apply", saved]).expect(0);
    assert!(spec(&scene, "resourcequota", "resource-quota").is_some());
    scene.write(&with("[namespaces.NS.quotas]\npods = 9\n"));
    scene.cluster.statectl(["plan", file, "--out", saved]).expect(0);
    scene.cluster.tool("kubectl", &["delete", "quota", "resource-quota", "-n", &scene.namespace]);
    scene
        .cluster
        .statectl(["apply", saved])
        .expect(4)
        .complains("other namespaces have to be made or labelled");
}

/// `--keep-untracked-releases`, as in Helmsman.
#[test]
fn untracked_releases_are_kept_where_that_was_asked_for() {
    let scene = scene("space-untracked");
    let second = "[apps.s]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
    apply(&scene, &with(second), 0);
    let file = scene.write(&with(""));
    let file = file.to_str().unwrap();
    let kept = ["apply", file, "--yes", "-keep-untracked-releases", "--no-banner"];
    scene.cluster.statectl(kept).expect(0).complains("note: `--no-banner` changes nothing here");
    assert_eq!(scene.helm_status("s"), ("deployed".to_owned(), 1));
    scene.cluster.statectl(["apply", file, "--yes"]).expect(0);
    assert!(scene.cluster.get(&scene.namespace, "configmap", "s").is_none());
}
