//! Objects and releases that others made are taken over without delete and create, on the real API server.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scene::Scene;

fn kubectl(scene: &Scene, arguments: &[&str]) -> String {
    scene.cluster.tool("kubectl", &[arguments, &["-n", &scene.namespace]].concat())
}

/// A chart with one ConfigMap `taken` that has the key `ours`.
fn chart(scene: &Scene) {
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: taken\nversion: 1.0.0\n").unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name | default \"taken\" }}\ndata:\n  ours: new\n";
    std::fs::write(chart.join("templates/map.yaml"), map).unwrap();
}

const TAKEN: &str = "[apps.taken]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";

fn manifest(scene: &Scene, name: &str) -> PathBuf {
    let path = scene.folder.path().join(format!("{name}.yaml"));
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  ours: old\n  theirs: gone\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// However it was made: the uid stays, what the chart does not have goes, and nothing is left to do.
#[test]
fn objects_of_every_maker_are_taken_over_whole() {
    let makers: [(&str, &[&str]); 7] = [
        ("apply", &["apply"]),
        ("create", &["create"]),
        ("ssa", &["apply", "--server-side"]),
        ("argo", &["apply", "--server-side", "--field-manager=argocd-controller"]),
        ("flux", &["apply", "--server-side", "--field-manager=kustomize-controller"]),
        ("pulumi", &["apply", "--server-side", "--field-manager=pulumi-kubernetes-1a2b"]),
        ("post", &["create", "--field-manager=some-script"]),
    ];
    let scene = Scene::new("makers");
    chart(&scene);
    for (maker, arguments) in makers {
        let file_of = manifest(&scene, maker);
        kubectl(&scene, &[arguments, &["-f", file_of.to_str().unwrap()]].concat());
        let app = |more: &str| {
            TAKEN.replace("taken", maker) + &format!("values = {{ name = \"{maker}\" }}\n{more}")
        };
        let uid = scene.cluster.uid(&scene.namespace, "configmap", maker);
        let file = scene.write(&app(""));
        let path = file.to_str().unwrap();
        let plan = scene.cluster.statectl(["plan", path, "-o", "json", "--target", maker]).expect(4).json();
        assert_eq!(scene.release(&plan, maker)["reasons"][0]["code"], "not-ours", "{maker}");

        scene.write(&app("adopt = \"unowned\"\n"));
        let plan = scene.cluster.statectl(["plan", path, "-o", "json", "--target", maker]).expect(0).json();
        let object = &scene.release(&plan, maker)["objects"][0];
        assert_eq!(object["action"], "adopt", "{maker}: {object}");
        let fields: Vec<&str> = object["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|field| field["path"].as_str().unwrap())
            .collect();
        assert!(fields.contains(&"data.theirs") && fields.contains(&"data.ours"), "{maker}: {fields:?}");
        scene.cluster.statectl(["apply", path, "--yes", "--target", maker]).expect(0);
        let live = scene.cluster.get(&scene.namespace, "configmap", maker).unwrap();
        assert_eq!(live["data"], serde_json::json!({"ours": "new"}), "{maker}");
        assert_eq!(live["metadata"]["uid"], uid.as_str(), "{maker}");
        let annotations = live["metadata"]["annotations"].as_object().unwrap();
        assert!(!annotations.contains_key("kubectl.kubernetes.io/last-applied-configuration"), "{maker}");
        let again = ["plan", path, "--detailed-exit-code", "-o", "json", "--target", maker];
        let plan = scene.cluster.statectl(again).expect(0).json();
        assert!(plan["notes"][0].as_str().unwrap().contains("adopt"), "{plan}");
    }
}

/// What other managers have besides stays, and is named.
#[test]
fn what_stays_on_an_adopted_object_is_named() {
    let scene = Scene::new("stays");
    chart(&scene);
    let path = manifest(&scene, "taken");
    kubectl(&scene, &["apply", "-f", path.to_str().unwrap()]);
    kubectl(&scene, &["label", "configmap", "taken", "team=blue"]);
    let file = scene.write(&format!("{TAKEN}adopt = \"unowned\"\n"));
    let plan = scene.plan(&file);
    let object = &scene.release(&plan, "taken")["objects"][0];
    let stays =
        object["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == "foreign-fields-stay");
    assert_eq!(stays.unwrap_or_else(|| panic!("{object}"))["manager"], "kubectl-label");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let live = scene.cluster.get(&scene.namespace, "configmap", "taken").unwrap();
    assert_eq!(live["metadata"]["labels"]["team"], "blue");
}

/// `adopt` does its work once.
#[test]
fn what_comes_after_the_first_success_is_not_taken_over() {
    let scene = Scene::new("once");
    chart(&scene);
    kubectl(&scene, &["create", "-f", manifest(&scene, "taken").to_str().unwrap()]);
    let app = |name: &str| format!("{TAKEN}adopt = \"unowned\"\nvalues = {{ name = \"{name}\" }}\n");
    let file = scene.write(&app("taken"));
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    kubectl(&scene, &["create", "-f", manifest(&scene, "later").to_str().unwrap()]);
    scene.write(&app("later"));
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    let reason = &scene.release(&plan, "taken")["reasons"][0];
    assert_eq!(reason["code"], "adoption-spent", "{plan}");
    // The two commands that it names are enough.
    let namespace = scene.namespace.as_str();
    kubectl(&scene, &["label", "configmap", "later", "app.kubernetes.io/managed-by=Helm"]);
    let marks =
        ["meta.helm.sh/release-name=taken".to_owned(), format!("meta.helm.sh/release-namespace={namespace}")];
    kubectl(&scene, &["annotate", "configmap", "later", &marks[0], &marks[1]]);
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(scene.cluster.get(namespace, "configmap", "later").unwrap()["data"]["ours"], "new");
}

#[test]
fn whole_releases_of_both_helms_are_taken_over() {
    for helm in ["helm3", "helm4"] {
        let scene = Scene::new(&format!("from-{helm}"));
        let web = repository("examples/charts/web");
        let set = ["--set", "podAnnotations.by=helm"];
        let install = [&["install", "web", web.to_str().unwrap(), "-n", &scene.namespace][..], &set].concat();
        scene.cluster.tool(helm, &install);
        let kinds =
            [("deployment", "web"), ("service", "web"), ("configmap", "web-config"), ("secret", "web-key")];
        let uids = || kinds.map(|(kind, name)| scene.cluster.uid(&scene.namespace, kind, name));
        let before = uids();
        let file = scene.write(
            "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\nadopt = \"unowned\"\n",
        );
        let plan = scene.plan(&file);
        assert_eq!(scene.release(&plan, "web")["action"], "adopt", "{plan}");
        scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
        assert_eq!(uids(), before, "{helm}");
        let deployment = scene.cluster.get(&scene.namespace, "deployment", "web").unwrap();
        assert_eq!(deployment["spec"]["template"]["metadata"]["annotations"]["by"], Json::Null, "{helm}");
        let arguments = ["get", "deployment", "web", "-o", "json", "--show-managed-fields"];
        let deployment: Json = serde_json::from_str(&kubectl(&scene, &arguments)).unwrap();
        let managers: Vec<(&str, &str)> = deployment["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry.get("subresource").is_none())
            .map(|entry| (entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
            .collect();
        assert_eq!(managers, [("helm", "Apply")], "{helm}");
        scene.cluster.statectl(["plan", file.to_str().unwrap(), "--detailed-exit-code"]).expect(0);
    }
}

/// Definitions and their resources move from another manager, and then to another release, and none is lost.
#[test]
fn definitions_and_their_resources_move_without_losing_one() {
    let scene = Scene::new("seed-moves");
    let group = format!("{}.example.org", scene.namespace);
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: boats.{group}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{ plural: boats, singular: boat, kind: Boat }}\n  versions:\n    \
         - name: v1\n      served: true\n      storage: true\n      schema:\n        openAPIV3Schema:\n          type: object\n          \
         properties:\n            spec:\n              type: object\n              x-kubernetes-preserve-unknown-fields: true\n"
    );
    let boat = |name: &str| {
        format!("apiVersion: {group}/v1\nkind: Boat\nmetadata:\n  name: {name}\nspec:\n  sail: true\n")
    };
    let write = |chart: &str, objects: &[String]| {
        let folder = scene.folder.path().join(chart);
        let _ = std::fs::remove_dir_all(folder.join("templates"));
        std::fs::create_dir_all(folder.join("templates")).unwrap();
        std::fs::write(folder.join("Chart.yaml"), format!("apiVersion: v2\nname: {chart}\nversion: 1.0.0\n"))
            .unwrap();
        std::fs::write(folder.join("templates/all.yaml"), objects.join("---\n")).unwrap();
    };
    let apply_with = |text: &str, manager: &str| {
        let path = scene.folder.path().join("made.yaml");
        std::fs::write(&path, text).unwrap();
        let flag = format!("--field-manager={manager}");
        kubectl(&scene, &["apply", "--server-side", &flag, "-f", path.to_str().unwrap()]);
    };
    apply_with(&definition, "pulumi-kubernetes-9f");
    kubectl(&scene, &["wait", "--for=condition=Established", &format!("crd/boats.{group}")]);
    apply_with(&boat("anna"), "pulumi-kubernetes-9f");
    apply_with(&boat("bert"), "pulumi-kubernetes-9f");
    let kind = format!("boats.{group}");
    let uids = || {
        let crd = kubectl(&scene, &["get", "crd", &kind, "-o", "jsonpath={.metadata.uid}"]);
        let boats = ["anna", "bert"].map(|name| scene.cluster.uid(&scene.namespace, &kind, name));
        (crd, boats)
    };
    let before = uids();

    // From the other manager into a release.
    write("fleet", &[definition.clone(), boat("anna"), boat("bert")]);
    let fleet =
        "[apps.fleet]\nenabled = true\nnamespace = \"NS\"\nchart = \"./fleet\"\nadopt = \"unowned\"\n";
    let file = scene.write(fleet);
    let path = file.to_str().unwrap();
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(uids(), before);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);

    // From that release to another one of the same file: refused without consent, and nothing goes.
    write("fleet", &[]);
    write("harbour", &[definition, boat("anna"), boat("bert")]);
    let harbour = "[apps.harbour]\nenabled = true\nnamespace = \"NS\"\nchart = \"./harbour\"\n";
    scene.write(&[fleet, harbour].concat());
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4).json();
    let left: Vec<&str> = scene.release(&plan, "fleet")["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| object["reasons"][0]["code"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["moves-to"; 3], "{plan}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(uids(), before, "the release that lost them removed none");

    let mark = scene.cluster.audit_mark();
    scene.write(&[fleet, harbour, "adopt = \"any\"\n"].concat());
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(uids(), before);
    let anna = scene.cluster.get(&scene.namespace, &kind, "anna").unwrap();
    assert_eq!(anna["metadata"]["annotations"]["meta.helm.sh/release-name"], "harbour");
    let deletes = scene.cluster.requests_since(mark).into_iter().filter(|entry| {
        entry["verb"] == "delete" && entry["requestURI"].as_str().is_some_and(|uri| uri.contains("boats"))
    });
    assert_eq!(deletes.count(), 0);
    scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
}

/// Both Helms work on the release afterwards, and what they did is planned right: no field stays, nothing conflicts.
#[test]
fn helm_after_us_leaves_no_field_and_no_conflict_behind() {
    for helm in ["helm3", "helm4"] {
        let scene = Scene::new(&format!("then-{helm}"));
        let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n");
        let path = file.to_str().unwrap();
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        let web = repository("examples/charts/web");
        let namespace = scene.namespace.as_str();
        let upgrade = |set: &str| {
            let arguments = ["upgrade", "web", web.to_str().unwrap(), "-n", namespace, "--set", set];
            scene.cluster.tool(helm, &arguments);
        };
        let plan_codes = || {
            let plan = scene.plan(&file);
            let web = scene.release(&plan, "web").clone();
            let objects = web["objects"].as_array().unwrap().clone();
            let codes = objects.iter().flat_map(|object| object["reasons"].as_array().unwrap().clone());
            let codes: Vec<String> =
                codes.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
            assert!(!codes.iter().any(|code| code == "fields-taken" || code == "field-conflict"), "{web}");
            web["action"].as_str().unwrap().to_owned()
        };
        upgrade("podAnnotations.by=helm,greeting=theirs,replicas=4");
        assert_eq!(plan_codes(), "upgrade", "{helm}");
        scene.cluster.tool(helm, &["rollback", "web", "1", "-n", namespace]);
        assert_eq!(plan_codes(), "none", "{helm}: what is rolled back is what is wanted");
        upgrade("podAnnotations.by=helm,greeting=theirs,replicas=4");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        let deployment = scene.cluster.get(namespace, "deployment", "web").unwrap();
        assert_eq!(deployment["spec"]["template"]["metadata"]["annotations"]["by"], Json::Null, "{helm}");
        assert_eq!(deployment["spec"]["replicas"], 2, "{helm}");
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
        scene.cluster.statectl(["drift", path, "--strict", "--detailed-exit-code"]).expect(0);
        scene.cluster.tool(helm, &["uninstall", "web", "-n", namespace, "--wait", "--keep-history"]);
        assert_eq!(plan_codes(), "install", "{helm}");
        scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
        scene.cluster.statectl(["plan", path, "--detailed-exit-code"]).expect(0);
    }
}
