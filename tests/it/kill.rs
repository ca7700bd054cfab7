//! `kill -9` before and after each write of each kind of run, and what the same command makes of what is left.
//!
//! A sample of the points runs with the other tests; `scripts/kill-matrix` runs all and prints a table. Whether a point
//! converged is read from the server and its audit log, not from what statectl says.

use serde_json::Value as Json;

use crate::support::audit;
use crate::support::points::{self, Point};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::say;
use crate::support::scene::{Scene, chart};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { a: {{ .Values.a | quote }} }\n";
const OLD: &str = "{{ if eq .Values.a \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-old }\n{{ end }}\n";
const NEW: &str = "{{ if ne .Values.a \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-new }\n{{ end }}\n";
const FIXED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-fixed }\nimmutable: true\ndata: { a: {{ .Values.fixed | quote }} }\n";
const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: {{ .Release.Name }} }\nspec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }\n";
const SET: &str = r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: {{ .Release.Name }} }
spec:
  replicas: 0
  serviceName: x
  selector: { matchLabels: { app: x } }
  template:
    metadata: { labels: { app: x }, annotations: { a: {{ .Values.a | quote }} } }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const DEFINITION: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.GROUP }
spec:
  group: GROUP
  scope: Namespaced
  names: { kind: Thing, plural: things }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
";
const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations: { helm.sh/hook: "pre-install,pre-upgrade,post-upgrade,pre-delete" }
spec:
  backoffLimit: 0
  template:
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const FAILING_HOOK: &str = r#"
{{ if .Values.fails }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-fails
  annotations: { helm.sh/hook: "post-upgrade", helm.sh/hook-weight: "5" }
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { statectl.io/test-pod: fail } }
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
{{ end }}
"#;

const ONE: &str = "set = { a = \"one\" }";
const TWO: &str = "set = { a = \"two\" }";
const MAY_GO: &str =
    "allowDataLoss = [\"PersistentVolumeClaim/r\", \"StatefulSet/r\"]\nforce = [\"prune-stateful\"]";

/// What has to be there at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// What the file says.
    Desired,
    /// Nothing.
    Gone,
    /// What was there before, since what the file says does not work.
    RolledBack,
}

/// An operation that is killed.
struct Scenario {
    name: &'static str,
    /// What is applied before, if anything.
    before: Option<&'static str>,
    /// The write at which a first run is killed, where what is looked at is the recovery from it.
    first: Option<(&'static str, &'static str)>,
    verb: &'static str,
    /// What is applied, killed, and applied again.
    app: &'static str,
    end: End,
}

const SCENARIOS: [Scenario; 8] = [
    Scenario { name: "install", before: None, first: None, verb: "apply", app: TWO, end: End::Desired },
    Scenario { name: "upgrade", before: Some(ONE), first: None, verb: "apply", app: TWO, end: End::Desired },
    Scenario {
        name: "replace",
        before: Some("set = { a = \"one\", fixed = \"x\" }"),
        first: None,
        verb: "apply",
        app: "set = { a = \"two\", fixed = \"y\" }\nforce = [\"replace\"]",
        end: End::Desired,
    },
    Scenario {
        name: "rollback",
        before: Some(ONE),
        first: None,
        verb: "apply",
        app: "set = { a = \"two\", fails = true }\nonFailure = \"rollback\"",
        end: End::RolledBack,
    },
    Scenario {
        name: "uninstall",
        before: Some(ONE),
        first: None,
        verb: "apply",
        app: "GONE",
        end: End::Gone,
    },
    Scenario {
        name: "destroy",
        before: Some(ONE),
        first: None,
        verb: "destroy",
        app: MAY_GO,
        end: End::Gone,
    },
    Scenario {
        name: "recover install",
        before: None,
        first: Some(("PATCH", "/configmaps/r-fixed")),
        verb: "apply",
        app: TWO,
        end: End::Desired,
    },
    Scenario {
        name: "recover upgrade",
        before: Some(ONE),
        first: Some(("DELETE", "/configmaps/r-old")),
        verb: "apply",
        app: TWO,
        end: End::Desired,
    },
];

/// A chart with something of each kind that must not get lost.
pub(crate) fn scene(name: &str) -> Scene {
    filled(Scene::new(name))
}

/// As [`scene`], on any cluster.
pub(crate) fn filled(scene: Scene) -> Scene {
    let definition = DEFINITION.replace("GROUP", &group(&scene));
    let files = [
        ("templates/a.yaml", CONFIG_MAP),
        ("templates/old.yaml", OLD),
        ("templates/new.yaml", NEW),
        ("templates/fixed.yaml", FIXED),
        ("templates/claim.yaml", CLAIM),
        ("templates/set.yaml", SET),
        ("templates/hook.yaml", HOOK),
        ("templates/fails.yaml", FAILING_HOOK),
        ("crds/thing.yaml", definition.as_str()),
        ("values.yaml", "a: zero\nfixed: x\nfails: false\n"),
    ];
    chart(scene.folder.path(), &files);
    scene
}

fn group(scene: &Scene) -> String {
    format!("{}.example.org", scene.namespace)
}

/// Writes the file of a scene with one release, `r`.
pub(crate) fn write(scene: &Scene, rest: &str) -> String {
    let (enabled, rest) = if rest == "GONE" { ("false", MAY_GO) } else { ("true", rest) };
    let apps = format!(
        "[settings]\nleaseDuration = \"3s\"\n[apps.r]\nenabled = {enabled}\nnamespace = \"NS\"\nchart = \"./chart\"\ntimeout = \"60s\"\n{rest}\n"
    );
    scene.write(&apps).to_str().unwrap().to_owned()
}

impl Scenario {
    /// The exit code of a run that is not disturbed.
    fn code(&self) -> i32 {
        i32::from(self.end == End::RolledBack)
    }

    /// Makes everything that is there before the run that is killed, and returns the file.
    fn prepare(&self, scene: &Scene) -> Result<String, String> {
        if let Some(before) = self.before {
            scene.cluster.statectl(["apply", &write(scene, before), "--yes"]).expect(0);
        }
        let path = write(scene, self.app);
        if let Some((method, part)) = self.first {
            let rule = Rule::on(method, part).unless("dryRun").times(1).fault(Fault::Hang);
            self.kill(scene, "first", &path, rule)?;
        }
        Ok(path)
    }

    /// Kills a run at the write that `rule` stops.
    fn kill(&self, scene: &Scene, user: &str, path: &str, rule: Rule) -> Result<(), String> {
        let user = scene.cluster.as_user(&format!("{}-{user}", scene.namespace), scene.folder.path());
        let proxy = Proxy::with_credentials(scene.cluster, user.kubeconfig());
        proxy.rule(rule);
        points::kill(&proxy, proxy.cluster().start_statectl([self.verb, path, "--yes"])).map(drop)
    }

    /// Returns the writes of a run that is not killed.
    fn writes(&self) -> Vec<String> {
        let scene = scene(&format!("kill-{}", self.name.replace(' ', "-")));
        let path = self.prepare(&scene).unwrap();
        let proxy = Proxy::start(scene.cluster);
        proxy.cluster().statectl([self.verb, &path, "--yes"]).expect(self.code());
        let writes = points::writes_of(&proxy, &scene.namespace);
        forget_definition(&scene);
        writes
    }

    /// Kills a run at one write, applies again, and returns what is wrong then; nothing if it converged.
    fn killed(&self, point: &Point, with_helm: Option<&str>) -> Result<(), String> {
        let scene = scene(&format!("kill-{}", point.label()));
        let mark = scene.cluster.audit_mark();
        let path = self.prepare(&scene)?;
        let before = identities(&scene);
        self.kill(&scene, "killed", &path, point.rule())?;
        // Nothing but the same command again.
        let user = scene.cluster.as_user(&format!("{}-next", scene.namespace), scene.folder.path());
        let next = user.statectl([self.verb, &path, "--yes"]);
        let mut wrong = Vec::new();
        if next.code != self.code() {
            wrong.push(format!("exit code {}: {}{}", next.code, next.stdout, next.stderr));
        }
        look(&scene, self.end, &before, &mut wrong);
        self.look_at_log(&scene, mark, &mut wrong);
        if self.end == End::Desired {
            let plan = scene.cluster.statectl(["plan", &path, "--detailed-exit-code"]);
            if plan.code != 0 {
                wrong.push(format!("something is left to do: {}", plan.stdout));
            }
            if let Some(helm) = with_helm {
                use_helm(&scene, helm, &mut wrong);
            }
        }
        forget_definition(&scene);
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Looks at who wrote what.
    fn look_at_log(&self, scene: &Scene, mark: u64, wrong: &mut Vec<String>) {
        let writes = audit::writes(scene.cluster, mark, &scene.namespace, &scene.namespace);
        let is_gone = self.end == End::Gone;
        let found = audit::violations(&writes).into_iter();
        wrong.extend(found.filter(|found| !(is_gone && found.contains("was removed"))));
        let holds_data = |resource: &str| {
            matches!(resource, "persistentvolumeclaims" | "statefulsets" | "customresourcedefinitions")
        };
        let lost =
            writes.iter().filter(|write| write.verb.starts_with("delete") && holds_data(&write.resource));
        wrong.extend(lost.filter(|_| !is_gone).map(|write| format!("{write:?}")));
        if writes.is_empty() {
            wrong.push("the audit log has no write of this test".to_owned());
        }
    }
}

/// Looks at the server itself.
pub(crate) fn look(scene: &Scene, end: End, before: &[String], wrong: &mut Vec<String>) {
    let items = items(scene, "secrets,configmaps,leases.coordination.k8s.io");
    let names = |kind: &str| -> Vec<&str> {
        let of_kind = items.iter().filter(|item| item["kind"] == kind);
        of_kind.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
    };
    let records: Vec<(u64, &str)> = records(&items);
    if !names("Lease").is_empty() {
        wrong.push(format!("locks are left: {:?}", names("Lease")));
    }
    // The runs that are kept are no part of what is converged to.
    let is_own = |name: &&str| *name != "kube-root-ca.crt" && !name.starts_with("statectl-run.");
    let maps: Vec<&str> = names("ConfigMap").into_iter().filter(is_own).collect();
    if end == End::Gone {
        if !records.is_empty() || !maps.is_empty() || !identities(scene).is_empty() {
            wrong.push(format!("left: {records:?} {maps:?} {:?}", identities(scene)));
        }
        return;
    }
    wrong.extend(unsettled(&records));
    let (value, expected): (&str, &[&str]) = match end {
        End::RolledBack => ("one", &["r", "r-fixed", "r-new", "r-old"]),
        _ => ("two", &["r", "r-fixed", "r-new"]),
    };
    if maps != expected {
        wrong.push(format!("objects: {maps:?}"));
    }
    let map = items.iter().find(|item| item["kind"] == "ConfigMap" && item["metadata"]["name"] == "r");
    if map.is_none_or(|map| map["data"]["a"] != value) {
        wrong.push(format!("it is not {value}"));
    }
    let after = identities(scene);
    if after.len() != 2 || before.iter().any(|identity| !after.contains(identity)) {
        wrong.push(format!("what holds data was {before:?} and is {after:?}"));
    }
    let definition = scene.cluster.try_tool("kubectl", &["get", "crd", &format!("things.{}", group(scene))]);
    if !definition.0 {
        wrong.push(format!("the definition is gone: {}", definition.1));
    }
}

pub(crate) fn items(scene: &Scene, kinds: &str) -> Vec<Json> {
    let text = scene.cluster.tool("kubectl", &["get", kinds, "-n", &scene.namespace, "-o", "json"]);
    serde_json::from_str::<Json>(&text).unwrap()["items"].as_array().unwrap().clone()
}

/// Returns the revisions of the release and their states, the oldest first.
pub(crate) fn records(items: &[Json]) -> Vec<(u64, &str)> {
    let records = items.iter().filter(|item| item["metadata"]["labels"]["owner"] == "helm");
    let label = |item: &'_ Json, key: &str| item["metadata"]["labels"][key].as_str().unwrap().to_owned();
    let mut records: Vec<(u64, &str)> = records
        .map(|item| {
            let status = item["metadata"]["labels"]["status"].as_str().unwrap();
            (label(item, "version").parse().unwrap(), status)
        })
        .collect();
    records.sort_unstable();
    records
}

/// Returns what is wrong with the records of a release at rest: the newest one says deployed, and no other; and nothing is
/// under way.
pub(crate) fn unsettled(records: &[(u64, &str)]) -> Option<String> {
    let (last, older) = records.split_last()?;
    let good =
        last.1 == "deployed" && older.iter().all(|(_, state)| matches!(*state, "superseded" | "failed"));
    (!good).then(|| format!("records: {records:?}"))
}

/// Returns the kind and uid of what holds data.
pub(crate) fn identities(scene: &Scene) -> Vec<String> {
    let items = items(scene, "persistentvolumeclaims,statefulsets.apps");
    items.iter().map(|item| format!("{} {}", item["kind"], item["metadata"]["uid"])).collect()
}

/// Both Helms go on from what statectl left.
fn use_helm(scene: &Scene, helm: &str, wrong: &mut Vec<String>) {
    let chart = scene.folder.path().join("chart");
    let namespace = ["-n", scene.namespace.as_str()];
    let mut run = |arguments: &[&str], expected: &str| {
        let (done, text) = scene.cluster.try_tool(helm, &[arguments, &namespace].concat());
        if !done || !text.contains(expected) {
            wrong.push(format!("{helm} {}: {text}", arguments.join(" ")));
        }
    };
    run(&["list"], "deployed");
    run(&["history", "r"], "deployed");
    run(
        &["upgrade", "r", chart.to_str().unwrap(), "--reuse-values", "--set", "a=three", "--no-hooks"],
        "STATUS: deployed",
    );
    run(&["rollback", "r", "--no-hooks"], "Rollback was a success");
    run(&["status", "r"], "STATUS: deployed");
    let items = items(scene, "secrets");
    wrong.extend(unsettled(&records(&items)).map(|found| format!("after {helm}: {found}")));
}

pub(crate) fn forget_definition(scene: &Scene) {
    let name = format!("things.{}", group(scene));
    scene.cluster.tool("kubectl", &["delete", "crd", &name, "--ignore-not-found", "--wait=false"]);
}

/// A sample; all of them with `STATECTL_KILL_MATRIX=all`.
#[test]
fn a_run_that_is_killed_at_any_write_is_finished_by_the_same_command() {
    let lists: Vec<Vec<String>> = std::thread::scope(|scope| {
        let started: Vec<_> = SCENARIOS.iter().map(|scenario| scope.spawn(|| scenario.writes())).collect();
        started.into_iter().map(|list| list.join().unwrap()).collect()
    });
    let named = SCENARIOS.iter().zip(lists);
    let points = named.flat_map(|(scenario, writes)| Point::of(scenario.name, writes)).collect();
    let all = points::all_are_wanted();
    let (table, failed) = points::table(
        points,
        |at| all || at % 11 == 4,
        |at, point| {
            let scenario = SCENARIOS.iter().find(|scenario| scenario.name == point.name).unwrap();
            let helm = match at % 22 {
                4 => Some("helm3"),
                15 => Some("helm4"),
                _ => None,
            };
            scenario.killed(point, helm)
        },
    );
    say(&table);
    assert_eq!(failed, 0, "{table}");
}
