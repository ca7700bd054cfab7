//! Runs that a schedule starts: windows and failure budgets; and releases that are left pending.

use std::path::Path;

use crate::support::scene::{Scene, chart};
use crate::support::signal::{self, Sent};
use crate::support::statectl::{Output, wait};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";
const HOOK: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}-check\n  annotations: { helm.sh/hook: \
    \"pre-install,pre-upgrade\", statectl.io/test-pod: fail }\nspec: { restartPolicy: Never, containers: [{ name: a, image: a }] }\n";

fn app(rest: &str) -> String {
    format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{rest}\n")
}

fn apply(scene: &Scene, file: &Path, more: &[&str]) -> Output {
    scene.cluster.statectl([&["apply", file.to_str().unwrap(), "--yes"][..], more].concat())
}

#[test]
fn outside_of_its_windows_a_scheduled_run_changes_nothing() {
    let scene = Scene::new("windows");
    chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "a: one\n")]);
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
    let other = (now.hour() + 12) % 24;
    let with = |cron: &str| {
        scene.write(&format!("[settings]\nwindows = [{{ cron = \"{cron}\", length = \"2h\" }}]\n{}", app("")))
    };
    let closed = with(&format!("0 {other} * * *"));
    let held = apply(&scene, &closed, &["--scheduled"]).expect(5);
    let said = held.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("held: nothing was applied, because no window of `settings.windows` is open"),
        "{said}"
    );
    assert!(said.contains("the next one opens at"), "{said}");
    assert!(scene.cluster.get(&scene.namespace, "configmap", "r").is_none());
    let report = apply(&scene, &closed, &["--scheduled", "-o", "json"]).expect(5).json();
    assert_eq!(scene.release(&report, "r")["state"], "skipped");
    // A person may at any time, and a plan is no run.
    drop(scene.cluster.statectl(["plan", closed.to_str().unwrap()]).expect(0));
    let open = with("* * * * *");
    drop(apply(&scene, &open, &["--scheduled"]).expect(0));
    drop(apply(&scene, &closed, &["--scheduled"]).expect(0).says("no changes"));
    assert_eq!(scene.helm_status("r"), ("deployed".to_owned(), 1));
}

#[test]
fn a_scheduled_run_holds_what_failed_too_often() {
    let scene = Scene::new("held");
    let files = [("templates/a.yaml", CONFIG_MAP), ("templates/h.yaml", HOOK), ("values.yaml", "a: one\n")];
    chart(scene.folder.path(), &files);
    let file = scene.write(&app("maxFailures = 2"));
    for revision in [1, 2] {
        drop(apply(&scene, &file, &["--scheduled"]).expect(1));
        assert_eq!(scene.helm_status("r"), ("failed".to_owned(), revision));
    }
    let held = apply(&scene, &file, &["--scheduled"]).expect(5);
    drop(held.says("held: the last 2 tries with the same input failed").says("--retry"));
    assert_eq!(scene.helm_status("r").1, 2, "no revision more");
    drop(apply(&scene, &file, &["--scheduled", "--retry"]).expect(1));
    drop(apply(&scene, &file, &[]).expect(1));
    assert_eq!(scene.helm_status("r").1, 4, "whoever runs it by hand means it");
    let changed = scene.write(&app("maxFailures = 2\nvalues = { a = \"two\" }"));
    drop(apply(&scene, &changed, &["--scheduled"]).expect(1));
    assert_eq!(scene.helm_status("r").1, 5, "another input is another try");
}

#[test]
fn releases_that_are_pending_may_be_left_alone() {
    let scene = Scene::new("skip-pending");
    chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "a: one\n")]);
    let script = scene.folder.path().join("slow.sh");
    std::fs::write(&script, "#!/bin/sh\ntouch \"${0%/*}/slow\"\nexec sleep 5\n").unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = scene.write(&app("hooks = { postInstall = \"./slow.sh\" }"));
    let run = scene.cluster.start_statectl(["apply", file.to_str().unwrap(), "--yes", "--allow-exec"]);
    signal::until("the hook runs", || scene.folder.path().join("slow").exists());
    signal::send(&run, Sent::Kill);
    drop(wait(run));

    let others = "[apps.s]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n\
        [apps.t]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nneeds = [\"NS/r\"]\n";
    let file = scene.write(&format!("[settings]\nskipPendingApps = true\n{}{others}", app("")));
    let output = apply(&scene, &file, &["-o", "json"]).expect(0).json();
    let state = |name: &str| scene.release(&output, name)["state"].clone();
    assert_eq!((state("r"), state("s"), state("t")), ("skipped".into(), "deployed".into(), "skipped".into()));
    assert_eq!(scene.helm_status("r").0, "pending-install");
    let plan = scene.plan(&file);
    assert_eq!(scene.release(&plan, "r")["reasons"][0]["code"], "pending-skipped");
    // Helmsman's flag is the same.
    let file = scene.write(&format!("{}{others}", app("")));
    let plan = scene.cluster.statectl(["plan", file.to_str().unwrap(), "-skip-pending", "-o", "json"]).json();
    assert_eq!(scene.release(&plan, "r")["action"], "none");
}
