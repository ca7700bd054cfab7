//! Helmsman, as far as contexts go.
//!
//! What Helmsman does to a cluster it does by running helm and kubectl. Where `STATECTL_TEST_HELMSMAN` names its binary
//! (and `HELM_PLUGINS` the folder of the diff plugin) that one runs; elsewhere the same commands are run here, in the
//! order that was seen on the wire of Helmsman 4.0.5, and the same decisions are made from what they print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use super::cluster::Cluster;

/// Decisions by release.
pub(crate) type Decisions = BTreeMap<String, &'static str>;

pub(crate) struct Helmsman<'a> {
    pub(crate) cluster: &'a Cluster,
    /// `helm3` or `helm4`.
    pub(crate) helm: &'static str,
}

/// What Helmsman writes about a release, and what it means.
const TEXTS: [(&str, &str); 6] = [
    ("will be installed", "install"),
    ("will be updated", "update"),
    ("will be upgraded", "upgrade"),
    ("installed and up-to-date", "up-to-date"),
    ("found and it will be deleted", "delete"),
    ("not managed by the current context", "foreign"),
];

impl Helmsman<'_> {
    /// Returns what it would do with a file.
    pub(crate) fn plan(&self, file: &Path) -> Decisions {
        match std::env::var_os("STATECTL_TEST_HELMSMAN") {
            Some(binary) => self.run(&PathBuf::from(binary), file, &[]),
            None => self.decide(&read(file)),
        }
    }

    /// Carries a file out and returns what it did.
    pub(crate) fn apply(&self, file: &Path) -> Decisions {
        if let Some(binary) = std::env::var_os("STATECTL_TEST_HELMSMAN") {
            return self.run(&PathBuf::from(binary), file, &["--apply"]);
        }
        let state = read(file);
        let decisions = self.decide(&state);
        assert!(!decisions.values().any(|decision| *decision == "foreign"), "it gives up: {decisions:?}");
        for (release, decision) in decisions.iter().filter(|(_, decision)| **decision == "delete") {
            let (namespace, name) = release.split_once('/').unwrap();
            self.cluster.tool(self.helm, &["uninstall", name, "-n", namespace]);
            assert_eq!(*decision, "delete");
        }
        for app in apps(&state) {
            if decisions[&app.id()] != "up-to-date" {
                self.cluster.tool(
                    self.helm,
                    &app.upgrade(&["--install"]).iter().map(String::as_str).collect::<Vec<_>>(),
                );
                self.label(&app, state["context"].as_str().unwrap());
            }
        }
        decisions
    }

    /// Helmsman marks every record of a release once helm has ended.
    fn label(&self, app: &App, context: &str) {
        let which = format!("owner=helm,name={}", app.name);
        let marks = [format!("NAMESPACE={}", app.namespace), format!("HELMSMAN_CONTEXT={context}")];
        let mut arguments =
            vec!["label", "--overwrite", "secret", "-n", &app.namespace, "-l", &which, "MANAGED-BY=HELMSMAN"];
        arguments.extend(marks.iter().map(String::as_str));
        self.cluster.tool("kubectl", &arguments);
    }

    fn decide(&self, state: &Json) -> Decisions {
        let context = state["context"].as_str().unwrap();
        let mut decisions = Decisions::new();
        for app in apps(state) {
            decisions.insert(app.id(), self.decide_app(&app, context));
        }
        for namespace in state["namespaces"].as_object().unwrap().keys() {
            let which = format!("MANAGED-BY=HELMSMAN,HELMSMAN_CONTEXT={context}");
            let text =
                self.cluster.tool("kubectl", &["get", "secret", "-n", namespace, "-l", &which, "-o", "json"]);
            let list: Json = serde_json::from_str(&text).unwrap();
            for record in list["items"].as_array().unwrap() {
                let id = format!("{namespace}/{}", record["metadata"]["labels"]["name"].as_str().unwrap());
                decisions.entry(id).or_insert("delete");
            }
        }
        decisions
    }

    fn decide_app(&self, app: &App, context: &str) -> &'static str {
        let text = self.cluster.tool(self.helm, &["list", "-n", &app.namespace, "-o", "json"]);
        let list: Json = serde_json::from_str(&text).unwrap();
        let Some(found) = list.as_array().unwrap().iter().find(|item| item["name"] == app.name.as_str())
        else {
            return "install";
        };
        let which = format!("owner=helm,name={}", app.name);
        let text = self
            .cluster
            .tool("kubectl", &["get", "secret", "-n", &app.namespace, "-l", &which, "-o", "json"]);
        let records: Json = serde_json::from_str(&text).unwrap();
        // `.items[-1]`: the last by name, whatever its revision.
        let last = records["items"].as_array().unwrap().last().unwrap().clone();
        if last["metadata"]["labels"]["HELMSMAN_CONTEXT"].as_str().unwrap_or("default") != context {
            return "foreign";
        }
        if !found["chart"].as_str().unwrap().ends_with(&format!("-{}", app.version)) {
            return "upgrade";
        }
        let dry_run = app.upgrade(&["--dry-run=server", "-o", "json"]);
        let text = self.cluster.tool(self.helm, &dry_run.iter().map(String::as_str).collect::<Vec<_>>());
        let rendered: Json = serde_json::from_str(&text).unwrap();
        let stored = self.cluster.tool(self.helm, &["get", "manifest", &app.name, "-n", &app.namespace]);
        let same = objects(rendered["manifest"].as_str().unwrap()) == objects(&stored);
        if same { "up-to-date" } else { "update" }
    }

    fn run(&self, binary: &Path, file: &Path, flags: &[&str]) -> Decisions {
        let folder = tempfile::tempdir().unwrap();
        for (name, tool) in [("helm", self.helm), ("kubectl", "kubectl")] {
            std::os::unix::fs::symlink(self.cluster.tool_path(tool), folder.path().join(name)).unwrap();
        }
        let mut path = vec![folder.path().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let output = Command::new(binary)
            .args(["-f", file.to_str().unwrap(), "--no-banner", "--no-color"])
            .args(flags)
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", folder.path())
            .env("KUBECONFIG", &self.cluster.kubeconfig)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let state = read(file);
        let namespace =
            |name: &str| apps(&state).into_iter().find(|app| app.name == name).map(|app| app.namespace);
        let first = state["namespaces"].as_object().unwrap().keys().next().unwrap().clone();
        let mut decisions = Decisions::new();
        for line in text.lines() {
            let Some((_, meaning)) = TEXTS.iter().find(|(part, _)| line.contains(part)) else { continue };
            let name = line.split("elease [ ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
            // Of what it deletes Helmsman does not say the namespace.
            let namespace = namespace(name).unwrap_or_else(|| first.clone());
            decisions.insert(format!("{namespace}/{name}"), meaning);
        }
        let gave_up = decisions.values().any(|decision| *decision == "foreign");
        assert!(output.status.success() || gave_up, "{text}");
        decisions
    }
}

struct App {
    namespace: String,
    name: String,
    chart: String,
    version: String,
    set: Vec<String>,
}

impl App {
    fn id(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn upgrade(&self, flags: &[&str]) -> Vec<String> {
        let words =
            ["upgrade", &self.name, &self.chart, "--namespace", &self.namespace, "--version", &self.version];
        let sets = self.set.iter().flat_map(|set| ["--set", set.as_str()]);
        words.into_iter().chain(sets).chain(flags.iter().copied()).map(str::to_owned).collect()
    }
}

fn read(file: &Path) -> Json {
    serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn apps(state: &Json) -> Vec<App> {
    let Some(apps) = state["apps"].as_object() else { return Vec::new() };
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    apps.iter()
        .map(|(name, app)| App {
            namespace: text(&app["namespace"]),
            name: name.clone(),
            chart: text(&app["chart"]),
            version: text(&app["version"]),
            set: app["set"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| format!("{key}={}", text(value)))
                .collect(),
        })
        .collect()
}

/// The objects of a manifest; how they are spaced makes no difference to the diff plugin.
fn objects(manifest: &str) -> Vec<Json> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(manifest);
    let objects = documents.map(|document| Json::deserialize(document).unwrap());
    objects.filter(|object| !object.is_null()).collect()
}
