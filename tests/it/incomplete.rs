//! What could not be read is never taken for absent: no fault on the way to the server leads to a deletion.
//!
//! Each case has a release that left the file and an object that left its chart. Without a fault both are removed;
//! with one, whatever rests on what could not be read stays.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};
use statectl::cluster::{ConnectOptions, connect};
use statectl::observe;

use crate::support::cluster::{Cluster, cluster};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::statectl::Output;

/// A namespace with a release whose chart lost an object, and one that left the file.
struct Story {
    cluster: &'static Cluster,
    proxy: Proxy,
    folder: tempfile::TempDir,
    namespace: String,
}

const APP: &str = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
const GONE: &str = "[apps.gone]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";

impl Story {
    fn new(name: &str) -> Self {
        let cluster = cluster();
        let namespace = cluster.namespace(&format!("incomplete-{name}"));
        let story =
            Self { cluster, proxy: Proxy::start(cluster), folder: tempfile::tempdir().unwrap(), namespace };
        story.chart(&["kept", "dropped"], "");
        let file = story.state(&format!("{APP}{GONE}"));
        story.cluster.statectl(["apply", &file, "--yes"]).expect(0);
        story.chart(&["kept"], "");
        story.state(APP);
        story
    }

    fn chart(&self, maps: &[&str], more: &str) {
        let templates = self.folder.path().join("chart/templates");
        std::fs::create_dir_all(&templates).unwrap();
        let text = "apiVersion: v2\nname: chart\nversion: 1.0.0\n";
        std::fs::write(self.folder.path().join("chart/Chart.yaml"), text).unwrap();
        let map = |name: &&str| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}\ndata: {{a: \"1\"}}\n"
            )
        };
        let text: String = maps.iter().map(map).collect();
        std::fs::write(templates.join("maps.yaml"), text + more).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state.toml")
    }

    fn state(&self, apps: &str) -> String {
        let text = format!("context = \"NS\"\n[namespaces.NS]\n{apps}").replace("NS", &self.namespace);
        std::fs::write(self.path(), text).unwrap();
        self.path().to_str().unwrap().to_owned()
    }

    fn apply(&self) -> Output {
        self.proxy.cluster().statectl(["apply", self.path().to_str().unwrap(), "--yes", "-o", "json"])
    }

    /// Plans and applies with the fault; nothing may be deleted, and what went wrong is said.
    #[track_caller]
    fn nothing_goes(&self, code: i32, said: &str) -> Output {
        let plan = self.proxy.cluster().statectl(["plan", self.path().to_str().unwrap(), "-o", "json"]);
        assert!(plan.code != 0 && plan.code != 2, "the plan fails or is blocked: {}", plan.stdout);
        assert!(self.proxy.faults() > 0, "the fault is met: {:#?}", self.proxy.seen());
        let output = self.apply();
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, code, "{text}");
        assert!(text.contains(said), "{said:?} is not said: {text}");
        self.nothing_is_deleted();
        output
    }

    #[track_caller]
    fn nothing_is_deleted(&self) {
        let deletes: Vec<String> = self
            .proxy
            .writes()
            .into_iter()
            .filter(|write| write.starts_with("DELETE") && !write.contains("/leases/"))
            .collect();
        assert_eq!(deletes, [""; 0]);
        for name in ["web-kept", "web-dropped", "gone-kept", "gone-dropped"] {
            assert!(self.cluster.get(&self.namespace, "configmap", name).is_some(), "{name} is there");
        }
        assert_eq!(self.cluster.tool("helm4", &["list", "-n", &self.namespace, "-q"]).trim(), "gone\nweb");
    }

    /// Without the fault the same file removes what left.
    #[track_caller]
    fn all_goes(&self) {
        self.proxy.clear();
        self.apply().expect(0);
        for (name, stays) in
            [("web-kept", true), ("web-dropped", false), ("gone-kept", false), ("gone-dropped", false)]
        {
            assert_eq!(self.cluster.get(&self.namespace, "configmap", name).is_some(), stays, "{name}");
        }
    }

    fn rule(&self, part: &str, fault: Fault) {
        self.proxy.rule(Rule::on("GET", &part.replace("NS", &self.namespace)).fault(fault));
    }
}

const RECORDS: &str = "/namespaces/NS/secrets?limit=500&labelSelector=owner";
const MAPS: &str = "/namespaces/NS/configmaps?";

#[test]
fn records_that_may_not_be_listed() {
    let story = Story::new("forbidden");
    let forbidden =
        || Fault::status(403, "Forbidden", "secrets is forbidden: User \"x\" cannot list resource");
    story.rule(RECORDS, forbidden());
    story.nothing_goes(1, "cannot be read");
    story.proxy.clear();
    // Whoever may list nowhere else still sees what left the file in its namespaces: from records that were read.
    story.rule("/api/v1/secrets?", forbidden());
    story.apply().expect(0);
    assert!(story.cluster.get(&story.namespace, "configmap", "gone-kept").is_none());
}

#[test]
fn records_of_the_whole_cluster_that_do_not_come() {
    let story = Story::new("cluster");
    story.rule("/api/v1/secrets?", Fault::answer(503, "service unavailable"));
    story.nothing_goes(1, "releases of this context cannot be listed");
    story.all_goes();
}

#[test]
fn a_page_of_records_that_is_cut() {
    for (name, fault) in [
        ("cut", Fault::CutReply(200)),
        ("short", Fault::ShortenReply(200)),
        ("not-a-list", Fault::answer(200, "{}")),
        ("login-page", Fault::answer(200, "<html>log in</html>")),
        ("no-answer", Fault::Drop),
        ("overloaded", Fault::too_many_requests(0)),
        ("etcd", Fault::status(504, "Timeout", "the request timed out")),
    ] {
        let story = Story::new(name);
        story.rule(RECORDS, fault);
        story.nothing_goes(1, "cannot be read");
    }
}

/// Makes a page end after its first item, and says that there is more.
fn first_page(list: &mut Json) {
    list["metadata"]["continue"] = json!("more");
    list["items"].as_array_mut().unwrap().truncate(1);
}

#[test]
fn a_second_page_that_does_not_come() {
    let story = Story::new("second-page");
    let page = || story.proxy.rule(Rule::on("GET", "continue=more").fault(Fault::answer(503, "no")));
    page();
    story.rule(RECORDS, Fault::Change(first_page));
    story.nothing_goes(1, "cannot be read");
    story.proxy.clear();
    page();
    story.rule("/api/v1/secrets?", Fault::Change(first_page));
    story.nothing_goes(1, "cannot be listed");
    story.proxy.clear();
    page();
    // Where several objects are wanted: the chart has them again.
    story.chart(&["kept", "dropped", "third"], "");
    story.rule(MAPS, Fault::Change(first_page));
    story.nothing_goes(1, "cannot be read");
    story.chart(&["kept"], "");
    story.all_goes();
}

#[test]
fn a_version_of_the_list_that_the_server_no_longer_knows() {
    let story = Story::new("expired");
    let message = "The provided continue parameter is too old";
    story.proxy.rule(Rule::on("GET", "continue=more").fault(Fault::status(410, "Expired", message)));
    story
        .proxy
        .rule(Rule::on("GET", &RECORDS.replace("NS", &story.namespace)).fault(Fault::Change(first_page)));
    // The list is read anew, in one piece: `gone` comes first, `web` would have been on the lost page.
    let output = story.apply().expect(0);
    assert!(story.proxy.seen().iter().any(|seen| seen.uri.contains("limit=0")));
    let report = output.json();
    let states: Vec<&str> = report["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|release| release["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["uninstalled", "deployed"], "{report}");
    assert_eq!(story.cluster.tool("helm4", &["list", "-n", &story.namespace, "-q"]).trim(), "web");
}

#[test]
fn objects_that_cannot_be_looked_at() {
    for (name, fault) in [
        ("object-403", Fault::status(403, "Forbidden", "configmaps is forbidden")),
        ("object-500", Fault::status(500, "InternalError", "etcd is down")),
        ("object-404", Fault::answer(404, "404 page not found")),
        ("object-cut", Fault::CutReply(20)),
    ] {
        let story = Story::new(name);
        story.rule("/namespaces/NS/configmaps", fault);
        story.nothing_goes(1, "cannot be read");
    }
}

/// An API whose server is dead: what the chart makes depends on whether it is there.
#[test]
fn an_api_that_does_not_answer() {
    let story = Story::new("dead-api");
    let group = format!("dead-{}.example.com", std::process::id());
    let gated = |name: &str, condition: &str| {
        format!(
            "{{{{- if {condition} }}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \
             {{{{ .Release.Name }}}}-{name}\n{{{{- end }}}}\n"
        )
    };
    let known = format!(".Capabilities.APIVersions.Has \"{group}/v1/Thing\"");
    story.chart(&["kept", "dropped"], &gated("gated", &format!("not ({known})")));
    story.cluster.statectl(["apply", &story.state(&format!("{APP}{GONE}")), "--yes"]).expect(0);
    story.chart(&["kept"], &gated("gated", &known));
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": format!("v1.{group}")},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "insecureSkipTLSVerify": true, "service": {"name": "nobody", "namespace": story.namespace}},
    });
    let path = story.folder.path().join("apiservice.json");
    std::fs::write(&path, service.to_string()).unwrap();
    let path = path.to_str().unwrap();
    story.cluster.tool("kubectl", &["apply", "-f", path]);
    // The file has both releases again: only objects could go.
    let output = story.apply();
    story.cluster.tool("kubectl", &["delete", "-f", path]);
    let text = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, 1, "{text}");
    assert!(text.contains(&format!("{group}/v1")), "{text}");
    story.nothing_is_deleted();
    assert!(story.cluster.get(&story.namespace, "configmap", "web-gated").is_some());
}

#[test]
fn a_lookup_without_an_answer() {
    let story = Story::new("lookup");
    let gate = "{{- if lookup \"v1\" \"ConfigMap\" .Release.Namespace \"gate\" }}\n---\napiVersion: v1\nkind: \
                ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-behind\n{{- end }}\n";
    let namespace = story.namespace.as_str();
    story.cluster.tool("kubectl", &["create", "configmap", "gate", "-n", namespace]);
    story.chart(&["kept", "dropped"], gate);
    story.cluster.statectl(["apply", &story.state(&format!("{APP}{GONE}")), "--yes"]).expect(0);
    for fault in [Fault::answer(503, "no"), Fault::status(403, "Forbidden", "no"), Fault::answer(404, "no")] {
        story.proxy.clear();
        story.rule("/namespaces/NS/configmaps/gate", fault);
        let output = story.apply();
        assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
        story.nothing_is_deleted();
        assert!(story.cluster.get(namespace, "configmap", "web-behind").is_some());
    }
}

#[test]
fn files_that_do_not_load() {
    let story = Story::new("files");
    for (apps, code, said) in [
        (format!("{APP}valuesFiles = [\"missing.yaml\"]\n"), 64, "missing.yaml"),
        (
            format!("{APP}[apps.more]\nenabled = true\nnamespace = \"NS\"\nchart = \"./missing\"\n"),
            64,
            "missing",
        ),
    ] {
        let file = story.state(&apps);
        let output = story.cluster.statectl(["apply", &file, "--yes"]);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(output.code == code || output.code == 1, "{}: {text}", output.code);
        assert!(text.contains(said), "{text}");
        story.nothing_is_deleted();
    }
    // A chart that fails to render: it cannot be told whether the other release is wanted under another name.
    story.state(APP);
    story.chart(&["kept"], "{{ fail \"broken\" }}");
    let output = story.apply();
    assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
    story.nothing_is_deleted();
}

#[tokio::test]
async fn a_server_that_never_answers() {
    let story = Story::new("hang");
    story.rule(RECORDS, Fault::Delay(Duration::from_secs(5)));
    let options = ConnectOptions {
        kubeconfig: Some(story.proxy.cluster().kubeconfig.clone()),
        request_timeout: Some(Duration::from_secs(1)),
        ..ConnectOptions::default()
    };
    let connection = connect(&options).await.unwrap();
    let mut histories = observe::histories(&connection.reader, [story.namespace.clone()]).await;
    let key = statectl::model::ReleaseKey::new(&story.namespace, "web");
    let error = histories.take(&key).unwrap_err();
    assert!(error.contains("no answer from the API server within"), "{error}");
}
