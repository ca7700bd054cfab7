//! The examples of the repository, on the real API server, with real Helm looking at what they leave.

use serde_json::Value as Json;

use crate::support::audit::writes_of_statectl;
use crate::support::cluster::cluster;
use crate::support::repository;

/// Every request of a user of its own, as the audit log has it.
#[test]
fn verbs_that_only_show_write_nothing() {
    let scene = crate::support::scene::Scene::new("only-shows");
    let apps = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n\
                [apps.data]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/store\"\n";
    let file = scene
        .write(&format!("{apps}[apps.gone]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n"));
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    // Everything there is to decide about: a change, a refusal, a release that left the file, one that is new.
    let file = scene.write(&format!(
        "{}[apps.new]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/migrate\"\n",
        apps.replace("CHARTS/web\"\n", "CHARTS/web\"\nset = { greeting = \"other\" }\n")
            .replace("CHARTS/store\"\n", "CHARTS/store\"\nset = { storage = \"2Gi\" }\n")
    ));
    let file = file.to_str().unwrap();
    let saved = scene.folder.path().join("plan.json");
    let account = scene.cluster.as_account(&scene.namespace, "shows", scene.folder.path());
    let mark = scene.cluster.audit_mark();
    for arguments in [
        &["plan", file][..],
        &["plan", file, "--verify=all", "-o", "json"],
        &["plan", file, "--destroy"],
        &["plan", file, "--out", saved.to_str().unwrap()],
        &["diff", file],
        &["diff", file, "--verify=all", "-o", "json"],
        &["drift", file],
        &["drift", file, "--strict", "-o", "json"],
        &["status", file],
    ] {
        let output = account.statectl(arguments);
        assert!([0, 4].contains(&output.code), "{arguments:?}: {}{}", output.stdout, output.stderr);
    }
    // The audit log is written a moment after the answer.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let user = format!("system:serviceaccount:{}:shows", scene.namespace);
    let entries = scene.cluster.requests_since(mark);
    let own: Vec<&Json> = entries.iter().filter(|entry| entry["user"]["username"] == user.as_str()).collect();
    let text = |entry: &Json, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let dry = own.iter().filter(|entry| text(entry, "requestURI").contains("dryRun=All")).count();
    assert!(dry > 10, "{dry} dry runs of {} requests", own.len());
    let writes: Vec<String> = own
        .iter()
        .filter(|entry| {
            let uri = text(entry, "requestURI");
            !matches!(text(entry, "verb").as_str(), "get" | "list" | "watch")
                && !uri.contains("dryRun=All")
                && !uri.contains("/selfsubject")
        })
        .map(|entry| format!("{} {}", text(entry, "verb"), text(entry, "requestURI")))
        .collect();
    assert_eq!(writes, [""; 0]);
}

/// An example is applied, found unchanged, read by both Helms and removed.
fn lives_and_goes(file: &str, releases: &[(&str, &str)]) {
    let cluster = cluster();
    let namespaces: Vec<&str> = releases.iter().map(|(namespace, _)| *namespace).collect();
    let mark = cluster.audit_mark();
    cluster.statectl(["plan", file, "--detailed-exit-code"]).expect(2).says("to install");
    assert_eq!(writes_of_statectl(cluster, mark, &namespaces), [""; 0], "a plan writes nothing");

    cluster.statectl(["apply", file, "--yes"]).expect(0).says("deployed");
    let mark = cluster.audit_mark();
    cluster.statectl(["plan", file, "--detailed-exit-code"]).expect(0).says("no changes");
    assert_eq!(writes_of_statectl(cluster, mark, &namespaces), [""; 0], "a plan writes nothing");
    cluster.statectl(["apply", file, "--yes"]).expect(0).says("no changes");
    assert_eq!(
        writes_of_statectl(cluster, mark, &namespaces),
        [""; 0],
        "an apply that changes nothing writes nothing"
    );

    let status = cluster.statectl(["status", file, "-o", "json"]).expect(0).json();
    for (namespace, name) in releases {
        let rows = status["releases"].as_array().unwrap();
        let row = rows.iter().find(|row| row["namespace"] == *namespace && row["name"] == *name).unwrap();
        assert_eq!((row["status"].as_str(), row["revision"].as_u64()), (Some("deployed"), Some(1)), "{row}");
        for helm in ["helm3", "helm4"] {
            let list: Json =
                serde_json::from_str(&cluster.tool(helm, &["list", "-n", namespace, "-o", "json"])).unwrap();
            let found = list.as_array().unwrap().iter().find(|release| release["name"] == *name);
            assert_eq!(found.unwrap()["status"], "deployed", "{helm} list");
            assert!(cluster.tool(helm, &["history", name, "-n", namespace]).contains("Install complete"));
            assert!(cluster.tool(helm, &["get", "manifest", name, "-n", namespace]).contains("# Source: "));
        }
    }
    cluster.statectl(["destroy", file, "--yes"]).expect(0).says("uninstalled");
    for (namespace, name) in releases {
        let (found, _) = cluster.try_tool("helm4", &["status", name, "-n", namespace]);
        assert!(!found, "{namespace}/{name} is gone");
    }
}

#[test]
fn minimal_toml() {
    lives_and_goes("examples/dsf/minimal.toml", &[("minimal", "web")]);
}

#[test]
fn demo_toml() {
    lives_and_goes(
        "examples/dsf/demo.toml",
        &[("demo-data", "store"), ("demo-data", "migrate"), ("demo-web", "web")],
    );
}

#[test]
fn demo_yaml() {
    lives_and_goes(
        "examples/dsf/demo.yaml",
        &[("demo-yaml-data", "store"), ("demo-yaml-data", "migrate"), ("demo-yaml-web", "web")],
    );
}

/// `immutable.toml`, step by step as its comments tell.
#[test]
fn immutable_toml() {
    let cluster = cluster();
    let folder = tempfile::tempdir().unwrap();
    let charts = repository("examples/charts");
    let example = std::fs::read_to_string(repository("examples/dsf/immutable.toml")).unwrap();
    let example = example.replace("../charts", charts.to_str().unwrap());
    let file = folder.path().join("immutable.toml");
    let path = file.to_str().unwrap();
    let write = |text: &str| std::fs::write(&file, text).unwrap();

    write(&example);
    cluster.statectl(["apply", path, "--yes"]).expect(0);
    let uids = || {
        let uid = |kind: &str, name: &str| cluster.uid("immutable", kind, name);
        (
            uid("statefulset", "ledger"),
            uid("pvc", "data-ledger-0"),
            uid("pvc", "data-cache-0"),
            uid("statefulset", "cache"),
        )
    };
    let before = uids();
    let secrets = || cluster.tool("kubectl", &["get", "secrets", "-n", "immutable", "-o", "name"]);
    let secrets_before = secrets();

    let changed = example.replace("serviceName = \"ledger\"", "serviceName = \"ledger-v2\"");
    assert_ne!(changed, example);
    write(&changed);
    let mark = cluster.audit_mark();
    let refused = cluster.statectl(["plan", path]).expect(4);
    for text in [
        "StatefulSet immutable/ledger",
        "spec.serviceName",
        "ledger → ledger-v2",
        "force = [\"replace\"]",
        "[apps.ledger]",
    ] {
        assert!(refused.stdout.contains(text), "the plan names {text}\n{}", refused.stdout);
    }
    let report = cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    let ledger = report["releases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|release| release["name"] == "ledger")
        .unwrap()
        .clone();
    assert_eq!(ledger["action"], "blocked");
    assert_eq!(ledger["reasons"][0]["code"], "immutable");
    assert_eq!(ledger["reasons"][0]["field"], "spec.serviceName");
    assert_eq!(ledger["reasons"][0]["object"], "StatefulSet/ledger");
    cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(writes_of_statectl(cluster, mark, &["immutable"]), [""; 0], "nothing is written");
    assert_eq!(uids(), before);
    assert_eq!(secrets(), secrets_before);

    write(&changed.replace("\n[apps.ledger]\n", "\n[apps.ledger]\nforce = [\"replace\"]\n"));
    let plan = cluster.statectl(["plan", path, "-o", "json"]).expect(0).json();
    for release in plan["releases"].as_array().unwrap() {
        let (name, action) = (release["name"].as_str().unwrap(), release["action"].as_str().unwrap());
        assert_eq!(action, if name == "ledger" { "reinstall" } else { "none" }, "{name}");
        for object in release["objects"].as_array().unwrap() {
            if object["action"] == "replace" {
                assert_eq!((name, object["kind"].as_str()), ("ledger", Some("StatefulSet")));
            }
        }
    }
    cluster.statectl(["apply", path, "--yes"]).expect(0);
    let after = uids();
    assert_ne!(after.0, before.0, "the StatefulSet was created again");
    assert_eq!(
        (after.1, after.2, after.3),
        (before.1, before.2, before.3),
        "claims and the other release stay"
    );
    let set = cluster.get("immutable", "statefulset", "ledger").unwrap();
    assert_eq!(set["spec"]["serviceName"], "ledger-v2");
    cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
    assert!(cluster.tool("helm4", &["history", "ledger", "-n", "immutable"]).contains("superseded"));
    cluster.statectl(["destroy", path, "--yes"]).expect(0);
}
