//! What holds data is deleted only with both keys, whatever the way: the audit log counts.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::support::scene::Scene;

/// The releases of a scene: which keys they have, in the order of [`keys`].
const RELEASES: [&str; 4] = ["neither", "forced", "allowed", "both"];

/// What holds data, by the names that the audit log gives.
const PRECIOUS: [&str; 4] =
    ["persistentvolumeclaims", "persistentvolumes", "customresourcedefinitions", "namespaces"];

fn keys(release: &str) -> String {
    let force = "force = true\n";
    let name = release.trim_end_matches("-set");
    let entries = [
        format!("PersistentVolumeClaim/{name}"),
        format!("PersistentVolume/NS-{name}"),
        format!("CustomResourceDefinition/{name}s.NS.example.org"),
        format!("Namespace/NS-{name}"),
        format!("StatefulSet/{release}"),
    ];
    let allow = format!("allowDataLoss = {entries:?}\n");
    match name {
        "neither" => String::new(),
        "forced" => force.to_owned(),
        "allowed" => allow,
        _ => format!("{force}{allow}"),
    }
}

/// Writes the chart of a release: what holds data if `with_data`, and something else in any case.
fn chart(scene: &Scene, release: &str, with_data: bool, changed: bool) {
    let chart = scene.folder.path().join(release);
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: data\nversion: 1.0.0\n").unwrap();
    let mut text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {release}}}\ndata: {{with: '{with_data}', changed: '{changed}'}}\n"
    );
    let pick = |before: &'static str, after: &'static str| if changed { after } else { before };
    if with_data && release.ends_with("-set") {
        let label = pick("a", "b");
        write!(
            text,
            r#"---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {release}}}
spec:
  serviceName: x
  persistentVolumeClaimRetentionPolicy: {{whenDeleted: Delete, whenScaled: Retain}}
  selector: {{matchLabels: {{app: {label}-{release}}}}}
  volumeClaimTemplates:
    - metadata: {{name: data}}
      spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
  template:
    metadata: {{labels: {{app: {label}-{release}}}}}
    spec: {{containers: [{{name: c, image: "example.org/a:1", volumeMounts: [{{name: data, mountPath: /data}}]}}]}}
"#
        )
        .unwrap();
    } else if with_data {
        let (modes, path, scope) =
            (pick("ReadWriteOnce", "ReadWriteMany"), pick("/a", "/b"), pick("Namespaced", "Cluster"));
        write!(
            text,
            r#"---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {release}}}
spec: {{accessModes: [{modes}], resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: NS-{release}}}
spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteOnce], storageClassName: nobody, hostPath: {{path: {path}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: NS-{release}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {release}s.NS.example.org}}
spec:
  group: NS.example.org
  scope: {scope}
  names: {{plural: {release}s, singular: {release}, kind: {kind}}}
  versions:
    - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}
"#,
            kind = kind(release),
        )
        .unwrap();
    }
    std::fs::write(chart.join("templates/all.yaml"), text.replace("NS", &scene.namespace)).unwrap();
}

fn kind(release: &str) -> String {
    release[..1].to_uppercase() + &release[1..]
}

fn state(more: &str) -> String {
    let sets = RELEASES.map(|release| format!("{release}-set"));
    let all = RELEASES.iter().map(|release| (*release).to_owned()).chain(sets);
    let app = |release: String| {
        let keys = keys(&release);
        format!("[apps.{release}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./{release}\"\n{keys}{more}")
    };
    all.map(app).collect()
}

fn each_chart(scene: &Scene, with_data: bool, changed: bool) {
    for release in RELEASES {
        chart(scene, release, with_data, changed);
        chart(scene, &format!("{release}-set"), with_data, changed);
    }
}

/// Installs everything, with a custom resource of each kind.
fn installed(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    each_chart(&scene, true, false);
    let file =
        scene.write(&format!("[settings]\nparallel = 8\ntimeout = \"60s\"\n{}", state("wait = true\n")));
    let path = file.to_str().unwrap().to_owned();
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let resources: Vec<String> = RELEASES
        .iter()
        .map(|release| {
            format!(
                "apiVersion: {0}.example.org/v1\nkind: {1}\nmetadata: {{name: one, namespace: {0}}}\n",
                scene.namespace,
                kind(release)
            )
        })
        .collect();
    let manifest = scene.folder.path().join("resources.yaml");
    std::fs::write(&manifest, resources.join("---\n")).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", manifest.to_str().unwrap()]);
    (scene, path)
}

/// The deletions of what holds data since `mark`, by the user of the tests: resource and name.
fn deletions(scene: &Scene, mark: u64) -> Vec<String> {
    let entries = scene.cluster.requests_since(mark).into_iter().filter(|entry| {
        let dry = entry["requestURI"].as_str().unwrap().contains("dryRun=All");
        let deletes = entry["verb"].as_str().unwrap().starts_with("delete");
        let resource = entry["objectRef"]["resource"].as_str().unwrap_or_default();
        deletes && !dry && PRECIOUS.contains(&resource) && entry["user"]["username"] == "admin"
    });
    let text = |entry: &Json, key: &str| entry["objectRef"][key].as_str().unwrap_or_default().to_owned();
    // Other tests work on the same cluster.
    let ours = entries.filter(|entry| {
        text(entry, "namespace") == scene.namespace || text(entry, "name").contains(&scene.namespace)
    });
    let mut found: Vec<String> =
        ours.map(|entry| format!("{}/{}", text(&entry, "resource"), text(&entry, "name"))).collect();
    found.sort();
    found
}

/// Only what belongs to the release with both keys was deleted, and everything else is there.
fn check(scene: &Scene, mark: u64, with_both: &[&str]) {
    let namespace = scene.namespace.as_str();
    let expected: Vec<String> = with_both.iter().map(|name| name.replace("NS", namespace)).collect();
    assert_eq!(deletions(scene, mark), expected);
    for release in &RELEASES[..3] {
        let claim = format!("data-{release}-set-0");
        for (kind, name) in [
            ("pvc", (*release).to_owned()),
            ("pv", format!("{namespace}-{release}")),
            ("crd", format!("{release}s.{namespace}.example.org")),
            ("namespace", format!("{namespace}-{release}")),
            (&format!("{release}s.{namespace}.example.org"), "one".to_owned()),
            ("pvc", claim),
        ] {
            let found = scene.cluster.get(namespace, kind, &name);
            assert!(
                found.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_null()),
                "{kind} {name} of the release `{release}` is there"
            );
        }
    }
}

const ALL: [&str; 4] = [
    "customresourcedefinitions/boths.NS.example.org",
    "namespaces/NS-both",
    "persistentvolumeclaims/both",
    "persistentvolumes/NS-both",
];

/// The objects of one kind that a plan keeps or deletes, with their first reason's text.
fn reasons(scene: &Scene, plan: &Json, release: &str) -> String {
    let objects = scene.release(plan, release)["objects"].as_array().unwrap();
    objects.iter().map(Json::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_chart_that_drops_data_deletes_it_only_with_both_keys() {
    let (scene, path) = installed("loss-prune");
    each_chart(&scene, false, false);
    let output = scene.cluster.statectl(["plan", &path, "-o", "json"]).expect(4);
    let plan = output.json();
    for release in RELEASES {
        let told = reasons(&scene, &plan, release);
        for text in ["1 of kind", "1Gi", "of kind ConfigMap"] {
            assert!(told.contains(text), "{release} tells {text}: {told}");
        }
        let action = scene.release(&plan, &format!("{release}-set"))["action"].clone();
        assert_eq!(action, if release == "both" { "upgrade" } else { "blocked" }, "{release}-set");
    }
    let mark = scene.cluster.audit_mark();
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
    check(&scene, mark, &ALL);
    assert!(scene.cluster.get(&scene.namespace, "statefulset", "both-set").is_none());
}

#[test]
fn a_disabled_release_deletes_data_only_with_both_keys() {
    let (scene, path) = installed("loss-disabled");
    scene.write(&state("").replace("enabled = true", "enabled = false"));
    let mark = scene.cluster.audit_mark();
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
    check(&scene, mark, &ALL);
}

#[test]
fn destroy_deletes_data_only_with_both_keys() {
    let (scene, path) = installed("loss-destroy");
    let mark = scene.cluster.audit_mark();
    scene.cluster.statectl(["destroy", &path, "--yes"]).expect(4);
    check(&scene, mark, &ALL);
}

#[test]
fn a_refused_change_deletes_data_only_with_both_keys() {
    let (scene, path) = installed("loss-replace");
    each_chart(&scene, true, true);
    let before = scene.cluster.uid(&scene.namespace, "pvc", "both");
    let mark = scene.cluster.audit_mark();
    scene.cluster.statectl(["plan", &path]).expect(4);
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
    check(&scene, mark, &[ALL[0], ALL[2], ALL[3]]);
    assert_ne!(scene.cluster.uid(&scene.namespace, "pvc", "both"), before);
    assert_eq!(scene.cluster.uid(&scene.namespace, "statefulset", "both-set").len(), 36);
}

#[test]
fn a_release_that_left_the_file_has_no_keys_any_more() {
    let (scene, path) = installed("loss-left");
    chart(&scene, "other", false, false);
    scene.write("[apps.other]\nenabled = true\nnamespace = \"NS\"\nchart = \"./other\"\n");
    let mark = scene.cluster.audit_mark();
    scene.cluster.statectl(["apply", &path, "--yes", "--allow-prune"]).expect(4);
    check(&scene, mark, &[]);
}

/// Runs on a terminal of its own (that of `script`), with these lines typed.
fn typed(scene: &Scene, arguments: &str, lines: &str) -> String {
    use std::io::Write as _;
    let binary = env!("CARGO_BIN_EXE_statectl");
    let mut child = std::process::Command::new("script")
        .args(["-qec", &format!("{binary} {arguments}"), "/dev/null"])
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("`script` of the package bsdutils gives a terminal");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("{}\nexit {}", String::from_utf8_lossy(&output.stdout), output.status.code().unwrap_or(-1))
}

/// A habit is no consent: where data goes, a `yes` does not delete it, and the name of another release neither.
#[test]
fn on_a_terminal_data_goes_only_with_the_name_of_its_release() {
    let (scene, file) = installed("loss-asked");
    each_chart(&scene, false, false);
    let mark = scene.cluster.audit_mark();
    let apply = format!("apply {file}");
    for lines in ["yes\nyes\n", "yes\nneither\n", "yes\n\n", "both\nboth\n", "yes\nboth\nboth\n"] {
        let screen = typed(&scene, &apply, lines);
        assert!(screen.contains("nothing was applied") && screen.contains("exit 1"), "{lines:?}: {screen}");
    }
    assert_eq!(deletions(&scene, mark), Vec::<String>::new());
    let screen = typed(&scene, &apply, "yes\nboth\nboth-set\n");
    assert!(screen.contains("Data of") && screen.contains("goes, for good:"), "{screen}");
    assert!(screen.contains("exit 4"), "{screen}");
    check(&scene, mark, &ALL);
}
