//! What happens to releases over their life, on the real API server.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scan;
use crate::support::scene::Scene;
use crate::support::statectl::wait;

fn codes(release: &Json) -> Vec<&str> {
    release["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn a_failing_job_fails_its_release_alone() {
    let scene = Scene::new("failing-job");
    let file = scene.write(
        r#"
[settings]
timeout = "30s"
[defaults]
wait = true
[apps.broken]
enabled = true
namespace = "NS"
chart = "CHARTS/migrate"
values = { podAnnotations = { "statectl.io/test-pod" = "fail" } }
[apps.dependant]
enabled = true
namespace = "NS"
chart = "CHARTS/web"
needs = ["NS/broken"]
[apps.alone]
enabled = true
namespace = "NS"
chart = "CHARTS/web"
"#,
    );
    let path = file.to_str().unwrap();
    let output = scene.cluster.statectl(["apply", path, "--yes", "-o", "json"]).expect(1);
    let report = output.json();
    let state = |name: &str| scene.release(&report, name)["state"].as_str().unwrap().to_owned();
    assert_eq!(
        (state("broken"), state("dependant"), state("alone")),
        ("failed".into(), "skipped".into(), "deployed".into())
    );
    let message = scene.release(&report, "broken")["message"].as_str().unwrap();
    assert!(message.contains("Job"), "the reason names the Job: {message}");
    let skipped = scene.release(&report, "dependant")["message"].as_str().unwrap();
    assert!(skipped.contains("broken"), "{skipped}");
    assert_eq!(scene.helm_status("broken"), ("failed".to_owned(), 1));
    assert_eq!(scene.helm_status("alone"), ("deployed".to_owned(), 1));
    let (found, _) = scene.cluster.try_tool("helm4", &["status", "dependant", "-n", &scene.namespace]);
    assert!(!found, "a skipped release is not even recorded");
    let history = scene.cluster.tool("helm3", &["history", "broken", "-n", &scene.namespace]);
    assert!(history.contains("failed"), "{history}");
}

#[test]
fn helm_works_on_our_releases_and_the_next_plan_is_right() {
    for helm in ["helm3", "helm4"] {
        let scene = Scene::new(&format!("after-{helm}"));
        let apps = r#"
[apps.web]
enabled = true
namespace = "NS"
chart = "CHARTS/web"
set = { greeting = "one" }
"#;
        let file = scene.write(apps);
        let path = file.to_str().unwrap();
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        scene
            .cluster
            .statectl(["apply", scene.write(&apps.replace("one", "two")).to_str().unwrap(), "--yes"])
            .expect(0);
        assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 2));
        let namespace = scene.namespace.as_str();
        let greeting = || {
            let map = scene.cluster.get(namespace, "configmap", "web-config").unwrap();
            map["data"]["greeting"].as_str().unwrap().to_owned()
        };
        assert_eq!(greeting(), "two");

        scene.cluster.tool(helm, &["rollback", "web", "1", "-n", namespace, "--wait"]);
        assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 3));
        assert_eq!(greeting(), "one", "{helm} rollback brings the old content back");
        let plan = scene.plan(&file);
        assert_eq!(scene.release(&plan, "web")["action"], "upgrade", "{plan}");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        assert_eq!(greeting(), "two");

        let chart = repository("examples/charts/web");
        // Its controller writes into the Deployment too, and has ended when Helm has waited.
        let set = ["--set", "greeting=three,replicas=3", "--wait"];
        let upgrade = [&["upgrade", "web", chart.to_str().unwrap(), "-n", namespace][..], &set].concat();
        scene.cluster.tool(helm, &upgrade);
        assert_eq!(greeting(), "three");
        let plan = scene.plan(&file);
        let web = scene.release(&plan, "web");
        assert_eq!(web["action"], "upgrade");
        assert!(codes(web).contains(&"values-changed"), "{web}");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        assert_eq!(greeting(), "two");
        let deployment = scene.cluster.get(namespace, "deployment", "web").unwrap();
        assert_eq!(deployment["spec"]["replicas"], 2, "what {helm} changed is ours again");
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
        scene.cluster.tool(helm, &["uninstall", "web", "-n", namespace, "--wait"]);
        let plan = scene.plan(&file);
        assert_eq!(scene.release(&plan, "web")["action"], "install");
    }
}

#[test]
fn a_chart_that_shows_its_revision_is_not_changed_for_ever() {
    let scene = Scene::new("revision");
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: shown\nversion: 1.0.0\n").unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: {{ .Values.x | quote }}\n  \
               revision: {{ .Release.Revision | quote }}\n  install: {{ .Release.IsInstall | quote }}\n";
    std::fs::write(chart.join("templates/a.yaml"), map).unwrap();
    let apps = |x: &str| {
        format!(
            "[apps.a]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ x = \"{x}\" }}\n"
        )
    };
    for (x, revision) in [("one", "1"), ("two", "2")] {
        let file = scene.write(&apps(x));
        let path = file.to_str().unwrap();
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
        let map = scene.cluster.get(&scene.namespace, "configmap", "a").unwrap();
        assert_eq!(map["data"]["revision"], revision);
    }
}

/// helm 3 owns what it sets by ordinary updates; without taking that over a field that nobody sends any more stays.
#[test]
fn what_client_side_helm_added_goes() {
    let scene = Scene::new("client-side");
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    let chart = repository("examples/charts/web");
    let upgrade =
        ["upgrade", "web", chart.to_str().unwrap(), "-n", namespace, "--set", "podAnnotations.by=helm3"];
    scene.cluster.tool("helm3", &upgrade);
    let annotation = || {
        let deployment = scene.cluster.get(namespace, "deployment", "web").unwrap();
        deployment["spec"]["template"]["metadata"]["annotations"]["by"].clone()
    };
    assert_eq!(annotation(), "helm3");
    assert_eq!(scene.release(&scene.plan(&file), "web")["action"], "upgrade");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(annotation(), Json::Null);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
}

#[test]
fn a_change_in_the_cluster_is_found_and_undone() {
    let scene = Scene::new("drift");
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    let patch = r#"{"data":{"greeting":"by hand"}}"#;
    scene
        .cluster
        .tool("kubectl", &["patch", "configmap", "web-config", "-n", namespace, "--type=merge", "-p", patch]);
    scene.cluster.tool("kubectl", &["delete", "service", "web", "-n", namespace]);
    let plan = scene.plan(&file);
    let web = scene.release(&plan, "web");
    assert_eq!(web["action"], "upgrade");
    assert_eq!(codes(web), ["drifted", "object-missing"], "{web}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let map = scene.cluster.get(namespace, "configmap", "web-config").unwrap();
    assert_eq!(map["data"]["greeting"], "hello");
    assert!(scene.cluster.get(namespace, "service", "web").is_some());
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
}

#[test]
fn secrets_are_never_shown() {
    let scene = Scene::new("masked");
    let apps = |key: &str| {
        format!(
            "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\nvalues = {{ apiKey = \"{key}\" }}\n"
        )
    };
    let file = scene.write(&apps(scan::secret("first-hush-hush")));
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    scene.write(&apps(scan::secret("second-hush-hush")));
    for arguments in [vec!["plan", path], vec!["plan", path, "-o", "json"], vec!["apply", path, "--yes"]] {
        scene.cluster.statectl(arguments).expect(0);
    }
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
}

#[test]
fn a_release_that_left_the_file_goes_and_nothing_else() {
    let scene = Scene::new("left-file");
    let app =
        |name: &str| format!("[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n");
    let file = scene.write(&[app("one"), app("two")].concat());
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    let chart = repository("examples/charts/web");
    scene.cluster.tool("helm4", &["install", "stranger", chart.to_str().unwrap(), "-n", namespace]);

    scene.write(&app("one"));
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "two")["action"], "uninstall");
    assert_eq!(codes(scene.release(&plan, "two")), ["left-file"]);
    assert_eq!(plan["releases"].as_array().unwrap().len(), 2, "the stranger is not even looked at: {plan}");
    scene.cluster.statectl(["plan", path, "--target", "one", "--detailed-exit-code"]).expect(0);
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert!(scene.cluster.get(namespace, "deployment", "two").is_none());
    assert!(scene.cluster.get(namespace, "deployment", "one").is_some());
    assert!(scene.cluster.get(namespace, "deployment", "stranger").is_some());

    scene.write("");
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "one")["action"], "none", "no app is left: nothing is removed");
    assert_eq!(codes(scene.release(&plan, "one")), ["removal-withheld"]);

    let with_stranger = scene.write(&[app("one"), app("stranger")].concat());
    let output = scene.cluster.statectl(["plan", with_stranger.to_str().unwrap(), "-o", "json"]).expect(4);
    let plan = output.json();
    assert_eq!(codes(scene.release(&plan, "stranger")), ["nobodys-release"]);
    let adopting = [app("one"), app("stranger"), "adopt = \"unowned\"\n".to_owned()].concat();
    let plan = scene.plan(&scene.write(&adopting));
    assert_eq!(scene.release(&plan, "stranger")["action"], "adopt", "{plan}");
}

#[test]
fn a_pending_release_blocks_and_is_never_touched() {
    let scene = Scene::new("pending");
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n");
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    // A helm that is killed while it waits leaves its record pending.
    let chart = repository("examples/charts/web");
    let mut helm = std::process::Command::new("sh");
    let script = format!(
        "timeout -s KILL 3 \"$HELM\" upgrade web {} -n {namespace} --set 'podAnnotations.statectl\\.io/test-pod=never-ready' --wait",
        chart.display()
    );
    let path_of_helm = scene.cluster.tool_path("helm4");
    let status = helm
        .args(["-c", &script])
        .env("HELM", path_of_helm)
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .status()
        .unwrap();
    assert!(!status.success());
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    assert_eq!(codes(scene.release(&plan, "web")), ["pending"], "{plan}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(scene.helm_status("web"), ("pending-upgrade".to_owned(), 2));
}

#[test]
fn a_signal_ends_the_run_and_the_record_says_so() {
    let scene = Scene::new("signal");
    let file = scene.write(
        r#"
[apps.slow]
enabled = true
namespace = "NS"
chart = "CHARTS/web"
wait = true
timeout = "60s"
values = { podAnnotations = { "statectl.io/test-pod" = "never-ready" } }
[apps.later]
enabled = true
namespace = "NS"
chart = "CHARTS/web"
needs = ["NS/slow"]
"#,
    );
    let child = scene.cluster.start_statectl(["apply", file.to_str().unwrap(), "--yes"]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while scene.cluster.get(&scene.namespace, "deployment", "slow").is_none() {
        assert!(Instant::now() < deadline, "the run has begun");
        std::thread::sleep(Duration::from_millis(200));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    wait(child).expect(143).says("interrupted");
    assert_eq!(scene.helm_status("slow"), ("failed".to_owned(), 1));
    let (found, _) = scene.cluster.try_tool("helm4", &["status", "later", "-n", &scene.namespace]);
    assert!(!found, "nothing new is started");
}

/// Immutability comes from the server, not from a list of ours: here the author of a CRD made the rule.
#[test]
fn a_transition_rule_of_a_custom_resource_blocks_too() {
    let scene = Scene::new("cel-rule");
    let group = format!("{}.example.org", scene.namespace);
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::create_dir_all(chart.join("crds")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: vault\nversion: 1.0.0\n").unwrap();
    std::fs::write(chart.join("values.yaml"), "region: north\n").unwrap();
    let crd = format!(
        r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: vaults.{group}
spec:
  group: {group}
  scope: Namespaced
  names: {{ plural: vaults, singular: vault, kind: Vault }}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                region:
                  type: string
                  x-kubernetes-validations:
                    - rule: self == oldSelf
                      message: a vault never moves
"#
    );
    std::fs::write(chart.join("crds/vault.yaml"), crd).unwrap();
    let cr = format!(
        "apiVersion: {group}/v1\nkind: Vault\nmetadata:\n  name: main\nspec:\n  region: {{{{ .Values.region }}}}\n"
    );
    std::fs::write(chart.join("templates/vault.yaml"), cr).unwrap();
    let apps = "[apps.vault]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
    let file = scene.write(apps);
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let uid = scene.cluster.uid(&scene.namespace, &format!("vaults.{group}"), "main");

    scene.write(&format!("{apps}values = {{ region = \"south\" }}\n"));
    let output = scene.cluster.statectl(["plan", path]).expect(4);
    for text in ["Vault", "spec.region", "north → south"] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
    scene.write(&format!("{apps}values = {{ region = \"south\" }}\nforce = true\n"));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    let keys = format!("force = true\nallowDataLoss = [\"Vault.{group}/main\"]\n");
    scene.write(&format!("{apps}values = {{ region = \"south\" }}\n{keys}"));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_ne!(scene.cluster.uid(&scene.namespace, &format!("vaults.{group}"), "main"), uid);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
}
