//! Releases that leave the file or get another name, on the real API server.

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};

const SET: &str = r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: store }
spec:
  serviceName: store
  selector: { matchLabels: { app: store } }
  template:
    metadata: { labels: { app: store } }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const NAMED: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-named }\ndata: { a: b }\n";

fn app(name: &str, rest: &str) -> String {
    format!("[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{rest}\n")
}

impl Scene {
    /// Carries a file of these apps out, and returns the report.
    fn run(&self, apps: &str, flags: &[&str], code: i32) -> Json {
        let path = self.write(apps);
        let arguments = [&["apply", path.to_str().unwrap(), "--yes", "-o", "json"][..], flags].concat();
        self.cluster.statectl(arguments).expect(code).json()
    }

    fn uid(&self, kind: &str, name: &str) -> Option<String> {
        let object = self.cluster.get(&self.namespace, kind, name)?;
        object["metadata"]["uid"].as_str().map(str::to_owned)
    }

    /// The releases that Helm sees.
    fn helm_list(&self) -> Vec<String> {
        let text = self.cluster.tool("helm4", &["list", "-n", &self.namespace, "-o", "json"]);
        let list: Json = serde_json::from_str(&text).unwrap();
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    }

    fn codes(&self, report: &Json, release: &str) -> Vec<String> {
        let reasons = self.release(report, release)["reasons"].as_array().unwrap();
        reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_renamed_release_keeps_its_objects() {
    let scene = Scene::new("renamed");
    chart(scene.folder.path(), &[("templates/a.yaml", SET), ("values.yaml", "")]);
    scene.run(&app("old", ""), &[], 0);
    let uid = scene.uid("statefulset", "store");

    // Without a word about it nothing happens to either.
    let report = scene.run(&app("new", ""), &[], 4);
    for name in ["old", "new"] {
        assert_eq!(scene.release(&report, name)["action"], "blocked", "{name}");
        assert_eq!(scene.codes(&report, name)[0], "looks-like-a-move", "{name}");
    }
    assert_eq!((scene.helm_list(), scene.uid("statefulset", "store")), (vec!["old".to_owned()], uid.clone()));

    let moved = format!("[[moved]]\nfrom = \"NS/old\"\nto = \"NS/new\"\n{}", app("new", ""));
    let report = scene.run(&moved, &[], 0);
    assert_eq!(scene.codes(&report, "new")[0], "moved-from");
    assert_eq!(scene.helm_list(), ["new"]);
    assert_eq!(scene.uid("statefulset", "store"), uid, "it is the same object");
    let set = scene.cluster.get(&scene.namespace, "statefulset", "store").unwrap();
    assert_eq!(set["metadata"]["annotations"]["meta.helm.sh/release-name"], "new");
    // The entry may stay: there is nothing left to move.
    for file in [moved, app("new", "")] {
        assert_eq!(scene.release(&scene.plan(&scene.write(&file)), "new")["action"], "none");
    }
    assert!(scene.cluster.try_tool("helm3", &["status", "new", "-n", &scene.namespace]).0);
}

#[test]
fn a_move_that_would_delete_needs_consent() {
    let scene = Scene::new("move-deletes");
    chart(
        scene.folder.path(),
        &[("templates/a.yaml", SET), ("templates/b.yaml", NAMED), ("values.yaml", "")],
    );
    scene.run(&app("old", ""), &[], 0);
    let moved = |rest: &str| format!("[[moved]]\nfrom = \"NS/old\"\nto = \"NS/new\"\n{}", app("new", rest));
    let report = scene.run(&moved(""), &[], 4);
    assert_eq!(scene.codes(&report, "new"), ["move-deletes"]);
    assert!(scene.uid("configmap", "old-named").is_some());
    let uid = scene.uid("statefulset", "store");
    scene.run(&moved("force = [\"move\"]"), &[], 0);
    assert_eq!(scene.uid("configmap", "old-named"), None);
    assert!(scene.uid("configmap", "new-named").is_some());
    assert_eq!((scene.uid("statefulset", "store"), scene.helm_list()), (uid, vec!["new".to_owned()]));
}

#[test]
fn destroying_a_file_takes_the_old_name_too() {
    let scene = Scene::new("move-destroy");
    chart(scene.folder.path(), &[("templates/a.yaml", NAMED), ("values.yaml", "")]);
    scene.run(&app("old", ""), &[], 0);
    let path = scene.write(&format!("[[moved]]\nfrom = \"NS/old\"\nto = \"NS/new\"\n{}", app("new", "")));
    scene.cluster.statectl(["destroy", path.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!((scene.helm_list(), scene.uid("configmap", "old-named")), (Vec::new(), None));
}

#[test]
fn a_release_leaves_the_file_as_it_was_told_to() {
    let scene = Scene::new("on-remove");
    chart(scene.folder.path(), &[("templates/a.yaml", NAMED), ("values.yaml", "")]);
    let stays = app("stays", "");
    let all = [
        stays.clone(),
        app("asks", "onRemove = \"ask\""),
        app("orphan", "onRemove = \"orphan\""),
        app("goes", ""),
    ];
    scene.run(&all.concat(), &[], 0);
    let report = scene.run(&stays, &[], 4);
    let state = |name: &str| scene.release(&report, name)["state"].as_str().unwrap().to_owned();
    assert_eq!(
        (state("asks"), state("orphan"), state("goes")),
        ("blocked".to_owned(), "orphaned".to_owned(), "uninstalled".to_owned())
    );
    assert_eq!(scene.helm_list(), ["asks", "orphan", "stays"]);
    // The orphan belongs to nobody: it is neither seen nor touched any more, and can be taken over.
    let plan = scene.plan(&scene.write(&stays));
    assert!(plan["releases"].as_array().unwrap().iter().all(|release| release["name"] != "orphan"), "{plan}");
    let back = [stays.clone(), app("orphan", "adopt = \"unowned\""), app("asks", "onRemove = \"ask\"")];
    scene.run(&back.concat(), &[], 0);
    // A person says what happens to the one that asks.
    let gone = app("asks", "").replace("enabled = true", "enabled = false");
    scene.run(&[stays, app("orphan", ""), gone].concat(), &[], 0);
    assert_eq!(scene.helm_list(), ["orphan", "stays"]);
}
