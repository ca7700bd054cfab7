//! Contexts that Helmsman and statectl manage in turn, and contexts that change hands, on the real API server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::support::helmsman::{Decisions, Helmsman};
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::repository;
use crate::support::scene::Scene;

const HELMS: [&str; 2] = ["helm4", "helm3"];

/// Writes a file for both tools: apps with their greeting.
fn file(scene: &Scene, name: &str, context: &str, apps: &[(&str, &str)]) -> PathBuf {
    let chart = repository("examples/charts/web");
    let entry = |(app, greeting): &(&str, &str)| {
        format!(
            "\n  {app}: {{ namespace: {}, enabled: true, chart: {}, version: 1.0.0, set: {{ greeting: {greeting} }} }}",
            scene.namespace,
            chart.display()
        )
    };
    let entries: String = apps.iter().map(entry).collect();
    let text = format!("context: {context}\nnamespaces:\n  {}:\napps:{entries}", scene.namespace);
    let path = scene.folder.path().join(name);
    std::fs::write(&path, text + "\n").unwrap();
    path
}

fn settled(scene: &Scene, file: &std::path::Path) {
    let arguments = ["plan", file.to_str().unwrap(), "--allow-outside-paths", "--detailed-exit-code"];
    scene.cluster.statectl(arguments).expect(0).says("no changes");
}

fn all(scene: &Scene, decisions: &[(&str, &'static str)]) -> Decisions {
    decisions.iter().map(|(name, decision)| (format!("{}/{name}", scene.namespace), *decision)).collect()
}

/// The labels of each record of a release that say whose it is, by the name of the record.
fn owners(scene: &Scene, release: &str) -> BTreeMap<String, Vec<String>> {
    let which = format!("owner=helm,name={release}");
    let arguments = ["get", "secret", "-n", &scene.namespace, "-l", &which, "-o", "json"];
    let list: Json = serde_json::from_str(&scene.cluster.tool("kubectl", &arguments)).unwrap();
    let marks = ["HELMSMAN_CONTEXT", "MANAGED-BY", "NAMESPACE"];
    let of = |record: &Json| {
        let labels = &record["metadata"]["labels"];
        marks.map(|mark| labels[mark].as_str().unwrap_or_default().to_owned()).to_vec()
    };
    let records = list["items"].as_array().unwrap();
    records
        .iter()
        .map(|record| (record["metadata"]["name"].as_str().unwrap().to_owned(), of(record)))
        .collect()
}

/// What may not change when a release changes hands.
fn versions(scene: &Scene, release: &str) -> Vec<String> {
    let objects = [
        ("deployment", release.to_owned()),
        ("service", release.to_owned()),
        ("configmap", format!("{release}-config")),
    ];
    let version = |(kind, name): &(&str, String)| {
        let object = scene.cluster.get(&scene.namespace, kind, name).unwrap();
        let metadata = &object["metadata"];
        // The controller writes the status of a Deployment.
        let version =
            if *kind == "deployment" { &metadata["generation"] } else { &metadata["resourceVersion"] };
        format!("{} {version}", metadata["uid"])
    };
    objects.iter().map(version).collect()
}

/// Installed by Helmsman, taken over with a plan without changes, changed by one and then by the other, each seeing what
/// the other did, and handed back.
#[test]
fn both_tools_manage_one_context_in_turn() {
    for helm in HELMS {
        let scene = Scene::new(&format!("turns-{helm}"));
        let helmsman = Helmsman { cluster: scene.cluster, helm };
        let context = scene.namespace.clone();
        let write = |apps: &[(&str, &str)]| file(&scene, "shop.yaml", &context, apps);
        let apply = |file: &std::path::Path| {
            scene
                .cluster
                .statectl(["apply", file.to_str().unwrap(), "--allow-outside-paths", "--yes"])
                .expect(0)
        };
        // Nobody's, and in the same namespace: neither touches it.
        let chart = repository("examples/charts/web");
        let by_hand = ["install", "by-hand", chart.to_str().unwrap(), "-n", &scene.namespace];
        scene.cluster.tool(helm, &by_hand);

        let path = write(&[("web", "a"), ("api", "a"), ("old", "a")]);
        let installed = all(&scene, &[("web", "install"), ("api", "install"), ("old", "install")]);
        assert_eq!(helmsman.apply(&path), installed, "{helm}");
        settled(&scene, &path);

        let path = write(&[("web", "b"), ("api", "a"), ("old", "a")]);
        apply(&path).says("1 deployed, 2 unchanged");
        let nothing = all(&scene, &[("web", "up-to-date"), ("api", "up-to-date"), ("old", "up-to-date")]);
        assert_eq!(helmsman.plan(&path), nothing, "{helm}");

        let path = write(&[("web", "b"), ("api", "c"), ("old", "a")]);
        let updated = all(&scene, &[("web", "up-to-date"), ("api", "update"), ("old", "up-to-date")]);
        assert_eq!(helmsman.apply(&path), updated, "{helm}");
        settled(&scene, &path);
        let owner = vec![context.clone(), "HELMSMAN".to_owned(), context.clone()];
        for release in ["web", "api"] {
            let owners = owners(&scene, release);
            assert_eq!(owners.len(), 2, "{helm}: {owners:?}");
            assert!(owners.values().all(|marks| *marks == owner), "{helm}: {owners:?}");
        }

        // What one removes because it left the file is gone for the other.
        let path = write(&[("web", "b"), ("api", "c")]);
        apply(&path).says("1 uninstalled");
        assert_eq!(
            helmsman.plan(&path),
            all(&scene, &[("web", "up-to-date"), ("api", "up-to-date")]),
            "{helm}"
        );
        let path = write(&[("web", "b")]);
        assert_eq!(helmsman.apply(&path), all(&scene, &[("web", "up-to-date"), ("api", "delete")]), "{helm}");
        settled(&scene, &path);
        // And what statectl installs is Helmsman's to remove.
        let path = write(&[("web", "b"), ("new", "a")]);
        apply(&path);
        let path = write(&[("web", "b")]);
        assert_eq!(helmsman.plan(&path), all(&scene, &[("web", "up-to-date"), ("new", "delete")]), "{helm}");
        assert!(owners(&scene, "by-hand").values().flatten().all(String::is_empty), "{helm}");
    }
}

/// The other owner is named, only what was asked for changes hands, and nothing but labels changes.
#[test]
fn a_context_is_adopted_and_only_its_labels_change() {
    let scene = Scene::new("adopts");
    let helmsman = Helmsman { cluster: scene.cluster, helm: "helm4" };
    let (old, new) = (format!("{}-old", scene.namespace), format!("{}-new", scene.namespace));
    helmsman.apply(&file(&scene, "old.yaml", &old, &[("web", "a"), ("api", "a")]));
    helmsman.apply(&file(&scene, "old.yaml", &old, &[("web", "b"), ("api", "a")]));
    let path = file(&scene, "new.yaml", &new, &[("web", "b")]);
    let statectl = |arguments: &[&str]| {
        let file = path.to_str().unwrap();
        let all = [&arguments[..1], &[file, "--allow-outside-paths"][..], &arguments[1..]].concat();
        scene.cluster.statectl(all)
    };
    let codes = |output: &str| -> Vec<String> {
        let report: Json = serde_json::from_str(output).unwrap();
        let reasons = scene.release(&report, "web")["reasons"].as_array().unwrap();
        reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
    };

    statectl(&["plan"]).expect(4).says(&format!("belongs to context `{old}`")).says("--from-context");
    assert_eq!(helmsman.plan(&path)[&format!("{}/web", scene.namespace)], "foreign");
    for arguments in [&["adopt", "--yes"][..], &["adopt", "--yes", "--from-context", "wrong"]] {
        let output = statectl(&[arguments, &["-o", "json"]].concat()).expect(4);
        assert!(output.stderr.contains(&old), "{}", output.stderr);
    }
    let before = versions(&scene, "web");
    let output = statectl(&["adopt", "--from-context", &old, "--yes"]).expect(0);
    assert!(output.stdout.contains(&format!("goes from context `{old}` to `{new}`")), "{}", output.stdout);
    assert_eq!(versions(&scene, "web"), before);
    let marks = vec![new.clone(), "HELMSMAN".to_owned(), scene.namespace.clone()];
    let records = owners(&scene, "web");
    assert_eq!(records.len(), 2);
    assert!(records.values().all(|found| *found == marks), "{records:?}");
    // Both tools go on with it under its new context, and its former neighbour stays where it was.
    settled(&scene, &path);
    assert_eq!(helmsman.plan(&path), all(&scene, &[("web", "up-to-date")]));
    assert!(owners(&scene, "api").values().all(|marks| marks[0] == old));
    assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 2));

    let output = statectl(&["adopt", "--from-context", &old, "--yes", "-o", "json"]).expect(0);
    assert_eq!(codes(&statectl(&["plan", "-o", "json"]).expect(0).stdout), ["unchanged"]);
    assert!(output.stderr.contains("already"), "{}", output.stderr);
}

/// Without `--from-context` releases of nobody are meant: those of plain Helm.
#[test]
fn releases_of_plain_helm_are_adopted_without_a_new_revision() {
    for helm in HELMS {
        let scene = Scene::new(&format!("adopts-{helm}"));
        let chart = repository("examples/charts/web");
        let install =
            ["install", "web", chart.to_str().unwrap(), "-n", &scene.namespace, "--set", "greeting=a"];
        scene.cluster.tool(helm, &install);
        let context = scene.namespace.clone();
        let path = file(&scene, "shop.yaml", &context, &[("web", "a")]);
        let run = |verb: &str, flags: &[&str]| {
            let all = [&[verb, path.to_str().unwrap(), "--allow-outside-paths"][..], flags].concat();
            scene.cluster.statectl(all)
        };
        run("plan", &[]).expect(4).says("statectl adopt");
        let before = versions(&scene, "web");
        run("adopt", &["--yes"]).expect(0).says("adopted");
        assert_eq!(versions(&scene, "web"), before, "{helm}");
        settled(&scene, &path);
        assert_eq!(scene.helm_status("web"), ("deployed".to_owned(), 1), "{helm}");
    }
}

/// With a selection nothing goes, and without one only what carries the label of this context.
#[test]
fn a_selection_removes_nothing_outside_it() {
    let scene = Scene::new("selects");
    let helmsman = Helmsman { cluster: scene.cluster, helm: "helm4" };
    let (ours, theirs) = (format!("{}-ours", scene.namespace), format!("{}-theirs", scene.namespace));
    helmsman.apply(&file(&scene, "ours.yaml", &ours, &[("web", "a"), ("api", "a")]));
    helmsman.apply(&file(&scene, "theirs.yaml", &theirs, &[("foreign", "a")]));
    let path = file(&scene, "ours.yaml", &ours, &[("web", "b")]);
    let actions = |flags: &[&str]| -> BTreeMap<String, String> {
        let all = ["plan", path.to_str().unwrap(), "--allow-outside-paths", "-o", "json"];
        let report = scene.cluster.statectl([&all[..], flags].concat()).expect(0).json();
        let releases = report["releases"].as_array().unwrap().clone();
        let text = |release: &Json, key: &str| release[key].as_str().unwrap().to_owned();
        releases.iter().map(|release| (text(release, "name"), text(release, "action"))).collect()
    };
    let expected = |rows: &[(&str, &str)]| -> BTreeMap<String, String> {
        rows.iter().map(|(name, action)| ((*name).to_owned(), (*action).to_owned())).collect()
    };
    assert_eq!(actions(&["--target", "web"]), expected(&[("web", "upgrade")]));
    assert_eq!(actions(&["--keep-untracked-releases"]), expected(&[("web", "upgrade")]));
    assert_eq!(actions(&[]), expected(&[("web", "upgrade"), ("api", "uninstall")]));
}

/// The newest record, which tells whose the release is, is written last: what ends between two records changed nothing.
#[test]
fn an_adoption_that_ends_between_two_records_is_made_again() {
    let scene = Scene::new("adopts-twice");
    let helmsman = Helmsman { cluster: scene.cluster, helm: "helm4" };
    let (old, new) = (format!("{}-old", scene.namespace), format!("{}-new", scene.namespace));
    for greeting in ["a", "b"] {
        helmsman.apply(&file(&scene, "old.yaml", &old, &[("web", greeting)]));
    }
    let path = file(&scene, "new.yaml", &new, &[("web", "b")]);
    let arguments =
        ["adopt", path.to_str().unwrap(), "--allow-outside-paths", "--from-context", &old, "--yes"];
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("PUT", "sh.helm.release.v1.web.v2").fault(Fault::answer(403, "not now")));
    let output = proxy.cluster().statectl(arguments).expect(1);
    assert!(output.stderr.contains("not now") || output.stdout.contains("not now"), "{}", output.stdout);
    let contexts: Vec<String> = owners(&scene, "web").into_values().map(|marks| marks[0].clone()).collect();
    assert_eq!(contexts, [new.clone(), old.clone()]);
    settled(&scene, &file(&scene, "old.yaml", &old, &[("web", "b")]));
    scene.cluster.statectl(arguments).expect(0);
    settled(&scene, &path);
    assert!(owners(&scene, "web").values().all(|marks| marks[0] == new));
}
