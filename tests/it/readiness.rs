//! What is waited for: rules of the file, and objects that no chart contains, on the real API server.

use std::time::{Duration, Instant};

use crate::support::scene::{Scene, chart};
use crate::support::statectl::wait;

/// A definition with the status subresource, and an object of its kind.
fn definition(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: clusters.{group} }}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{ plural: clusters, singular: cluster, kind: Cluster }}\n  \
         versions:\n    - name: v1\n      served: true\n      storage: true\n      subresources: {{ status: {{}} }}\n      \
         schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }}\n"
    )
}

fn object(group: &str) -> String {
    format!(
        "apiVersion: {group}/v1\nkind: Cluster\nmetadata: {{ name: {{{{ .Release.Name }}}} }}\nspec: {{ n: {{{{ .Values.n }}}} }}\n"
    )
}

fn app(name: &str, rest: &str) -> String {
    format!(
        "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = true\ntimeout = \"60s\"\n{rest}\n"
    )
}

impl Scene {
    fn patch_status(&self, name: &str, phase: &str) {
        let patch = format!("{{\"status\":{{\"phase\":\"{phase}\"}}}}");
        let kind = format!("clusters.{}.example.org", self.namespace);
        let place = [
            "patch",
            &kind,
            name,
            "-n",
            &self.namespace,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ];
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.cluster.try_tool("kubectl", &place).0 {
            assert!(Instant::now() < deadline, "{name} never came");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn scene(test: &str) -> (Scene, String) {
    let scene = Scene::new(test);
    let group = format!("{}.example.org", scene.namespace);
    chart(
        scene.folder.path(),
        &[
            ("templates/a.yaml", &object(&group)),
            ("crds/a.yaml", &definition(&group)),
            ("values.yaml", "n: 1\n"),
        ],
    );
    (scene, group)
}

#[test]
fn the_file_says_when_an_object_is_ready_and_when_it_has_failed() {
    let (scene, group) = scene("ready-rule");
    let rule = format!(
        "ready = [{{ kind = \"Cluster.{group}\", current = \"status.phase == 'Healthy'\", failed = \"status.phase == 'Broken'\" }}]"
    );
    let file = scene.write(&app("r", &rule));
    let running = scene.cluster.start_statectl(["apply", file.to_str().unwrap(), "--yes"]);
    scene.patch_status("r", "Starting");
    std::thread::sleep(Duration::from_secs(2));
    scene.patch_status("r", "Healthy");
    let output = wait(running).expect(0);
    assert!(output.stderr.contains("waits for status.phase == 'Healthy'"), "{}", output.stderr);
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 1));

    let file = scene.write(&app("r", &format!("{rule}\nvalues = {{ n = 2 }}")));
    scene.patch_status("r", "Broken");
    let output = scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(1);
    assert!(output.stdout.contains("it has failed: status.phase == 'Broken'"), "{}", output.stdout);
}

#[test]
fn a_release_starts_when_what_it_waits_for_is_there() {
    let (scene, _) = scene("wait-for");
    let awaited = "waitFor = [{ kind = \"ConfigMap\", name = \"handshake\" }]";
    let file = scene.write(&app("r", awaited).replace("wait = true\n", ""));
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "r")["waitFor"][0], format!("ConfigMap {}/handshake", scene.namespace));
    let running = scene.cluster.start_statectl(["apply", file.to_str().unwrap(), "--yes"]);
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        let (found, _) = scene.cluster.try_tool("helm4", &["status", "r", "-n", &scene.namespace]);
        assert!(!found, "nothing is written before");
        std::thread::sleep(Duration::from_millis(300));
    }
    scene.cluster.tool("kubectl", &["create", "configmap", "handshake", "-n", &scene.namespace]);
    wait(running).expect(0);
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 1));

    let short = app("s", awaited).replace("60s", "2s").replace("handshake", "nobody");
    let output =
        scene.cluster.statectl(["apply", scene.write(&short).to_str().unwrap(), "--yes", "--target", "s"]);
    let output = output.expect(1);
    assert!(
        output.stdout.contains("waiting  ConfigMap") && output.stdout.contains("1 waiting."),
        "{}",
        output.stdout
    );
}
