//! Release records: statectl and both Helms read, go on with and write the same ones.
//!
//! Every operation is done twice, by Helm 4 in one namespace and by statectl in another whose name is as long. What
//! the records may differ in is listed in docs/compatibility.md.

use std::path::PathBuf;

use regex_automata::meta::Regex;
use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scene::Scene;
use crate::support::stored::{Stored, differences};

/// Members that hold the time of the operation.
const TIMES: [&str; 5] = ["first_deployed", "last_deployed", "deleted", "started_at", "completed_at"];
/// What of a failure differs: its text.
const FAILURE: [&str; 1] = [".info.description"];
const HELMS: [&str; 2] = ["helm3", "helm4"];

fn chart() -> PathBuf {
    repository("tests/cases/records/rich-1.2.3.tgz")
}

/// The same release twice.
struct Pair {
    scene: Scene,
    /// Where Helm works.
    helm_namespace: String,
}

impl Pair {
    fn new(test: &str) -> Self {
        let scene = Scene::new(&format!("{test}-ours"));
        let helm_namespace = scene.cluster.namespace(&format!("{test}-helm"));
        Self { scene, helm_namespace }
    }

    /// Runs Helm 4 on its own release.
    fn helm(&self, verb: &str, rest: &[&str], succeeds: bool) {
        let arguments = [&[verb, "r"], rest, &["-n", &self.helm_namespace]].concat();
        let (success, text) = self.scene.cluster.try_tool("helm4", &arguments);
        assert_eq!(success, succeeds, "helm4 {}: {text}", arguments.join(" "));
    }

    /// Runs Helm 4 on both releases.
    fn helm_on_both(&self, verb: &str, rest: &[&str]) {
        self.helm(verb, rest, true);
        let arguments = [&[verb, "r"], rest, &["-n", &self.scene.namespace]].concat();
        self.scene.cluster.tool("helm4", &arguments);
    }

    /// Applies the chart with these values.
    fn apply(&self, values: &str, code: i32) {
        let file = self.scene.write(&app(values));
        self.scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(code);
    }

    /// Fails the test unless the records of a revision are the same but for times and `allowed` members.
    fn same_record(&self, revision: u64, allowed: &[&str]) {
        let cluster = self.scene.cluster;
        let helm = Stored::read(cluster, &self.helm_namespace, "r", revision);
        let ours = Stored::read(cluster, &self.scene.namespace, "r", revision);
        let moved: Json = serde_json::from_str(&self.moved(&ours.text)).unwrap();
        let mut found = differences(&helm.json, &moved);
        found.retain(|(path, values)| {
            let is_time = TIMES.iter().any(|time| path.ends_with(&format!(".{time}")));
            // A time is a difference only where one of the two has none.
            (!is_time || values.contains("None")) && !allowed.contains(&path.as_str())
        });
        // Why something failed is told in other words, behind the same beginning.
        let beginning = |stored: &Stored| {
            let text = stored.json["info"]["description"].as_str().unwrap().to_owned();
            text.split_inclusive(" failed:").next().unwrap().to_owned()
        };
        assert_eq!(beginning(&helm), beginning(&ours));
        assert_eq!(found, [], "v{revision}: members that differ, helm4's value first");
        if allowed.is_empty() {
            assert_eq!(without_times(&helm.text), without_times(&self.moved(&ours.text)), "order of members");
        }
        assert_eq!(helm.secret["type"], ours.secret["type"]);
        for label in ["name", "owner", "status", "version"] {
            assert_eq!(helm.label(label), ours.label(label), "v{revision}: label {label}");
        }
    }

    /// Returns a text of our namespace as it would be in Helm's.
    fn moved(&self, text: &str) -> String {
        text.replace(&self.scene.namespace, &self.helm_namespace)
    }

    /// Fails the test unless both Helms say the same about both releases.
    fn same_to_helm(&self) {
        for helm in HELMS {
            // Helm 3 leaves some releases out unless it is told not to.
            let list = if helm == "helm3" { "list --all" } else { "list" };
            for question in [list, "list -o json", "history r", "history r -o json", "status r"]
                .into_iter()
                .chain(["get values r", "get values r --all", "get manifest r", "get notes r", "get hooks r"])
                .chain(["get metadata r"])
            {
                let ask = |namespace: &str| {
                    let arguments: Vec<&str> = question.split(' ').chain(["-n", namespace]).collect();
                    self.scene.cluster.try_tool(helm, &arguments)
                };
                let (theirs, ours) = (ask(&self.helm_namespace), ask(&self.scene.namespace));
                assert_eq!(
                    (theirs.0, essence(question, &theirs.1)),
                    (ours.0, essence(question, &self.moved(&ours.1))),
                    "{helm} {question}"
                );
            }
        }
    }
}

fn app(values: &str) -> String {
    format!(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = {:?}\ntimeout = \"60s\"\n{values}\n",
        chart().to_str().unwrap()
    )
}

/// Replaces times, be they in records or in the tables of Helm.
fn without_times(text: &str) -> String {
    const TIME: &str = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d\d:?\d\d( UTC)?|Z)|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}";
    let regex = Regex::new(TIME).unwrap();
    let mut out = String::new();
    let mut end = 0;
    for found in regex.find_iter(text) {
        out.push_str(&text[end..found.start()]);
        out.push_str("TIME");
        end = found.end();
    }
    out + &text[end..]
}

/// Returns what has to be the same in an answer of Helm: no times, no live objects, no labels (ours has those of its
/// owner), and in tables no blanks that fill columns.
fn essence(question: &str, text: &str) -> String {
    let live = text.find("RESOURCES:").zip(text.find("NOTES:"));
    let text = live.map_or(text.to_owned(), |(from, to)| text[..from].to_owned() + &text[to..]);
    let lines = text.lines().filter(|line| !line.starts_with("LABELS:"));
    // Why something failed is told in other words.
    let lines = lines.map(|line| line.split_inclusive(" failed: ").next().unwrap_or(line));
    let text = without_times(&lines.map(|line| line.to_owned() + "\n").collect::<String>());
    let is_table = question.starts_with("list") || question.starts_with("history");
    if is_table { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { text }
}

#[test]
fn a_record_is_what_helm_4_would_have_written() {
    let pair = Pair::new("record");
    let chart = chart();
    let chart = chart.to_str().unwrap();
    let first = "set = { \"config.d\" = \"1\" }\nsetString = { text = \"hi\" }";
    pair.helm("install", &[chart, "--set", "config.d=1", "--set-string", "text=hi"], true);
    pair.apply(first, 0);
    pair.same_record(1, &[]);
    pair.same_to_helm();

    let second = "set = { replicas = \"2\", extra = \"yes\" }";
    pair.helm("upgrade", &[chart, "--set", "replicas=2,extra=yes"], true);
    pair.apply(second, 0);
    pair.same_record(1, &[]);
    pair.same_record(2, &[]);
    pair.same_to_helm();

    pair.helm("upgrade", &[chart, "--set", "failHook=pre-upgrade"], false);
    pair.apply("set = { failHook = \"pre-upgrade\" }", 1);
    pair.same_record(2, &[]);
    pair.same_record(3, &FAILURE);

    pair.helm("upgrade", &[chart, "--set", "failHook=post-upgrade"], false);
    pair.apply("set = { failHook = \"post-upgrade\" }", 1);
    pair.same_record(2, &[]);
    pair.same_record(4, &FAILURE);
    pair.same_to_helm();

    pair.helm_on_both("rollback", &["2"]);
    for revision in [2, 5] {
        pair.same_record(revision, &[]);
    }
    pair.helm_on_both("uninstall", &["--keep-history"]);
    pair.same_record(5, &[]);

    pair.helm("install", &[chart, "--set", "replicas=2,extra=yes", "--replace"], true);
    pair.apply(second, 0);
    pair.same_record(5, &[]);
    pair.same_record(6, &[]);
}

/// Installs a release with Helm. The chart is one that renders the same at every revision.
fn installed_by(helm: &str, scene: &Scene) {
    let chart = repository("tests/cases/charts/whole");
    let chart = chart.to_str().unwrap();
    let namespace = scene.namespace.as_str();
    scene.cluster.tool(helm, &["install", "r", chart, "-n", namespace, "--set", "limits.pods=4,replicas=2"]);
}

/// The state of every revision, oldest first, as a Helm tells it.
fn states(helm: &str, scene: &Scene) -> Vec<String> {
    let text = scene.cluster.tool(helm, &["history", "r", "-n", &scene.namespace, "-o", "json"]);
    let revisions: Json = serde_json::from_str(&text).unwrap();
    let revisions = revisions.as_array().unwrap().iter();
    revisions.map(|entry| format!("{}:{}", entry["revision"], entry["status"].as_str().unwrap())).collect()
}

/// The same release for statectl.
fn taken_over(adopt: &str, replicas: u32) -> String {
    let chart = repository("tests/cases/charts/whole");
    format!(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = {:?}\nadopt = {adopt:?}\n\
         set = {{ \"limits.pods\" = \"4\", replicas = \"{replicas}\" }}\n",
        chart.to_str().unwrap()
    )
}

#[test]
fn a_release_of_either_helm_is_taken_over_and_goes_on() {
    for helm in HELMS {
        let scene = Scene::new(&format!("take-{helm}"));
        installed_by(helm, &scene);
        let path = scene.write(&taken_over("never", 2));
        let path = path.to_str().unwrap();
        scene.cluster.statectl(["plan", path]).expect(4).says("blocked");
        scene.write(&taken_over("unowned", 2));
        scene.cluster.statectl(["plan", path]).expect(0).says("adopt");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
        assert_eq!(states(helm, &scene), ["1:superseded", "2:deployed"], "{helm}");

        // What Helm made of the values stays what Helm says of them.
        let values = |revision: &str| {
            let arguments =
                ["get", "values", "r", "-n", &scene.namespace, "--revision", revision, "-o", "json"];
            serde_json::from_str::<Json>(&scene.cluster.tool(helm, &arguments)).unwrap()
        };
        assert_eq!(values("1"), values("2"), "{helm}");

        scene.write(&taken_over("unowned", 3));
        scene.cluster.statectl(["plan", path]).expect(0).says("upgrade");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        // Back to what Helm itself had installed, and to what statectl made of it.
        for (target, replicas) in [("1", 2), ("3", 3)] {
            scene.cluster.tool(helm, &["rollback", "r", target, "-n", &scene.namespace]);
            let deployment = scene.cluster.get(&scene.namespace, "deployment", "r").unwrap();
            assert_eq!(deployment["spec"]["replicas"], replicas, "{helm} rollback r {target}");
        }
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
    }
}

#[test]
fn either_helm_goes_on_with_every_state_that_statectl_leaves() {
    let chart = chart();
    let chart = chart.to_str().unwrap();
    for helm in HELMS {
        let scene = Scene::new(&format!("go-on-{helm}"));
        let namespace = scene.namespace.as_str();
        let run = |arguments: &[&str]| scene.cluster.tool(helm, &[arguments, &["-n", namespace]].concat());
        let apply = |values: &str, code: i32| {
            let path = scene.write(&app(values));
            scene.cluster.statectl(["apply", path.to_str().unwrap(), "--yes"]).expect(code)
        };
        let replicas = |expected: u64| {
            let deployment = scene.cluster.get(namespace, "deployment", "r").unwrap();
            assert_eq!(deployment["spec"]["replicas"], expected, "{helm}: {:?}", states(helm, &scene));
        };

        apply("", 0);
        run(&["upgrade", "r", chart, "--set", "replicas=2"]);
        replicas(2);
        // An upgrade that failed, taken up by an upgrade, and by a rollback.
        apply("set = { failHook = \"pre-upgrade\" }", 1);
        assert_eq!(states(helm, &scene), ["1:superseded", "2:deployed", "3:failed"]);
        run(&["upgrade", "r", chart, "--set", "replicas=3"]);
        replicas(3);
        apply("set = { failHook = \"post-upgrade\", replicas = \"4\" }", 1);
        run(&["rollback", "r", "2"]);
        replicas(2);
        assert_eq!(states(helm, &scene)[4..], ["5:failed", "6:deployed"]);

        // An uninstalled release whose history is kept: statectl installs it, and Helm rolls it back.
        run(&["uninstall", "r", "--keep-history"]);
        assert!(scene.cluster.get(namespace, "deployment", "r").is_none());
        apply("set = { replicas = \"5\" }", 0);
        assert_eq!(states(helm, &scene)[5..], ["6:superseded", "7:deployed"]);
        run(&["rollback", "r", "6"]);
        replicas(2);
        run(&["uninstall", "r", "--keep-history"]);
        run(&["rollback", "r", "7"]);
        replicas(5);
        run(&["uninstall", "r"]);
        assert!(scene.cluster.get(namespace, "secret", "sh.helm.release.v1.r.v7").is_none());
    }
}
