//! What a killed run leaves, and what the next one makes of it: by itself, with `unlock`, with `recover`.

use crate::kill::{scene, write};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::repository;
use crate::support::scene::Scene;
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;

#[test]
fn a_helm_that_was_killed_is_waited_for_and_then_recovered_from() {
    let scene = Scene::new("helm-killed");
    let file = |more: &str| {
        let apps = format!(
            "[settings]\nleaseDuration = \"3s\"\n{more}\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n"
        );
        scene.write(&apps).to_str().unwrap().to_owned()
    };
    let path = file("");
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
    let namespace = scene.namespace.as_str();
    let uid = scene.cluster.uid(namespace, "deployment", "web");
    let script = format!(
        "timeout -s KILL 3 \"$HELM\" upgrade web {} -n {namespace} --set 'podAnnotations.statectl\\.io/test-pod=never-ready' --wait",
        repository("examples/charts/web").display()
    );
    let status = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("HELM", scene.cluster.tool_path("helm4"))
        .env("KUBECONFIG", &scene.cluster.kubeconfig)
        .status()
        .unwrap();
    assert!(!status.success());
    assert_eq!(scene.helm_status("web"), ("pending-upgrade".to_owned(), 2));
    // Nobody knows whether it is alive.
    scene.cluster.statectl(["apply", &path, "--yes"]).expect(4).says("a helm without a lock").says("unlock");
    let never = file("foreignPendingAfter = \"never\"");
    scene.cluster.statectl(["apply", &never, "--yes"]).expect(4);
    let report = file("foreignPendingAfter = \"1s\"\nrecover = \"report\"");
    scene.cluster.statectl(["apply", &report, "--yes"]).expect(4).says("interrupted");
    let soon = file("foreignPendingAfter = \"1s\"");
    scene.cluster.statectl(["plan", &soon]).expect(0).says("R9").says("recover");
    scene.cluster.statectl(["apply", &soon, "--yes"]).expect(0);
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 3));
    assert_eq!(scene.cluster.uid(namespace, "deployment", "web"), uid);
    let history = scene.cluster.tool("helm4", &["history", "web", "-n", namespace]);
    assert!(history.contains("recovered from"), "{history}");
}

#[test]
fn a_lock_is_shown_and_a_killed_run_is_unlocked_or_recovered() {
    for verb in ["unlock", "recover"] {
        let scene = scene(&format!("kill-{verb}"));
        let path = write(&scene, "set = { a = \"two\" }");
        let proxy = Proxy::start(scene.cluster);
        proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(Fault::Hang));
        let run = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
        signal::until("it is in the middle", || proxy.faults() == 1);
        let shown = scene.cluster.statectl(["locks", &path, "-o", "json"]).expect(0).json();
        let release =
            &shown["locks"].as_array().unwrap().iter().find(|lock| lock["scope"] == "release").unwrap();
        assert_eq!((&release["name"], &release["state"]), (&"r".into(), &"renewed".into()), "{shown}");
        assert_eq!(
            (&release["revision"], &release["status"]),
            (&1.into(), &"pending-install".into()),
            "{shown}"
        );
        assert_eq!(release["holder"]["operation"], "apply");
        signal::send(&run, Sent::Kill);
        drop(wait(run));
        let name = format!("{}/r", scene.namespace);
        if verb == "unlock" {
            scene.cluster.statectl(["unlock", &name, "--revision", "2"]).expect(4).complains("is 1, not 2");
            scene.cluster.statectl(["unlock", &name, "--revision", "1"]).expect(0).says("marked failed");
            assert_eq!(scene.helm_status("r"), ("failed".to_owned(), 1));
            scene
                .cluster
                .statectl(["unlock", &name, "--revision", "1"])
                .expect(4)
                .complains("nothing to unlock");
            scene.cluster.statectl(["apply", &path, "--yes"]).expect(0);
        } else {
            scene.cluster.statectl(["recover", &path, "--release", &name, "--yes"]).expect(0);
            scene.cluster.statectl(["recover", &path, "--yes"]).expect(0).says("nothing was interrupted");
        }
        assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 2));
    }
}
