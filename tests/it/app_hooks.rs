//! Hooks of the desired-state file: `hooks` of apps and `globalHooks`, on the real API server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};
use crate::support::signal::{self, Sent};
use crate::support::statectl::{Output, command, finish, wait};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";

/// Says who called it, and what it knows.
const LOG: &str = "#!/bin/sh\nset -e\necho \"$STATECTL_HOOK $STATECTL_NAMESPACE/$STATECTL_RELEASE \
    $STATECTL_CHART-$STATECTL_CHART_VERSION@$STATECTL_REVISION [$1] [$2]\" >> \"${0%/*}/log\"\n";

struct Hooked {
    scene: Scene,
}

impl Hooked {
    fn new(test: &str) -> Self {
        let scene = Scene::new(test);
        chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "a: one\n")]);
        let hooked = Self { scene };
        hooked.script("log.sh", LOG);
        hooked
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scene.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(name, text);
        std::fs::set_permissions(self.file(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The file with one app; `rest` follows its keys.
    fn state(&self, rest: &str) -> PathBuf {
        self.scene
            .write(&format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{rest}\n"))
    }

    fn apply(&self, file: &Path) -> Output {
        self.run(&["apply", file.to_str().unwrap(), "--yes", "--allow-exec"])
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.scene.cluster.statectl(arguments)
    }

    fn plan(&self, file: &Path) -> Json {
        self.run(&["plan", file.to_str().unwrap(), "-o", "json", "--allow-exec"]).json()
    }

    /// What `log.sh` has written since the last time.
    fn logged(&self) -> Vec<String> {
        let path = self.file("log");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        drop(std::fs::remove_file(path));
        text.lines().map(str::to_owned).collect()
    }

    /// What a refused apply says, in one line.
    fn refused(&self, path: &str) -> String {
        let output = self.run(&["apply", path, "--yes"]).expect(4);
        output.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn records(&self) -> usize {
        let list = self.scene.cluster.tool(
            "kubectl",
            &["get", "secrets", "-n", &self.scene.namespace, "-l", "owner=helm,name=r", "-o", "name"],
        );
        list.lines().count()
    }
}

#[test]
fn commands_run_around_each_operation_and_never_in_a_plan() {
    let hooked = Hooked::new("file-hooks");
    let hooks = "[apps.r.hooks]\npreInstall = \"./log.sh 'two words' x\"\npostInstall = \"log.sh\"\n\
        preUpgrade = { run = [\"./log.sh\", \"a'b\", \"$HOME\"], timeout = \"20s\" }\npostUpgrade = \"./log.sh\"\n\
        preDelete = \"./log.sh\"\npostDelete = \"./log.sh\"\n";
    let file = hooked.state(hooks);
    let path = file.to_str().unwrap();
    let said = hooked.refused(path);
    assert!(said.contains("would run a program, which is not allowed: `./log.sh 'two words' x`"), "{said}");
    assert!(said.contains("add `--allow-exec`"), "{said}");
    let shown = hooked.run(&["plan", path, "--allow-exec"]).expect(0);
    drop(shown.says("* preInstall hook of the file: runs ./log.sh 'two words' x, for 300 s at most"));
    let plan = hooked.plan(&file);
    let shown = hooked.scene.release(&plan, "r")["hooks"].clone();
    assert_eq!(shown[0]["event"], "preInstall", "{shown}");
    assert_eq!(shown[0]["key"], "apps.r.hooks.preInstall", "{shown}");
    assert_eq!((&shown[1]["event"], &shown[1]["kind"]), (&"postInstall".into(), &"Command".into()));
    assert_eq!((hooked.logged(), hooked.records()), (vec![], 0), "a plan runs nothing");

    drop(hooked.apply(&file).expect(0));
    let release = format!("{}/r", hooked.scene.namespace);
    assert_eq!(
        hooked.logged(),
        [
            format!("preInstall {release} small-1.0.0@1 [two words] [x]"),
            format!("postInstall {release} small-1.0.0@1 [] []"),
        ]
    );
    let record =
        hooked.scene.cluster.get(&hooked.scene.namespace, "secret", "sh.helm.release.v1.r.v1").unwrap();
    let done = &record["metadata"]["annotations"];
    assert_eq!((&done["helmsman/preInstall"], &done["helmsman/postInstall"]), (&"ok".into(), &"ok".into()));

    // Nothing to do: no hook, no program that would have to be allowed.
    drop(hooked.run(&["apply", path, "--yes"]).expect(0));
    hooked.state(&format!("values = {{ a = \"two\" }}\n{hooks}"));
    drop(hooked.apply(&file).expect(0));
    assert_eq!(
        hooked.logged(),
        [
            format!("preUpgrade {release} small-1.0.0@2 [a'b] [/nonexistent]"),
            format!("postUpgrade {release} small-1.0.0@2 [] []"),
        ]
    );
    hooked.state(hooks);
    drop(hooked.run(&["destroy", path, "--yes", "--allow-exec"]).expect(0));
    let around = [
        format!("preDelete {release} small-1.0.0@2 [] []"),
        format!("postDelete {release} small-1.0.0@2 [] []"),
    ];
    assert_eq!(hooked.logged(), around);
    assert_eq!(hooked.records(), 0);
}

#[test]
fn hooks_of_all_apps_count_where_an_app_says_nothing() {
    let hooked = Hooked::new("global-hooks");
    let file = hooked.scene.write(
        "[settings.globalHooks]\npreInstall = \"./log.sh all\"\npostInstall = \"./log.sh all\"\n[defaults]\nnamespace = \
         \"NS\"\nenabled = true\nchart = \"./chart\"\n[apps.r.hooks]\npreInstall = \"\"\n[apps.s.hooks]\npreInstall = \
         \"./log.sh own\"\n",
    );
    let plan = hooked.plan(&file);
    let shown = |name: &str| {
        let hooks = hooked.scene.release(&plan, name)["hooks"].as_array().unwrap().clone();
        hooks.iter().map(|hook| format!("{} {}", hook["event"], hook["name"])).collect::<Vec<_>>()
    };
    assert_eq!(shown("r"), ["\"postInstall\" \"./log.sh all\""]);
    assert_eq!(shown("s"), ["\"preInstall\" \"./log.sh own\"", "\"postInstall\" \"./log.sh all\""]);
}

fn job(image: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{ name: hook }}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: \
         {{ name: hook }}\nspec:\n  backoffLimit: 0\n  template:\n    metadata: {{ annotations: {{ {annotations} }} }}\n    \
         spec: {{ restartPolicy: Never, containers: [{{ name: c, image: {image} }}] }}\n"
    )
}

#[test]
fn manifests_are_applied_waited_for_and_made_anew() {
    let hooked = Hooked::new("hook-manifests");
    let get = |kind: &str| hooked.scene.cluster.get(&hooked.scene.namespace, kind, "hook");
    let hooks = |more: &str| {
        format!(
            "[apps.r.hooks]\npreInstall = \"job.yaml\"\npreUpgrade = \"job.yaml\"\nsuccessCondition = \"complete\"\n\
            successTimeout = \"60s\"\n{more}\n"
        )
    };
    // A failing Job: nothing of the release is there, no record either. No `--allow-exec` is needed.
    hooked.write("job.yaml", &job("a:1", "statectl.io/test-pod: fail"));
    let file = hooked.state(&hooks(""));
    let path = file.to_str().unwrap();
    let failed = hooked.run(&["apply", path, "--yes"]).expect(1);
    drop(failed.says("preInstall hook (apps.r.hooks.preInstall)"));
    assert_eq!(hooked.records(), 0);
    assert!(hooked.scene.cluster.get(&hooked.scene.namespace, "configmap", "r").is_none());
    let first = hooked.scene.cluster.uid(&hooked.scene.namespace, "job", "hook");

    // Another template, which cannot change in place: what the hook made itself is made anew.
    hooked.write("job.yaml", &job("a:2", ""));
    let plan = hooked.plan(&file);
    let objects = hooked.scene.release(&plan, "r")["hooks"][0]["objects"].clone();
    assert_eq!(
        (&objects[0]["action"], &objects[1]["action"]),
        (&"update".into(), &"re-create".into()),
        "{objects}"
    );
    drop(hooked.run(&["apply", path, "--yes"]).expect(0));
    assert_ne!(hooked.scene.cluster.uid(&hooked.scene.namespace, "job", "hook"), first);
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 1));

    // Removed when it has succeeded.
    hooked.state(&format!("values = {{ a = \"two\" }}\n{}", hooks("deleteOnSuccess = true")));
    drop(hooked.run(&["apply", path, "--yes"]).expect(0));
    assert!(get("job").is_none() && get("serviceaccount").is_none(), "they are removed");

    // What somebody else made is neither removed nor made anew.
    hooked.write("foreign.yaml", &job("b:1", ""));
    let foreign = hooked.file("foreign.yaml");
    hooked
        .scene
        .cluster
        .tool("kubectl", &["apply", "-n", &hooked.scene.namespace, "-f", foreign.to_str().unwrap()]);
    hooked.state(&format!("values = {{ a = \"three\" }}\n{}", hooks("deleteOnSuccess = true")));
    let said = hooked.refused(path);
    assert!(said.contains("it exists and no hook of this release made it"), "{said}");
    let uid = hooked.scene.cluster.uid(&hooked.scene.namespace, "job", "hook");
    hooked.state(&format!("values = {{ a = \"three\" }}\n{}", hooks("")));
    let said = hooked.refused(path);
    assert!(said.contains("the server would refuse it"), "{said}");
    hooked.write("job.yaml", &job("b:1", ""));
    drop(hooked.run(&["apply", path, "--yes"]).expect(0));
    assert_eq!(hooked.scene.cluster.uid(&hooked.scene.namespace, "job", "hook"), uid);
    let live = get("job").unwrap();
    assert!(live["metadata"]["annotations"]["statectl.io/hook"].is_null(), "it changes hands: {live}");
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 3));

    // An object of a release is none of a hook's; one in another namespace neither.
    hooked.write("job.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: r }\n");
    hooked.state("values = { a = \"four\" }\n[apps.r.hooks]\npreUpgrade = \"job.yaml\"\n");
    let said = hooked.refused(path);
    assert!(said.contains("the chart has an object of that name"), "{said}");
    hooked.write("job.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x, namespace: default }\n");
    let output = hooked.run(&["apply", path, "--yes"]).expect(1);
    drop(output.complains("the hooks of a release are in its own"));
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 3));
}

#[test]
fn a_command_that_fails_or_hangs_keeps_the_release_as_it_is() {
    let hooked = Hooked::new("hook-fails");
    hooked.write("token", "hunter2-hunter2\n");
    hooked
        .script("fail.sh", "#!/bin/sh\necho begun\necho \"token is $(cat \"${0%/*}/token\")\" >&2\nexit 3\n");
    hooked.script("hang.sh", "#!/bin/sh\necho waiting\n(sleep 3; touch \"${0%/*}/child\") &\nsleep 60\n");
    let file = hooked.state("");
    drop(hooked.apply(&file).expect(0));
    let with = |hook: &str| {
        let secret = "setString = { s = \"ref+file://./token\" }";
        hooked.state(&format!("values = {{ a = \"two\" }}\n{secret}\n[apps.r.hooks]\n{hook}"))
    };
    let output = hooked.apply(&with("preUpgrade = \"./fail.sh\"")).expect(1);
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(
        all.contains("exit status: 3") && all.contains("begun") && all.contains("token is (secret)"),
        "{all}"
    );
    assert!(!all.contains("hunter2"), "{all}");
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 1), "no revision was made");

    let output = hooked.apply(&with("preUpgrade = { run = [\"./hang.sh\"], timeout = \"1s\" }")).expect(1);
    drop(output.says("did not end within 1 s, and was killed"));
    drop(hooked.apply(&with("preUpgrade = \"./missing.sh\"")).expect(64).complains("no file `./missing.sh`"));
    drop(hooked.apply(&with("preUpgrade = \"no-such-program\"")).expect(1).says("there is no such program"));

    // A signal ends it with everything that it started, and gives the locks back.
    let path = with("preUpgrade = \"./hang.sh\"");
    let run = hooked.scene.cluster.start_statectl(["apply", path.to_str().unwrap(), "--yes", "--allow-exec"]);
    std::thread::sleep(Duration::from_secs(2));
    signal::send(&run, Sent::Terminate);
    let began = Instant::now();
    drop(wait(run).expect(143));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    std::thread::sleep(Duration::from_secs(4));
    assert!(!hooked.file("child").exists(), "its children are gone as well");
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 1));
}

#[test]
fn a_hook_at_the_end_runs_again_until_it_has_run() {
    let hooked = Hooked::new("hook-again");
    hooked.script("flaky.sh", "#!/bin/sh\n[ -e \"${0%/*}/good\" ] && exec \"${0%/*}/log.sh\"\nexit 1\n");
    hooked.script("slow.sh", "#!/bin/sh\ntouch \"${0%/*}/slow\"\nexec sleep 5\n");
    let file = hooked.state("[apps.r.hooks]\npostInstall = \"./flaky.sh\"\npostUpgrade = \"./flaky.sh\"\n");
    drop(hooked.apply(&file).expect(1).says("postInstall hook (apps.r.hooks.postInstall)"));
    assert_eq!(hooked.scene.helm_status("r"), ("failed".to_owned(), 1));
    hooked.write("good", "");
    drop(hooked.apply(&file).expect(0));
    assert_eq!(hooked.logged().len(), 1, "the next run runs it again");
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 2));

    // Killed while it runs: everything else is complete, and it runs again all the same.
    let rest = "values = { a = \"two\" }\n[apps.r.hooks]\npostUpgrade = ";
    let path = hooked.state(&format!("{rest}\"./slow.sh\"\n"));
    let run = hooked.scene.cluster.start_statectl(["apply", path.to_str().unwrap(), "--yes", "--allow-exec"]);
    signal::until("the hook runs", || hooked.file("slow").exists());
    signal::send(&run, Sent::Kill);
    drop(wait(run));
    assert_eq!(hooked.scene.helm_status("r"), ("pending-upgrade".to_owned(), 3));
    let path = hooked.state(&format!("{rest}\"./flaky.sh\"\n"));
    let plan = hooked.plan(&path);
    let told = &hooked.scene.release(&plan, "r")["reasons"][0];
    assert_eq!(told["code"], "interrupted-upgrade", "{told}");
    assert!(told["message"].as_str().unwrap().contains("run the hook postUpgrade"), "{told}");
    drop(hooked.apply(&path).expect(0));
    assert_eq!(hooked.logged().len(), 1);
    assert_eq!(hooked.scene.helm_status("r"), ("deployed".to_owned(), 4));
}

/// A hook that calls `kubectl` has to reach the cluster of the run, whatever the kubeconfig says is the current one.
#[test]
fn kubectl_in_a_hook_talks_to_the_cluster_of_the_run() {
    let hooked = Hooked::new("hook-kubectl");
    let config = std::fs::read_to_string(hooked.scene.cluster.kubeconfig()).unwrap();
    let mut config: Json =
        serde_json::to_value(serde_yaml::from_str::<serde_yaml::Value>(&config).unwrap()).unwrap();
    let context = config["current-context"].as_str().unwrap().to_owned();
    config["current-context"] = Json::from("elsewhere");
    config["contexts"]
        .as_array_mut()
        .unwrap()
        .push(serde_json::json!({"name": "elsewhere", "context": {"cluster": "none", "user": "none"}}));
    hooked.write("config.json", &config.to_string());
    let kubectl = hooked.scene.cluster.tool_path("kubectl");
    hooked.script(
        "ask.sh",
        &format!(
            "#!/bin/sh\n{} get configmap r -n $STATECTL_NAMESPACE -o name > \"${{0%/*}}/seen\"\n",
            kubectl.display()
        ),
    );
    let file = hooked.state("[apps.r.hooks]\npostInstall = \"./ask.sh\"\n");
    let arguments = ["apply", file.to_str().unwrap(), "--yes", "--allow-exec", "--kube-context", &context];
    let folder = hooked.file("tmp");
    std::fs::create_dir(&folder).unwrap();
    let mut run = command(arguments);
    run.env("KUBECONFIG", hooked.file("config.json")).env("TMPDIR", &folder);
    drop(finish(&mut run).expect(0));
    assert_eq!(std::fs::read_to_string(hooked.file("seen")).unwrap(), "configmap/r\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_example_runs_as_it_is() {
    let cluster = crate::support::cluster::cluster();
    let file = "examples/dsf/hooks.toml";
    let plan = cluster.statectl(["plan", file, "--allow-exec", "--detailed-exit-code"]).expect(2);
    drop(plan.says("applies hooks/job.yaml, waits for Complete for 60 s at most, then removes it"));
    let said = cluster.statectl(["apply", file, "--yes", "--allow-exec", "--hook-logs"]).expect(0);
    drop(said.complains("preInstall of demo-hooks/web").complains("before an install"));
    assert!(cluster.get("demo-hooks", "job", "smoke").is_none());
    drop(cluster.statectl(["plan", file, "--detailed-exit-code"]).expect(0));
    let gone = cluster.statectl(["destroy", file, "--yes", "--allow-exec", "--hook-logs"]).expect(0);
    drop(gone.complains("preDelete of demo-hooks/web"));
}
