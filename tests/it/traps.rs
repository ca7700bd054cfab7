//! Each trap of readiness, with the words that a user reads, on the real API server.
//!
//! All cases are releases of one run, which waits for them side by side. Sources: kstatus, Helm's waits, and what other
//! deployers report of them.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};
use crate::support::statectl::wait;

/// A workload of one pod; `FIELDS` go into its spec, `POD` are annotations of the pod, `MORE` goes into the pod's spec.
fn workload(kind: &str, fields: &str, pod: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{ name: NAME }}\nspec:\n  selector: {{ matchLabels: {{ app: NAME }} }}\n{fields}  \
         template:\n    metadata: {{ labels: {{ app: NAME }}, annotations: {{ {pod} }} }}\n    \
         spec: {{ containers: [{{ name: a, image: registry.example.org/a:1 }}]{more} }}\n"
    )
}

fn deployment(pod: &str) -> String {
    workload("Deployment", "", &format!("statectl.io/test-pod: {pod}"), "")
}

fn stuck(reason: &str, message: &str) -> String {
    let pod = format!(
        "statectl.io/test-pod: image-error, statectl.io/test-pod-reason: {reason}, statectl.io/test-pod-message: {message:?}"
    );
    workload("Deployment", "", &pod, "")
}

fn job(pod: &str, fields: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{ name: NAME }}\nspec:\n  backoffLimit: 0\n{fields}  \
         template: {{ metadata: {{ annotations: {{ statectl.io/test-pod: {pod} }} }}, spec: {{ restartPolicy: Never, \
         containers: [{{ name: a, image: registry.example.org/a:1 }}] }} }}\n"
    )
}

fn claim(fields: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{ name: NAME, annotations: {{ {annotations} }} }}\n\
         spec: {{ accessModes: [ReadWriteOnce], resources: {{ requests: {{ storage: 1Gi }} }}, {fields} }}\n"
    )
}

fn service(fields: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata: {{ name: NAME }}\nspec: {{ {fields} }}\n")
}

fn custom(kind: &str) -> String {
    format!("apiVersion: GROUP/v1\nkind: {kind}\nmetadata: {{ name: NAME }}\nspec: {{}}\n")
}

fn definition(plural: &str, kind: &str, subresources: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: {plural}.GROUP }}\n\
         spec:\n  group: GROUP\n  scope: Namespaced\n  names: {{ plural: {plural}, singular: s{plural}, kind: {kind} }}\n  \
         versions: [{{ name: v1, served: true, storage: true, subresources: {{ {subresources} }}, \
         schema: {{ openAPIV3Schema: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }} }}]\n"
    )
}

/// How a case has to end.
enum End {
    /// Deployed, with these words on the way; empty for none.
    Deployed(&'static str),
    /// Failed for this reason before its time was over.
    Failed(&'static str),
    /// Not ready when its time was over, for this reason.
    TimedOut(&'static str),
}

struct Case {
    name: &'static str,
    object: String,
    end: End,
}

fn case(name: &'static str, object: String, end: End) -> Case {
    Case { name, object, end }
}

fn cases() -> Vec<Case> {
    use End::{Deployed, Failed, TimedOut};
    vec![
        case(
            "crash",
            deployment("crash"),
            Failed("; pod crash-*: container a keeps crashing (3 restarts, last exit code 1)"),
        ),
        case("heals", deployment("crash-heals"), Deployed("")),
        case(
            "pull",
            stuck("ErrImagePull", "manifest unknown"),
            Failed("0 of 1 replica ready; pod pull-*: container a: ErrImagePull: manifest unknown (for 2"),
        ),
        case(
            "backoff",
            deployment("image-error"),
            Failed("pod backoff-*: container a: ImagePullBackOff: Back-off pulling image \"registry.example.org/a:1\": simulated (for 2"),
        ),
        case(
            "config",
            stuck("CreateContainerConfigError", "secret s not found"),
            Failed("pod config-*: container a: CreateContainerConfigError: secret s not found (for 2"),
        ),
        case(
            "badname",
            stuck("InvalidImageName", "couldn't parse image name"),
            Failed("; pod badname-*: container a: InvalidImageName: couldn't parse image name"),
        ),
        case(
            "unplaced",
            workload("Deployment", "", "a: b", ", nodeSelector: { nobody: has-it }"),
            TimedOut("0 of 1 replica ready; pod unplaced-*: Unschedulable: 0/1 nodes are available"),
        ),
        case(
            "late",
            workload("Deployment", "  progressDeadlineSeconds: 2\n", "statectl.io/test-pod: never-ready", ""),
            Failed("0 of 1 replica ready, ProgressDeadlineExceeded: ReplicaSet \"late-*\" has timed out progressing."),
        ),
        case("paused", workload("Deployment", "  paused: true\n", "a: b", ""), Deployed("the rollout is paused")),
        case(
            "daemon",
            workload("DaemonSet", "", "statectl.io/test-pod: never-ready", ""),
            TimedOut("0 of 1 pod ready; pod daemon-*: 0 of 1 container ready"),
        ),
        case(
            "set",
            workload("StatefulSet", "", "statectl.io/test-pod: never-ready", ""),
            TimedOut("0 of 1 replica ready; pod set-0: 0 of 1 container ready"),
        ),
        case("running", job("never-ready", ""), TimedOut("0 of 1 pod completed, 1 running; pod running-*: 0 of 1 container ready")),
        case(
            "failed",
            job("fail", ""),
            Failed("BackoffLimitExceeded: Job has reached the specified backoff limit"),
        ),
        case("suspended", job("fail", "  suspend: true\n"), TimedOut("suspended (for ")),
        case(
            "pod",
            "apiVersion: v1\nkind: Pod\nmetadata: { name: NAME, annotations: { statectl.io/test-pod: fail } }\n\
             spec: { restartPolicy: Never, containers: [{ name: a, image: registry.example.org/a:1 }] }\n"
                .to_owned(),
            Failed("container a ended with exit code 1"),
        ),
        case("unmounted", claim("storageClassName: later-GROUP", ""), Deployed("will be bound when a pod mounts it")),
        case(
            "mounted",
            claim("storageClassName: later-GROUP", "")
                + "---\n"
                + &workload("Deployment", "", "a: b", ", nodeSelector: { nobody: has-it }, volumes: [{ name: v, persistentVolumeClaim: { claimName: mounted } }]"),
            TimedOut("0 of 1 replica ready; pod mounted-*: Unschedulable: "),
        ),
        case("unbound", claim("storageClassName: nobody-GROUP", ""), TimedOut("not bound to a volume yet (for ")),
        case(
            "lost",
            claim("volumeName: nobody-GROUP", "pv.kubernetes.io/bind-completed: \"yes\""),
            Failed("its volume is gone"),
        ),
        case(
            "balancer",
            service("type: LoadBalancer, ports: [{ port: 80 }], selector: { a: b }"),
            TimedOut("the load balancer has no address yet (for "),
        ),
        case("external", service("type: ExternalName, externalName: example.org"), Deployed("")),
        case("bare", custom("Plain"), Deployed("")),
        case("silent", custom("Spoken"), Deployed("its controller has written no status yet")),
        case("spoken", custom("Spoken"), Deployed("its controller has written no status yet")),
        case("lagging", custom("Spoken"), TimedOut("the controller has not seen the change yet (for ")),
        case(
            "taken",
            definition("others", "Spoken", ""),
            Failed("Conflict: \"SpokenList\" is already in use"),
        ),
        case(
            "both",
            job("fail", "") + "---\n" + &service("type: LoadBalancer, ports: [{ port: 80 }], selector: { a: b }"),
            Failed("BackoffLimitExceeded: Job has reached the specified backoff limit"),
        ),
    ]
}

impl Scene {
    /// Writes a status once the object is there.
    fn status(&self, kind: &str, name: &str, status: &str) {
        let patch = format!("{{\"status\":{status}}}");
        let place = [
            "patch",
            kind,
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

/// Tells whether a text contains another one, in which `*` stands for a random name.
fn contains(text: &str, wanted: &str) -> bool {
    let Some((head, tail)) = wanted.split_once('*') else { return text.contains(wanted) };
    text.match_indices(head).any(|(at, _)| {
        let rest =
            text[at + head.len()..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        rest.starts_with(tail)
    })
}

#[test]
fn each_trap_ends_with_its_own_words() {
    let scene = Scene::new("traps");
    let group = format!("{}.example.org", scene.namespace);
    let later = format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{ name: later-{group} }}\n\
         provisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n"
    );
    let before = [later, definition("plains", "Plain", ""), definition("spokens", "Spoken", "status: {}")];
    let before_path = scene.folder.path().join("before.yaml");
    std::fs::write(&before_path, before.join("---\n").replace("GROUP", &group)).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", before_path.to_str().unwrap()]);
    scene
        .cluster
        .tool("kubectl", &["wait", "--for=condition=Established", "crd", &format!("spokens.{group}")]);

    let mut apps = String::new();
    for Case { name, object, end } in cases() {
        let folder = scene.folder.path().join(name);
        let object = object.replace("NAME", name).replace("GROUP", &group);
        chart(&folder, &[("templates/a.yaml", &object)]);
        let time = if matches!(end, End::TimedOut(_)) { "8s" } else { "100s" };
        let _ = write!(
            apps,
            "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./{name}/chart\"\nwait = true\ntimeout = \"{time}\"\n"
        );
    }
    let file = scene.write(&apps);
    let started = Instant::now();
    let path = file.to_str().unwrap();
    let running = scene.cluster.start_statectl(["apply", path, "--yes", "-p", "64", "-o", "json"]);
    let kind = format!("spokens.{group}");
    scene.status(&kind, "lagging", "{\"observedGeneration\":0,\"phase\":\"x\"}");
    let failed = "{\"conditions\":[{\"type\":\"Failed\",\"status\":\"False\",\"reason\":\"No\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}";
    std::thread::sleep(Duration::from_secs(2));
    scene.status(&kind, "spoken", failed);
    let output = wait(running).expect(1);
    let took = started.elapsed();
    let report = output.json();
    let mut wrong = Vec::new();
    for Case { name, end, .. } in cases() {
        let release = scene.release(&report, name);
        let state = release["state"].as_str().unwrap_or_default();
        let message = release["message"].as_str().unwrap_or_default();
        let told = |text: &str| {
            output.stderr.lines().any(|line| line.contains(&format!("/{name}: ")) && line.contains(text))
        };
        let right = match end {
            End::Deployed(words) => state == "deployed" && told(words),
            End::Failed(words) => {
                state == "failed" && contains(message, words) && !message.contains(" after ")
            }
            End::TimedOut(words) => {
                state == "failed" && contains(message, words) && message.contains("is not ready after 8 s: ")
            }
        };
        if !right {
            wrong.push(format!("{name}: {state}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), output.stderr);
    assert!(took < Duration::from_secs(80), "what has failed is not waited for: {took:?}");
    let logs = scene.release(&report, "crash")["message"].as_str().unwrap().to_owned();
    assert!(logs.contains("last lines of pod crash-"), "{logs}");
}

#[test]
fn a_quota_that_keeps_pods_away_is_named() {
    let scene = Scene::new("traps-quota");
    let quota = ["create", "quota", "none", "-n", &scene.namespace, "--hard=pods=0"];
    scene.cluster.tool("kubectl", &quota);
    chart(
        scene.folder.path(),
        &[("templates/a.yaml", &workload("Deployment", "", "a: b", "").replace("NAME", "x"))],
    );
    let file = scene.write(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = true\ntimeout = \"6s\"\n",
    );
    let output = scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes", "-o", "json"]).expect(1);
    let message = scene.release(&output.json(), "r")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("0 of 1 replica updated, FailedCreate: pods \"x-"), "{message}");
    assert!(message.contains("exceeded quota: none"), "{message}");
}

#[test]
fn a_set_that_is_updated_by_hand_or_in_part_is_ready_with_a_note() {
    let scene = Scene::new("traps-sets");
    let set = |fields: &str, name: &str| {
        workload("StatefulSet", fields, "version: \"{{ .Values.n }}\"", "").replace("NAME", name)
    };
    let by_hand = set("  updateStrategy: { type: OnDelete }\n", "byhand");
    let in_part = set(
        "  replicas: 2\n  updateStrategy: { type: RollingUpdate, rollingUpdate: { partition: 1 } }\n",
        "inpart",
    );
    let files = [("templates/a.yaml", &*by_hand), ("templates/b.yaml", &in_part), ("values.yaml", "n: 1\n")];
    chart(scene.folder.path(), &files);
    let app = |n: u32| {
        format!(
            "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nwait = true\ntimeout = \"60s\"\nvalues = {{ n = {n} }}\n"
        )
    };
    let apply = |n: u32| {
        let file = scene.write(&app(n));
        scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0)
    };
    apply(1);
    apply(2)
        .complains("byhand is ready: 0 of 1 replica updated, the others when they are deleted (OnDelete)")
        .complains("inpart is ready: updated down to ordinal 1 (partition)");
}

#[test]
fn an_object_on_its_way_out_is_never_ready() {
    let scene = Scene::new("traps-leaving");
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: leaving, finalizers: [example.org/hold] }\n";
    let path = scene.folder.path().join("map.yaml");
    std::fs::write(&path, map).unwrap();
    let namespace = scene.namespace.as_str();
    scene.cluster.tool("kubectl", &["create", "-n", namespace, "-f", path.to_str().unwrap()]);
    scene.cluster.tool("kubectl", &["delete", "configmap", "leaving", "-n", namespace, "--wait=false"]);
    chart(
        scene.folder.path(),
        &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n")],
    );
    let file = scene.write(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\ntimeout = \"3s\"\n\
         waitFor = [{ kind = \"ConfigMap\", name = \"leaving\" }]\n",
    );
    let output = scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes", "-o", "json"]).expect(1);
    let report: Json = output.json();
    let message = scene.release(&report, "r")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("leaving is not ready after"), "{message}");
    assert!(message.contains("is being deleted, held by example.org/hold (for "), "{message}");
    let free = [
        "patch",
        "configmap",
        "leaving",
        "-n",
        namespace,
        "--type=merge",
        "-p",
        "{\"metadata\":{\"finalizers\":null}}",
    ];
    scene.cluster.tool("kubectl", &free);
}
